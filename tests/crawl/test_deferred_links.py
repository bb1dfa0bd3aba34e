"""Links that only repeats bring wait behind all others, and are tried pattern by pattern."""

from __future__ import annotations

import json
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from scrapy import FormRequest, Request
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

from helpers.crawling import ADDON, ONE_BY_ONE, PathsSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.site_server import Site
from scrapy_simdedup import LinkNotFollowed
from scrapy_simdedup.crawl import link_memory
from scrapy_simdedup.crawl.link_memory import END_BOUND, MAX_LINKS, LinkMemory, LinkPatterns, link_pattern

NEEDED = 73
"""Trials that lead to nothing new after which a pattern ends: the upper bound is 4.9994 %."""


class Following(PathsSpider):
    """Follows the links of every page that it gets."""

    custom_settings: Any = {}

    def parse(self, response: Any) -> Any:
        yield from super().parse(response)
        for link in response.css("nav a:not([href='#'])"):
            yield response.follow(link, errback=self.failed)

    def failed(self, failure: Any) -> None:
        self.failures.append(failure.value)


class OneByOne(Following):
    custom_settings = ONE_BY_ONE


def numbered(path: str, count: int) -> tuple[str, ...]:
    return tuple(f"{path}{number}" for number in range(count))


def serve_repeats(site: Site, count: int, *more: str, path: str = "/post?replytocom=") -> None:
    """A post, its repeat, and ``count`` repeats to which nothing but that repeat leads."""
    site["/post"] = page("post", links=("/list", "/again"))
    site["/again"] = page("post", "again", links=(*numbered(path, count), *more))
    for url in numbered(path, count):
        site[url] = page("post", url)


@on_asyncio
async def test_documents_to_which_only_repeats_lead_are_found(site: Site) -> None:
    serve_repeats(site, 3, "/chapter-1")
    site["/chapter-1"] = page("chapter", links=("/chapter-2",))
    site["/chapter-2"] = page("another chapter")
    done = await crawl(Following, ADDON, urls=site.urls("/post"))
    assert sorted(done.urls) == site.urls("/chapter-1", "/chapter-2", "/post")
    assert done.stat("links/deferred") == done.stat("links/tried") == 4
    assert done.stat("links/tried_new") == 1
    assert done.stat("links/left") == 0


@on_asyncio
async def test_a_pattern_that_leads_only_to_repeats_ends_and_the_summary_says_so(site: Site, caplog: Any) -> None:
    """However many requests are on their way at a time, no more trials are made than are needed."""
    serve_repeats(site, 200, "/chapter-1")
    site["/chapter-1"] = page("chapter")
    done = await crawl(Following, ADDON | {"CONCURRENT_REQUESTS": 64}, urls=site.urls("/post"))
    assert sorted(done.urls) == site.urls("/chapter-1", "/post")
    assert done.stat("links/tried") == NEEDED + 1
    assert done.stat("links/left") == 200 - NEEDED
    assert len(site.requested) == 3 + NEEDED + 1
    assert done.stat("links/bound_max") < 0.05
    assert "links of repeats: 74 tried, 1 of them led to new content; 127 left, of which at most 5.0" in caplog.text
    left = [error for error in done.spider.failures if isinstance(error, LinkNotFollowed)]
    assert len(left) == 200 - NEEDED
    assert left[0].pattern == "127.0.0.1/post?replytocom"
    assert left[0].url not in site.urls(*site.requested)


@on_asyncio
async def test_a_link_that_a_rule_about_urls_skips_leads_to_nothing_new(site: Site, tmp_path: Path) -> None:
    serve_repeats(site, 200)
    file = tmp_path / "rules.json"
    rule = {"order": 1, "urlPattern": {"include": ["/post"]}, "processor": "queryRemoval", "args": ["replytocom"]}
    file.write_text(json.dumps([rule]))
    settings = ADDON | {"SIMDEDUP_URL_LEARNING": "skip", "SIMDEDUP_URL_RULES": [str(file)]}
    done = await crawl(Following, settings, urls=site.urls("/post"))
    assert done.stat("urls/skipped") > NEEDED / 2
    assert done.stat("links/tried") == NEEDED
    assert done.stat("links/left") == 200 - NEEDED


@on_asyncio
async def test_a_pattern_that_leads_to_new_content_now_and_then_goes_on(site: Site) -> None:
    serve_repeats(site, 300, path="/story-")
    chapters = numbered("/story-", 300)[::15]
    for url in chapters:
        site[url] = page(url)
    done = await crawl(Following, ADDON, urls=site.urls("/post"))
    assert {*site.urls(*chapters)} <= {*done.urls}
    assert done.stat("links/left") == 0


