"""The watch on stubs: the stub detectors of all sites, in bounded memory, and their counts in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simdedup.detect.stubs import StubDetector
from scrapy_simdedup.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simdedup.store.base import FingerprintStore

MAX_BYTES = 64_000_000
"""Bytes of the watch on all sites, about; the site whose page came longest ago is forgotten first."""
COUNT_EVERY = 64
"""Pages of a site between two counts of its bytes, once it has that many."""
JOURNAL = "stubs"
"""The journal in which each site has a note: the counts of the run that saw it last."""


class StubWatch:
    """The stub detectors of all sites; together they take at most about :data:`MAX_BYTES`.

    A run that goes on in another process, as a crawl with a ``JOBDIR`` does, goes on counting. Another run begins anew:
    pages that are fetched each night are no more places each night. Of several
    processes that work on one run, that which ends last leaves its counts.

    Args:
        store: an open store, once there is a page, in which the counts are kept; None keeps none.
        run: the run's name.
        on_store_error: called with each failure of the store, for which a site is counted anew.
    """

    def __init__(
        self,
        store: FingerprintStore | None = None,
        run: str = "",
        on_store_error: Callable[[StoreError], None] | None = None,
    ) -> None:
        self._store, self._run, self._on_store_error = store, run, on_store_error
        self._detectors: dict[str, tuple[StubDetector, int, int]] = {}
        """By site, the one asked for last at the end: the detector, how often that was, and its counted bytes."""
        self._bytes = 0

    def detector(self, site: str) -> StubDetector:
        """The detector of a site, for its next page; a new one if there was none, or it was forgotten."""
        known = self._detectors.pop(site, None)
        detector, pages, counted = (StubDetector(site), 0, 0) if known is None else known
        # Young sites are counted whenever they have twice as many pages, so that many of them are no surprise.
        if pages % COUNT_EVERY == 0 or pages & (pages - 1) == 0:
            self._bytes -= counted
            counted = detector.size
            self._bytes += counted
        self._detectors[site] = detector, pages + 1, counted
        while self._bytes > MAX_BYTES and len(self._detectors) > 1:
            *_, forgotten = self._detectors.pop(next(iter(self._detectors)))
            self._bytes -= forgotten
        return detector

    async def restore(self, site: str) -> None:
        """Take up the counts of a site that another process of this run has saved, unless the site is known here."""
        if self._store is None or site in self._detectors:
            return
        raw = None
        try:
            raw = await self._store.get_note(JOURNAL, site.encode())
        except StoreError as exc:
            self._report(exc)
        found = None if raw is None else StubDetector.from_note(site, raw, self._run)
        if found is not None:
            self._detectors.setdefault(site, (found, 0, 0))  # another page may have come while the store was asked

    async def save(self) -> None:
        """Save what was not saved yet."""
        if self._store is None:
            return
        for site, (detector, *_) in list(self._detectors.items()):
            if not detector.unsaved:
                continue
            detector.unsaved = 0
            try:
                await self._store.put_note(JOURNAL, site.encode(), detector.to_note(self._run))
            except StoreError as exc:
                self._report(exc)
                return  # a store that fails is not asked once for each site

    def _report(self, exc: StoreError) -> None:
        if self._on_store_error is not None:
            self._on_store_error(exc)
