"""The text that a site repeats, learned from the sketches of the pages that were kept.

Terms, shipping notes, words for search engines: pages that share nothing else are no copies of each other. Two pages
cannot tell what belongs to their site. Many can: it is what the same bin of their sketches holds again and again.
Nothing of it is stored, since it follows from the records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.fingerprint.evidence import NEAR
from scrapy_simdedup.fingerprint.sketch import BINS, estimate
from scrapy_simdedup.page.kinds import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simdedup.fingerprint.evidence import Evidence

KNOWN = 6
"""Pages that must have voted before the site is known."""
WINDOW = 64
"""Votes above which all are halved, so that a site may change."""
SHARE, LEAST = 0.3, 3
"""The share of the votes, and their number, from which a cell is the site's."""
MASS = 2.0
"""The weight of own content from which it can be judged."""

_CONTENT = Kind.LOOSE << 2
"""Cells from here on are of content."""
_AT = np.arange(BINS)


class SiteText:
    """How many pages have what in each bin; about 13 KB once the site is known."""

    def __init__(self) -> None:
        self._votes = 0
        self._first: list[NDArray[np.uint8]] = []
        self._counts: NDArray[np.uint8] | None = None

    def vote(self, sketch: NDArray[np.uint8]) -> None:
        """Count in a page that is no version of another.

        Args:
            sketch: Its sketch, shape (``BINS // 2``,).
        """
        self._votes += 1
        if self._counts is None:
            self._first.append(sketch.copy())
            if self._votes < KNOWN:
                return
            self._counts = np.zeros((16, BINS), np.uint8)
            for first in self._first:
                self._counts[_cells(first), _AT] += 1
            self._first.clear()
            return
        if self._votes > WINDOW:
            self._votes >>= 1
            self._counts >>= 1
        self._counts[_cells(sketch), _AT] += 1

    def explains(self, one: np.void, many: NDArray[np.void], evidence: Evidence) -> NDArray[np.bool_]:
        """Whether what pages have in common may be their site's text alone; never of pages whose texts are equal.

        While the site is not known, pages with different headlines are taken for different.

        Args:
            one: A row of :data:`~scrapy_simdedup.fingerprint.evidence.EVIDENCE`.
            many: Rows of it, shape (n,).
            evidence: What :func:`~scrapy_simdedup.fingerprint.evidence.weigh` says of these.
        """
        other_name = evidence.renamed & ~evidence.long
        if self._counts is None:
            return other_name & ~evidence.equal
        common = self._counts >= max(LEAST, SHARE * self._votes)
        mine, theirs = _cells(one["cells"]), _cells(many["cells"])
        same = (mine > 3) & (theirs > 3) & ((mine ^ theirs) & 3 == 0)
        own = ~(same & (common[mine, _AT] | common[theirs, _AT]))
        content = estimate(*_only(own & ((mine >= _CONTENT) | (theirs >= _CONTENT)), mine, theirs))
        everything = estimate(*_only(own, mine, theirs))
        unlike = np.where(
            content.weights >= MASS, content.resemblances < NEAR, other_name | (everything.resemblances < NEAR)
        )
        return unlike & ~evidence.equal


def _cells(sketches: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The half-bytes of sketches, one of them or many; shape (..., ``BINS``)."""
    cells = np.empty((*sketches.shape[:-1], BINS), np.uint8)
    cells[..., 0::2], cells[..., 1::2] = sketches >> 4, sketches & 15
    return cells


def _only(
    chosen: NDArray[np.bool_], mine: NDArray[np.uint8], theirs: NDArray[np.uint8]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Sketches of the chosen bins alone; the others are empty."""
    return _packed(np.where(chosen, mine, 0)), _packed(np.where(chosen, theirs, 0))


def _packed(cells: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Sketches of half-bytes, which :func:`_cells` takes apart."""
    return (cells[:, 0::2] << 4 | cells[:, 1::2]).astype(np.uint8)
