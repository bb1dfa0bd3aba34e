"""What a report says of each site: how many pages repeat others, and how its known pages change."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrapy_simdedup.report.data import DriftRow, SiteRow
from scrapy_simdedup.report.history import Past
from scrapy_simdedup.report.readings import push

if TYPE_CHECKING:
    from scrapy_simdedup.store.base import Record

MOST_SITES, MOST_DRIFT = 1_000, 100
"""Rows of the tables."""
REDESIGN_PAGES, REDESIGN_SHARE = 20, 0.5
"""Known pages of a site that must have been fetched again in one run, and the share of them that must have changed,
before a redesign is suspected."""


@dataclass(slots=True)
class _Site:
    """One site, while its records are read."""

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
    past: Past = field(default_factory=Past)
    by_run: dict[str, list[int]] = field(default_factory=dict)
    """Known pages that a run fetched again, and those of them that had changed, where no more is known."""

    def add(self, record: Record) -> None:
        self.pages += 1
        self.kinds[record.kind] += 1
        self.failed += record.state == "released"
        self.repeats += record.state == "alias"
        if record.visits > 1:
            changed = record.kind == "changed"
            self.revisited += 1
            self.visits += record.visits - 1
            self.changes += record.changes
            self.changed += changed
            if changed and record.similarity is not None:
                self.similarity += record.similarity
                self.compared += 1
            if not self.past.knows(self.name, record.run):
                counts = self.by_run.setdefault(record.run, [0, 0])
                counts[0] += 1
                counts[1] += changed

    @property
    def row(self) -> SiteRow:
        kinds = self.kinds
        return SiteRow(
            self.name, self.pages, self.repeats, kinds["near"], kinds["changed"], kinds["unjudged"], self.failed
        )

    @property
    def drift(self) -> DriftRow:
        redesign = self.past.is_redesigned(self.name) or any(
            again >= REDESIGN_PAGES and changed >= REDESIGN_SHARE * again for again, changed in self.by_run.values()
        )
        similarity = self.similarity / self.compared if self.compared else None
        rate = self.changes / self.visits if self.visits else 0.0
        return DriftRow(self.name, self.revisited, self.changed, similarity, rate, redesign)


class Sites:
    """Tables of sites; records must come site by site.

    Args:
        past: what the runs have noted.
    """

    def __init__(self, past: Past) -> None:
        self._past = past
        self._site = _Site("")
        self._rows: list[tuple[int, str, SiteRow]] = []
        self._drift: list[tuple[bool, int, str, DriftRow]] = []
        self.count = 0

    def add(self, site: str, record: Record) -> None:
        """Count a record."""
        if site != self._site.name:
            self._end_site()
            self._site = _Site(site, past=self._past)
        self._site.add(record)

    @property
    def rows(self) -> tuple[SiteRow, ...]:
        """The sites with the most pages; all records must have been given."""
        self._end_site()
        return tuple(row for *_, row in sorted(self._rows, reverse=True))

    @property
    def drift(self) -> tuple[DriftRow, ...]:
        """The sites that change, those first whose design may have; all records must have been given."""
        self._end_site()
        return tuple(row for *_, row in sorted(self._drift, reverse=True))

    def _end_site(self) -> None:
        site, self._site = self._site, _Site("")
        if site.pages:
            self.count += 1
            push(self._rows, (site.pages, site.name, site.row), MOST_SITES)
            if site.revisited:
                drift = site.drift
                push(self._drift, (drift.redesign, drift.changed, site.name, drift), MOST_DRIFT)
