"""What is known of one site: its records, the originals among them that are searched, what the site repeats."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.detect.heirs import Heirs
from scrapy_simdedup.detect.likeness import Likeness
from scrapy_simdedup.detect.match import Match
from scrapy_simdedup.detect.originals import Originals
from scrapy_simdedup.detect.seniority import Seniority
from scrapy_simdedup.fingerprint.evidence import NEAR
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.methods import METHODS
from scrapy_simdedup.store.base import IMPORTED
from scrapy_simdedup.store.labels import Labels
from scrapy_simdedup.store.shelf import Shelf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_simdedup.store.base import Record, Tail

SEARCHED = frozenset({"reserved", "confirmed", "stub"})
"""States of the records that a page is compared with."""
EMPTY = 3_500
"""Bytes that an index takes before it has any pages."""


class SiteIndex:
    """What a site's log comes to, up to a cursor.

    Args:
        bits: width of the simhashes.
        run: the only run whose pages are searched; None searches those of all.
        shelf: the site's records, if the store lends them; None keeps a copy of what was read.
        of_all: whether this is the one site of all domains, of which a younger one displaces no older one's pages.
        method: how pages are compared.
        resemblance: from which on pages have to be found, where the method looks for them by keys.
    """

    def __init__(
        self,
        bits: int,
        run: str | None = None,
        shelf: Shelf | None = None,
        *,
        of_all: bool = False,
        method: str = "simhash",
        resemblance: float = NEAR,
    ) -> None:
        self.cursor = 0
        """The site's counter up to which the log was applied."""
        self._run = run
        self._is_lent = shelf is not None
        self._shelf = Shelf(Labels()) if shelf is None else shelf
        self._originals = Originals(bits, self._shelf, METHODS[method], resemblance)
        self._heirs = Heirs(self._shelf, self._originals)
        self._likeness = Likeness(self._shelf, self._originals, learns=METHODS[method].learns)
        self._seniority = Seniority() if of_all else None

    def __len__(self) -> int:
        """How many records there are, released ones not counted."""
        return len(self._shelf)

    @property
    def size(self) -> int:
        """Bytes that it takes besides what is lent, about."""
        return EMPTY + self._originals.size + self._likeness.size + (0 if self._is_lent else self._shelf.size)

    # ------------------------------------------------------------------ taking in the log

    def apply(self, tail: Tail) -> None:
        """Take in what happened. Tails may overlap: what is known already is passed over."""
        for record in tail.records:
            if record.position > self.cursor:
                self._apply(record)
        self.cursor = max(self.cursor, tail.cursor)

    def _apply(self, record: Record) -> None:
        if self._seniority is not None:
            self._seniority.see(record)
        slot = self._slot(record)
        if slot is None:
            return
        of_run = self._run in {None, record.run} and record.run != IMPORTED
        if record.state not in SEARCHED or not of_run:
            self._originals.remove(slot)
            if record.state == "alias" and of_run:
                self._likeness.add_repeat(record, slot)
            return
        if self._originals.has(slot, record.id):
            self._originals.change(slot, record)
        else:
            fp = PageFingerprint.from_bytes(record.fingerprint)
            if self._originals.add(slot, record, fp):
                self._likeness.add_original(record, slot, fp)
        self._heirs.see(record)

    def _slot(self, record: Record) -> int | None:
        """Where the record is; None if it is gone."""
        if not self._is_lent and record.state != "released":
            return self._shelf.put(record)
        slot = next((slot for slot in self._shelf.slots(record.key) if self._shelf.ids[slot] == record.id), None)
        if slot is not None and not self._is_lent:
            self._originals.remove(slot)
            self._shelf.drop(slot)
            return None
        return slot

    # ------------------------------------------------------------------ asking

    def past(self, key: bytes, run: str) -> Record | None:
        """The newest version of a page that was delivered, dropped for another, or fetched in this very run."""
        return next((version for version in self._versions(key) if version.settled or version.run == run), None)

    def delivered(self, key: bytes) -> Record | None:
        """The newest version of a page that was delivered, in whichever run, if it stands."""
        return next((version for version in self._versions(key) if version.state == "confirmed"), None)

    def cluster_of(self, record: Record) -> bytes:
        """The key of the first page of its cluster."""
        if record.state == "alias" and record.original is not None:
            known = self.delivered(record.original)
            return known.original if known is not None and known.original else record.original
        return record.original or record.key

    def heir_in_work(self, cluster: bytes, key: bytes) -> Record | None:
        """The newest page of another key that is to take a cluster's place, and is not delivered yet."""
        return self._heirs.in_work(cluster, key)

    def records(self) -> Iterator[Record]:
        """All that are known, in no order."""
        return (record for record in self._shelf if record.state != "released")

    def same_body(self, body: bytes, key: bytes) -> PageFingerprint | None:
        """The fingerprint of a page with these bytes, if one is at hand: the page itself before, or an original."""
        known = self._versions(key) + [self._shelf[row] for row in self._originals.same_body(body)[:1]]
        found = (PageFingerprint.from_bytes(record.fingerprint) for record in known)
        return next((fp for fp in found if fp.body == body), None)

    def _versions(self, key: bytes) -> list[Record]:
        """Those of a page, the newest first."""
        versions = (self._shelf[slot] for slot in self._shelf.slots(key))
        return sorted((v for v in versions if v.state != "released"), key=lambda version: -version.id)

    def closest(
        self, fp: PageFingerprint, key: bytes, url: str, *, drop: float, near: float, count: bool = False
    ) -> Match | None:
        """The original of another key that decides about a page.

        That is the most similar one: of the delivered ones from ``drop`` on, else of those still in work from ``drop``
        on, else of all from ``near`` on. Of equals it is the oldest. Pages that may share nothing but what their site
        repeats stay below ``drop``.

        Args:
            fp: the page's fingerprint.
            key: who the page is.
            url: where it came from.
            drop: similarity from which it is dropped.
            near: similarity from which it is near.
            count: find all copies, to count them.
        """
        originals = self._originals
        rows = originals.candidates(fp, key, whole=count)
        alike = self._likeness.similarity(fp, key, rows, drop)
        rows, alike = rows[alike >= near], alike[alike >= near]
        rank = (alike >= drop) * (1 + originals.confirmed(rows))
        best: Match | None = None
        copies: set[bytes] = set()
        for at in np.lexsort((originals.ids(rows), -alike, -rank)):
            record = self._shelf[rows[at]]
            if record.key == key or (self._seniority is not None and not self._seniority.may_displace(record.url, url)):
                continue
            if best is None:
                distance = fp.simhash ^ PageFingerprint.from_bytes(record.fingerprint).simhash
                best = Match(record, float(alike[at]), distance.bit_count(), 0)
            if alike[at] < drop:
                break
            copies.add(record.key)
            if not count:
                break
        return best and replace(best, copies=len(copies))

    def explains(self, one: PageFingerprint, other: PageFingerprint, drop: float) -> bool:
        """Whether what two judged pages have in common, alike from ``drop`` on, may be what the site repeats."""
        return self._likeness.explains(one, other, drop)
