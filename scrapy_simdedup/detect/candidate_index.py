"""The candidate index: the originals of one site in numpy arrays, 26 bytes each, and those that may be like a page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.detect.inverted_index import InvertedIndex
from scrapy_simdedup.detect.names import names_in
from scrapy_simdedup.fingerprint.features import Numbers, are_among, distinct
from scrapy_simdedup.fingerprint.fingerprint import BODY_BYTES, PageFingerprint
from scrapy_simdedup.fingerprint.hashing import Rows
from scrapy_simdedup.fingerprint.methods import Method
from scrapy_simdedup.fingerprint.sketch import hamming_distances
from scrapy_simdedup.store.base import Record, State
from scrapy_simdedup.store.packed_records import PackedRecords
from scrapy_simdedup.unjudged import COMPARED_BY_BODY

SEARCH_RADIUS = 18
"""Bits of every 64 by which candidates differ at most. Of real pages with a similarity of 0.85 to 0.95 it finds 99 %,
where 12 bits, which are enough for copies, find 80 %; and it lets through 1 % of a site's other pages."""
MAX_IN_RADIUS = 512
"""Pages within the radius whose odd sketches are looked at, the nearest."""
MAX_COMPARED = 64
"""Pages that are compared in full, those with the nearest odd sketches: what bounds the time a page can take."""
CHUNK = 65_536
"""Simhashes per step: half a megabyte, which stays in the processor's cache while it is looked at."""
BODY_GROUP, TEXT_GROUPS = 1, {"roles": 2, "readability": 3, "content": 4}
"""Comparison groups: whole bodies, or texts that were found in the same way. Pages of group 0 are never compared."""
ANY_HANDLER = 0
"""The number of the handler that nobody knows, which counts as every handler."""
DELIVERED = {"itemless": 1, "confirmed": 2, "stub": 3}
"""The numbers of the states of what was delivered; 0 for what is in work."""
_FIRST_ROWS = 4
_STAMP, _NUMBER = 0xFFFF_FFFF, 0xFFFF


