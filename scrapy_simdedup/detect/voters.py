"""The pages that say what a site repeats: its newest originals, one version of each, that are no versions of others.

Who votes follows from the records that stand and from nothing else: neither from how often a page was delivered or
failed, nor from the parts in which a log was read.
"""

from __future__ import annotations

import struct
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from scrapy_simdedup.detect.site_text import WINDOW, SiteText
from scrapy_simdedup.fingerprint.evidence import NEAR
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint

if TYPE_CHECKING:
    from scrapy_simdedup.detect.originals import Originals
    from scrapy_simdedup.detect.scan import Rows
    from scrapy_simdedup.fingerprint.evidence import Evidence
    from scrapy_simdedup.store.base import Record
    from scrapy_simdedup.store.shelf import Shelf

LATELY = 2 * WINDOW
"""Originals that are remembered as the newest; fewer vote where many are versions of others."""

Place: TypeAlias = tuple[int, int]
"""The id of a record, and its slot in the shelf."""

NOBODY: Place = 0, 0
_WORD = (1 << 64) - 1
_UNSEEN: Place = _WORD, 0

_ROW = np.dtype([("key", "<u8"), ("id", "<u8"), ("slot", "<u8"), ("older", "<u8"), ("older_slot", "<u8")])
_PACKED = struct.Struct("<8s4Q")


class Voters:
    """Those of one site, in bounded memory.

    Args:
        shelf: the site's records.
        originals: those among them that are searched.
    """

    def __init__(self, shelf: Shelf, originals: Originals) -> None:
        self._shelf, self._originals = shelf, originals
        self._newest = bytearray()
        """Rows of originals, each with an older one that it is a version of."""
        self._last = 0
        self._texts: dict[int, tuple[list[int], SiteText]] = {}
        """By the way in which the pages' texts were found: the slots of who voted, and what for."""

    @property
    def size(self) -> int:
        """Bytes, about."""
        return len(self._newest) + sum(text.size for _, text in self._texts.values())

    def add(self, record: Record, slot: int, older: Place | None) -> None:
        """An original came.

        Args:
            record: its record.
            slot: where that is.
            older: an original that it is a version of, or :data:`NOBODY`; None if nobody looked yet.
        """
        if record.id < self._last:  # it was away: who came since may be a version of it
            rows = np.frombuffer(self._newest, _ROW)
            rows["older"][rows["older"] == NOBODY[0]] = _UNSEEN[0]
            del rows  # a buffer that is looked at cannot grow
        self._last = max(self._last, record.id)
        key = blake2b(record.key, digest_size=8).digest()
        self._newest += _PACKED.pack(key, record.id, slot, *(older or _UNSEEN))
        if len(self._newest) > 2 * LATELY * _ROW.itemsize:
            del self._newest[: LATELY * _ROW.itemsize]

    def text(self, method: int) -> SiteText:
        """What the site repeats on the pages whose texts were found in one way."""
        voting = self._voting(method)
        ids = self._originals.ids(np.array(voting, np.intp)).tolist()
        voted, text = self._texts.get(method, ([], None))
        if text is None or voted != ids:
            text = SiteText(self._originals.evidence(np.array(voting, np.intp))["cells"])
            self._texts[method] = ids, text
        return text

    def older_version(self, found: Evidence, rows: Rows, key: bytes) -> Place:
        """The first of the originals in ``rows`` that a page is a version of, or :data:`NOBODY`.

        A version is like another page, and not under another name.

        Args:
            found: what :func:`~scrapy_simdedup.fingerprint.evidence.weigh` says of the page and these originals.
            rows: their slots.
            key: who the page is; it is no version of itself.
        """
        for slot in rows[(found.resemblance >= NEAR) & ~found.renamed].tolist():
            if self._shelf.key(slot) != key:
                return self._shelf.ids[slot], slot
        return NOBODY

    def _voting(self, method: int) -> list[int]:
        """The slots of those who vote, the newest first."""
        rows, originals = np.frombuffer(self._newest, _ROW), self._originals
        at = np.argsort(rows["id"])[::-1]
        at = at[originals.stand(rows["slot"][at], rows["id"][at], method)]
        _, newest = np.unique(rows["key"][at], return_index=True)
        at = at[np.sort(newest)]
        stale = (rows["older"] != NOBODY[0]) & ~originals.stand(rows["older_slot"], rows["older"], method)
        voting: list[int] = []
        for row in at.tolist():
            if stale[row]:
                rows["older"][row], rows["older_slot"][row] = self._look(int(rows["slot"][row]))
            if rows["older"][row] == NOBODY[0]:
                voting.append(int(rows["slot"][row]))
                if len(voting) == WINDOW:
                    break
        return voting

    def _look(self, slot: int) -> Place:
        record = self._shelf[slot]
        fp = PageFingerprint.from_bytes(record.fingerprint)
        candidates = self._originals.candidates(fp, record.key)
        candidates = candidates[self._originals.ids(candidates) < record.id]
        return self.older_version(fp.weigh(self._originals.evidence(candidates)), candidates, record.key)
