"""``moved``: pages that are under another URL now."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from scrapy_simdedup.commands.call import NO, YES
from scrapy_simdedup.commands.console import count
from scrapy_simdedup.commands.stores import opened, records, store_url
from scrapy_simdedup.commands.text import Strong
from scrapy_simdedup.report.history import past_of
from scrapy_simdedup.report.moves import moves
from scrapy_simdedup.wording import at

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator

    from scrapy_simdedup.commands.call import Call
    from scrapy_simdedup.report.moves import Move
    from scrapy_simdedup.store.base import Record

SUMMARY = "list pages that are under a new URL, and were gone from the old one or not met there by the latest run"
_SAID = {"changed": "shows another content", "not met": "not met"}


def add_options(parser: ArgumentParser) -> None:
    """Where, and how many."""
    parser.add_argument("--site", help="on this site alone")
    parser.add_argument("-n", "--limit", type=count, default=100, metavar="N", help="shown; default: 100; JSON has all")


def run(call: Call) -> int:
    """List them; no if there are none."""
    found = asyncio.run(_moved(call))
    call.console.answer([move.as_dict() for move in found], _text(found, call.options.limit))
    return YES if found else NO


async def _moved(call: Call) -> list[Move]:
    found: list[Move] = []
    known: list[Record] = []
    home = ""
    async with opened(store_url(call)) as store:
        past = await past_of(store, site=call.options.site)
        async for site, record in records(call, store, call.options.site):
            if site != home:
                found += moves(home, known, call.settings.for_site(home).identical, past.left[home], past.began)
                home, known = site, []
            known.append(record)
        found += moves(home, known, call.settings.for_site(home).identical, past.left[home], past.began)
    return found


def _text(found: list[Move], limit: int) -> Iterator[str]:
    yield Strong(f"{len(found):,} pages moved" + (f", the first {limit:,} of them:" if len(found) > limit else ""))
    for move in found[:limit]:
        yield ""
        why = _SAID.get(move.why, f"answered {move.why}")
        yield f"{move.old}, last met {at(move.last_seen)}; {why} in {move.run}, {at(move.at)}"
        yield f"  {move.similarity:.3f}  {move.new}"
