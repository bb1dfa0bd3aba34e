"""Numbers → rows: an inverted index in sorted arrays, 8 bytes for each number of a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simdedup.detect.scan import Rows

_FIRST = 256
"""Entries below which nothing is sorted. Sites whose simhashes are searched have none at all."""
_SHARE = 8
"""One in so many entries may be unsorted; then they are merged, which on the whole costs each entry few moves."""


class KeyIndex:
    """Finds the rows that have a key; a row that was taken in twice, also by the keys that it had first."""

    def __init__(self) -> None:
        # An entry is a key in the upper half of a number, and a row in its lower half.
        self._sorted = np.zeros(0, np.uint64)
        self._recent = np.zeros(0, np.uint64)
        self._count = 0

    def __len__(self) -> int:
        """How many entries there are, outdated ones counted."""
        return len(self._sorted) + self._count

    @property
    def size(self) -> int:
        """Bytes of the arrays."""
        return self._sorted.nbytes + self._recent.nbytes

    def add(self, rows: NDArray[np.integer], keys: NDArray[np.uint32]) -> None:
        """Take rows in, or take in more keys of theirs.

        Args:
            rows: Of each key, its row; of any shape.
            keys: Of the same shape, or of one that goes with it.
        """
        entries = (_entries(keys) | rows.astype(np.uint64)).ravel()
        if self._count + len(entries) > len(self._recent):
            self._merge(len(entries))
        self._recent[self._count : self._count + len(entries)] = entries
        self._count += len(entries)

    def rows(self, keys: NDArray[np.uint32]) -> Rows:
        """The rows that have any of some keys, once for each that they have; in no order."""
        wanted = np.unique(keys)
        low = np.searchsorted(self._sorted, _entries(wanted))
        high = np.searchsorted(self._sorted, _entries(wanted) | _ROW, side="right")
        lengths = high - low
        starts = np.repeat(low - np.cumsum(lengths) + lengths, lengths)
        recent = self._recent[: self._count]
        hits = recent[np.isin(recent >> _HALF, wanted)]
        found = np.concatenate((self._sorted[starts + np.arange(len(starts))], hits)) & _ROW
        rows: Rows = found.astype(np.intp)
        return rows

    def _merge(self, coming: int) -> None:
        """Sort what is not, and make room for one in eight more."""
        self._sorted = np.concatenate((self._sorted, self._recent[: self._count]))
        self._sorted.sort(kind="stable")  # merges what is sorted already
        self._recent = np.zeros(max(_FIRST, coming, len(self._sorted) // _SHARE), np.uint64)
        self._count = 0


_HALF = np.uint64(32)
_ROW = np.uint64(0xFFFF_FFFF)


def _entries(keys: NDArray[np.uint32]) -> NDArray[np.uint64]:
    entries: NDArray[np.uint64] = keys.astype(np.uint64) << _HALF
    return entries
