"""Novelty: what a page says that other pages do not, unit by unit.

Resemblance is symmetric, loss is not: a page of comments may be 98 % alike to the page of the article, and have a
comment of its own. The page at hand has all its shingles, the other pages are known by their shingle filters
(:mod:`scrapy_simdedup.fingerprint.text_units`).

1. The shingles of a unit that are in the samples of all filters are looked up. One that no filter has is missing for
   certain.
2. From the missing ones follows how many shingles of the unit the other pages lack, and from these how many words: as
   many, but for a word or two at the edges.
3. A unit of which about as much is missing as of a text that is not there at all is the page's own as a whole.
"""

from __future__ import annotations

from math import ceil, log, prod
from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.fingerprint.text_units import SAMPLE_OF, is_sampled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simdedup.fingerprint.hashing import Rows
    from scrapy_simdedup.fingerprint.text_units import Mask, PageUnits, TextUnits

OWN_SHARE, MIN_OWN_WORDS = 0.2, 6
"""The share of the content of a short page that is a text of its own, and the words that it takes at least."""
DEVIATIONS_ALLOWED, MIN_MISSING = 2.0, 2
"""Standard deviations by which fewer shingles than expected may be missing of a unit that is missing as a whole, and how
many are missing at least."""
SAME_SHARE = 0.9
"""The share of the shingles of a block that another page must have to have the block."""
MIN_SAMPLES, MAX_CHANCE = 4, 0.001
"""Shingles that must be looked up for that, and the chance up to which all of them may only seem to be there."""


def own_word_limit(units: PageUnits, most: int) -> int:
    """Words of a unit above which it is a text of the page's own: ``most``, or a fifth of the content, at least 6."""
    content = int(words_of_units(units)[units.of_content].sum())
    return min(most, max(MIN_OWN_WORDS, int(OWN_SHARE * content)))


def words_of_units(units: PageUnits) -> Rows:
    """The words of each block, shape (m,); of one that is shorter than a shingle, about."""
    return units.lengths + (units.size - 1)


def longest_own_text(units: PageUnits, others: Sequence[TextUnits], asked: Mask) -> int:
    """The most words of a block that other pages lack, if they are more than :data:`MIN_OWN_WORDS`; else 0."""
    most = int(own_words(units, others, asked).max(initial=0))
    return most if most > MIN_OWN_WORDS else 0


def own_words(units: PageUnits, others: Sequence[TextUnits], asked: Mask) -> Rows:
    """Estimate the words of each block that other pages lack, shape (m,); of blocks of a few words 0.

    Args:
        units: The blocks of the page.
        others: The text units of the other pages, one at least.
        asked: Which blocks are asked for, shape (m,).
    """
    words = words_of_units(units)
    asked = asked & (words > MIN_OWN_WORDS)
    sampling = min(other.sampling for other in others)
    found, at = _looked_up(units, asked, sampling)
    missing = ~np.logical_or.reduce([other.holds(units.hashes[at]) for other in others])
    looked_up = np.bincount(found, minlength=len(words))
    missed = np.bincount(found, missing, minlength=len(words))
    shown = prod(1 - other.false_share for other in others)  # of the missing ones, the share that is seen to be missing
    lacked = np.minimum(words, missed * SAMPLE_OF / max(1e-9, sampling * shown))
    least = shown * looked_up - DEVIATIONS_ALLOWED * np.sqrt(shown * (1 - shown) * looked_up)
    is_whole = (missed >= least) & (missed >= MIN_MISSING)
    return np.where(is_whole, words, lacked).astype(np.intp)


def are_on(units: PageUnits, other: TextUnits, asked: Mask, share: float = SAME_SHARE) -> Mask:
    """Whether another page has each block that is asked for, shape (m,); False where that is not known.

    Args:
        units: The blocks of the page.
        other: The text units of the other page.
        asked: Which blocks are asked for, shape (m,).
        share: The share of the shingles of a block that the other page must have.
    """
    found, at = _looked_up(units, asked, other.sampling)
    looked_up = np.bincount(found, minlength=len(asked))
    present = np.bincount(found, other.holds(units.hashes[at]), minlength=len(asked))
    by_chance = max(1e-9, other.false_share)
    enough = max(MIN_SAMPLES, ceil(log(MAX_CHANCE) / log(by_chance)) if by_chance < 1 else len(units.hashes) + 1)
    has: Mask = (looked_up >= enough) & (present >= share * looked_up)
    return has


def _looked_up(units: PageUnits, asked: Mask, sampling: int) -> tuple[Rows, Rows]:
    """The sampled shingles of the blocks that are asked for: the block of each, and its number; both of shape (k,)."""
    sampled = np.repeat(asked, units.lengths) & is_sampled(units.hashes, sampling)
    at = sampled.nonzero()[0]
    return np.repeat(np.arange(len(asked)), units.lengths)[at], at
