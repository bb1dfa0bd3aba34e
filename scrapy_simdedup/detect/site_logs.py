"""The logs of sites as one worker sees them: read up to date, appended to, freed of what is dead or expired.

Beside the records of pages, a run writes their events into the journals of the store.
"""

from __future__ import annotations

import math
import os
import secrets
import socket
import time
from array import array
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from scrapy_simdedup.detect import events
from scrapy_simdedup.detect.names import RunContext
from scrapy_simdedup.detect.site_index import HandlerItems, SiteIndex
from scrapy_simdedup.detect.stubs import StubDetector
from scrapy_simdedup.detect.verdict import FetchedPage, Verdict
from scrapy_simdedup.errors import FingerprintMismatch, StoreError
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.unit_changes import Change
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.base import FingerprintStore, Outcome, Record, reporting_failures
from scrapy_simdedup.store.memory import MemoryStore

Value = TypeVar("Value", SiteIndex, StubDetector)
BATCH = 1_000
"""Records that are looked through, or deleted, at a time: some milliseconds in which nothing else runs here."""
CAP_SLACK = 0.05
"""The share of its cap by which a site may exceed it before it is cut back, so that cuts are rare."""
MAX_INDEX_BYTES = 128_000_000
"""Bytes of all indexes together, with the records that were read. A site whose index went is read again."""
COUNT_EVERY = 64
"""How often a value may be asked for before its bytes are counted again."""
HEARTBEAT_SECONDS = 10.0
"""Seconds between two heartbeats of a worker."""
LEASE_SECONDS = 45.0
"""How long a worker may be silent before its reserved pages are free."""


class SiteLogs:
    """A store with the indexes of the sites that were read from it."""

    def __init__(self, store: FingerprintStore, settings: DedupSettings, context: RunContext) -> None:
        self._store, self._settings, self._worker = store, settings, context.worker
        self._now, self._sleep = context.now, context.sleep
        searched = context.run if settings.against == "run" else None
        self.items: HandlerItems = HandlerItems()
        """What is known of handlers from all sites."""

        def make_index(site: str) -> SiteIndex:
            shared = store.log(site) if isinstance(store, MemoryStore) else None
            return SiteIndex(site, settings, searched, shared, self.items)

        self.indexes: SiteCache[SiteIndex] = SiteCache(MAX_INDEX_BYTES, make_index)
        self.unsettled: list[tuple[str, int, Outcome]] = []
        """Settlements that the store could not be told when they happened."""
        self._reserved: dict[tuple[str, int], bytes] = {}
        """By site and id, the keys of the records that this worker reserved, and did not settle yet."""
        self._appending: Counter[str] = Counter()
        """By site, the appends that were not answered yet."""
        self._expiring: set[str] = set()
        """Sites whose expired records are being deleted."""

    async def index(self, site: str) -> SiteIndex:
        """The site's index, up to date."""
        if self.unsettled:
            await self.retry_settlements()
        index = self.indexes.get(site)
        is_first = index.cursor == 0
        await self._read(site, index)
        ttl, cap = self._settings.ttl, self._settings.max_pages_per_site
        is_due = (is_first and (ttl, cap) != (None, None)) or (cap is not None and len(index) > cap * (1 + CAP_SLACK))
        if is_due and site not in self._expiring:
            self._expiring.add(site)
            try:
                await self._expire(site, index)
            finally:
                self._expiring.discard(site)
        return index

    async def append(
        self, site: str, record: Record, index: SiteIndex, expected: int, fp: PageFingerprint | None = None
    ) -> int | None:
        """Append a record to a site's log; its id, or None if the log is not at ``expected`` any more.

        ``fp`` is the record's fingerprint, where it is at hand.
        """
        self._appending[site] += 1
        try:
            id_ = await self._store.append(site, record, expected)
        finally:
            self._appending[site] -= 1
            if not self._appending[site]:
                del self._appending[site]
        if id_ is not None:
            index.appended(record._replace(id=id_, position=id_), fp)
            if record.state == "reserved":
                self._reserved[site, id_] = record.key
        return id_

    async def settle(self, site: str, id_: int, outcome: Outcome) -> None:
        """Settle a record now, or else as soon as the store can be reached again."""
        now = self._now()
        try:
            position = await self._store.settle(site, id_, outcome, now)
        except StoreError:
            self.unsettled.append((site, id_, outcome))
            raise
        key, index = self._reserved.pop((site, id_), None), self.indexes.known(site)
        if key is not None and index is not None:
            index.settle(key, id_, outcome, now, position)

    def key_with_other_items(self, site: str, id_: int) -> bytes | None:
        """The key of a page of this worker that did not change since another handler got items of it; else None."""
        key, index = self._reserved.get((site, id_)), self.indexes.known(site)
        return key if key is not None and index is not None and index.gave_other_items(key, id_) else None

    async def retry_settlements(self, seconds: float = math.inf) -> None:
        """Settle the records for which the store failed before, as long as no more than some seconds have passed."""
        deadline = time.monotonic() + seconds
        while self.unsettled and time.monotonic() < deadline:
            await self.settle(*self.unsettled.pop())

    async def heartbeat(self) -> None:
        """Write the heartbeat by which other workers know that this worker is alive."""
        await self._store.heartbeat(self._worker, self._now())

    async def release_if_dead(self, site: str, reserved: Record) -> bool:
        """Release a page whose worker died, or has no such page; returns whether that is so.

        A worker has no such page where the call that reserved it was given up, and was carried out later; or where the
        server lost the record before it was settled, so that no settlement will ever be read.
        """
        if reserved.worker == self._worker:
            if self._appending[site] or (site, reserved.id) in self._reserved:
                return False
        else:
            beat = (await self._store.heartbeats()).get(reserved.worker)
            if is_alive(reserved.worker, beat, self._now()):
                return False
        await self.settle(site, reserved.id, "released")
        self.indexes.get(site).release(reserved)  # the store may not have it any more
        return True

    async def _read(self, site: str, index: SiteIndex) -> None:
        while True:
            tail = await self._store.read(site, index.cursor)
            index.apply(tail)
            if tail.complete:
                return
            await self._sleep(0)

    async def _expire(self, site: str, index: SiteIndex) -> None:
        """Delete the records that are too old, or too many for the cap, those seen longest ago first."""
        ids, seen = array("Q"), array("d")
        for number, record in enumerate(index.records(), 1):
            if record.settled:  # a page that is in work has no age, and stays
                ids.append(record.id)
                seen.append(record.last_seen)
            if number % BATCH == 0:
                await self._sleep(0)
        ttl, cap = self._settings.ttl, self._settings.max_pages_per_site
        too_old = np.count_nonzero(np.array(seen) < self._now() - ttl) if ttl is not None else 0
        too_many = len(seen) - cap if cap is not None else 0
        longest_ago = np.lexsort((ids, seen))[: max(too_old, too_many)]
        old: list[int] = np.array(ids)[longest_ago].tolist()
        for start in range(0, len(old), BATCH):
            await self._store.forget(site, old[start : start + BATCH], self._now())
            await self._sleep(0)
        if old:
            await self._read(site, index)


