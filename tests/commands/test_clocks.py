"""``clocks`` and ``explain``: which places of a site change by themselves."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest

from helpers.changing_site import product
from helpers.command_line import in_a_thread, perform_here
from scrapy_simdedup import NearDuplicateDetector


@pytest.fixture
def shop(tmp_path: Path) -> str:
    """A store after three visits to a shop with counters."""
    store = f"sqlite:///{(tmp_path / 'shop.sqlite').as_posix()}"

    async def crawl(visit: int) -> None:
        detector = NearDuplicateDetector(store, run=f"visit {visit}")
        await detector.open()
        for number in range(12):
            html = product(number, visit, price=29 + (visit == 2 and number == 3), text=f"text {number}")
            await detector.add(html, url=f"https://shop.example/{number}")
        await detector.close()

    for visit in range(3):
        in_a_thread(partial(asyncio.run, crawl(visit)))
    return store


def test_the_clocks_of_a_site_are_listed_and_a_price_is_none(shop: str) -> None:
    answer = perform_here("clocks", "--store", shop, "--json")
    places = json.loads(answer.out)["places"]
    assert answer.code == 0
    clocks = {"".join(filter(str.isalpha, place["sample"])) for place in places if place["is_clock"]}
    assert clocks == {"Instock", "peoplearelookingatthis"}
    assert [place["differed"] for place in places if place["is_slow"]] == [1]


def test_explain_names_them(shop: str) -> None:
    said = perform_here("explain", "https://shop.example/5", "--store", shop).out
    assert "changes by itself" in said
    assert "In stock" in said


def test_a_store_without_clocks_says_so(tmp_path: Path) -> None:
    store = f"sqlite:///{(tmp_path / 'empty.sqlite').as_posix()}"

    async def make() -> None:
        detector = NearDuplicateDetector(store)
        await detector.open()
        await detector.close()

    in_a_thread(lambda: asyncio.run(make()))
    answer = perform_here("clocks", "--store", store)
    assert answer.code == 1
    assert "No place is known" in answer.out
