"""What a report reads off the records of a store, one record after the other and in bounded memory."""

from __future__ import annotations

import heapq
from array import array
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from scrapy_simdedup.errors import FingerprintMismatch
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.report.data import BUCKETS, KINDS, RunRow, Timeline

if TYPE_CHECKING:
    from scrapy_simdedup.store.base import Record

STEPS = 60
"""Of the timeline."""
MOST_RUNS = 50
Entry = TypeVar("Entry", bound="tuple[Any, ...]")


class Totals:
    """Pages by verdict, state, reason and similarity."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.states: Counter[str] = Counter()
        self.unjudged: Counter[str] = Counter()
        self.similarities = {"dropped": [0] * BUCKETS, "kept": [0] * BUCKETS}

    def add(self, record: Record) -> None:
        """Count a record."""
        self.kinds[record.kind] += 1
        self.states[record.state] += 1
        if record.kind == "unjudged":
            self.unjudged[_reason(record)] += 1
        if record.similarity is not None:
            fate = "dropped" if record.state == "alias" else "kept"
            self.similarities[fate][min(BUCKETS - 1, int(record.similarity * BUCKETS))] += 1


class Times:
    """When pages were last seen, with their verdicts: nine bytes per page."""

    def __init__(self) -> None:
        self._seen = array("d")
        self._kinds = array("B")

    def add(self, record: Record) -> None:
        """Note a record."""
        if record.kind in KINDS:
            self._seen.append(record.last_seen)
            self._kinds.append(KINDS.index(record.kind))

    @property
    def timeline(self) -> Timeline | None:
        """The verdicts in equal steps; None where there is nothing."""
        if not self._seen:
            return None
        seen, kinds = np.frombuffer(self._seen), np.frombuffer(self._kinds, np.uint8)
        start, end = float(seen.min()), float(seen.max())
        counts, edges = {}, np.linspace(start, max(end, start + 1.0), STEPS + 1)
        for number, kind in enumerate(KINDS):
            found = np.histogram(seen[kinds == number], edges)[0]
            if found.any():
                counts[kind] = found.tolist()
        return Timeline(start, float(edges[1] - edges[0]), counts)


class Runs:
    """What the store has of each run."""

    def __init__(self) -> None:
        self._runs: dict[str, list[float]] = {}

    def add(self, record: Record) -> None:
        """Count a record."""
        seen = record.last_seen
        run = self._runs.setdefault(record.run, [0, 0, seen, seen])
        run[0] += 1
        run[1] += record.state == "alias"
        run[2], run[3] = min(run[2], seen), max(run[3], seen)

    @property
    def rows(self) -> tuple[RunRow, ...]:
        """The latest first."""
        rows = (
            RunRow(name, int(pages), int(repeats), first, last)
            for name, (pages, repeats, first, last) in self._runs.items()
        )
        return tuple(sorted(rows, key=lambda row: -row.last)[:MOST_RUNS])


class Sample:
    """Some of the pages that repeat another, each with the same chance; the same for the same store.

    Args:
        size: how many.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._heap: list[tuple[bytes, str, Record]] = []

    def add(self, site: str, record: Record) -> None:
        """Take it, or leave it."""
        if record.state == "alias":
            # Those with the largest digests: a random choice that needs no memory of how many there were.
            push(self._heap, (blake2b(record.key, digest_size=8).digest(), site, record), self._size)

    @property
    def found(self) -> list[tuple[str, Record]]:
        """The sample, with the site of each."""
        return [(site, record) for _, site, record in sorted(self._heap, key=lambda entry: entry[0])]


def push(heap: list[Entry], entry: Entry, size: int) -> None:
    """Keep the ``size`` largest entries."""
    if len(heap) < size:
        heapq.heappush(heap, entry)
    elif heap[0] < entry:
        heapq.heapreplace(heap, entry)


def _reason(record: Record) -> str:
    try:
        return PageFingerprint.from_bytes(record.fingerprint).unjudged or "unknown"
    except FingerprintMismatch:
        return "unreadable"