@dataclass(slots=True)
class _Cached(Generic[Value]):
    value: Value
    times: int = 0
    """How often it was asked for."""
    counted_at: int = 0
    """How often it had been asked for when its bytes were counted."""
    size: int = 0
    """Its bytes, as they were counted."""


class SiteCache(Generic[Value]):
    """A value for each site, in at most ``most`` bytes together, about: the one not asked for longest goes first.

    A value is counted when another one is asked for, if it was asked for twice as often as before, and every now and
    then: to count takes a while, and many young sites that grow are no surprise.
    """

    def __init__(self, most: int, make: Callable[[str], Value]) -> None:
        self._most = most
        self._make: Callable[[str], Value] = make
        self._values: dict[str, _Cached[Value]] = {}
        """By site, the one asked for last at the end."""
        self._latest: _Cached[Value] | None = None
        self._bytes = 0

    def known(self, site: str) -> Value | None:
        """The site's value; None if nobody asked for it, or it went since."""
        return self._values[site].value if site in self._values else None

    def get(self, site: str) -> Value:
        """The site's value; a new one if there is none."""
        latest, self._latest = self._latest, self._values.pop(site, None) or _Cached(self._make(site))
        self._values[site] = self._latest
        if latest is not None and (latest is not self._latest or latest.times - latest.counted_at >= COUNT_EVERY):
            self._count(latest)
        self._latest.times += 1
        while self._bytes > self._most and len(self._values) > 1:
            self._bytes -= self._values.pop(next(iter(self._values))).size
        return self._latest.value

    def set_default(self, site: str, value: Value) -> None:
        """Set a value from elsewhere, unless there is a value."""
        self._values.setdefault(site, _Cached(value))

    def items(self) -> list[tuple[str, Value]]:
        """The sites and their values."""
        return [(site, cached.value) for site, cached in self._values.items()]

    def _count(self, cached: _Cached[Value]) -> None:
        if cached.times >= min(2 * cached.counted_at, cached.counted_at + COUNT_EVERY):
            self._bytes -= cached.size
            cached.size, cached.counted_at = cached.value.size, cached.times
            self._bytes += cached.size


