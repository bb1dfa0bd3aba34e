"""A store on a server that takes its time: the crawl goes on, and says why it does without the store."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from helpers.crawling import ADDON, PathsSpider, crawl
from helpers.on_asyncio import on_asyncio, until
from helpers.pages import page
from helpers.servers import RedisServer
from helpers.site_server import Site
from helpers.slow_way import slow_way
from scrapy_simdedup.store import remote, store_by_url

pytestmark = pytest.mark.redis


@pytest.fixture(autouse=True)
def tenths(monkeypatch: pytest.MonkeyPatch, redis_store: str) -> None:
    """What is a second elsewhere is a tenth here, and the server holds nothing of other tests."""
    monkeypatch.setattr(remote, "SLOW_SECONDS", 0.1)


def serve(site: Site, count: int) -> list[str]:
    """Articles, each under two URLs."""
    paths = [f"/{number}{variant}" for number in range(count) for variant in ("", "?again")]
    for path in paths:
        site[path] = page(path.partition("?")[0], path)
    return site.urls(*paths)


@on_asyncio
async def test_a_crawl_does_not_wait_page_by_page_for_a_store_that_is_slow(
    site: Site, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    urls = serve(site, 40)
    async with slow_way(redis_server.port, 0.3) as port:
        settings = ADDON | {"SIMDEDUP_STORE": f"redis://127.0.0.1:{port}", "SIMDEDUP_RUN": "slow"}
        done = await crawl(PathsSpider, settings, urls=urls)
    assert {url.partition("?")[0] for url in done.urls} == {url.partition("?")[0] for url in urls}
    assert done.stat("pages/unjudged_reason_count/store_error") > 0.8 * len(urls), "the others waited"
    assert re.search(r"takes \d\.\d seconds to answer, so it is left alone for 60 seconds", caplog.text)


@on_asyncio
async def test_what_a_slow_store_could_not_be_told_is_written_when_the_crawl_is_over(
    site: Site, redis_server: RedisServer
) -> None:
    """Else the next crawl would deliver these pages once more."""

    class Slowly(PathsSpider):
        custom_settings = {"CONCURRENT_REQUESTS": 16}

        async def parse(self, response: Any) -> Any:
            await until(lambda: self.crawler.stats.get_value("simdedup/pages/unjudged_reason_count/store_error"))
            yield {"url": response.url}

    urls = serve(site, 12)
    async with slow_way(redis_server.port, 0.3) as port:
        settings = ADDON | {"SIMDEDUP_STORE": f"redis://127.0.0.1:{port}", "SIMDEDUP_RUN": "told"}
        done = await crawl(Slowly, settings, urls=urls)
    assert done.stat("pages/unjudged_reason_count/store_error") > 0, "the store was left alone"
    store = store_by_url(f"redis://127.0.0.1:{redis_server.port}")
    await store.open()
    states = [record.state async for _, record in store.records() if record.run == "told"]
    await store.close()
    assert set(states) == {"confirmed"}


@on_asyncio
async def test_a_callback_that_blocks_the_process_is_no_slow_store(
    site: Site, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store answers while nobody listens."""
    monkeypatch.setattr(remote, "SLICE_SECONDS", 0.02)
    monkeypatch.setattr(remote, "CALL_SECONDS", 0.8)
    monkeypatch.setattr(remote, "SLOW_SECONDS", 0.7)

    class Blocking(PathsSpider):
        custom_settings = {"CONCURRENT_REQUESTS": 4}

        def parse(self, response: Any) -> Any:
            time.sleep(1)
            yield from super().parse(response)

    urls = serve(site, 6)
    async with slow_way(redis_server.port, 0.02) as port:
        settings = ADDON | {"SIMDEDUP_STORE": f"redis://127.0.0.1:{port}", "SIMDEDUP_RUN": "blocking"}
        done = await crawl(Blocking, settings, urls=urls)
    assert done.stat("store/error_count") == 0
    assert done.stat("pages/dropped") == len(urls) / 2
