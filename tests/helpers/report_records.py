"""What a crawl with a report left behind, and records as a crawl would leave them, in a store in memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers import store_records
from helpers.crawling import Crawl
from helpers.pages import page
from helpers.site_server import Site
from scrapy_simdedup.fingerprint.make import fingerprint_page
from scrapy_simdedup.report import Report
from scrapy_simdedup.report.document import build_report
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.base import Record
from scrapy_simdedup.store.memory import MemoryStore

PRINT = bytes(fingerprint_page(page("any")))


@dataclass(frozen=True)
class Reported:
    """What the crawl left behind."""

    html: Path
    json: Any
    crawl: Crawl
    site: Site


def record(name: str, **values: Any) -> Record:
    """A new page that was delivered, unless ``values`` say otherwise."""
    url = f"http://a.example/{name}"
    made = store_records.record(name.encode(), 1_000.0, url=url, fingerprint=PRINT, worker="w", state="confirmed")
    return made._replace(**values)


def repeat(name: str, original: str, **values: Any) -> Record:
    """A page that was dropped because it repeats another."""
    made = {"state": "duplicate", "kind": "identical", "similarity": 0.97, "original": original.encode()}
    return record(name, **{**made, **values})


async def stored(sites: dict[str, list[Record]]) -> MemoryStore:
    """A store with these pages."""
    store = MemoryStore()
    await store.open()
    for site, records in sites.items():
        for number, made in enumerate(records):
            await store.append(site, made, number)
    return store


async def report_of(sites: dict[str, list[Record]], run: str | None = None, **settings: Any) -> Report:
    """The report of a store with these pages."""
    store = await stored(sites)
    return await build_report(store, DedupSettings.from_keywords(**settings), name="memory:", run=run)