@on_asyncio
async def test_a_link_that_a_kept_page_brings_as_well_is_fetched_in_its_turn(site: Site) -> None:
    serve_repeats(site, 3, "/chapter-1")
    site["/list"] = page("list", links=("/chapter-1",))
    site["/chapter-1"] = page("chapter")
    done = await crawl(OneByOne, ADDON, urls=site.urls("/post"))
    assert site.requested[:4] == ["/post", "/again", "/list", "/chapter-1"]
    assert Counter(site.requested)["/chapter-1"] == 1
    assert done.stat("links/deferred") == 4
    assert done.stat("links/tried") == 3


@on_asyncio
async def test_a_link_that_was_tried_is_not_fetched_again_for_a_kept_page(site: Site) -> None:
    serve_repeats(site, 0, "/chapter-1", "/chapter-2")
    site["/chapter-1"] = page("one", links=("/chapter-2",))
    site["/chapter-2"] = page("two", links=("/chapter-1",))
    await crawl(Following, ADDON, urls=site.urls("/post"))
    assert Counter(site.requested).most_common(1)[0][1] == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Scrapy 2.14 leaves its queue open
@on_asyncio
async def test_a_job_that_is_stopped_and_resumed_loses_no_link(site: Site, tmp_path: Any) -> None:
    """Neither the links nor what was learned about their patterns."""
    serve_repeats(site, 150, *numbered("/chapter-", 9))
    for url in numbered("/chapter-", 9):
        site[url] = page(url)
    items: list[str] = []
    settings = ADDON | {"JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": 2}
    urls, reasons = site.urls("/post"), []
    while "finished" not in reasons:
        done = await crawl(Following, settings | {"CLOSESPIDER_PAGECOUNT": 30}, urls=urls)
        items += done.urls
        reasons.append(done.crawler.stats.get_value("finish_reason"))
        urls = []
    assert len(reasons) > 2
    assert sorted(items) == site.urls(*sorted(numbered("/chapter-", 9)), "/post")
    tried = len([path for path in site.requested if "replytocom" in path])
    assert NEEDED <= tried < NEEDED + 5


@on_asyncio
async def test_a_job_that_is_killed_takes_up_links_of_its_priorities(site: Site, tmp_path: Path) -> None:
    """What Scrapy writes to its files stays in memory at first, so that a kill leaves them empty."""
    serve_repeats(site, 3, *numbered("/chapter-", 9))
    for url in numbered("/chapter-", 9):
        site[url] = page(url)
    urls, settings = site.urls("/post"), ADDON | {"JOBDIR": str(tmp_path / "job")}
    await crawl(Following, settings | {"CLOSESPIDER_PAGECOUNT": 1}, urls=urls)
    queue = tmp_path / "job/requests.queue"
    (host,) = [path for path in queue.iterdir() if path.is_dir()]
    for priority in (0, *range(1_000_000_000, 1_000_000_020)):
        (host / str(priority)).write_bytes(b"")
    (queue / "active.json").unlink()
    (tmp_path / "job/requests.seen").unlink()
    done = await crawl(Following, settings, urls=urls)
    assert {*site.urls(*numbered("/chapter-", 9))} <= {*done.urls}
    assert "log_count/ERROR" not in done.crawler.stats.get_stats()


@on_asyncio
async def test_a_form_that_was_sent_to_a_url_is_no_visit_to_it(site: Site) -> None:
    class Sending(OneByOne):
        async def start(self) -> Any:
            yield FormRequest(site.url("/chapter-1"), formdata={"q": "tide"}, callback=self.sent)
            async for request in super().start():
                yield request

        def sent(self, response: Any) -> None:
            site["/chapter-1"] = page("chapter")

    serve_repeats(site, 3, "/chapter-1")
    site["/chapter-1"] = page("what was found")
    done = await crawl(Sending, ADDON, urls=site.urls("/post"))
    assert sorted(done.urls) == site.urls("/chapter-1", "/post")


@pytest.mark.parametrize("links", ["defer", "follow_new"])
@on_asyncio
async def test_a_repeat_whose_callback_fails_leaves_its_links_to_the_next_one(site: Site, links: str) -> None:
    """A database may be away for a moment."""

    class Failing(OneByOne):
        was_away = False

        def parse(self, response: Any) -> Any:
            if not response.url.endswith("/post") and not self.was_away:
                self.was_away = True
                raise RuntimeError("the database is away")
            yield from super().parse(response)

    site["/post"] = page("post", links=("/again", "/print"))
    site["/again"], site["/print"] = (page("post", path, links=("/chapter-1",)) for path in ("/again", "/print"))
    site["/chapter-1"] = page("chapter")
    done = await crawl(Failing, {**ADDON, "SIMDEDUP_LINKS": links}, urls=site.urls("/post"))
    assert sorted(done.urls) == site.urls("/chapter-1", "/post")


