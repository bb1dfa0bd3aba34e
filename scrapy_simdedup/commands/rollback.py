"""``rollback RUN``: take out what a run wrote, as if its output had never been."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from scrapy_simdedup.commands.call import NO, YES
from scrapy_simdedup.commands.forgetting import forget, said
from scrapy_simdedup.commands.stores import opened, store_url
from scrapy_simdedup.detect.url_notes import run_and_site

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from scrapy_simdedup.commands.call import Call

SUMMARY = "take out what a run wrote, such as one whose output was thrown away"


def add_options(parser: ArgumentParser) -> None:
    """Which run."""
    parser.add_argument("run", metavar="RUN", help="its name, as check and report show it")
    parser.add_argument("--dry-run", action="store_true", help="only say how many pages")


def run(call: Call) -> int:
    """Take it out; no if there is no such run.

    Older versions of pages that the run fetched again were replaced when it did, and do not come back: these pages
    count as new.
    """
    options = call.options
    chosen, others = asyncio.run(forget(call, None, lambda record: record.run == options.run, dry_run=options.dry_run))
    noted = not options.dry_run and asyncio.run(_forget_notes(call))
    data = {"run": options.run, "pages": chosen, "others": others, "dry_run": options.dry_run}
    call.console.answer(data, said(chosen, others, dry_run=options.dry_run))
    return YES if chosen or noted else NO


async def _forget_notes(call: Call) -> bool:
    """Take out what the run noted about URLs and the past, as that rests on its pages; False if it noted nothing."""
    async with opened(store_url(call)) as store:
        names = [name async for name in store.journals() if run_and_site(name)[0] == call.options.run]
        for name in names:
            await store.tear(name)
    return bool(names)
