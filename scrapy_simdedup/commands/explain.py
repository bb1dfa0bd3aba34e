"""``explain URL``: why a page was dropped or kept."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from scrapy_simdedup.commands.call import NO, YES
from scrapy_simdedup.commands.stores import in_batches, opened, store_url
from scrapy_simdedup.commands.text import Bad, Good, Strong
from scrapy_simdedup.detect.site import host_of, site_of
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.report.explanation import Explanation
from scrapy_simdedup.report.nearest import Nearest
from scrapy_simdedup.report.records import records_of

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator

    from scrapy_simdedup.commands.call import Call
    from scrapy_simdedup.settings import DedupSettings
    from scrapy_simdedup.store.base import FingerprintStore, Record

SUMMARY = "tell why a page was dropped or kept, and what it repeats"


def add_options(parser: ArgumentParser) -> None:
    """A page."""
    parser.add_argument("url", metavar="URL", help="a page that a crawl came by")


def run(call: Call) -> int:
    """Explain it; no if the store does not have it."""
    found = asyncio.run(_explain(call))
    if not found:
        why = "it was not fetched, was no HTML page with status 2xx, opted out, or went to another store"
        call.console.complain(f"{call.options.url} is not in the store: {why}")
        return NO
    url = call.options.url
    settings = call.settings.for_site(host_of(url), site_of(url))
    data = [explanation.as_dict(settings) for explanation in found]
    call.console.answer(data, _lines(found, settings))
    return YES


def _lines(found: list[Explanation], settings: DedupSettings) -> Iterator[str]:
    for place, explanation in enumerate(found):
        if place:
            yield ""
        name, why, *more = explanation.text(settings)
        yield Strong(name)
        yield (Bad if explanation.dropped else Good)(why)
        yield from more


async def find(store: FingerprintStore, url: str, site: str | None) -> list[tuple[str, Record]]:
    """The newest record of each page with this URL, with its site, the latest change last.

    Args:
        store: an open store.
        url: as it was fetched.
        site: where it is looked for first; None looks everywhere.
    """
    found: dict[tuple[str, bytes], Record] = {}
    async for home, record in records_of(store, site):
        if record.url == url:
            found[home, record.key] = record
    if not found and site is not None:
        return await find(store, url, None)
    pages = [(home, record) for (home, _), record in found.items()]
    return sorted(pages, key=lambda page: page[1].last_seen)


async def _explain(call: Call) -> list[Explanation]:
    async with opened(store_url(call)) as store:
        pages = await find(store, call.options.url, site_of(call.options.url, call.settings.site))
        return [Explanation(record, await _other(call, store, site, record)) for site, record in pages]


async def _other(call: Call, store: FingerprintStore, site: str, page: Record) -> Record | None:
    """The page that a repeat repeats, or that a near-duplicate is most like."""
    if page.original is not None:
        found = [record async for _, record in records_of(store, site) if record.key == page.original]
        return max(found, key=lambda record: (record.state == "confirmed", record.id), default=None)
    if page.kind != "near":
        return None
    nearest = Nearest(PageFingerprint.from_bytes(page.fingerprint), page.key, 1)
    async for records in in_batches(call, store, site, "pages compared"):
        nearest.add([record for record in records if record.state in {"reserved", "confirmed"}])
    return nearest.found[0].record if nearest.found else None
