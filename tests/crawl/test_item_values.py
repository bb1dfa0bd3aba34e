"""Unchanged by the fields of items: the callback runs, and the values of its items decide what is exported."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pydantic
import pytest
from scrapy import Field, Item, Request
from scrapy.exceptions import DropItem

from helpers.command_line import perform_here
from helpers.crawling import ADDON, PatientSpider, UnreachableFeed, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page, prose
from helpers.site_server import Site
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.store.sqlite import SqliteStore

Products = dict[str, list[dict[str, Any]]]

SHOP: Products = {
    f"/product/{number}": [{"name": f"Shoe {number}", "price": 10 + number, "stock": number}] for number in range(5)
}


class Shop(PatientSpider):
    """Reads the items that a page holds as JSON, and follows its links."""

    name = "shop"
    make: Callable[..., Any] = dict

    def parse(self, response: Any) -> Any:
        self.called.append(response.url)
        for item in json.loads(response.css("main::attr(data-items)").get("[]")):
            yield self.make(url=response.url, **item)
        yield from response.follow_all(css="nav a[href^='/']")


class AllOf(Shop):
    """Yields items that do not say which page they are of."""

    def parse(self, response: Any) -> Any:
        yield from json.loads(response.css("main::attr(data-items)").get("[]"))


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    return monitoring(f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}")


def monitoring(store: str) -> dict[str, Any]:
    """The settings of a price monitor."""
    return ADDON | {
        "SIMDEDUP_STORE": store,
        "SIMDEDUP_UNCHANGED": "drop",
        "SIMDEDUP_UNCHANGED_BY": ["price", "stock"],
    }


def holding(items: list[dict[str, Any]], seed: object = 0, wrapping: object = 0, **about: Any) -> str:
    """A page with items."""
    held = json.dumps(items).replace('"', "&quot;")
    return page(seed, wrapping, **about).replace("<main>", f'<main data-items="{held}">')


def serve(site: Site, products: Products, visit: int = 0, edited: tuple[str, ...] = ()) -> list[str]:
    """Pages with products; ``edited`` are those whose text is another one."""
    for path, items in products.items():
        site[path] = holding(items, (path, visit) if path in edited else path, (visit, path))
    return site.urls(*products)


def with_price(products: Products, path: str, price: Any, position: int = 0) -> Products:
    items = [dict(item) for item in products[path]]
    items[position]["price"] = price
    return products | {path: items}


def names(done: Any) -> list[str]:
    return [item["name"] for item in done.items]


@pytest.mark.parametrize("mode", ["pages", "items"])
@on_asyncio
async def test_exactly_the_items_with_another_value_are_exported(
    site: Site, settings: dict[str, Any], mode: str
) -> None:
    settings |= {"SIMDEDUP_MODE": mode}
    first = await crawl(Shop, settings, urls=serve(site, SHOP))
    assert (len(first.items), first.stat("items/new")) == (5, 5)
    again = await crawl(Shop, settings, urls=serve(site, SHOP, 2, edited=("/product/1",)))
    assert again.items == []
    assert len(again.spider.called) == 5
    assert (again.stat("items/unchanged"), again.stat("items/dropped")) == (5, 5)
    cheaper = with_price(SHOP, "/product/3", 9)
    third = await crawl(Shop, settings, urls=serve(site, cheaper, 3))
    assert names(third) == ["Shoe 3"]
    assert (third.stat("items/changed"), third.stat("items/unchanged")) == (1, 4)
    back = await crawl(Shop, settings, urls=serve(site, SHOP, 4))
    assert [item["price"] for item in back.items] == [13]


@on_asyncio
async def test_what_an_item_says_else_does_not_count(site: Site, settings: dict[str, Any]) -> None:
    await crawl(Shop, settings, urls=serve(site, {"/1": [{"name": "Shoe", "price": 1, "seen": "9:00", "text": "a"}]}))
    other = {"/1": [{"name": "Walking shoe", "price": 1, "seen": "9:05", "text": prose(2)}]}
    assert (await crawl(Shop, settings, urls=serve(site, other, 2))).items == []


@on_asyncio
async def test_a_page_whose_items_did_not_change_gave_items(site: Site, settings: dict[str, Any]) -> None:
    for visit in range(3):
        done = await crawl(Shop, settings, urls=serve(site, SHOP, visit))
        assert (done.stat("itemless"), done.stat("confirmed")) == (0, 5)
        assert done.stat("pages/kept_reason_count/for_links") == 0
    assert done.stat("pages/unchanged") == 5


@on_asyncio
async def test_with_keep_the_items_are_exported_and_counted(site: Site, settings: dict[str, Any]) -> None:
    settings |= {"SIMDEDUP_UNCHANGED": "keep"}
    await crawl(Shop, settings, urls=serve(site, SHOP))
    again = await crawl(Shop, settings, urls=serve(site, with_price(SHOP, "/product/2", 1), 2))
    assert len(again.items) == 5
    assert (again.stat("items/unchanged"), again.stat("items/changed"), again.stat("items/dropped")) == (4, 1, 0)


@on_asyncio
async def test_observing_exports_everything(site: Site, settings: dict[str, Any]) -> None:
    settings |= {"SIMDEDUP_MODE": "observe"}
    await crawl(Shop, settings, urls=serve(site, SHOP))
    again = await crawl(Shop, settings, urls=serve(site, SHOP, 2))
    assert (len(again.items), again.stat("items/unchanged"), again.stat("items/dropped")) == (5, 5, 0)


@on_asyncio
async def test_a_site_can_have_fields_of_its_own(site: Site, settings: dict[str, Any]) -> None:
    settings |= {
        "SIMDEDUP_UNCHANGED_BY": "content",
        "SIMDEDUP_SITE_SETTINGS": {"127.0.0.1": {"unchanged_by": ["price"]}},
    }
    await crawl(Shop, settings, urls=serve(site, SHOP))
    assert (await crawl(Shop, settings, urls=serve(site, SHOP, 2, edited=("/product/1",)))).items == []
    third = await crawl(Shop, settings, urls=serve(site, with_price(SHOP, "/product/3", 9), 3))
    assert names(third) == ["Shoe 3"]


@on_asyncio
async def test_the_same_bytes_go_to_the_callback_as_well(site: Site, settings: dict[str, Any]) -> None:
    """It may ask an interface for the price, and links lead on to other products."""

    class Asking(Shop):
        def parse(self, response: Any) -> Any:
            self.called.append(response.url)
            yield {"name": "Shop", "price": 1}
            yield Request(f"{response.url}price", self.parse_price)

        def parse_price(self, response: Any) -> Any:
            yield {"url": response.url, **response.json()}

    site["/"] = page("shell")
    for price, exported in ((10, 2), (10, 0), (11, 1), (11, 0)):
        site["/price"] = (200, {"Content-Type": "application/json"}, json.dumps({"price": price}).encode())
        done = await crawl(Asking, settings, urls=site.urls("/"))
        assert (done.spider.called, len(done.items)) == (site.urls("/"), exported)


# ------------------------------------------------------------------ several items


LIST = [{"name": f"Shoe {number}", "price": 10} for number in range(4)]


@pytest.mark.parametrize("spider", [Shop, AllOf])
@on_asyncio
async def test_a_list_that_shifts_exports_what_is_new(site: Site, settings: dict[str, Any], spider: type) -> None:
    """Though the new product has the price of that which stood there."""
    await crawl(spider, settings, urls=serve(site, {"/list": LIST}))
    shifted = [{"name": "New", "price": 10}, *LIST[:3]]
    again = await crawl(spider, settings, urls=serve(site, {"/list": shifted}, 2))
    assert names(again) == ["New"]
    back = await crawl(spider, settings, urls=serve(site, {"/list": LIST}, 3))
    assert names(back) == ["Shoe 3"], "it was not on the page in the last run"


@on_asyncio
async def test_variants_with_one_name_are_told_apart_by_everything_else(site: Site, settings: dict[str, Any]) -> None:
    sizes = [{"name": "Shoe", "size": size, "price": 10} for size in (42, 43)]
    await crawl(Shop, settings, urls=serve(site, {"/1": sizes}))
    more = [{"name": "Shoe", "size": 41, "price": 10}, *sizes]
    again = await crawl(Shop, settings, urls=serve(site, {"/1": more}, 2))
    assert [item["size"] for item in again.items] == [41]
    dearer = [more[0], more[1] | {"price": 11}, more[2]]
    third = await crawl(Shop, settings, urls=serve(site, {"/1": dearer}, 3))
    assert [(item["size"], item["price"]) for item in third.items] == [(42, 11)]


@on_asyncio
async def test_items_with_an_identity_may_move_from_page_to_page(site: Site, settings: dict[str, Any]) -> None:
    settings |= {"SIMDEDUP_IDENTITY": ["sku"]}
    shoes = [{"sku": number, "price": 10} for number in range(6)]
    await crawl(AllOf, settings, urls=serve(site, {"/1": shoes[:3], "/2": shoes[3:]}))
    shifted = [{"sku": "new", "price": 10}, *shoes]
    again = await crawl(
        AllOf, settings, urls=serve(site, {"/1": shifted[:3], "/2": shifted[3:6], "/3": shifted[6:]}, 2)
    )
    assert [item["sku"] for item in again.items] == ["new"]


@on_asyncio
async def test_an_identity_that_two_pages_of_a_run_share_loses_no_change(site: Site, settings: dict[str, Any]) -> None:
    settings |= {"SIMDEDUP_IDENTITY": ["sku"]}
    for red, blue in ((10, 12), (12, 12), (12, 10)):
        pages = {"/red": [{"sku": 1, "price": red}], "/blue": [{"sku": 1, "price": blue}]}
        done = await crawl(AllOf, settings, urls=serve(site, pages, red))
        assert [item["price"] for item in done.items] == [red, blue]


@on_asyncio
async def test_items_without_the_fields_are_exported(site: Site, settings: dict[str, Any]) -> None:
    pages: Products = {"/1": [{"name": "a"}], "/2": [{"name": "b", "price": None, "stock": ""}], "/3": [{"price": 0}]}
    await crawl(Shop, settings, urls=serve(site, pages))
    again = await crawl(Shop, settings, urls=serve(site, pages, 2))
    assert again.urls == site.urls("/1", "/2")
    assert again.stat("items/without_fields") == 2


@on_asyncio
async def test_fields_that_no_item_had_are_named(site: Site, settings: dict[str, Any], caplog: Any) -> None:
    settings |= {"SIMDEDUP_UNCHANGED_BY": ["price", "stok"]}
    await crawl(Shop, settings, urls=serve(site, SHOP))
    assert "No item had the fields 'stok' of SIMDEDUP_UNCHANGED_BY" in caplog.text


@on_asyncio
async def test_a_field_that_goes_and_values_inside_of_values_are_changes(site: Site, settings: dict[str, Any]) -> None:
    items: list[dict[str, Any]] = [
        {"price": {"amount": 1, "tax": [1, 2]}, "stock": 1, "url": ["a", "b"]},
        {"price": {"tax": [1, 2], "amount": 1.0}, "stock": 1, "seen": "later", "url": ["a", "b"]},
        {"price": {"amount": 1, "tax": [2, 1]}, "stock": 1, "url": ["a", "b"]},
        {"price": {"amount": 1, "tax": [2, 1]}, "url": ["a", "b"]},
    ]
    exported = []
    for visit, item in enumerate(items):
        exported.append(len((await crawl(AllOf, settings, urls=serve(site, {"/1": [item]}, visit))).items))
    assert exported == [1, 0, 1, 1]


# ------------------------------------------------------------------ kinds of items


@dataclasses.dataclass
class DataProduct:
    url: str
    name: str
    price: float
    stock: int


@attrs.define
class AttrsProduct:
    url: str
    name: str
    price: float
    stock: int


class ScrapyProduct(Item):
    url = Field()
    name = Field()
    price = Field()
    stock = Field()


class PydanticProduct(pydantic.BaseModel):
    url: str
    name: str
    price: float
    stock: int


@pytest.mark.parametrize("kind", [DataProduct, AttrsProduct, ScrapyProduct, PydanticProduct])
@on_asyncio
async def test_items_of_every_kind_are_compared(site: Site, settings: dict[str, Any], kind: type) -> None:
    class Making(Shop):
        make = kind

    await crawl(Making, settings, urls=serve(site, SHOP))
    again = await crawl(Making, settings, urls=serve(site, with_price(SHOP, "/product/3", 9), 2))
    assert again.items == [kind(url=site.url("/product/3"), name="Shoe 3", price=9, stock=3)]


@on_asyncio
async def test_an_item_that_contains_itself_is_exported(site: Site, settings: dict[str, Any], monkeypatch: Any) -> None:
    monkeypatch.setattr("scrapy_simdedup.crawl.item_values.MAX_VALUES", 1_000)

    class Endless(Shop):
        def parse(self, response: Any) -> Any:
            item: dict[str, Any] = {"price": []}
            item["price"].append(item["price"])
            yield item

    for _ in range(2):
        assert len((await crawl(Endless, settings, urls=serve(site, {"/1": []}))).items) == 1


# ------------------------------------------------------------------ delivery


class Failing:
    """Loses the items with some price."""

    error: Exception = RuntimeError("database down")

    def process_item(self, item: Any) -> Any:
        if item["price"] == 99:
            raise self.error
        return {**item}


class Filtering(Failing):
    error = DropItem("too dear")


@pytest.mark.parametrize("pipeline", [Failing, Filtering])
@on_asyncio
async def test_what_a_pipeline_lost_comes_again_and_nothing_else_does(
    site: Site, settings: dict[str, Any], pipeline: type
) -> None:
    losing = settings | {"ITEM_PIPELINES": {pipeline: 300}}
    products = {"/list": [{"name": str(number), "price": 10 + number} for number in range(3)]}
    await crawl(Shop, losing, urls=serve(site, products))
    dearer = with_price(products, "/list", 99, 1)
    assert (await crawl(Shop, losing, urls=serve(site, dearer, 2))).items == []
    assert names(await crawl(Shop, settings, urls=serve(site, dearer, 3))) == ["1"]
    assert (await crawl(Shop, settings, urls=serve(site, dearer, 4))).items == []


@on_asyncio
async def test_where_the_callback_alone_counts_pipelines_do_not(site: Site, settings: dict[str, Any]) -> None:
    settings |= {"ITEM_PIPELINES": {Failing: 300}, "SIMDEDUP_CONFIRM": "callback"}
    await crawl(Shop, settings, urls=serve(site, with_price(SHOP, "/product/1", 99)))
    again = await crawl(Shop, settings, urls=serve(site, with_price(SHOP, "/product/1", 99), 2))
    assert again.stat("items/unchanged") == 5


@pytest.mark.parametrize("works", [True, False])
@on_asyncio
async def test_items_whose_feed_failed_come_again(
    site: Site, settings: dict[str, Any], tmp_path: Path, works: bool
) -> None:
    settings |= {"SIMDEDUP_CONFIRM": "feed", "FEED_STORAGES": {"gone": UnreachableFeed}}
    good = {"FEEDS": {(tmp_path / "items.jsonl").as_posix(): {"format": "jsonlines"}}}
    bad = {"FEEDS": {"gone://host/items.jsonl": {"format": "jsonlines"}}}
    await crawl(Shop, settings | (good if works else bad), urls=serve(site, SHOP))
    again = await crawl(Shop, settings | good, urls=serve(site, SHOP, 2))
    assert len(again.items) == (0 if works else 5)


@on_asyncio
async def test_a_callback_that_breaks_keeps_what_came_before_and_after(site: Site, settings: dict[str, Any]) -> None:
    class Breaking(Shop):
        def parse(self, response: Any) -> Any:
            for number, item in enumerate(super().parse(response)):
                if number == 2:
                    raise ValueError("the page broke")
                yield item

    products = {"/list": [{"name": str(number), "price": number} for number in range(4)]}
    await crawl(Shop, settings, urls=serve(site, products))
    dearer = with_price(products, "/list", 99, 1)
    assert names(await crawl(Breaking, settings, urls=serve(site, dearer, 2))) == ["1"]
    assert names(await crawl(Shop, settings, urls=serve(site, with_price(dearer, "/list", 98, 3), 3))) == ["3"]


@on_asyncio
async def test_a_callback_can_say_that_its_items_were_not_delivered(site: Site, settings: dict[str, Any]) -> None:
    class Refusing(Shop):
        def parse(self, response: Any) -> Any:
            response.meta["simdedup_deliver"] = False
            yield from super().parse(response)

    await crawl(Refusing, settings, urls=serve(site, SHOP))
    assert len((await crawl(Shop, settings, urls=serve(site, SHOP, 2))).items) == 5


@on_asyncio
async def test_a_crash_while_a_change_is_on_its_way_loses_no_later_change(
    site: Site, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was exported last is not known then, so it is exported again, even if the price is the old one again."""
    await crawl(Shop, settings, urls=serve(site, SHOP))
    with monkeypatch.context() as patch:
        patch.setattr("scrapy_simdedup.crawl.delivery.DeliverySettler.items_delivered", lambda *_: None)
        await crawl(Shop, settings, urls=serve(site, with_price(SHOP, "/product/2", 1), 2))
    assert names(await crawl(Shop, settings, urls=serve(site, SHOP, 3))) == ["Shoe 2"]


