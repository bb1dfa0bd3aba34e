"""Pages out of many: the nearest neighbours of one, by the fingerprints of records, and random samples."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.detect.candidate_index import to_words
from scrapy_simdedup.detect.events import ContentLeft
from scrapy_simdedup.errors import FingerprintMismatch
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.store.base import Record
from scrapy_simdedup.unjudged import COMPARED_BY_BODY

Name = TypeVar("Name", str, bytes)
Value = TypeVar("Value")
MAX_COMPARED_PAGES = 50_000
"""Pages of a site that a page is compared with at most, chosen at random."""
MAX_CANDIDATES = 50
"""Pages with the closest simhashes, of which the most similar is the neighbour."""
PAGES_PER_STEP = 5_000
"""Pages that another is compared with at a time."""


def fingerprint_of(record: Record | ContentLeft | None) -> PageFingerprint | None:
    """The record's fingerprint, or None if there is none that this version can read."""
    try:
        return None if record is None else PageFingerprint.from_bytes(record.fingerprint)
    except FingerprintMismatch:
        return None


def comparable(one: PageFingerprint, other: PageFingerprint) -> bool:
    """Whether two fingerprints were made in the same way."""
    try:
        one.check_comparable(other)
    except FingerprintMismatch:
        return False
    return True


def fingerprint_differences(one: PageFingerprint | None, other: PageFingerprint | None) -> tuple[str, ...]:
    """What differs between two pages, in words, as far as their fingerprints tell."""
    if one is None or other is None:
        return ()
    if one.body == other.body:
        return ("nothing",)
    if one.exact == other.exact and not one.unjudged:
        return ("markup",)
    more = other.content - one.content
    facts = {
        "title": one.title != other.title,
        "h1": one.h1 != other.h1,
        f"{abs(more)} shingles {'more' if more > 0 else 'fewer'}": more != 0,
        "frame": one.total - one.content != other.total - other.content,
    }
    return tuple(name for name, does in facts.items() if does) or ("some words",)


