"""Inverted indexes: the rows that share keys with a page, for methods that have keys, and the pages of a path."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.errors import FingerprintMismatch
from scrapy_simdedup.fingerprint.features import are_among, distinct
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.hashing import Rows
from scrapy_simdedup.fingerprint.methods import Method
from scrapy_simdedup.store.base import Record

_STEP = 1_000
"""Rows that may be added before outdated ones are looked for, and rows that are read at a time."""
_MIN_BUFFER = 256
"""Entries below which nothing is sorted. Sites whose simhashes are searched have none at all."""
_MAX_UNSORTED = 8
"""One in so many entries may be unsorted; then they are merged, which on the whole costs each entry few moves."""
PAGES_PER_PATH = 4
"""How many pages of one path, title and h1 are looked through; a list has more, but its pages give no items."""
_PARAMETERS = re.compile("[?;#]")
_HALF = np.uint64(32)
_ROW = np.uint64(0xFFFF_FFFF)


class InvertedIndex:
    """Finds rows that share keys with a page. Rows that went are found, too, until they are most of all rows.

    The method gives the keys; pages have to be found from a resemblance on.
    """

    def __init__(
        self,
        method: Method,
        resemblance: float,
        live_rows: Callable[[], Rows],
        comparison_rows: Callable[[Rows], NDArray[np.void]],
    ) -> None:
        self._method, self._resemblance = method, resemblance
        self._live_rows, self._comparison_rows = live_rows, comparison_rows
        self._compact_at = _STEP
        self._clear()

    def _clear(self) -> None:
        # An entry is a key in the upper half of a number, and a row in its lower half.
        self._sorted = np.zeros(0, np.uint64)
        self._unsorted = np.zeros(0, np.uint64)
        self._count = self._rows = 0

    @property
    def size(self) -> int:
        """Bytes: 9 for each key of a page, and up to four times as many where the same pages change again and again."""
        return self._sorted.nbytes + self._unsorted.nbytes

    def add(self, row: int, one: np.void) -> None:
        """Take a page in; a row that was added twice is also found by the keys that it had first."""
        keys = self._method.index_keys(one, self._resemblance)
        if not len(keys):
            return
        if self._count + len(keys) > len(self._unsorted):
            self._merge(len(keys))
        self._unsorted[self._count : self._count + len(keys)] = _entries(keys) | np.uint64(row)
        self._count += len(keys)
        self._rows += 1
        if self._rows > self._compact_at:
            self._compact()

    def lookup(self, one: np.void) -> tuple[Rows, NDArray[np.intp]]:
        """The rows that share keys with a page, ascending, and how many keys each row shares."""
        wanted = distinct(self._method.index_keys(one, self._resemblance))
        low = np.searchsorted(self._sorted, _entries(wanted))
        high = np.searchsorted(self._sorted, _entries(wanted) | _ROW, side="right")
        lengths = high - low
        starts = np.repeat(low - np.cumsum(lengths) + lengths, lengths)
        recent = self._unsorted[: self._count]
        hits = recent[are_among(recent >> _HALF, wanted)]
        found = np.concatenate((self._sorted[starts + np.arange(len(starts))], hits)) & _ROW
        return np.unique(found.astype(np.intp), return_counts=True)

    def _merge(self, coming: int) -> None:
        """Sort the unsorted entries in, and make room for one in eight more."""
        self._sorted = np.concatenate((self._sorted, self._unsorted[: self._count]))
        self._sorted.sort(kind="stable")  # merges what is sorted already
        self._unsorted = np.zeros(max(_MIN_BUFFER, coming, len(self._sorted) // _MAX_UNSORTED), np.uint64)
        self._count = 0

    def _compact(self) -> None:
        rows = self._live_rows()
        if 2 * len(rows) < self._rows:
            self._clear()
            self._compact_at = len(rows)
            for start in range(0, len(rows), _STEP):
                some = rows[start : start + _STEP]
                for row, one in zip(some, self._comparison_rows(some), strict=True):
                    self.add(int(row), one)
        self._compact_at = self._rows + max(_STEP, len(rows))


def _entries(keys: NDArray[np.uint32]) -> NDArray[np.uint64]:
    entries: NDArray[np.uint64] = keys.astype(np.uint64) << _HALF
    return entries


class PagesByPath:
    """Pages by their URLs without parameters, which need not say which page it is.

    A session, the place of a link in a list, and whence a visitor comes are other ones in each crawl. Where the
    parameters do name the page, its title or its h1 mostly differs as well; or its text does, by which those that have
    the same one are found besides.
    """

    def __init__(self, *, by_text: bool = False) -> None:
        self._by_text = by_text
        self._keys: dict[int, tuple[bytes, ...]] = {}
        """By path, title and h1, and maybe the text, the keys of the pages, the newest first."""

    def __len__(self) -> int:
        return len(self._keys)

    def observe(self, record: Record) -> None:
        """Take in a page, of any state."""
        try:
            fp = PageFingerprint.from_bytes(record.fingerprint)
        except FingerprintMismatch:
            return  # it is told where that page itself is fetched again; all others do without it
        for place in self._places(record.url, fp):
            known = self._keys.get(place, ())
            if record.key not in known:
                self._keys[place] = (record.key, *known)[:PAGES_PER_PATH]

    def keys(self, url: str, fp: PageFingerprint) -> list[bytes]:
        """The keys of pages with the path of a URL, and with the h1 of a page and what its title says."""
        return list(dict.fromkeys(key for place in self._places(url, fp) for key in self._keys.get(place, ())))

    def _places(self, url: str, fp: PageFingerprint) -> list[int]:
        path = _PARAMETERS.split(url.partition("://")[2], maxsplit=1)[0]
        place = path, fp.title if fp.units is None else fp.units.title, fp.h1
        return [hash(place), *([hash((*place, fp.units.sequence))] if self._by_text and fp.units is not None else ())]
