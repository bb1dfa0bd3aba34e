"""Pages that repeat one original, found in two readings of a store so that memory stays bounded."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.report.prints import differs, print_of

if TYPE_CHECKING:
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
    """Pages with one content."""

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
    """How many pages repeat the representative."""
    members: tuple[Member, ...]
    """Some of them."""
    shingles: int
    """Distinct runs of words in the representative's content; 0 where that is not known."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def cluster_id(site: str, key: bytes) -> str:
    """The id of the cluster whose first page has a key."""
    return blake2b(site.encode("utf-8", "surrogatepass") + b"\0" + key, digest_size=6).hexdigest()


@dataclass(frozen=True, slots=True, order=True)
class Big:
    """A cluster with many pages."""

    repeats: int
    """About how many there are besides the first."""
    site: str
    key: bytes
    """That of the first."""
    heirs: tuple[bytes, ...]
    """The keys of those that took the first one's place."""


class Counting:
    """The first reading: which clusters are the biggest.

    Give it all records, site by site, then take :attr:`biggest`.

    Args:
        limit: how many clusters are wanted.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._site = ""
        self._repeats: Counter[bytes] = Counter()
        self._heirs: dict[bytes, bytes] = {}
        """Of those that took the first one's place, the key of that."""
        self._heap: list[Big] = []
        self.total = 0
        """Clusters."""

    def add(self, site: str, record: Record) -> None:
        """Count a record."""
        if site != self._site:
            self._end_site()
            self._site = site
        if record.original is None or record.original == record.key or not record.settled:
            return
        self._repeats[record.original] += 1
        if record.state != "alias":
            self._heirs[record.key] = record.original

    @property
    def biggest(self) -> list[Big]:
        """Those with the most repeats first; all records must have been given."""
        self._end_site()
        return sorted(self._heap, key=lambda found: (-found.repeats, found.site, found.key))

    def _end_site(self) -> None:
        heirs: defaultdict[bytes, list[bytes]] = defaultdict(list)
        for heir, first in self._heirs.items():
            self._repeats[first] += self._repeats.pop(heir, 0)
            heirs[first].append(heir)
        self.total += len(self._repeats)
        for first, repeats in self._repeats.items():
            heapq.heappush(self._heap, Big(repeats, self._site, first, tuple(heirs.get(first, ()))))
            if len(self._heap) > self._limit:
                heapq.heappop(self._heap)
        self._repeats.clear()
        self._heirs.clear()


@dataclass(slots=True)
class _Found:
    key: bytes
    first: Record | None = None
    stands: Record | None = None
    """The newest of those that took the first one's place, else the first, if it was delivered."""
    pages: int = 0
    members: list[Record] = field(default_factory=list)


class Collecting:
    """The second reading: the clusters that were chosen, and some of their pages.

    Args:
        biggest: what :attr:`Counting.biggest` gave.
        members: how many repeats are wanted of each.
        run: count the repeats of this run alone; None counts those of all.
    """

    def __init__(self, biggest: list[Big], members: int, run: str | None = None) -> None:
        self._biggest, self._members, self._run = biggest, members, run
        self._found = {(big.site, big.key): _Found(big.key) for big in biggest}
        self._found |= {(big.site, heir): self._found[big.site, big.key] for big in biggest for heir in big.heirs}
        self.sites = {big.site for big in biggest}
        """The sites that need to be read."""

    def add(self, site: str, record: Record) -> None:
        """Look at a record."""
        own = self._found.get((site, record.key))
        if own is not None and own.key == record.key and record.state != "released":
            own.first = record
        found = self._found.get((site, record.original or record.key))
        if found is None or not record.settled:
            return
        if record.state != "alias" and (found.stands is None or _rank(found.stands) < _rank(record)):
            found.stands = record
        if self._run in {None, record.run}:
            found.pages += 1
            if len(found.members) <= self._members:  # one more, as the representative may be among them
                found.members.append(record)

    @property
    def clusters(self) -> list[Cluster]:
        """The clusters, the biggest first."""
        made = (_cluster(big, self._found[big.site, big.key], self._members, self._run) for big in self._biggest)
        return sorted((cluster for cluster in made if cluster.repeats), key=lambda cluster: -cluster.repeats)


def _rank(record: Record) -> tuple[bool, int]:
    return record.original is not None, record.id


def _cluster(big: Big, found: _Found, members: int, run: str | None) -> Cluster:
    stands = found.stands or found.first
    print_ = print_of(stands)
    repeats = found.pages
    if stands is not None and stands is found.stands and run in {None, stands.run}:
        repeats -= 1
    shown = [member for member in found.members if stands is None or member.id != stands.id][:members]
    return Cluster(
        id=cluster_id(big.site, big.key),
        site=big.site,
        original=None if found.first is None else found.first.url,
        representative=None if stands is None else stands.url,
        size=repeats + (stands is not None),
        repeats=repeats,
        members=tuple(
            Member(member.url, member.kind, member.similarity or 0.0, differs(print_, print_of(member)))
            for member in shown
        ),
        shingles=print_.content if print_ else 0,
    )
