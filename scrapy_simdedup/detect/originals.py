"""The originals of one site in numpy arrays, and those among them that may be like a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.detect.scan import Rows, nearest, words
from scrapy_simdedup.fingerprint.evidence import EVIDENCE, read_evidence
from scrapy_simdedup.fingerprint.fingerprint import COMPARED_BY_BODY, PageFingerprint
from scrapy_simdedup.fingerprint.odd_sketch import unlike_bits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simdedup.store.base import Record

RADIUS = 18
"""Bits of every 64 by which candidates differ at most. Of real pages with a similarity of 0.85 to 0.95 it finds 99 %,
where 12 bits, which are enough for copies, find 80 %; and it lets through 1 % of a site's other pages."""
CANDIDATES = 512
"""Pages within the radius whose odd sketches are looked at, the nearest."""
COMPARED = 64
"""Pages that are compared in full, those with the nearest odd sketches: what bounds the time a page can take."""
BY_BODY, BY_TEXT = 0, {"roles": 1, "readability": 2}
"""What may be compared with what: whole bodies, or texts that were found in the same way."""


class Originals:
    """Row i of each array is about record i; a row that goes is filled with the last one.

    Args:
        bits: width of the simhashes.
    """

    def __init__(self, bits: int) -> None:
        self.records: list[Record] = []
        self._radius = RADIUS * bits // 64
        self._rows: dict[int, int] = {}
        # Arrays grow by doubling; only the first rows are in use.
        self._ids = np.zeros(8, np.int64)
        self._simhash = np.zeros((bits // 64, 8), np.uint64)
        self._exact = np.zeros(8, np.uint64)
        self._body = np.zeros(8, np.uint64)
        self._method = np.zeros(8, np.uint8)
        self._confirmed = np.zeros(8, np.bool_)

    @property
    def ids(self) -> NDArray[np.int64]:
        """The id of each record."""
        return self._ids[: len(self.records)]

    @property
    def confirmed(self) -> NDArray[np.bool_]:
        """Whether each was delivered."""
        return self._confirmed[: len(self.records)]

    def add(self, record: Record) -> bool:
        """Take a record in; False if its page repeats nothing and cannot be repeated."""
        fp = PageFingerprint.from_bytes(record.fingerprint)
        if not is_searched(fp):
            return False
        row = self._rows[record.id] = len(self.records)
        self.records.append(record)
        if row == len(self._exact):
            self._grow()
        self._ids[row] = record.id
        self._simhash[:, row] = words(fp.simhash, len(self._simhash))
        self._exact[row], self._body[row] = _number(fp.exact), _number(fp.body)
        self._method[row] = method_of(fp)
        self._confirmed[row] = record.state == "confirmed"
        return True

    def remove(self, id_: int) -> None:
        """Let a record go, if it is there."""
        row = self._rows.pop(id_, None)
        if row is None:
            return
        last = self.records.pop()
        if last.id != id_:
            self.records[row], self._rows[last.id] = last, row
            for column in self._columns():
                column[..., row] = column[..., len(self.records)]

    def same_body(self, body: bytes) -> Rows:
        """Those with these very bytes."""
        return np.flatnonzero(self._used(self._body) == _number(body))

    def candidates(self, fp: PageFingerprint, key: bytes) -> Rows:
        """Those that may be like the page, at most :data:`COMPARED` and all that are equal."""
        if not is_searched(fp):
            return np.zeros(0, np.intp)
        if fp.unjudged:
            return self._comparable(fp, self.same_body(fp.body))
        equal = self._comparable(fp, np.flatnonzero(self._used(self._exact) == _number(fp.exact)))
        if any(self._confirmed[row] and self.records[row].key != key for row in equal):
            return equal  # nothing can be more similar, so nothing else need be looked at
        near = self._comparable(fp, nearest(self._used(self._simhash), fp.simhash, self._radius, CANDIDATES))
        if len(near) <= COMPARED:
            return near
        one, many = fp.evidence[0], self.evidence(near)
        unlike = unlike_bits(one["odd_units"], many["odd_units"])
        unlike += unlike_bits(one["odd_headings"], many["odd_headings"])
        chosen: Rows = np.union1d(near[np.argpartition(unlike, COMPARED)[:COMPARED]], equal)
        return chosen

    def evidence(self, rows: Rows) -> NDArray[np.void]:
        """What judged pages are compared by, in their order."""
        return read_evidence(b"".join([self.records[row].fingerprint[-EVIDENCE.itemsize :] for row in rows]))

    def _comparable(self, fp: PageFingerprint, rows: Rows) -> Rows:
        same: Rows = rows[self._method[rows] == method_of(fp)]
        return same

    def _columns(self) -> tuple[NDArray[np.generic], ...]:
        return self._ids, self._simhash, self._exact, self._body, self._method, self._confirmed

    def _grow(self) -> None:
        self._ids, self._simhash, self._exact, self._body, self._method, self._confirmed = (
            np.concatenate((column, np.zeros_like(column)), axis=-1) for column in self._columns()
        )

    def _used(self, column: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return column[..., : len(self.records)]


def is_searched(fp: PageFingerprint) -> bool:
    """Whether a page can repeat others and be repeated: it has content."""
    return fp.unjudged is None or fp.unjudged in COMPARED_BY_BODY


def method_of(fp: PageFingerprint) -> int:
    """What a page is compared by; see :data:`BY_TEXT`."""
    return BY_BODY if fp.unjudged else BY_TEXT[fp.extractor]


def _number(digest: bytes) -> int:
    return int.from_bytes(digest, "little")
