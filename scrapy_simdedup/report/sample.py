"""A random sample of pages with their texts, in bounded memory."""

from __future__ import annotations

import heapq
import json
import zlib
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Generic, TypeVar

from scrapy_simdedup.report.data import Audited
from scrapy_simdedup.report.differences import Difference, Line, differences, role_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_simdedup.detect.verdict import Verdict
    from scrapy_simdedup.page.page import Block

Value = TypeVar("Value")

MOST_TEXT = 100_000
"""Characters that are kept of a page."""
SHOWN_LINES, SHOWN_TEXT = 25, 400
"""Differing lines of a pair that are shown, and characters of each."""


class Reservoir(Generic[Value]):
    """Keeps those whose names come first in a random order: each has the same chance, however many there are.

    Args:
        size: how many.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: dict[str, Value] = {}
        self._last: list[tuple[int, str]] = []
        """The names by their ranks; the one to go first is the first."""

    def wants(self, name: str) -> bool:
        """Whether it would be kept."""
        return name not in self._values and (len(self._values) < self._size or -_rank(name) > self._last[0][0])

    def put(self, name: str, value: Value) -> None:
        """Keep it, if it is wanted; another may have to go."""
        if self.wants(name):
            self._values[name] = value
            heapq.heappush(self._last, (-_rank(name), name))
            if len(self._values) > self._size:
                del self._values[heapq.heappop(self._last)[1]]

    def get(self, name: str) -> Value | None:
        """What is kept under the name."""
        return self._values.get(name)

    def values(self) -> Iterable[Value]:
        """All that is kept, in the random order."""
        return (self._values[name] for _, name in sorted(self._last, reverse=True))


@dataclass(frozen=True, slots=True)
class Pair:
    """A dropped page beside its original."""

    url: str
    verdict: Verdict
    original: bytes
    """Its text; see :func:`pack`."""
    dropped: bytes

    def audited(self) -> Audited:
        """The pair with the lines that differ."""
        found = differences(unpack(self.original), unpack(self.dropped))
        shown = tuple(
            Difference(line.role, *(text and text[:SHOWN_TEXT] for text in line[1:])) for line in found[:SHOWN_LINES]
        )
        return Audited(
            original=self.verdict.original,
            dropped=self.url,
            similarity=self.verdict.similarity or 0.0,
            distance=self.verdict.distance,
            facts=(),
            lines=shown,
            more=len(found) - len(shown),
        )


def pack(blocks: Iterable[Block]) -> bytes:
    """The text of a page, compressed."""
    lines, left = [], MOST_TEXT
    for block in blocks:
        text = " ".join(block.text.split())[:left]
        if text:
            lines.append((role_of(block), text))
            left -= len(text)
    return zlib.compress(json.dumps(lines).encode())


def unpack(packed: bytes) -> list[Line]:
    """What :func:`pack` packed."""
    return [Line(*line) for line in json.loads(zlib.decompress(packed))]


def _rank(name: str) -> int:
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
