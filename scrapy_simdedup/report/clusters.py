"""Clusters: the pages that repeat one original, found in two readings of a store so that memory stays bounded."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

from scrapy_simdedup.report.neighbours import fingerprint_differences, fingerprint_of, push_largest
from scrapy_simdedup.store.base import Record


@dataclass(frozen=True, slots=True)
class Member:
    """A page that repeats an original."""

    url: str
    kind: str
    similarity: float
    differs: tuple[str, ...]
    """What differs from the representative, as far as fingerprints tell."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """The pages of a site that have one content."""

    id: str
    """12 hex digits, made of the site and of the first page's key: the same in every run and store."""
    site: str
    original: str | None
    """The URL of the first page; None if the store does not have it any more."""
    representative: str | None
    """The URL of the page that later ones are compared with: the first, or a better copy; None if there is none."""
    size: int
    """How many pages there are, the representative counted."""
    repeats: int
    members: tuple[Member, ...]
    """Some of the repeats."""
    shingles: int
    """Distinct runs of words in the representative's content; 0 where that is not known."""


class ClusterSize(NamedTuple):
    """A cluster after the first reading: how many repeats it has, and which pages belong to it by their keys."""

    repeats: int
    """About how many pages the cluster has besides its first."""
    site: str
    key: bytes
    replacements: tuple[bytes, ...]
    """The keys of the pages that took the first page's place."""


class TopClusters:
    """The first reading: which clusters are the biggest.

    Add all records, site by site, then take :attr:`biggest`: at most ``limit`` clusters.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._site = ""
        self._repeats: Counter[bytes] = Counter()
        self._replacements: dict[bytes, bytes] = {}
        """By the key of a page that took the place of a cluster's first page: the key of the first page."""
        self._heap: list[ClusterSize] = []
        self.total: int = 0

    def add(self, site: str, record: Record) -> None:
        """Count one record."""
        if site != self._site:
            self._end_site()
            self._site = site
        if record.original is None or record.original == record.key or not record.settled:
            return
        self._repeats[record.original] += 1
        if record.state != "duplicate":
            self._replacements[record.key] = record.original

    @property
    def biggest(self) -> list[ClusterSize]:
        """The clusters with the most repeats, these first; all records must have been added."""
        self._end_site()
        return sorted(self._heap, key=lambda found: (-found.repeats, found.site, found.key))

    def _end_site(self) -> None:
        replacements: defaultdict[bytes, list[bytes]] = defaultdict(list)
        for replacement, first in self._replacements.items():
            self._repeats[first] += self._repeats.pop(replacement, 0)
            replacements[first].append(replacement)
        self.total += len(self._repeats)
        for first, repeats in self._repeats.items():
            push_largest(
                self._heap, ClusterSize(repeats, self._site, first, tuple(replacements.get(first, ()))), self._limit
            )
        self._repeats.clear()
        self._replacements.clear()


@dataclass(slots=True)
class _ClusterPages:
    """What the second reading finds of one cluster."""

    key: bytes
    first: Record | None = None
    representative: Record | None = None
    """The newest page that took the first page's place, else the first page if it was delivered."""
    pages: int = 0
    members: list[Record] = field(default_factory=list)


class ClusterDetails:
    """The second reading: the biggest clusters with some of their pages.

    Of each cluster so many members are wanted; the repeats of one run are counted, or of all.
    """

    def __init__(self, biggest: list[ClusterSize], members: int, run: str | None = None) -> None:
        self._biggest, self._members, self._run = biggest, members, run
        self._found = {(big.site, big.key): _ClusterPages(big.key) for big in biggest}
        self._found |= {(big.site, key): self._found[big.site, big.key] for big in biggest for key in big.replacements}
        self.sites: set[str] = {big.site for big in biggest}
        """The sites whose records must be added."""

    def add(self, site: str, record: Record) -> None:
        """Take one record in, if it belongs to one of the clusters."""
        own = self._found.get((site, record.key))
        if own is not None and own.key == record.key and record.state != "released":
            own.first = record
        found = self._found.get((site, record.original or record.key))
        if found is None or not record.settled:
            return
        if record.state != "duplicate" and (
            found.representative is None or _representative_rank(found.representative) < _representative_rank(record)
        ):
            found.representative = record
        if self._run in {None, record.run}:
            found.pages += 1
            if len(found.members) <= self._members:  # one more, as the representative may be among them
                found.members.append(record)

    @property
    def clusters(self) -> list[Cluster]:
        """The clusters, the biggest first."""
        clusters = (_cluster(big, self._found[big.site, big.key], self._members, self._run) for big in self._biggest)
        return sorted((cluster for cluster in clusters if cluster.repeats), key=lambda cluster: -cluster.repeats)


def _representative_rank(record: Record) -> tuple[bool, int]:
    return record.original is not None, record.id


def _cluster(big: ClusterSize, found: _ClusterPages, members: int, run: str | None) -> Cluster:
    representative = found.representative or found.first
    fp = fingerprint_of(representative)
    repeats = found.pages
    if representative is not None and representative is found.representative and run in {None, representative.run}:
        repeats -= 1
    shown = [member for member in found.members if representative is None or member.id != representative.id][:members]
    return Cluster(
        id=blake2b(big.site.encode("utf-8", "surrogatepass") + b"\0" + big.key, digest_size=6).hexdigest(),
        site=big.site,
        original=None if found.first is None else found.first.url,
        representative=None if representative is None else representative.url,
        size=repeats + (representative is not None),
        repeats=repeats,
        members=tuple(
            Member(
                member.url, member.kind, member.similarity or 0.0, fingerprint_differences(fp, fingerprint_of(member))
            )
            for member in shown
        ),
        shingles=fp.content if fp else 0,
    )
