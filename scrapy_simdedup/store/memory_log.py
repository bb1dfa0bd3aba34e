"""The log of one site in this process's memory: a shelf, and where on it the record of each change is."""

from __future__ import annotations

from array import array
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy_simdedup.store.shelf import FEW, Shelf

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_simdedup.store.base import Record
    from scrapy_simdedup.store.labels import Labels


class MemoryLog(Shelf):
    """Its counter tells how many changes there were; what changes next has the position after."""

    __slots__ = ("_places", "_tombs", "counter")

    def __init__(self, labels: Labels) -> None:
        super().__init__(labels)
        self.counter = 0
        self._places: array[int] | None = None
        """Of each change, the slot of the record that changed; None while there are so few that all are looked at."""
        self._tombs: tuple[int, ...] = ()
        """The ids of the records that were forgotten last, of which there are tombstones."""

    @property
    def size(self) -> int:
        """Bytes, about."""
        return super().size + 4 * len(self._places or ())

    def write(self, record: Record) -> None:
        """Add or change a record, whose position is the one after the counter."""
        slot = self.put(record)
        self.counter += 1
        if self._places is not None:
            self._places.append(slot)
        elif len(self.ids) > FEW:
            self._places = self._all_places()

    def at(self, position: int) -> Record | None:
        """The record that changed last at a position; None if it changed again later, or is gone."""
        slots = (slot for slot in self._near(position) if self.ids[slot] and self.position(slot) == position)
        return next((self[slot] for slot in slots), None)

    def with_id(self, id_: int) -> Record | None:
        """The record that was appended as ``id_``."""
        slot = self._slot_of(id_)
        return None if slot is None else self[slot]

    def forget(self, ids: Iterable[int], now: float) -> None:
        """Take records out, but for their tombstones.

        Those of before are dropped: who did not read them has the shelf itself, and sees that the records are gone.
        """
        for id_ in self._tombs:
            slot = self._slot_of(id_)
            if slot is not None and self[slot].state == "released":
                self.drop(slot)
        forgotten = [record for record in map(self.with_id, ids) if record is not None]
        for record in forgotten:
            position = self.counter + 1
            self.write(replace(record, state="released", last_seen=now, fingerprint=b"", position=position))
        self._tombs = tuple(record.id for record in forgotten)

    def _slot_of(self, id_: int) -> int | None:
        known = 0 < id_ <= self.counter
        return next((slot for slot in self._near(id_) if self.ids[slot] == id_), None) if known else None

    def _near(self, position: int) -> Iterable[int]:
        """The slots in which a record can be that was appended at a position, or changed last."""
        return range(len(self.ids)) if self._places is None else (self._places[position - 1],)

    def _all_places(self) -> array[int]:
        places = array("I", bytes(4 * self.counter))
        for slot, id_ in enumerate(self.ids):
            if id_:
                places[id_ - 1] = places[self.position(slot) - 1] = slot
        return places