def worker_name() -> str:
    """A name for this process, with the process id by which workers on the same host can look for it."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def is_alive(worker: str, beat: float | None, now: float) -> bool:
    """Whether a worker, last heard of at its ``beat`` or never, may still deliver the pages that it reserved.

    Where a living worker is taken for dead, a page is kept twice; nothing is lost.
    """
    host, _, rest = worker.partition(":")
    if os.name == "posix" and host == socket.gethostname() and rest.partition(":")[0].isdigit():
        try:
            os.kill(int(rest.partition(":")[0]), 0)
        except ProcessLookupError:
            return False
        except (PermissionError, OverflowError):
            pass  # another user's process; the heartbeat decides
    return beat is not None and now - beat < LEASE_SECONDS


MAX_COMPARED_PER_SITE = 256
"""Pages of a site of which the journal of compared pages has an event: so many that are near and kept for text of their
own, as many that are near for any other reason, and as many that were dropped. A run writes so many of each at most."""
MAX_COUNTED_SITES = 10_000
"""Sites whose events of compared pages are counted at a time; beyond, the counts begin anew."""


class EventLog:
    """Writes the page events of a run; where the store fails, the event is lost and nothing else."""

    def __init__(
        self,
        store: FingerprintStore,
        logs: SiteLogs,
        context: RunContext,
        *,
        on_store_error: Callable[[StoreError], None],
    ) -> None:
        self._store, self._logs = store, logs
        self._run, self._worker, self._now = context.run, context.worker, context.now
        self._on_store_error = on_store_error
        self._compared: Counter[tuple[str, str]] = Counter()
        """Events of compared pages by site and by what became of the page."""

    async def run_started(self, *, alone: bool = False) -> None:
        """Log that the run begins, or is resumed; ``alone`` if it ends with this process."""
        await self._write(events.RunStarted(self._run, self._now(), self._worker if alone else None), once=True)

    async def page_gone(self, site: str, key: bytes, reason: str) -> None:
        """Log that a URL answers that its page is gone, with a status for the reason, if the page was known."""
        try:
            before = (await self._logs.index(site)).previous_version(key, self._run)
        except StoreError as exc:
            self._on_store_error(exc)
        except FingerprintMismatch:
            return  # the error is reported where a page of this site is judged
        else:
            if before is not None and (before.delivered or before.state == "duplicate"):
                await self.content_left(site, before, reason)

    async def content_left(self, site: str, page: Record, reason: str) -> None:
        """Log that a content is gone from its URL: the reason is the status of the answer, or ``changed``."""
        of_page = page.url, page.key, page.fingerprint, page.original, page.last_seen
        event = events.ContentLeft(site, self._run, self._now(), reason, *of_page)
        await self._write(event, site, page.key.hex(), page.fingerprint.hex())

    async def site_changed(self, site: str, counts: Mapping[Change, int], part: int) -> None:
        """Log how many changes this worker has found on a site so far; each ``part`` is a count of its own."""
        await self._write(
            events.SiteChangeCounts(site, self._run, self._now(), dict(counts)), site, self._worker, str(part)
        )

    async def site_redesigned(self, site: str, pages: int, share: float) -> None:
        """Log that a site has a new template; of several workers the first counts."""
        await self._write(events.SiteRedesigned(site, self._run, self._now(), pages, share), site, once=True)

    async def page_compared(self, page: FetchedPage, verdict: Verdict) -> None:
        """Log what a page was compared with, if it is near and kept, or was dropped with words of its own.

        A site has :data:`MAX_COMPARED_PER_SITE` places for each of these, in all runs together; of two pages with the
        same place the newer has it. So neither the store nor the time for it grows with the number of near pages.
        """
        is_near = verdict.kind == "near" and not verdict.is_duplicate
        if not (is_near or (verdict.is_duplicate and verdict.own_words)) or verdict.original is None:
            return
        what = "dropped" if not is_near else "own_text" if verdict.reason == "own_text" else "near"
        if len(self._compared) > MAX_COUNTED_SITES:
            self._compared.clear()
        self._compared[page.site, what] += 1
        if self._compared[page.site, what] > MAX_COMPARED_PER_SITE:
            return
        found = verdict.is_duplicate, verdict.original, verdict.similarity or 0.0, verdict.reason, verdict.own_words
        event = events.PageCompared(page.site, self._run, page.now, page.url, page.key, *found)
        place = int.from_bytes(events.event_key(page.key.hex())[:4], "big") % MAX_COMPARED_PER_SITE
        await self._write(event, page.site, what, str(place), journal=events.COMPARED_JOURNAL)

    async def _write(
        self, event: events.HistoryEvent, *about: str, once: bool = False, journal: str | None = None
    ) -> None:
        key = events.event_key(type(event).__name__, *about)
        with reporting_failures(self._on_store_error):
            await self._store.put_note(journal or events.event_journal(self._run), key, bytes(event), once=once)
