"""The originals of one site in numpy arrays, 30 bytes each, and those among them that may be like a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from scrapy_simdedup.detect.keyed_rows import KeyedRows
from scrapy_simdedup.detect.scan import Rows, nearest, words
from scrapy_simdedup.fingerprint.fingerprint import COMPARED_BY_BODY, PageFingerprint
from scrapy_simdedup.fingerprint.odd_sketch import unlike_bits

Numbers = TypeVar("Numbers", np.uint32, np.uint64)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simdedup.fingerprint.methods.base import Method
    from scrapy_simdedup.store.base import Record
    from scrapy_simdedup.store.shelf import Shelf

RADIUS = 18
"""Bits of every 64 by which candidates differ at most. Of real pages with a similarity of 0.85 to 0.95 it finds 99 %,
where 12 bits, which are enough for copies, find 80 %; and it lets through 1 % of a site's other pages."""
CANDIDATES = 512
"""Pages within the radius whose odd sketches are looked at, the nearest."""
COMPARED = 64
"""Pages that are compared in full, those with the nearest odd sketches: what bounds the time a page can take."""
BY_BODY, BY_TEXT = 1, {"roles": 2, "readability": 3}
"""What may be compared with what: whole bodies, or texts that were found in the same way. 0 is never compared."""
_FIRST_ROWS = 4
_STAMP = 0xFFFF_FFFF


