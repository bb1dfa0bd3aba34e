"""A crawl of the example's shop with hostile pages among its own: none is lost, and the crawl goes on meanwhile."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.http import HtmlResponse

from helpers.crawling import ADDON, crawl
from helpers.hostile import HOSTILE
from helpers.on_asyncio import on_asyncio
from helpers.site_server import Site
from scrapy_simdedup.fingerprint import make
from scrapy_simdedup.page.page import Page, read_page
from scrapy_simdedup.settings import DedupSettings

EXAMPLE = Path(__file__).parents[2] / "example_project"
TICK = 0.01
SHOP_PAGES = 150
"""Links of the shop that are followed: its calendar has no end."""
MAX_ATTEMPTS = ("one", "other", "one again")
"""Two pages behind each hostile part, and the bytes of the first once more."""


class ShopSpider(Spider):
    """Fetches what it is given, and what the shop links to; yields an item per page."""

    name = "hostile"
    custom_settings = {"DOWNLOAD_MAXSIZE": 50_000_000, "DOWNLOAD_WARNSIZE": 0, "ROBOTSTXT_OBEY": False}

    def __init__(self, hostile: list[str], shop: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.hostile, self.shop = hostile, shop
        self.left = SHOP_PAGES
        self.lags: list[float] = []

    async def start(self) -> AsyncIterator[Request]:
        self.watch = asyncio.ensure_future(self.measure())
        yield Request(self.shop, priority=1)
        for number, url in enumerate(self.hostile):
            yield Request(url, priority=-number % 3)

    async def measure(self) -> None:
        while True:
            start = time.perf_counter()
            await asyncio.sleep(TICK)
            self.lags.append(time.perf_counter() - start - TICK)

    def parse(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url}
        if response.url.startswith(self.shop) and isinstance(response, HtmlResponse):
            links = [response.urljoin(link) for link in response.css("a::attr(href)").getall()]
            wanted = [link for link in links if link.startswith(self.shop) and "scroll" not in link][: self.left]
            self.left -= len(wanted)
            yield from map(Request, wanted)

    def closed(self, reason: str) -> None:
        self.watch.cancel()


@pytest.fixture
def shop() -> Iterator[str]:
    """The example's shop, served by a process of its own."""
    command = [sys.executable, "-m", "website.server"]
    with subprocess.Popen(command, cwd=EXAMPLE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.terminate()


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[int(share * (len(values) - 1))]


@pytest.mark.slow
@on_asyncio
async def test_every_hostile_page_is_kept_or_rightly_dropped(
    site: Site, shop: str, record_property: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twins are both delivered, repeats of content are dropped, and no page keeps the crawl from its other work.

    That is, its worker reads them all: no page is parsed in the process of the crawl.
    """
    read_here: list[int] = []

    def read(html: str, **options: Any) -> Page:
        read_here.append(len(html))
        return read_page(html, **options)

    monkeypatch.setattr(make, "read_page", read)
    for number, hostile in enumerate(HOSTILE.values()):
        for attempt in MAX_ATTEMPTS:
            page = hostile.page(f"{number} {attempt.split()[0]}").encode("utf-8", "replace")
            site[f"/{number}/{attempt.replace(' ', '-')}"] = page
    urls = [site.url(path) for path in site.answers]
    settings = ADDON | {"SIMDEDUP_WORKERS": 1, "SIMDEDUP_WORKER_TIMEOUT": 60.0, "SIMDEDUP_STUBS": "keep"}
    made = await crawl(ShopSpider, settings, hostile=urls, shop=shop)

    kept = set(made.urls)
    for number, (name, hostile) in enumerate(HOSTILE.items()):
        found = [site.url(f"/{number}/{attempt.replace(' ', '-')}") in kept for attempt in MAX_ATTEMPTS]
        copies = found[0] + found[2]
        assert copies == (1 if hostile.is_recognised else 2), f"{name}: {found}"
        assert found[1], f"{name}: another page is lost"
    assert sum(url.startswith(shop) for url in kept) > 50
    assert made.stat("pages/unjudged_reason_count/error") == 0
    assert made.stat("store/error_count") == 0
    assert [size for size in read_here if 0 < size <= DedupSettings().max_page_bytes] == []

    lag, longest = percentile(made.spider.lags, 0.99), max(made.spider.lags)
    record_property("lag", lag)
    print(f"{len(kept)} pages kept; the event loop's lag: p99 {1000 * lag:.0f} ms, at most {1000 * longest:.0f} ms")
