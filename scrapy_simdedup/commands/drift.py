"""``drift``: how known pages change, and where a redesign is suspected."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.commands.call import NO, YES
from scrapy_simdedup.commands.console import count
from scrapy_simdedup.commands.stores import opened, records, store_url
from scrapy_simdedup.commands.text import Strong, table
from scrapy_simdedup.report.history import past_of
from scrapy_simdedup.report.readings import push
from scrapy_simdedup.report.sites import Sites
from scrapy_simdedup.wording import at

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator

    from scrapy_simdedup.commands.call import Call
    from scrapy_simdedup.report.data import DriftRow, RunChanges
    from scrapy_simdedup.store.base import Record

SUMMARY = "tell how known pages change from visit to visit, and which sites may have a new design"


def add_options(parser: ArgumentParser) -> None:
    """Where, and how many."""
    parser.add_argument("--site", help="of this site alone")
    parser.add_argument("-n", "--limit", type=count, default=20, metavar="N", help="sites, runs and pages; default: 20")


def run(call: Call) -> int:
    """Tell; no if no page was fetched more than once."""
    sites, changes, pages = asyncio.run(_drift(call))
    limit = call.options.limit
    runs, redesigns = changes[:limit], [row for row in changes if row.redesign is not None][:limit]
    data = {
        "sites": [_site(row) for row in sites],
        "runs": [asdict(row) for row in runs],
        "redesigns": [asdict(row) for row in redesigns],
        "pages": pages,
    }
    call.console.answer(data, [*_text(sites, runs), *_redesigns(redesigns), *_pages(pages)])
    return YES if sites else NO


async def _drift(call: Call) -> tuple[list[DriftRow], list[RunChanges], list[dict[str, Any]]]:
    limit = call.options.limit
    restless: list[tuple[float, int, int, Record]] = []
    async with opened(store_url(call)) as store:
        past = await past_of(store, site=call.options.site)
        sites = Sites(past)
        read = 0
        async for site, record in records(call, store, call.options.site):
            sites.add(site, record)
            if record.changes:
                push(restless, (record.changes / (record.visits - 1 or 1), record.changes, read, record), limit)
            read += 1
    pages = [_page(record) for *_, record in sorted(restless, reverse=True, key=lambda entry: entry[:3])]
    return list(sites.drift[:limit]), past.changes, pages


def _site(row: DriftRow) -> dict[str, Any]:
    names = ("site", "revisited", "changed", "similarity", "changes_per_visit", "redesign")
    return {name: getattr(row, name) for name in names}


def _page(record: Record) -> dict[str, Any]:
    names = ("url", "visits", "changes", "changes_per_day", "last_changed", "last_seen")
    return {name: getattr(record, name) for name in names}


def _text(sites: list[DriftRow], runs: list[RunChanges]) -> Iterator[str]:
    if not sites:
        yield "No page was fetched more than once."
        return
    rows = [
        (
            row.revisited,
            row.changed,
            row.similarity,
            f"{row.changes_per_visit:.0%}",
            row.site + " (a redesign?)" * row.redesign,
        )
        for row in sites
    ]
    yield from table(("#fetched again", "#changed", "#similarity", "#per visit", "site"), rows)
    if runs:
        yield ""
        yield "What was new on known pages, the latest run first:"
        news = [(at(row.at), row.none, row.content, row.template, row.both, f"{row.site} in {row.run}") for row in runs]
        yield from table(("time", "#nothing", "#content", "#template", "#both", "site and run"), news)


def _redesigns(found: list[RunChanges]) -> Iterator[str]:
    for row in found:
        if row.redesign is not None and row.redesigned_at is not None:
            yield ""
            yield Strong(f"{row.site} has a new design since {at(row.redesigned_at)}, in {row.run}:")
            yield f"  {row.redesign:.0%} of the known pages came in another template"


def _pages(pages: list[dict[str, Any]]) -> Iterator[str]:
    if pages:
        changed = [(page["changes"], page["visits"], page["changes_per_day"], page["url"]) for page in pages]
        yield ""
        yield from table(("#changes", "#visits", "#per day", "page"), changed)