class CandidateIndex:
    """Finds the originals that a page has to be compared with. Row i of each array is about the record in slot i.

    It holds the records of a site, with simhashes of so many bits. Pages have to be found from a resemblance on.
    """

    def __init__(self, bits: int, records: PackedRecords, method: Method, resemblance: float) -> None:
        self._records, self._method, self._row_dtype = records, method, method.row_dtype
        self._inverted: InvertedIndex | None = None
        if method.has_keys:
            self._inverted = InvertedIndex(method, resemblance, self._judged, self.comparison_rows)
        self._radius = SEARCH_RADIUS * bits // 64
        self._count = 0
        # Arrays grow by an eighth, in place; only the first rows are in use.
        self._stamps = np.zeros(_FIRST_ROWS, np.uint32)
        """The lower half of each id, which tells whether another record has the slot by now."""
        self._simhash = np.zeros((_FIRST_ROWS, bits // 64), np.uint64)
        self._exact = np.zeros(_FIRST_ROWS, np.uint16)
        """The first two bytes of each digest, as in the next two: all are looked through, what is found looked at."""
        self._body = np.zeros(_FIRST_ROWS, np.uint16)
        self._title = np.zeros(_FIRST_ROWS, np.uint16)
        self._name = np.zeros(_FIRST_ROWS, np.uint16)
        """16 bits of the last name in each URL."""
        self._group = np.zeros(_FIRST_ROWS, np.uint8)
        self._delivered = np.zeros(_FIRST_ROWS, np.uint8)
        """2 for a page that was delivered with items, 1 for one that was delivered without."""
        self._handler = np.zeros(_FIRST_ROWS, np.uint32)
        self._handlers: dict[str, int] = {"": ANY_HANDLER}
        """The text of a record's handlers, with their runs and without → the number of this set of handlers."""
        self._numbers: defaultdict[str, list[int]] = defaultdict(list, {"": [ANY_HANDLER]})
        """Handler → the numbers of the sets of handlers that hold it."""

    @property
    def size(self) -> int:
        """Bytes of the arrays."""
        inverted = 0 if self._inverted is None else self._inverted.size
        return sum(column.nbytes for column in self._columns()) + inverted

    def ids(self, rows: Rows) -> NDArray[np.uint64]:
        """The ids of records."""
        return np.frombuffer(self._records.ids, np.uint64)[rows]

    def delivered(self, rows: Rows) -> NDArray[np.uint8]:
        """3 for each stub, 2 for each record that was delivered with items, 1 without, 0 for one that is in work."""
        return self._delivered[rows]

    def handled_alike(self, rows: Rows, handler: str) -> NDArray[np.bool_]:
        """Whether records are of a handler, or of one that nobody knows."""
        if not handler:
            return np.ones(len(rows), np.bool_)
        handlers = self._handler[rows]
        alike: NDArray[np.bool_] = handlers == ANY_HANDLER
        for number in self._numbers.get(handler, ()):
            alike |= handlers == number
        return alike

    def has(self, slot: int, id_: int) -> bool:
        """Whether a record is an original that is searched."""
        return slot < self._count and int(self._stamps[slot]) == id_ & _STAMP

    def are_live(self, slots: NDArray[np.uint64], ids: NDArray[np.uint64], fp: PageFingerprint) -> NDArray[np.bool_]:
        """Whether records are still in their slots, and can be compared with a page."""
        rows = slots.astype(np.intp)
        are_there = (self.ids(rows) == ids) & (self._stamps[rows] == ids & _STAMP)
        live: NDArray[np.bool_] = are_there & (self._group[rows] == comparison_group(fp))
        return live

    def add(self, slot: int, record: Record, fp: PageFingerprint) -> bool:
        """Take a record in; False if its page cannot be compared with any."""
        if not is_comparable(fp):
            return False
        if slot >= len(self._stamps):
            self._grow(slot)
        self._count = max(self._count, slot + 1)
        self._stamps[slot] = record.id & _STAMP
        self._simhash[slot] = to_words(fp.simhash, self._simhash.shape[1])
        self._exact[slot], self._body[slot] = _number(fp.exact), _number(fp.body)
        self._title[slot] = fp.title & _NUMBER
        self._name[slot] = _number_of_name(next(reversed(names_in(record.url)), ""))
        self._group[slot] = comparison_group(fp)
        self._handler[slot] = self._number_of(record)
        self.update(slot, record.state)
        if self._inverted is not None and not fp.unjudged:
            self._inverted.add(slot, fp.comparison_row[0])
        return True

    def _number_of(self, record: Record) -> int:
        number = self._handlers.get(record.handler)
        if number is None:
            together = "\n".join(record.handlers)  # without their runs, of which each has another name
            number = self._handlers.get(together)
            if number is None:
                number = self._handlers[together] = len(self._handlers)
                for handler in record.handlers:
                    self._numbers[handler].append(number)
            self._handlers[record.handler] = number
        return number

    def update(self, slot: int, state: State) -> None:
        """Take in the new state of a record that is there; its fingerprint does not change."""
        self._delivered[slot] = DELIVERED.get(state, 0)
        if state == "stub":
            self._handler[slot] = ANY_HANDLER

    def remove(self, slot: int) -> None:
        """Leave a record out of all searches."""
        if slot < self._count:
            self._stamps[slot] = self._group[slot] = 0

    def same_body(self, body: bytes) -> Rows:
        """The originals with these very bytes."""
        rows = self._live((self._used(self._body) == _number(body)).nonzero()[0])
        same = [self._records.fingerprint(row)[BODY_BYTES] == body for row in rows.tolist()]
        return rows[np.array(same, np.bool_)] if same else rows

    def candidates(self, fp: PageFingerprint, key: bytes, handler: str = "", *, all_copies: bool = False) -> Rows:
        """The originals that may be like a page: at most :data:`MAX_COMPARED`, and all copies with an equal text.

        Those of other handlers are among them, as many again, and take no place of the others. With ``all_copies``
        others are looked for also where the text of one is equal.
        """
        if not is_comparable(fp):
            return np.zeros(0, np.intp)
        if fp.unjudged:
            return self._comparable(fp, self.same_body(fp.body))
        equal = self._with_equal_text(fp)
        if len(equal) and not all_copies:
            alike = equal[self.handled_alike(equal, handler)]
            delivered = alike[self._delivered[alike] == DELIVERED["confirmed"]].tolist()
            if any(self._records.key(row) != key for row in delivered):
                return equal  # nothing can be more similar, so nothing else need be looked at
        near = self._by_simhash(fp, handler) if self._inverted is None else self._by_keys(fp, handler, self._inverted)
        if len(equal):
            return distinct(np.concatenate((near, equal)))
        near.sort()
        return near

    def delivered_with_title(self, fp: PageFingerprint) -> Rows:
        """Pages with the title of a judged page that were delivered with items."""
        rows = self._confirmed(fp, self._used(self._title) == fp.title & _NUMBER)
        found: Rows = rows[self.comparison_rows(rows)["title"] == fp.title]
        return found

    def delivered_with_name(self, fp: PageFingerprint, names: Iterable[str]) -> Rows:
        """Pages that were delivered with items, and whose URLs may end with one of some names."""
        return self._confirmed(fp, are_among(self._used(self._name), list(map(_number_of_name, names))))

    def _confirmed(self, fp: PageFingerprint, chosen: NDArray[np.bool_]) -> Rows:
        is_confirmed = self._delivered[: self._count] == DELIVERED["confirmed"]
        return self._comparable(fp, (is_confirmed & chosen).nonzero()[0])

    def distance(self, row: int, fp: PageFingerprint) -> int:
        """Differing bits of the simhashes of a record and a page."""
        known = int.from_bytes(self._simhash[row].astype("<u8").tobytes(), "little")
        return (known ^ fp.simhash).bit_count()

    def comparison_rows(self, rows: Rows) -> NDArray[np.void]:
        """What the method compares of judged pages, in the order of ``rows``."""
        return np.frombuffer(self._records.tails(rows.tolist(), self._row_dtype.itemsize), self._row_dtype)

    def identity_differs(self, rows: Rows, fp: PageFingerprint) -> NDArray[np.bool_]:
        """Whether pages, judged or not, are known to have another identity than a page."""
        if not fp.identity:
            return np.zeros(len(rows), np.bool_)
        others = (PageFingerprint.from_bytes(self._records.fingerprint(row)) for row in rows.tolist())
        return np.array([other.identity_differs(fp) for other in others], np.bool_)

    def _by_simhash(self, fp: PageFingerprint, handler: str) -> Rows:
        """Originals within the radius; of many, those with the most common units and headings, or the nearest."""
        has_units = "odd_signatures" in (self._row_dtype.names or ())
        most = MAX_IN_RADIUS if has_units else MAX_COMPARED
        columns = self._used(self._simhash).T
        near = hamming_search(columns, fp.simhash, self._radius, most)
        if not len(near):
            return near
        alike = self.handled_alike(near, handler)
        if len(near) <= MAX_COMPARED and (len(near) < most or alike.all()):
            return self._comparable(fp, near)
        own, others = near[alike], near[~alike]
        if len(near) == most and len(others):
            accept = partial(self.handled_alike, handler=handler)
            own = hamming_search(columns, fp.simhash, self._radius, most, accept)
        parts = [self._nearest_units(fp, self._comparable(fp, rows)) for rows in (own, others)]
        return np.concatenate(parts)

    def _nearest_units(self, fp: PageFingerprint, near: Rows) -> Rows:
        """Of many rows those with the most common units and headings."""
        if len(near) <= MAX_COMPARED:
            return near
        one = np.frombuffer(fp.odd_signatures + fp.odd_headings, "<u8")
        many = np.frombuffer(self._records.marks(near.tolist(), one.nbytes), "<u8").reshape(len(near), -1)
        return near[np.argpartition(hamming_distances(one, many), MAX_COMPARED)[:MAX_COMPARED]]

    def _by_keys(self, fp: PageFingerprint, handler: str, inverted: InvertedIndex) -> Rows:
        """Originals that share keys with the page; of many, those with the most shared keys."""
        rows, counts = inverted.lookup(fp.comparison_row[0])
        near = self._comparable(fp, rows)
        if len(near) <= MAX_COMPARED:
            return near
        alike = self.handled_alike(near, handler)
        chosen = []
        for part in (near[alike], near[~alike]):
            shared = counts[np.searchsorted(rows, part)]
            most = np.argpartition(-shared, MAX_COMPARED)[:MAX_COMPARED] if len(part) > MAX_COMPARED else slice(None)
            chosen.append(part[most])
        return np.concatenate(chosen)

    def _judged(self) -> Rows:
        """All originals that are compared by their text."""
        return self._live((self._group[: self._count] > BODY_GROUP).nonzero()[0])

    def _with_equal_text(self, fp: PageFingerprint) -> Rows:
        """Originals with the same set of shingles that are no twins of the page."""
        rows = self._comparable(fp, (self._used(self._exact) == _number(fp.exact)).nonzero()[0])
        if not len(rows):
            return rows
        many = self.comparison_rows(rows)
        one = fp.comparison_row[0]
        equal: Rows = rows[(many["exact"] == one["exact"]) & ~self._method.are_twins(one, many)]
        return equal

    def _comparable(self, fp: PageFingerprint, rows: Rows) -> Rows:
        return self._live(rows[self._group[rows] == comparison_group(fp)]) if len(rows) else rows

    def _live(self, rows: Rows) -> Rows:
        """The rows whose records are still in their slots."""
        if len(rows):
            rows = rows[self.ids(rows) & _STAMP == self._stamps[rows]]
        return rows

    def _columns(self) -> tuple[NDArray[np.generic], ...]:
        by_digest = self._exact, self._body, self._title, self._name
        return self._stamps, self._simhash, *by_digest, self._group, self._delivered, self._handler

    def _grow(self, slot: int) -> None:
        rows = max(slot + 1, len(self._stamps) * 9 // 8)
        for column in self._columns():
            column.resize((rows, *column.shape[1:]), refcheck=False)  # no view outlives the method that made it

    def _used(self, column: NDArray[Numbers]) -> NDArray[Numbers]:
        return column[: self._count]


def is_comparable(fp: PageFingerprint) -> bool:
    """Whether a page can repeat others and be repeated: it has content."""
    return fp.unjudged is None or fp.unjudged in COMPARED_BY_BODY


def comparison_group(fp: PageFingerprint) -> int:
    """The group of pages that a page is compared with; see :data:`TEXT_GROUPS`."""
    return BODY_GROUP if fp.unjudged else TEXT_GROUPS[fp.extractor]


def _number(digest: bytes) -> int:
    return int.from_bytes(digest[:2], "little")


def _number_of_name(name: str) -> int:
    return crc32(name.encode("utf-8", "surrogatepass")) & _NUMBER


def hamming_search(
    simhashes: NDArray[np.uint64],
    simhash: int,
    radius: int,
    most: int,
    accept: Callable[[Rows], NDArray[np.bool_]] | None = None,
) -> Rows:
    """The rows within a radius; of more than ``most``, the nearest.

    Every simhash is looked at, so nothing within the radius is missed, whatever the radius and the width. Simhashes are
    64-bit words, the lowest first, shape (words, n). ``accept`` says which of some rows count.
    """
    wanted, size = to_words(simhash, len(simhashes)), min(CHUNK, simhashes.shape[1])
    differing, counts = np.empty(size, np.uint64), np.empty(size, np.uint8)  # for all steps, so that they stay cached
    hits: list[Rows] = []
    distances: list[NDArray[np.uint8]] = []
    for start in range(0, simhashes.shape[1], CHUNK):
        columns = simhashes[:, start : start + CHUNK]
        bits = differing[: columns.shape[1]]
        distance = np.bitwise_count(np.bitwise_xor(columns[0], wanted[0], out=bits), out=counts[: len(bits)])
        for number in range(1, len(wanted)):
            distance += np.bitwise_count(np.bitwise_xor(columns[number], wanted[number], out=bits))
        found = (distance <= radius).nonzero()[0]
        if accept is not None and len(found):
            found = found[accept(found + start)]
        if len(found):
            hits.append(found + start)
            distances.append(distance[found])
    if not hits:
        return np.zeros(0, np.intp)
    rows: Rows = np.concatenate(hits)
    if len(rows) <= most:
        return rows
    return rows[np.argpartition(np.concatenate(distances), most)[:most]]


def to_words(simhash: int, count: int) -> NDArray[np.uint64]:
    """The simhash as 64-bit words, the lowest first."""
    return np.frombuffer(simhash.to_bytes(8 * count, "little"), "<u8")
