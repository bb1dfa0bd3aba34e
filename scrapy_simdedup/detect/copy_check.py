"""The check whether a page that resembles originals of its site is a copy of them, and which of two copies is better.

1. The page is scored against each original that it resembles; its similarity says how much of their content they have
   in common. Twins are near at most (:func:`~scrapy_simdedup.fingerprint.similarity.are_twins`), those with another
   identity are vetoed.
2. Other originals with an equal text are copied, whatever else is known.
3. Of the other originals from the drop threshold on, those that may share nothing but boilerplate with the page are
   vetoed (see :mod:`~scrapy_simdedup.detect.site_boilerplate`).
4. The page is scored against the members of each cluster that is left: the pages that were dropped for that original,
   while they are few. If it is no copy of one of them by steps 1 and 3, that original is vetoed.
5. A veto lowers the similarity to just below the drop threshold.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pkgutil import resolve_name
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.detect.candidate_index import CandidateIndex
from scrapy_simdedup.detect.names import host_of, site_of, without_fragment
from scrapy_simdedup.detect.site_boilerplate import NO_RECORD, BoilerplateSample, RecordSlot
from scrapy_simdedup.detect.verdict import FetchedPage
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.hashing import Rows
from scrapy_simdedup.fingerprint.methods import Method
from scrapy_simdedup.fingerprint.similarity import (
    BELOW_THRESHOLD_FACTOR,
    NEAR_RESEMBLANCE,
    differ,
    resemblance_for_similarity,
)
from scrapy_simdedup.settings import Criterion
from scrapy_simdedup.store.base import Record
from scrapy_simdedup.store.packed_records import PackedRecords

MAX_MEMBERS = 16
"""Members from which on the original alone decides: what so many pages of one content differ in is noise. Were they all
compared, ever more pages would be kept of a content with as much noise as the drop threshold allows."""
STILL_A_COPY = 0.5
"""Similarity below which a page is no copy any more of what it was, whatever the thresholds of the settings are."""
ROUNDING = 1e-9
"""More than a resemblance may be off that was made of a similarity."""


class CopyCheck:
    """The copy check of one site."""

    def __init__(self, records: PackedRecords, originals: CandidateIndex, method: Method) -> None:
        self._originals, self._method = originals, method
        self._sample = BoilerplateSample(records, originals)
        self.members: ClusterMembers = ClusterMembers(records, originals)
        self._last_query: tuple[bytes, RecordSlot] = b"", NO_RECORD
        """The body of the page that was checked last, and an original that the page is a version of."""
        self._sampled: list[int] | None = None
        """The pages that stand for the site beside that page; None until they are asked for."""

    @property
    def size(self) -> int:
        """Bytes that the check takes beside its members, about."""
        return self._sample.size

    def add_original(self, record: Record, slot: int, fp: PageFingerprint) -> None:
        """Take an original in, which pages are compared with from now on."""
        if self._method.learns_boilerplate and fp.unjudged is None:
            body, older = self._last_query
            self._sample.add(record, slot, older if body == fp.body else None)
            self._last_query = b"", NO_RECORD

    def near_originals(self, page: FetchedPage, rows: Rows) -> tuple[Rows, NDArray[np.float64]]:
        """The originals near a page, of those in some slots, and the similarity to each.

        A similarity is below the drop threshold where the page is no copy.
        """
        fp, drop = page.fingerprint, page.settings.drop_threshold
        self._last_query, self._sampled = (fp.body, NO_RECORD), None
        if not len(rows):
            return rows, np.empty(0)
        if fp.unjudged:
            similarity = np.where(self._originals.identity_differs(rows, fp), BELOW_THRESHOLD_FACTOR * drop, 1.0)
        else:
            rows, similarity = self._similarity(page, rows)
        is_near = similarity >= page.settings.near
        return rows[is_near], similarity[is_near]

    def _similarity(self, page: FetchedPage, rows: Rows) -> tuple[Rows, NDArray[np.float64]]:
        """The originals that a judged page may be near, by the resemblances alone, and its similarities to them."""
        fp, key, settings = page.fingerprint, page.key, page.settings
        drop, identical = settings.drop_threshold, settings.identical
        one, many = fp.comparison_row[0], self._originals.comparison_rows(rows)
        resemblances = self._method.resemblances(one, many)
        # No score is above the resemblance, but for equal texts. Near or not, the page may be a version of an original.
        least = min(NEAR_RESEMBLANCE, resemblance_for_similarity(settings.near) - ROUNDING)
        chosen = ((resemblances >= least) | (many["exact"] == one["exact"])).nonzero()[0]
        rows, many = rows[chosen], many[chosen]
        if not len(rows):
            return rows, np.empty(0)
        scores = self._method.score(one, many, resemblances[chosen])
        similarity = scores.similarity_under(identical)
        if fp.identity:
            others = differ(one["identity"], many["identity"]) & (similarity >= drop)
            similarity[others] = BELOW_THRESHOLD_FACTOR * drop
        asked = ((similarity >= drop) & ~scores.equal).nonzero()[0]
        of_asked = scores.take(asked) if len(asked) else None
        if self._method.learns_boilerplate:
            self._last_query = fp.body, self._sample.older_version(scores, rows, key)
        if of_asked is None:
            return rows, similarity
        boilerplate = self._sample.boilerplate(self.sampled_pages(fp)) if self._method.learns_boilerplate else None
        if boilerplate is not None:
            similarity[asked] = boilerplate.lower(similarity[asked], one, many[asked], of_asked, drop)
        copied = asked[similarity[asked] >= drop].tolist()
        members = [(at, slot) for at in copied for slot in self.members.of(rows[at], key, drop)]
        if members:
            at, slots = np.array(members, np.intp).T
            many = self._originals.comparison_rows(slots)
            scores = self._method.score(one, many)
            alike = scores.similarity_under(identical)
            if boilerplate is not None:
                alike = boilerplate.lower(alike, one, many, scores, drop)
            similarity[at[alike < drop]] = BELOW_THRESHOLD_FACTOR * drop
        return rows, similarity

    def sampled_pages(self, fp: PageFingerprint) -> list[int]:
        """The slots of pages that stand for the site beside the page checked last, none a version of another."""
        if self._sampled is None:
            self._sampled = self._sample.chosen(fp) if self._method.learns_boilerplate else []
        return self._sampled

    def is_only_boilerplate(self, one: PageFingerprint, other: PageFingerprint, drop: float) -> bool:
        """Whether two judged pages, similar from ``drop`` on, may have nothing but boilerplate in common."""
        if not self._method.learns_boilerplate:
            return False
        row, many = one.comparison_row[0], other.comparison_row
        boilerplate = self._sample.boilerplate(self._sample.chosen(one))
        return bool(boilerplate.is_only_boilerplate(row, many, one.score(many), drop)[0])


class ClusterMembers:
    """The pages of one site that were dropped, by the original that they were dropped for.

    Similarity is not transitive: of three versions the second may be like the first and like the third, while the first
    and the third are not alike. Were pages compared with originals alone, two would be kept where the first version
    comes first, and one where the second does. As a copy must be like all members, two are kept in either case.
    """

    def __init__(self, records: PackedRecords, originals: CandidateIndex) -> None:
        self._records, self._originals = records, originals
        self._slots: dict[bytes, array[int]] = {}
        """By the original's key, the slots of up to :data:`MAX_MEMBERS` members; a slot may be another record's now."""

    def __len__(self) -> int:
        return len(self._slots)

    def add(self, record: Record, slot: int) -> None:
        """Take a page in that was dropped."""
        if record.original is None:
            return
        slots = self._slots.get(record.original, array("I"))
        if len(slots) == MAX_MEMBERS:
            slots = array("I", self._live_members(record.original))
        is_new = slot not in slots and len(slots) < MAX_MEMBERS
        if is_new and PageFingerprint.from_bytes(record.fingerprint).unjudged is None:
            slots.append(slot)
            self._slots[record.original] = slots

    def of(self, original: int, key: bytes, drop: float) -> list[int]:
        """The slots of the pages that were dropped for an original, if they are few.

        If the page of the original changed, members of its older version do not count. The page that is checked, with
        this key, need not be like what it was itself.
        """
        slots = self._live_members(self._records.key(original))
        if not slots:
            return []
        fp = PageFingerprint.from_bytes(self._records.fingerprint(original))
        similarity = fp.score(self._originals.comparison_rows(np.array(slots))).similarity
        slots = [slot for slot, alike in zip(slots, similarity.tolist(), strict=True) if alike >= drop]
        return [slot for slot in slots if self._records.key(slot) != key] if len(slots) < MAX_MEMBERS else []

    def _live_members(self, original: bytes) -> list[int]:
        records, slots = self._records, self._slots.get(original, ())
        return [
            slot
            for slot in slots
            if records.ids[slot] and records.state(slot) == "duplicate" and records.original(slot) == original
        ]


MAX_PAGES = 50_000
"""Pages of a site whose claims are remembered; beyond, the one that was kept longest ago is forgotten."""


@dataclass(frozen=True, slots=True)
class CopyFacts:
    """The facts about a copy beside its URL."""

    is_canonical: bool
    """Its URL is the one that the newer of the two copies calls its own (``rel=canonical``). A claim of the page."""
    length: int
    """Distinct shingles of its content, at most 65,535."""


PreferenceKey: TypeAlias = Callable[[str, CopyFacts], Any]
"""What copies are compared by: of a copy's URL and facts, a value that is greater for the better one."""
PREFERENCES: dict[Criterion, PreferenceKey] = {
    "canonical": lambda _, facts: facts.is_canonical,
    "https": lambda url, _: url.lower().startswith("https:"),
    "longer": lambda _, facts: facts.length,
    "shorter_url": lambda url, _: -len(url),
}
"""The criteria of ``SIMDEDUP_PREFER`` by their names."""