class Largest(Generic[Value]):
    """The ``size`` values with the highest ranks out of many, the highest first; of equal ranks the latest counts."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._heap: list[tuple[Any, int, Value]] = []
        self._number = count()

    def add(self, rank: Any, value: Value) -> None:
        """Add a value; ranks are numbers, or tuples that can be compared."""
        push = heapq.heappush if len(self._heap) < self._size else heapq.heappushpop
        push(self._heap, (rank, next(self._number), value))

    def __iter__(self) -> Iterator[Value]:
        return (value for _, _, value in sorted(self._heap, reverse=True))


def random_rank(name: str | bytes) -> int:
    """The rank of a name in a random order that is the same in every run: a digest of the name."""
    raw = name if isinstance(name, bytes) else name.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(raw, digest_size=8).digest(), "big")


class Reservoir(Generic[Name, Value]):
    """A random sample of ``size`` named values: those whose names come first by their :func:`random_rank`."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: dict[Name, Value] = {}
        self._last: list[tuple[int, Name]] = []
        """A heap of negated ranks with their names; the name that must go next is the first."""

    def wants(self, name: Name) -> bool:
        """Whether a value of this name would be kept."""
        return name not in self._values and (len(self._values) < self._size or -random_rank(name) > self._last[0][0])

    def put(self, name: Name, value: Value) -> None:
        """Keep a value if its name is wanted, in place of another value if the sample is full."""
        if self.wants(name):
            self._values[name] = value
            heapq.heappush(self._last, (-random_rank(name), name))
            if len(self._values) > self._size:
                del self._values[heapq.heappop(self._last)[1]]

    def get(self, name: Name) -> Value | None:
        """The value that is kept under the name, if any."""
        return self._values.get(name)

    def values(self) -> Iterable[Value]:
        """The values that are kept, in the random order."""
        return (self._values[name] for _, name in sorted(self._last, reverse=True))


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A page of a store, and how like another page it is."""

    record: Record
    similarity: float
    distance: int
    headline_differs: bool
    """Whether the two have different headlines, as different pages mostly do and copies mostly do not."""


class Nearest:
    """The ``limit`` nearest neighbours, out of any number of records, of the page with a key, which is none itself."""

    def __init__(self, fp: PageFingerprint, key: bytes, limit: int) -> None:
        self._fp, self._key, self._limit = fp, key, limit
        self._waiting: list[tuple[Record, PageFingerprint]] = []
        self._nearest: Largest[Neighbour] = Largest(limit)
        self.compared: int = 0
        """The number of records that the page could be compared with."""

    def add(self, record: Record) -> None:
        """Compare the page with one more."""
        fp = fingerprint_of(record)
        if fp is None or record.key == self._key or not comparable(self._fp, fp):
            return
        if {fp.unjudged, self._fp.unjudged} <= COMPARED_BY_BODY | {None}:
            self.compared += 1
            self._waiting.append((record, fp))
            if len(self._waiting) == PAGES_PER_STEP:
                self._compare()

    @property
    def found(self) -> list[Neighbour]:
        """The neighbours, the most similar first."""
        self._compare()
        return list(self._nearest)

    def _compare(self) -> None:
        others, self._waiting = self._waiting, []
        similarity, headline_differs = _scores(self._fp, [fp for _, fp in others])
        for at in np.argsort(-similarity)[: self._limit]:
            record, fp = others[at]
            distance = (self._fp.simhash ^ fp.simhash).bit_count()
            found = Neighbour(record, float(similarity[at]), distance, bool(headline_differs[at]))
            self._nearest.add(found.similarity, found)


def _scores(fp: PageFingerprint, others: Sequence[PageFingerprint]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """``fp.compare(other).similarity`` of each comparable fingerprint, and whether the headlines differ; shape (n,)."""
    similarity, headline_differs = np.zeros(len(others)), np.zeros(len(others), np.bool_)
    if fp.unjudged:
        bodies = [other.body == fp.body and other.unjudged in COMPARED_BY_BODY for other in others]
        return np.array(bodies, np.float64) * (fp.unjudged in COMPARED_BY_BODY), headline_differs
    judged = [at for at, other in enumerate(others) if not other.unjudged]
    if judged:
        rows = np.concatenate([others[at].comparison_row for at in judged])
        found = fp.score(rows)
        similarity[judged], headline_differs[judged] = found.similarity, found.headline_differs
    return similarity, headline_differs


@dataclass(frozen=True, slots=True)
class ClosePair:
    """A page, and the page of its site that it is most like; both by their URLs."""

    site: str
    one: str
    other: str
    similarity: float
    headline_differs: bool


class FingerprintTable:
    """The fingerprints of many records in arrays, so that the closest to a page is found in one numpy step.

    Records whose pages are unjudged, or whose fingerprints were made in another way than the first, are left out.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self.records: list[Record] = []
        self._first: PageFingerprint | None = None
        fingerprints = []
        for record in records:
            fp = fingerprint_of(record)
            if fp is not None and self._fits(fp):
                self.records.append(record)
                fingerprints.append(fp)
        if fingerprints:
            self._simhashes = np.array([to_words(fp.simhash, fp.bits // 64) for fp in fingerprints])
            self._rows = np.concatenate([fp.comparison_row for fp in fingerprints])

    def closest(self, record: Record | ContentLeft, *, since: float = 0.0) -> Neighbour | None:
        """The other page of the table that a page is most like, of those first fetched ``since`` then; or None."""
        fp = fingerprint_of(record)
        if fp is None or not self.records or not self._fits(fp):
            return None
        distance = np.bitwise_count(self._simhashes ^ to_words(fp.simhash, fp.bits // 64)).sum(axis=1)
        near = np.argpartition(distance, MAX_CANDIDATES) if len(distance) > MAX_CANDIDATES else np.arange(len(distance))
        rows = [
            row
            for row in near[: MAX_CANDIDATES + 1].tolist()
            if self.records[row].key != record.key and self.records[row].first_seen >= since
        ]
        if not rows:
            return None
        found = fp.score(self._rows[rows])
        best = int(np.argmax(found.similarity))
        row, similarity = rows[best], float(found.similarity[best])
        return Neighbour(self.records[row], similarity, int(distance[row]), bool(found.headline_differs[best]))

    def _fits(self, fp: PageFingerprint) -> bool:
        if fp.unjudged:
            return False
        self._first = self._first or fp
        return comparable(self._first, fp)


def closest_pairs(site: str, pages: Iterable[Record], sample: int) -> Iterator[ClosePair]:
    """The closest page of each of the first ``sample`` pages of a site, which come in a random order."""
    table = FingerprintTable(pages)
    for record in table.records[:sample]:
        found = table.closest(record)
        if found is not None:
            yield ClosePair(site, record.url, found.record.url, found.similarity, found.headline_differs)
