"""``clusters``: the pages with the most repeats, or those that are near another and were kept."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from scrapy_simdedup.commands.console import NO, YES, Action, Context, StyledLine, format_table, positive_int
from scrapy_simdedup.commands.stores import existing_store_url, open_store, records_with_progress
from scrapy_simdedup.display import plural
from scrapy_simdedup.report.clusters import Cluster, ClusterDetails, TopClusters
from scrapy_simdedup.report.near_pages import NearPages, read_compared_pages

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator

    from scrapy_simdedup.report.near_pages import NearPage


def add_options(parser: ArgumentParser) -> None:
    """Which clusters are shown, and how many."""
    parser.add_argument("--site", help="of this site alone")
    parser.add_argument(
        "--members", type=positive_int, default=5, metavar="N", help="repeats shown of each; default: 5"
    )
    parser.add_argument(
        "--near", action="store_true", help="list instead what is near another page and was kept, and what kept it"
    )
    parser.add_argument("-n", "--limit", type=positive_int, default=20, metavar="N", help="default: 20")


async def run(context: Context) -> int:
    """List the biggest clusters, or near pages; the answer is no if nothing is repeated, or near another page."""
    options = context.options
    if options.near:
        return await _run_near(context)
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


async def _run_near(context: Context) -> int:
    options = context.options
    async with open_store(existing_store_url(context)) as store:
        near = NearPages(await read_compared_pages(store, options.site), options.limit)
        async for site, record in records_with_progress(context, store, options.site, "pages counted"):
            near.add(site, record)
        for site in near.sites:
            async for _, record in records_with_progress(context, store, site):
                near.add_original(site, record)
    pages = near.pages
    data = {"near": [asdict(page) for page in pages], "total": near.total}
    context.console.print_answer(data, _near_text(pages, near.total))
    return YES if pages else NO


CLUSTERS = Action("list the pages with the most repeats, and what differs in them", run, add_options)


def _near_text(pages: tuple[NearPage, ...], total: int) -> Iterator[str]:
    if not pages:
        yield StyledLine("No page that was kept is near another.")
        return
    of = "" if total == len(pages) else f"; the {len(pages):,} most similar:"
    yield StyledLine(f"{plural(total, 'page')} kept that {'is' if total == 1 else 'are'} near another{of}")
    for page in pages:
        yield ""
        yield page.url
        yield f"  {page.similarity:.3f}  {page.original or 'a page that nobody noted'}"
        if page.kept_by:
            yield f"  kept by {page.kept_by}"


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
