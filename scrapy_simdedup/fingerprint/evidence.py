"""What two fingerprints say for and against two pages being the same: resemblance, passages of their own, headlines.

Whether a text is the page's or its site's cannot be known from two pages. What can: whether each has passages that the
other lacks, and whether they have different headlines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simdedup.fingerprint.odd_sketch import lacking
from scrapy_simdedup.fingerprint.sketch import BINS, estimate
from scrapy_simdedup.fingerprint.units import NAMES

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNIT_BITS, HEADING_BITS = 512, 64
"""Widths of the odd sketches of a page's units and of its headings."""

COMMON = (*((name, "<u2") for name in ("content", "title", "h1", "units", "headings")), ("exact", "<u8"))
"""The first fields of what any method compares."""

EVIDENCE = np.dtype(
    [
        *COMMON,
        *(("odd_units", "<u8", UNIT_BITS // 64), ("odd_headings", "<u8", HEADING_BITS // 64)),
        ("cells", "u1", BINS // 2),
    ]
)
"""The last bytes of every judged fingerprint; its fields are those of
:class:`~scrapy_simdedup.fingerprint.fingerprint.PageFingerprint`, ``units`` and ``headings`` the sizes of the sets."""

IDENTICAL, NEAR = 0.855, 0.70
"""The lines of copies, and of pages that are nearly alike."""

SCALE = ((0.0, 0.0), (NEAR, 0.85), (IDENTICAL, 0.95), (1.0, 1.0))
"""Resemblance → similarity, linear in between."""

FREE_UNITS = 3
"""Units of text of its own that each page may have before they speak against it: a counter, a date, a mended line."""
OWN_UNIT = 0.006
"""What each further unit takes off that each page has and the other lacks."""
SAME_NAME_MOST = 0.03
"""What they take off at most where no headline differs: then they are an edit, or came with the page."""
LONG, LONG_MOST = 512, 0.015
"""In pages of more units, some 3,000 words, they take off so much at most: long pages differ somewhere."""
OTHER_HEADLINE = 7
"""Own units, an own heading for three, from which a page of another name is no copy."""
HEADING = 3
OWN_HEADING, OWN_HEADINGS = 0.4, 1.0
"""Headings of its own, as the cautious estimate counts them: from the first there may be another name, where only the
site can tell; from the second there is."""
SHORT = 128
"""Content features below which a page with another title and another h1 is no copy in any case."""
NO_COPY = IDENTICAL - 0.01
"""What is left to pages that are no copies: near at most."""


class Evidence(NamedTuple):
    """About one page and each of many; all of shape (n,)."""

    resemblance: NDArray[np.float64]
    """Of the texts alone, 0 to 1."""
    verdict: NDArray[np.float64]
    """The resemblance less what speaks against it; 1 for equal texts."""
    equal: NDArray[np.bool_]
    """The sets of shingles are equal."""
    renamed: NDArray[np.bool_]
    """The titles differ, or the h1s, or each page has headings that the other lacks."""
    long: NDArray[np.bool_]
    """Both have more than ``LONG`` units."""
    own: NDArray[np.float64]
    """Units of text that each page has and the other lacks, an estimate."""

    def of(self, rows: NDArray[np.intp]) -> Evidence:
        """That about some of them."""
        resemblance, verdict, equal, renamed, long, own = self
        return Evidence(resemblance[rows], verdict[rows], equal[rows], renamed[rows], long[rows], own[rows])

    @property
    def similarity(self) -> NDArray[np.float64]:
        """The verdict on the scale of the settings, where 0.95 is a copy; see :data:`SCALE`."""
        lines, values = zip(*SCALE, strict=True)
        return np.interp(self.verdict, lines, values)


def weigh(one: np.void, many: NDArray[np.void]) -> Evidence:
    """Weigh what speaks for one page being each of many; symmetric.

    Args:
        one: A row of :data:`EVIDENCE`.
        many: Rows of it, shape (n,).
    """
    resemblance, _ = estimate(one["cells"], many["cells"])
    units = lacking(one["odd_units"], many["odd_units"], one["units"], many["units"]) / NAMES
    headings = lacking(one["odd_headings"], many["odd_headings"], one["headings"], many["headings"]) / NAMES
    title, h1 = (differ(one[name], many[name]) for name in ("title", "h1"))
    other_name = title | h1 | (headings >= OWN_HEADINGS)
    long = np.minimum(many["units"], one["units"]) > NAMES * LONG
    short = np.minimum(many["content"], one["content"]) < SHORT
    penalty = OWN_UNIT * np.maximum(units - FREE_UNITS, 0)
    penalty = np.minimum(penalty, np.where(long, LONG_MOST, np.where(other_name, np.inf, SAME_NAME_MOST)))
    lowered = resemblance - penalty
    lowered = np.maximum(lowered, np.minimum(resemblance, NEAR))  # what speaks against a copy leaves it near
    another = (other_name & ~long & (units + HEADING * headings >= OTHER_HEADLINE)) | (title & h1 & short)
    lowered = np.where(another, np.minimum(lowered, NO_COPY), lowered)
    renamed = other_name | (headings >= OWN_HEADING)
    equal = many["exact"] == one["exact"]
    return Evidence(resemblance, np.where(equal, 1.0, lowered), equal, renamed, long, units)


def differ(one: np.integer, many: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Both have one, and it is another; 0 is none."""
    made: NDArray[np.bool_] = (many != one) & (many != 0) & (one != 0)
    return made


def resemblance_at(similarity: float) -> float:
    """The resemblance that has a similarity; see :data:`SCALE`."""
    lines, values = zip(*SCALE, strict=True)
    return float(np.interp(similarity, values, lines))
