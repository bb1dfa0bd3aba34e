"""Which content is known under which identity, and what had to be assumed to say so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simdedup.urls.keyed import MASK
from scrapy_simdedup.urls.sorted_map import SortedMap

if TYPE_CHECKING:
    from scrapy_simdedup.urls.hypotheses import Hypothesis
    from scrapy_simdedup.urls.patterns import Beliefs, Dropped, Reading

CONTENT_BITS = 48

MAX_ASSUMED = 8
"""Hypotheses behind one entry; a URL that needs more is not indexed."""

_MAX_SETS = 1 << 15

Tags = dict["Hypothesis", "int | None"]
"""What a page had of the parts that some hypotheses are about (see :func:`tag`); None where that is not known."""


@dataclass(frozen=True, slots=True)
class Known:
    """A fetched page that a URL leads to, if what is believed is right."""

    key: int
    """Its place in the index."""
    content: int
    mixed: bool
    """Whether pages of different content were found there: it stands for nothing any more."""
    tags: Tags
    """What the page had where it and the URL differ; empty if they are the same anyway."""


def tag(dropped: int) -> int:
    """Eight bits that tell apart what was dropped; 0 is kept for nothing."""
    return dropped & 0xFF or 1


def content_of(entry: int) -> int:
    """The content that an entry names."""
    return entry >> 16


class PageIndex:
    """Identity → content, under assumptions.

    An identity is the sum of the hashes of a URL's path and parts, so "the same URL without this part" is one
    subtraction. Each entry remembers the hypotheses by which parts were dropped from it, and counts only while all of
    them are believed: revoking a rule makes its entries void without touching them, and what a page will be under a
    rule that is not yet in force can be entered beforehand.
    """

    __slots__ = ("assumed", "entries", "numbers", "tags")

    def __init__(self) -> None:
        self.entries = SortedMap()
        """Identity → 48 bits of content, 15 bits that number the assumptions, 1 bit "mixed"."""
        self.tags = SortedMap()
        """Identity → a byte per assumption: what it dropped."""
        self.assumed: list[tuple[Hypothesis, ...]] = [()]
        self.numbers: dict[tuple[Hypothesis, ...], int] = {(): 0}

    def find(self, reading: Reading, beliefs: Beliefs) -> Known | None:
        """The page that a URL leads to."""
        key = reading.identity
        entry = self.look(beliefs, key)
        if entry is not None:
            mine = {h: tag(part) for h, part in reading.dropped}
            theirs = self.dropped_from(key, entry)
            tags = {h: theirs.get(h, 0) for h in {**mine, **theirs} if mine.get(h, 0) != theirs.get(h, 0)}
            return Known(key, content_of(entry), bool(entry & 1), tags)
        for hypothesis in beliefs.wide:  # pages that were met before this was believed
            key = reading.identity ^ hypothesis.salt
            entry = self.look(beliefs, key)
            if entry is not None:
                return self._found_before(key, entry, reading, hypothesis)
        for hypothesis in beliefs.defaults:
            key = reading.identity + hypothesis.shift & MASK
            entry = self.look(beliefs, key)
            if entry is not None:
                return self._found_before(key, entry, reading, hypothesis)
        return None

    def look(self, beliefs: Beliefs, key: int) -> int | None:
        """The entry at a key if its assumptions are believed."""
        entry = self.entries.get(key)
        if entry is None:
            return None
        number = entry >> 1 & 0x7FFF
        trusted = beliefs.trusted.get(number)
        if trusted is None:
            trusted = beliefs.trusted[number] = all(h in beliefs.at for h in self.assumed[number])
        return entry if trusted else None

    def is_mixed(self, key: int) -> bool:
        """Whether pages of different content were found at a key."""
        return bool((self.entries.get(key) or 0) & 1)

    def put(self, key: int, content: int, dropped: Dropped, *, mixed: bool = False, tagged: bool = True) -> None:
        """Enter a page; without tags it can be compared with, but does not tell where it differs."""
        if len(dropped) > MAX_ASSUMED:
            return
        dropped = sorted(dropped, key=lambda pair: pair[0].number)
        assumed = tuple(h for h, _ in dropped)
        number = self.numbers.get(assumed)
        if number is None:
            if len(self.assumed) >= _MAX_SETS:
                return
            number = self.numbers[assumed] = len(self.assumed)
            self.assumed.append(assumed)
        self.entries.put(key, content << 16 | number << 1 | mixed)
        if tagged and dropped:
            self.tags.put(key, sum(tag(part) << 8 * place for place, (_, part) in enumerate(dropped)))

    def mark(self, key: int, *, mixed: bool, content: int | None = None) -> None:
        """Change what an entry says of its content, if there is one."""
        entry = self.entries.get(key)
        if entry is not None:
            if content is not None:
                entry = content << 16 | entry & 0xFFFF
            self.entries.put(key, entry | 1 if mixed else entry & ~1)

    def dropped_from(self, key: int, entry: int) -> Tags:
        """What was dropped from the page of an entry."""
        assumed = self.assumed[entry >> 1 & 0x7FFF]
        packed = self.tags.get(key) if assumed else 0
        return {h: None if packed is None else packed >> 8 * place & 0xFF for place, h in enumerate(assumed)}

    def _found_before(self, key: int, entry: int, reading: Reading, rule: Hypothesis) -> Known:
        assumed = self.assumed[entry >> 1 & 0x7FFF]
        tags: Tags = dict.fromkeys([*(h for h, _ in reading.dropped), *assumed, rule])
        return Known(key, content_of(entry), bool(entry & 1), tags)
