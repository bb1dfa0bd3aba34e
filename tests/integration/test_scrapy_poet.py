"""Beside scrapy-poet, which builds the inputs of callbacks from responses."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.crawling import ADDON, PathsSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.site_server import Site

pytestmark = pytest.mark.slow

scrapy_poet = pytest.importorskip("scrapy_poet")
web_poet = pytest.importorskip("web_poet")

ADDONS = {"ADDONS": {**ADDON["ADDONS"], "scrapy_poet.Addon": 300}}


class ArticlePage(web_poet.WebPage):
    """What a callback asks for."""


class PoetSpider(PathsSpider):
    def parse(self, response: Any, article: ArticlePage) -> Any:
        yield {"url": response.url, "title": article.css("h1::text").get()}


class NoDownloadSpider(PathsSpider):
    def parse(self, response: scrapy_poet.DummyResponse) -> Any:
        yield {"url": response.url}


@pytest.fixture
def urls(site: Site) -> list[str]:
    for number in range(3):
        site[f"/a?v={number}"] = page("a", number)
    site["/b"] = page("b")
    return site.urls("/a?v=0", "/a?v=1", "/a?v=2", "/b")


@on_asyncio
async def test_repeats_do_not_reach_the_callback(urls: list[str]) -> None:
    result = await crawl(PoetSpider, ADDONS, urls=urls)
    assert result.urls == [urls[0], urls[3]]
    assert all(item["title"] for item in result.items)
    assert result.stat("confirmed") == 2


@on_asyncio
async def test_what_is_not_downloaded_is_not_judged(urls: list[str]) -> None:
    result = await crawl(NoDownloadSpider, ADDONS, urls=urls)
    assert result.urls == urls
    assert result.stat("pages/unjudged_reason_count/not_html") == 4
