"""Novelty: what a page says that other pages do not, unit by unit.

Resemblance is symmetric, loss is not: a page of comments may be 98 % alike to the page of the article, and have a
comment of its own. The page at hand has all its shingles, the other pages are known by their shingle filters
(:mod:`scrapy_simdedup.fingerprint.text_units`).

1. The shingles of a unit that are in the samples of all filters are looked up. One that no filter has is missing for
   certain.
2. From the missing ones follows how many shingles of the unit the other pages lack, and from these how many words: as
   many, but for a word or two at the edges.
3. A unit of which about as much is missing as of a text that is not there at all is the page's own as a whole.
4. Lines may be blocks of their own, as in code, poems and tables, and the posts of a thread may be short. So neighbours
   of which that is true together are one text, however short each of them is: see :meth:`LookUp.longest_own_run`.

A short line is another question: a name, a place or a caption tells pages apart that share all the rest, and so does
the line of a clock. :func:`replaced_lines` finds such lines by the unit tables; whether they count, others decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import compress
from math import ceil, inf, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.fingerprint.features import are_among
from scrapy_simdedup.fingerprint.hashing import Rows
from scrapy_simdedup.fingerprint.text_units import (
    SAMPLE_OF,
    SHARED_PLACE,
    Mask,
    PageUnits,
    TextUnits,
    filter_places,
    is_sampled,
    kept_places,
    rows_of,
    table_rows,
)
from scrapy_simdedup.page.amounts import has_plain_number, is_name, is_short, is_sum, lettered_words

OWN_SHARE, MIN_OWN_WORDS = 0.2, 6
"""The share of the content of a short page that is a text of its own, and the words that it takes at least."""
DEVIATIONS_ALLOWED, MIN_MISSING = 2.0, 2
"""Standard deviations by which fewer shingles than expected may be missing of a unit that is missing as a whole, and
how many are missing at least."""
MIN_SHOWN = 0.25
"""The share of missing shingles that is to be seen: the filters of many pages together seem to hold everything."""
MIN_BLOCKS_OF_RUN, MIN_MISSING_OF_RUN = 3, 6
"""Neighbouring blocks from which they are lines of one text, as two may be two comments; and how many of their shingles
are missing at least."""
MIN_TIMES = 3
"""How often a block stands on a page at least if each entry of a list has it."""
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
    """The most words of a block, or of neighbours, that other pages lack; 0 unless more than :data:`MIN_OWN_WORDS`."""
    found = look_up(units, others, asked)
    most = max(int(found.own_words().max(initial=0)), found.longest_own_run(asked)[0])
    return most if most > MIN_OWN_WORDS else 0


class LookUp(NamedTuple):
    """What was found of the shingles of each block of a page in the filters of other pages."""

    units: PageUnits
    looked_up: Rows
    """For each block, how many shingles are in the samples of all filters, shape (m,)."""
    missing: Rows
    """For each block, how many of these shingles are in no filter, shape (m,)."""
    sampling: int
    """How many of 65,536 shingles are in all samples."""
    shown: NDArray[np.float64]
    """For each block, the share of the shingles that all pages lack that is seen to be missing, shape (m,)."""

    def own_words(self) -> Rows:
        """Estimate the words of each block that the other pages lack, shape (m,); of blocks of a few words 0."""
        words = words_of_units(self.units)
        lacked = np.minimum(words, self.missing * SAMPLE_OF / np.maximum(1e-9, self.sampling * self.shown))
        is_whole = self.may_be_own & (self.missing >= MIN_MISSING)
        return np.where(words > MIN_OWN_WORDS, np.where(is_whole, words, lacked), 0).astype(np.intp)

    @property
    def may_be_own(self) -> Mask:
        """Which blocks may be missing as a whole: as much of them is missing as of a text that is not there at all."""
        expected = self.shown * self.looked_up
        least = expected - DEVIATIONS_ALLOWED * np.sqrt((1 - self.shown) * expected)
        return (self.missing > 0) & (self.missing >= least)

    def hides(self, words: int) -> bool:
        """Whether the pages are so long that of a text of some words too few shingles are looked up to tell it."""
        return words * self.sampling < MIN_SAMPLES * SAMPLE_OF

    def longest_own_run(self, asked: Mask) -> tuple[int, Mask]:
        """The neighbouring blocks that are as a whole the page's own, three at least: their words, and which they are.

        A block speaks for it as far as more of its shingles are missing than half of what would be if it were not there
        at all, and else against it. Of all stretches of neighbours the one with the largest sum is taken (Bentley,
        "Programming Pearls: algorithm design techniques", 1984). Blocks that are not asked for are passed over, and so
        is what each post of a thread has, such as "Reply": the other pages have it from other posts. Words count in
        blocks with a letter: a row of counters says nothing.
        """
        blocks = np.zeros(len(asked), np.bool_)
        if self.missing.sum() < MIN_MISSING_OF_RUN:
            return 0, blocks
        times = Counter(self.units.digests.tolist())
        of_each = are_among(self.units.digests, [digest for digest, count in times.items() if count >= MIN_TIMES])
        order = (asked & ~(of_each & (self.missing == 0))).nonzero()[0]
        missing, shown = self.missing[order], self.shown[order]
        expected = shown * self.looked_up[order]
        best, first, last = 0.0, 0, 0
        total, start = 0.0, 0
        for at, gain in enumerate((missing - expected / 2).tolist()):
            if total <= 0:
                total, start = 0.0, at
            total += gain
            if total > best:
                best, first, last = total, start, at + 1
        variance = ((1 - shown) * expected)[first:last].sum()
        least = max(expected[first:last].sum() - DEVIATIONS_ALLOWED * np.sqrt(variance), MIN_MISSING_OF_RUN)
        if last - first < MIN_BLOCKS_OF_RUN or missing[first:last].sum() < least:
            return 0, blocks
        blocks[order[first:last]] = True
        words, samples, run = words_of_units(self.units), self.units.samples, order[first:last].tolist()
        counts = (lettered_words(samples[at]) if is_short(samples[at]) else int(words[at]) for at in run)
        return sum(counts), blocks

    def own_units(self, others: Sequence[TextUnits], clocks: Collection[int]) -> Mask:
        """Which blocks of the content no other page has, however few their words are; shape (m,).

        A block that is in no row of a unit table is its page's own, if one of its shingles is missing: else it stands
        elsewhere on the other pages, or its neighbours in the row are others. Of a block without a shingle that was
        looked up the tables tell, where each unit has a row.
        """
        own = new_units(self.units, others, clocks) & self.units.of_content
        is_known = self.missing > 0
        if not any(other.joined_by for other in others):
            is_known |= self.looked_up == 0
        return own & is_known


def look_up(units: PageUnits, others: Sequence[TextUnits], asked: Mask) -> LookUp:
    """Look the shingles of the blocks of a page up in the filters of other pages.

    Of blocks that are not asked for nothing is missing. In many pages each block is looked up by a few at a time, and
    what counts are those where least of it is missing: the filters of all together hold whatever they are asked for.
    """
    sampling = min(other.sampling for other in others)
    at = (np.repeat(asked, units.lengths) & is_sampled(units.hashes, sampling)).nonzero()[0]
    of_block, hashes = np.repeat(np.arange(len(asked)), units.lengths)[at], units.hashes[at]
    looked_up = np.bincount(of_block, minlength=len(asked))
    missing, shown = looked_up, np.ones(len(asked))
    for group, of_group in _groups(others):
        is_missing = ~np.logical_or.reduce([other.holds(hashes) for other in group])
        found = np.bincount(of_block[is_missing], minlength=len(asked))
        is_less = found * shown <= missing * of_group
        missing, shown = np.where(is_less, found, missing), np.where(is_less, of_group, shown)
    return LookUp(units, looked_up, missing, sampling, shown)


def _groups(others: Sequence[TextUnits]) -> Iterator[tuple[list[TextUnits], float]]:
    """Pages of which together enough is seen to be missing, and the share of that; of few pages all are one group."""
    group: list[TextUnits] = []
    shown = 1.0
    for other in others:
        of_page = 1 - other.false_share
        if group and shown * of_page < MIN_SHOWN:
            yield group, shown
            group, shown = [], 1.0
        group.append(other)
        shown *= of_page
    yield group, shown


class ReplacedLines(NamedTuple):
    """Which blocks of a page are short lines in place of other lines; each mask has the shape (m,)."""

    words: Mask
    """Lines with other words, or with a price in place of words."""
    numbers: Mask
    """Lines that differ in their numbers alone."""

    def of_texts(self, units: PageUnits) -> Mask:
        """The short lines in the page's content that are no links to other pages."""
        return (self.words | self.numbers) & units.of_content


