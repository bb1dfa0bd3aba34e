"""From a store to a report: all records are read, some twice, and none is held but those that the report shows."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrapy_simdedup.report.clusters import Collecting, Counting
from scrapy_simdedup.report.data import KINDS, Audited, Report, Savings
from scrapy_simdedup.report.findings import Originals, stubs_of, warnings_of
from scrapy_simdedup.report.history import past_of
from scrapy_simdedup.report.readings import Runs, Sample, Times, Totals
from scrapy_simdedup.report.records import records_of
from scrapy_simdedup.report.sites import Sites
from scrapy_simdedup.report.url_rules import Replay, lesson_of_notes

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable

    from scrapy_simdedup.report.lesson import Lesson
    from scrapy_simdedup.settings import DedupSettings
    from scrapy_simdedup.store.base import FingerprintStore, Record

CLUSTERS, MEMBERS, AUDITED = 50, 5, 30
"""How many of each a report shows."""
MOST_CHANGES = 100
"""Sites and runs of which a report tells what was new."""
REPLAYED = 20_000
"""Pages whose URLs are learned from: a second or two."""


@dataclass(frozen=True, slots=True)
class CrawlFacts:
    """What only the crawl that ends now knows."""

    kinds: Counter[str]
    """Pages by verdict."""
    dropped: int
    unjudged: Counter[str]
    """Pages that could not be judged, by reason."""
    savings: Savings
    warnings: tuple[str, ...] = ()
    audit: tuple[Audited, ...] = ()
    """Dropped pages with the lines that differ."""
    lesson: Lesson | None = None
    """What it learned from URLs, if it skipped any."""


@dataclass(slots=True)
class _Readings:
    """Everything that the first reading counts."""

    sites: Sites
    totals: Totals = field(default_factory=Totals)
    times: Times = field(default_factory=Times)
    runs: Runs = field(default_factory=Runs)
    clusters: Counting = field(default_factory=lambda: Counting(CLUSTERS))
    sample: Sample = field(default_factory=lambda: Sample(AUDITED))
    replay: Replay = field(default_factory=lambda: Replay(REPLAYED))
    stubs: list[tuple[str, Record]] = field(default_factory=list)

    def add(self, site: str, record: Record) -> None:
        self.totals.add(record)
        self.times.add(record)
        self.sites.add(site, record)
        self.clusters.add(site, record)
        self.sample.add(site, record)
        self.replay.add(site, record)
        if record.state == "stub" and len(self.stubs) < CLUSTERS:
            self.stubs.append((site, record))


async def gather(
    store: FingerprintStore,
    settings: DedupSettings,
    *,
    name: str,
    run: str | None = None,
    crawl: CrawlFacts | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Report:
    """Read a store and sum it up.

    Args:
        store: an open store.
        settings: the thresholds that the report shows.
        name: the store's URL without its password.
        run: look at this run alone; None looks at all.
        crawl: what the crawl itself counted, if it is the crawl that wants the report.
        progress: called with the number of records that were read.

    Raises:
        StoreError: the store cannot be read.
    """
    past = await past_of(store, run=run)
    readings = _Readings(Sites(past))
    read = 0
    async for site, record in records_of(store, None):
        read += 1
        progress(read)
        readings.runs.add(record)
        if run is None or record.run == run:
            readings.add(site, record)
    clusters = Collecting(readings.clusters.biggest, MEMBERS, run)
    sample = readings.sample.found if crawl is None else []
    originals = Originals(sample)
    for home in clusters.sites | {site for site, _ in sample}:
        async for site, record in records_of(store, home):
            read += 1
            progress(read)
            clusters.add(site, record)
            originals.add(site, record)
    totals, sites = readings.totals, readings.sites
    counted = totals.kinds if crawl is None else crawl.kinds
    kinds = {kind: counted[kind] for kind in KINDS if counted[kind]}
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
        dropped=totals.states["alias"] if crawl is None else crawl.dropped,
        unjudged=dict((totals.unjudged if crawl is None else crawl.unjudged).most_common()),
        savings=None if crawl is None else crawl.savings,
        warnings=(*warnings_of(totals, settings), *(crawl.warnings if crawl else ())),
        similarities=totals.similarities,
        timeline=readings.times.timeline,
        clusters=tuple(found),
        cluster_count=readings.clusters.total,
        stubs=tuple(stubs_of(readings.stubs, found, sites.rows)),
        sites=sites.rows,
        site_count=sites.count,
        lesson=(crawl.lesson if crawl else None) or await lesson_of_notes(store, run=run) or readings.replay.lesson,
        drift=sites.drift,
        changes=tuple(past.changes[:MOST_CHANGES]),
        runs=readings.runs.rows,
        audit=originals.audited if crawl is None else crawl.audit,
    )
