"""Repeats wait for their originals outside of the downloader's places, as many as fit into memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro

from helpers.crawling import ADDON, PathsSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.site_server import Site
from scrapy_simdedup import NearDuplicateDetector
from scrapy_simdedup.crawl import judge
from scrapy_simdedup.crawl.concurrency import sleep

FAST = {"CONCURRENT_REQUESTS": 16, "CONCURRENT_REQUESTS_PER_DOMAIN": 16}


class FastSpider(PathsSpider):
    custom_settings = FAST


class SlowPipeline:
    """Takes its time for each item."""

    async def process_item(self, item: Any) -> Any:
        await sleep(1)
        return item


def serve(site: Site, contents: int, twins: int) -> list[str]:
    """Contents with their twins, each content's one after the other."""
    paths = [f"/{number}/{twin}" for number in range(contents) for twin in range(twins)]
    for path in paths:
        site[path] = page(path.split("/")[1], path)
    return site.urls(*paths)


@on_asyncio
async def test_repeats_of_a_page_that_is_slowly_delivered_are_all_dropped(site: Site) -> None:
    done = await crawl(FastSpider, ADDON | {"ITEM_PIPELINES": {SlowPipeline: 300}}, urls=serve(site, 6, 11))
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
    done = await crawl(FastSpider, ADDON | {"ITEM_PIPELINES": {SlowPipeline: 300}}, urls=serve(site, 1, 16))
    kept = done.stat("pages/in_work_reason_count/no_room")
    assert kept > 0
    assert len(done.items) == 1 + kept
    assert f"{kept} repeats kept, as their originals were still in work: {kept} with no room to wait" in caplog.text


@on_asyncio
async def test_the_time_that_was_too_short_is_counted(site: Site) -> None:
    settings = ADDON | {"ITEM_PIPELINES": {SlowPipeline: 300}, "SIMDEDUP_PENDING_TIMEOUT": 0.1}
    done = await crawl(FastSpider, settings, urls=serve(site, 1, 3))
    assert (len(done.items), done.stat("pages/in_work_reason_count/timeout")) == (3, 2)


@on_asyncio
async def test_the_spider_stays_open_while_a_repeat_waits_for_another_process(site: Site, tmp_path: Path) -> None:
    store = f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"
    urls = serve(site, 1, 2)
    other = NearDuplicateDetector(store, run="shared", secret=None, callbacks="any")
    await other.open()
    verdict = await other.judge(page("0", "/0/0"), url=urls[0])
    waiting: list[int] = []

    def confirm() -> None:
        waiting.append(len(site.requested))
        deferred_from_coro(other.confirm(verdict.page))

    call_later(1.5, confirm)
    done = await crawl(FastSpider, ADDON | {"SIMDEDUP_STORE": store, "SIMDEDUP_RUN": "shared"}, urls=urls[1:])
    await other.close()
    assert (waiting, done.items, done.stat("pages/dropped")) == ([1], [], 1)


@on_asyncio
async def test_a_crawl_that_is_stopped_lets_what_waits_go_on(site: Site) -> None:
    class Stopping(FastSpider):
        async def parse(self, response: Any) -> Any:
            self.called.append(response.url)
            if len(self.called) == 1:
                await sleep(0.3)  # until the twins wait
                deferred_from_coro(self.crawler.stop_async())
                await sleep(1)
            yield {"url": response.url}

    done = await crawl(Stopping, urls=serve(site, 1, 4))
    kept = done.stat("pages/in_work_reason_count/closing")
    assert kept >= 1
    assert len(done.items) == 1 + kept
    assert len(done.items) + done.stat("pages/dropped") == 4
