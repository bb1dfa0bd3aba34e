"""Clusters, the pages that repeat one original, and near pages, which were kept though they are much like another.

Both are found in two readings of a store, so that memory stays bounded.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TypeAlias

from scrapy_simdedup.detect.events import COMPARED_JOURNAL, PAGE_EVENTS, PageCompared, known_events
from scrapy_simdedup.display import plural
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.report.neighbours import Largest, fingerprint_differences, fingerprint_of
from scrapy_simdedup.store.base import FingerprintStore, Record


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
    """Some of the pages that repeat the representative."""
    shingles: int
    """Distinct runs of words in the representative's content; 0 where that is not known."""


@dataclass(slots=True)
class _ClusterPages:
    """What is known of one cluster."""

    site: str
    key: bytes
    replacements: tuple[bytes, ...]
    """The keys of the pages that took the first page's place."""
    first: Record | None = None
    representative: Record | None = None
    """The newest page that took the first page's place, else the first page if it was delivered."""
    pages: int = 0
    members: list[Record] = field(default_factory=list)


class Clusters:
    """The biggest clusters of a store: add all records, site by site, then those of :attr:`sites` as members.

    Of each cluster some ``members`` are shown, and the repeats of one run, or of all.
    """

    def __init__(self, limit: int, members: int, run: str | None = None) -> None:
        self._members, self._run = members, run
        self._site = ""
        self._repeats: Counter[bytes] = Counter()
        self._replacements: dict[bytes, bytes] = {}
        """By the key of a page that took the place of a cluster's first page: the key of the first page."""
        self._biggest: Largest[_ClusterPages] = Largest(limit)
        self._found: dict[tuple[str, bytes], _ClusterPages] = {}
        self.total: int = 0

    def add(self, site: str, record: Record) -> None:
        """The first reading: count one record."""
        if site != self._site:
            self._end_site()
            self._site = site
        if record.original is None or record.original == record.key or not record.settled:
            return
        self._repeats[record.original] += 1
        if record.state != "duplicate":
            self._replacements[record.key] = record.original

    def _end_site(self) -> None:
        replacements: defaultdict[bytes, list[bytes]] = defaultdict(list)
        for replacement, first in self._replacements.items():
            self._repeats[first] += self._repeats.pop(replacement, 0)
            replacements[first].append(replacement)
        self.total += len(self._repeats)
        for first, repeats in self._repeats.items():
            found = _ClusterPages(self._site, first, tuple(replacements.get(first, ())))
            self._biggest.add((repeats, self._site, first), found)
        self._repeats.clear()
        self._replacements.clear()

    @property
    def sites(self) -> set[str]:
        """The sites that must be read again, for members."""
        self._end_site()
        self._found = {(big.site, key): big for big in self._biggest for key in (big.key, *big.replacements)}
        return {site for site, _ in self._found}

    def add_member(self, site: str, record: Record) -> None:
        """The second reading: take in a record, if it belongs to a cluster."""
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
        in_order = sorted(self._biggest, key=lambda found: (found.site, found.key))
        clusters = (_cluster(found, self._members, self._run) for found in in_order)
        return sorted((cluster for cluster in clusters if cluster.repeats), key=lambda cluster: -cluster.repeats)


def _representative_rank(record: Record) -> tuple[bool, int]:
    return record.original is not None, record.id


