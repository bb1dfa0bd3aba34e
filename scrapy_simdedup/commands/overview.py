"""``clusters``, ``report`` and ``check``: repeats and near pages, all that is in a store, and whether it is sound."""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from scrapy_simdedup.commands.console import (
    NO,
    YES,
    Action,
    Bad,
    Context,
    Good,
    StyledLine,
    document_path,
    format_table,
    positive_int,
)
from scrapy_simdedup.display import format_bytes, plural
from scrapy_simdedup.errors import FingerprintMismatch
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.report.clusters import (
    Cluster,
    ClusterDetails,
    NearPage,
    NearPages,
    TopClusters,
    read_compared_pages,
)
from scrapy_simdedup.report.data import Report
from scrapy_simdedup.report.document import write_report
from scrapy_simdedup.report.gather import build_report
from scrapy_simdedup.setting_checks import redact_password
from scrapy_simdedup.store.base import Record
from scrapy_simdedup.store.url import store_by_url

SHOWN_ROWS = 20


@dataclass(slots=True)
class StoreSummary:
    """Counts of what a store holds."""

    store: str
    """The store's URL without its password."""
    made_by: Counter[str] = field(default_factory=Counter)
    """Pages by the way in which their fingerprints were made."""
    bytes_on_disk: int | None = None
    pages: int = 0
    sites: int = 0
    states: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    runs: Counter[str] = field(default_factory=Counter)
    unreadable: int = 0
    """Records whose fingerprint is none of this version."""
    orphans: int = 0
    """Repeats whose original is not in the store any more."""

    @property
    def sound(self) -> bool:
        """Whether every record can be used."""
        return not self.unreadable

    def add(self, record: Record) -> None:
        """Count a record."""
        self.pages += 1
        self.states[record.state] += 1
        self.kinds[record.kind] += 1
        self.runs[record.run] += 1
        try:
            fp = PageFingerprint.from_bytes(record.fingerprint)
        except FingerprintMismatch:
            self.unreadable += 1
            return
        way = f"version {fp.algorithm}, {fp.bits} bits, {fp.shingle_size} words per shingle, {fp.extractor}"
        self.made_by[way] += 1

    def as_dict(self) -> dict[str, Any]:
        """The summary as JSON has it."""
        return {name: getattr(self, name) for name in self.__slots__} | {"sound": self.sound}

    def text(self) -> Iterator[str]:
        """The summary as lines for people."""
        if self.sound:
            yield Good(f"{self.store} is sound")
        else:
            yield Bad(f"{self.store} is damaged: {self.unreadable:,} records hold no fingerprint of this version")
        disk = "" if self.bytes_on_disk is None else f", {format_bytes(self.bytes_on_disk)} on disk"
        yield f"{plural(self.pages, 'page')} of {plural(self.sites, 'site')}{disk}"
        if self.orphans:
            yield f"{self.orphans:,} repeats have lost their original, which is fetched and kept again when it comes by"
        tables = {"state": self.states, "verdict": self.kinds, "run": self.runs, "fingerprints": self.made_by}
        for what, counts in tables.items():
            yield ""
            yield from format_table((what, "#pages"), counts.most_common(SHOWN_ROWS))
            if len(counts) > SHOWN_ROWS:
                yield f"and {len(counts) - SHOWN_ROWS:,} more"


async def run_check(context: Context) -> int:
    """Check the store; the answer is yes if it is sound."""
    url = context.existing_store_url
    found = StoreSummary(redact_password(url), bytes_on_disk=store_by_url(url).bytes_on_disk())
    site = None
    keys: set[bytes] = set()
    originals: list[bytes] = []
    async with context.open_store(url) as store:
        async for home, record in context.records(store, None, "pages checked"):
            if home != site:
                found.orphans += sum(original not in keys for original in originals)
                site, keys, originals = home, set(), []
                found.sites += 1
            found.add(record)
            keys.add(record.key)
            if record.state == "duplicate" and record.original is not None:
                originals.append(record.original)
    found.orphans += sum(original not in keys for original in originals)
    context.console.print_answer(found.as_dict(), found.text())
    return YES if found.sound else NO


CHECK = Action("tell whether a store is sound, and what is in it", run_check)


def add_clusters_options(parser: ArgumentParser) -> None:
    """Which clusters are shown, and how many."""
    add = parser.add_argument
    add("--site", help="of this site alone")
    add("--members", type=positive_int, default=5, metavar="N", help="repeats shown of each; default: 5")
    add("--near", action="store_true", help="list instead what is near another page and was kept, and what kept it")
    add("-n", "--limit", type=positive_int, default=20, metavar="N", help="default: 20")


async def run_clusters(context: Context) -> int:
    """List the biggest clusters, or near pages; the answer is no if nothing is repeated, or near another page."""
    options = context.options
    if options.near:
        return await _run_near(context)
    top = TopClusters(options.limit)
    async with context.open_store() as store:
        async for site, record in context.records(store, options.site, "pages counted"):
            top.add(site, record)
        details = ClusterDetails(top.biggest, options.members)
        for site in details.sites:
            async for _, record in context.records(store, site):
                details.add(site, record)
    clusters = details.clusters
    data = {"clusters": [asdict(cluster) for cluster in clusters], "total": top.total}
    context.console.print_answer(data, _cluster_lines(clusters, top.total, context.console.width))
    return YES if clusters else NO


async def _run_near(context: Context) -> int:
    options = context.options
    async with context.open_store() as store:
        near = NearPages(await read_compared_pages(store, options.site), options.limit)
        async for site, record in context.records(store, options.site, "pages counted"):
            near.add(site, record)
        for site in near.sites:
            async for _, record in context.records(store, site):
                near.add_original(site, record)
    pages = near.pages
    data = {"near": [asdict(page) for page in pages], "total": near.total}
    context.console.print_answer(data, _near_text(pages, near.total))
    return YES if pages else NO


CLUSTERS = Action("list the pages with the most repeats, and what differs in them", run_clusters, add_clusters_options)


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


def _cluster_lines(clusters: list[Cluster], total: int, width: int) -> Iterator[str]:
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


def add_report_options(parser: ArgumentParser) -> None:
    """The files that are written, and the run that the report is about."""
    parser.add_argument(
        *("-o", "--output"),
        action="append",
        type=document_path,
        metavar="FILE",
        help="an .html or .json file; may be repeated; default: the numbers alone",
    )
    parser.add_argument("--run", help="of this run alone; default: of all that are in the store")


def run_report(context: Context) -> int:
    """Write the report to each file, and print its main numbers."""
    report = asyncio.run(_build_report(context))
    outputs = context.options.output or []
    for path in outputs:
        write_report(report, path)
    pages, sites = plural(report.pages, "page"), plural(report.site_count, "site")
    lines = [
        StyledLine(f"{pages} of {sites}, {report.dropped:,} of them repeats"),
        *(f"note: {warning}" for warning in report.warnings),
        *(f"{path}: {Path(path).stat().st_size / 1e6:.1f} MB" for path in outputs),
    ]
    context.console.print_answer(asdict(report), lines)
    return YES


REPORT = Action("write what is in a store as one HTML file to look at, or as JSON", run_report, add_report_options)


async def _build_report(context: Context) -> Report:
    url = context.existing_store_url
    async with context.open_store(url) as store:
        with context.console.progress("records read", await store.count()) as show:
            return await build_report(
                store, context.settings, name=redact_password(url), run=context.options.run, progress=show
            )
