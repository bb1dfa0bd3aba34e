"""Repeats that lead to other pages."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.utils.test import get_crawler

from helpers.crawling import ADDON, PathsSpider, crawl
from helpers.hostile import HOSTILE
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.site_server import Site
from scrapy_simdedup.crawl import Crawl, link_memory, links
from scrapy_simdedup.crawl.stats import CrawlStats
from scrapy_simdedup.settings import DedupSettings


class Following(PathsSpider):
    """Follows the links of every page that it gets, on its site."""

    allowed_domains = ["127.0.0.1"]

    def parse(self, response: Any) -> Any:
        yield from super().parse(response)
        for link in response.css("nav a:not([href='#'])"):
            yield response.follow(link)


@pytest.fixture
def linked(site: Site) -> Site:
    """A page, a repeat with the same links in another form, and a repeat that leads on, to a repeat that does, too."""
    site["/one"] = page("one", 1, links=("/two?b=1&a=2", "https://elsewhere.example/a"))
    site["/same"] = page("one", 2, links=("two?a=2&b=1", "https://elsewhere.example/b"))
    site["/more"] = page("one", 3, links=("/three.pdf",))
    site["/two?b=1&a=2"] = page("two")
    site["/three.pdf"] = page("one", 4, links=("/four",))
    site["/four"] = page("four")
    return site


REQUEST = Request("https://shop.example/")
CALLED = {
    "drop": ["/one", "/two?b=1&a=2"],
    "defer": ["/one", "/more", "/two?b=1&a=2", "/three.pdf", "/four"],
    "follow_new": ["/one", "/more", "/two?b=1&a=2", "/three.pdf", "/four"],
}


@pytest.mark.parametrize("policy", CALLED)
@on_asyncio
async def test_links_of_repeats_are_followed_as_the_settings_say(linked: Site, policy: str) -> None:
    """Their items are dropped in any case, and the pages count as dropped."""
    urls = linked.urls("/one", "/same", "/more")
    settings = {"SIMDEDUP_LINKS": policy}
    done = await crawl(Following, ADDON | settings, urls=urls)
    assert sorted(done.spider.called) == sorted(linked.urls(*CALLED[policy]))
    found = [path for path in CALLED[policy] if path in {"/one", "/two?b=1&a=2", "/four"}]
    assert sorted(done.urls) == sorted(linked.urls(*found))
    assert done.stat("pages/dropped") == (2 if policy == "drop" else 3)
    assert done.stat("items/dropped") == len(CALLED[policy]) - len(found)


@on_asyncio
async def test_in_an_incremental_crawl_unchanged_pages_may_lead_on(site: Site, tmp_path: Any) -> None:
    """Where such a page has the links that it had, the crawl has seen them no more than it has seen the page."""
    settings = {"SIMDEDUP_STORE": f"sqlite:///{tmp_path}/pages.sqlite", "SIMDEDUP_AGAINST": "history"}
    settings |= {"SIMDEDUP_UNCHANGED": "drop"}
    site["/list"], site["/article"] = page("list", links=("/article",)), page("article")
    first = await crawl(Following, ADDON | settings, urls=site.urls("/list"))
    assert first.urls == site.urls("/list", "/article")
    site["/article"] = page("news")
    again = await crawl(Following, ADDON | settings, urls=site.urls("/list"))
    assert again.urls == site.urls("/article")


@on_asyncio
async def test_a_page_of_an_earlier_run_is_visited_again_whatever_links_like_its_own_lead_to(
    site: Site, tmp_path: Any
) -> None:
    """A calendar goes on for ever: its empty months must not hide an edit of one that is known."""
    settings = {"SIMDEDUP_STORE": f"sqlite:///{tmp_path}/pages.sqlite", "SIMDEDUP_AGAINST": "history"}
    settings |= {"SIMDEDUP_UNCHANGED": "drop"}
    known, empty = (tuple(f"/month-{number}" for number in numbers) for numbers in (range(60), range(60, 260)))
    site["/"], site["/calendar"] = page("home", links=("/calendar",)), page("calendar", links=known)
    for path in known:
        site[path] = page(path)
    first = await crawl(Following, ADDON | settings, urls=site.urls("/"))
    assert len(first.urls) == 62
    site["/calendar"] = page("calendar", links=empty + known)
    for number, path in enumerate(empty):
        site[path] = page(known[number % 30], path)
    edited = known[31]
    site[edited] = page("edited")
    site.requested.clear()
    again = await crawl(Following, ADDON | settings, urls=site.urls("/"))
    assert again.urls == site.urls(edited)
    assert {*known} <= {*site.requested}
    assert again.stat("links/left") > 50


@on_asyncio
async def test_with_more_links_than_can_be_remembered_pages_are_followed(
    linked: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too much is followed then, never too little."""
    monkeypatch.setattr(links, "MAX_LINKS", 0)
    for policy in ("follow_new", "defer"):
        settings = ADDON | {"SIMDEDUP_LINKS": policy}
        done = await crawl(Following, settings, urls=linked.urls("/one", "/same", "/more"))
        assert sorted(done.spider.called) == sorted(linked.urls(*CALLED[policy], "/same"))
        assert done.stat("links/deferred") == 0


