"""Tallies: what a report counts and samples while it reads the records of a store one by one, in bounded memory."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from scrapy_simdedup import report
from scrapy_simdedup.report.clusters import ComparedPages, event_of
from scrapy_simdedup.report.history import RunHistory
from scrapy_simdedup.report.neighbours import Largest, Reservoir, fingerprint_differences, fingerprint_of
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.base import Record
from scrapy_simdedup.urls import Rule, UrlLearner

TIMELINE_STEPS, MAX_RUNS, MAX_SITE_ROWS, MAX_DRIFT_ROWS = 60, 50, 1_000, 100
REDESIGN_PAGES, REDESIGN_SHARE = 20, 0.5
"""Known pages of a site that must have been fetched again in one run, and the share of them that must have changed,
before a redesign is suspected."""
WARNING_SHARE = 0.1
"""Share of the pages from which failures that should be rare are worth a warning."""


class VerdictTally:
    """Counts pages by verdict, state, unjudged reason and similarity."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.states: Counter[str] = Counter()
        self.unjudged: Counter[str] = Counter()
        empty = [0] * report.SIMILARITY_BUCKETS
        self.similarities: dict[str, list[int]] = {"dropped": empty, "kept": empty.copy()}

    def add(self, record: Record) -> None:
        """Count one record."""
        self.kinds[record.kind] += 1
        self.states[record.state] += 1
        if record.kind == "unjudged":
            fp = fingerprint_of(record)
            self.unjudged["unreadable" if fp is None else fp.unjudged or "unknown"] += 1
        if record.similarity is not None:
            bucket = min(report.SIMILARITY_BUCKETS - 1, int(record.similarity * report.SIMILARITY_BUCKETS))
            self.similarities["dropped" if record.state == "duplicate" else "kept"][bucket] += 1


class TimelineTally:
    """Collects when pages were last seen, with their verdicts, in nine bytes per page."""

    def __init__(self) -> None:
        self._seen = array("d")
        self._kinds = array("B")

    def add(self, record: Record) -> None:
        """Take the time and the verdict of one record."""
        if record.kind in report.VERDICT_KINDS:
            self._seen.append(record.last_seen)
            self._kinds.append(report.VERDICT_KINDS.index(record.kind))

    @property
    def timeline(self) -> report.Timeline | None:
        """The verdicts in steps of equal length; None if there were no records."""
        if not self._seen:
            return None
        seen, kinds = np.frombuffer(self._seen), np.frombuffer(self._kinds, np.uint8)
        start, end = float(seen.min()), float(seen.max())
        counts, edges = {}, np.linspace(start, max(end, start + 1.0), TIMELINE_STEPS + 1)
        for number, kind in enumerate(report.VERDICT_KINDS):
            found = np.histogram(seen[kinds == number], edges)[0]
            if found.any():
                counts[kind] = found.tolist()
        return report.Timeline(start, float(edges[1] - edges[0]), counts)


class RunTally:
    """Counts the pages and repeats of each run."""

    def __init__(self) -> None:
        self._runs: dict[str, report.RunRow] = {}

    def add(self, record: Record) -> None:
        """Count one record."""
        seen, is_repeat = record.last_seen, record.state == "duplicate"
        run = self._runs.get(record.run) or report.RunRow(record.run, 0, 0, seen, seen)
        first, last = min(run.first, seen), max(run.last, seen)
        self._runs[record.run] = report.RunRow(run.run, run.pages + 1, run.repeats + is_repeat, first, last)

    @property
    def rows(self) -> tuple[report.RunRow, ...]:
        """The rows of the runs table, the latest run first."""
        return tuple(sorted(self._runs.values(), key=lambda row: -row.last)[:MAX_RUNS])


