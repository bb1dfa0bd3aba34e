"""``report``: what is in a store, as one HTML file."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simdedup.commands.console import YES, Action, Context, StyledLine
from scrapy_simdedup.commands.stores import document_path, existing_store_url, open_store
from scrapy_simdedup.display import plural
from scrapy_simdedup.report.document import write_report
from scrapy_simdedup.report.gather import build_report
from scrapy_simdedup.setting_checks import redact_password

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from scrapy_simdedup.report.data import Report


def add_options(parser: ArgumentParser) -> None:
    """The files that are written, and the run that the report is about."""
    parser.add_argument(
        *("-o", "--output"),
        action="append",
        type=document_path,
        metavar="FILE",
        help="an .html or .json file; may be repeated; default: the numbers alone",
    )
    parser.add_argument("--run", help="of this run alone; default: of all that are in the store")


def run(context: Context) -> int:
    """Write the report to each file, and print its main numbers."""
    report = asyncio.run(_build(context))
    outputs = context.options.output or []
    for path in outputs:
        write_report(report, path)
    pages, sites = plural(report.pages, "page"), plural(report.site_count, "site")
    lines = [
        StyledLine(f"{pages} of {sites}, {report.dropped:,} of them repeats"),
        *(f"note: {warning}" for warning in report.warnings),
        *(f"{path}: {Path(path).stat().st_size / 1e6:.1f} MB" for path in outputs),
    ]
    context.console.print_answer(asdict(report), lines)
    return YES


REPORT = Action("write what is in a store as one HTML file to look at, or as JSON", run, add_options)


async def _build(context: Context) -> Report:
    url = existing_store_url(context)
    async with open_store(url) as store:
        with context.console.progress("records read", await store.count()) as show:
            return await build_report(
                store, context.settings, name=redact_password(url), run=context.options.run, progress=show
            )