def new_units(units: PageUnits, others: Sequence[TextUnits], clocks: Collection[int] = ()) -> Mask:
    """Which blocks of the table of a page are in no row of some unit tables, at whatever place; shape (m,).

    Where a table joins its rows, a new unit makes its row new, and so its neighbours seem to be. Clocks are
    passed over.
    """
    is_new = units.without(clocks)
    for other in others:
        table = table_rows(units, other.joined_by, clocks)
        lacks = ~are_among(table.rows["digest"], other.rows["digest"])
        of_blocks = np.zeros(len(is_new), np.bool_)
        of_blocks[table.blocks[np.repeat(lacks, table.counts)]] = True
        is_new &= of_blocks
    return is_new


def replaced_lines(units: PageUnits, others: Sequence[TextUnits], clocks: Collection[int] = ()) -> ReplacedLines:
    """Which blocks are short lines in place of other lines of each of some pages.

    1. The rows of two unit tables are aligned. What one page has between equal neighbours, and the other page has other
       rows there, was replaced; what only one of them has was added. Where as many rows of one page differ as of the
       other, those with the same number stand in place of each other as well.
    2. Of the rows that were replaced, those that the other page has elsewhere are left out: as often as this page has
       them, since of hundreds of rows of 16 bits some are equal by chance. Lines that differ from one of the other page
       in their numbers alone stand by themselves; IMG_0012 is no number, but a name.
    3. *Answers* are not left out: "yes" and "no" stand on both pages, each between a question of its own and the next.

    Of rows that several units share nobody knows which of them was replaced.
    """
    found = ReplacedLines(np.zeros(len(units.lengths), np.bool_), np.zeros(len(units.lengths), np.bool_))
    tables = {joined_by: _LineRows(units, joined_by, clocks) for joined_by in {other.joined_by for other in others}}
    lines, numbers, places = set(range(len(units.lengths))), set[int](), kept_places(units.places.tolist())
    for other in others:
        replaced = tables[other.joined_by].replaced(without_clocks(other.rows, clocks))
        lines &= replaced.keys()
        if not lines:
            break
        numbers |= {at for at in lines if places[at] in replaced[at]}
    numbers = {at for at in numbers & lines if has_plain_number(units.samples[at])}
    words = [at for at in lines - numbers if is_name(units.samples[at]) or is_sum(units.samples[at])]
    found.words[words] = found.numbers[list(numbers)] = True
    return found


