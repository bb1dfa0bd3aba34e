"""``changes``, ``drift`` and ``moved``: which pages are due, how known pages change, and which have a new URL."""

from __future__ import annotations

import json
import time
from argparse import ArgumentTypeError
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from scrapy_simdedup.batch.files import open_output
from scrapy_simdedup.commands.console import (
    NO,
    SITE,
    YES,
    Action,
    Context,
    Soft,
    StyledLine,
    format_table,
    option,
    positive_int,
)
from scrapy_simdedup.detect.clocks import saved_clocks
from scrapy_simdedup.detect.names import PageSettings
from scrapy_simdedup.display import format_time, plural
from scrapy_simdedup.report import DriftRow, RunChanges
from scrapy_simdedup.report.history import ChangeRates, DueUrl, Move, find_moves, read_run_history
from scrapy_simdedup.report.neighbours import Largest
from scrapy_simdedup.report.tallies import SiteTally
from scrapy_simdedup.store.base import Record

PAGE_FIELDS = ("url", "visits", "changes", "changes_per_day", "last_changed", "last_seen")
"""What ``drift`` tells of a page."""
MOVE_REASONS = {"changed": "shows another content", "not met": "not met"}
"""Why a page counts as gone from its old URL, in words; any other reason is the status of the old URL."""
DEFAULT_SHARE, MAX_DUE_SHOWN = 0.5, 20
"""The chance from which a page is due, and how many due pages are shown as text unless it is said."""


async def run_changes(context: Context) -> int:
    """List the URLs whose pages have probably changed by a time; the answer is no if there are none."""
    options = context.options
    at = time.time() if options.due is None else options.due
    rates, planned = ChangeRates(), 0
    due: list[DueUrl] = []
    async with context.open_store() as store:
        # All of them, as the rates of other sites are the prior of this one.
        async for site, record in context.records(store, None, "pages counted"):
            rates.add(site, record)
        async for site, record in context.records(store, options.site):
            found = rates.due(site, record, at)
            planned += found is not None
            if found is not None and found.chance > options.share:
                due.append(found)
    due.sort(key=lambda found: (-found.chance, found.url))
    due = due[: options.limit]
    rows = [asdict(found) for found in due]
    if options.output:
        with open_output(options.output) as file:
            file.writelines(json.dumps(row).encode() + b"\n" for row in rows)
    if options.output != "-":
        data = {"due": at, "share": options.share, "planned": planned, "urls": rows, "file": options.output}
        context.console.print_answer(data, _due_lines(context, due, at, planned, knows_any=rates.knows_any))
    return YES if due else NO


def _due_lines(context: Context, due: list[DueUrl], at: float, planned: int, *, knows_any: bool) -> Iterator[str]:
    options = context.options
    if not knows_any:
        yield "No page was fetched twice, an hour apart at least, so nothing is known of how often pages change."
        return
    where = f"; they are in {options.output}" if options.output else ""
    by = f"have changed by {format_time(at)} with a chance above {options.share:.0%}"
    yield StyledLine(f"{len(due):,} of {plural(planned, 'page')} {by}{where}")
    if due and not options.output:
        shown = due if options.limit else due[:MAX_DUE_SHOWN]
        rows = [
            (f"{row.chance:.0%}", row.changes_per_day, row.visits, row.changes, format_time(row.last_seen), row.url)
            for row in shown
        ]
        head = ("#chance", "#per day", "#visits", "#changes", "last seen", "URL")
        yield from format_table(head, rows, context.console.width)
        if len(due) > len(shown):
            yield f"and {len(due) - len(shown):,} more; -o FILE writes all"


def _time(text: str) -> float:
    """The value of an option that names a day or a time, in seconds since the epoch."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError("give a day as 2026-12-01, or a time as 2026-12-01T08:00") from None
    return (at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp()


def _share(text: str) -> float:
    share = float(text)
    if not 0 <= share < 1:
        raise ArgumentTypeError("give a share from 0 to below 1")
    return share


CHANGES = Action(
    "list URLs whose pages have probably changed by a day, for a crawl of those alone",
    run_changes,
    (
        option("--due", type=_time, metavar="DATE", help="day or time of the next fetch, in UTC; default: now"),
        option("--share", type=_share, default=DEFAULT_SHARE, help="chance of a change by then; default: 0.5"),
        SITE,
        option("-n", "--limit", type=positive_int, metavar="N", help="default: all, of which 20 are shown as text"),
        option("-o", "--output", metavar="FILE", help="write JSON lines, one URL each, for the start() of a spider"),
    ),
)


async def run_drift(context: Context) -> int:
    """Show how pages changed; the answer is no if no page was fetched more than once."""
    limit = context.options.limit
    most_changed: Largest[Record] = Largest(limit)
    async with context.open_store() as store:
        history = await read_run_history(store, site=context.options.site)
        tally = SiteTally(history)
        async for site, record in context.records(store, context.options.site):
            tally.add(site, record)
            if record.changes:
                per_visit = record.changes / (record.visits - 1 or 1)
                most_changed.add((per_visit, record.changes), record)
    sites, runs = list(tally.drift[:limit]), history.changes[:limit]
    pages = [{name: getattr(record, name) for name in PAGE_FIELDS} for record in most_changed]
    redesigns = [row for row in history.changes if row.redesign is not None][:limit]
    data = {
        "sites": [asdict(row) for row in sites],
        "runs": [asdict(row) for row in runs],
        "redesigns": [asdict(row) for row in redesigns],
        "pages": pages,
    }
    context.console.print_answer(data, _drift_lines(sites, runs, redesigns, pages))
    return YES if sites else NO


DRIFT = Action(
    "tell how known pages change from visit to visit, and which sites may have a new design",
    run_drift,
    (SITE, option("-n", "--limit", type=positive_int, default=20, metavar="N", help="rows of a table; default: 20")),
)


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


async def run_moved(context: Context) -> int:
    """List pages with a new URL, and count those under another session id alone; the answer is no if there are none."""
    found: list[Move] = []
    known: list[Record] = []
    home = ""
    settings = PageSettings(context.settings)
    async with context.open_store() as store:
        history = await read_run_history(store, site=context.options.site)
        async for site, record in context.records(store, context.options.site):
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
    (SITE, option("-n", "--limit", type=positive_int, default=100, metavar="N", help="shown as text; default: 100")),
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


async def run_clocks(context: Context) -> int:
    """Show the places whose text changes by itself; the answer is no if none is known."""
    async with context.open_store() as store:
        sites = [context.options.site] if context.options.site else [site async for site in store.sites()]
        found = [(site, counts) for site in sites for counts in (await saved_clocks(store, site)).places.values()]
    found.sort(key=lambda row: (row[0], not row[1].is_clock, -row[1].differed))
    data = [{"site": site, **asdict(counts)} for site, counts in found]
    rows = [
        (counts.seen, counts.differed, "clock" if counts.is_clock else "watched", site, counts.sample)
        for site, counts in found
    ]
    nothing = "No place is known whose text differed between two visits of a page."
    lines = format_table(("#fetched again", "#differed", "", "site", "text"), rows) if rows else iter([nothing])
    context.console.print_answer({"places": data}, lines)
    return YES if any(counts.is_clock for _, counts in found) else NO


CLOCKS = Action(
    "list the places whose text changes by itself, such as counters: revisits pass over them", run_clocks, (SITE,)
)
