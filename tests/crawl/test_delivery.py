"""A page is dropped only in favour of one that was delivered."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.exceptions import DropItem

from helpers.crawling import ADDON, PathsSpider, UnreachableFeed, crawl, waiting
from helpers.on_asyncio import on_asyncio, until
from helpers.pages import page, prose
from helpers.site_server import Answer, Site
from scrapy_simdedup.crawl.delivery import FEED_SECONDS


def serve_twins(site: Site, count: int = 3) -> list[str]:
    """One article under ``count`` URLs."""
    paths = [f"/twin/{number}" for number in range(count)]
    for number, path in enumerate(paths):
        site[path] = page("twin", number)
    return site.urls(*paths)


class FailingOnce(PathsSpider):
    """Its first callback raises after its first item."""

    def parse(self, response: Any) -> Any:
        self.called.append(response.url)
        yield {"url": response.url, "part": 1}
        if len(self.called) == 1:
            raise ValueError("the page broke")
        yield {"url": response.url, "part": 2}


@on_asyncio
async def test_a_callback_that_raises_halfway_leaves_the_page_to_its_twin(site: Site) -> None:
    urls = serve_twins(site)
    done = await crawl(FailingOnce, urls=urls)
    assert done.spider.called == urls[:2]
    assert [item["part"] for item in done.items] == [1, 1, 2]
    assert done.stat("released_reason_count/callback_error") == 1
    assert done.stat("pages/dropped") == 1


class FailingPipeline:
    """Treats its first item badly."""

    error: Exception = RuntimeError("database down")

    def __init__(self) -> None:
        self.seen = 0

    def process_item(self, item: Any) -> Any:
        self.seen += 1
        if self.seen == 1:
            raise self.error
        return item


class DroppingPipeline(FailingPipeline):
    error = DropItem("not today")


@pytest.mark.parametrize(("pipeline", "reason"), [(FailingPipeline, "item_error"), (DroppingPipeline, "item_dropped")])
@on_asyncio
async def test_an_item_that_is_lost_in_a_pipeline_comes_through_its_twin(
    site: Site, pipeline: type, reason: str
) -> None:
    urls = serve_twins(site)
    done = await crawl(PathsSpider, ADDON | {"ITEM_PIPELINES": {pipeline: 300}}, urls=urls)
    assert done.urls == [urls[1]]
    assert done.stat(f"released_reason_count/{reason}") == 1
    assert done.stat("confirmed") == 1
    assert done.stat("pages/dropped") == 1


class KeepsItems:
    """A spider middleware that stores items itself and passes none on."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    async def process_spider_output(self, response: Any, result: Any) -> Any:
        async for output in result:
            if isinstance(output, Request):
                yield output
            else:
                self.kept.append(output)


@pytest.mark.parametrize("priority", [5, 543])
@on_asyncio
async def test_nobody_waits_for_an_item_that_a_spider_middleware_keeps_for_itself(site: Site, priority: int) -> None:
    done = await crawl(PathsSpider, ADDON | {"SPIDER_MIDDLEWARES": {KeepsItems: priority}}, urls=serve_twins(site, 4))
    assert done.stat("pages/in_work_reason_count/timeout") == 0
    assert done.stat("pages/kept_reason_count/no_item_yet") == 1
    assert done.stat("pages/dropped") == 2


@on_asyncio
async def test_a_page_whose_callback_asks_for_it_again_is_not_delivered_by_the_first_try(site: Site) -> None:
    class Retrying(PathsSpider):
        def parse(self, response: Any) -> Any:
            self.called.append(response.url)
            if len(self.called) == 1:
                yield response.request.replace(dont_filter=True)
            else:
                yield {"url": response.url}

    urls = serve_twins(site, 1)
    done = await crawl(Retrying, urls=urls)
    assert done.urls == urls
    assert done.stat("released_reason_count/retried") == 1
    assert done.stat("confirmed") == 1


