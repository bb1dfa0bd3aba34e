"""Beside what Scrapy brings along: its generic spiders, its HTTP cache, and jobs that are paused."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider

from helpers.crawling import ADDON, ONE_BY_ONE, Crawl, PathsSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.site_server import Answer, Site

PRODUCTS = 12


class ShopSpider(CrawlSpider):
    """As ``scrapy genspider -t crawl`` writes it: lists are followed, products give items."""

    name = "shop"
    rules = (
        Rule(LinkExtractor(allow=r"/list/")),
        Rule(LinkExtractor(allow=r"/product/"), callback="parse_product", follow=True),
    )

    def parse_product(self, response: Any) -> Any:
        yield {"url": response.url, "product": response.url.partition("/product/")[2].partition("?")[0]}


class ShopMapSpider(SitemapSpider):
    """As its documentation shows it."""

    name = "shop_map"
    sitemap_rules = [("/product/", "parse_product")]
    parse_product = ShopSpider.parse_product


@pytest.fixture
def shop(site: Site) -> Site:
    """Products under two URLs each, which three lists link to, and a sitemap of them."""
    names = [f"kettle-{number}" for number in range(PRODUCTS)]
    paths = [f"/product/{name}{end}" for name in names for end in ("", "?print=1")]
    for path in paths:
        site[path] = page(path.partition("?")[0], path, links=("/list/0",))
    for number in range(3):
        site[f"/list/{number}"] = page(f"list {number}", links=(*paths[number * 8 : number * 8 + 8], "/list/0"))
    site["/"] = page("home", links=tuple(f"/list/{number}" for number in range(3)))
    locations = "".join(f"<url><loc>{site.url(path)}</loc></url>" for path in paths)
    space = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    products = f'<?xml version="1.0" encoding="UTF-8"?><urlset {space}>{locations}</urlset>'
    site["/products.xml.gz"] = (200, {"Content-Type": "application/gzip"}, gzip.compress(products.encode()))
    index = f"<sitemapindex {space}><sitemap><loc>{site.url('/products.xml.gz')}</loc></sitemap></sitemapindex>"
    site["/sitemap.xml"] = (200, {"Content-Type": "application/xml"}, index.encode())
    return site


def products(*crawls: Crawl) -> list[str]:
    """The products of all items, sorted; one that is there twice was scraped twice."""
    return sorted(item["product"] for result in crawls for item in result.items)


EACH_ONCE = sorted(f"kettle-{number}" for number in range(PRODUCTS))


@on_asyncio
async def test_a_crawl_spider_gives_each_product_once(shop: Site) -> None:
    result = await crawl(ShopSpider, start_urls=[shop.url("/")])
    assert products(result) == EACH_ONCE
    assert result.stat("pages/dropped") == PRODUCTS
    assert result.stat("released") == 0


@on_asyncio
async def test_a_sitemap_spider_gives_each_product_once(shop: Site) -> None:
    result = await crawl(ShopMapSpider, sitemap_urls=[shop.url("/sitemap.xml")])
    assert products(result) == EACH_ONCE
    assert result.stat("pages/dropped") == PRODUCTS
    assert result.stat("pages/unjudged_reason_count/not_html") == 2


@on_asyncio
async def test_a_sitemap_spider_finds_its_sitemap_in_robots_txt(shop: Site) -> None:
    shop["/robots.txt"] = (200, {"Content-Type": "text/plain"}, f"Sitemap: {shop.url('/sitemap.xml')}\n".encode())
    settings = {**ADDON, "ROBOTSTXT_OBEY": True}
    assert products(await crawl(ShopMapSpider, settings, sitemap_urls=[shop.url("/robots.txt")])) == EACH_ONCE


@on_asyncio
async def test_pages_from_the_http_cache_are_judged_as_those_that_were_fetched(shop: Site, tmp_path: Path) -> None:
    """Repeats are cached as well, so that nothing is fetched again to try other settings."""
    settings = {**ADDON, "HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    first = await crawl(ShopSpider, settings, start_urls=[shop.url("/")])
    fetched = len(shop.requested)
    second = await crawl(ShopSpider, settings, start_urls=[shop.url("/")])
    assert fetched == len(shop.requested) == 1 + 3 + 2 * PRODUCTS
    assert products(first) == products(second) == EACH_ONCE
    assert first.stat("pages/dropped") == second.stat("pages/dropped") == PRODUCTS


def validated(text: str) -> Callable[[str], Answer]:
    """An answer that comes once, and is confirmed from then on."""
    answers: Iterator[Answer] = chain(
        [(200, {"Content-Type": "text/html", "ETag": '"one"'}, text.encode())], repeat((304, {"ETag": '"one"'}, b""))
    )
    return lambda path: next(answers)


@on_asyncio
async def test_a_cached_page_that_the_server_confirms_is_judged(site: Site, tmp_path: Path) -> None:
    """With the policy of RFC 2616 Scrapy makes a page out of a 304 before this package sees it."""
    site["/confirmed"], site["/other"] = validated(page("confirmed")), page("other")
    settings = {
        **ADDON,
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_DIR": str(tmp_path / "cache"),
        "HTTPCACHE_POLICY": "scrapy.extensions.httpcache.RFC2616Policy",
        "SIMDEDUP_STORE": f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}",
        "SIMDEDUP_UNCHANGED": "drop",
    }
    urls = site.urls("/confirmed", "/other")
    first = await crawl(PathsSpider, settings, urls=urls)
    second = await crawl(PathsSpider, settings, urls=urls)
    assert second.crawler.stats.get_value("httpcache/revalidate") == 1
    assert (first.urls, second.urls) == (urls, [])
    assert second.stat("pages/unchanged") == 2


@on_asyncio
async def test_a_cached_page_is_changed_where_the_server_has_another(site: Site, tmp_path: Path) -> None:
    """One page is confirmed by its ETag, one comes anew in another frame, one comes with another text."""
    settings = {
        **ADDON,
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_DIR": str(tmp_path / "cache"),
        "HTTPCACHE_POLICY": "scrapy.extensions.httpcache.RFC2616Policy",
        "SIMDEDUP_STORE": f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}",
        "SIMDEDUP_UNCHANGED": "drop",
    }
    site["/confirmed"], site["/framed"], site["/edited"] = validated(page("confirmed")), page("framed"), page("edited")
    urls = site.urls("/confirmed", "/framed", "/edited")
    await crawl(PathsSpider, settings, urls=urls)
    site["/framed"], site["/edited"] = page("framed", "another frame"), page("another text")
    second = await crawl(PathsSpider, settings, urls=urls)
    assert second.crawler.stats.get_value("httpcache/revalidate") == 1
    assert (second.stat("pages/unchanged"), second.stat("pages/changed")) == (2, 1)
    assert second.urls == site.urls("/edited")


@on_asyncio
async def test_what_the_cache_gives_without_asking_is_unchanged(site: Site, tmp_path: Path) -> None:
    """So the default policy shows no edit until the page expires."""
    settings = {
        **ADDON,
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_DIR": str(tmp_path / "cache"),
        "SIMDEDUP_STORE": f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}",
        "SIMDEDUP_UNCHANGED": "drop",
    }
    site["/a"] = page("a")
    await crawl(PathsSpider, settings, urls=site.urls("/a"))
    site["/a"] = page("another text")
    second = await crawl(PathsSpider, settings, urls=site.urls("/a"))
    assert (second.stat("pages/unchanged"), second.urls) == (1, [])
    third = await crawl(PathsSpider, {**settings, "HTTPCACHE_ENABLED": False}, urls=site.urls("/a"))
    assert third.stat("pages/changed") == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Scrapy 2.14 leaves its queue open
@on_asyncio
async def test_a_paused_crawl_goes_on_with_what_it_knew(shop: Site, tmp_path: Path) -> None:
    settings = {**ADDON, **ONE_BY_ONE, "JOBDIR": str(tmp_path / "job")}
    paused = await crawl(ShopSpider, {**settings, "CLOSESPIDER_ITEMCOUNT": 4}, start_urls=[shop.url("/")])
    assert paused.crawler.stats.get_value("finish_reason") == "closespider_itemcount"
    resumed = await crawl(ShopSpider, settings, start_urls=[shop.url("/")])
    assert 4 <= len(paused.items) < PRODUCTS
    assert products(paused, resumed) == EACH_ONCE
    assert len([path for path in shop.requested if "/product/" in path]) == 2 * PRODUCTS
