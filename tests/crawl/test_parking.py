"""Repeats wait for their originals outside of the downloader's places, as many as fit into memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scrapy.crawler import Crawler
from scrapy.signals import spider_idle
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro

from helpers.crawling import ADDON, PathsSpider, crawl, waiting
from helpers.on_asyncio import on_asyncio, until
from helpers.pages import page
from helpers.site_server import Site
from scrapy_simdedup import NearDuplicateDetector
from scrapy_simdedup.crawl import judge

FAST = {"CONCURRENT_REQUESTS": 16, "CONCURRENT_REQUESTS_PER_DOMAIN": 16}


class FastSpider(PathsSpider):
    custom_settings = FAST


def with_items_held(is_so: Callable[[Crawler], object]) -> dict[str, Any]:
    """Settings with a pipeline that lets no item pass before something is so."""

    class Holding:
        @classmethod
        def from_crawler(cls, crawler: Crawler) -> Holding:
            cls.crawler = crawler
            return cls()

        async def process_item(self, item: Any) -> Any:
            await until(lambda: is_so(self.crawler))
            return item

    return ADDON | {"ITEM_PIPELINES": {Holding: 300}}


def in_work(crawler: Crawler, reason: str) -> int:
    """How many repeats were kept for a reason, as their originals were still in work."""
    return crawler.stats.get_value(f"simdedup/pages/in_work_reason_count/{reason}", 0)


def serve(site: Site, contents: int, twins: int) -> list[str]:
    """Contents with their twins, each content's one after the other."""
    paths = [f"/{number}/{twin}" for number in range(contents) for twin in range(twins)]
    for path in paths:
        site[path] = page(path.split("/")[1], path)
    return site.urls(*paths)


@on_asyncio
async def test_repeats_of_a_page_that_is_slowly_delivered_are_all_dropped(site: Site) -> None:
    """All are there before the first item passes."""
    urls = serve(site, 6, 11)
    done = await crawl(FastSpider, with_items_held(lambda _: len(site.requested) == len(urls)), urls=urls)
    assert len(done.items) == 6
    assert done.stat("pages/dropped") == 60
    assert not any("in_work" in name for name in done.crawler.stats.get_stats())


@on_asyncio
async def test_a_crawl_out_of_the_http_cache_gives_as_many_items_as_the_first(site: Site, tmp_path: Path) -> None:
    settings = ADDON | {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    urls = serve(site, 60, 3)
    for _ in range(2):
        done = await crawl(FastSpider, settings, urls=urls)
        assert (len(done.items), done.stat("pages/dropped")) == (60, 120)


@on_asyncio
async def test_what_has_no_room_to_wait_is_kept_and_counted(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr(judge.Parking.__init__, "__defaults__", (10_000,))
    settings = with_items_held(lambda crawler: in_work(crawler, "no_room") and len(site.requested) == 16)
    done = await crawl(FastSpider, settings, urls=serve(site, 1, 16))
    kept = in_work(done.crawler, "no_room")
    assert kept > 0
    assert len(done.items) == 1 + kept
    assert f"{kept} repeats kept, as their originals were still in work: {kept} with no room to wait" in caplog.text


@on_asyncio
async def test_the_time_that_was_too_short_is_counted(site: Site) -> None:
    settings = with_items_held(lambda crawler: in_work(crawler, "timeout") == 2) | {"SIMDEDUP_PENDING_TIMEOUT": 0.1}
    done = await crawl(FastSpider, settings, urls=serve(site, 1, 3))
    assert (len(done.items), in_work(done.crawler, "timeout")) == (3, 2)


@on_asyncio
async def test_the_spider_stays_open_while_a_repeat_waits_for_another_process(site: Site, tmp_path: Path) -> None:
    store = f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"
    urls = serve(site, 1, 2)
    other = NearDuplicateDetector(store, run="shared", secret=None, callbacks="any")
    await other.open()
    verdict = await other.judge(page("0", "/0/0"), url=urls[0])
    idle: list[tuple[int, int]] = []

    class Idle(FastSpider):
        hears = {"confirm": spider_idle}

        def confirm(self) -> None:
            if not idle:
                call_later(0.1, deferred_from_coro, other.confirm(verdict.page))
            idle.append((len(site.requested), self.crawler.stats.get_value("simdedup/pages/dropped", 0)))

    done = await crawl(Idle, ADDON | {"SIMDEDUP_STORE": store, "SIMDEDUP_RUN": "shared"}, urls=urls[1:])
    await other.close()
    assert (idle[0], idle[-1], done.items) == ((1, 0), (1, 1), [])


@on_asyncio
async def test_a_crawl_that_is_stopped_lets_what_waits_go_on(site: Site) -> None:
    class Stopping(FastSpider):
        async def parse(self, response: Any) -> Any:
            self.called.append(response.url)
            if len(self.called) == 1:
                await until(lambda: waiting(self) == 3)
                deferred_from_coro(self.crawler.stop_async())
                await until(lambda: in_work(self.crawler, "closing"))
            yield {"url": response.url}

    done = await crawl(Stopping, urls=serve(site, 1, 4))
    kept = in_work(done.crawler, "closing")
    assert kept >= 1
    assert len(done.items) == 1 + kept
    assert len(done.items) + done.stat("pages/dropped") == 4
