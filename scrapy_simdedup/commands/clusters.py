"""``clusters``: the pages with the most repeats."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from scrapy_simdedup.commands.console import NO, YES, Action, Context, StyledLine, format_table, positive_int
from scrapy_simdedup.commands.stores import existing_store_url, open_store, records_with_progress
from scrapy_simdedup.display import plural
from scrapy_simdedup.report.clusters import Cluster, ClusterDetails, TopClusters

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator


def add_options(parser: ArgumentParser) -> None:
    """Which clusters are shown, and how many."""
    parser.add_argument("--site", help="of this site alone")
    parser.add_argument(
        "--members", type=positive_int, default=5, metavar="N", help="repeats shown of each; default: 5"
    )
    parser.add_argument("-n", "--limit", type=positive_int, default=20, metavar="N", help="default: 20")


async def run(context: Context) -> int:
    """List the biggest clusters; the answer is no if nothing is repeated."""
    options = context.options
    top = TopClusters(options.limit)
    async with open_store(existing_store_url(context)) as store:
        async for site, record in records_with_progress(context, store, options.site, "pages counted"):
            top.add(site, record)
        details = ClusterDetails(top.biggest, options.members)
        for site in details.sites:
            async for _, record in records_with_progress(context, store, site):
                details.add(site, record)
    clusters = details.clusters
    data = {"clusters": [asdict(cluster) for cluster in clusters], "total": top.total}
    context.console.print_answer(data, _text(clusters, top.total, context.console.width))
    return YES if clusters else NO


CLUSTERS = Action("list the pages with the most repeats, and what differs in them", run, add_options)


def _text(clusters: list[Cluster], total: int, width: int) -> Iterator[str]:
    yield StyledLine(
        f"{total:,} pages are repeated; those with the most repeats:" if clusters else "No page is repeated."
    )
    for cluster in clusters:
        yield ""
        yield f"{cluster.repeats:,} × {cluster.representative or 'a page that is not in the store any more'}"
        first = "" if cluster.original in {None, cluster.representative} else f", first {cluster.original}"
        yield f"  cluster {cluster.id}, {plural(cluster.size, 'page')}{first}"
        rows = [(member.similarity, ", ".join(member.differs), member.url) for member in cluster.members]
        yield from format_table(("#similarity", "differs in", "URL"), rows, width, indent="  ")
        if cluster.repeats > len(rows):
            yield f"  and {cluster.repeats - len(rows):,} more"
