"""Beside scrapy-playwright: pages that a browser made are compared as it made them."""

from __future__ import annotations

import os
import shutil
from typing import Any

import pytest
from scrapy import Request

from helpers.browser import QUIET
from helpers.crawling import ADDON, PathsSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import words
from helpers.servers import executable
from helpers.site_server import Site
from scrapy_simdedup import NearDuplicatePage

pytestmark = pytest.mark.slow

pytest.importorskip("scrapy_playwright")

HANDLER = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"


class BrowserSpider(PathsSpider):
    """Holds the browser's page, and closes it wherever its way ends."""

    closed: list[bool] = []

    async def start(self) -> Any:
        for number, url in enumerate(self.urls):
            meta = {"playwright": True, "playwright_include_page": True}
            yield Request(url, meta=meta, errback=self.failed, priority=-number, dont_filter=True)

    async def parse(self, response: Any) -> Any:
        await self.close_page(response)
        yield {"url": response.url, "title": response.css("h1::text").get()}

    async def failed(self, failure: Any) -> None:
        self.failures.append(failure.value)
        await self.close_page(failure.request)

    async def close_page(self, asked: Any) -> None:
        opened = asked.meta["playwright_page"]
        await opened.close()
        self.closed.append(opened.is_closed())


def scripted(seed: str, noise: int) -> str:
    """A page that is empty until its script ran."""
    text = " ".join(words(seed, 120))
    return (
        f"<!DOCTYPE html><body><script>document.body.innerHTML = '<h1>About {seed}</h1><p>{text}</p>"
        f"<aside>Offer {noise} of the day</aside>'</script></body>"
    )


@pytest.mark.browser
@on_asyncio
async def test_repeats_made_by_scripts_are_dropped_and_their_browser_pages_closed(site: Site) -> None:
    for number in range(3):
        site[f"/a?v={number}"] = scripted("a", number)
    site["/b"] = scripted("b", 0)
    urls = site.urls("/a?v=0", "/a?v=1", "/a?v=2", "/b")
    program = os.environ.get("CHROMIUM") or shutil.which("google-chrome") or str(executable("chromium", "chromium"))
    settings = {
        **ADDON,
        "DOWNLOAD_HANDLERS": {"http": HANDLER, "https": HANDLER},
        "PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": program, "args": QUIET},
    }
    result = await crawl(BrowserSpider, settings, urls=urls)
    assert result.urls == [urls[0], urls[3]]
    assert [item["title"] for item in result.items] == ["About a", "About b"]
    assert [type(failure) for failure in result.spider.failures] == [NearDuplicatePage] * 2
    assert result.spider.closed == [True] * result.crawler.stats.get_value("playwright/page_count") == [True] * 4