def without_clocks(rows: NDArray[np.void], clocks: Collection[int]) -> NDArray[np.void]:
    """The rows of a unit table but for those of clocks."""
    return rows[~are_among(rows["place"], kept_places(clocks))] if clocks else rows


class _LineRows:
    """The rows of a page, but for clocks, beside unit tables that are joined in one way."""

    def __init__(self, units: PageUnits, joined_by: int, clocks: Collection[int]) -> None:
        table = table_rows(units, joined_by, clocks)
        at = table.blocks[table.first]
        kept = ~(table.are_alone & are_among(units.places[at], list(clocks)))
        self._mine: list[int] = table.rows["digest"][kept].tolist()
        self._counts = Counter(self._mine)
        self._at, self._are_lines = at[kept].tolist(), table.are_alone[kept].tolist()
        self._shared: list[tuple[int, list[int]]] = []
        if joined_by:
            digests = rows_of(units.digests[table.blocks], units.places[table.blocks])["digest"].tolist()
            spans = zip(table.rows["digest"].tolist(), table.first.tolist(), table.counts.tolist(), strict=True)
            self._shared = [(row, digests[first : first + count]) for row, first, count in spans if count > 1]

    def replaced(self, theirs: NDArray[np.void]) -> dict[int, set[int]]:
        """The blocks that stand where a table has other rows, with the places of these.

        Of blocks that share a row, and of rows that others share, nobody knows that.
        """
        counts = self._counts
        if self._shared:  # what another row of theirs has is on the page, too
            counts, known = counts.copy(), set(theirs["digest"].tolist())
            for row, digests in self._shared:
                counts.update(() if row in known else digests)
        found = _replaced_rows(self._mine, theirs, counts)
        return {self._at[row]: places for row, places in found if self._are_lines[row]}


