"""Real crawls of a real site: what is dropped, what is kept, and what is counted."""

from __future__ import annotations

import gc
from typing import Any
from weakref import WeakSet

import pytest
from scrapy import Request
from scrapy.exceptions import CloseSpider

from helpers.crawling import ADDON, PathsSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page, prose, words
from helpers.site_server import Site
from scrapy_simdedup import NearDuplicateDownloaderMiddleware, NearDuplicatePage
from scrapy_simdedup.signals import near_duplicate_dropped


def serve_articles(site: Site) -> list[str]:
    """Two articles, the first under three URLs, each time in another frame."""
    site["/one"] = page("one", 1)
    site["/one?print=1"] = page("one", 2)
    site["/one?utm_source=mail"] = page("one", 3)
    site["/two"] = page("two", 4)
    return site.urls("/one", "/one?print=1", "/two", "/one?utm_source=mail")


@on_asyncio
async def test_repeats_are_dropped_and_counted(site: Site, caplog: Any) -> None:
    urls = serve_articles(site)
    done = await crawl(PathsSpider, urls=urls)
    assert done.urls == [urls[0], urls[2]]
    assert done.spider.called == done.urls
    assert done.stat("pages/judged") == 4
    assert done.stat("pages/new") == 2
    assert done.stat("pages/identical") == 2
    assert done.stat("pages/dropped") == 2
    assert done.stat("confirmed") == 2
    assert done.stat("released") == 0
    assert done.stat("bytes_dropped") == sum(
        len(site.answers[path]) for path in ("/one?print=1", "/one?utm_source=mail")
    )
    assert "4 pages judged: 2 new, 2 identical" in caplog.text
    assert f"2 × {urls[0]}" in caplog.text


@on_asyncio
async def test_a_dropped_page_is_received_and_its_log_line_says_why(site: Site, caplog: Any) -> None:
    urls = serve_articles(site)
    with caplog.at_level("DEBUG"):
        done = await crawl(PathsSpider, urls=urls)
    assert done.crawler.stats.get_value("response_received_count") == 4
    assert f"(200) <GET {urls[1]}> (referer: None) ['simdedup-identical']" in caplog.text
    assert f"repeats {urls[0]}" in caplog.text


