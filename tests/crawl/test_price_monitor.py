"""The price monitor of the guide, word by word, on a shop that changes from day to day."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from helpers.crawling import Crawl, crawl
from helpers.documents import ROOT, blocks_of
from helpers.on_asyncio import on_asyncio
from helpers.pages import prose, words
from helpers.site_server import Site

GUIDE = ROOT / "docs" / "guides" / "incremental.md"
COUNT = 12


class Shop:
    """A shop of some products, on each of which other people look at the page every day."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.prices = dict.fromkeys(range(COUNT), "29.90 EUR")
        self.stock = dict.fromkeys(range(COUNT), "in stock")
        self.texts = {number: prose(f"product {number}", 200) for number in range(COUNT)}

    def open(self, day: int, *, looking: bool) -> None:
        """Serve the shop of a day, with advertisements and related products of that day."""
        links = "".join(f'<li class="product"><a href="/p/{number}">{number}</a></li>' for number in range(COUNT))
        self.site["/"] = f"<title>Shop</title><main><h1>All products</h1><ul>{links}</ul></main>"
        for number in range(COUNT):
            seed = f"{day} {number}"
            counter = f"<p>{len(words(seed, 3)) + day * 7 + number} people are looking at this</p>" if looking else ""
            self.site[
                f"/p/{number}"
            ] = f"""<!DOCTYPE html><html><head><title>Product {number} | Shop</title></head><body>
<nav><a href="/">{" ".join(words(seed, 3))}</a></nav>
<div class="advertisement"><p>{" ".join(words(f"ad {seed}", 25))}</p></div>
<main><h1>Product {number}</h1><p class="price">{self.prices[number]}</p><p class="stock">{self.stock[number]}</p>
{counter}<div class="description">{self.texts[number]}</div></main>
<aside class="related"><p>{" ".join(words(f"related {seed}", 20))}</p></aside>
<footer>Served at {day}</footer></body></html>"""


def monitor(site: Site, folder: Path, by: str | None = None) -> Any:
    """The spider of the guide, written into a folder, for this shop."""
    (block,) = (block for block in blocks_of(GUIDE) if block.file == "price_monitor.py")
    file = folder / "price_monitor.py"
    file.write_text(block.text, encoding="utf-8")
    spider = runpy.run_path(str(file))["PriceMonitor"]
    spider.start_urls = [site.url("/")]
    if by is not None:
        spider.custom_settings["SIMDEDUP_UNCHANGED_BY"] = by
    return spider


def products(done: Crawl) -> set[str]:
    return {item["name"].removeprefix("Product ") for item in done.items}


@on_asyncio
async def test_it_writes_a_line_whenever_a_price_or_the_stock_is_another(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shop, spider = Shop(site), monitor(site, tmp_path)
    shop.open(1, looking=True)
    assert len((await crawl(spider, {})).items) == COUNT
    shop.open(2, looking=True)
    assert products(await crawl(spider, {})) == set(), "only counters and advertisements are new"
    shop.prices[3], shop.stock[7], shop.texts[9] = "24.90 EUR", "sold out", prose("another text", 200)
    shop.open(3, looking=True)
    assert products(await crawl(spider, {})) == {"3", "7"}
    shop.stock[7] = "in stock"
    shop.open(4, looking=True)
    assert products(await crawl(spider, {})) == {"7"}
    lines = [json.loads(line) for line in (tmp_path / "prices.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(lines) == COUNT + 3
    history = [line["stock"] for line in lines if line["name"] == "Product 7"]
    assert history == ["in stock", "sold out", "in stock"]


@on_asyncio
async def test_by_content_a_new_description_counts_as_well(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shop, spider = Shop(site), monitor(site, tmp_path, "content")
    shop.open(1, looking=False)
    assert len((await crawl(spider, {})).items) == COUNT
    shop.open(2, looking=False)
    second = await crawl(spider, {})
    assert products(second) == set()
    assert second.stat("pages/dropped") == COUNT, "their callbacks are not called"
    shop.prices[3], shop.stock[7], shop.texts[9] = "24.90 EUR", "sold out", prose("another text", 200)
    shop.open(3, looking=False)
    assert products(await crawl(spider, {})) == {"3", "7", "9"}
