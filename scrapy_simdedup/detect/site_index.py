"""The index of one site: its records, the originals that pages are compared with, and the site's boilerplate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.detect.candidate_index import CandidateIndex
from scrapy_simdedup.detect.copy_check import CanonicalClaims, CopyCheck, DomainFirstSeen, Replacements
from scrapy_simdedup.detect.inverted_index import PagesByPath
from scrapy_simdedup.detect.names import ALL_SITES
from scrapy_simdedup.detect.site_novelty import SiteNovelty
from scrapy_simdedup.detect.verdict import FetchedPage, Match, OwnText
from scrapy_simdedup.fingerprint.features import are_among
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.hashing import Rows
from scrapy_simdedup.fingerprint.methods import METHODS
from scrapy_simdedup.fingerprint.similarity import BELOW_THRESHOLD_FACTOR, resemblance_for_similarity
from scrapy_simdedup.fingerprint.text_units import Mask
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.base import IMPORTED, Outcome, Record, Tail
from scrapy_simdedup.store.packed_records import FEW, InternTable, PackedRecords

SEARCHED_STATES = frozenset({"reserved", "confirmed", "itemless", "stub"})
"""States of the records that a page is compared with, but for repeats of a stub: the stub stands for them."""
RANKS = np.array([3, 2, 4, 5])
"""Ranks of originals that may displace a page: in work; delivered without items; delivered with items; stubs, which
displace none."""
FREE_TRIES, PAGES_PER_TRY = 5, 200
"""How many second tries a handler has that never gave an item, and after how many pages without one it has another."""
ENTRY_BYTES = 250
"""Bytes that a path with the keys of its pages takes, about, a cluster with its members, or the claim of a page."""
EMPTY_INDEX_BYTES = 3_500
"""Bytes that an index takes before it has any pages."""


class SiteIndex:
    """The state of a site that follows from its log, up to a cursor.

    ``run`` is the only run whose pages are searched; None searches those of all runs. The store may lend its
    ``records`` of the site; else what was read is copied. ``items`` is what is known of handlers from all sites.
    """

    def __init__(
        self,
        site: str,
        settings: DedupSettings,
        run: str | None = None,
        records: PackedRecords | None = None,
        items: HandlerItems | None = None,
    ) -> None:
        self.cursor: int = 0
        """The site's counter up to which the log was applied."""
        self._run = run
        self._is_shared = records is not None
        self._records = PackedRecords(InternTable()) if records is None else records
        method, resemblance = METHODS[settings.method], resemblance_for_similarity(settings.lowest_near)
        self._originals = CandidateIndex(settings.bits, self._records, method, resemblance)
        self.replacements: Replacements = Replacements(self._records, self._originals)
        self.canonical_claims: CanonicalClaims = CanonicalClaims()
        """Canonical URLs of the pages that this process judged since it made the index."""
        self.copy_check: CopyCheck = CopyCheck(self._records, self._originals, method)
        self.novelty: SiteNovelty = SiteNovelty(self._records, self._originals, self.copy_check)
        self._domain_first_seen = DomainFirstSeen() if site.endswith(ALL_SITES) else None
        self._items, self._items_of_all_sites = HandlerItems(), items or HandlerItems()
        keeps_paths = run is not None and settings.is_anywhere("unchanged", "drop")
        self._paths = PagesByPath() if keeps_paths else None
        self._families = PagesByPath(by_text=True)
        # Where records leave the log, a process that begins with what is left could not count what another one did.
        self._pages_expire = settings.max_pages_per_site is not None

    def __len__(self) -> int:
        return len(self._records)

    @property
    def size(self) -> int:
        """Bytes that the index takes, about, with its records: those of a small site are in the store compressed."""
        own = 0 if self._is_shared and len(self._records.ids) > FEW else self._records.size
        entries = len(self.canonical_claims) + len(self.copy_check.members) + len(self._families)
        entries += 0 if self._paths is None else len(self._paths)
        own += ENTRY_BYTES * entries + self.novelty.variants.size
        return EMPTY_INDEX_BYTES + self._originals.size + self.copy_check.size + own

    def apply(self, tail: Tail) -> None:
        """Take in a part of the log. Parts may overlap: records that are known already are passed over."""
        for record in tail.records:
            if record.position > self.cursor:
                self._apply(record)
        self.cursor = max(self.cursor, tail.cursor)

    def appended(self, record: Record, fp: PageFingerprint | None = None) -> None:
        """Take in what this process appended, unless it was read meanwhile; ``fp`` is its fingerprint, if at hand."""
        if record.position > self.cursor:
            self._apply(record, fp)
            self.cursor = record.position

    def release(self, record: Record) -> None:
        """Take out a reserved record, whatever the store has of it."""
        self._apply(record._replace(state="released"))

    def settle(self, key: bytes, id_: int, outcome: Outcome, now: float, position: int | None) -> None:
        """Take in what became of a page of this process, which the log need not tell: see :meth:`_own_versions`.

        What is next in the log, at a ``position``, and changes nothing else, as of most pages, is not read there.
        """
        slot = self._records.slot_of(key, id_)
        if slot is None:
            return
        if position == self.cursor + 1 and outcome == "confirmed" and self._stands_alone(slot, id_):
            if not self._is_shared:
                self._records.change_state(slot, outcome, now, position)
            self._originals.update(slot, outcome)
            self.cursor += 1
        elif not self._is_shared and (settled := self._records[slot].settled_as(outcome, now)) is not None:
            self._apply(settled)

    def _stands_alone(self, slot: int, id_: int) -> bool:
        """Whether a record is searched, stands for no cluster, and is of a handler that is known to give items."""
        *_, kind, handler = self._records.shared(slot)
        if kind == "stub" or not (self._items.gives(handler) and self._items_of_all_sites.gives(handler)):
            return False
        return self._originals.has(slot, id_) and self._records.original(slot) is None

    def _apply(self, record: Record, fp: PageFingerprint | None = None) -> None:
        if self._domain_first_seen is not None:
            self._domain_first_seen.observe(record)
        self._items.observe(record)
        self._items_of_all_sites.observe(record)
        slot = self._slot(record)
        if slot is None:
            return
        if self._paths is not None and self._run != record.run != IMPORTED:
            self._paths.observe(record)
        is_of_run = (self._run in {None, record.run} or record.state == "stub") and record.run != IMPORTED
        is_searched = record.state in SEARCHED_STATES
        if is_searched and record.kind == "stub" and is_of_run:
            self._families.observe(record)
        if not is_searched or record.kind == "stub" or not is_of_run:
            self._originals.remove(slot)
            if record.state == "duplicate" and is_of_run:
                self.copy_check.members.add(record, slot)
                counts = not self._pages_expire and record.original is not None
                original = self.delivered_version(record.original or b"") if counts else None
                if original is not None:
                    self.novelty.variants.dropped(record.url, original.url)
            return
        self._search(record, slot, fp)

    def seen_unchanged(self, record: Record) -> None:
        """Search a page of an earlier run as one of this run: it was found unchanged, and not delivered again for that.

        Other processes of the run do not learn of it; for them the page stays what an earlier run gave.
        """
        if record.state == "confirmed" and record.kind != "stub" and record.run != IMPORTED:
            self._search(record, self._slot(record))

    def _search(self, record: Record, slot: int | None, fp: PageFingerprint | None = None) -> None:
        if slot is None:
            return
        if self._originals.has(slot, record.id):
            self._originals.update(slot, record.state)
        else:
            fp = fp or PageFingerprint.from_bytes(record.fingerprint)
            if self._originals.add(slot, record, fp):
                self.copy_check.add_original(record, slot, fp)
                if not self._pages_expire and record.kind != "identical":  # else it is one more copy
                    self.novelty.variants.kept(record.url)
        if record.original is not None:
            self.replacements.observe(record, record.original)

    def _slot(self, record: Record) -> int | None:
        if not self._is_shared and record.state != "released":
            return self._records.put(record, spared=self._own_versions(record))
        slot = self._records.slot_of(record.key, record.id)
        if slot is None or self._is_shared:
            return slot
        self._originals.remove(slot)
        self._records.drop(slot)
        return None

    def _own_versions(self, record: Record) -> list[int]:
        """The slots of this run's versions of a page that another run, at work at the same time, fetched later.

        In the log its record takes their place. Were they gone here, too, this run would keep the next repeat of what
        it has delivered.
        """
        if self._run in {None, record.run} or not record.settled or self._pages_expire:
            return []
        slots = (slot for slot in self._records.slots(record.key) if self._records[slot].run == self._run)
        return [slot for slot in slots if self._originals.has(slot, self._records.ids[slot])]

    def previous_version(self, key: bytes, run: str | None = None) -> Record | None:
        """The newest version of a page that was delivered, dropped for another page, or fetched in this ``run``."""
        return next((version for version in self._versions(key) if version.settled or version.run == run), None)

    def gave_other_items(self, key: bytes, id_: int) -> bool:
        """Whether a version of a page did not change since another handler got items of it."""
        versions = self._versions(key)
        now = next((version for version in versions if version.id == id_), None)
        before = next((version for version in versions if version.id < id_ and version.settled), None)
        if now is None or before is None or now.kind != "unchanged" or before.state not in {"confirmed", "duplicate"}:
            return False
        return bool(now.handler and before.handler) and now.handlers[0] not in before.handlers

    def versions_by_path(self, url: str, fp: PageFingerprint) -> Iterator[Record]:
        """Pages of earlier runs that may be this one: of the same path, title and h1; the newest first."""
        for key in () if self._paths is None else self._paths.keys(url, fp):
            version = next((version for version in self._versions(key) if version.settled), None)
            if version is not None and version.run != self._run:
                yield version

    def family_members(self, url: str, fp: PageFingerprint) -> Iterator[Record]:
        """Pages that do not say just what a stub says, in work or delivered in this run, of one path, title and h1."""
        for key in self._families.keys(url, fp):
            version = next(iter(self._versions(key)), None)
            if version is not None and version.kind == "stub" and version.state in {"reserved", "confirmed"}:
                yield version

    def delivered_version(self, key: bytes) -> Record | None:
        """The newest version of a page that was delivered, in whichever run, if it is live."""
        return next((version for version in self._versions(key) if version.delivered), None)

    def cluster_key(self, record: Record) -> bytes:
        """The key of the first page of a record's cluster."""
        if record.state == "duplicate" and record.original is not None:
            known = self.delivered_version(record.original)
            return known.original if known is not None and known.original else record.original
        return record.original or record.key

    def records(self) -> Iterator[Record]:
        """All records that are known, released ones left out, in no order."""
        return (record for record in self._records if record.state != "released")

    def same_body(self, body: bytes, key: bytes, extractor: str) -> PageFingerprint | None:
        """The fingerprint of a page with these bytes, if one is at hand: of an older version, or of an original.

        One that was made with another extractor, or could not be judged, is of no use.
        """
        for record in [*self._versions(key), *(self._records[row] for row in self._originals.same_body(body)[:1])]:
            fp = PageFingerprint.from_bytes(record.fingerprint)
            if fp.body == body:
                return fp if fp.unjudged is None and fp.extractor == extractor else None
        return None

    def _versions(self, key: bytes) -> list[Record]:
        """The versions of a page, the newest first."""
        slots = self._records.slots(key)
        if not slots:
            return []
        versions = map(self._records.__getitem__, slots)
        live = [version for version in versions if version.state != "released"]
        return sorted(live, key=attrgetter("id"), reverse=True)

    def best_match(self, page: FetchedPage, clocks: Collection[int] = (), *, only: bytes | None = None) -> Match | None:
        """The original of another key that decides about a page.

        That is the most similar one: of stubs, from the drop threshold on; else of the originals that gave items; else
        of those still in work; else of those that gave no item; else of those of other handlers; else of all from
        ``near`` on. Similarity is an estimate: of several that the page is identical to it is the one with most of the
        page's lines. Of equally similar ones it is the oldest. Originals that may share nothing but boilerplate with
        the page stay below the drop threshold.

        Originals of other handlers are no copies. Of those that gave no item the first one is none, unless its handler
        never gives any, and none that gave no item in another run.

        ``only`` is the key of the one original that counts, and of which all copies are looked at. What clocks show is
        no text of the page's own.
        """
        settings, fp, key = page.settings, page.fingerprint, page.key
        drop, identical = settings.drop_threshold, settings.identical
        counts_copies = settings.max_copies > 1 or only is not None
        originals = self._originals
        rows = originals.candidates(fp, key, page.handler, all_copies=counts_copies)
        rows, alike, is_known_view = self._near_originals(page, rows)
        if not len(rows):
            return None
        is_own, delivered = originals.handled_alike(rows, page.handler), originals.delivered(rows)
        own = OwnText()
        if settings.novel_words is not None:
            own = self.novelty.own_text(page, rows, (alike >= identical) & is_own, clocks)
            if own.counts:
                lack_it = is_own & (delivered > 0) if own.is_in_work else is_own
                alike = np.where(lack_it, np.minimum(alike, BELOW_THRESHOLD_FACTOR * identical), alike)
            if not (is_own & (alike >= drop)).any():
                is_known_view = np.zeros(len(rows), np.bool_)
                is_known_view[is_own] = self.novelty.is_known_view(page, rows[is_own], clocks)
                alike = np.where(is_known_view, identical, alike)
        rank = np.where(alike >= drop, np.where(is_own, RANKS[delivered], 1), 0)
        are_equal, lacking = (alike >= identical) & (rank == rank.max()) & is_own, np.zeros(len(rows), np.intp)
        lacking[are_equal] = self.novelty.count_lacking(page, rows[are_equal], clocks)
        best: Match | None = None
        copies: set[bytes] = set()
        itemless: set[bytes] = set()
        spared = 1 if self.may_give_items(page.handler) else 0
        for at in np.lexsort((originals.ids(rows), -alike, lacking, ~are_equal, -rank)):
            record = self._records[rows[at]]
            if record.key == key or only not in {None, record.key}:
                continue
            if self._domain_first_seen is not None and not self._domain_first_seen.may_displace(record.url, page.url):
                continue
            if best is None:
                best = Match(record, float(alike[at]), originals.distance(rows[at], fp), own, bool(is_known_view[at]))
            if alike[at] < drop or not is_own[at]:
                break
            if record.state != "itemless":
                copies.add(record.key)
            elif page.run == record.run:
                itemless.add(record.key)
            if not counts_copies and (copies or len(itemless) > spared):
                break
        return best and replace(best, copies=len(copies) + max(0, len(itemless - copies) - spared))

    def _near_originals(self, page: FetchedPage, candidates: Rows) -> tuple[Rows, NDArray[np.float64], Mask]:
        """The originals near a page, the similarity to each, and a mask of those that contain the whole page."""
        rows, alike = self.copy_check.near_originals(page, candidates)
        wholes = candidates[:0]
        is_asked = page.settings.novel_words is not None and len(candidates) > 0
        if is_asked and not (alike >= page.settings.drop_threshold).any():
            wholes = self.novelty.wholes(page, candidates)
        if not len(wholes):
            return rows, alike, np.zeros(len(rows), np.bool_)
        others = ~are_among(rows, wholes)
        rows, alike = np.append(rows[others], wholes), np.append(alike[others], [page.settings.identical] * len(wholes))
        return rows, alike, are_among(rows, wholes)

    def may_give_items(self, handler: str) -> bool:
        """Whether a page of this site may give items, as far as pages of its handler gave any here or elsewhere."""
        items = self._items_of_all_sites
        return handler in items.passing or (self._items.may_give(handler) and items.may_give(handler))