@on_asyncio
async def test_a_dropped_page_is_let_go_before_the_garbage_collector_comes(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: WeakSet[Any] = WeakSet()
    judge = NearDuplicateDownloaderMiddleware.process_response

    async def see(self: Any, request: Any, response: Any) -> Any:
        received.add(response)
        return await judge(self, request, response)

    monkeypatch.setattr(NearDuplicateDownloaderMiddleware, "process_response", see)
    urls = serve_articles(site)
    gc.disable()
    try:
        done = await crawl(PathsSpider, urls=urls)
        held = {response.url for response in received}
    finally:
        gc.enable()
    assert done.stat("pages/dropped") == 2
    assert not held


@on_asyncio
async def test_while_it_crawls_the_garbage_collector_looks_only_at_what_came_since_it_began(site: Site) -> None:
    frozen: list[int] = []
    thresholds: list[int] = []

    class Looking(PathsSpider):
        def parse(self, response: Any) -> Any:
            frozen.append(gc.get_freeze_count())
            thresholds.append(gc.get_threshold()[0])
            yield from super().parse(response)

    urls = serve_articles(site)
    before = gc.get_threshold()
    try:
        for young, expected in ((700, 5_000), (7_000, 7_000), (0, 0)):  # 0 has it never look by itself
            gc.set_threshold(young)
            await crawl(Looking, urls=urls)
            assert set(thresholds) == {expected}
            assert gc.get_threshold()[0] == young
            thresholds.clear()
        assert min(frozen) > 10_000
        assert gc.get_freeze_count() == 0
        gc.freeze()
        await crawl(PathsSpider, urls=urls)
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


@on_asyncio
async def test_in_mode_items_links_are_followed_and_items_are_dropped(site: Site) -> None:
    class Following(PathsSpider):
        def parse(self, response: Any) -> Any:
            yield from super().parse(response)
            for link in response.css("main a"):
                yield response.follow(link)

    site["/one"] = page("one", 1)
    site["/again"] = page("one", 2, body=prose("one") + '<p><a href="/two">More</a></p>')
    site["/two"] = page("two", 3)
    urls = site.urls("/one", "/again")
    done = await crawl(Following, ADDON | {"SIMDEDUP_MODE": "items"}, urls=urls)
    assert done.spider.called == [*urls, site.url("/two")]
    assert done.urls == [urls[0], site.url("/two")]
    assert done.stat("items/dropped") == 1


@on_asyncio
async def test_in_mode_observe_all_is_counted_and_nothing_dropped(site: Site, caplog: Any) -> None:
    urls = serve_articles(site)
    done = await crawl(PathsSpider, ADDON | {"SIMDEDUP_MODE": "observe"}, urls=urls)
    assert sorted(done.urls) == sorted(urls)
    assert done.stat("pages/identical") == 2
    assert (done.stat("pages/dropped"), done.stat("pages/would_drop")) == (0, 2)
    assert "2 pages would have been dropped" in caplog.text


@on_asyncio
async def test_the_downloader_middleware_alone_drops_pages(site: Site, caplog: Any) -> None:
    urls = serve_articles(site)
    alone = {"DOWNLOADER_MIDDLEWARES": {"scrapy_simdedup.NearDuplicateDownloaderMiddleware": 540}}
    done = await crawl(PathsSpider, alone, urls=urls)
    assert done.urls == [urls[0], urls[2]]
    assert "the delivery middlewares are not enabled" in caplog.text


@on_asyncio
async def test_the_pipeline_alone_drops_items_that_repeat_items(site: Site) -> None:
    class Texts(PathsSpider):
        def parse(self, response: Any) -> Any:
            yield {"url": response.url, "text": " ".join(response.css("main p::text").getall())}

    urls = serve_articles(site)
    alone = {"ITEM_PIPELINES": {"scrapy_simdedup.NearDuplicatePipeline": 300}}
    done = await crawl(Texts, alone, urls=urls)
    assert done.urls == [urls[0], urls[2]]
    assert done.stat("items/dropped") == 2


@pytest.mark.parametrize(("scope", "dropped"), [("domain", 0), ("all", 1)])
@on_asyncio
async def test_items_are_compared_with_those_of_the_same_site(site: Site, scope: str, dropped: int) -> None:
    """Else anybody who copies a text could have its author's item dropped."""

    class Texts(PathsSpider):
        def parse(self, response: Any) -> Any:
            yield {"url": response.url, "text": " ".join(response.css("main p::text").getall())}

    site["/one"] = page("one", 1)
    urls = [site.url("/one"), site.url("/one").replace("127.0.0.1", "localhost")]
    alone = {"ITEM_PIPELINES": {"scrapy_simdedup.NearDuplicatePipeline": 300}, "SIMDEDUP_SCOPE": scope}
    done = await crawl(Texts, alone, urls=urls)
    assert done.stat("items/dropped") == dropped


@on_asyncio
async def test_everything_can_be_switched_off(site: Site) -> None:
    urls = serve_articles(site)
    done = await crawl(PathsSpider, ADDON | {"SIMDEDUP_ENABLED": False}, urls=urls)
    assert done.urls == urls
    assert not [name for name in done.crawler.stats.get_stats() if name.startswith("simdedup/")]


@pytest.mark.parametrize(
    ("reason", "answer"),
    [
        ("status", (404, {"Content-Type": "text/html"}, page("gone", count=120).encode())),
        ("not_html", (200, {"Content-Type": "application/json"}, b'{"text": "' + b"word " * 200 + b'"}')),
        (
            "not_html",
            (200, {"Content-Type": "application/rss+xml"}, b"<rss><channel>" + b"<item/>" * 50 + b"</channel></rss>"),
        ),
        ("not_html", (200, {"Content-Type": "application/pdf"}, b"%PDF-1.4\n" + bytes(range(256)) * 8)),
        ("empty", (200, {"Content-Type": "text/html"}, b"")),
        ("too_short", (200, {"Content-Type": "text/html"}, b"<p>Please log in</p>")),
    ],
)
@on_asyncio
async def test_what_cannot_be_judged_is_kept_with_its_reason(site: Site, reason: str, answer: Any) -> None:
    class AllStatus(PathsSpider):
        handle_httpstatus_list = [404]

    site["/a"] = site["/b"] = answer
    urls = site.urls("/a", "/b")
    done = await crawl(AllStatus, urls=urls)
    assert done.urls == urls
    assert done.stat(f"pages/unjudged_reason_count/{reason}") == 2
    assert done.stat("pages/dropped") == 0


@on_asyncio
async def test_a_request_can_opt_out(site: Site) -> None:
    class OptedOut(PathsSpider):
        async def start(self) -> Any:
            async for request in super().start():
                yield request.replace(meta={"simdedup": False})

    urls = serve_articles(site)
    done = await crawl(OptedOut, urls=urls)
    assert done.urls == urls


@on_asyncio
async def test_a_verdict_does_not_travel_along_with_copied_meta(site: Site) -> None:
    seen = {}

    class Copying(PathsSpider):
        def parse(self, response: Any) -> Any:
            seen[response.url] = dict(response.meta["simdedup_verdict"])
            if response.url.endswith("/one"):
                request = Request(site.url("/img"), meta=response.meta, callback=self.other, dont_filter=True)
                yield request
            yield {"url": response.url}

        def other(self, response: Any) -> None:
            seen[response.url] = response.meta.get("simdedup_verdict")

    site["/one"] = page("one")
    site["/img"] = (200, {"Content-Type": "application/octet-stream"}, b"\x00\x01\x02" * 50)
    await crawl(Copying, urls=site.urls("/one"))
    assert seen[site.url("/one")]["kind"] == "new"
    assert seen[site.url("/img")] is None


@on_asyncio
async def test_an_errback_learns_why_its_page_was_dropped(site: Site) -> None:
    class WithErrback(PathsSpider):
        async def start(self) -> Any:
            async for request in super().start():
                yield request.replace(errback=self.failed)

        def failed(self, failure: Any) -> None:
            assert failure.check(NearDuplicatePage)
            self.failures.append(failure.value)

    urls = serve_articles(site)
    done = await crawl(WithErrback, urls=urls)
    assert done.urls == [urls[0], urls[2]]
    assert [error.verdict.original for error in done.spider.failures] == [urls[0], urls[0]]
    assert {error.response.url for error in done.spider.failures} == {urls[1], urls[3]}


@pytest.mark.parametrize("anew", [True, False])
@on_asyncio
async def test_an_errback_that_tries_again_for_ever_does_not_hold_the_crawl(site: Site, anew: bool) -> None:
    """As many spiders do whose proxies fail now and then. Other requests of it are made, and those that opted out."""

    class Stubborn(PathsSpider):
        async def start(self) -> Any:
            async for request in super().start():
                yield request.replace(errback=self.failed)

        def failed(self, failure: Any) -> Any:
            url = failure.request.url
            self.failures.append(failure.value)
            if anew:
                yield Request(url, self.parse, errback=self.failed, dont_filter=True)
            else:
                yield failure.request.replace(dont_filter=True)
            yield Request(url, self.parse_otherwise, dont_filter=True)
            yield Request(url, self.parse, dont_filter=True, meta={"simdedup": False})

        def parse_otherwise(self, response: Any) -> Any:
            yield {"url": f"otherwise {response.url}"}

    urls = serve_articles(site)
    done = await crawl(Stubborn, urls=urls)
    otherwise = {f"otherwise {url}" for url in (urls[1], urls[3])}
    assert sorted(set(done.urls) - otherwise) == sorted(urls)
    assert len(done.urls) == len(urls) + 1
    assert len(done.spider.failures) == 2
    assert len(site.requested) == 8


@on_asyncio
async def test_an_errback_that_tries_other_urls_for_ever_gets_the_page_in_the_end(site: Site) -> None:
    """As where a session id in the URL is to be another one."""

    class Stubborn(PathsSpider):
        async def start(self) -> Any:
            async for request in super().start():
                yield request.replace(errback=self.failed)

        def failed(self, failure: Any) -> Any:
            self.failures.append(failure.value)
            yield Request(f"{failure.request.url}&again", self.parse, errback=self.failed)

        def parse(self, response: Any) -> Any:
            yield {"url": response.url}
            if "again" in response.url:  # as spiders do that copy all of the meta: the repeat of a repeat is dropped
                yield Request(urls[3], self.parse, meta=response.meta)

    urls = serve_articles(site)
    for count in range(1, 4):
        site["/one?print=1" + count * "&again"] = page("one", count)
    done = await crawl(Stubborn, urls=urls[:2])
    assert done.urls == [urls[0], f"{urls[1]}&again&again&again"]
    assert len(done.spider.failures) == 3


@on_asyncio
async def test_where_no_spider_middleware_sees_its_errback_a_page_is_dropped_once(site: Site) -> None:
    class Stubborn(PathsSpider):
        async def start(self) -> Any:
            async for request in super().start():
                yield request.replace(errback=self.failed)

        def failed(self, failure: Any) -> Any:
            yield failure.request.replace(dont_filter=True)

    urls = serve_articles(site)
    alone = {"DOWNLOADER_MIDDLEWARES": {"scrapy_simdedup.NearDuplicateDownloaderMiddleware": 540}}
    done = await crawl(Stubborn, alone, urls=urls)
    assert sorted(done.urls) == sorted(urls)
    assert len(site.requested) == len(urls) + 2
    assert done.stat("pages/dropped") == 2


@on_asyncio
async def test_a_signal_tells_of_every_dropped_page(site: Site) -> None:
    dropped = []

    class Listening(PathsSpider):
        hears = {"heard": near_duplicate_dropped}

        def heard(self, response: Any, verdict: Any) -> None:
            dropped.append((response.url, verdict.original))

    urls = serve_articles(site)
    await crawl(Listening, urls=urls)
    assert dropped == [(urls[1], urls[0]), (urls[3], urls[0])]


@on_asyncio
async def test_an_error_of_our_own_keeps_the_page(site: Site, monkeypatch: Any, caplog: Any) -> None:
    from scrapy_simdedup.detect.detector import NearDuplicateDetector

    async def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("a bug of ours")

    monkeypatch.setattr(NearDuplicateDetector, "judge_page", broken)
    urls = serve_articles(site)
    done = await crawl(PathsSpider, urls=urls)
    assert done.urls == urls
    assert done.stat("pages/unjudged_reason_count/error") == 4
    assert "a bug of ours" in caplog.text


@on_asyncio
async def test_the_content_of_a_page_is_put_into_the_fields_of_its_items(site: Site) -> None:
    """Those that the callback filled stay as they are."""
    site["/one"] = page("one").replace("<head>", "<head><meta name=author content='Ada Obst'>")
    settings = {"SIMDEDUP_CONTENT_FIELDS": {"body": "markdown", "by": "author", "url": "title", "site": "site_name"}}
    done = await crawl(PathsSpider, ADDON | settings, urls=site.urls("/one"))
    (item,) = done.items
    assert item["body"].startswith("# ")
    assert (item["by"], item["site"], item["url"]) == ("Ada Obst", "", site.url("/one"))


@on_asyncio
async def test_the_cleaned_markdown_is_added_to_items_on_request(site: Site) -> None:
    site["/one"] = page("one", body=f'<h2>Parts</h2>{prose("one")}<div class="kolophon"><p>Printed in Ghent.</p></div>')
    settings = {"SIMDEDUP_MARKDOWN_FIELD": "markdown", "SIMDEDUP_ROLE_WORDS": {"footer": ["kolophon"]}}
    done = await crawl(PathsSpider, ADDON | settings, urls=site.urls("/one"))
    markdown = done.items[0]["markdown"]
    assert "## Parts" in markdown
    assert " ".join(words("one", 40)).capitalize() in markdown
    assert "Served at" not in markdown
    assert "Ghent" not in markdown


@on_asyncio
async def test_a_spider_that_closes_itself_gets_its_summary(site: Site, caplog: Any) -> None:
    class Closing(PathsSpider):
        def parse(self, response: Any) -> Any:
            raise CloseSpider("enough")

    urls = serve_articles(site)
    done = await crawl(Closing, urls=urls)
    assert done.stat("confirmed") == 0
    assert done.stat("released") >= 1
    assert "Near-duplicates:" in caplog.text