@on_asyncio
async def test_what_is_offsite_stays_offsite(site: Site) -> None:
    class Domain(Following):
        allowed_domains = ["127.0.0.1"]

    other = site.url("/elsewhere").replace("127.0.0.1", "localhost")
    serve_repeats(site, 2, other)
    site["/elsewhere"] = page("elsewhere")
    done = await crawl(Domain, ADDON | {"SIMDEDUP_SCOPE": "all"}, urls=site.urls("/post"))
    assert done.stat("links/deferred") == 3
    assert "/elsewhere" not in site.requested
    assert done.crawler.stats.get_value("offsite/filtered") == 1


@on_asyncio
async def test_the_depth_limit_holds(site: Site) -> None:
    serve_repeats(site, 2, "/chapter-1")
    site["/chapter-1"] = page("chapter", links=("/chapter-2",))
    site["/chapter-2"] = page("another chapter")
    done = await crawl(Following, ADDON | {"DEPTH_LIMIT": 2, "DEPTH_PRIORITY": 1}, urls=site.urls("/post"))
    assert done.stat("links/tried") == 3
    assert sorted(done.urls) == site.urls("/chapter-1", "/post")


@on_asyncio
async def test_the_rules_of_a_crawl_spider_are_followed(site: Site) -> None:
    class Rules(CrawlSpider):
        name = "rules"
        custom_settings = {"CONCURRENT_REQUESTS": 1}
        rules = [Rule(LinkExtractor(allow=r"post|chapter|again|replytocom"), callback="item", follow=True)]

        def item(self, response: Any) -> Any:
            yield {"url": response.url}

    serve_repeats(site, 100, "/chapter-1", "/other")
    site["/"], site["/chapter-1"], site["/other"] = page("start", links=("/post",)), page("chapter"), page("other")
    done = await crawl(Rules, ADDON, start_urls=site.urls("/"))
    assert sorted(done.urls) == site.urls("/chapter-1", "/post")
    assert done.stat("links/tried") == NEEDED + 1
    assert "/other" not in site.requested


@pytest.mark.parametrize("pages", [NEEDED - 1, NEEDED + 5])
@on_asyncio
async def test_a_callback_that_never_makes_a_request_is_not_called_for_links(site: Site, pages: int) -> None:
    """Such as that of a spider that has a list of URLs. Its repeats are dropped as early as they can be."""
    paths = numbered("/page/", pages)
    for path in paths:
        site[path] = page(path, links=(f"{path}/more",))
    site["/page/0?again"] = page("/page/0", "again", links=("/page/0/again",))
    done = await crawl(PathsSpider, ADDON | ONE_BY_ONE, urls=site.urls(*paths, "/page/0?again"))
    assert done.stat("pages/dropped") == 1
    assert len(done.spider.called) == pages + (pages < NEEDED)


@on_asyncio
async def test_requests_that_are_more_than_links_are_made_at_once(site: Site) -> None:
    class Asking(OneByOne):
        def parse(self, response: Any) -> Any:
            yield from super().parse(response)
            if response.url.endswith("again"):
                yield Request(site.url("/link"))
                yield Request(site.url("/urgent"), priority=5)
                yield Request(site.url("/anyway"), dont_filter=True)
                yield Request(site.url("/unjudged"), meta={"simdedup": False})
                yield FormRequest(site.url("/form"), formdata={"a": "1"})

    serve_repeats(site, 1)
    for path in ("/link", "/urgent", "/anyway", "/unjudged", "/form"):
        site[path] = page(path)
    done = await crawl(Asking, ADDON, urls=site.urls("/post"))
    assert done.stat("links/deferred") == 2
    assert sorted(site.requested[-2:]) == ["/link", "/post?replytocom=0"]
    assert {"/urgent", "/anyway", "/unjudged", "/form"} < {*site.requested}


