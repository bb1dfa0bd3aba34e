"""The records of one site, packed one behind the other: 60 bytes each besides what they say, instead of a thousand.

A packed record is the key of its original, its history, its URL and its fingerprint, then a foot of fixed size that
tells how large these are, and behind that its key, which often is all that is looked at. What many records have in
common is kept once, and the foot has its number. The cells of a fingerprint are kept without the empty ones, in front
of its other marks, so that these have one place. Of a repeat its URL and its fingerprint are kept as what differs from
its original, a fifth of their bytes: few are read.
"""

from __future__ import annotations

import math
import struct
import zlib
from array import array
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from scrapy_simdedup.fingerprint.similarity import COMPARISON_DTYPE
from scrapy_simdedup.fingerprint.sketch import pack_row, unpack_row
from scrapy_simdedup.store.base import SETTLED, Record, State
from scrapy_simdedup.urls.compact import KeyTable

_FOOT = struct.Struct("<Q2dI2HB2IH")
"""Position, when the page was first and last seen, the number of the :data:`Shared` texts, and the six sizes."""
_NUMBER = struct.Struct("<I2HB2IH")
_SIZES = struct.Struct("<2HB2IH")
"""Of the key, the original, the history, the URL, the rest of the record as it is packed, and the row in it."""
_SIZE = struct.Struct("<H")
"""One of the sizes: that of the key comes first, and that of the row last."""
_HISTORY, _SIMILARITY = struct.Struct("<2d2I"), struct.Struct("<d")
"""Similarity, time of the last change, visits, changes; of a page that was fetched once the similarity alone. One that
is like no other has none."""
_ROW = COMPARISON_DTYPE.itemsize
_MARKS = _ROW - COMPARISON_DTYPE["cells"].itemsize
"""Bytes before the cells of a table."""
_WINDOW = -13
"""A raw stream of zlib that looks 8 KB back: two URLs and fingerprints, but for URLs of kilobytes."""
_LEVEL, _MEMORY_LEVEL = 3, 4
"""More takes half as long again to save 3 %."""
_LENDS = 0xFFFF_FFFF
LATEST_ROWS = 1_024
"""Rows that are kept after they were unpacked: each page that is near others is compared with much the same sample."""
FEW = 8
"""Slots up to which a key is searched for one by one; above there is a hash table."""
Shared: TypeAlias = "tuple[str, str, State, str, str]"
"""A record's run, worker, state, kind and handler, which few records have all by themselves."""


@lru_cache(LATEST_ROWS)
def _latest_row(packed: bytes) -> bytes:
    return unpack_row(packed, _MARKS)


