"""``forget URL``: take pages out of the store, so that the next run keeps them."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from scrapy_simdedup.commands.call import NO, YES
from scrapy_simdedup.commands.forgetting import forget, said
from scrapy_simdedup.errors import SimdedupError

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from scrapy_simdedup.commands.call import Call
    from scrapy_simdedup.store.base import Record

SUMMARY = "take pages out of the store, with those of the same content, so that the next run keeps them"
DAY = 86_400.0


def add_options(parser: ArgumentParser) -> None:
    """Which."""
    parser.add_argument("urls", nargs="*", metavar="URL", help="these pages")
    parser.add_argument("--site", help="all pages of this site, or those that the other options choose")
    parser.add_argument("--older-than", type=float, metavar="DAYS", help="pages that were not seen for so long")
    parser.add_argument("--dry-run", action="store_true", help="only say how many")


def run(call: Call) -> int:
    """Take them out; no if there are none."""
    options = call.options
    if not (options.urls or options.site or options.older_than is not None):
        raise SimdedupError("say which pages: URLs, --site, or --older-than")
    urls = frozenset(options.urls)
    before = None if options.older_than is None else time.time() - options.older_than * DAY

    def choose(record: Record) -> bool:
        return (not urls or record.url in urls) and (before is None or record.last_seen < before)

    # Who names a repeat wants its content again, so its original must go as well.
    chosen, others = asyncio.run(forget(call, options.site, choose, originals=bool(urls), dry_run=options.dry_run))
    data = {"pages": chosen, "others": others, "dry_run": options.dry_run}
    call.console.answer(data, said(chosen, others, dry_run=options.dry_run))
    return YES if chosen else NO