class HandlerItems:
    """Which handlers give items; handlers that never do are spared second tries.

    A content whose first page gave no item gets a second try: its next page is kept, too. Where the handler gave an
    item before, that may be worth it for each content. Handlers of lists, and those that store pages themselves, never
    give any. They have :data:`FREE_TRIES`, and one more for each :data:`PAGES_PER_TRY` pages, in case that changes.
    """

    def __init__(self) -> None:
        self.passing: set[str] = set()
        """Handlers that pass items on to other callbacks, as far as this process has called them."""
        self._giving: set[str] = set()
        self._pages: Counter[str] = Counter()
        """Handler without any item so far → its pages."""
        self._tries: Counter[str] = Counter()
        """By such a handler, its pages that were second tries: kept because another with their content gave no item."""

    def observe(self, record: Record) -> None:
        """Take in a record of any state."""
        if record.handler in self._giving:
            return
        if record.state == "confirmed":
            self._giving.update([record.handler, *record.handlers])
        elif record.state == "itemless" and (handler := record.handlers[0]) not in self._giving:
            self._pages[handler] += 1
            self._tries[handler] += record.original is not None

    def gives(self, handler: str) -> bool:
        """Whether a page with this handler gave an item."""
        return handler in self._giving

    def may_give(self, handler: str) -> bool:
        """Whether a page of this handler may give items, so that a second try is worth its fetch."""
        free = FREE_TRIES + self._pages[handler] // PAGES_PER_TRY
        return handler in self._giving or self._tries[handler] < free
