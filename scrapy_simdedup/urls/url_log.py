"""URLs that are remembered: those fetched, and those skipped, which may have to be fetched after all."""

from __future__ import annotations

import zlib
from array import array

BLOCK = 128
"""URLs compressed together."""

BY_RULES, BY_CONTENT = 0, 1
"""The two chains that a skip is a link of."""


class UrlLog:
    """A list of URLs, compressed to 10-20 bytes each, numbered from 0, readable one by one."""

    __slots__ = ("blocks", "tail")

    def __init__(self) -> None:
        self.blocks: list[bytes] = []
        self.tail: list[str] = []

    def __len__(self) -> int:
        return BLOCK * len(self.blocks) + len(self.tail)

    def __getitem__(self, number: int) -> str:
        return self.block(number // BLOCK)[number % BLOCK]

    def append(self, url: str) -> None:
        """Add a URL at the end."""
        self.tail.append(url)
        if len(self.tail) == BLOCK:
            self.blocks.append(zlib.compress("\n".join(self.tail).encode("utf-8", "surrogatepass"), 6))
            self.tail.clear()

    def block(self, number: int) -> list[str]:
        """The URLs from ``number * BLOCK`` on."""
        if number < len(self.blocks):
            return zlib.decompress(self.blocks[number]).decode("utf-8", "surrogatepass").split("\n")
        return self.tail


class SkipLog:
    """Skipped URLs, numbered from 1.

    Each is a link of two chains, that of the rules which skipped it and that of the content it was skipped in favour
    of. So a chain of any length is given back in no time, and walked little by little.
    """

    __slots__ = ("before", "given", "urls", "waiting")

    def __init__(self) -> None:
        self.urls = UrlLog()
        self.before = (array("I"), array("I"))
        """Per chain: skip → the skip before it; 0 ends a chain."""
        self.given = bytearray()
        """One bit per skip: it was given back."""
        self.waiting: list[tuple[int, int]] = []
        """What is being given back: chain, and the skip to go on with."""

    def add(self, url: str, before_by_rules: int, before_by_content: int) -> int:
        """Log a skip behind the latest of its two chains; returns its number."""
        self.urls.append(url)
        self.before[BY_RULES].append(before_by_rules)
        self.before[BY_CONTENT].append(before_by_content)
        number = len(self.urls)
        if number > 8 * len(self.given):
            self.given.append(0)
        return number

    def give_back(self, chain: int, latest: int) -> None:
        """Let the skips of a chain be fetched after all."""
        if latest:
            self.waiting.append((chain, latest))

    def take(self, links: int = 4000, blocks: int = 60) -> list[str]:
        """URLs to be fetched after all; walks so many links and reads so many blocks at most (some milliseconds)."""
        taken: list[str] = []
        at, urls = -1, list[str]()
        while self.waiting and links:
            chain, skip = self.waiting.pop()
            before = self.before[chain]
            while skip and links:
                links -= 1
                place, bit = skip - 1 >> 3, 1 << (skip - 1 & 7)
                if not self.given[place] & bit:
                    block, offset = divmod(skip - 1, BLOCK)
                    if block != at:
                        if not blocks:
                            links = 0
                            break
                        at, urls, blocks = block, self.urls.block(block), blocks - 1
                    self.given[place] |= bit
                    taken.append(urls[offset])
                skip = before[skip - 1]
            if skip:
                self.waiting.append((chain, skip))
        return taken