class PackedRecords:
    """The records of a site. Each has a slot, which is free once the record is dropped; keys lead to slots.

    Sites that use one table of interned texts need less memory. Bytes are what :meth:`to_bytes` gave of others that
    used it.
    """

    __slots__ = ("_buffer", "_ends", "_gaps", "_interned", "_lenders", "_live", "_table", "ids")

    def __init__(self, interned: InternTable, packed: bytes = b"") -> None:
        self.ids: array[int] = array("Q")
        """Of each slot, the id of its record; 0 for none."""
        self._interned = interned
        self._buffer = bytearray()
        self._ends = array("Q")
        """Of each slot, where the foot of its record ends in the buffer."""
        self._gaps: dict[int, list[int]] | None = None
        """By size, where places in the buffer begin that are free again, and under 0 the slots that are."""
        self._lenders: array[int] | None = None
        """Of each slot, that whose record its own is packed by, plus one; 0 for none. What lends itself has a mark."""
        self._live = 0
        self._table: KeyTable | None = None
        if packed:
            self._read(packed)

    def __len__(self) -> int:
        return self._live

    def __iter__(self) -> Iterator[Record]:
        return (self[slot] for slot, id_ in enumerate(self.ids) if id_)

    @property
    def size(self) -> int:
        """How many bytes of memory the records take, about."""
        of_slots = 16 * len(self.ids) + 4 * len(self._lenders or ())
        return len(self._buffer) + of_slots + (self._table.size if self._table is not None else 0)

    def to_bytes(self) -> bytes:
        """All records in three quarters of their bytes, without the gaps between them, and at most 255 slots."""
        taken = [slot for slot, id_ in enumerate(self.ids) if id_]
        sizes = array("I", bytes(4 * len(self.ids)))
        for slot in taken:
            sizes[slot] = self._ends[slot] - self._start(slot)
        records = [self._buffer[self._start(slot) : self._ends[slot] + self._key_size(slot)] for slot in taken]
        head = bytes((len(self.ids), self._lenders is not None))
        raw = b"".join((head, self.ids, sizes, self._lenders or b"", *records))
        packer = zlib.compressobj(wbits=-zlib.MAX_WBITS, zdict=self._interned.dictionary(raw))
        return packer.compress(raw) + packer.flush()

    def _read(self, packed: bytes) -> None:
        raw = zlib.decompressobj(-zlib.MAX_WBITS, self._interned.dictionary()).decompress(packed)
        count, sizes, end = raw[0], array("I"), 0
        start = 2 + 12 * count
        self.ids.frombytes(raw[2 : 2 + 8 * count])
        sizes.frombytes(raw[2 + 8 * count : start])
        if raw[1]:
            self._lenders = array("I", raw[start : start + 4 * count])
            start += 4 * count
        self._buffer += raw[start:]
        for slot, size in enumerate(sizes):
            self._ends.append(end + size)
            if size:
                end += size + self._key_size(slot)
                self._live += self.state(slot) != "released"
            else:
                self._leave_gap(0, slot)

    def put(self, record: Record, appended_as: int = 0, spared: Collection[int] = ()) -> int:
        """Add a record, or change the one with its id; its slot. Settled, it takes the place of older versions.

        A record that has neither yet gets the id and the position ``appended_as``. Slots of older versions can be
        spared.
        """
        id_ = appended_as or record.id
        versions = self.slots(record.key)
        slot = next((slot for slot in versions if self.ids[slot] == id_), None)
        if slot is not None:
            if self._lends(slot) and self._content(slot) != _content_of(record):
                self._take_back(slot)
            self._clear(slot)
        else:
            slot = self._take_gap(0)
            if slot is None:
                slot = len(self.ids)
                self.ids.append(0)
                self._ends.append(0)
                if self._lenders is not None:
                    self._lenders.append(0)
            self._enter(record.key, slot)
        self._write(slot, record, appended_as or record.position, self._lender_of(record, slot))
        self.ids[slot] = id_
        if record.state in SETTLED:
            self._drop_older([version for version in versions if version not in spared], id_)
        return slot

    def change_state(self, slot: int, state: State, last_seen: float, position: int) -> None:
        """Change the state of a record where it stands. Settled, it takes the place of older versions."""
        foot = self._ends[slot] - _FOOT.size
        _, first_seen, _, number, *sizes = _FOOT.unpack_from(self._buffer, foot)
        run, worker, before, kind, handler = self._interned[number]
        number = self._interned.number((run, worker, state, kind, handler))
        _FOOT.pack_into(self._buffer, foot, position, first_seen, last_seen, number, *sizes)
        self._live += (state != "released") - (before != "released")
        if state in SETTLED:
            self._drop_older(self.slots(self.key(slot)), self.ids[slot])

    def drop(self, slot: int) -> None:
        """Take a record out."""
        self._take_back(slot)
        self._clear(slot)
        self.ids[slot] = 0
        self._leave_gap(0, slot)

    def slots(self, key: bytes) -> list[int]:
        """The slots of the versions of a page, in no order."""
        ids, ends, is_here = self.ids, self._ends, self._buffer.startswith
        candidates = range(len(ids)) if self._table is None else self._table.probe(key)
        found = [slot for slot in candidates if is_here(key, ends[slot])]
        if not found:
            return found
        return [slot for slot in dict.fromkeys(found) if ids[slot] and self._key_size(slot) == len(key)]

    def slot_of(self, key: bytes, id_: int) -> int | None:
        """The slot of the record with a key and an id; None if it is gone."""
        return next((slot for slot in self.slots(key) if self.ids[slot] == id_), None)

    def __getitem__(self, slot: int) -> Record:
        foot = self._ends[slot] - _FOOT.size
        found = _FOOT.unpack_from(self._buffer, foot)
        position, first_seen, last_seen, number, _, history_at, history, url_size, size, row = found
        content_at = history_at + history
        packed = bytes(self._buffer[foot - content_at - size : foot])
        similarity, last_changed, visits, changes = math.nan, first_seen, 1, 0
        if history == _SIMILARITY.size:
            (similarity,) = _SIMILARITY.unpack_from(packed, history_at)
        elif history:
            similarity, last_changed, visits, changes = _HISTORY.unpack_from(packed, history_at)
        run, worker, state, kind, handler = self._interned[number]
        lender = self._lender(slot)
        original = packed[:history_at] if lender is None else self.key(lender)
        url, fingerprint = self._unpack(packed[content_at:], lender, url_size, row)
        of_page = url.decode("utf-8", "surrogatepass"), self.key(slot), fingerprint
        of_verdict = run, worker, state, kind, None if math.isnan(similarity) else similarity, original or None
        times_and_counts = first_seen, last_seen, last_changed, visits, changes
        # In the order of its fields, as to give them by their names takes four times as long.
        return Record._make((*of_page, *of_verdict, *times_and_counts, handler, self.ids[slot], position))

    def key(self, slot: int) -> bytes:
        """The key of a record."""
        end = self._ends[slot]
        return bytes(self._buffer[end : end + self._key_size(slot)])

    def original(self, slot: int) -> bytes | None:
        """The key of a record's original; None if it has none."""
        lender = self._lender(slot)
        if lender is not None:
            return self.key(lender)
        start = self._start(slot)
        _, size, *_ = _SIZES.unpack_from(self._buffer, self._ends[slot] - _SIZES.size)
        return bytes(self._buffer[start : start + size]) or None

    def fingerprint(self, slot: int) -> bytes:
        """The fingerprint of a record, without all the rest of it."""
        return self._content(slot)[1]

    def position(self, slot: int) -> int:
        """The position of a record in its log."""
        found: int = _FOOT.unpack_from(self._buffer, self._ends[slot] - _FOOT.size)[0]
        return found

    def tails(self, slots: Iterable[int], size: int) -> bytes:
        """The last ``size`` bytes of the fingerprints, joined."""
        if size != _ROW:
            fingerprints = map(self.fingerprint, slots)
            return b"".join([fingerprint[len(fingerprint) - size :] for fingerprint in fingerprints])
        buffer, ends, rows, size_of, foot = self._buffer, self._ends, [], _SIZE.unpack_from, _FOOT.size
        for slot in slots:
            end = ends[slot]
            (row,) = size_of(buffer, end - 2)  # the last of the sizes, without the others
            if row:
                end -= foot
                rows.append(_latest_row(bytes(buffer[end - row : end])))
            else:
                rows.append(self.fingerprint(slot)[-_ROW:])
        return b"".join(rows)

    def marks(self, slots: Iterable[int], size: int) -> bytes:
        """The last ``size`` bytes before the cells of the fingerprints of pages that repeat no other, joined."""
        ends = (self._ends[slot] - _FOOT.size for slot in slots)
        return b"".join([self._buffer[end - size : end] for end in ends])

    def _content(self, slot: int) -> tuple[bytes, bytes]:
        """The URL and the fingerprint of a record."""
        end = self._ends[slot]
        *_, url, size, row = _SIZES.unpack_from(self._buffer, end - _SIZES.size)
        packed = bytes(self._buffer[end - _FOOT.size - size : end - _FOOT.size])
        return self._unpack(packed, self._lender(slot), url, row)

    def _unpack(self, packed: bytes, lender: int | None, url: int, row: int) -> tuple[bytes, bytes]:
        if lender is not None:
            packed = zlib.decompressobj(_WINDOW, b"".join(self._content(lender))).decompress(packed)
        elif row:
            start = len(packed) - row
            return packed[:url], packed[url:start] + unpack_row(packed[start:], _MARKS)
        return packed[:url], packed[url:]

    def _write(self, slot: int, record: Record, position: int, lender: int | None) -> None:
        original, history, row = record.original or b"", b"", b""
        similarity = math.nan if record.similarity is None else record.similarity
        if (record.last_changed, record.visits, record.changes) != (record.first_seen, 1, 0):
            history = _HISTORY.pack(similarity, record.last_changed, record.visits, record.changes)
        elif record.similarity is not None:
            history = _SIMILARITY.pack(similarity)
        url, fingerprint = _content_of(record)
        if lender is not None:
            dictionary = b"".join(self._content(lender))
            packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW, _MEMORY_LEVEL, zdict=dictionary)
            original, packed = b"", packer.compress(url + fingerprint) + packer.flush()
            if self._lenders is None:
                self._lenders = array("I", bytes(4 * len(self.ids)))
            self._lenders[slot], self._lenders[lender] = lender + 1, _LENDS
        elif len(fingerprint) < _ROW:
            packed = url + fingerprint
        else:
            row = pack_row(fingerprint[-_ROW:])
            packed = b"".join((url, fingerprint[:-_ROW], row))
        number = self._interned.number((record.run, record.worker, record.state, record.kind, record.handler))
        sizes = len(record.key), len(original), len(history), len(url), len(packed), len(row)
        foot = _FOOT.pack(position, record.first_seen, record.last_seen, number, *sizes)
        whole = b"".join((original, history, packed, foot, record.key))
        start = self._take_gap(len(whole))
        if start is None:
            start = len(self._buffer)
        self._buffer[start : start + len(whole)] = whole
        self._ends[slot] = start + len(whole) - len(record.key)
        self._live += record.state != "released"

    def _start(self, slot: int) -> int:
        """Where a record begins."""
        end = self._ends[slot]
        _, original, history, _, size, _ = _SIZES.unpack_from(self._buffer, end - _SIZES.size)
        start: int = end - _FOOT.size - size - history - original
        return start

    def _key_size(self, slot: int) -> int:
        """The size of a record's key, the first of the sizes in its foot."""
        size: int = _SIZE.unpack_from(self._buffer, self._ends[slot] - _SIZES.size)[0]
        return size

    def _lender(self, slot: int) -> int | None:
        """The slot of the record that a record is packed by; None if it stands by itself."""
        found = 0 if self._lenders is None else self._lenders[slot]
        return None if found in {0, _LENDS} else found - 1

    def _lends(self, slot: int) -> bool:
        return self._lenders is not None and self._lenders[slot] == _LENDS

    def _lender_of(self, record: Record, slot: int) -> int | None:
        """The slot of the record by which that of a slot is to be packed: the original of a page that was dropped."""
        if record.state != "duplicate" or record.original is None or self._lends(slot):
            return None
        found = [other for other in self.slots(record.original) if other != slot and self._lender(other) is None]
        return max(found, key=self.ids.__getitem__, default=None)

    def _take_back(self, slot: int) -> None:
        """Pack the records by themselves that are packed by that of a slot, which goes."""
        if self._lenders is None or self._lenders[slot] != _LENDS:
            return
        for other in (np.frombuffer(self._lenders, np.uint32) == slot + 1).nonzero()[0].tolist():
            record = self[other]
            self._clear(other)
            self._write(other, record, record.position, None)
        self._lenders[slot] = 0

    def _drop_older(self, versions: Iterable[int], id_: int) -> None:
        for version in versions:
            if self.ids[version] < id_:
                self.drop(version)

    def shared(self, slot: int) -> Shared:
        """What a record has in common with others."""
        number, *_ = _NUMBER.unpack_from(self._buffer, self._ends[slot] - _NUMBER.size)
        return self._interned[number]

    def state(self, slot: int) -> State:
        """The state of a record."""
        return self.shared(slot)[2]

    def _clear(self, slot: int) -> None:
        self._live -= self.state(slot) != "released"
        start = self._start(slot)
        self._leave_gap(self._ends[slot] + self._key_size(slot) - start, start)
        if self._lender(slot) is not None and self._lenders is not None:
            self._lenders[slot] = 0

    def _leave_gap(self, size: int, place: int) -> None:
        if self._gaps is None:
            self._gaps = {}
        self._gaps.setdefault(size, []).append(place)

    def _take_gap(self, size: int) -> int | None:
        if self._gaps is None or size not in self._gaps:
            return None
        places = self._gaps[size]
        place = places.pop()
        if not places:  # most sites have no gap for long, and the empty table would take more than half a page's record
            del self._gaps[size]
            self._gaps = self._gaps or None
        return place

    def _enter(self, key: bytes, slot: int) -> None:
        if self._table is None and len(self.ids) <= FEW:
            return
        if self._table is None or self._table.is_full:
            self._table = KeyTable(len(self.ids))
            for other, id_ in enumerate(self.ids):
                if id_:
                    self._table.enter(self.key(other), other)
        self._table.enter(key, slot)


def _content_of(record: Record) -> tuple[bytes, bytes]:
    return record.url.encode("utf-8", "surrogatepass"), record.fingerprint


class InternTable:
    """A number for each of the texts that records share, and what else the records of any site have in common."""

    def __init__(self) -> None:
        self._values: list[Shared] = []
        self._numbers: dict[Shared, int] = {}
        self._dictionary = b""

    def dictionary(self, raw: bytes = b"") -> bytes:
        """By what the records of each site are compressed: the first site's own, which are given with it."""
        self._dictionary = self._dictionary or raw
        return self._dictionary

    def __getitem__(self, number: int) -> Shared:
        return self._values[number]

    def number(self, shared: Shared) -> int:
        """The number of a tuple of shared fields; equal tuples have one number."""
        found = self._numbers.setdefault(shared, len(self._values))
        if found == len(self._values):
            self._values.append(shared)
        return found