@dataclass(slots=True)
class _SiteCounts:
    """Counts of one site, while its records are read."""

    name: str
    pages: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    repeats: int = 0
    failed: int = 0
    revisited: int = 0
    changed: int = 0
    similarity: float = 0.0
    compared: int = 0
    changes: int = 0
    visits: int = 0
    history: RunHistory = field(default_factory=RunHistory)
    by_run: dict[str, list[int]] = field(default_factory=dict)
    """By run, where it is not known how structures changed: known pages that it fetched again, and changed ones."""

    def add(self, record: Record) -> None:
        self.pages += 1
        self.kinds[record.kind] += 1
        self.failed += record.state == "released"
        self.repeats += record.state == "duplicate"
        if record.visits > 1:
            changed = record.kind == "changed"
            self.revisited += 1
            self.visits += record.visits - 1
            self.changes += record.changes
            self.changed += changed
            if changed and record.similarity is not None:
                self.similarity += record.similarity
                self.compared += 1
            if not self.history.has_changes(self.name, record.run):
                counts = self.by_run.setdefault(record.run, [0, 0])
                counts[0] += 1
                counts[1] += changed

    @property
    def row(self) -> report.SiteRow:
        near, changed, unjudged = (self.kinds[kind] for kind in ("near", "changed", "unjudged"))
        return report.SiteRow(self.name, self.pages, self.repeats, near, changed, unjudged, self.failed)

    @property
    def drift(self) -> report.DriftRow:
        redesign = self.history.is_redesigned(self.name) or any(
            again >= REDESIGN_PAGES and changed >= REDESIGN_SHARE * again for again, changed in self.by_run.values()
        )
        similarity = self.similarity / self.compared if self.compared else None
        rate = self.changes / self.visits if self.visits else 0.0
        return report.DriftRow(self.name, self.revisited, self.changed, similarity, rate, redesign)


class SiteTally:
    """Counts pages by site; records must come site by site."""

    def __init__(self, history: RunHistory) -> None:
        self._history = history
        self._site = _SiteCounts("")
        self._rows: Largest[report.SiteRow] = Largest(MAX_SITE_ROWS)
        self._drift: Largest[report.DriftRow] = Largest(MAX_DRIFT_ROWS)
        self.count: int = 0

    def add(self, site: str, record: Record) -> None:
        """Count one record."""
        if site != self._site.name:
            self._end_site()
            self._site = _SiteCounts(site, history=self._history)
        self._site.add(record)

    @property
    def rows(self) -> tuple[report.SiteRow, ...]:
        """The sites with the most pages; all records must have been added."""
        self._end_site()
        return tuple(self._rows)

    @property
    def drift(self) -> tuple[report.DriftRow, ...]:
        """The sites with pages that were fetched again, suspected redesigns first; all records must have been added."""
        self._end_site()
        return tuple(self._drift)

    def _end_site(self) -> None:
        site, self._site = self._site, _SiteCounts("")
        if site.pages:
            self.count += 1
            self._rows.add((site.pages, site.name), site.row)
            if site.revisited:
                drift = site.drift
                self._drift.add((drift.redesign, drift.changed, site.name), drift)


def find_warnings(totals: VerdictTally, settings: DedupSettings) -> Iterator[str]:
    """The warnings of a report, in sentences."""
    pages = totals.kinds.total()
    if settings.mode == "observe":
        yield "SIMDEDUP_MODE is observe: nothing was dropped, all of this was only counted."
    if pages and totals.kinds["unjudged"] > WARNING_SHARE * pages:
        yield f"{totals.kinds['unjudged'] / pages:.0%} of the pages could not be judged and were kept; see why below."
    if pages and totals.states["released"] > WARNING_SHARE * pages:
        yield (
            f"The delivery of {totals.states['released']:,} pages failed: their callbacks or pipelines raised, "
            "or their items were dropped."
        )
    if totals.states["reserved"]:
        yield (
            f"The delivery of {totals.states['reserved']:,} pages has not ended: a crawl is still at work, "
            "or was stopped before it did."
        )


