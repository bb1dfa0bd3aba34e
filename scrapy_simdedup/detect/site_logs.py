"""The logs of all sites as one worker sees them: read up to date, appended to, freed of what is dead or outdated."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy_simdedup.detect.expiry import SLACK, Ages
from scrapy_simdedup.detect.liveness import is_alive
from scrapy_simdedup.detect.site_indexes import SiteIndexes
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.store.base import FingerprintStore, Outcome, Record, Sleep, Tail
from scrapy_simdedup.store.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simdedup.detect.site_index import SiteIndex
    from scrapy_simdedup.settings import DedupSettings

PART = 1_000
"""Records that are looked through, or forgotten, at a time: some milliseconds in which nothing else runs here."""


class SiteLogs:
    """A store with the indexes of the sites that were read from it.

    Args:
        store: an open store, once the first method is called.
        settings: ``method``, ``near``, ``bits``, ``against``, ``ttl`` and ``max_pages_per_site`` matter.
        run: the run whose pages are searched where ``against`` is ``run``.
        worker: the name of this process.
        now: the clock, in seconds since the epoch.
        sleep: lets other work go on while a long log is read.
    """

    def __init__(
        self,
        store: FingerprintStore,
        settings: DedupSettings,
        *,
        run: str,
        worker: str,
        now: Callable[[], float],
        sleep: Sleep,
    ) -> None:
        self._store, self._settings, self._worker, self._now, self._sleep = store, settings, worker, now, sleep
        searched = run if settings.against == "run" else None
        lend = store.shelf if isinstance(store, MemoryStore) else None
        self._indexes = SiteIndexes(settings, searched, lend)
        self._owed: list[tuple[str, int, Outcome]] = []
        """What the store could not be told when it happened."""
        self._cut_back: set[str] = set()
        """Sites that somebody is freeing of what is outdated."""

    def known(self, site: str) -> SiteIndex | None:
        """The site's index as it was last read; None if it was not."""
        return self._indexes.known(site)

    async def index(self, site: str) -> SiteIndex:
        """The site's index, up to date."""
        await self.settle_owed()
        index = self._indexes.of(site)
        first = index.cursor == 0
        await self._read(site, index)
        ttl, cap = self._settings.ttl, self._settings.max_pages_per_site
        is_due = (first and (ttl, cap) != (None, None)) or (cap is not None and len(index) > cap * (1 + SLACK))
        if is_due and site not in self._cut_back:
            self._cut_back.add(site)
            try:
                await self._forget_outdated(site, index)
            finally:
                self._cut_back.discard(site)
        return index

    async def append(self, site: str, record: Record, index: SiteIndex, expected: int) -> int | None:
        """Add a record; its id, or None if the log is not at ``expected`` any more."""
        id_ = await self._store.append(site, record, expected)
        if id_ is not None:
            index.apply(Tail((replace(record, id=id_, position=id_),), id_))
        return id_

    async def settle(self, site: str, id_: int, outcome: Outcome) -> None:
        """Write down a page's fate; now, or else as soon as the store is there again."""
        try:
            await self._store.settle(site, id_, outcome, self._now())
        except StoreError:
            self._owed.append((site, id_, outcome))
            raise

    async def settle_owed(self) -> None:
        """Write down what the store could not be told."""
        while self._owed:
            await self.settle(*self._owed.pop())

    async def beat(self) -> None:
        """Tell other workers that this one is alive."""
        await self._store.beat(self._worker, self._now())

    async def free_if_abandoned(self, site: str, reserved: Record) -> bool:
        """Release a page whose worker died before it was delivered; whether that was so."""
        if reserved.worker == self._worker:
            return False
        beat = (await self._store.beats()).get(reserved.worker)
        if is_alive(reserved.worker, beat, self._now()):
            return False
        await self.settle(site, reserved.id, "released")
        return True

    async def _read(self, site: str, index: SiteIndex) -> None:
        while True:
            tail = await self._store.read(site, index.cursor)
            index.apply(tail)
            if tail.complete:
                return
            await self._sleep(0)

    async def _forget_outdated(self, site: str, index: SiteIndex) -> None:
        ages = Ages()
        for number, record in enumerate(index.records(), 1):
            ages.add(record)
            if number % PART == 0:
                await self._sleep(0)
        old = ages.outdated(self._now(), self._settings.ttl, self._settings.max_pages_per_site)
        for start in range(0, len(old), PART):
            await self._store.forget(site, old[start : start + PART], self._now())
            await self._sleep(0)
        if old:
            await self._read(site, index)
