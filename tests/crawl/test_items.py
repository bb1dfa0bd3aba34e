"""The pipeline: which items repeat items, field by field."""

from __future__ import annotations

import dataclasses
import datetime
from decimal import Decimal
from typing import Any

import attrs
import pytest
from scrapy import Field, Item

from helpers.crawling import ADDON, PathsSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page, prose
from helpers.site_server import Site
from scrapy_simdedup.crawl.items import comparable_item

TEXT = prose("description", 200)
SHOE: dict[str, Any] = {"name": "Walking shoe", "description": TEXT, "size": 42, "price": 10.5, "sizes": [{"eu": 42}]}


@dataclasses.dataclass
class Product:
    name: str
    text: str


class Shoe(Product):
    """Has the fields of a product."""


@attrs.define
class Review:
    name: str
    text: str


class Entry(Item):
    name = Field()
    text = Field()


class ItemSpider(PathsSpider):
    """Yields the items that belong to each path."""

    def __init__(self, items: dict[str, list[Any]], site: Site, **kwargs: Any) -> None:
        super().__init__(urls=site.urls(*items), **kwargs)
        self.items = {site.url(path): found for path, found in items.items()}

    def parse(self, response: Any) -> Any:
        yield from self.items[response.url]


async def crawl_items(site: Site, items: dict[str, list[Any]] | list[Any], fields: Any = None, **settings: Any) -> Any:
    """Crawl items, each of a page of its own if they are a list."""
    if isinstance(items, list):
        items = {f"/{number}": [item] for number, item in enumerate(items)}
    for number, path in enumerate(items):
        site[path] = page(number)
    pipeline = {"ITEM_PIPELINES": {"scrapy_simdedup.NearDuplicatePipeline": 300}}
    named = {} if fields is None else {"SIMDEDUP_ITEM_FIELDS": fields}
    return await crawl(ItemSpider, ADDON | pipeline | named | settings, items=items, site=site)


FIELDS = ["name", "description", "size", "price", "sizes", "date", "sold_out", "tax", "note"]


@pytest.mark.parametrize("fields", [None, FIELDS], ids=["all", "named"])
@pytest.mark.parametrize(
    "difference",
    [
        {"size": 44, "price": 99.0},
        {"size": 44},
        {"price": 10.55},
        {"price": "10.55 EUR"},
        {"price": None},
        {"sizes": [{"eu": 43}]},
        {"sizes": [{"eu": 42}, {"eu": 43}]},
        {"date": datetime.date(2027, 5, 1)},
        {"sold_out": True},
        {"tax": Decimal("0.19")},
        {"note": b"In 3 days"},
        {"note": Product("Box", "of 2")},
        {"description": TEXT.replace("</p>", " 7</p>", 1)},
    ],
    ids=str,
)
@on_asyncio
async def test_an_item_that_differs_in_a_number_is_no_copy(
    site: Site, difference: dict[str, Any], fields: list[str] | None
) -> None:
    done = await crawl_items(site, [SHOE, SHOE | difference, SHOE | difference], fields)
    assert done.items == [SHOE, SHOE | difference]
    assert done.stat("items/dropped") == 1


@on_asyncio
async def test_numbers_in_fields_that_are_not_named_do_not_count(site: Site) -> None:
    done = await crawl_items(site, [SHOE | {"rank": rank} for rank in range(3)], ["name", "description"])
    assert len(done.items) == 1