@pytest.mark.parametrize("by_form", [True, False], ids=["form", "address"])
@on_asyncio
async def test_pages_behind_a_login_are_fetched_whichever_of_them_led_to_it(site: Site, by_form: bool) -> None:
    """All login pages are alike, and the callback of each asks for another page after it."""

    class Member(PathsSpider):
        custom_settings = {"CONCURRENT_REQUESTS": 16}

        async def start(self) -> Any:
            for url in self.urls:
                yield Request(url)

        def parse(self, response: Any) -> Any:
            if not response.css("form"):
                yield {"url": response.url}
                return
            asked_for, post = response.meta["redirect_urls"][0], {"method": "POST", "body": "user=me"}
            if by_form:
                after = {"callback": self.log_in, "cb_kwargs": {"url": asked_for}}
                yield response.follow("/session", dont_filter=True, **post, **after)
            else:
                yield response.follow("/session", callback=self.no_page, priority=9, **post)
                yield Request(asked_for, dont_filter=True)

        def log_in(self, response: Any, url: str) -> Any:
            yield Request(url, dont_filter=True)

        def no_page(self, response: Any) -> None:
            pass

    def log_in(path: str) -> Answer:
        is_open.append(path)
        return (200, {}, b"")

    def member(path: str) -> Answer:
        return page(path) if is_open else (302, {"Location": f"/login?next={path}"}, b"")

    is_open: list[str] = []
    paths = [f"/members/{number}" for number in range(16)]
    form = '<form action="/session" method="post"><input name="user"></form>'
    for path in paths:
        site[path], site[f"/login?next={path}"] = member, page("login", path, body=prose("login") + form)
    site["/session"] = log_in
    done = await crawl(Member, urls=site.urls(*paths))
    assert sorted(done.urls) == sorted(site.urls(*paths))


@on_asyncio
async def test_a_callback_can_say_that_it_did_not_deliver(site: Site) -> None:
    class Picky(PathsSpider):
        def parse(self, response: Any) -> Any:
            self.called.append(response.url)
            if len(self.called) == 1:
                response.meta["simdedup_deliver"] = False
                return
            yield {"url": response.url}

    urls = serve_twins(site)
    done = await crawl(Picky, urls=urls)
    assert done.urls == [urls[1]]
    assert done.stat("released_reason_count/not_delivered") == 1


class Slow(PathsSpider):
    """All twins arrive while the callback of the first is still at work."""

    custom_settings = {"CONCURRENT_REQUESTS": 8, "CONCURRENT_REQUESTS_PER_DOMAIN": 8}
    fail_first = False

    async def parse(self, response: Any) -> Any:
        self.called.append(response.url)
        first = len(self.called) == 1
        await until(lambda: waiting(self) + len(self.called) >= len(self.urls))
        if first and self.fail_first:
            raise ValueError("the page broke")
        yield {"url": response.url}


@on_asyncio
async def test_twins_in_flight_wait_for_the_first_and_are_dropped(site: Site) -> None:
    done = await crawl(Slow, urls=serve_twins(site, 5))
    assert len(done.items) == 1
    assert done.stat("pages/dropped") == 4


@on_asyncio
async def test_a_twin_in_flight_goes_on_by_itself_if_the_first_fails(site: Site) -> None:
    done = await crawl(Slow, urls=serve_twins(site, 5), fail_first=True)
    assert len(done.items) == 1
    assert len(done.spider.called) == 2
    assert done.stat("pages/dropped") == 3


@on_asyncio
async def test_twins_in_flight_can_be_kept_at_once(site: Site) -> None:
    settings = ADDON | {"SIMDEDUP_PENDING_TIMEOUT": 0}
    done = await crawl(Slow, settings, urls=serve_twins(site, 4))
    assert len(done.items) == 4
    assert done.stat("pages/dropped") == 0


