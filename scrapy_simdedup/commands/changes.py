"""``drift`` and ``moved``: how known pages change, where a redesign is suspected, and which pages have a new URL."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.commands.console import NO, YES, Action, Context, Soft, StyledLine, format_table, positive_int
from scrapy_simdedup.commands.stores import existing_store_url, open_store, records_with_progress
from scrapy_simdedup.detect.page_settings import PageSettings
from scrapy_simdedup.display import format_time, plural
from scrapy_simdedup.report.history import Move, find_moves, read_run_history
from scrapy_simdedup.report.tallies import SiteTally, push_largest

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator

    from scrapy_simdedup.report.data import DriftRow, RunChanges
    from scrapy_simdedup.store.base import Record

SITE_FIELDS = ("site", "revisited", "changed", "similarity", "changes_per_visit", "redesign")
PAGE_FIELDS = ("url", "visits", "changes", "changes_per_day", "last_changed", "last_seen")
"""What ``drift`` tells of a site and of a page."""
MOVE_REASONS = {"changed": "shows another content", "not met": "not met"}
"""Why a page counts as gone from its old URL, in words; any other reason is the status of the old URL."""


def add_drift_options(parser: ArgumentParser) -> None:
    """The site that is looked at, and how many rows are shown."""
    parser.add_argument("--site", help="of this site alone")
    parser.add_argument(
        "-n", "--limit", type=positive_int, default=20, metavar="N", help="sites, runs and pages; default: 20"
    )


async def run_drift(context: Context) -> int:
    """Show how pages changed; the answer is no if no page was fetched more than once."""
    limit = context.options.limit
    most_changed: list[tuple[float, int, int, Record]] = []
    async with open_store(existing_store_url(context)) as store:
        history = await read_run_history(store, site=context.options.site)
        tally = SiteTally(history)
        read = 0
        async for site, record in records_with_progress(context, store, context.options.site):
            tally.add(site, record)
            if record.changes:
                per_visit = record.changes / (record.visits - 1 or 1)
                push_largest(most_changed, (per_visit, record.changes, read, record), limit)
            read += 1
    most_changed.sort(reverse=True, key=lambda entry: entry[:3])
    sites, runs = list(tally.drift[:limit]), history.changes[:limit]
    pages = [_fields(record, PAGE_FIELDS) for *_, record in most_changed]
    redesigns = [row for row in history.changes if row.redesign is not None][:limit]
    data = {
        "sites": [_fields(row, SITE_FIELDS) for row in sites],
        "runs": [asdict(row) for row in runs],
        "redesigns": [asdict(row) for row in redesigns],
        "pages": pages,
    }
    context.console.print_answer(data, _drift_lines(sites, runs, redesigns, pages))
    return YES if sites else NO


DRIFT = Action(
    "tell how known pages change from visit to visit, and which sites may have a new design",
    run_drift,
    add_drift_options,
)


def _fields(thing: DriftRow | Record, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(thing, name) for name in names}


def _drift_lines(
    sites: list[DriftRow], runs: list[RunChanges], redesigns: list[RunChanges], pages: list[dict[str, Any]]
) -> Iterator[str]:
    if sites:
        rows = [
            (
                *(row.revisited, row.changed, row.similarity, f"{row.changes_per_visit:.0%}"),
                row.site + " (a redesign?)" * row.redesign,
            )
            for row in sites
        ]
        yield from format_table(("#fetched again", "#changed", "#similarity", "#per visit", "site"), rows)
    else:
        yield "No page was fetched more than once."
    if sites and runs:
        yield ""
        yield "What was new on known pages, the latest run first:"
        news = [
            (format_time(row.at), row.none, row.content, row.template, row.both, f"{row.site} in {row.run}")
            for row in runs
        ]
        yield from format_table(("time", "#nothing", "#content", "#template", "#both", "site and run"), news)
    for row in redesigns:
        if row.redesign is not None and row.redesigned_at is not None:
            yield ""
            yield StyledLine(f"{row.site} has a new design since {format_time(row.redesigned_at)}, in {row.run}:")
            yield f"  {row.redesign:.0%} of the known pages came in another template"
    if pages:
        yield ""
        changed = [(page["changes"], page["visits"], page["changes_per_day"], page["url"]) for page in pages]
        yield from format_table(("#changes", "#visits", "#per day", "page"), changed)
        if all(page["changes_per_day"] is None for page in pages):
            yield Soft("How often they change per day is told once their visits are an hour apart.")


def add_moved_options(parser: ArgumentParser) -> None:
    """The site that is looked at, and how many moves are shown."""
    parser.add_argument("--site", help="on this site alone")
    parser.add_argument(
        "-n", "--limit", type=positive_int, default=100, metavar="N", help="shown; default: 100; JSON has all"
    )


async def run_moved(context: Context) -> int:
    """List the pages that have a new URL; the answer is no if there are none.

    A page under another session id did not move, and is only counted.
    """
    found: list[Move] = []
    known: list[Record] = []
    home = ""
    settings = PageSettings(context.settings)
    async with open_store(existing_store_url(context)) as store:
        history = await read_run_history(store, site=context.options.site)
        async for site, record in records_with_progress(context, store, context.options.site):
            if site != home:
                found += find_moves(home, known, settings, history.content_left[home], history.run_starts)
                home, known = site, []
            known.append(record)
        found += find_moves(home, known, settings, history.content_left[home], history.run_starts)
    context.console.print_answer([asdict(move) for move in found], _moved_lines(found, context.options.limit))
    return NO if all(move.is_session for move in found) else YES


MOVED = Action(
    "list pages that are under a new URL, and were gone from the old one or not met there by the latest run",
    run_moved,
    add_moved_options,
)


def _moved_lines(found: list[Move], limit: int) -> Iterator[str]:
    moves = [move for move in found if not move.is_session]
    yield StyledLine(f"{plural(len(moves), 'page')} moved" + (f", the first {limit:,}:" if len(moves) > limit else ""))
    for move in moves[:limit]:
        yield ""
        why = MOVE_REASONS.get(move.why, f"answered {move.why}")
        yield f"{move.old}, last met {format_time(move.last_seen)}; {why} in {move.run}, {format_time(move.at)}"
        yield f"  {move.similarity:.3f}  {move.new}"
    sessions = [move for move in found if move.is_session]
    if sessions:
        yield ""
        yield f"{plural(len(sessions), 'page')} came under another session id, and did not move, such as"
        yield f"  {sessions[0].old}"
        yield f"  {sessions[0].new}"
        yield Soft(
            "SIMDEDUP_URL_LEARNING and SIMDEDUP_URL_RULES leave session ids out, so that such pages are found again."
        )
