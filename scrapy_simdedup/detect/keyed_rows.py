"""The rows of a site's originals by the keys that their method gives them; none where the simhashes are searched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.detect.key_index import KeyIndex

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from scrapy_simdedup.detect.scan import Rows
    from scrapy_simdedup.fingerprint.methods.base import Method

_STEP = 1_000
"""Rows that may come in any case before it is looked how many of all are outdated, and rows that are read at a time."""


class KeyedRows:
    """Finds rows that share keys with a page. Those of pages that went are found, too, until they are most of all.

    Args:
        method: gives the keys.
        resemblance: from which on pages have to be found.
        standing: gives the rows that are there.
        evidence: gives what the method keeps of rows.
    """

    def __init__(
        self,
        method: Method,
        resemblance: float,
        standing: Callable[[], Rows],
        evidence: Callable[[Rows], NDArray[np.void]],
    ) -> None:
        self._method, self._resemblance, self._standing, self._evidence = method, resemblance, standing, evidence
        self._index = KeyIndex()
        self._rows = 0
        self._look_at = _STEP

    @property
    def size(self) -> int:
        """Bytes: 9 for each key of a page, and up to four times as many where the same pages change again and again."""
        return self._index.size

    def keys(self, one: np.void) -> NDArray[np.uint32] | None:
        """The keys of a page; None where the simhashes tell."""
        return self._method.keys(one, self._resemblance)

    def add(self, row: int, one: np.void) -> None:
        """Take a page in, in a row that it had not before."""
        keys = self.keys(one)
        if keys is None or not len(keys):
            return
        self._index.add(np.array(row), keys)
        self._rows += 1
        if self._rows > self._look_at:
            self._leave_out_outdated()

    def sharing(self, keys: NDArray[np.uint32]) -> tuple[Rows, NDArray[np.intp]]:
        """The rows that have any of some keys, ascending, and how many of them each has."""
        return np.unique(self._index.rows(keys), return_counts=True)

    def _leave_out_outdated(self) -> None:
        rows = self._standing()
        if 2 * len(rows) < self._rows:
            self._index, self._rows = KeyIndex(), 0
            self._look_at = len(rows)
            for start in range(0, len(rows), _STEP):
                some = rows[start : start + _STEP]
                for row, one in zip(some, self._evidence(some), strict=True):
                    self.add(int(row), one)
        self._look_at = self._rows + max(_STEP, len(rows))