@on_asyncio
async def test_a_callback_that_awaits_its_own_twin_does_not_hang_the_crawl(site: Site) -> None:
    class Awaiting(PathsSpider):
        async def parse(self, response: Any) -> Any:
            self.called.append(response.url)
            other = await self.crawler.engine.download_async(Request(urls[1]))
            yield {"url": response.url, "other": other.url}

    urls = serve_twins(site, 2)
    done = await crawl(Awaiting, ADDON | {"SIMDEDUP_PENDING_TIMEOUT": 0.5}, urls=urls[:1])
    assert done.items == [{"url": urls[0], "other": urls[1]}]


@on_asyncio
async def test_confirmation_can_wait_for_the_feed(site: Site, tmp_path: Path, caplog: Any) -> None:
    feed = tmp_path / "items.jsonl"
    settings = ADDON | {"SIMDEDUP_CONFIRM": "feed", "FEEDS": {str(feed): {"format": "jsonlines"}}}
    done = await crawl(PathsSpider, settings, urls=serve_twins(site))
    assert (done.stat("confirmed"), done.stat("pages/dropped")) == (3, 0), "before that, no page displaces another"
    assert len(feed.read_text().splitlines()) == 3
    assert (
        "2 repeats kept, as their originals were still in work: 2 as nothing counts as delivered before" in caplog.text
    )


@on_asyncio
async def test_an_item_that_no_feed_holds_displaces_none_in_the_next_crawl(site: Site, tmp_path: Path) -> None:
    """The pipeline, too, waits for the feed; the crawl waits for nobody."""
    (tmp_path / "file").touch()
    settings = ADDON | {
        "SIMDEDUP_CONFIRM": "feed",
        "SIMDEDUP_ITEM_FIELDS": ["url"],
        "SIMDEDUP_AGAINST": "history",
        "SIMDEDUP_STORE": f"sqlite:///{tmp_path / 'pages.sqlite'}",
    }
    lost, feed = {str(tmp_path / "file/items.jsonl"): {"format": "jsonlines"}}, tmp_path / "items.jsonl"
    stored = {str(feed): {"format": "jsonlines"}}
    urls, began = serve_twins(site), time.monotonic()
    first = await crawl(PathsSpider, settings | {"FEEDS": lost}, urls=urls)
    again = await crawl(PathsSpider, settings | {"FEEDS": stored}, urls=urls)
    assert first.urls == again.urls == urls
    assert len(feed.read_text().splitlines()) == 3
    later = await crawl(PathsSpider, settings | {"FEEDS": stored}, urls=urls)
    assert later.urls == []
    assert time.monotonic() - began < FEED_SECONDS


@on_asyncio
async def test_a_feed_that_cannot_be_stored_confirms_nothing(site: Site) -> None:
    feed = {"FEED_STORAGES": {"gone": UnreachableFeed}, "FEEDS": {"gone://host/items.jsonl": {"format": "jsonlines"}}}
    done = await crawl(PathsSpider, {**ADDON, **feed, "SIMDEDUP_CONFIRM": "feed"}, urls=serve_twins(site, 1))
    assert done.stat("confirmed") == 0
    assert done.stat("released_reason_count/feed_failed") == 1


@on_asyncio
async def test_a_feed_of_whose_end_no_stat_tells_confirms_nothing(site: Site, tmp_path: Path, caplog: Any) -> None:
    feed = {"FEED_STORAGES": {"gone": UnreachableFeed}, "FEEDS": {"gone://host/items.jsonl": {"format": "jsonlines"}}}
    store = {"SIMDEDUP_STORE": f"sqlite:///{tmp_path / 'pages.sqlite'}", "SIMDEDUP_AGAINST": "history"}
    untold = {"STATS_CLASS": "scrapy.statscollectors.DummyStatsCollector", "SIMDEDUP_CONFIRM": "feed"}
    urls = serve_twins(site, 1)
    await crawl(PathsSpider, {**ADDON, **feed, **store, **untold}, urls=urls)
    assert "no page counts as delivered; look above for why, set STATS_CLASS to one that keeps stats" in caplog.text
    again = await crawl(PathsSpider, {**ADDON, **store}, urls=urls)
    assert again.urls == urls


