"""A page is no repeat where its request brings what another item is made of: cb_kwargs, meta, a partial, a loader."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from itemloaders.processors import TakeFirst
from scrapy import Request, Spider
from scrapy.loader import ItemLoader

from helpers.crawling import ADDON, ONE_BY_ONE, Crawl, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.site_server import Site

PRODUCTS = 12


class Loader(ItemLoader):
    default_output_processor = TakeFirst()


class Shop(Spider):
    """Each product is finished by the page of its reviews, which is the same for all."""

    name = "shop"
    root = ""
    way = "cb_kwargs"
    products = PRODUCTS

    async def start(self) -> Any:
        for number in range(self.products):
            yield Request(f"{self.root}/product/{number}")

    def parse(self, response: Any) -> Any:
        number = int(response.url.rpartition("/")[2])
        yield WAYS[self.way](self, f"{response.url}/reviews", {"name": f"product {number}", "price": number * 10})

    def details(self, response: Any) -> Any:
        item = response.meta["item"]
        yield item | {"name": "product " + item["url"].rpartition("/")[2], "reviews": 0}

    def reviews(self, response: Any, item: Any = None, **values: Any) -> Any:
        if isinstance(item, ItemLoader):
            item = item.load_item()
        yield {"reviews": 0, **(item or values or response.meta.get("item") or {})}

    def reviews_by_meta(self, response: Any) -> Any:
        yield {"reviews": 0, "name": response.meta["name"], "price": response.meta["price"]}

    def stock(self, response: Any, item: Any) -> Any:
        yield Request(response.url + "/more", self.reviews, cb_kwargs={"item": {"stock": 0, **item}})


def loader(item: dict[str, Any]) -> ItemLoader:
    made = Loader(item={})
    for name, value in item.items():
        made.add_value(name, value)
    return made


def begin_with_url(spider: Shop, url: str, item: dict[str, Any]) -> Request:
    return Request(url, spider.details, meta={"item": {"url": url.removesuffix("/reviews")}})


WAYS: dict[str, Callable[[Shop, str, dict[str, Any]], Request]] = {
    "an item in cb_kwargs": lambda spider, url, item: Request(url, spider.reviews, cb_kwargs={"item": item}),
    "values in cb_kwargs": lambda spider, url, item: Request(url, spider.reviews, cb_kwargs=item),
    "an item in meta": lambda spider, url, item: Request(url, spider.reviews, meta={"item": item}),
    "values in meta": lambda spider, url, item: Request(url, spider.reviews_by_meta, meta=item),
    "a partial": lambda spider, url, item: Request(url, partial(spider.reviews, item=item)),
    "a lambda": lambda spider, url, item: Request(url, lambda response: spider.reviews(response, item)),
    "a loader": lambda spider, url, item: Request(url, spider.reviews, cb_kwargs={"item": loader(item)}),
    "an item with its URL alone": begin_with_url,
    "a page between": lambda spider, url, item: Request(url, spider.stock, cb_kwargs={"item": item}),
}


def serve(site: Site, products: int = PRODUCTS) -> None:
    for number in range(products):
        site[f"/product/{number}"] = page(("product", number))
        for end in ("/reviews", "/reviews/more"):
            site[f"/product/{number}{end}"] = page("no reviews yet", number)


def names(found: Crawl) -> list[str]:
    return sorted({item["name"] for item in found.items})


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("settings", [{}, ONE_BY_ONE], ids=["many at a time", "one by one"])
@on_asyncio
async def test_one_page_under_many_urls_finishes_all_items(site: Site, way: str, settings: dict[str, Any]) -> None:
    """Without this, the first product alone would be delivered."""
    serve(site)
    found = await crawl(Shop, ADDON | settings, root=site.root, way=way)
    assert names(found) == sorted(f"product {number}" for number in range(PRODUCTS))
    assert len(found.items) == PRODUCTS


@on_asyncio
async def test_the_summary_says_why_repeats_are_kept(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    serve(site)
    found = await crawl(Shop, ADDON | ONE_BY_ONE, root=site.root, way="values in meta")
    assert found.stat("pages/kept_reason_count/other_arguments") == PRODUCTS - 1
    assert "11 repeats kept, whose requests brought other values for the items (cb_kwargs, meta)" in caplog.text


@on_asyncio
async def test_a_request_that_brings_an_item_is_not_skipped_for_its_url(site: Site) -> None:
    """What the URLs lead to is known after a few products; what is to be finished there is not."""
    serve(site, 80)
    settings = ADDON | ONE_BY_ONE | {"SIMDEDUP_URL_LEARNING": "skip"}
    found = await crawl(Shop, settings, root=site.root, way="an item in cb_kwargs", products=80)
    assert len(names(found)) == 80


class Prices(Shop):
    """Takes the name of a product from its own page, and finishes it with that of its reviews."""

    name = "prices"

    def parse(self, response: Any) -> Any:
        item = {"url": response.url, "name": response.css("h1::text").get()}
        yield Request(f"{response.url}/reviews", self.reviews, cb_kwargs={"item": item})


class Rows(Prices):
    """Takes the names from one list."""

    name = "rows"

    async def start(self) -> Any:
        yield Request(f"{self.root}/list")

    def parse(self, response: Any) -> Any:
        for number, name in enumerate(response.css("p.row::text").getall()):
            yield Request(f"{self.root}/product/{number}/reviews", self.reviews, cb_kwargs={"item": {"name": name}})


@on_asyncio
async def test_an_edit_is_exported_though_the_page_that_finishes_its_item_did_not_change(
    site: Site, tmp_path: Path
) -> None:
    """In a crawl that exports what changed; of the items of a list that changed few did."""
    settings = ADDON | ONE_BY_ONE | {"SIMDEDUP_AGAINST": "history", "SIMDEDUP_UNCHANGED": "drop"}
    serve(site)
    for number in range(PRODUCTS):
        site[f"/product/{number}/reviews"] = page(("reviews", number))
    rows = "".join(f"<p class=row>Product {number} of our shop</p>" for number in range(PRODUCTS))
    site["/list"] = page("list", body=rows)
    for spider in (Prices, Rows):
        store = {"SIMDEDUP_STORE": f"sqlite:///{tmp_path}/{spider.name}.sqlite"}
        first = await crawl(spider, settings | store, root=site.root)
        assert len(first.items) == PRODUCTS
    site["/product/3"] = page("edited")
    site["/list"] = page("list", body=f"{rows}<p class=row>One more</p>")
    exported = []
    for spider in (Prices, Rows):
        store = {"SIMDEDUP_STORE": f"sqlite:///{tmp_path}/{spider.name}.sqlite"}
        exported.append([item.get("url") for item in (await crawl(spider, settings | store, root=site.root)).items])
    assert exported == [[f"{site.root}/product/3"], []]


class Categories(Spider):
    """Lists its articles in categories, each under two addresses."""

    name = "categories"
    root = ""
    field = "category"

    async def start(self) -> Any:
        for number in range(24):
            for view in ("", "?print=1"):
                category = f"category {number % 3}"
                position = 2 * number + bool(view)
                found_at = f"{self.root}/list?page={position}"
                brought = {"category": category, "position": position, "found at": found_at}
                yield Request(f"{self.root}/{number}{view}", meta=brought)

    def parse(self, response: Any) -> Any:
        yield {"url": response.url, "found in": response.meta[self.field], "found at": response.meta["found at"]}


@on_asyncio
async def test_a_repeat_whose_request_brings_what_others_brought_is_dropped(site: Site) -> None:
    """A category was delivered once one of its articles was; a number in a list is in no item, a list no content."""
    for number in range(24):
        for view in ("", "?print=1"):
            site[f"/{number}{view}"] = page(number, view)
    found = await crawl(Categories, ADDON | ONE_BY_ONE, root=site.root)
    assert len(found.items) == 24
    assert found.stat("pages/dropped") == 24
    numbered = await crawl(Categories, ADDON | ONE_BY_ONE, root=site.root, field="position")
    assert len(numbered.items) == 48


@on_asyncio
async def test_pages_of_all_callbacks_are_repeats_whatever_their_requests_bring(site: Site) -> None:
    serve(site)
    settings = ADDON | ONE_BY_ONE | {"SIMDEDUP_CALLBACKS": "any"}
    found = await crawl(Shop, settings, root=site.root, way="an item in cb_kwargs")
    assert len(found.items) == 1
