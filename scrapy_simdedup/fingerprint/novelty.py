"""Novelty: what a page says that other pages do not, unit by unit.

Resemblance is symmetric, loss is not: a page of comments may be 98 % alike to the page of the article, and have a
comment of its own. The page at hand has all its shingles, the other pages are known by their shingle filters
(:mod:`scrapy_simdedup.fingerprint.text_units`).

1. The shingles of a unit that are in the samples of all filters are looked up. One that no filter has is missing for
   certain.
2. From the missing ones follows how many shingles of the unit the other pages lack, and from these how many words: as
   many, but for a word or two at the edges.
3. A unit of which about as much is missing as of a text that is not there at all is the page's own as a whole.

A short line is another question: a name, a place or a caption tells pages apart that share all the rest, and so does
the line of a clock. :func:`replaced_lines` finds such lines by the unit tables; whether they count, others decide.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from math import ceil, inf, log, prod
from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.fingerprint.text_units import (
    SAMPLE_OF,
    filter_places,
    is_sampled,
    kept_places,
    sequence_digest,
    table_rows,
)
from scrapy_simdedup.page.amounts import has_number, is_name

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from scrapy_simdedup.fingerprint.hashing import Hashes, Rows
    from scrapy_simdedup.fingerprint.text_units import Mask, PageUnits, TextUnits

OWN_SHARE, MIN_OWN_WORDS = 0.2, 6
"""The share of the content of a short page that is a text of its own, and the words that it takes at least."""
DEVIATIONS_ALLOWED, MIN_MISSING = 2.0, 2
"""Standard deviations by which fewer shingles than expected may be missing of a unit that is missing as a whole, and
how many are missing at least."""
SAME_SHARE = 0.9
"""The share of the shingles of a block that another page must have to have the block."""
MIN_SAMPLES, MAX_CHANCE = 4, 0.001
"""Shingles that must be looked up for that, and the chance up to which all of them may only seem to be there, on any of
the other pages."""


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


def replaced_lines(units: PageUnits, other: TextUnits, clocks: Collection[int] = ()) -> Mask:
    """Which blocks are short lines with words, in place of other lines of another page; shape (m,).

    1. The rows of the two unit tables are aligned. What one page has between equal neighbours, and the other page has
       other rows there, was replaced; what only one of them has was added.
    2. Of the rows that were replaced, those that the other page has elsewhere are left out, and lines that differ from
       one of the other page in their numbers alone.

    Args:
        units: The blocks of the page.
        other: The text units of the other page. If it is so long that its rows are joined, nobody knows.
        clocks: Places to pass over.
    """
    replaced = np.zeros(len(units.lengths), np.bool_)
    chosen = units.without(()).nonzero()[0]
    digests, places = units.digests[chosen], units.places[chosen]
    if other.joined_by or not other.table or sequence_digest(digests) == other.sequence:
        return replaced
    rows, _ = table_rows(digests, places, 0)
    ours, theirs = rows["digest"].tolist(), other.rows["digest"].tolist()
    our_places, their_places = rows["place"].tolist(), other.rows["place"].tolist()
    on_ours, on_theirs, kept_clocks = set(ours), set(theirs), set(kept_places(clocks))
    for how, begin, end, first, last in SequenceMatcher(None, theirs, ours, autojunk=False).get_opcodes():
        if how != "replace":
            continue
        lost = {their_places[at] for at in range(begin, end) if theirs[at] not in on_ours} - kept_clocks
        for at in range(first, last) if lost else ():
            text = units.samples[chosen[at]]
            is_new = ours[at] not in on_theirs and our_places[at] not in kept_clocks
            is_counter = has_number(text) and our_places[at] in lost
            replaced[chosen[at]] = is_new and is_name(text) and not is_counter
    return replaced


def are_on(units: PageUnits, others: FilterBank, asked: Mask, share: float = SAME_SHARE) -> Mask:
    """Which of other pages have each block that is asked for; False where that is not known.

    Args:
        units: The blocks of the page.
        others: The n other pages.
        asked: Which blocks are asked for, shape (m,).
        share: The share of the shingles of a block that another page must have.

    Returns:
        Shape (n, m).
    """
    has = np.zeros((len(others), len(asked)), np.bool_)
    chosen = asked & (units.lengths > 0)
    hashes, lengths = units.hashes[np.repeat(chosen, units.lengths)], units.lengths[chosen]
    if not len(lengths) or not len(others):
        return has
    starts = np.cumsum(lengths) - lengths
    sampled = others.samples(hashes)
    present = np.add.reduceat(sampled & others.hold(hashes), starts, axis=1, dtype=np.intp)
    looked_up = np.add.reduceat(sampled, starts, axis=1, dtype=np.intp)
    has[:, chosen] = (looked_up >= others.least_looked_up) & (present >= share * looked_up)
    return has


class FilterBank:
    """The shingle filters of other pages, looked up at once.

    Args:
        units: the text units of the pages; those of a page without text have an empty filter, which holds nothing.
    """

    def __init__(self, units: Sequence[TextUnits]) -> None:
        filters = [other.shingle_filter for other in units]
        width = max(1, max(map(len, filters), default=0))
        packed = np.frombuffer(b"".join(filter_.ljust(width, b"\0") for filter_ in filters), np.uint8)
        self._bits = packed.reshape(-1, width)
        self._sizes = np.array([[len(filter_)] for filter_ in filters], np.uint64).reshape(-1, 1)
        self._samplings = np.array([[other.sampling] for other in units], np.uint64).reshape(-1, 1)
        least = [[_least_looked_up(other.false_share, MAX_CHANCE / len(units))] for other in units]
        self.least_looked_up = np.array(least).reshape(-1, 1)
        """Of each page, the shingles of a block that must be looked up, or they may only seem to be there; (n, 1)."""

    def __len__(self) -> int:
        return len(self._bits)

    def samples(self, hashes: Hashes) -> Mask:
        """Which of the shingles are in the sample of each page, shape (n, k)."""
        return is_sampled(hashes, self._samplings)

    def hold(self, hashes: Hashes) -> Mask:
        """Which of the shingles are in the filter of each page, shape (n, k)."""
        at = filter_places(hashes, self._sizes)
        of_bytes = np.take_along_axis(self._bits, at >> 3, axis=1)
        found: Mask = of_bytes >> (at & 7).astype(np.uint8) & 1 > 0
        return found


def _least_looked_up(false_share: float, chance: float) -> float:
    by_chance = max(1e-9, false_share)
    return max(MIN_SAMPLES, ceil(log(chance) / log(by_chance))) if by_chance < 1 else inf


def _looked_up(units: PageUnits, asked: Mask, sampling: int) -> tuple[Rows, Rows]:
    """The sampled shingles of the blocks that are asked for: the block of each, and its number; both of shape (k,)."""
    sampled = np.repeat(asked, units.lengths) & is_sampled(units.hashes, sampling)
    at = sampled.nonzero()[0]
    return np.repeat(np.arange(len(asked)), units.lengths)[at], at
