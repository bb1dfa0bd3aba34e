"""The default store: this process's memory. What it holds ends with the process."""

from __future__ import annotations

import sqlite3
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy_simdedup.store import sqlite_notes
from scrapy_simdedup.store.base import STEPS, Notes, Outcome, Record, Tail
from scrapy_simdedup.store.labels import Labels
from scrapy_simdedup.store.memory_log import MemoryLog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from scrapy_simdedup.store.shelf import Shelf

STEP = 1_000
"""Changes that are read at a time."""


class MemoryStore:
    """Keeps each record once, and lends the shelves to detectors of this process."""

    def __init__(self) -> None:
        self._memos: dict[str, str] = {}
        self._labels = Labels()
        self._logs: dict[str, MemoryLog] = {}
        self._beats: dict[str, float] = {}
        self._journals: sqlite3.Connection | None = None

    def shelf(self, site: str) -> Shelf:
        """The site's records themselves, for those who only look."""
        return self._log(site)

    async def open(self) -> None:
        """Nothing to do."""

    async def close(self) -> None:
        """Nothing to do: what was stored stays until the store itself goes."""

    async def remember(self, name: str, value: str) -> str:
        """Keep ``value`` under ``name`` unless something is there already; what is there then."""
        return self._memos.setdefault(name, value)

    async def read(self, site: str, after: int = 0) -> Tail:
        """What happened to the site since the counter was ``after``, or the first part of it."""
        log = self._logs.get(site)
        if log is None:
            return Tail((), 0)
        end = min(after + STEP, log.counter)
        found = (log.at(position) for position in range(after + 1, end + 1))
        return Tail(tuple(record for record in found if record is not None), end, complete=end == log.counter)

    async def append(self, site: str, record: Record, expected: int) -> int | None:
        """Add a record; its id, or None if the counter is not ``expected`` any more."""
        log = self._log(site)
        if log.counter != expected:
            return None
        id_ = expected + 1
        log.write(replace(record, id=id_, position=id_))
        return id_

    async def settle(self, site: str, id: int, state: Outcome, now: float) -> None:  # noqa: A002 - the field's name
        """Confirm or release a reserved record."""
        log = self._logs.get(site)
        record = log.with_id(id) if log is not None else None
        if log is not None and record is not None and record.state in STEPS[state]:
            log.write(replace(record, state=state, last_seen=now, position=log.counter + 1))

    async def forget(self, site: str, ids: Sequence[int], now: float) -> None:
        """Take records out; their tombstones stay until some of the site are taken out again."""
        self._log(site).forget(ids, now)

    async def beat(self, worker: str, now: float) -> None:
        """The worker is alive."""
        self._beats[worker] = now

    async def beats(self) -> dict[str, float]:
        """When each worker was last heard of."""
        return dict(self._beats)

    async def count(self) -> int:
        """How many records there are, tombstones included."""
        return sum(map(len, self._logs.values()))

    async def sites(self) -> AsyncIterator[str]:
        """The sites that have pages."""
        for site in [site for site, log in self._logs.items() if log.counter]:
            yield site

    async def records(self) -> AsyncIterator[tuple[str, Record]]:
        """All records with their sites."""
        for site, log in list(self._logs.items()):
            for position in range(1, log.counter + 1):
                record = log.at(position)
                if record is not None:
                    yield site, record

    def _log(self, site: str) -> MemoryLog:
        log = self._logs.get(site)
        if log is None:
            log = self._logs[site] = MemoryLog(self._labels)
        return log

    async def note(self, journal: str, key: bytes, value: bytes, *, once: bool = False) -> bytes:
        """Write a note."""
        return sqlite_notes.note(self._notes, journal, key, value, once=once)

    async def noted(self, journal: str, key: bytes) -> bytes | None:
        """The note with a key."""
        return sqlite_notes.noted(self._notes, journal, key)

    async def notes(self, journal: str, after: int = 0) -> Notes:
        """What was noted since the cursor was ``after``."""
        return sqlite_notes.notes(self._notes, journal, after)

    async def journals(self) -> AsyncIterator[str]:
        """The names of all journals."""
        for name in sqlite_notes.journals(self._notes):
            yield name

    async def tear(self, journal: str) -> None:
        """Take a journal out."""
        while not sqlite_notes.tear(self._notes, journal):
            pass

    @property
    def _notes(self) -> sqlite3.Connection:
        # SQLite's own temporary database: it moves to disk what does not fit into two megabytes, so that the requests
        # that a crawl skips take no memory, and it is gone with the process.
        if self._journals is None:
            self._journals = sqlite3.connect("", isolation_level=None, check_same_thread=False)
            weakref.finalize(self, self._journals.close)
            for statement in sqlite_notes.TABLES:
                self._journals.execute(statement)
        return self._journals