@on_asyncio
async def test_a_request_that_is_left_is_as_its_callback_made_it(site: Site) -> None:
    requests: list[Request] = []

    class Insisting(Following):
        def failed(self, failure: Any) -> Any:
            if failure.check(LinkNotFollowed):
                requests.append(failure.request)
                if len(requests) == 1:
                    yield failure.request.replace(dont_filter=True)

    serve_repeats(site, NEEDED + 2)
    done = await crawl(Insisting, ADDON, urls=site.urls("/post"))
    assert done.stat("links/left") == 2
    assert [(request.priority, request.dont_filter) for request in requests] == [(0, False)] * 2
    assert not [
        name for request in requests for name in request.meta if name in {"simdedup_deferred", "simdedup_trial"}
    ]
    assert len(site.requested) == 3 + NEEDED + 1


@pytest.mark.parametrize(("status", "tried"), [(404, NEEDED), (410, NEEDED), (403, 90), (503, 90)])
@on_asyncio
async def test_an_error_of_the_moment_ends_no_pattern(site: Site, status: int, tried: int) -> None:
    serve_repeats(site, 90)
    for url in numbered("/post?replytocom=", 90):
        site[url] = (status, {"Content-Type": "text/html"}, b"<h1>Not now</h1>")
    await crawl(Following, ADDON, urls=site.urls("/post"))
    assert len(site.requested) == 3 + tried


@on_asyncio
async def test_a_link_that_is_redirected_to_a_known_page_is_a_trial(site: Site) -> None:
    serve_repeats(site, 90)
    for url in numbered("/post?replytocom=", 90):
        site[url] = (302, {"Location": site.url("/list")}, b"")
    site["/list"] = page("list")
    done = await crawl(Following, ADDON, urls=site.urls("/post"))
    assert done.stat("links/tried") >= NEEDED
    assert done.stat("links/left") > 0


@on_asyncio
async def test_a_server_that_ignores_the_end_of_a_path_does_not_hold_the_crawl(site: Site) -> None:
    """Each of its pages has links to paths that are longer than its own, and so of patterns of their own."""

    class Endless(dict[str, Any]):
        def get(self, path: str, default: Any = None) -> Any:
            return super().get(path) or page("post", path, links=tuple(f"{path}/{word}" for word in ("help", "about")))

    site.answers = Endless(
        {"/post": page("post", links=("/again",)), "/again": page("post", 1, links=("/help", "/about"))}
    )
    await crawl(Following, ADDON, urls=site.urls("/post"))
    assert len(site.requested) < 120


@on_asyncio
async def test_without_the_spider_middlewares_a_repeat_with_new_links_is_kept(site: Site, caplog: Any) -> None:
    """Only they could take its items away."""
    serve_repeats(site, 3, "/chapter-1")
    site["/chapter-1"] = page("chapter")
    alone = {"DOWNLOADER_MIDDLEWARES": {"scrapy_simdedup.NearDuplicateDownloaderMiddleware": 540}}
    done = await crawl(Following, alone, urls=site.urls("/post"))
    assert {*done.urls} == {*site.urls("/post", "/again", "/chapter-1")}
    assert done.stat("pages/kept_reason_count/for_callback") == 1
    assert done.stat("pages/dropped") == 3
    assert "1 repeat kept for an errback that asks again, or for links" in caplog.text


@on_asyncio
async def test_in_mode_items_links_do_not_wait(site: Site) -> None:
    serve_repeats(site, 100)
    done = await crawl(Following, ADDON | {"SIMDEDUP_MODE": "items"}, urls=site.urls("/post"))
    assert len(site.requested) == 103
    assert done.stat("links/deferred") == 0


