"""Threads: contents of which each page marks another one of its lines, such as the post that was asked for.

A forum may show a whole thread at the URL of each of its posts. By the number of these URLs the thread would be a stub,
and by the lines in which its pages differ a family, whose pages all are kept. It is told from both by what its pages
have in place of the original's lines:

1. In place of one line, all have the same other line: the original's own post, which they do not mark.
2. In place of another one, which the other pages have, each has a line of its own: the post that it marks. A wall, a
   log-in page and the pages of a family differ from their original in the same line each time.
3. These lines say little that the original does not say, and hardly any has a price: where each page of a shop lists
   all models, and says only of its own what it costs, the price is no mark.
4. Behind them stand the posts. Where the dates of a course are listed, and a page marks its own, the next line is
   another date: such pages may well be a family.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from scrapy_simdedup.fingerprint.novelty import look_up, words_of_units
from scrapy_simdedup.fingerprint.text_units import SAMPLE_OF, PageUnits, TextUnits, table_rows
from scrapy_simdedup.page.amounts import is_amount

MAX_ROWS = 4
"""Rows of a unit table in which a page of a thread differs from the original at most: two, and what joined rows make of
them."""
MIN_SHARE = 0.3
"""The share of these repeats that differ at all: others have the post of the original."""
MIN_OWN, MIN_COMMON = 0.6, 0.8
"""The shares of these that mark a line of their own, and that have one line in place of that of the original."""
MAX_OWN = 1.5
"""Rows of a long content that a page lacks on an average beside those that nearly all lack: the post that it marks is
in one of them."""
MIN_POSTS, MAX_OF_POST = 3, 0.4
"""Different lines that are marked, and the share of these pages that marks the same line at most."""
MAX_OWN_WORDS = 6
"""Words of a page on an average that only these lines have: the marks themselves."""
MAX_AMOUNTS = 0.2
"""The share of these pages with an amount in the lines that they mark at most: a post may be about one."""
MIN_WORDS = 10
"""Words of a block on an average, of the lines that are marked and of what stands behind them."""
MAX_LINES = 100


class OtherRows(NamedTuple):
    """The rows in which the units of a page and the unit table of another page differ."""

    lost: tuple[int, ...] = ()
    """The digests of the rows that the page lacks."""
    new: tuple[int, ...] = ()
    """The digests of the rows that the page alone has."""
    own_words: float = 0.0
    """Estimated words of the new rows that the other page lacks."""
    words: int = 0
    """The words of the new rows and of the row behind each."""
    blocks: int = 0
    """Blocks of the new rows and of the row behind each."""
    has_amount: bool = False
    """Whether a new row is or has an amount, such as a price."""
    are_joined: bool = False
    """Whether several units share a row."""


def other_rows(units: PageUnits, other: TextUnits) -> OtherRows:
    """The rows in which the units of a page and the unit table of another page differ, whose sequence is another one.

    What the new rows say is told only where they stand in place of others, and neither page has too many.
    """
    table = table_rows(units, other.joined_by)
    rows, chosen, blocks_of_row = table.rows, table.blocks, table.counts
    mine, theirs = rows["digest"].tolist(), set(other.rows["digest"].tolist())
    lost, new = tuple(theirs.difference(mine)), tuple(set(mine) - theirs)
    if not lost or not new or max(len(lost), len(new)) > MAX_ROWS:
        return OtherRows(lost, new, are_joined=other.joined_by > 0)
    is_new = np.array([digest not in theirs for digest in mine])
    asked = np.zeros(len(units.lengths), np.bool_)
    asked[chosen[np.repeat(is_new, blocks_of_row)]] = True
    found = look_up(units, [other], asked)
    own_words = float(found.missing.sum()) * SAMPLE_OF / max(1e-9, found.sampling * (1 - other.false_share))
    is_new[1:] |= is_new[:-1]
    near = chosen[np.repeat(is_new, blocks_of_row)]
    has_amount = any(is_amount(units.samples[at]) for at in asked.nonzero()[0].tolist())
    words = int(words_of_units(units)[near].sum())
    return OtherRows(lost, new, own_words, words, len(near), has_amount, other.joined_by > 0)


def other_titles(one: TextUnits, other: TextUnits) -> OtherRows:
    """The titles of two pages with one content, as lines in which they differ: that of a picture may tell it alone."""
    return OtherRows() if one.title == other.title else OtherRows((other.title,), (one.title,))


@dataclass(slots=True)
class MarkedLines:
    """The differences between a content and its repeats, by line."""

    repeats: int = 0
    """Repeats that differ in few lines; where many lines differ, the posts are other ones, or in another order."""
    pages: int = 0
    """Repeats among these that differ from the content."""
    lost: Counter[int] = field(default_factory=Counter)
    """By the digest of a line of the content, the pages that lack it."""
    new: Counter[int] = field(default_factory=Counter)
    """By the digest of a line that the content lacks, the pages that have it."""
    own_words: float = 0.0
    """Words of these lines that the content lacks."""
    words: int = 0
    """The words of the new lines and of what stands behind each."""
    blocks: int = 0
    amounts: int = 0
    """The pages that have an amount in the new lines."""
    are_joined: bool = False
    """Whether several lines share a row: then one digest stands for several posts."""

    def add(self, found: OtherRows) -> None:
        """Count a repeat."""
        if max(len(found.lost), len(found.new)) > MAX_ROWS:
            return
        self.repeats += 1
        if not found.lost or not found.new:
            return
        self.pages += 1
        for counts, rows in (self.lost, found.lost), (self.new, found.new):
            counts.update(row for row in rows if row in counts or len(counts) < MAX_LINES)
        self.own_words += found.own_words
        self.words += found.words
        self.blocks += found.blocks
        self.amounts += found.has_amount
        self.are_joined |= found.are_joined

    def to_row(self) -> dict[str, Any]:
        """The counts as plain values."""
        lines = {"lost": list(self.lost.items()), "new": list(self.new.items())}
        return {name: getattr(self, name) for name in self.__slots__} | lines

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> MarkedLines:
        """The counts from the row of :meth:`to_row`."""
        return cls(**row | {name: Counter(dict(row[name])) for name in ("lost", "new")})

    @property
    def are_posts(self) -> bool:
        """Whether the content is a thread."""
        return (
            self.pages >= MIN_SHARE * self.repeats
            and self.own_words <= MAX_OWN_WORDS * self.pages
            and self.words >= MIN_WORDS * self.blocks
            and self.amounts <= MAX_AMOUNTS * self.pages
            and all(map(self._are_marks, (self.lost, self.new)))
        )

    def _are_marks(self, counts: Counter[int]) -> bool:
        own = [count for count in counts.values() if count <= MAX_OF_POST * self.pages]
        return (
            max(counts.values(), default=0) >= MIN_COMMON * self.pages
            and len(own) >= MIN_POSTS
            and sum(own) >= MIN_OWN * self.pages
        )

    @property
    def may_be_posts(self) -> bool:
        """Whether the content may be a thread: of rows that several posts share it is known only which ones differ.

        Each page of a thread lacks another line. Those of a family lack the same ones, the name and the price of the
        first thing.
        """
        own = [count for count in self.lost.values() if count < MIN_COMMON * self.pages]
        is_one = MIN_OWN * self.pages <= sum(own) <= MAX_OWN * self.pages
        return self.are_posts or (self.are_joined and len(own) >= MIN_POSTS and is_one)
