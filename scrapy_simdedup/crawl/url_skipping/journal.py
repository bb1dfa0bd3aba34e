"""What the workers of a run know about URLs: written to the store, and learned from what is read there."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from scrapy_simdedup.detect.history_notes import HISTORY
from scrapy_simdedup.detect.liveness import is_alive
from scrapy_simdedup.detect.site import site_of
from scrapy_simdedup.detect.url_notes import (
    SeenUrl,
    SkippedUrl,
    journal_name,
    key_of_note,
    read_note,
    run_and_site,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_simdedup.detect.url_notes import UrlNote
    from scrapy_simdedup.store.base import FingerprintStore, Sleep
    from scrapy_simdedup.urls import UrlLearner

logger = logging.getLogger(__name__)

STEP = 100
"""Notes that are learned from at a time: some milliseconds in which nothing else runs in this process."""
DRAWS = 8
"""How often the learner is asked whether it agrees with a skip, as it would rather verify some of them."""


class UrlJournal:
    """The learner hears of nothing but what is read back from the store, in the store's order.

    So all workers of a run learn the same, each keeps an eye on the skips of all, and a process that takes up a run is
    where the one before it was when it died: what it would skip now stays skipped, all else that was skipped and never
    seen is given back.

    Args:
        store: an open store, once the first method is called.
        learner: what is to learn.
        run: the run that is learned from.
        worker: the name of this process.
        shared: whether other processes may be at work on the same run; else all others are dead.
        skips: whether what other processes skipped may stay skipped.
        sleep: lets other work go on while a long journal is read.
        give_back: called with skipped URLs that have to be fetched after all.
    """

    def __init__(
        self,
        store: FingerprintStore,
        learner: UrlLearner,
        *,
        run: str,
        worker: str,
        shared: bool,
        skips: bool,
        sleep: Sleep,
        give_back: Callable[[Sequence[str]], None],
    ) -> None:
        self._store, self._learner, self._run, self._worker = store, learner, run, worker
        self._shared, self._skips, self._sleep, self._give_back = shared, skips, sleep, give_back
        self._is_open = False
        self._heard = 0
        self._cursors: dict[str, int] = {}
        self._reading: dict[str, bool] = {}
        """Sites that are being read, and whether there is more to read since that began."""
        self._others: dict[str, None] = {}
        """URLs that were given back and that another worker, alive at that time, has to fetch."""

    async def open(self) -> int:
        """Learn what the run has noted so far; how many notes that are."""
        async for name in self._store.journals():
            run, site = run_and_site(name)
            if run == self._run and site != HISTORY:
                await self._read(site)
        self._is_open = True
        return self._heard

    async def seen(self, note: SeenUrl) -> None:
        """Note what a URL led to; if it was skipped before, it no longer is."""
        site = site_of(note.url)
        await self._store.note(journal_name(self._run, site), key_of_note(note.url), bytes(note))
        await self._read(site)

    async def skipped(self, note: SkippedUrl) -> bool:
        """Note that a request is not made; False if it has to be, as another one for its URL was skipped."""
        journal, key = journal_name(self._run, site_of(note.url)), key_of_note(note.url)
        there = read_note(await self._store.note(journal, key, bytes(note), once=True))
        return isinstance(there, SeenUrl) or there.request == note.request

    async def content_of(self, url: str) -> str | None:
        """What a URL led to; None if it was not seen."""
        raw = await self._store.noted(journal_name(self._run, site_of(url)), key_of_note(url))
        note = read_note(raw) if raw is not None else None
        return note.content if isinstance(note, SeenUrl) else None

    async def take_back(self, url: str) -> SkippedUrl | None:
        """The request to be made for a URL that is given back; None if that is not on this worker.

        The note stays until the URL was seen, so that the request is made again if this process dies before.
        """
        raw = await self._store.noted(journal_name(self._run, site_of(url)), key_of_note(url))
        note = read_note(raw) if raw is not None else None
        if not isinstance(note, SkippedUrl):
            return None
        if self._shared and note.worker != self._worker:
            beat = (await self._store.beats()).get(note.worker)
            if is_alive(note.worker, beat, time.time()):
                self._others[url] = None
                return None
        return note

    async def catch_up(self) -> None:
        """Learn what was not read yet, and give back what other workers have left that are gone by now."""
        if not self._is_open:  # the store failed
            await self.open()
        for site in list(self._cursors):
            await self._read(site)
        left, self._others = list(self._others), {}
        if left:
            self._give_back(left)

    async def close(self) -> None:
        """This worker is gone: what it skipped is for the others to make, should it have to be, if there are any."""
        await self._store.beat(self._worker, 0.0)

    async def _read(self, site: str) -> None:
        is_read = site in self._reading
        self._reading[site] = True
        if is_read:
            return
        try:
            while self._reading[site]:
                self._reading[site] = False
                tail = await self._store.notes(journal_name(self._run, site), self._cursors.get(site, 0))
                self._cursors[site] = tail.cursor
                for start in range(0, len(tail.values), STEP):
                    self._learn(tail.values[start : start + STEP])
                    if start + STEP < len(tail.values):
                        await self._sleep(0)
                self._reading[site] |= not tail.complete
        finally:
            del self._reading[site]

    def _learn(self, values: Sequence[bytes]) -> None:
        back = [url for raw in values for url in self._hear(raw)]
        if back:
            self._give_back(back)

    def _hear(self, raw: bytes) -> list[str]:
        self._heard += 1
        try:
            return self._take(read_note(raw))
        except Exception:  # the others are worth no less for it
            logger.exception("A note about a URL teaches nothing")
            return []

    def _take(self, note: UrlNote) -> list[str]:
        if isinstance(note, SeenUrl):
            if note.same_as is not None:
                self._learner.hint(note.url, note.same_as)
            return self._learner.observe(note.url, note.content)
        stays = note.worker == self._worker or (self._skips and self._would_skip(note.url))
        return [] if stays else [note.url]

    def _would_skip(self, url: str) -> bool:
        """Have the learner keep an eye on a URL that another process skipped; False if it would not skip it."""
        for _ in range(DRAWS):
            decision = self._learner.decide(url)
            if decision.skip or not decision.rules or decision.action != "go":
                return decision.skip
        return False
