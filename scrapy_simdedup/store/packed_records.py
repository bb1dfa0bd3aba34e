"""The records of one site, packed one behind the other: 60 bytes each besides what they say, instead of a thousand."""

from __future__ import annotations

import math
import struct
from array import array
from itertools import accumulate
from typing import TYPE_CHECKING

from scrapy_simdedup.store.base import Record
from scrapy_simdedup.store.key_table import KeyTable
from scrapy_simdedup.store.labels import Label

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_simdedup.store.base import State
    from scrapy_simdedup.store.labels import Labels

_FOOT = struct.Struct("<Q2dI2HBIH")
"""The end of a packed record: position, when it was first and last seen, the number of its label, and the sizes of what
stands in front of it: key, key of the original, what came before, URL, fingerprint."""
_LABEL = struct.Struct("<I2HBIH")
_SIZES = struct.Struct("<2HBIH")
_BEFORE = struct.Struct("<2d2I")
"""Similarity, time of the last change, visits, changes. A page that was met once and is like no other has none."""
FEW = 8
"""Slots that are looked through one by one; with more there is a table."""


class Shelf:
    """Each record has a slot, which is another's when it went. Slots are found by the records' keys.

    Args:
        labels: shelves that share them need less memory.
    """

    __slots__ = ("_buffer", "_ends", "_gaps", "_labels", "_standing", "_table", "ids")

    def __init__(self, labels: Labels) -> None:
        self.ids = array("Q")
        """Of each slot, the id of its record; 0 for none."""
        self._labels = labels
        self._buffer = bytearray()
        self._ends = array("Q")
        """Of each slot, where its record ends in the buffer."""
        self._gaps: dict[int, list[int]] | None = None
        """By size, the ends of places in the buffer that are free again, and under 0 the slots that are."""
        self._standing = 0
        self._table: KeyTable | None = None

    def __len__(self) -> int:
        """How many records there are, released ones not counted."""
        return self._standing

    def __iter__(self) -> Iterator[Record]:
        return (self[slot] for slot, id_ in enumerate(self.ids) if id_)

    @property
    def size(self) -> int:
        """Bytes, about."""
        return len(self._buffer) + 16 * len(self.ids) + (self._table.size if self._table is not None else 0)

    # ------------------------------------------------------------------ records

    def put(self, record: Record) -> int:
        """Add a record, or change the one with its id; its slot. Settled, it takes the place of older versions."""
        versions = self.slots(record.key)
        slot = next((slot for slot in versions if self.ids[slot] == record.id), None)
        if slot is not None:
            self._clear(slot)
        else:
            slot = self._take_gap(0)
            if slot is None:
                slot = len(self.ids)
                self.ids.append(0)
                self._ends.append(0)
            self._enter(record.key, slot)
        packed = self._pack(record)
        end = self._take_gap(len(packed))
        if end is None:
            end = len(self._buffer) + len(packed)
        self._buffer[end - len(packed) : end] = packed
        self._ends[slot] = end
        self.ids[slot] = record.id
        self._standing += record.state != "released"
        if record.settled:
            for version in versions:
                if self.ids[version] < record.id:
                    self.drop(version)
        return slot

    def drop(self, slot: int) -> None:
        """Take a record out."""
        self._clear(slot)
        self.ids[slot] = 0
        self._leave_gap(0, slot)

    def slots(self, key: bytes) -> list[int]:
        """Where the versions of a page are, in no order."""
        candidates = range(len(self.ids)) if self._table is None else dict.fromkeys(self._table.probe(key))
        return [slot for slot in candidates if self.ids[slot] and self.key(slot) == key]

    def __getitem__(self, slot: int) -> Record:
        foot = self._ends[slot] - _FOOT.size
        position, first_seen, last_seen, label, *sizes = _FOOT.unpack_from(self._buffer, foot)
        packed = bytes(self._buffer[foot - sum(sizes) : foot])
        original, before, url, fingerprint = accumulate(sizes[:-1])
        similarity, last_changed, visits, changes = math.nan, first_seen, 1, 0
        if url > before:
            similarity, last_changed, visits, changes = _BEFORE.unpack_from(packed, before)
        run, worker, state, kind = self._labels[label]
        return Record(
            url=packed[url:fingerprint].decode("utf-8", "surrogatepass"),
            key=packed[:original],
            fingerprint=packed[fingerprint:],
            run=run,
            worker=worker,
            state=state,
            kind=kind,
            similarity=None if math.isnan(similarity) else similarity,
            original=packed[original:before] or None,
            first_seen=first_seen,
            last_seen=last_seen,
            last_changed=last_changed,
            visits=visits,
            changes=changes,
            id=self.ids[slot],
            position=position,
        )

    def key(self, slot: int) -> bytes:
        """The key of a record."""
        start, size = self._start(slot)
        return bytes(self._buffer[start : start + size])

    def position(self, slot: int) -> int:
        """The position of a record in its log."""
        found: int = _FOOT.unpack_from(self._buffer, self._ends[slot] - _FOOT.size)[0]
        return found

    def tails(self, slots: Iterable[int], size: int) -> bytes:
        """The last ``size`` bytes of the fingerprints, joined."""
        ends = (self._ends[slot] - _FOOT.size for slot in slots)
        return b"".join([self._buffer[end - size : end] for end in ends])

    # ------------------------------------------------------------------ how they lie

    def _pack(self, record: Record) -> bytes:
        url = record.url.encode("utf-8", "surrogatepass")
        original, before = record.original or b"", b""
        if (record.similarity, record.last_changed, record.visits, record.changes) != (None, record.first_seen, 1, 0):
            similarity = math.nan if record.similarity is None else record.similarity
            before = _BEFORE.pack(similarity, record.last_changed, record.visits, record.changes)
        label = self._labels.number(Label(record.run, record.worker, record.state, record.kind))
        sizes = len(record.key), len(original), len(before), len(url), len(record.fingerprint)
        foot = _FOOT.pack(record.position, record.first_seen, record.last_seen, label, *sizes)
        return b"".join((record.key, original, before, url, record.fingerprint, foot))

    def _start(self, slot: int) -> tuple[int, int]:
        """Where a record begins, and the size of its key."""
        end = self._ends[slot]
        sizes = _SIZES.unpack_from(self._buffer, end - _SIZES.size)
        return end - _FOOT.size - sum(sizes), sizes[0]

    def _state(self, slot: int) -> State:
        label, *_ = _LABEL.unpack_from(self._buffer, self._ends[slot] - _LABEL.size)
        return self._labels[label].state

    def _clear(self, slot: int) -> None:
        self._standing -= self._state(slot) != "released"
        start, _ = self._start(slot)
        self._leave_gap(self._ends[slot] - start, self._ends[slot])

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
