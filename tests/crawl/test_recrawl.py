"""Crawling a site again: what did not change, what did, and what an incremental crawl exports."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
from scrapy.utils.asyncio import call_later

from helpers.crawling import ADDON, ONE_BY_ONE, PathsSpider, PatientSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page, prose
from helpers.site_server import Site
from scrapy_simdedup.signals import page_changed, wall_suspected
from scrapy_simdedup.store import store_by_url

COUNT = 12


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    return ADDON | {"SIMDEDUP_STORE": f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"}


def serve(site: Site, visit: int, edited: tuple[int, ...] = ()) -> list[str]:
    for number in range(COUNT):
        site[f"/{number}"] = page((number, "edited") if number in edited else number, (visit, number))
    return site.urls(*(f"/{number}" for number in range(COUNT)))


@on_asyncio
async def test_a_site_that_did_not_change_is_unchanged_page_by_page(site: Site, settings: dict[str, Any]) -> None:
    await crawl(PathsSpider, settings, urls=serve(site, 1))
    again = await crawl(PathsSpider, settings, urls=serve(site, 2))
    assert again.stat("pages/unchanged") == COUNT
    assert again.stat("pages/identical") == again.stat("pages/dropped") == 0
    assert len(again.items) == COUNT


@on_asyncio
async def test_exactly_the_edited_pages_are_changed_and_a_signal_tells_of_each(
    site: Site, settings: dict[str, Any]
) -> None:
    heard: list[str] = []

    class Listening(PathsSpider):
        hears = {"heard": page_changed}

        def heard(self, response: Any) -> None:
            heard.append(response.url)

    await crawl(PathsSpider, settings, urls=serve(site, 1))
    again = await crawl(Listening, settings, urls=serve(site, 2, edited=(1, 4, 5, 7, 11)))
    assert again.stat("pages/changed") == 5
    assert again.stat("pages/unchanged") == COUNT - 5
    assert heard == site.urls("/1", "/4", "/5", "/7", "/11")


SHORT = "<title>Note</title><h1>Note</h1><p>Closed on monday morning"


@on_asyncio
async def test_short_pages_are_kept_under_each_url_and_unchanged_under_their_own(
    site: Site, settings: dict[str, Any]
) -> None:
    """Equal to the last byte: what scripts fill is the same under all URLs, and no text could be compared."""
    paths = [f"/note/{number}" for number in range(4)]
    for path in paths:
        site[path] = SHORT
    settings |= {"SIMDEDUP_UNCHANGED": "drop", "SIMDEDUP_AGAINST": "history"}
    first = await crawl(NotFromStart, settings, urls=site.urls(*paths))
    assert first.urls == site.urls(*paths)
    assert first.stat("pages/unjudged_reason_count/too_short") == 4
    site["/note/2"] = SHORT.replace("monday", "tuesday")
    again = await crawl(NotFromStart, settings, urls=site.urls(*paths))
    assert again.urls == site.urls("/note/2"), "the others are what they were"
    assert (again.stat("pages/unchanged"), again.stat("pages/dropped")) == (3, 3)


class NotFromStart(PathsSpider):
    """Its pages are found by links, as those of most crawls are."""

    async def start(self) -> Any:
        async for request in super().start():
            yield request.replace(meta={"is_start_request": False})


@on_asyncio
async def test_an_incremental_crawl_exports_exactly_what_changed(site: Site, settings: dict[str, Any]) -> None:
    settings |= {"SIMDEDUP_UNCHANGED": "drop", "SIMDEDUP_AGAINST": "history"}
    first = await crawl(PathsSpider, settings, urls=serve(site, 1))
    assert len(first.items) == COUNT
    edited = (0, 2, 3, 8, 9)
    again = await crawl(PathsSpider, settings, urls=serve(site, 2, edited))
    assert again.urls == site.urls(*(f"/{number}" for number in edited))
    third = await crawl(PathsSpider, settings, urls=serve(site, 3, edited))
    assert third.urls == []


@on_asyncio
async def test_the_links_of_a_start_page_that_did_not_change_are_followed(site: Site, settings: dict[str, Any]) -> None:
    class Following(PathsSpider):
        def parse(self, response: Any) -> Any:
            self.called.append(response.url)
            yield {"url": response.url}
            yield from response.follow_all(css="nav a[href^='/']")

    settings |= {"SIMDEDUP_UNCHANGED": "drop"}
    site["/"] = page("home", links=("/new",))
    site["/new"] = page("old news")
    await crawl(Following, settings, urls=site.urls("/"))
    site["/new"] = page("fresh news")
    again = await crawl(Following, settings, urls=site.urls("/"))
    assert again.spider.called == site.urls("/", "/new")
    assert again.urls == site.urls("/new")


@on_asyncio
async def test_a_304_counts_as_a_visit_and_is_never_fingerprinted(site: Site, settings: dict[str, Any]) -> None:
    site["/a"] = page("a")
    await crawl(PathsSpider, settings, urls=site.urls("/a"))
    site["/a"] = (304, {}, b"")
    again = await crawl(PathsSpider, settings, urls=site.urls("/a"))
    assert again.stat("pages/judged") == 0
    site["/a"] = page("a", 2)
    third = await crawl(PathsSpider, settings, urls=site.urls("/a"))
    assert third.stat("pages/unchanged") == 1
    store = store_by_url(settings["SIMDEDUP_STORE"])
    await store.open()
    records = [record async for _, record in store.records()]
    await store.close()
    assert [(record.visits, record.changes) for record in records] == [(3, 0)]


CAPTCHA = "<p>" + " ".join(f"Please prove that you are human, step {n} of thirty." for n in range(30)) + "</p>"


@pytest.mark.slow
@on_asyncio
async def test_captchas_under_many_urls_displace_no_real_page(site: Site, settings: dict[str, Any]) -> None:
    walls: list[Any] = []
    seen: list[int] = []

    class Listening(PathsSpider):
        hears = {"heard": wall_suspected}

        def heard(self, wall: Any) -> None:
            walls.append(wall)
            seen.append(len(site.requested))

    settings |= {"SIMDEDUP_AGAINST": "history"}
    count = 300
    paths = [f"/article/{number}" for number in range(count)]
    for number, path in enumerate(paths):
        site[path] = page("captcha", number, body=CAPTCHA)
    walled = await crawl(Listening, settings, urls=site.urls(*paths))
    assert len(walls) == 1
    assert seen[0] <= 100
    assert walled.stat("pages/stub") > 200
    assert walled.stat("walls_suspected") == 1
    for number, path in enumerate(paths):
        site[path] = page(number, number, count=60)
    real = await crawl(PathsSpider, settings, urls=site.urls(*paths))
    assert real.urls == site.urls(*paths)


@pytest.mark.slow
@on_asyncio
async def test_a_handler_of_the_signal_can_pause_the_crawl(site: Site) -> None:
    """And nothing is lost by that."""

    class Patient(PathsSpider):
        hears = {"pause": wall_suspected}

        def pause(self) -> None:
            self.crawler.engine.pause()
            call_later(1.5, self.crawler.engine.unpause)

    paths = [f"/article/{number}" for number in range(60)]
    for number, path in enumerate(paths):
        site[path] = page("captcha", number, body=CAPTCHA)
    done = await crawl(Patient, urls=site.urls(*paths))
    assert done.crawler.stats.get_value("elapsed_time_seconds") > 1.4
    assert len(site.requested) == 60


@pytest.mark.parametrize("unchanged", ["keep", "drop"])
@on_asyncio
async def test_a_page_that_is_fetched_twice_in_the_first_run_is_not_called_unchanged(
    site: Site, tmp_path: Path, unchanged: str
) -> None:
    site["/one"] = page("one")
    settings = {"SIMDEDUP_STORE": f"sqlite:///{tmp_path}/pages.sqlite", "SIMDEDUP_UNCHANGED": unchanged}
    first = await crawl(PatientSpider, ADDON | settings, urls=site.urls("/one", "/one"))
    assert (first.stat("pages/new"), first.stat("pages/identical"), first.stat("pages/unchanged")) == (1, 1, 0)
    assert len(first.items) == (2 if unchanged == "keep" else 1)
    second = await crawl(PatientSpider, ADDON | settings, urls=site.urls("/one"))
    assert second.stat("pages/unchanged") == 1


@on_asyncio
async def test_a_start_page_that_the_site_links_to_gives_its_items_once(site: Site) -> None:
    """Scrapy does not filter start requests, so it fetches such a page again; a callback that asks for more gets it."""
    site["/"] = page("home", body=f'<a href="/">Home</a> <a href="/one">One</a> {prose("home", 90)}')
    site["/one"] = page("one", body=f'<a href="/">Home</a> {prose("one", 90)}')

    class Following(PathsSpider):
        def parse(self, response: Any) -> Any:
            yield {"url": response.url}
            yield from response.follow_all(css="a", callback=self.parse)

    done = await crawl(Following, urls=site.urls("/"))
    assert site.requested.count("/") == 2
    assert sorted(done.urls) == sorted(site.urls("/", "/one"))

    class Naming(PathsSpider):
        def parse(self, response: Any, link: str = "") -> Any:
            yield {"url": response.url, "link": link}
            if not link:
                yield from (response.follow("/", cb_kwargs={"link": name}) for name in ("Home",))

    named = await crawl(Naming, urls=site.urls("/"))
    assert [item["link"] for item in named.items] == ["", "Home"]

    class Asking(Following):
        def parse(self, response: Any) -> Any:
            yield {"url": response.url}
            self.called.append(response.url)
            if len(self.called) < 2:
                yield response.request.replace(dont_filter=self.settings.getbool("ASK_UNFILTERED"))

    for own, expected in (
        ({}, 1),
        ({"ASK_UNFILTERED": True}, 2),
        ({"DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter"}, 2),
    ):
        assert len((await crawl(Asking, ADDON | own, urls=site.urls("/"))).items) == expected


@on_asyncio
async def test_a_counter_on_a_start_page_that_the_site_links_to_is_no_news(site: Site) -> None:
    """Between two fetches of one run it went up, which a later run could tell from an edit."""
    visits = count(1921)

    def home(_: str) -> str:
        return page("home", body=f'<a href="/">Home</a> <p>Seen {next(visits)} times</p> {prose("home", 90)}')

    class Following(PathsSpider):
        def parse(self, response: Any) -> Any:
            yield {"url": response.url}
            yield from response.follow_all(css="a", callback=self.parse)

    site["/"] = home
    done = await crawl(Following, urls=site.urls("/"))
    assert site.requested.count("/") == 2
    assert done.urls == site.urls("/")


@on_asyncio
async def test_a_crawlspider_does_not_export_its_start_page_anew_because_another_page_was_edited(
    site: Site, settings: dict[str, Any]
) -> None:
    """Its own callback gets the page in each run; that of the rule only where a page is delivered that links to it."""

    class EachLink(CrawlSpider):
        name = "each_link"
        custom_settings = ONE_BY_ONE
        rules = (Rule(LinkExtractor(), callback="parse_page", follow=True),)

        def parse_page(self, response: Any) -> Any:
            yield {"url": response.url}

    def serve(home: str, *edited: str) -> list[str]:
        names = ("one", "two", "three")
        site["/"] = page("home", body="".join(f'<a href="/{name}">{name}</a> ' for name in names) + prose(home, 90))
        for name in names:
            text = prose((name, "edited") if name in edited else name, 90)
            site[f"/{name}"] = page(name, body=f'<a href="/">Home</a> <h1>{name}</h1> <p>{text}</p>')
        return site.urls("/")

    async def exported(home: str, *edited: str) -> list[str]:
        done = await crawl(EachLink, settings, start_urls=serve(home, *edited))
        return sorted(item["url"] for item in done.items)

    settings |= {"SIMDEDUP_UNCHANGED": "drop"}
    assert await exported("home") == sorted(site.urls("/", "/one", "/two", "/three"))
    assert await exported("home") == []
    assert await exported("home", "two") == site.urls("/two")
    assert await exported("home", "two", "three") == site.urls("/three")
    assert await exported("another home", "two", "three", "one") == site.urls("/", "/one")
    assert await exported("another home", "two", "three", "one") == []
