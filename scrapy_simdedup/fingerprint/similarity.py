"""Scores of one page against many: the resemblance of their texts, lowered by unshared blocks and other headlines.

Two pages cannot tell whether a text is the page's own or its site's. They can tell whether each has blocks that the
other lacks, and whether their headlines differ.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.fingerprint import sketch
from scrapy_simdedup.fingerprint.features import HASHES_PER_SIGNATURE
from scrapy_simdedup.fingerprint.sketch import BINS, estimate_unshared

SIGNATURE_BITS, HEADING_BITS = 512, 64
"""Widths of the odd sketches of a page's block signatures and of its headings."""
COMMON_FIELDS = (
    *((name, "<u2") for name in ("content", "title", "signatures", "headings", "numbers")),
    *((name, "<u4") for name in ("h1", "identity", "data")),
    ("exact", "<u8"),
)
"""The first fields of the rows that any method compares."""
COMPARISON_DTYPE = np.dtype(
    [
        *COMMON_FIELDS,
        *(("odd_signatures", "<u8", SIGNATURE_BITS // 64), ("odd_headings", "<u8", HEADING_BITS // 64)),
        ("cells", "u1", BINS // 2),
    ]
)
"""The last bytes of a judged fingerprint of the method ``simhash``, with the fields of
:class:`~scrapy_simdedup.fingerprint.fingerprint.PageFingerprint`."""
IDENTICAL_RESEMBLANCE, NEAR_RESEMBLANCE = 0.855, 0.70
"""The resemblances from which pages are copies, and nearly alike."""
SIMILARITY_SCALE = (0.0, NEAR_RESEMBLANCE, IDENTICAL_RESEMBLANCE, 1.0), (0.0, 0.85, 0.95, 1.0)
"""Resemblances and the similarities that belong to them, linear in between."""
FREE_SIGNATURES = 3
"""Unshared blocks that each page may have at no cost: a counter, a date, a mended line."""
UNSHARED_PENALTY = 0.006
"""What each further unshared block takes off the resemblance."""
MAX_PENALTY_SAME_HEADLINE = 0.03
"""The most that unshared blocks take off where no headline differs: then they are an edit."""
LONG_PAGE, MAX_PENALTY_LONG_PAGE = 512, 0.015
"""Block signatures, of some 3,000 words, above which a page is long; and the most that unshared blocks take off two
long pages, which always differ somewhere."""
OTHER_HEADLINE_UNSHARED = 7
"""Unshared blocks from which a page with another headline is no copy."""
HEADING_WEIGHT = 3
"""The unshared blocks that an unshared heading stands for there."""
MAYBE_OTHER_HEADLINE, SURELY_OTHER_HEADLINE = 0.4, 1.0
"""Unshared headings, by a cautious estimate, from which the headline may differ (the site decides) or does differ."""
BELOW_IDENTICAL = IDENTICAL_RESEMBLANCE - 0.01
"""The most that is left to pages that are no copies: they are near at most."""
BELOW_THRESHOLD_FACTOR = 0.995
"""Factor on a threshold: pages that a veto keeps apart score just below it."""


class Scores(NamedTuple):
    """The scores of one page against each of many; all of shape (n,)."""

    resemblance: NDArray[np.float64]
    """The resemblance of the texts alone, 0 to 1."""
    adjusted: NDArray[np.float64]
    """The resemblance less what speaks against a copy; 1 for equal texts, if the pages are no twins."""
    equal: NDArray[np.bool_]
    """Whether the sets of shingles are equal."""
    headline_differs: NDArray[np.bool_]
    """Whether the titles differ, or the h1s, or each page has headings that the other lacks."""
    both_long: NDArray[np.bool_]
    """Whether both pages have more than ``LONG_PAGE`` blocks, where a long block counts for several."""
    unshared: NDArray[np.float64]
    """Estimated blocks that each page has and the other lacks, where a long block counts for several."""
    are_twins: NDArray[np.bool_]
    """Whether the pages are twins: two pages by what they are called, however alike; see :func:`are_twins`."""

    def take(self, rows: NDArray[np.intp]) -> Scores:
        """The scores against some of the many."""
        return Scores._make(values[rows] for values in self)

    @property
    def similarity(self) -> NDArray[np.float64]:
        """The adjusted resemblance on the scale of the settings, where 0.95 is a copy; see :data:`SIMILARITY_SCALE`."""
        return np.interp(self.adjusted, *SIMILARITY_SCALE)

    def similarity_under(self, identical: float) -> NDArray[np.float64]:
        """The similarity, which for twins is below the threshold ``identical``, wherever that is."""
        similarity = self.similarity
        if self.are_twins.any():
            limit = np.where(self.are_twins, BELOW_THRESHOLD_FACTOR * identical, 1.0)
            np.minimum(similarity, limit, out=similarity)
        return similarity


def python_score(one: np.void, many: NDArray[np.void], resemblance: NDArray[np.float64] | None = None) -> Scores:
    """The scores of one page against each of many, with their resemblances if these are known; symmetric.

    1. The sketches give the resemblance. What is left of it is never more, but for equal texts.
    2. Unshared blocks beyond the first three take a penalty off it, which is limited between long pages and between
       pages with the same headline. No penalty makes near pages different.
    3. Pages with another headline and enough unshared blocks are no copies.
    4. Equal sets of shingles are copies. But of pages without an h1 those with another title and another heading are
       twins: each may list what else there is, the other's name among it.
    5. Twins are no copies, whatever they share.
    """
    if resemblance is None:
        resemblance, _ = estimate_resemblance(one["cells"], many["cells"])
    blocks = estimate_unshared(one["odd_signatures"], many["odd_signatures"], one["signatures"], many["signatures"])
    headlines = estimate_unshared(one["odd_headings"], many["odd_headings"], one["headings"], many["headings"])
    unshared, headings = blocks / HASHES_PER_SIGNATURE, headlines / HASHES_PER_SIGNATURE
    title, h1 = differ(one["title"], many["title"]), differ(one["h1"], many["h1"])
    surely_differs = title | h1 | (headings >= SURELY_OTHER_HEADLINE)
    long = np.minimum(many["signatures"], one["signatures"]) > HASHES_PER_SIGNATURE * LONG_PAGE
    limit = np.where(long, MAX_PENALTY_LONG_PAGE, np.where(surely_differs, np.inf, MAX_PENALTY_SAME_HEADLINE))
    penalty = np.minimum(UNSHARED_PENALTY * np.maximum(unshared - FREE_SIGNATURES, 0), limit)
    adjusted = np.maximum(resemblance - penalty, np.minimum(resemblance, NEAR_RESEMBLANCE))
    is_other_text = unshared + HEADING_WEIGHT * headings >= OTHER_HEADLINE_UNSHARED
    equal, twins = many["exact"] == one["exact"], are_twins(one, many)
    adjusted = np.where(equal, 1.0, adjusted)
    twins |= equal & title & (headings >= MAYBE_OTHER_HEADLINE) & (one["h1"] == 0) & (many["h1"] == 0)
    no_copy = (surely_differs & ~long & is_other_text & ~equal) | twins
    adjusted = np.where(no_copy, np.minimum(adjusted, BELOW_IDENTICAL), adjusted)
    headline_differs = surely_differs | (headings >= MAYBE_OTHER_HEADLINE)
    return Scores(resemblance, adjusted, equal, headline_differs, long, unshared, twins)


def are_twins(one: np.void, many: NDArray[np.void]) -> NDArray[np.bool_]:
    """Whether a page and each of many are two pages, not copies: at most near, however much they share.

    1. Both have an h1, and the h1s differ.
    2. Neither has an h1. Their titles differ, and so do the numbers in their contents. A clock or a counter changes the
       one or the other, not both; equal texts are copies under any title.
    3. Both have an identity, and the identities differ.
    4. Both are shells around data in scripts, and the data differ.
    """
    if one["h1"]:
        twins = differ(one["h1"], many["h1"])
    else:
        twins = differ(one["title"], many["title"]) & (many["numbers"] != one["numbers"]) & (many["h1"] == 0)
        twins &= many["exact"] != one["exact"]
    for name in ("identity", "data"):
        if one[name]:
            twins |= differ(one[name], many[name])
    return twins


def differ(one: np.integer, many: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Whether two pages have different digests of something that both have (0 is none), such as a headline."""
    made: NDArray[np.bool_] = (many != one) & (many != 0) & (one != 0)
    return made


@lru_cache(16)
def resemblance_for_similarity(similarity: float) -> float:
    """The resemblance that belongs to a similarity; see :data:`SIMILARITY_SCALE`."""
    resemblances, similarities = SIMILARITY_SCALE
    return float(np.interp(similarity, similarities, resemblances))


try:
    from scrapy_simdedup.fingerprint._comparison import estimate_own_resemblance, estimate_resemblance, score
except ImportError:  # installed without a compiler
    score, estimate_resemblance = python_score, sketch.estimate_resemblance
    estimate_own_resemblance = sketch.estimate_own_resemblance