@pytest.mark.parametrize(
    ("part", "name"),
    [(LinkPatterns, "bound"), (LinkPatterns, "defer"), (LinkPatterns, "end"), (LinkMemory, "has_new")],
)
@on_asyncio
async def test_a_mistake_of_ours_costs_no_link(
    site: Site, monkeypatch: Any, caplog: Any, part: type, name: str
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a bug of ours")

    serve_repeats(site, 0, "/chapter-1")
    site["/chapter-1"] = page("chapter")
    monkeypatch.setattr(part, name, broken)
    done = await crawl(Following, ADDON, urls=site.urls("/post"))
    assert sorted(done.urls) == site.urls("/chapter-1", "/post")
    assert "a bug of ours" in caplog.text


@on_asyncio
async def test_a_post_under_sixty_reply_links_is_no_stub(site: Site) -> None:
    serve_repeats(site, 0)
    site["/post"] = page("post", links=numbered("/post?replytocom=", 60))
    for url in numbered("/post?replytocom=", 60):
        site[url] = page("post", url)
    for number in range(10):
        site[f"/other/{number}"] = page(("other", number), links=(f"/other/{number + 1}",))
    done = await crawl(Following, ADDON, urls=site.urls("/post", "/other/0"))
    assert done.stat("pages/stub") == done.stat("walls_suspected") == 0
    assert done.stat("pages/dropped") == 60


@on_asyncio
async def test_a_soft_404_under_many_paths_is_a_stub(site: Site) -> None:
    for number in range(30):
        site[f"/story/{number}-of-its-own"] = page(("story", number))
        site[f"/story/{number}-that-is-gone"] = page("We do not have this story any more", number)
    paths = [f"/story/{number}-{what}" for what in ("of-its-own", "that-is-gone") for number in range(30)]
    done = await crawl(PathsSpider, ADDON, urls=site.urls(*paths))
    assert done.stat("pages/stub") == 10


# ------------------------------------------------------------------ memory and patterns


def test_ten_million_links_take_no_more_than_200_megabytes() -> None:
    memory = LinkMemory("domain", b"secret", MAX_LINKS)
    hashes = [memory.hash("shop.example", str(number)) for number in range(200_000)]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number in hashes:
        memory.request(number)
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert len(memory) == 200_000
    assert used / 200_000 <= 200e6 / MAX_LINKS


def test_beyond_its_bound_the_memory_takes_every_link_for_a_new_one() -> None:
    memory = LinkMemory("domain", b"secret", max_links=2)
    assert [memory.request(number) for number in (1, 2, 3)] == [True] * 3
    assert memory.is_full
    assert [memory.request(number) for number in (1, 2, 3)] == [False, False, True]
    links = ["https://shop.example/a"]
    assert [memory.has_new(links, "https://shop.example/") for _ in "12"] == [True, True]
    assert len(memory) == 2


def test_links_are_read_in_whatever_letters_they_are_written() -> None:
    """Attributes in capitals, without quotation marks, among white space, and behind text of any script."""
    memory = LinkMemory("domain", b"secret", 100)
    html = """<p>Käse \u2013 \u6771\u4eac \U0001f600 <A HREF="/Käse?a=1&amp;b=2">a</A> <a hReF = '/b'>b</a> <a
        href=/C#top>c</a> <a href="https://elsewhere.example/">d</a> <a href>e</a> href"""
    page = HtmlResponse("https://shop.example/x/", body=html.encode())
    paths = {"/Käse?a=1&b=2", "/b", "/C"}
    assert memory.links_to_own_site(page, 10_000) == {f"https://shop.example{path}" for path in paths}


def test_links_with_a_host_are_read_as_urljoin_reads_them() -> None:
    """Most of them are what comes of that."""
    ends = ["", "/a?b=1", "/../c", "/d?", "/e;", "/f;?g", "/[h"]
    hrefs = [*(f"https://shop.example{end}" for end in ends), "HTTPS://shop.example/i", "https:///j", "https://[/"]
    html = "".join(f'<a href="{href}">link</a>' for href in hrefs)
    page = HtmlResponse("https://shop.example/x/", body=html.encode())
    read = {urljoin(page.url, href) for href in hrefs[:-1]}  # the last one is none
    assert LinkMemory("domain", b"secret", 100).links_to_own_site(page, 10_000) == read
    assert len(read & set(hrefs)) == 4


def test_who_does_not_know_the_secret_cannot_make_links_that_are_taken_for_one() -> None:
    """Nor do two sites have links in common."""
    urls = [f"https://shop.example/?a={number}" for number in range(100)]
    ours, theirs = (LinkMemory("domain", secret, 100) for secret in (b"ours", b"theirs"))
    assert not {ours.key(url) for url in urls} & {theirs.key(url) for url in urls}
    by_host = LinkMemory("host", b"ours", 100)
    assert by_host.hash("a.example", urls[0]) != by_host.hash("b.example", urls[0])
    assert ours.key("https://shop.example/?b=1&a=2#top") == ours.key("https://shop.example/?a=2&b=1")
    assert ours.key("http://[broken") is None


def test_the_pattern_that_was_counted_first_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried again then, so that nothing is lost."""
    monkeypatch.setattr(link_memory, "MAX_PATTERNS", 2)
    patterns = LinkPatterns({})
    request = Request("https://shop.example/")
    for pattern in ("a", "b", "c"):
        for _ in range(NEEDED):
            patterns.end(pattern, request, is_new=False)
    assert [patterns.bound(pattern) < END_BOUND for pattern in ("a", "b", "c")] == [False, True, True]


@pytest.mark.parametrize("url", ["http://site.example/" + "a/" * 900, "http://site.example/?" + "&a=1" * 900, "x"])
def test_strange_urls_have_a_pattern(url: str) -> None:
    assert isinstance(link_pattern(url), str)
