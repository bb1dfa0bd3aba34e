"""Novelty: what a page says that other pages do not, unit by unit.

Resemblance is symmetric, loss is not: a page of comments may be 98 % alike to the page of the article, and have a
comment of its own. The page at hand has all its shingles, the other pages are known by their shingle filters
(:mod:`scrapy_simdedup.fingerprint.text_units`).

1. The shingles of a unit that are in the samples of all filters are looked up. One that no filter has is missing.
2. A shingle between two missing ones counts as missing, too: one in four that a page lacks seems to be there.
3. The words that no present shingle covers, in a gap with a missing one, are the unit's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.fingerprint.text_units import is_sampled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simdedup.fingerprint.hashing import Rows
    from scrapy_simdedup.fingerprint.text_units import Mask, PageUnits, TextUnits

OWN_SHARE, MIN_OWN_WORDS = 0.2, 6
"""The share of the content of a short page that is a text of its own, and the words that it takes at least."""

SAME_SHARE = 0.9
"""Share of the shingles of a block that another page must have to have the block."""
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
    """The words of each block that other pages lack, shape (m,); of blocks of a few words 0.

    Args:
        units: The blocks of the page.
        others: The text units of the other pages, one at least.
        asked: Which blocks are asked for, shape (m,).
    """
    made = np.zeros(len(units.lengths), np.intp)
    asked = asked & (words_of_units(units) > MIN_OWN_WORDS)
    if not asked.any():
        return made
    sampling = min(other.sampling for other in others)
    sampled = is_sampled(units.hashes, sampling) & np.repeat(asked, units.lengths)
    at = sampled.nonzero()[0]
    missing = ~np.logical_or.reduce([other.holds(units.hashes[at]) for other in others])
    block = np.repeat(np.arange(len(units.lengths)), units.lengths)[at]
    for number in np.unique(block[missing]).tolist():
        here = block == number
        at_words = at[here] - units.starts[number]
        words = _uncovered_words(at_words, missing[here], int(units.lengths[number]), units.size, (1 << 16) / sampling)
        made[number] = words
    return made


def _uncovered_words(places: Rows, missing: Mask, shingles: int, size: int, per_sample: float) -> int:
    """The words that no present shingle covers, in gaps with a missing one.

    Args:
        places: The first word of each shingle that was looked up, ascending, shape (n,).
        missing: Whether it is missing, shape (n,).
        shingles: The shingles of the unit.
        size: Words per shingle.
    """
    between = np.zeros(len(missing), np.bool_)
    between[1:-1] = missing[:-2] & missing[2:]
    missing = missing | between
    present = places[~missing]
    starts = np.concatenate(([0], present + size))
    ends = np.concatenate((present, [shingles + size - 1]))
    missed = np.bincount(np.searchsorted(present, places[missing]), minlength=len(starts))
    words = np.maximum(ends - starts, 0) * (missed > 0)
    if len(present):  # some shingles around a gap are on the page, and not in the sample
        np.minimum(words, missed * per_sample, out=words, casting="unsafe")
    return int(words.sum())


def are_on(units: PageUnits, other: TextUnits, asked: Mask) -> Mask:
    """Whether another page has nearly all of each block that is asked for, shape (m,); False where that is not known.

    Args:
        units: The blocks of the page.
        other: The text units of the other page.
        asked: Which blocks are asked for, shape (m,).
    """
    sampled = is_sampled(units.hashes, other.sampling) & np.repeat(asked, units.lengths)
    at = sampled.nonzero()[0]
    block = np.repeat(np.arange(len(asked)), units.lengths)[at]
    looked_up = np.bincount(block, minlength=len(asked))
    present = np.bincount(block, other.holds(units.hashes[at]), minlength=len(asked))
    enough = max(MIN_SAMPLES, int(np.ceil(np.log(MAX_CHANCE) / np.log(max(other.false_share, 1e-9)))))
    found: Mask = (looked_up >= enough) & (present >= SAME_SHARE * looked_up)
    return found
