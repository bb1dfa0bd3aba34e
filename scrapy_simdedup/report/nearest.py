"""How alike one page is to many, by their fingerprints."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.errors import FingerprintMismatch
from scrapy_simdedup.fingerprint.fingerprint import COMPARED_BY_BODY, PageFingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from scrapy_simdedup.store.base import Record


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A page that is more or less like another."""

    record: Record
    similarity: float
    """Share of common content, 0..1."""
    distance: int
    """Bits in which the simhashes differ."""


class Nearest:
    """Keeps the pages that are most like one, out of any number.

    Args:
        fp: the one.
        key: who it is; it is no neighbour of itself.
        limit: how many are kept.
    """

    def __init__(self, fp: PageFingerprint, key: bytes, limit: int) -> None:
        self._fp, self._key, self._limit = fp, key, limit
        self._heap: list[tuple[float, int, Neighbour]] = []
        self._number = count()
        self.compared = 0
        """Pages that could be compared with it."""

    def add(self, records: Sequence[Record]) -> None:
        """Compare it with more pages, best some thousands at a time."""
        others = [(record, fp) for record in records if record.key != self._key and (fp := self._comparable(record))]
        self.compared += len(others)
        alike = similarities(self._fp, [fp for _, fp in others])
        for at in np.argsort(-alike)[: self._limit]:
            record, fp = others[at]
            found = Neighbour(record, float(alike[at]), (self._fp.simhash ^ fp.simhash).bit_count())
            heapq.heappush(self._heap, (found.similarity, next(self._number), found))
            if len(self._heap) > self._limit:
                heapq.heappop(self._heap)

    @property
    def found(self) -> list[Neighbour]:
        """The most similar first."""
        return [neighbour for *_, neighbour in sorted(self._heap, reverse=True)]

    def _comparable(self, record: Record) -> PageFingerprint | None:
        try:
            fp = PageFingerprint.from_bytes(record.fingerprint)
            self._fp.check_comparable(fp)
        except FingerprintMismatch:
            return None
        return fp if {fp.unjudged, self._fp.unjudged} <= COMPARED_BY_BODY | {None} else None


def similarities(fp: PageFingerprint, others: Sequence[PageFingerprint]) -> NDArray[np.float64]:
    """What ``fp.compare(other).similarity`` says of each, all at once; shape (n,).

    Args:
        fp: a fingerprint.
        others: fingerprints made in the same way.
    """
    alike = np.zeros(len(others))
    if fp.unjudged:
        bodies = [other.body == fp.body and other.unjudged in COMPARED_BY_BODY for other in others]
        return np.array(bodies, np.float64) * (fp.unjudged in COMPARED_BY_BODY)
    judged = [at for at, other in enumerate(others) if not other.unjudged]
    if judged:
        rows = np.concatenate([others[at].evidence for at in judged])
        alike[judged] = fp.weigh(rows).similarity
    return alike
