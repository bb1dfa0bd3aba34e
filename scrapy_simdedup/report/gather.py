"""Builds a report from a store: reads all records, some of them twice, and holds only those that the report shows."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from scrapy_simdedup.report.clusters import ClusterDetails, NearPages, TopClusters, read_compared_pages
from scrapy_simdedup.report.data import VERDICT_KINDS, AuditedPair, Report, Savings, UrlSavings
from scrapy_simdedup.report.history import read_run_history
from scrapy_simdedup.report.tallies import (
    AuditSample,
    RunTally,
    SiteTally,
    TimelineTally,
    VerdictTally,
    find_stubs,
    find_warnings,
)
from scrapy_simdedup.report.url_rules import Replay, savings_from_notes
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.base import FingerprintStore, Record, whole_log

MAX_CLUSTERS, MAX_MEMBERS, MAX_AUDITED, MAX_CHANGE_ROWS = 50, 5, 30, 100
"""How many clusters, near pages and stubs a report shows, repeats of each cluster, dropped pages, and changes by site
and run."""
MAX_REPLAYED = 20_000
"""Pages whose URLs a report learns from, which takes a second or two."""


async def live_records(store: FingerprintStore, site: str | None) -> AsyncIterator[tuple[str, Record]]:
    """The records of one site or of all, with their sites, without tombstones of forgotten records."""
    if site is None:
        async for home, record in store.records():
            if not record.forgotten:
                yield home, record
        return
    async for record in whole_log(store, site):
        if not record.forgotten:
            yield site, record


@dataclass(frozen=True, slots=True)
class CrawlFacts:
    """What a report says of a crawl that only the crawl itself has counted."""

    kinds: Counter[str]
    dropped: int
    unjudged: Counter[str]
    savings: Savings
    warnings: tuple[str, ...] = ()
    audit: tuple[AuditedPair, ...] = ()
    """Dropped pages with the lines that differ."""
    url_savings: UrlSavings | None = None
    """What the crawl learned from URLs, if it skipped any."""


@dataclass(slots=True)
class _Tallies:
    """All tallies of the first reading of a store."""

    sites: SiteTally
    audit: AuditSample
    near: NearPages
    totals: VerdictTally = field(default_factory=VerdictTally)
    times: TimelineTally = field(default_factory=TimelineTally)
    runs: RunTally = field(default_factory=RunTally)
    clusters: TopClusters = field(default_factory=lambda: TopClusters(MAX_CLUSTERS))
    replay: Replay = field(default_factory=lambda: Replay(MAX_REPLAYED))
    stubs: list[tuple[str, Record]] = field(default_factory=list)

    def add(self, site: str, record: Record) -> None:
        self.totals.add(record)
        self.times.add(record)
        for tally in (self.sites, self.clusters, self.audit, self.near, self.replay):
            tally.add(site, record)
        if record.state == "stub" and len(self.stubs) < MAX_CLUSTERS:
            self.stubs.append((site, record))


async def build_report(
    store: FingerprintStore,
    settings: DedupSettings,
    *,
    name: str,
    run: str | None = None,
    crawl: CrawlFacts | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Report:
    """Build the report of a store, or of one run in it.

    1. Read the notes that runs have left about the past of pages, and about what pages were compared with.
    2. Read all records once: count them, sample dropped pages, and find the sites' biggest clusters and near pages.
    3. Read the sites of these and of sampled pages again, for members and originals.

    ``name`` is the store's URL without its password; ``crawl`` is what the crawl itself counted, if a crawl writes
    the report at its end. ``progress`` is called with the number of records that were read.
    """
    history = await read_run_history(store, run=run)
    compared = await read_compared_pages(store)
    tallies = _Tallies(SiteTally(history), AuditSample(MAX_AUDITED, compared), NearPages(compared, MAX_CLUSTERS))
    read = 0
    async for site, record in live_records(store, None):
        read += 1
        progress(read)
        tallies.runs.add(record)
        if run is None or record.run == run:
            tallies.add(site, record)
    clusters = ClusterDetails(tallies.clusters.biggest, MAX_MEMBERS, run)
    audited_sites = tallies.audit.begin_second_reading() if crawl is None else set()
    for home in clusters.sites | audited_sites | tallies.near.sites:
        async for site, record in live_records(store, home):
            read += 1
            progress(read)
            clusters.add(site, record)
            tallies.audit.add_original(site, record)
            tallies.near.add_original(site, record)
    totals, sites = tallies.totals, tallies.sites
    counted = totals.kinds if crawl is None else crawl.kinds
    kinds = {kind: counted[kind] for kind in VERDICT_KINDS if counted[kind]}
    found = clusters.clusters
    return Report(
        store=name,
        run=run,
        made_at=time.time(),
        mode=settings.mode,
        drop=settings.drop,
        identical=settings.identical,
        near=settings.near,
        pages=sum(kinds.values()),
        kinds=kinds,
        dropped=totals.states["duplicate"] if crawl is None else crawl.dropped,
        unjudged=dict((totals.unjudged if crawl is None else crawl.unjudged).most_common()),
        savings=None if crawl is None else crawl.savings,
        warnings=(*find_warnings(totals, settings), *(crawl.warnings if crawl else ())),
        similarities=totals.similarities,
        timeline=tallies.times.timeline,
        clusters=tuple(found),
        cluster_count=tallies.clusters.total,
        near_pages=tallies.near.pages,
        near_count=tallies.near.total,
        stubs=tuple(find_stubs(tallies.stubs, found, sites.rows)),
        sites=sites.rows,
        site_count=sites.count,
        url_savings=(crawl.url_savings if crawl else None)
        or await savings_from_notes(store, run=run)
        or tallies.replay.url_savings,
        drift=sites.drift,
        changes=tuple(history.changes[:MAX_CHANGE_ROWS]),
        runs=tallies.runs.rows,
        audit=tallies.audit.pairs if crawl is None else crawl.audit,
    )