class AuditSample:
    """Samples dropped pages in a first reading of a store, each with the same chance, then finds their originals."""

    def __init__(self, size: int, compared: ComparedPages) -> None:
        self._compared = compared
        self._dropped: Reservoir[bytes, tuple[str, Record]] = Reservoir(size)
        self._originals: dict[tuple[str, bytes], Record | None] = {}

    def add(self, site: str, record: Record) -> None:
        """The first reading: sample the record if it was dropped."""
        if record.state == "duplicate":
            self._dropped.put(record.key, (site, record))

    @property
    def sites(self) -> set[str]:
        """The sites that must be read again, for originals."""
        self._originals = {(site, record.original or b""): None for site, record in self._dropped.values()}
        return {site for site, _ in self._originals}

    def add_original(self, site: str, record: Record) -> None:
        """The second reading: keep the record if it is the original of a sampled page."""
        if (site, record.key) in self._originals and record.state != "released":
            self._originals[site, record.key] = record

    @property
    def pairs(self) -> tuple[report.AuditedPair, ...]:
        """The sampled pages beside their originals, without texts: a store has none."""
        pairs = []
        for site, record in self._dropped.values():
            original = self._originals.get((site, record.original or b""))
            one, other = fingerprint_of(original), fingerprint_of(record)
            event = event_of(record, self._compared.get((site, record.key)))
            pairs.append(
                report.AuditedPair(
                    original=None if original is None else original.url,
                    dropped=record.url,
                    similarity=record.similarity or 0.0,
                    distance=(one.simhash ^ other.simhash).bit_count() if one and other else None,
                    facts=fingerprint_differences(one, other),
                    lines=None,
                    own_words=None if event is None else event.own_words,
                )
            )
        return tuple(pairs)


class Replay:
    """Replays the pages of a store in the order of their first fetches, as if the crawl had learned from URLs.

    Add all records, site by site, then take :attr:`url_savings`. For each site:

    1. A new learner decides about each URL in turn: it is skipped, or fetched.
    2. The learner observes the content of each fetched URL, and may readmit skipped URLs, which are fetched then.
    3. Fetches that were not made are saved; contents of which no URL was fetched are lost.

    A site with which there would be more than ``max_pages`` is left out whole.
    """

    def __init__(self, max_pages: int | None = None) -> None:
        self._max_pages = max_pages
        self._rules: Largest[Rule] = Largest(report.MAX_RULES)
        self._site = ""
        self._site_pages: list[tuple[float, str, str | None]] | None = []
        self._pages = self._sites = self._saved = self._lost = 0

    def add(self, site: str, record: Record) -> None:
        """Keep a record for the replay of its site."""
        if site != self._site:
            self._end_site()
            self._site, self._site_pages = site, []
        if self._site_pages is not None:
            content_id = None if record.kind == "unjudged" else (record.original or record.key).hex()
            self._site_pages.append((record.first_seen, record.url, content_id))
            if self._max_pages is not None and self._pages + len(self._site_pages) > self._max_pages:
                self._site_pages = None

    @property
    def url_savings(self) -> report.UrlSavings:
        """What the replay saved; all records must have been added."""
        self._end_site()
        return report.UrlSavings(self._pages, self._sites, self._saved, self._lost, tuple(self._rules))

    def _end_site(self) -> None:
        pages, self._site_pages = sorted(self._site_pages or (), key=lambda page: page[0]), []
        if not pages:
            return
        contents = {url: content for _, url, content in pages}
        learner = UrlLearner()  # sites teach nothing about each other
        observed: set[str | None] = set()
        fetched = 0
        for _, url, _ in pages:
            to_fetch = [] if learner.decide(url).skip else [url]
            while to_fetch:
                again = to_fetch.pop()
                fetched += 1
                observed.add(contents[again])
                readmitted = learner.observe(again, contents[again])
                to_fetch += [back for back in readmitted if back in contents]
        self._pages += len(pages)
        self._sites += 1
        self._saved += len(pages) - fetched
        self._lost += len({*contents.values()} - observed - {None})
        for rule in learner.rules():
            self._rules.add((rule.skipped, rule.successes), rule)