def is_preferred(page: FetchedPage, original: Record, by: tuple[Criterion, ...] | str, claims: CanonicalClaims) -> bool:
    """Whether a copy is to take the place of its original.

    Only among pages of one registrable domain: no page takes another domain's place by the claim that it is better. A
    copy on another host is not believed that it is the canonical one, unless its original agrees or claims nothing.

    The first of the :data:`PREFERENCES` that tells the two apart decides. One can be the import path of a
    :data:`PreferenceKey`. ``claims`` are what the pages of the site declare.
    """
    if site_of(page.url) != site_of(original.url):
        return False
    known = PageFingerprint.from_bytes(original.fingerprint)
    key, canonical = _preference_key(by), page.canonical and without_fragment(page.canonical)
    if canonical == without_fragment(page.url) and host_of(page.url) != host_of(original.url):
        canonical = canonical if claims.agrees(original.key, canonical) else None
    ours, theirs = (
        key(url, CopyFacts(canonical is not None and without_fragment(url) == canonical, fp.content))
        for url, fp in ((page.url, page.fingerprint), (original.url, known))
    )
    return bool(ours > theirs)


@lru_cache(8)
def _preference_key(by: tuple[Criterion, ...] | str) -> PreferenceKey:
    if isinstance(by, str):
        made: PreferenceKey = resolve_name(by)
        return made
    criteria = [PREFERENCES[name] for name in by]
    return lambda url, facts: tuple(criterion(url, facts) for criterion in criteria)


