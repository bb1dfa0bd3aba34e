"""The text that a site repeats, learned from the sketches of the pages that were kept.

Terms, shipping notes, words for search engines: pages that share nothing else are no copies of each other. Two pages
cannot tell what belongs to their site. Many can: it is what the same bin of their sketches holds again and again.
Nothing of it is stored, since it follows from the records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.fingerprint.evidence import FREE_UNITS, NO_COPY, OWN_UNIT, resemblance_at
from scrapy_simdedup.fingerprint.sketch import BINS, estimate
from scrapy_simdedup.fingerprint.units import NAMES
from scrapy_simdedup.page.kinds import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simdedup.fingerprint.evidence import Evidence

KNOWN = 5
"""Pages that must have voted before the site is known."""
WINDOW = 64
"""Pages that vote, the newest, so that a site may change."""
SHARE, LEAST = 0.3, 3
"""The share of the votes, and their number, from which a cell is the site's."""
MASS = 2.0
"""The weight of own content from which it can be judged."""
ALIKE = 0.5
"""Resemblance of the own content from which it is one. The line is lower than that of whole pages: of a page in a text
of its site, what an edit changed is a larger part."""
SAFETY = 0.025
"""How far above the line pages with passages of their own must be while the site is not known."""
SITE_UNITS = 256
"""Units of text, 1,500 to 2,500 words, up to which a page may be its site's text but for a few; longer ones are not."""
ADDED_UNITS = 15
"""Units that one page merely adds to such a page, from which it may be another page of an unknown site."""
MENDED_UNITS, MENDED = 12, 2.5
"""Units that one of two pages has and the other lacks, counted on both, up to which a text may have been mended in some
lines, and the shingles by which the texts differ for each of these units, at most. Another word is in three shingles
and takes the rest of its line for units of its own; passages of its own bring all their shingles. Short lines, such as
a name and a price, can do with as few: where no title and h1 say that the pages are one, there is no mending."""

_CONTENT = Kind.LOOSE << 2
"""Cells from here on are of content."""
_CELLS = np.arange(16, dtype=np.uint8)
_AT = np.arange(BINS)


class SiteText:
    """How many pages have what in each bin.

    Args:
        sketches: Those of the pages that vote, shape (n, ``BINS // 2``).
    """

    def __init__(self, sketches: NDArray[np.uint8]) -> None:
        self._common: NDArray[np.bool_] | None = None
        """Of each cell and bin, whether it is the site's; None while that is not known."""
        if len(sketches) >= KNOWN:
            has = _cells(sketches) == _CELLS[:, None, None]
            votes = np.add.reduce(has.view(np.uint8), axis=1, dtype=np.uint8)  # which holds all of a window
            self._common = votes >= max(LEAST, SHARE * len(sketches))

    @property
    def size(self) -> int:
        """Bytes, about."""
        return 0 if self._common is None else self._common.nbytes

    def explains(self, one: np.void, many: NDArray[np.void], evidence: Evidence, drop: float) -> NDArray[np.bool_]:
        """Whether what pages have in common may be their site's text alone; never of pages whose texts are equal.

        While the site is not known, all that pages have in common may be its text. Those with different headlines are
        taken for different then, and so are those that have passages of their own and are not far above the line. Pages
        no longer than what a site repeats are no copies, either, if each has more units of its own than are free, or
        if one adds many to the other. What was merely mended in a page of the same name is no passage.

        Args:
            one: A row of :data:`~scrapy_simdedup.fingerprint.evidence.EVIDENCE`.
            many: Rows of it, shape (n,).
            evidence: What :func:`~scrapy_simdedup.fingerprint.evidence.weigh` says of these.
            drop: The similarity from which pages are copies.
        """
        other_name = evidence.renamed & ~evidence.long
        if self._common is None:
            line = resemblance_at(drop)
            low = evidence.resemblance - OWN_UNIT * evidence.own < line + SAFETY
            unsafe = low & (evidence.own >= 1) & ~evidence.long
            if line > NO_COPY:
                sizes, size = many["units"] / NAMES, int(one["units"]) / NAMES
                unlike = (evidence.own > FREE_UNITS) | (np.abs(sizes - size) >= ADDED_UNITS)
                unsafe |= unlike & (np.minimum(sizes, size) < SITE_UNITS)
            return (other_name | (unsafe & ~_mended(one, many, evidence))) & ~evidence.equal
        mine, theirs = _cells(one["cells"]), _cells(many["cells"])
        same = (mine > 3) & (theirs > 3) & ((mine ^ theirs) & 3 == 0)
        own = ~(same & (self._common[mine, _AT] | self._common[theirs, _AT]))
        content = estimate(*_only(own & ((mine >= _CONTENT) | (theirs >= _CONTENT)), mine, theirs))
        everything = estimate(*_only(own, mine, theirs))
        unlike = np.where(
            content.weights >= MASS, content.resemblances < ALIKE, other_name | (everything.resemblances < ALIKE)
        )
        return unlike & ~evidence.equal


def _mended(one: np.void, many: NDArray[np.void], evidence: Evidence) -> NDArray[np.bool_]:
    """Whether pages have one name, and of their own nothing but some lines that were mended."""
    named = [(many[name] == one[name]) & (many[name] != 0) for name in ("title", "h1")]
    units = 2 * evidence.own + np.abs(many["units"].astype(np.intp) - int(one["units"])) / NAMES
    unlike = (1 - evidence.resemblance) / (1 + evidence.resemblance)  # of the shingles of both
    shingles = unlike * (many["content"].astype(np.intp) + int(one["content"]))
    mended: NDArray[np.bool_] = named[0] & named[1] & (units <= MENDED_UNITS) & (shingles <= MENDED * units)
    return mended


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