def _replaced_rows(
    mine: Sequence[int], theirs: NDArray[np.void], counts: Counter[int]
) -> Iterator[tuple[int, set[int]]]:
    """The rows of a table at whose places another table has other rows, and their places.

    ``counts`` says how often the page has a row, be it a part of one that is joined.
    """
    other, lost_places = theirs["digest"].tolist(), theirs["place"].tolist()
    begin = common_beginning(mine, other)
    ending = common_beginning(mine[begin:][::-1], other[begin:][::-1])
    ours, gone = mine[begin : len(mine) - ending], other[begin : len(other) - ending]
    if not ours or not gone:
        return
    their_counts = Counter(other)
    if len(their_counts) < len(other) or max(counts.values()) > 1:
        yield from _answers(mine, theirs, counts, their_counts, range(max(1, begin), len(mine) - ending))
    # Two pages of one template have one row for each of its lines. A row that they share by chance at other lines would
    # part these: what stands before it on one page stands behind it on the other, and nothing in place of anything.
    pairs = enumerate(zip(ours, gone, strict=True)) if len(ours) == len(gone) else ()
    ones = [(at, at + 1, at, at + 1) for at, (our, other_row) in pairs if our != other_row]
    is_lost = [their_counts[digest] > counts.get(digest, 0) for digest in gone]
    is_new = [counts[digest] > their_counts.get(digest, 0) for digest in ours]
    for start_lost, end_lost, start, end in (*ones, *_replacements(gone, ours)):
        lost = compress(lost_places[begin + start_lost : begin + end_lost], is_lost[start_lost:end_lost])
        if places := set(lost) - {SHARED_PLACE}:
            yield from ((begin + at, places) for at in range(start, end) if is_new[at])


def _answers(
    mine: Sequence[int], theirs: NDArray[np.void], counts: Counter[int], their_counts: Counter[int], asked: range
) -> Iterator[tuple[int, set[int]]]:
    """The rows, of those asked for, that stand between a question and the next where another table has another answer.

    An answer is a row that one of the pages has twice: else teasers may have changed places.
    """
    other, lost_places = theirs["digest"].tolist(), theirs["place"].tolist()
    questions = {digest: at for at, digest in enumerate(other) if their_counts[digest] == counts[digest] == 1}
    for at in asked:
        there = questions.get(mine[at - 1], len(other)) + 1
        behind = mine[at + 1 : at + 2]
        if there >= len(other) or mine[at] == other[there] or behind != other[there + 1 : there + 2]:
            continue
        if not questions.keys() >= set(behind):  # a row that stands there twice would be behind whatever came before it
            continue
        is_answer = max(counts[mine[at]], their_counts[other[there]]) > 1
        if is_answer and lost_places[there] != SHARED_PLACE:
            yield at, {lost_places[there]}


