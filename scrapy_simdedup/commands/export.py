"""``export``: a store as JSON lines, for ``import`` into any other."""

from __future__ import annotations

import asyncio
import json
from typing import IO, TYPE_CHECKING

from scrapy_simdedup.commands.call import YES
from scrapy_simdedup.commands.files import writing
from scrapy_simdedup.commands.stores import opened, records, store_url
from scrapy_simdedup.commands.transfer import MEMOS, VERSION, to_line

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable

    from scrapy_simdedup.commands.call import Call
    from scrapy_simdedup.store.base import Record

SUMMARY = "write a store as JSON lines, with the secret under its hashes: keep the file to yourself"


def add_options(parser: ArgumentParser) -> None:
    """Where to."""
    parser.add_argument("-o", "--output", metavar="FILE", help="default: stdout; compressed if it ends with .gz")


def run(call: Call) -> int:
    """Write it."""
    output = call.options.output
    with writing(output) as file:
        pages = asyncio.run(_export(call, file))
    if output:
        call.console.answer({"pages": pages, "file": output}, [f"{pages:,} pages are in {output}"])
    return YES


async def _export(call: Call, file: IO[bytes]) -> int:
    written, site = 0, ""
    unsettled: list[Record] = []

    def write(record: Record) -> None:
        file.write(to_line(site, record))

    async with opened(store_url(call)) as store:
        async for home, record in records(call, store, None, "pages written"):
            if not written:  # only a store with pages is sure to have them
                memos = {name: await store.remember(name, "") for name in MEMOS}
                file.write(json.dumps({"simdedup": VERSION, **memos}).encode() + b"\n")
            if home != site:
                _write_in_order(unsettled, write)
                site = home
            if record.settled:
                write(record)
            else:  # a settled version takes the place of those before it, so these must come after it
                unsettled.append(record)
            written += 1
        _write_in_order(unsettled, write)
    return written


def _write_in_order(unsettled: list[Record], write: Callable[[Record], None]) -> None:
    for record in sorted(unsettled, key=lambda record: record.id):
        write(record)
    unsettled.clear()
