"""``report``: what is in a store, as one HTML file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simdedup.commands.call import YES
from scrapy_simdedup.commands.files import document
from scrapy_simdedup.commands.stores import opened, store_url
from scrapy_simdedup.commands.text import Strong
from scrapy_simdedup.report.gather import gather
from scrapy_simdedup.report.write import write_report
from scrapy_simdedup.store_urls import without_password
from scrapy_simdedup.wording import plural

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from scrapy_simdedup.commands.call import Call
    from scrapy_simdedup.report.data import Report

SUMMARY = "write what is in a store as one HTML file to look at, or as JSON"


def add_options(parser: ArgumentParser) -> None:
    """Where to, and of which run."""
    parser.add_argument(
        "-o",
        "--output",
        action="append",
        type=document,
        metavar="FILE",
        help="an .html or .json file; may be repeated; default: the numbers alone",
    )
    parser.add_argument("--run", help="of this run alone; default: of all that are in the store")


def run(call: Call) -> int:
    """Write it."""
    report = asyncio.run(_gather(call))
    outputs = call.options.output or []
    for path in outputs:
        write_report(report, path)
    pages, sites = plural(report.pages, "page"), plural(report.site_count, "site")
    text: list[str] = [Strong(f"{pages} of {sites}, {report.dropped:,} of them repeats")]
    text += [f"note: {warning}" for warning in report.warnings]
    text += [f"{path}: {Path(path).stat().st_size / 1e6:.1f} MB" for path in outputs]
    call.console.answer(report.as_dict(), text)
    return YES


async def _gather(call: Call) -> Report:
    url = store_url(call)
    async with opened(url) as store:
        with call.console.progress("records read", await store.count()) as show:
            return await gather(store, call.settings, name=without_password(url), run=call.options.run, progress=show)
