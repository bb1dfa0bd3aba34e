"""A page that gave no item is no reason to drop another, until another page with its content gave none either."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.exceptions import DropItem

from helpers.crawling import ADDON, ONE_BY_ONE, PathsSpider, PatientSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.site_server import Site

CONTENTS = 60
FAST = {"CONCURRENT_REQUESTS": 16, "CONCURRENT_REQUESTS_PER_DOMAIN": 16}


class Shop(PathsSpider):
    """Its selectors fit pages of one template alone."""

    custom_settings = FAST

    def parse(self, response: Any) -> Any:
        self.called.append(response.url)
        if "/amp/" not in response.url:
            yield {"url": response.url}


def serve(site: Site, count: int, *templates: str, prefix: str = "") -> dict[str, list[str]]:
    """Contents in several templates: the URLs of each template."""
    urls: dict[str, list[str]] = {}
    for template in templates:
        for number in range(count):
            site[f"/{prefix}{template}/{number}"] = page((prefix, number), (template, number))
        urls[template] = site.urls(*(f"/{prefix}{template}/{number}" for number in range(count)))
    return urls


def contents(urls: list[str]) -> set[str]:
    return {url.rpartition("/")[2] for url in urls}


@pytest.mark.parametrize("every", [1, 10])
@on_asyncio
async def test_a_template_that_the_selectors_do_not_fit_costs_no_content(site: Site, every: int) -> None:
    """Whether it comes first of all pages, or of every tenth."""
    urls = serve(site, CONTENTS, "amp", "full", "print")
    amp = urls["amp"][::every]
    done = await crawl(Shop, urls=amp + urls["full"] + urls["amp"] + urls["print"])
    assert contents(done.urls) == {str(number) for number in range(CONTENTS)}
    assert len(done.items) == CONTENTS
    late = FAST["CONCURRENT_REQUESTS"]  # as many answers at most may take so long that the twin is there before
    assert 0 < done.stat("itemless") <= len(amp) + late
    assert done.stat("pages/kept_reason_count/no_item_yet") == done.stat("itemless")
    assert len(done.spider.called) == CONTENTS + done.stat("itemless")


@on_asyncio
async def test_an_item_that_a_second_request_did_not_finish_comes_through_the_twin(site: Site) -> None:
    class TwoSteps(PathsSpider):
        custom_settings = FAST

        def parse(self, response: Any) -> Any:
            self.called.append(response.url)
            meta = {"item": {"url": response.url}}
            yield response.follow(response.url.replace("/p", "/stock/p"), self.parse_stock, meta=meta)

        def parse_stock(self, response: Any) -> Any:
            yield response.meta["item"]

    urls = serve(site, CONTENTS, "a", "b", "c", prefix="p")
    for number in range(CONTENTS):
        for template in "abc":
            if template != "a" or number % 10:  # every tenth page leads to a 404
                site[f"/stock/p{template}/{number}"] = (200, {"Content-Type": "application/json"}, b'{"stock": 1}')
    done = await crawl(TwoSteps, urls=urls["a"] + urls["b"] + urls["c"])
    assert contents(done.urls) == {str(number) for number in range(CONTENTS)}
    assert len(done.spider.called) == 2 * CONTENTS, "the content's first two pages; its third is dropped"


PRICES = {True: 1}


class Swallowing:
    """Takes the output of pages that it cannot handle, and lets nobody know."""

    async def process_spider_output(self, response: Any, result: Any) -> Any:
        try:
            async for output in result:
                yield {**output, "price": PRICES["/a/" not in response.url]}
        except KeyError:
            pass


@on_asyncio
async def test_an_item_that_a_middleware_swallowed_comes_through_the_twin(site: Site) -> None:
    urls = serve(site, 20, "a", "b")
    done = await crawl(
        PathsSpider, {**ADDON, **FAST, "SPIDER_MIDDLEWARES": {Swallowing: 500}}, urls=urls["a"] + urls["b"]
    )
    assert done.urls == urls["b"]
    assert done.stat("released") == 0


@on_asyncio
async def test_of_twins_that_wait_one_goes_on_and_the_others_wait_for_it(site: Site) -> None:
    class Slow(PathsSpider):
        custom_settings = FAST
        giving = ""

        async def parse(self, response: Any) -> Any:
            self.called.append(response.url)
            await asyncio.sleep(0.2)
            if self.giving and len(self.called) > 1:
                yield {"url": response.url}

    urls = [found for (found,) in serve(site, 1, *"abcdefgh").values()]
    silent = await crawl(Slow, urls=urls)
    assert len(silent.spider.called) == 2
    assert (silent.stat("itemless"), silent.stat("pages/dropped")) == (2, 6)
    giving = await crawl(Slow, urls=urls, giving="yes")
    assert len(giving.spider.called) == 2
    assert (len(giving.items), giving.stat("pages/dropped")) == (1, 6)


@on_asyncio
async def test_an_item_that_repeats_another_is_an_item_that_the_page_gave(site: Site) -> None:
    class SameItems(PatientSpider):
        def parse(self, response: Any) -> Any:
            self.called.append(response.url)
            yield {"url": response.url, "text": "the same for all pages " * 10}

    site["/a"], site["/b"], site["/c"] = page("one"), page("two"), page("two", 2)
    done = await crawl(SameItems, ADDON | {"SIMDEDUP_ITEM_FIELDS": ["text"]}, urls=site.urls("/a", "/b", "/c"))
    assert len(done.items) == 1
    assert done.stat("itemless") == 0
    assert done.spider.called == site.urls("/a", "/b")


@on_asyncio
async def test_where_the_callback_alone_counts_items_do_not(site: Site) -> None:
    class Storing(PatientSpider):
        def parse(self, response: Any) -> None:
            self.called.append(response.url)

    urls = serve(site, 10, "a", "b")
    done = await crawl(Storing, ADDON | {"SIMDEDUP_CONFIRM": "callback"}, urls=urls["a"] + urls["b"])
    assert done.spider.called == urls["a"]
    assert done.stat("itemless") == 0


@on_asyncio
async def test_a_feed_confirms_pages_without_items_as_such(site: Site, tmp_path: Path) -> None:
    settings = {**ADDON, "SIMDEDUP_CONFIRM": "feed", "FEEDS": {str(tmp_path / "items.jsonl"): {"format": "jsonlines"}}}
    urls = serve(site, 3, "amp", "full")
    done = await crawl(Shop, settings, urls=[*urls["amp"][:1], *urls["full"][1:]])
    assert (done.stat("confirmed"), done.stat("itemless")) == (3, 1)


@pytest.mark.slow
@on_asyncio
async def test_a_crawl_that_never_gives_items_keeps_its_savings(site: Site) -> None:
    class Storing(PatientSpider):
        def parse(self, response: Any) -> None:
            self.called.append(response.url)

    urls = serve(site, 500, "a", "b")
    done = await crawl(Storing, urls=[url for pair in zip(urls["a"], urls["b"], strict=True) for url in pair])
    assert len(done.spider.called) <= 500 + 0.01 * 1000
    assert set(urls["a"]) <= set(done.spider.called)


@on_asyncio
async def test_the_summary_says_so(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")

    class PatientShop(Shop):
        custom_settings = ONE_BY_ONE

    urls = serve(site, 3, "amp", "full")
    await crawl(PatientShop, urls=urls["amp"] + urls["full"])
    assert "3 delivered pages gave no item; 3 repeats of such pages kept, as these may give one" in caplog.text


@on_asyncio
async def test_a_dropped_item_still_releases_its_page(site: Site) -> None:
    class Dropping:
        def process_item(self, item: Any) -> Any:
            if "/a/" in item["url"]:
                raise DropItem("not today")
            return item

    urls = serve(site, 5, "a", "b")
    done = await crawl(PathsSpider, ADDON | {"ITEM_PIPELINES": {Dropping: 300}}, urls=urls["a"] + urls["b"])
    assert done.urls == urls["b"]
    assert (done.stat("itemless"), done.stat("released")) == (0, 5)


class Listing(PathsSpider):
    """Lists lead to products, and the next list stands on the list before it alone."""

    custom_settings = {}

    async def start(self) -> Any:
        for url in self.urls:
            yield Request(url)

    def parse(self, response: Any) -> Any:
        self.called.append(response.url)
        if "/product/" in response.url:
            yield {"url": response.url}
        yield from response.follow_all(css="nav a[href^='/']")


def serve_lists(site: Site, new: tuple[str, ...] = ()) -> None:
    """Three lists, the third with products that were not there before, as links that say nothing."""
    for number in (1, 2, 3):
        following = (f"/list/{number + 1}",) if number < 3 else new
        links = (*(f"/product/{number}{letter}" for letter in "abc"), *following)
        site[f"/list/{number}"] = page(f"list {number}", links=links)
        for link in links:
            if "/product/" in link:
                site[link] = page(link)
    site["/"] = page("start", links=("/list/1",))


@on_asyncio
async def test_an_incremental_crawl_reaches_new_products_behind_lists_that_did_not_change(
    site: Site, tmp_path: Path
) -> None:
    settings = ADDON | {
        "SIMDEDUP_STORE": f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}",
        "SIMDEDUP_AGAINST": "history",
        "SIMDEDUP_UNCHANGED": "drop",
    }
    serve_lists(site)
    first = await crawl(Listing, settings, urls=site.urls("/"))
    assert len(first.items) == 9
    new = tuple(f"/product/new{number}" for number in range(4))
    serve_lists(site, new)
    again = await crawl(Listing, settings, urls=site.urls("/"))
    assert sorted(again.urls) == sorted(site.urls(*new))
    assert again.stat("pages/kept_reason_count/for_links") >= 3
    assert again.stat("pages/dropped") == 9
