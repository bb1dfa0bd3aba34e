"""Figures by site: at the close, as a line in the log and as a stat."""

from __future__ import annotations

import json
import logging
import socket
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from helpers.crawling import ADDON, PathsSpider, crawl
from helpers.documents import ROOT, blocks_of
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.site_server import Site
from scrapy_simdedup.crawl import stats
from scrapy_simdedup.crawl.stats import FiguresBySite
from scrapy_simdedup.unjudged import UnjudgedReason

MONITORING = ROOT / "docs" / "guides" / "monitoring.md"


class FaultySpider(PathsSpider):
    def parse(self, response: Any) -> Any:
        if "/faulty" in response.url:
            raise ValueError("the page broke")
        yield {"url": response.url, "text": "the same of every page"}


@pytest.fixture
def urls(site: Site) -> list[str]:
    """Five pages of one site, and one of another."""
    for path, seed in {"/a": "a", "/a?v=1": "a", "/a?v=2": "a", "/faulty": "faulty"}.items():
        site[path] = page(seed, path)
    site["/list.json"] = (200, {"Content-Type": "application/json"}, b"[]")
    return [*site.urls(*site.answers), site.url("/a").replace("127.0.0.1", "localhost")]


@on_asyncio
async def test_each_site_has_its_own(urls: list[str], site: Site) -> None:
    sites = (await crawl(FaultySpider, urls=urls)).stat("sites")
    size = sum(len(str(site.answers[path]).encode()) for path in ("/a?v=1", "/a?v=2"))
    nothing = {"near": 0, "stub": 0, "dropped": 0, "bytes_dropped": 0, "unjudged": 0, "released": 0}
    repeats = {"dropped": 2, "bytes_dropped": size}
    assert sites == {
        "127.0.0.1": nothing | repeats | {"pages": 5, "judged": 4, "unjudged": 1, "released": 1},
        "localhost": nothing | {"pages": 1, "judged": 1},
    }
    assert list(sites) == ["127.0.0.1", "localhost"]


@on_asyncio
async def test_items_are_no_pages_of_a_site(urls: list[str]) -> None:
    result = await crawl(FaultySpider, {**ADDON, "SIMDEDUP_ITEM_FIELDS": ["text"]}, urls=urls)
    assert set(result.stat("sites")) == {"127.0.0.1", "localhost"}
    assert sum(figures["judged"] for figures in result.stat("sites").values()) == result.stat("pages/judged") == 5


@on_asyncio
async def test_the_log_has_them_in_one_line_of_json(urls: list[str], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        result = await crawl(FaultySpider, urls=urls)
    start = "Near-duplicates by site: "
    (line,) = [message.removeprefix(start) for message in caplog.messages if message.startswith(start)]
    assert json.loads(line) == result.stat("sites")


@on_asyncio
async def test_a_crawl_without_pages_has_none(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        result = await crawl(PathsSpider, urls=[])
    assert result.crawler.stats.get_value("simdedup/sites") is None
    assert "by site" not in caplog.text


@on_asyncio
async def test_the_exporter_of_the_guide_reaches_statsd_and_prometheus(
    urls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = [block.text for block in blocks_of(MONITORING) if block.file == "exporters.py"]
    module = ModuleType("exporters")
    exec(code, vars(module))
    monkeypatch.setitem(sys.modules, "exporters", module)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as statsd:
        statsd.bind(("127.0.0.1", 0))
        statsd.settimeout(10)
        settings = {
            **ADDON,
            "EXTENSIONS": {"exporters.SiteFiguresExporter": 500},
            "STATSD_ADDRESS": f"127.0.0.1:{statsd.getsockname()[1]}",
            "PROMETHEUS_TEXTFILE_DIRECTORY": str(tmp_path),
        }
        sites = (await crawl(FaultySpider, settings, urls=urls)).stat("sites")
        sent = {statsd.recv(1_000).decode() for figures in sites.values() for _ in figures}
    assert "scrapy.simdedup.paths.127_0_0_1.dropped:2|g" in sent
    assert len(sent) == 16
    lines = (tmp_path / "scrapy_simdedup_paths.prom").read_text(encoding="utf-8").splitlines()
    assert 'scrapy_simdedup_pages{spider="paths",site="localhost"} 1' in lines
    assert 'scrapy_simdedup_dropped{spider="paths",site="127.0.0.1"} 2' in lines


def test_of_many_sites_the_largest_are_given() -> None:
    figures = FiguresBySite()
    for number in range(100):
        for _ in range(number):
            figures.count_page(f"{number}.example", "unjudged", "empty")
    largest = figures.largest()
    assert list(largest) == [f"{number}.example" for number in range(99, 79, -1)]
    assert largest["99.example"]["pages"] == 99


def test_of_more_sites_than_are_counted_the_small_ones_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats, "MAX_SITES", 100)
    figures = FiguresBySite()
    for number in range(10_000):
        figures.count_page("large.example", "judged", "new")
        figures.count_page(f"{number}.example", "judged", "new")
        assert len(figures._sites) <= 100
    assert figures.largest()["large.example"]["judged"] == 10_000


def test_what_happens_to_a_page_of_no_known_site_is_not_counted() -> None:
    figures = FiguresBySite()
    figures.count_page("", "judged", "new")
    figures.count_page("", "unjudged", "empty")
    figures.add("forgotten.example", "dropped")
    figures.add("items of a spider from site.example", "released")
    assert figures.largest() == {}


def count(sites: FiguresBySite, site: str, reason: UnjudgedReason | None) -> None:
    sites.count_page(site, *(("judged", "new") if reason is None else ("unjudged", reason)))


class TestWarnings:
    def test_a_site_is_warned_of_where_most_of_its_pages_are_unjudged_for_one_reason(self) -> None:
        sites = FiguresBySite()
        for number in range(20):
            count(sites, "half.example", "too_short" if number % 2 else None)
            count(sites, "most.example", "too_short" if number % 3 else None)
            count(sites, "mixed.example", "too_short" if number % 2 else "status")
        for _ in range(9):
            count(sites, "few.example", "empty")
        assert sites.warnings() == [
            "13 of 20 pages of most.example are unjudged (too_short): each has fewer than SIMDEDUP_MIN_WORDS distinct "
            "shingles; where scripts make the text, render the page; else lower SIMDEDUP_MIN_WORDS"
        ]

    def test_of_many_sites_those_with_the_most_pages_are_named(self) -> None:
        sites = FiguresBySite()
        for number in range(8):
            for _ in range(10 + number):
                count(sites, f"{number}.example", "status")
        *named, rest = sites.warnings()
        assert [sentence.split()[5] for sentence in named] == [f"{number}.example" for number in (7, 6, 5, 4, 3)]
        assert rest == "so are most pages of 3 more sites"