_NEVER = float("inf"), 0


class DomainFirstSeen:
    """When each registrable domain was first seen in a store.

    Where all sites are compared with each other, no page displaces one of an older domain. Else whoever copies a page
    and has the copy crawled before the page would have the page dropped.
    """

    def __init__(self) -> None:
        self._since: dict[str, tuple[float, int]] = {}

    def observe(self, record: Record) -> None:
        """Take in a record of any state. Of two domains first seen in one instant, its id decides."""
        domain = site_of(record.url)
        self._since[domain] = min(self._since.get(domain, _NEVER), (record.first_seen, record.id))

    def may_displace(self, original: str, page: str) -> bool:
        """Whether an original may displace a page: it is of the same registrable domain, or of an older one."""
        theirs, ours = site_of(original), site_of(page)
        return theirs == ours or self._since.get(theirs, _NEVER) < self._since.get(ours, _NEVER)


class CanonicalClaims:
    """The canonical URLs that the pages of a site declare, as far as this process judged them; none is stored."""

    def __init__(self) -> None:
        self._claims: dict[bytes, int] = {}
        """By the page's key, a hash of the URL that it declares; 0 where it declares none."""

    def __len__(self) -> int:
        return len(self._claims)

    def remember(self, key: bytes, canonical: str | None) -> None:
        """Remember what a page declares, None for nothing."""
        self._claims.pop(key, None)
        self._claims[key] = _url_hash(canonical)
        if len(self._claims) > MAX_PAGES:
            del self._claims[next(iter(self._claims))]

    def agrees(self, key: bytes, canonical: str) -> bool:
        """Whether a page declares this URL, or none; False where nobody knows what it declares."""
        return self._claims.get(key) in {0, _url_hash(canonical)}


def _url_hash(canonical: str | None) -> int:
    return hash(without_fragment(canonical)) or 1 if canonical else 0


class Replacements:
    """The pages that took, or are to take, the place of the first page of their cluster."""

    def __init__(self, records: PackedRecords, originals: CandidateIndex) -> None:
        self._records, self._originals = records, originals
        self._keys: defaultdict[bytes, set[bytes]] = defaultdict(set)
        """By the key of a cluster's first page, the keys of its replacements, until others took their places."""

    def observe(self, record: Record, cluster: bytes) -> None:
        """Take in a page of a cluster that is searched. Once it is delivered, it alone stands for the cluster."""
        keys = self._keys[cluster]
        if record.state == "confirmed":
            fp = PageFingerprint.from_bytes(record.fingerprint)
            older = {cluster, *keys} - {record.key}
            keys.difference_update([key for key in older if not self._is_live(key, record, fp)])
        keys.add(record.key)

    def _is_live(self, key: bytes, record: Record, fp: PageFingerprint) -> bool:
        """Whether a page is still searched, now that another of its cluster was delivered."""
        is_live = False
        for slot in self._records.slots(key):
            other = self._records[slot]
            if self._originals.has(slot, other.id):
                if other.id < record.id and other.delivered and _is_still_a_copy(fp, other):
                    self._originals.remove(slot)
                else:
                    is_live = True
        return is_live

    def pending(self, cluster: bytes, key: bytes) -> Record | None:
        """The newest page of another key that is to take a cluster's place, and is not delivered yet."""
        keys = self._keys.get(cluster, set()) - {key}
        slots = (slot for other in keys for slot in self._records.slots(other))
        versions = (self._records[slot] for slot in slots if self._originals.has(slot, self._records.ids[slot]))
        reserved = (v for v in versions if v.state == "reserved" and v.original == cluster)
        return max(reserved, key=lambda version: version.id, default=None)


def _is_still_a_copy(fp: PageFingerprint, other: Record) -> bool:
    """Whether a record is still a copy of a page; if its content changed since, the record keeps its own place."""
    theirs = PageFingerprint.from_bytes(other.fingerprint)
    return theirs.extractor == fp.extractor and fp.compare(theirs, near=STILL_A_COPY).kind != "different"