def _cluster(found: _ClusterPages, members: int, run: str | None) -> Cluster:
    representative = found.representative or found.first
    fp = fingerprint_of(representative)
    repeats = found.pages
    if representative is not None and representative is found.representative and run in {None, representative.run}:
        repeats -= 1
    shown = [member for member in found.members if representative is None or member.id != representative.id][:members]
    return Cluster(
        id=blake2b(found.site.encode("utf-8", "surrogatepass") + b"\0" + found.key, digest_size=6).hexdigest(),
        site=found.site,
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


ComparedPages: TypeAlias = dict[tuple[str, bytes], PageCompared]

MAX_HELD = 50_000
"""Events of compared pages that are held at a time, the newest."""
KEPT_BY = {
    "within_budget": "SIMDEDUP_MAX_COPIES: more pages with its content may be kept",
    "better": "SIMDEDUP_PREFER: it is a better copy",
    "in_work": "its original was still in work",
    "no_item_yet": "its original gave no item",
    "for_links": "its links: it gave no item in an earlier run",
    "other_callback": "its callback: its original was got by another",
}
"""By the reason of a verdict: what kept a page that is similar enough to be dropped."""


@dataclass(frozen=True, slots=True)
class NearPage:
    """A kept page that shares much of its text with another page."""

    url: str
    site: str
    original: str | None
    """The URL of the page that it was compared with; None where that is not known any more."""
    similarity: float
    own_words: int | None
    """Words of its longest text unit that the original lacks; None where that is not known."""
    kept_by: str | None
    """The reason why the page was kept, in words; None where that is not known."""


async def read_compared_pages(store: FingerprintStore, site: str | None = None) -> ComparedPages:
    """What runs noted of the compared pages of a site (None: all sites), by site and key, the newest event of each."""
    newest: Largest[PageCompared] = Largest(MAX_HELD)
    async for event in known_events(store, COMPARED_JOURNAL, PAGE_EVENTS):
        if isinstance(event, PageCompared) and site in {None, event.site}:
            newest.add(event.at, event)
    return {(event.site, event.key): event for event in reversed(list(newest))}


def event_of(record: Record, event: PageCompared | None) -> PageCompared | None:
    """The event, if it is about the page as its record is; None if the page has changed since, or has another verdict.

    A page that did not change when it was fetched again is still near what it was near before.
    """
    if event is None or event.dropped != (record.state == "duplicate"):
        return None
    is_of_record = event.run == record.run if event.dropped else record.last_changed <= event.at
    return event if is_of_record else None


def what_kept(event: PageCompared, one: PageFingerprint | None, original: PageFingerprint | None) -> str:
    """What kept a near page, in words; without the fingerprint of its original nobody knows whether they are twins."""
    if event.reason == "own_text":
        return f"own text: {plural(event.own_words or 0, 'word')} in one place that its original lacks"
    if event.reason in KEPT_BY:
        return KEPT_BY[event.reason]
    return (_what_makes_twins(one, original) if one and original else None) or "its similarity, which is too low"


def _what_makes_twins(one: PageFingerprint, other: PageFingerprint) -> str | None:
    """What makes two pages of two that are nearly alike; see ``are_twins`` in ``fingerprint/similarity.py``."""
    other_title = not one.h1 and not other.h1 and 0 != one.title != other.title != 0
    facts = {
        "another identity (SIMDEDUP_IDENTITY)": one.identity_differs(other),
        "another h1": 0 != one.h1 != other.h1 != 0,
        "other data in its scripts": 0 != one.data != other.data != 0,
        "another title and other numbers": other_title and one.numbers != other.numbers,
    }
    return next((name for name, does in facts.items() if does), None)


class NearPages:
    """The most similar near pages of a store: add all records, then those of :attr:`sites` as originals."""

    def __init__(self, compared: ComparedPages, limit: int) -> None:
        self._compared = compared
        self._nearest: Largest[tuple[str, Record, PageCompared | None]] = Largest(limit)
        self._originals: dict[tuple[str, str], Record | None] = {}
        self.total: int = 0

    def add(self, site: str, record: Record) -> None:
        """The first reading: count the record if its page is near, and hold it if it is among the most similar."""
        if record.state in {"duplicate", "released", "stub"}:
            return
        event = event_of(record, self._compared.get((site, record.key)))
        if event is None and record.kind != "near":
            return
        self.total += 1
        self._nearest.add(event.similarity if event else record.similarity or 0.0, (site, record, event))

    @property
    def sites(self) -> set[str]:
        """The sites that must be read again, for originals."""
        self._originals = {(site, event.original): None for site, _, event in self._nearest if event}
        return {site for site, _ in self._originals}

    def add_original(self, site: str, record: Record) -> None:
        """The second reading: hold the record if a near page was compared with its page."""
        if (site, record.url) in self._originals and record.state != "released":
            self._originals[site, record.url] = record

    @property
    def pages(self) -> tuple[NearPage, ...]:
        """The near pages, the most similar first."""
        return tuple(self._page(*found) for found in self._nearest)

    def _page(self, site: str, record: Record, event: PageCompared | None) -> NearPage:
        if event is None:
            return NearPage(record.url, site, None, record.similarity or 0.0, None, None)
        original = fingerprint_of(self._originals.get((site, event.original)))
        kept_by = what_kept(event, fingerprint_of(record), original)
        return NearPage(record.url, site, event.original, event.similarity, event.own_words, kept_by)
