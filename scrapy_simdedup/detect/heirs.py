"""Pages that took the place of the first one of their cluster."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint

if TYPE_CHECKING:
    from scrapy_simdedup.detect.originals import Originals
    from scrapy_simdedup.store.base import Record
    from scrapy_simdedup.store.shelf import Shelf

CHANGED = 0.5
"""Similarity below which a page is no copy any more of what it was, wherever the lines of the settings are."""


class Heirs:
    """Those of one site, by the key of the first page of their cluster.

    Args:
        shelf: the site's records.
        originals: those that are searched; whose place was taken is not any more.
    """

    def __init__(self, shelf: Shelf, originals: Originals) -> None:
        self._shelf, self._originals = shelf, originals
        self._heirs: defaultdict[bytes, set[bytes]] = defaultdict(set)
        """Their keys, until others took their places."""

    def see(self, record: Record) -> None:
        """A page that is searched. Once it is delivered, later pages of its cluster are compared with it alone."""
        if record.original is None:
            return
        heirs = self._heirs[record.original]
        if record.state == "confirmed":
            fp = PageFingerprint.from_bytes(record.fingerprint)
            older = {record.original, *heirs} - {record.key}
            heirs.difference_update([key for key in older if not self._stands(key, record, fp)])
        heirs.add(record.key)

    def _stands(self, key: bytes, record: Record, fp: PageFingerprint) -> bool:
        """Whether a page is searched any more, now that another of its cluster was delivered."""
        stands = False
        for slot in self._shelf.slots(key):
            other = self._shelf[slot]
            if self._originals.has(slot, other.id):
                if other.id < record.id and other.state == "confirmed" and _is_like(fp, other):
                    self._originals.remove(slot)
                else:
                    stands = True
        return stands

    def in_work(self, cluster: bytes, key: bytes) -> Record | None:
        """The newest of another key that is not delivered yet."""
        keys = self._heirs.get(cluster, set()) - {key}
        slots = (slot for heir in keys for slot in self._shelf.slots(heir))
        versions = (self._shelf[slot] for slot in slots if self._originals.has(slot, self._shelf.ids[slot]))
        waiting = (v for v in versions if v.state == "reserved" and v.original == cluster)
        return max(waiting, key=lambda version: version.id, default=None)


def _is_like(fp: PageFingerprint, other: Record) -> bool:
    """Whether it is still a copy: a page whose content changed since keeps its place."""
    theirs = PageFingerprint.from_bytes(other.fingerprint)
    return theirs.extractor == fp.extractor and fp.compare(theirs, near=CHANGED).kind != "different"