@on_asyncio
async def test_an_item_that_contains_itself_is_kept(site: Site, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    monkeypatch.setattr("scrapy_simdedup.crawl.items.MAX_VALUES", 1_000)
    endless: dict[str, Any] = dict(SHOE)
    endless["similar"] = [endless]
    done = await crawl_items(site, [endless, endless])
    assert len(done.items) == 2
    assert "contains itself" in caplog.text


def test_the_order_of_fields_and_values_says_nothing() -> None:
    one = {"sizes": [42, 43], "price": 10, "name": "Shoe 2"}
    other = {"name": "Shoe 2", "price": 10, "sizes": [43, 42]}
    assert comparable_item(one, ())[1] == comparable_item(other, ())[1]
    assert comparable_item(one, ())[1] != comparable_item(one | {"price": 42, "sizes": [10, 43]}, ())[1]


# ------------------------------------------------------------------ sites


@on_asyncio
async def test_items_without_a_url_belong_to_the_site_of_their_page(site: Site) -> None:
    """Else whoever copies a text could have its author's item dropped."""
    for path in ("/1", "/2"):
        site[path] = page(path)
    local = site.root.replace("127.0.0.1", "localhost")
    urls = [site.url("/1"), f"{local}/1", site.url("/2")]

    class Texts(PathsSpider):
        def parse(self, response: Any) -> Any:
            yield {"text": TEXT, "from": response.url.rpartition(":")[0]}

    pipeline = {"ITEM_PIPELINES": {"scrapy_simdedup.NearDuplicatePipeline": 300}, "SIMDEDUP_ITEM_FIELDS": ["text"]}
    done = await crawl(Texts, ADDON | pipeline, urls=urls)
    assert [item["from"] for item in done.items] == ["http://127.0.0.1", "http://localhost"]
    assert done.crawler.stats.get_value("item_dropped_count") == 1


@on_asyncio
async def test_the_log_names_the_page_of_an_item_that_names_none(site: Site, caplog: Any) -> None:
    caplog.set_level("DEBUG")
    await crawl_items(site, [SHOE, SHOE])
    assert f"Repeats the item of {site.url('/0')} (similarity 1.000)" in caplog.text


# ------------------------------------------------------------------ classes and fields


@pytest.mark.parametrize(
    "fields",
    [{"Product": ["text"]}, {f"{__name__}.Product": "text"}, '{"Product": ["text"]}'],
    ids=["name", "path", "JSON"],
)
@on_asyncio
async def test_fields_can_be_given_for_a_class_of_items(site: Site, fields: Any) -> None:
    """Items of other classes are not compared, those of a subclass are, and never with another class."""
    items = [kind(name, TEXT) for kind in (Product, Shoe, Review) for name in ("one", "another")]
    done = await crawl_items(site, items, fields)
    assert done.items == [items[0], items[2], items[4], items[5]]


@on_asyncio
async def test_each_class_has_fields_of_its_own(site: Site) -> None:
    items = [
        *(Entry(name=name, text=TEXT) for name in ("one", "another")),
        *({"name": "a dictionary", "text": text} for text in (TEXT, prose("another"))),
    ]
    done = await crawl_items(site, items, {"Entry": ["text"], "dict": ["name"]})
    assert done.items == [items[0], items[2]]


@on_asyncio
async def test_fields_that_no_item_has_are_named_at_the_end(site: Site, caplog: Any) -> None:
    done = await crawl_items(site, [SHOE, SHOE], ["nme", "description", "colour"])
    assert caplog.text.count("No item had the fields 'nme', 'colour' of SIMDEDUP_ITEM_FIELDS") == 1
    assert done.stat("items/fields_unseen") == 2


@on_asyncio
async def test_a_class_that_no_item_is_of_is_named_at_the_end(site: Site, caplog: Any) -> None:
    done = await crawl_items(site, [SHOE, SHOE], {"Prodct": ["name", "text"], "dict": ["name"]})
    assert caplog.text.count("No item was of the class 'Prodct'") == 1
    assert done.stat("items/fields_unseen") == 2
    assert len(done.items) == 1


@on_asyncio
async def test_nothing_is_said_of_fields_that_items_have_or_where_there_are_no_items(site: Site, caplog: Any) -> None:
    assert (await crawl_items(site, [SHOE], ["name", "size"])).stat("items/fields_unseen") == 0
    assert (await crawl_items(site, {"/none": []}, ["nme"])).stat("items/fields_unseen") == 0
    assert "No item" not in caplog.text