class Originals:
    """Row i of each array is about the record in slot i of a shelf, if it is searched.

    Args:
        bits: width of the simhashes.
        shelf: where the records are.
        method: how they are compared.
        resemblance: from which on they have to be found.
    """

    def __init__(self, bits: int, shelf: Shelf, method: Method, resemblance: float) -> None:
        self._shelf, self._evidence = shelf, method.evidence
        self._keyed = KeyedRows(method, resemblance, self._judged, self.evidence)
        self._radius = RADIUS * bits // 64
        self._count = 0
        # Arrays grow by an eighth, in place; only the first rows are in use.
        self._stamps = np.zeros(_FIRST_ROWS, np.uint32)
        """The lower half of each id, which tells whether another record has the slot by now."""
        self._simhash = np.zeros((_FIRST_ROWS, bits // 64), np.uint64)
        self._exact = np.zeros(_FIRST_ROWS, np.uint32)
        """The lower half of each digest: what it finds is looked at again."""
        self._body = np.zeros(_FIRST_ROWS, np.uint64)
        self._method = np.zeros(_FIRST_ROWS, np.uint8)
        self._confirmed = np.zeros(_FIRST_ROWS, np.bool_)

    @property
    def size(self) -> int:
        """Bytes of the arrays."""
        return sum(column.nbytes for column in self._columns()) + self._keyed.size

    def ids(self, rows: Rows) -> NDArray[np.uint64]:
        """The ids of records."""
        found: NDArray[np.uint64] = np.frombuffer(self._shelf.ids, np.uint64)[rows]
        return found

    def confirmed(self, rows: Rows) -> NDArray[np.bool_]:
        """Whether records were delivered."""
        return self._confirmed[rows]

    def has(self, slot: int, id_: int) -> bool:
        """Whether a record is among them."""
        return slot < self._count and int(self._stamps[slot]) == id_ & _STAMP

    def stand(self, slots: NDArray[np.uint64], ids: NDArray[np.uint64], method: int) -> NDArray[np.bool_]:
        """Whether records are still where they were, and among those whose texts were found in one way."""
        rows = slots.astype(np.intp)
        there = (self.ids(rows) == ids) & (self._stamps[rows] == ids & _STAMP)
        standing: NDArray[np.bool_] = there & (self._method[rows] == method)
        return standing

    def add(self, slot: int, record: Record, fp: PageFingerprint) -> bool:
        """Take a record in; False if its page repeats nothing and cannot be repeated."""
        if not is_searched(fp):
            return False
        if slot >= len(self._stamps):
            self._grow(slot)
        self._count = max(self._count, slot + 1)
        self._stamps[slot] = record.id & _STAMP
        self._simhash[slot] = words(fp.simhash, self._simhash.shape[1])
        self._exact[slot], self._body[slot] = _number(fp.exact[:4]), _number(fp.body)
        self._method[slot] = method_of(fp)
        self.change(slot, record)
        if not fp.unjudged:
            self._keyed.add(slot, fp.evidence[0])
        return True

    def change(self, slot: int, record: Record) -> None:
        """Take in what became of a record that is there; its fingerprint stays what it was."""
        self._confirmed[slot] = record.state == "confirmed"

    def remove(self, slot: int) -> None:
        """Let a record go, if it is there."""
        if slot < self._count:
            self._stamps[slot] = self._method[slot] = 0

    def same_body(self, body: bytes) -> Rows:
        """Those with these very bytes."""
        return self._standing(np.flatnonzero(self._used(self._body) == _number(body)))

    def candidates(self, fp: PageFingerprint, key: bytes, *, whole: bool = False) -> Rows:
        """Those that may be like the page, at most :data:`COMPARED` and all that are equal.

        Args:
            fp: the page's fingerprint.
            key: who the page is.
            whole: look for others also where one is equal.
        """
        if not is_searched(fp):
            return np.zeros(0, np.intp)
        if fp.unjudged:
            return self._comparable(fp, self.same_body(fp.body))
        equal = self._equal(fp)
        if not whole and any(self._confirmed[row] and self._shelf.key(row) != key for row in equal):
            return equal  # nothing can be more similar, so nothing else need be looked at
        one = fp.evidence[0]
        keys = self._keyed.keys(one)
        near = self._nearest(fp, one) if keys is None else self._sharing(fp, keys)
        chosen: Rows = np.union1d(near, equal) if len(equal) else np.sort(near)
        return chosen

    def evidence(self, rows: Rows) -> NDArray[np.void]:
        """What judged pages are compared by, in their order."""
        return np.frombuffer(self._shelf.tails(rows.tolist(), self._evidence.itemsize), self._evidence)

    def _nearest(self, fp: PageFingerprint, one: np.void) -> Rows:
        """Those within the radius; of many, those that have most units and headings in common, or the nearest."""
        has_units = "odd_units" in (self._evidence.names or ())
        most = CANDIDATES if has_units else COMPARED
        near = self._comparable(fp, nearest(self._used(self._simhash).T, fp.simhash, self._radius, most))
        if len(near) <= COMPARED:
            return near
        many = self.evidence(near)
        unlike = unlike_bits(one["odd_units"], many["odd_units"])
        unlike += unlike_bits(one["odd_headings"], many["odd_headings"])
        return near[np.argpartition(unlike, COMPARED)[:COMPARED]]

    def _sharing(self, fp: PageFingerprint, keys: NDArray[np.uint32]) -> Rows:
        """Those that share keys with the page; of many, those that share most."""
        rows, counts = self._keyed.sharing(keys)
        near = self._comparable(fp, rows)
        if len(near) <= COMPARED:
            return near
        shared = counts[np.searchsorted(rows, near)]
        return near[np.argpartition(-shared, COMPARED)[:COMPARED]]

    def _judged(self) -> Rows:
        """All that are compared by their text."""
        return self._standing(np.flatnonzero(self._method[: self._count] > BY_BODY))

    def _equal(self, fp: PageFingerprint) -> Rows:
        """Those with the same set of shingles."""
        rows = self._comparable(fp, np.flatnonzero(self._used(self._exact) == _number(fp.exact[:4])))
        return rows[self.evidence(rows)["exact"] == _number(fp.exact)] if len(rows) else rows

    def _comparable(self, fp: PageFingerprint, rows: Rows) -> Rows:
        return self._standing(rows[self._method[rows] == method_of(fp)])

    def _standing(self, rows: Rows) -> Rows:
        """Without those that went from the shelf since they were taken in."""
        if len(rows):
            rows = rows[self.ids(rows) & _STAMP == self._stamps[rows]]
        return rows

    def _columns(self) -> tuple[NDArray[np.generic], ...]:
        return self._stamps, self._simhash, self._exact, self._body, self._method, self._confirmed

    def _grow(self, slot: int) -> None:
        rows = max(slot + 1, len(self._stamps) * 9 // 8)
        for column in self._columns():
            column.resize((rows, *column.shape[1:]), refcheck=False)  # no view outlives the method that made it

    def _used(self, column: NDArray[Numbers]) -> NDArray[Numbers]:
        return column[: self._count]


def is_searched(fp: PageFingerprint) -> bool:
    """Whether a page can repeat others and be repeated: it has content."""
    return fp.unjudged is None or fp.unjudged in COMPARED_BY_BODY


def method_of(fp: PageFingerprint) -> int:
    """What a page is compared by; see :data:`BY_TEXT`."""
    return BY_BODY if fp.unjudged else BY_TEXT[fp.extractor]


def _number(digest: bytes) -> int:
    return int.from_bytes(digest, "little")
