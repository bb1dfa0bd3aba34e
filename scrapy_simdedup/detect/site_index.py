"""The pages of one site, in memory: their versions by key, and in numpy arrays the originals that are searched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.detect.scan import Rows, nearest, words
from scrapy_simdedup.fingerprint.fingerprint import COMPARED_BY_BODY, PageFingerprint
from scrapy_simdedup.fingerprint.sketch import BINS, resemblances, similarity, veto_headlines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from scrapy_simdedup.store.base import Record, Tail

SEARCHED = frozenset({"reserved", "confirmed", "stub"})
"""States of the records that a page is compared with."""
RADIUS = 18
"""Bits of every 64 by which candidates differ at most. Of real pages with a similarity of 0.85 to 0.95 it finds 99 %,
where 12 bits, which are enough for copies, find 80 %; and it lets through 1 % of a site's other pages."""
CANDIDATES = 512
"""Pages within the radius that are looked at more closely, the nearest: what bounds the time a page can take."""
SKETCH = BINS // 2
"""Bytes at the end of a judged fingerprint that are its sketch."""
BY_BODY, BY_TEXT = 0, {"roles": 1, "readability": 2}
"""What may be compared with what: whole bodies, or texts that were found in the same way."""


@dataclass(frozen=True, slots=True)
class Match:
    """An original that a page is like."""

    record: Record
    similarity: float
    """Share of common content, 0..1."""
    distance: int
    """Differing bits of the simhashes."""