@pytest.mark.parametrize("store_empty", [True, False])
@on_asyncio
async def test_a_feed_that_cannot_be_opened_confirms_nothing(site: Site, tmp_path: Path, store_empty: bool) -> None:
    """Scrapy counts no failure then. Without an empty feed to store it even says that its feeds are closed."""
    (tmp_path / "file").touch()
    feed = {"FEEDS": {str(tmp_path / "file/items.jsonl"): {"format": "jsonlines", "store_empty": store_empty}}}
    done = await crawl(PathsSpider, {**ADDON, **feed, "SIMDEDUP_CONFIRM": "feed"}, urls=serve_twins(site, 1))
    assert done.stat("confirmed") == 0
    assert done.stat("released_reason_count/feed_failed") == 1


class OtherRequests:
    """A downloader middleware that gives each response a request of its own."""

    def process_response(self, request: Any, response: Any) -> Any:
        return response.replace(request=request.copy())


@on_asyncio
async def test_the_summary_says_where_no_page_gets_to_its_callback_by_its_own_request(site: Site, caplog: Any) -> None:
    middlewares = {"DOWNLOADER_MIDDLEWARES": {OtherRequests: 600}}
    done = await crawl(PathsSpider, ADDON | middlewares, urls=serve_twins(site, 5))
    assert len(done.items) == 5
    assert "warning: 5 pages did not get to a callback, so repeats of these are kept" in caplog.text
    assert "gives responses another request" in caplog.text


@on_asyncio
async def test_a_page_that_links_to_itself_is_delivered(site: Site) -> None:
    class Following(PathsSpider):
        async def start(self) -> Any:
            async for request in super().start():
                yield request.replace(dont_filter=False)

        def parse(self, response: Any) -> Any:
            yield from super().parse(response)
            yield response.follow(response.url)

    urls = serve_twins(site, 2)
    done = await crawl(Following, urls=urls)
    assert done.urls == urls[:1]
    assert done.stat("confirmed") == 1
    assert done.stat("pages/dropped") == 1


@on_asyncio
async def test_a_callback_that_ended_can_be_all_that_counts(site: Site) -> None:
    """Whatever the pipelines do with the page's items."""
    settings = ADDON | {"SIMDEDUP_CONFIRM": "callback", "ITEM_PIPELINES": {DroppingPipeline: 300}}
    done = await crawl(PathsSpider, settings, urls=serve_twins(site))
    assert done.items == []
    assert (done.stat("confirmed"), done.stat("pages/dropped")) == (1, 2)


class InlineSpider(PathsSpider):
    """Fetches pages inside of a callback, and takes their items there."""

    name = "inline"

    async def start(self) -> Any:
        yield Request(self.urls[0])

    async def parse(self, response: Any) -> Any:
        for url in self.urls[1:]:
            page = await self.crawler.engine.download_async(Request(url))
            yield {"url": page.url}


@on_asyncio
async def test_pages_that_a_callback_fetches_itself_do_not_wait_for_each_other(site: Site) -> None:
    """No callback of their own is to come, so nothing is gained by waiting for one, for however long it may take."""
    site["/"] = page("start")
    repeats = [f"/one?wrapping={number}" for number in range(4)]
    for number, path in enumerate(repeats):
        site[path] = page("one", number)
    done = await crawl(InlineSpider, ADDON | {"SIMDEDUP_PENDING_TIMEOUT": 3600}, urls=site.urls("/", *repeats))
    assert sorted(done.urls) == sorted(site.urls(*repeats))
    assert done.stat("released_reason_count/request_died") >= len(repeats) - 1
