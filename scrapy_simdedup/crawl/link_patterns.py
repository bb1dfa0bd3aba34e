"""The patterns of links: how many of a pattern were tried, and the bound for how many lead to new content."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit
from weakref import WeakSet

from scrapy_simdedup.detect.names import host_of

if TYPE_CHECKING:
    from scrapy import Request

MAX_PATTERNS = 50_000
"""Patterns that are counted; beyond, the oldest is forgotten, and tried again."""
MAX_CHAIN = 3
"""Repeats in a row behind which all links of a host are one pattern. A server that ignores the end of a path gives one
content under paths that grow forever, and so under patterns that never end."""
END_BOUND = 0.05
"""A pattern ends when the upper bound for its share of links that lead to new content is below."""
CONFIDENCE_Z = 1.96
"""Standard deviations of a two-sided confidence of 95 %."""
_HAS_DIGIT = re.compile(r"\d")


def wilson_upper(successes: int, trials: int) -> float:
    """The upper end of Wilson's interval for a share, at a confidence of 95 %.

    >>> wilson_upper(0, 0), round(wilson_upper(0, 72), 4), round(wilson_upper(0, 73), 4)
    (1.0, 0.0507, 0.05)
    """
    if not trials:
        return 1.0
    share, square = successes / trials, CONFIDENCE_Z**2 / trials
    return (share + square / 2 + math.sqrt(square * (share * (1 - share) + square / 4))) / (1 + square)


def link_pattern(url: str, chain: int = 1) -> str:
    """The pattern of a link: its host, its path, and the sorted names of its parameters.

    Segments with a digit become ``#``, segments of 12 and more characters ``*``.

    >>> link_pattern("https://blog.example/2024/post-7/a?p=1&replytocom=9")
    'blog.example/#/#/a?p&replytocom'
    >>> link_pattern("https://blog.example/a/b/c", chain=4)
    'blog.example/...'
    """
    host = host_of(url)
    if chain > MAX_CHAIN:
        return f"{host}/..."
    parts = urlsplit(url)
    segments = ("#" if _HAS_DIGIT.search(word) else word if len(word) < 12 else "*" for word in parts.path.split("/"))
    names = sorted({name[:40] for name, _ in parse_qsl(parts.query, keep_blank_values=True)})
    return host + "/".join(segments) + ("?" + "&".join(names) if names else "")


class LinkPatterns:
    """Counts, pattern by pattern, how many links were tried, and how many of them led to new content.

    Args:
        counts: pattern → links deferred, of these tried, of these led to new content; those of a job so far.
    """

    def __init__(self, counts: dict[str, list[int]]) -> None:
        self._counts = counts
        self._in_flight: dict[str, WeakSet[Request]] = {}
        """Trials on their way. One that is lost on it, as another filter took it, is not counted for long."""

    def defer(self, pattern: str) -> int:
        """Count a link that is deferred; how many the pattern has."""
        counts = self._of(pattern)
        counts[0] += 1
        return counts[0]

    def begin(self, pattern: str, request: Request) -> None:
        """Expect the outcome of a trial."""
        self._in_flight.setdefault(pattern, WeakSet()).add(request)

    def end(self, pattern: str, request: Request, *, is_new: bool | None) -> None:
        """Count the outcome of a trial; None if it says nothing."""
        in_flight = self._in_flight.get(pattern)
        if in_flight is not None:
            in_flight.discard(request)
            if not in_flight:
                del self._in_flight[pattern]
        if is_new is not None:
            counts = self._of(pattern)
            counts[1] += 1
            counts[2] += is_new

    def bound(self, pattern: str) -> float:
        """The upper bound for the share of the pattern's links that lead to new content."""
        _, tried, new = self._counts.get(pattern, (0, 0, 0))
        return wilson_upper(new, tried)

    def is_undecided(self, pattern: str) -> bool:
        """Whether the pattern ends if all trials on their way lead to nothing new."""
        in_flight = self._in_flight.get(pattern)
        if not in_flight:
            return False
        _, tried, new = self._counts.get(pattern, (0, 0, 0))
        return wilson_upper(new, tried + len(in_flight)) < END_BOUND <= wilson_upper(new, tried)

    def _of(self, pattern: str) -> list[int]:
        counts = self._counts.get(pattern)
        if counts is None:
            if len(self._counts) >= MAX_PATTERNS:
                del self._counts[next(iter(self._counts))]
            counts = self._counts[pattern] = [0, 0, 0]
        return counts