def _replacements(gone: Sequence[int], ours: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """Where both of two tables have rows between those that they have in common: begin and end in each."""
    places, lost = {digest: at for at, digest in enumerate(ours)}, set(gone)
    common = [(at, places[digest]) for at, digest in enumerate(gone) if digest in places]
    if [here for _, here in common] != [at for at, digest in enumerate(ours) if digest in lost]:
        opcodes = SequenceMatcher(None, gone, ours, autojunk=False).get_opcodes()
        return [(there, last_there, here, last) for how, there, last_there, here, last in opcodes if how == "replace"]
    # They have each of these rows once, in the same order: no matcher is needed, which takes ten times as long.
    behind = [(0, 0), *((there + 1, here + 1) for there, here in common)]
    between = zip(behind, [*common, (len(gone), len(ours))], strict=True)
    return [
        (there, last_there, here, last)
        for (there, here), (last_there, last) in between
        if there < last_there and here < last
    ]


def common_beginning(one: Sequence[object], other: Sequence[object]) -> int:
    """How many items two sequences have in common at their beginning."""
    shorter = min(len(one), len(other))
    return next((at for at in range(shorter) if one[at] != other[at]), shorter)


class FilterBank:
    """The shingle filters of other pages, looked up at once.

    A page without text has an empty filter, which holds nothing.
    """

    def __init__(self, units: Sequence[TextUnits]) -> None:
        self.units: Sequence[TextUnits] = units
        filters = [other.shingle_filter for other in units]
        width = max(1, max(map(len, filters), default=0))
        packed = np.frombuffer(b"".join(filter_.ljust(width, b"\0") for filter_ in filters), np.uint8)
        self._bits = packed.reshape(-1, width)
        self._sizes = np.array([[len(filter_)] for filter_ in filters], np.uint64).reshape(-1, 1)
        self._samplings = np.array([[other.sampling] for other in units], np.uint64).reshape(-1, 1)
        least = [[_least_looked_up(other.false_share, MAX_CHANCE / len(units))] for other in units]
        self._least_looked_up = np.array(least).reshape(-1, 1)
        """Of each page, the shingles of a block that must be looked up, or they may only seem to be there; (n, 1)."""

    def have(self, units: PageUnits, asked: Mask, share: float = SAME_SHARE) -> Mask:
        """Which of n pages have each of m blocks asked for, that share of its shingles; False where it is not known."""
        has = np.zeros((len(self.units), len(asked)), np.bool_)
        chosen = asked & (units.lengths > 0)
        hashes, lengths = units.hashes[np.repeat(chosen, units.lengths)], units.lengths[chosen]
        if not len(lengths) or not len(self.units):
            return has
        sampled, at = is_sampled(hashes, self._samplings), filter_places(hashes, self._sizes)
        holds = np.take_along_axis(self._bits, at >> 3, axis=1) >> (at & 7).astype(np.uint8) & 1 > 0
        starts = np.cumsum(lengths) - lengths
        present = np.add.reduceat(sampled & holds, starts, axis=1, dtype=np.intp)
        looked_up = np.add.reduceat(sampled, starts, axis=1, dtype=np.intp)
        has[:, chosen] = (looked_up >= self._least_looked_up) & (present >= share * looked_up)
        return has


def have_rows(units: PageUnits, others: Sequence[TextUnits]) -> Mask:
    """Which blocks of a page are rows of the unit table of one of some pages, at the same place; shape (m,)."""
    rows = rows_of(units.digests, units.places)
    tables = [other.rows for other in others] or [rows[:0]]
    return are_among(rows.view(np.uint32), np.concatenate(tables).view(np.uint32))


def lines_in_place_of(units: PageUnits, other: TextUnits, clocks: Collection[int]) -> Mask:
    """Which blocks of a page are in rows that a unit table lacks at their places, if it has no more in place of them.

    The mask has the shape (m,).
    """
    table, found = table_rows(units, other.joined_by, clocks), np.zeros(len(units.lengths), np.bool_)
    ours, theirs = table.rows.view(np.uint32), without_clocks(other.rows, clocks).view(np.uint32)
    lacks = ~are_among(ours, theirs)
    if np.count_nonzero(~are_among(theirs, ours)) <= np.count_nonzero(lacks):
        found[table.blocks[np.repeat(lacks, table.counts)]] = True
    return found & units.without(clocks)


def _least_looked_up(false_share: float, chance: float) -> float:
    by_chance = max(1e-9, false_share)
    return max(MIN_SAMPLES, ceil(log(chance) / log(by_chance))) if by_chance < 1 else inf
