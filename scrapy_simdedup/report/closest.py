"""The page that another is most like, among many: for a sample of a site's pages, and for pages that moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.errors import FingerprintMismatch
from scrapy_simdedup.report.prints import print_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_simdedup.detect.history_notes import Left
    from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
    from scrapy_simdedup.report.sample import Reservoir
    from scrapy_simdedup.store.base import Record

POOL = 50_000
"""Pages of a site that a page is compared with at most, chosen at random."""
CANDIDATES = 50
"""Pages whose simhashes are closest, of which the most similar is looked for."""


@dataclass(frozen=True, slots=True)
class Closest:
    """The page that another is most like."""

    record: Record
    similarity: float
    """Share of common content, 0..1."""
    renamed: bool
    """Whether the two have different headlines, as different pages mostly do and copies mostly do not."""


@dataclass(frozen=True, slots=True)
class ClosePair:
    """A page, and the page of its site that it is most like."""

    site: str
    one: str
    other: str
    similarity: float
    renamed: bool


class Prints:
    """Pages that can be compared by their text, as far as they were made in the same way as the first.

    Args:
        records: the pages.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self.records: list[Record] = []
        self._first: PageFingerprint | None = None
        prints = []
        for record in records:
            fp = print_of(record)
            if fp is not None and self._fits(fp):
                self.records.append(record)
                prints.append(fp)
        if prints:
            self._simhashes = np.array([_words(fp) for fp in prints], np.uint64)
            self._evidence = np.concatenate([fp.evidence for fp in prints])

    def closest(self, record: Record | Left, *, since: float = 0.0) -> Closest | None:
        """The page, other than itself, that a page is most like; None if there is nothing to compare it with.

        Args:
            record: the page.
            since: only what was first fetched from then on counts; seconds since the epoch.
        """
        fp = print_of(record)
        if fp is None or not self.records or not self._fits(fp):
            return None
        distance = np.bitwise_count(self._simhashes ^ np.array(_words(fp), np.uint64)).sum(axis=1)
        near = np.argpartition(distance, CANDIDATES) if len(distance) > CANDIDATES else np.arange(len(distance))
        rows = [int(row) for row in near[: CANDIDATES + 1] if self._counts(self.records[row], record, since)]
        if not rows:
            return None
        found = fp.weigh(self._evidence[rows])
        best = int(np.argmax(found.similarity))
        return Closest(self.records[rows[best]], float(found.similarity[best]), bool(found.renamed[best]))

    @staticmethod
    def _counts(one: Record, asked: Record | Left, since: float) -> bool:
        return one.key != asked.key and one.first_seen >= since

    def _fits(self, fp: PageFingerprint) -> bool:
        if fp.unjudged:
            return False
        self._first = self._first or fp
        try:
            self._first.check_comparable(fp)
        except FingerprintMismatch:
            return False
        return True


def pairs_of(site: str, pages: Reservoir[Record], sample: int) -> Iterator[ClosePair]:
    """The closest pages of some of a site's pages.

    Args:
        site: its name.
        pages: its pages.
        sample: how many are looked at.
    """
    prints = Prints(pages.values())
    for record in prints.records[:sample]:
        found = prints.closest(record)
        if found is not None:
            yield ClosePair(site, record.url, found.record.url, found.similarity, found.renamed)


def _words(fp: PageFingerprint) -> list[int]:
    return [fp.simhash >> 64 * word & 0xFFFF_FFFF_FFFF_FFFF for word in range(fp.bits // 64)]
