"""``similar URL|FILE``: the pages of the store that are most like one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from scrapy_simdedup.commands.call import NO, YES
from scrapy_simdedup.commands.console import count
from scrapy_simdedup.commands.explain import find
from scrapy_simdedup.commands.pages import is_url, read_pages
from scrapy_simdedup.commands.stores import in_batches, opened, opened_detector, store_url
from scrapy_simdedup.commands.text import table
from scrapy_simdedup.detect.site import site_of
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.fingerprint.fingerprint import COMPARED_BY_BODY, PageFingerprint
from scrapy_simdedup.report.nearest import Nearest

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from scrapy_simdedup.commands.call import Call
    from scrapy_simdedup.store.base import Record

SUMMARY = "list the pages of the store that are most like one"


def add_options(parser: ArgumentParser) -> None:
    """A page, and how many are wanted."""
    parser.add_argument(
        "page", metavar="URL|FILE", help="a page of the store; any other URL is fetched, a file is read"
    )
    parser.add_argument("--site", help="compare with the pages of this site; default: that of a stored page, else all")
    parser.add_argument("-n", "--limit", type=count, default=10, metavar="N", help="default: 10")


def run(call: Call) -> int:
    """List them; yes if one is a near-duplicate at least."""
    name, url, site = call.options.page, store_url(call), call.options.site
    stored = asyncio.run(_stored(call, url, name)) if is_url(name) else None
    if stored is None:
        nearest = Nearest(_fingerprint(call, url, name), b"", call.options.limit)
    else:
        home, record = stored
        site = site or home
        nearest = Nearest(PageFingerprint.from_bytes(record.fingerprint), record.key, call.options.limit)
    asyncio.run(_search(call, url, site, nearest))
    settings = call.settings
    answer = [
        {
            "similarity": found.similarity,
            "distance": found.distance,
            "state": found.record.state,
            "url": found.record.url,
        }
        for found in nearest.found
        if found.similarity > 0
    ]
    call.console.answer(
        answer,
        table(
            ("#similarity", "#bits", "state", f"of {nearest.compared:,} pages"),
            [tuple(row.values()) for row in answer],
            call.console.width,
        ),
    )
    return YES if any(found.similarity >= settings.near for found in nearest.found) else NO


async def _stored(call: Call, url: str, page: str) -> tuple[str, Record] | None:
    """The newest record of a page, with its site."""
    async with opened(url) as store:
        found = await find(store, page, call.options.site or site_of(page, call.settings.site))
    return found[-1] if found else None


def _fingerprint(call: Call, url: str, name: str) -> PageFingerprint:
    (page,) = read_pages([name], call.scrapy)

    async def read() -> PageFingerprint:
        async with opened_detector(call, url) as detector:
            return await detector.read(page.html, url=page.url)

    fp = asyncio.run(read())
    if fp.unjudged and fp.unjudged not in COMPARED_BY_BODY:
        raise SimdedupError(f"{name} is like no other page: it is unjudged ({fp.unjudged})")
    return fp


async def _search(call: Call, url: str, site: str | None, nearest: Nearest) -> None:
    async with opened(url) as store:
        async for records in in_batches(call, store, site, "pages compared"):
            nearest.add(records)
