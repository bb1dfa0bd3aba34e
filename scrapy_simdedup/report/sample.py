"""Random samples in bounded memory, and the texts of dropped pages and their originals that a crawl keeps."""

from __future__ import annotations

import heapq
import json
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from scrapy_simdedup.page.page import Block
from scrapy_simdedup.report.comparison import Difference, Line, diff_lines, role_label
from scrapy_simdedup.report.data import AuditedPair

if TYPE_CHECKING:
    from scrapy_simdedup.detect.verdict import Verdict

Name = TypeVar("Name", bound="str | tuple[Any, ...]")
Value = TypeVar("Value")
MAX_TEXT_LENGTH = 100_000
MAX_SHOWN_LINES, MAX_LINE_LENGTH = 25, 400
"""Differing lines of a pair that are shown, and characters of each."""


def random_rank(name: str | bytes) -> int:
    """The rank of a name in a random order that is the same in every run: a digest of the name."""
    raw = name if isinstance(name, bytes) else name.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(raw, digest_size=8).digest(), "big")


class Reservoir(Generic[Name, Value]):
    """A random sample of ``size`` named values: those whose names come first by a rank, mostly :func:`random_rank`."""

    def __init__(self, size: int, rank: Callable[[Any], int] = random_rank) -> None:
        self._size, self._rank = size, rank
        self._values: dict[Name, Value] = {}
        self._last: list[tuple[int, Name]] = []
        """A heap of negated ranks with their names; the name that must go next is the first."""

    def wants(self, name: Name) -> bool:
        """Whether a value of this name would be kept."""
        return name not in self._values and (len(self._values) < self._size or -self._rank(name) > self._last[0][0])

    def put(self, name: Name, value: Value) -> None:
        """Keep a value if its name is wanted, in place of another value if the sample is full."""
        if self.wants(name):
            self._values[name] = value
            heapq.heappush(self._last, (-self._rank(name), name))
            if len(self._values) > self._size:
                del self._values[heapq.heappop(self._last)[1]]

    def get(self, name: Name) -> Value | None:
        """The value that is kept under the name, if any."""
        return self._values.get(name)

    def values(self) -> Iterable[Value]:
        """The values that are kept, in the random order."""
        return (value for _, value in self.items())

    def items(self) -> Iterable[tuple[Name, Value]]:
        """The names and values that are kept, in the random order."""
        return ((name, self._values[name]) for _, name in sorted(self._last, reverse=True))


@dataclass(frozen=True, slots=True)
class DroppedPair:
    """A dropped page beside its original, with the packed texts of both."""

    url: str
    verdict: Verdict
    original: bytes
    dropped: bytes

    def audited(self) -> AuditedPair:
        """The pair as the report shows it, with the lines that differ."""
        found = diff_lines(unpack_text(self.original), unpack_text(self.dropped))
        shown = tuple(
            Difference(line.role, *(text and text[:MAX_LINE_LENGTH] for text in line[1:]))
            for line in found[:MAX_SHOWN_LINES]
        )
        return AuditedPair(
            original=self.verdict.original,
            dropped=self.url,
            similarity=self.verdict.similarity or 0.0,
            distance=self.verdict.distance,
            facts=(),
            lines=shown,
            more=len(found) - len(shown),
            own_words=self.verdict.own_words,
        )


def pack_text(blocks: Iterable[Block]) -> bytes:
    """The text of a page's blocks with their roles, compressed."""
    lines, left = [], MAX_TEXT_LENGTH
    for block in blocks:
        text = " ".join(block.text.split())[:left]
        if text:
            lines.append((role_label(block), text))
            left -= len(text)
    return zlib.compress(json.dumps(lines).encode())


def unpack_text(packed: bytes) -> list[Line]:
    """The lines that :func:`pack_text` packed."""
    return [Line(*line) for line in json.loads(zlib.decompress(packed))]