@on_asyncio
async def test_where_the_store_fails_items_are_exported(
    site: Site, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise StoreError("pages.sqlite", "cannot be read")

    await crawl(Shop, settings, urls=serve(site, SHOP))
    with monkeypatch.context() as patch:
        patch.setattr(SqliteStore, "get_note", fail)
        again = await crawl(Shop, settings, urls=serve(site, SHOP, 2))
    assert len(again.items) == 5
    assert again.stat("store/error_count") >= 5


# ------------------------------------------------------------------ copies, workers, stores


@on_asyncio
async def test_whichever_copy_of_a_page_comes_first_its_change_is_seen(site: Site, settings: dict[str, Any]) -> None:
    """In each run the other one is dropped as a copy, and its own values grow old."""
    exported = []
    for visit, price in enumerate((10, 10, 20, 10, 10, 30, 30)):
        item = [{"name": "Shoe", "price": price}]
        for path in ("/a", "/b"):
            site[path] = holding(item, ("shoe", price), (path, visit))
        done = await crawl(Shop, settings, urls=site.urls(*(("/a", "/b") if visit % 2 else ("/b", "/a"))))
        assert len(done.spider.called) == 1
        exported.append([item["price"] for item in done.items])
    assert exported == [[10], [], [20], [10], [], [30], []]


@on_asyncio
async def test_a_crash_loses_no_change_where_the_values_are_those_of_a_copy(
    site: Site, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def export(price: int, *paths: str) -> list[int]:
        for path in paths:
            site[path] = holding([{"name": "Shoe", "price": price}], "shoe", (path, price))
        return [item["price"] for item in (await crawl(Shop, settings, urls=site.urls(*paths))).items]

    assert await export(10, "/a", "/b") == [10]
    with monkeypatch.context() as patch:
        patch.setattr("scrapy_simdedup.crawl.delivery.DeliverySettler.items_delivered", lambda *_: None)
        assert await export(20, "/b", "/a") == [20]
    assert await export(10, "/b", "/a") == [10]


@on_asyncio
async def test_another_spider_or_callback_has_items_of_its_own(site: Site, settings: dict[str, Any]) -> None:
    class Other(Shop):
        name = "other"

    for spider in (Shop, Other):
        assert len((await crawl(spider, settings, urls=serve(site, SHOP))).items) == 5
    for spider in (Shop, Other):
        assert len((await crawl(spider, settings, urls=serve(site, SHOP))).items) == 0


@on_asyncio
async def test_two_workers_of_a_run_share_what_was_exported(site: Site, any_url: str) -> None:
    """In every store: what one of them exported the other one need not."""
    settings = monitoring(any_url) | {"SIMDEDUP_RUN": "monday"}
    urls = serve(site, SHOP)
    for part in (urls[:3], urls[3:]):
        assert len((await crawl(Shop, settings, urls=part)).items) == len(part)
    if any_url.startswith("memory:"):
        return
    settings["SIMDEDUP_RUN"] = "tuesday"
    urls = serve(site, with_price(SHOP, "/product/0", 1), 2)
    for part, exported in ((urls[2:], []), (urls[:2], ["Shoe 0"])):
        assert names(await crawl(Shop, settings, urls=part)) == exported


@on_asyncio
async def test_a_page_that_is_fetched_twice_exports_what_changed_in_between(site: Site) -> None:
    prices = iter((10, 10, 11))

    def answer(path: str) -> str:
        price = next(prices)
        return holding([{"price": price}], price)

    site["/1"] = answer
    done = await crawl(AllOf, monitoring("memory:"), urls=site.urls("/1", "/1", "/1"))
    assert [item["price"] for item in done.items] == [10, 11]


# ------------------------------------------------------------------ forgetting


@pytest.mark.parametrize("identity", [[], ["name"]], ids=["page", "identity"])
@on_asyncio
async def test_the_items_of_a_page_that_is_forgotten_are_exported_again(
    site: Site, settings: dict[str, Any], identity: list[str]
) -> None:
    settings |= {"SIMDEDUP_IDENTITY": identity}
    urls = serve(site, SHOP)
    await crawl(Shop, settings, urls=urls)
    assert perform_here("forget", urls[1], "--store", settings["SIMDEDUP_STORE"]).code == 0
    assert names(await crawl(Shop, settings, urls=serve(site, SHOP, 2))) == ["Shoe 1"]
    assert (await crawl(Shop, settings, urls=serve(site, SHOP, 3))).items == []


@on_asyncio
async def test_values_that_are_older_than_the_ttl_do_not_count(
    site: Site, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings |= {"SIMDEDUP_TTL": 3600}
    await crawl(Shop, settings, urls=serve(site, SHOP))
    assert (await crawl(Shop, settings, urls=serve(site, SHOP, 2))).items == []
    monkeypatch.setattr("scrapy_simdedup.crawl.item_values.ItemValues._now", lambda _: 4e9)
    assert len((await crawl(Shop, settings, urls=serve(site, SHOP, 3))).items) == 5


@on_asyncio
async def test_items_beyond_the_limit_of_a_page_are_exported(
    site: Site, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrapy_simdedup.crawl.item_values.MAX_ITEMS", 3)
    for exported in (LIST, LIST[3:]):
        assert (await crawl(AllOf, settings, urls=serve(site, {"/list": LIST}))).items == exported
