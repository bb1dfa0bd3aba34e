"""The pages that were dropped for an original: while they are few, what is to be dropped for it must be like them, too.

Likeness is not transitive: of three versions the second may be like the first and the third, which are not like each
other. Compared with what is kept alone, two would be kept where the first comes first, and one where the second does.
As what repeats an original must be like all that do, two are kept in either case.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint

if TYPE_CHECKING:
    from scrapy_simdedup.detect.originals import Originals
    from scrapy_simdedup.store.base import Record
    from scrapy_simdedup.store.shelf import Shelf

FEW = 16
"""Repeats from which on the original alone decides: what so many pages of one content differ in is noise. Were they all
compared, ever more would be kept of a content with as much noise as the line allows."""
_BYTES = 250
"""What an original with repeats takes, about."""


class Repeats:
    """Those of one site.

    Args:
        shelf: the site's records.
        originals: gives what pages are compared by.
    """

    def __init__(self, shelf: Shelf, originals: Originals) -> None:
        self._shelf, self._originals = shelf, originals
        self._slots: dict[bytes, array[int]] = {}
        """By the original's key, the slots of up to :data:`FEW` repeats; some may be another record's by now."""

    @property
    def size(self) -> int:
        """Bytes, about."""
        return _BYTES * len(self._slots)

    def add(self, record: Record, slot: int) -> None:
        """A page was dropped."""
        if record.original is None:
            return
        slots = self._slots.get(record.original, array("I"))
        if len(slots) == FEW:
            slots = array("I", self._standing(record.original))
        is_new = slot not in slots and len(slots) < FEW
        if is_new and PageFingerprint.from_bytes(record.fingerprint).unjudged is None:
            slots.append(slot)
            self._slots[record.original] = slots

    def of(self, original: int, key: bytes, drop: float) -> list[int]:
        """The slots of the pages that were dropped for an original, if they are few.

        Args:
            original: the original's slot. Its page may have changed since: what was dropped for an older version of it
                does not count.
            key: the page's that asks, which need not be like what it was itself.
            drop: similarity from which pages are dropped.
        """
        record = self._shelf[original]
        slots = self._standing(record.key)
        if not slots:
            return []
        like = (
            PageFingerprint.from_bytes(record.fingerprint).weigh(self._originals.evidence(np.array(slots))).similarity
        )
        slots = [slot for slot, alike in zip(slots, like.tolist(), strict=True) if alike >= drop]
        return [slot for slot in slots if self._shelf.key(slot) != key] if len(slots) < FEW else []

    def _standing(self, original: bytes) -> list[int]:
        records = ((slot, self._shelf[slot]) for slot in self._slots.get(original, ()) if self._shelf.ids[slot])
        return [slot for slot, record in records if record.state == "alias" and record.original == original]
