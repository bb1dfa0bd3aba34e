"""The prefixes of a site: first segments of paths below which pages are that are without it as well, such as ``/www/``.

Nothing in the words of a URL tells them from sections. So they are found by pages of one content, of which one has a
path that is the other's behind one more segment. From then on the segment is a part of URLs as any other, and what is
known of it has to be learned from trials.
"""

from __future__ import annotations

from collections import Counter

from scrapy_simdedup.urls.given import SESSION_PLACEHOLDER
from scrapy_simdedup.urls.parts import UrlParts

MIN_CONTENTS = 3
"""Different contents that were found with and without a first segment before it is taken for a prefix."""
MAX_COMPARED = 20
"""Repeats that are compared for one first segment of theirs; each costs a look into the log of URLs."""
MAX_PREFIXES = 20
MAX_LENGTH = 24
MAX_SEGMENTS = 500
"""First segments whose repeats are compared."""


class Prefixes:
    """The first segments that may be prefixes, and those that are."""

    __slots__ = ("_compared", "_witnesses", "adopted")

    def __init__(self) -> None:
        self.adopted: frozenset[str] = frozenset()
        """The prefixes, in lower case."""
        self._compared: Counter[str] = Counter()
        self._witnesses: dict[str, set[int]] = {}
        """First segment → the contents that were found with and without it."""

    def wants(self, url: UrlParts) -> bool:
        """Whether a repeat should be compared with the first page of its content."""
        first = url.segments[0] if url.segments else ""
        if len(self.adopted) >= MAX_PREFIXES or self._compared[first] >= MAX_COMPARED:
            return False
        return first in self._compared or len(self._compared) < MAX_SEGMENTS

    def candidate(self, one: UrlParts, other: UrlParts) -> str | None:
        """The first segment that only one of two URLs has, if the rest of its path may be the path of the other."""
        self._compared[one.segments[0] if one.segments else ""] += 1
        short, long = sorted((one.segments, other.segments), key=len)
        if not short or not 0 < len(long) - len(short) <= 2:  # two: what comes after a prefix may be a locale
            return None
        first = long[0]
        is_plain = len(first) <= MAX_LENGTH and not first.isdecimal() and first != SESSION_PLACEHOLDER
        return first if is_plain else None

    def is_proven(self, prefix: str, behind: UrlParts, other: UrlParts, content: int) -> bool:
        """Whether a first segment is a prefix, if the URL that has it and another that lacks it have one content."""
        if behind.segments != other.segments or _locale(behind) != _locale(other):
            return False
        witnesses = self._witnesses.setdefault(prefix, set())
        witnesses.add(content)
        return len(witnesses) >= MIN_CONTENTS

    def adopt(self, prefix: str) -> None:
        """Take a first segment for a prefix from now on."""
        self._witnesses.pop(prefix, None)
        if len(self.adopted) < MAX_PREFIXES:
            self.adopted |= {prefix}


def _locale(url: UrlParts) -> str | None:
    return dict(url.parts).get("locale")
