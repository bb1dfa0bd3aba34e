"""Pages that repeat one original, found in two readings of a store so that memory stays bounded."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.errors import FingerprintMismatch
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint

if TYPE_CHECKING:
    from scrapy_simdedup.detect.history_notes import Left
    from scrapy_simdedup.store.base import Record


@dataclass(frozen=True, slots=True)
class Member:
    """A page that repeats an original."""

    url: str
    kind: str
    similarity: float
    """Share of common content, 0..1."""
    differs: tuple[str, ...]
    """What is not the same, as far as fingerprints tell."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """An original and its repeats."""

    site: str
    original: str | None
    """Its URL; None if the store does not have it any more."""
    repeats: int
    """How many pages repeat it."""
    members: tuple[Member, ...]
    """Some of them."""
    shingles: int
    """Distinct runs of words in the original's content; 0 where that is not known."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


class Counting:
    """The first reading: which originals have the most repeats.

    Give it all records, site by site, then take :attr:`biggest`.

    Args:
        limit: how many originals are wanted.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._site = ""
        self._repeats: Counter[bytes] = Counter()
        self._heap: list[tuple[int, str, bytes]] = []
        self.total = 0
        """Originals that have repeats."""
        self.sizes: Counter[int] = Counter()
        """How many originals have how many repeats."""

    def add(self, site: str, record: Record) -> None:
        """Count a record."""
        if site != self._site:
            self._end_site()
            self._site = site
        if record.original is not None:
            self._repeats[record.original] += 1

    @property
    def biggest(self) -> list[tuple[int, str, bytes]]:
        """Repeats, site and key of each, those with the most repeats first; all records must have been given."""
        self._end_site()
        return sorted(self._heap, key=lambda found: (-found[0], *found[1:]))

    def _end_site(self) -> None:
        self.total += len(self._repeats)
        self.sizes.update(self._repeats.values())
        for original, repeats in self._repeats.items():
            heapq.heappush(self._heap, (repeats, self._site, original))
            if len(self._heap) > self._limit:
                heapq.heappop(self._heap)
        self._repeats.clear()


@dataclass(slots=True)
class _Found:
    original: Record | None = None
    members: list[Record] = field(default_factory=list)


class Collecting:
    """The second reading: the originals that were chosen, and some of the pages that repeat them.

    Args:
        biggest: what :attr:`Counting.biggest` gave.
        members: how many repeats are wanted of each.
    """

    def __init__(self, biggest: list[tuple[int, str, bytes]], members: int) -> None:
        self._biggest, self._members = biggest, members
        self._found = {(site, key): _Found() for _, site, key in biggest}
        self.sites = {site for _, site, _ in biggest}
        """The sites that need to be read."""

    def add(self, site: str, record: Record) -> None:
        """Look at a record."""
        found = self._found.get((site, record.key))
        if found is not None and record.state != "released":
            found.original = record
        if record.original is not None:
            found = self._found.get((site, record.original))
            if found is not None and len(found.members) < self._members:
                found.members.append(record)

    @property
    def clusters(self) -> list[Cluster]:
        """The clusters, the biggest first."""
        made = []
        for repeats, site, key in self._biggest:
            found = self._found[site, key]
            print_ = print_of(found.original)
            members = tuple(
                Member(member.url, member.kind, member.similarity or 0.0, differs(print_, print_of(member)))
                for member in found.members
            )
            original = None if found.original is None else found.original.url
            made.append(Cluster(site, original, repeats, members, print_.content if print_ else 0))
        return made


def print_of(record: Record | Left | None) -> PageFingerprint | None:
    """The record's fingerprint, or None if there is none that this version can read."""
    try:
        return None if record is None else PageFingerprint.from_bytes(record.fingerprint)
    except FingerprintMismatch:
        return None


def differs(one: PageFingerprint | None, other: PageFingerprint | None) -> tuple[str, ...]:
    """What is not the same on two pages, as far as their fingerprints tell."""
    if one is None or other is None:
        return ()
    if one.body == other.body:
        return ("nothing",)
    if one.exact == other.exact and not one.unjudged:
        return ("markup",)
    more = other.content - one.content
    facts = {
        "title": one.title != other.title,
        "h1": one.h1 != other.h1,
        f"{abs(more)} shingles {'more' if more > 0 else 'fewer'}": more != 0,
        "frame": one.total - one.content != other.total - other.content,
    }
    return tuple(name for name, does in facts.items() if does) or ("some words",)