class SiteIndex:
    """What a site's log comes to, up to a cursor.

    Args:
        bits: width of the simhashes.
        run: the only run whose pages are searched; None searches those of all.
    """

    def __init__(self, bits: int, run: str | None = None) -> None:
        self.cursor = 0
        """The site's counter up to which the log was applied."""
        self._run = run
        self._radius = RADIUS * bits // 64
        self._versions: dict[bytes, tuple[Record, ...]] = {}
        # Row i of each array is about original i. Arrays grow by doubling; a row that goes is filled with the last one.
        self._originals: list[Record] = []
        self._rows: dict[int, int] = {}
        self._ids = np.zeros(8, np.int64)
        self._simhash = np.zeros((bits // 64, 8), np.uint64)
        self._exact = np.zeros(8, np.uint64)
        self._body = np.zeros(8, np.uint64)
        self._headline = np.zeros((3, 8), np.uint16)
        self._method = np.zeros(8, np.uint8)
        self._confirmed = np.zeros(8, np.bool_)

    def __len__(self) -> int:
        return len(self._versions)

    # ------------------------------------------------------------------ taking in the log

    def apply(self, tail: Tail) -> None:
        """Take in what happened. Tails may overlap: what is known already is passed over."""
        for record in tail.records:
            if record.position > self.cursor:
                self._apply(record)
        self.cursor = max(self.cursor, tail.cursor)

    def _apply(self, record: Record) -> None:
        live = [] if record.state == "released" else [record]
        for version in self._versions.pop(record.key, ()):
            if version.id == record.id or (record.settled and version.id < record.id):
                self._forget(version.id)
            else:
                live.append(version)
        if live:
            self._versions[record.key] = tuple(sorted(live, key=lambda version: version.id))
        if record.state in SEARCHED and self._run in {None, record.run}:
            self._search(record)

    def _search(self, record: Record) -> None:
        fp = PageFingerprint.from_bytes(record.fingerprint)
        if not is_searched(fp):
            return
        row = self._rows[record.id] = len(self._originals)
        self._originals.append(record)
        if row == len(self._exact):
            self._grow()
        self._ids[row] = record.id
        self._simhash[:, row] = words(fp.simhash, len(self._simhash))
        self._exact[row], self._body[row] = _number(fp.exact), _number(fp.body)
        self._headline[:, row] = fp.title, fp.h1, fp.content
        self._method[row] = _method(fp)
        self._confirmed[row] = record.state == "confirmed"

    def _forget(self, id_: int) -> None:
        row = self._rows.pop(id_, None)
        if row is None:
            return
        last = self._originals.pop()
        if last.id != id_:
            self._originals[row], self._rows[last.id] = last, row
            for column in self._columns():
                column[..., row] = column[..., len(self._originals)]

    def _columns(self) -> tuple[NDArray[np.generic], ...]:
        return self._ids, self._simhash, self._exact, self._body, self._headline, self._method, self._confirmed

    def _grow(self) -> None:
        self._ids, self._simhash, self._exact, self._body, self._headline, self._method, self._confirmed = (
            np.concatenate((column, np.zeros_like(column)), axis=-1) for column in self._columns()
        )

    # ------------------------------------------------------------------ asking

    def past(self, key: bytes, run: str) -> Record | None:
        """The newest version of a page that was delivered, dropped for another, or fetched in this very run."""
        versions = self._versions.get(key, ())
        return next((version for version in reversed(versions) if version.settled or version.run == run), None)

    def records(self) -> Iterator[Record]:
        """All that are known, in no order."""
        for versions in self._versions.values():
            yield from versions

    def same_body(self, body: bytes, key: bytes) -> PageFingerprint | None:
        """The fingerprint of a page with these bytes, if one is at hand: the page itself before, or an original."""
        known = list(self._versions.get(key, ()))
        known += [self._originals[row] for row in np.flatnonzero(self._used(self._body) == _number(body))[:1]]
        found = (PageFingerprint.from_bytes(record.fingerprint) for record in known)
        return next((fp for fp in found if fp.body == body), None)

    def closest(self, fp: PageFingerprint, key: bytes, *, drop: float, near: float) -> Match | None:
        """The original of another key that decides about a page.

        That is the most similar one: of the delivered ones from ``drop`` on, else of those still in work from ``drop``
        on, else of all from ``near`` on. Of equals it is the oldest.
        """
        rows = self._candidates(fp, key)
        alike = self._similarity(fp, rows)
        rows, alike = rows[alike >= near], alike[alike >= near]
        rank = (alike >= drop) * (1 + self._confirmed[rows])
        for at in np.lexsort((self._ids[rows], -alike, -rank)):
            record = self._originals[rows[at]]
            if record.key != key:
                distance = fp.simhash ^ PageFingerprint.from_bytes(record.fingerprint).simhash
                return Match(record, float(alike[at]), distance.bit_count())
        return None

    def _candidates(self, fp: PageFingerprint, key: bytes) -> Rows:
        """The originals that may be like the page."""
        if not is_searched(fp):
            return np.zeros(0, np.intp)
        if fp.unjudged:
            return self._comparable(fp, np.flatnonzero(self._used(self._body) == _number(fp.body)))
        exact = self._comparable(fp, np.flatnonzero(self._used(self._exact) == _number(fp.exact)))
        if any(self._confirmed[row] and self._originals[row].key != key for row in exact):
            return exact  # nothing can be more similar, so nothing else need be looked at
        return self._comparable(fp, nearest(self._used(self._simhash), fp.simhash, self._radius, CANDIDATES))

    def _comparable(self, fp: PageFingerprint, rows: Rows) -> Rows:
        same: Rows = rows[self._method[rows] == _method(fp)]
        return same

    def _similarity(self, fp: PageFingerprint, rows: Rows) -> NDArray[np.float64]:
        """What :meth:`PageFingerprint.compare` says, for many at once."""
        if fp.unjudged or not len(rows):
            return np.ones(len(rows))
        sketches = b"".join([self._originals[row].fingerprint[-SKETCH:] for row in rows])
        found = resemblances(fp.sketch, np.frombuffer(sketches, np.uint8).reshape(-1, SKETCH))
        found[self._exact[rows] == _number(fp.exact)] = 1.0
        headline = zip((fp.title, fp.h1, fp.content), self._headline[:, rows], strict=True)
        return similarity(veto_headlines(found, *headline))

    def _used(self, column: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return column[..., : len(self._originals)]


def is_searched(fp: PageFingerprint) -> bool:
    """Whether a page can repeat others and be repeated: it has content."""
    return fp.unjudged is None or fp.unjudged in COMPARED_BY_BODY


def _method(fp: PageFingerprint) -> int:
    return BY_BODY if fp.unjudged else BY_TEXT[fp.extractor]


def _number(digest: bytes) -> int:
    return int.from_bytes(digest, "little")
