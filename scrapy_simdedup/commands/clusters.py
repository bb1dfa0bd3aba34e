"""``clusters``: the pages with the most repeats."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from scrapy_simdedup.commands.call import NO, YES
from scrapy_simdedup.commands.console import count
from scrapy_simdedup.commands.stores import opened, records, store_url
from scrapy_simdedup.commands.text import Strong, table
from scrapy_simdedup.report.clusters import Collecting, Counting
from scrapy_simdedup.wording import plural

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator

    from scrapy_simdedup.commands.call import Call
    from scrapy_simdedup.report.clusters import Cluster

SUMMARY = "list the pages with the most repeats, and what differs in them"


def add_options(parser: ArgumentParser) -> None:
    """Which, and how many."""
    parser.add_argument("--site", help="of this site alone")
    parser.add_argument("--members", type=count, default=5, metavar="N", help="repeats shown of each; default: 5")
    parser.add_argument("-n", "--limit", type=count, default=20, metavar="N", help="default: 20")


def run(call: Call) -> int:
    """List them; no if nothing is repeated."""
    counting, clusters = asyncio.run(_clusters(call))
    data = {"clusters": [cluster.as_dict() for cluster in clusters], "total": counting.total}
    call.console.answer(data, _text(clusters, counting.total, call.console.width))
    return YES if clusters else NO


async def _clusters(call: Call) -> tuple[Counting, list[Cluster]]:
    options = call.options
    counting = Counting(options.limit)
    async with opened(store_url(call)) as store:
        async for site, record in records(call, store, options.site, "pages counted"):
            counting.add(site, record)
        collecting = Collecting(counting.biggest, options.members)
        for site in collecting.sites:
            async for _, record in records(call, store, site):
                collecting.add(site, record)
    return counting, collecting.clusters


def _text(clusters: list[Cluster], total: int, width: int) -> Iterator[str]:
    yield Strong(f"{total:,} pages are repeated; those with the most repeats:" if clusters else "No page is repeated.")
    for cluster in clusters:
        yield ""
        yield f"{cluster.repeats:,} × {cluster.representative or 'a page that is not in the store any more'}"
        first = "" if cluster.original in {None, cluster.representative} else f", first {cluster.original}"
        yield f"  cluster {cluster.id}, {plural(cluster.size, 'page')}{first}"
        rows = [(member.similarity, ", ".join(member.differs), member.url) for member in cluster.members]
        yield from table(("#similarity", "differs in", "URL"), rows, width, indent="  ")
        if cluster.repeats > len(rows):
            yield f"  and {cluster.repeats - len(rows):,} more"