def links_of_a_crawl() -> links.DeferredLinks:
    crawler = get_crawler()
    detector = SimpleNamespace(secret=b"x")
    crawl = Crawl(crawler, DedupSettings(), detector, CrawlStats(crawler.stats), lambda _: None)
    made = links.DeferredLinks(crawl)
    made.open(tracks_delivery=True)
    return made


def test_a_page_whose_links_cannot_be_read_is_followed(caplog: Any) -> None:
    """On a page whose base address is none."""
    broken = b'<base href="http://[broken"><a href="/one">One</a>'
    seen = links_of_a_crawl()
    for _ in range(2):
        assert seen.brings_new(REQUEST, HtmlResponse("https://shop.example/", body=broken))
    assert "so it is followed" in caplog.text


@pytest.mark.parametrize("name", [name for name, hostile in HOSTILE.items() if hostile.unjudged and not hostile.void])
def test_the_links_of_a_page_that_no_parser_can_read_are_found(name: str, caplog: pytest.LogCaptureFixture) -> None:
    html = '<a href="/two">Two</a>' + HOSTILE[name].page("one")
    response = HtmlResponse("https://shop.example/", body=html.encode("utf-8", "replace"), encoding="utf-8")
    assert links_of_a_crawl().brings_new(REQUEST, response)
    assert [record for record in caplog.records if record.name.startswith("scrapy_simdedup")] == []


@pytest.mark.parametrize("html", ["".join(f'<a href="/{n}">' for n in range(6_000)), "<p>" * 2_000_000])
def test_a_page_that_is_too_much_to_read_is_followed(html: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """None of its links is looked at, as that is done in the thread of the event loop."""
    monkeypatch.setattr(link_memory, "comparable_url", None)
    assert links_of_a_crawl().brings_new(
        Request("https://shop.example/"), HtmlResponse("https://shop.example/", body=html.encode(), encoding="utf-8")
    )


@pytest.mark.parametrize("piece", ['href="', "href='", "href=", "href = \"'", "href    ", "href=\n"])
def test_links_without_an_end_are_looked_for_in_linear_time(piece: str) -> None:
    """Else this took hours."""
    links_of_a_crawl().brings_new(
        Request("https://shop.example/"), HtmlResponse("https://shop.example/", body=(piece * 400_000).encode())
    )


@pytest.mark.parametrize(
    ("html", "new"),
    [
        ('<a href=" /two ">Two</a>', True),
        ('<map><area href="/two"></map>', True),
        ('<base href="/shop/"><a href="two">Two</a>', True),
        ('<a href="#two">Two</a><a href="">Two</a><a>Two</a>', False),
        ('<a href="https://elsewhere.example/">Elsewhere</a>', False),
        ('<a href="mailto:shop@shop.example">Write</a><a href="javascript:buy()">Buy</a>', False),
        ('<a href="http://[shop.example/">Broken</a>', False),
        ('<a href="http://[shop.example/">Broken</a><a href="/two">Two</a>', True),
    ],
)
def test_what_a_link_to_the_site_is(html: str, new: bool) -> None:
    body = f"<html><body><p>Of a shop.</p>{html}</body></html>".encode()
    assert (
        links_of_a_crawl().brings_new(
            Request("https://shop.example/"), HtmlResponse("https://shop.example/one", body=body)
        )
        is new
    )
