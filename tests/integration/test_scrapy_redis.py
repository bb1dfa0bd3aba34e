"""Beside scrapy-redis, whose queue and dupefilter are on the server that holds the fingerprints."""

from __future__ import annotations

import pytest

from helpers.crawling import ADDON, PathsSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.site_server import Site

pytestmark = pytest.mark.slow

pytest.importorskip("scrapy_redis")


@pytest.mark.redis
@pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning")  # of its own
@on_asyncio
async def test_requests_and_fingerprints_share_a_server(site: Site, redis_store: str) -> None:
    for number in range(3):
        site[f"/a?v={number}"] = page("a", number)
    settings = {
        **ADDON,
        "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
        "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
        "REDIS_URL": redis_store,
        "SIMDEDUP_STORE": redis_store,
        "SIMDEDUP_RUN": "shared",
    }
    urls = site.urls("/a?v=0", "/a?v=1", "/a?v=2")
    result = await crawl(PathsSpider, settings, urls=urls)
    assert (len(result.urls), result.stat("pages/dropped")) == (1, 2)
