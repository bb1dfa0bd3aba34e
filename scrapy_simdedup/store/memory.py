"""The default store: this process's memory, where each site's log is packed, and snapshots of other stores there.

What it holds ends with the process.
"""

from __future__ import annotations

import sqlite3
import weakref
from array import array
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import TypeVar

from scrapy_simdedup.store.base import STEPS, FingerprintStore, Notes, Outcome, Record, Tail, store_errors, whole_log
from scrapy_simdedup.store.packed_records import FEW, InternTable, PackedRecords
from scrapy_simdedup.store.sqlite import JOURNAL_TABLES, SqliteJournals

Result = TypeVar("Result")
STEP = 1_000
"""Changes that are read at a time."""


class MemoryStore(SqliteJournals):
    """Keeps each record once, packed; journals are in a temporary SQLite database."""

    lasts = waits = False

    def __init__(self) -> None:
        self._defaults: dict[str, str] = {}
        interned = InternTable()
        self._logs: defaultdict[str, MemoryLog] = defaultdict(lambda: MemoryLog(interned))
        self._heartbeats: dict[str, float] = {}
        self._journals: sqlite3.Connection | None = None

    def packed_records(self, site: str) -> PackedRecords:
        """The site's records themselves, for detectors of this process, which only look."""
        return self._logs[site]

    async def set_default(self, name: str, value: str) -> str:
        return self._defaults.setdefault(name, value)

    async def read(self, site: str, after: int = 0) -> Tail:
        log = self._logs[site]
        end = min(after + STEP, log.counter)
        found = filter(None, map(log.at, range(after + 1, end + 1)))
        return Tail(tuple(found), end, complete=end == log.counter)

    async def append(self, site: str, record: Record, expected: int) -> int | None:
        log = self._logs[site]
        if log.counter != expected:
            return None
        log.append(record)
        return log.counter

    async def settle(self, site: str, id: int, state: Outcome, now: float) -> None:  # noqa: A002 - the field's name
        self._logs[site].settle(id, state, now)

    async def forget(self, site: str, ids: Sequence[int], now: float) -> None:
        """Tombstones stay until some records of the site are taken out again."""
        self._logs[site].forget(ids, now)

    async def heartbeat(self, worker: str, now: float) -> None:
        self._heartbeats[worker] = now

    async def heartbeats(self) -> dict[str, float]:
        return dict(self._heartbeats)

    async def count(self) -> int:
        return sum(map(len, self._logs.values()))

    async def sites(self) -> AsyncIterator[str]:
        for site in [site for site, log in self._logs.items() if log.counter]:
            yield site

    async def _run(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        with store_errors("memory", "the file for what does not fit into memory cannot be used", sqlite3.Error):
            return work(self._notes)

    @property
    def _notes(self) -> sqlite3.Connection:
        # SQLite's own temporary database: it moves to disk what does not fit into two megabytes, so that the requests
        # that a crawl skips take no memory, and it is gone with the process.
        if self._journals is None:
            self._journals = sqlite3.connect("", isolation_level=None, check_same_thread=False)
            weakref.finalize(self, self._journals.close)
            for statement in JOURNAL_TABLES:
                self._journals.execute(statement)
        return self._journals


class MemoryLog(PackedRecords):
    """The log of one site: packed records, and where among them the record of each change is."""

    __slots__ = ("_places", "_tombs", "counter")

    def __init__(self, interned: InternTable) -> None:
        super().__init__(interned)
        self.counter: int = 0
        """How many changes there were; what changes next has the position after."""
        self._places: array[int] | None = None
        """Of each change, the slot of the record that changed; None while there are so few that all are looked at."""
        self._tombs: tuple[int, ...] = ()
        """The ids of the records that were forgotten last, of which there are tombstones."""

    @property
    def size(self) -> int:
        """How many bytes of memory the log takes, about."""
        return super().size + 4 * len(self._places or ())

    def append(self, record: Record) -> None:
        """Add a record, which gets its id and its position."""
        self._changed(self.put(record, self.counter + 1))

    def settle(self, id_: int, outcome: Outcome, now: float) -> None:
        """Settle a record, if it is there and its state allows that outcome."""
        slot = self._slot_of(id_)
        if slot is not None and self.state(slot) in STEPS[outcome]:
            self.change_state(slot, outcome, now, self.counter + 1)
            self._changed(slot)

    def _changed(self, slot: int) -> None:
        self.counter += 1
        if self._places is not None:
            self._places.append(slot)
        elif len(self.ids) > FEW:
            self._places = self._all_places()

    def at(self, position: int) -> Record | None:
        """The record that changed last at a position; None if it changed again later, or is gone."""
        for slot in self._near(position):
            if self.ids[slot] and self.position(slot) == position:
                return self[slot]
        return None

    def slot_of(self, record: Record) -> int | None:
        return self._slot_of(record.id)

    def forget(self, ids: Iterable[int], now: float) -> None:
        """Take records out, and leave tombstones in place of those that were left before.

        Detectors of this process share the records, so whoever did not read an old tombstone sees that its record went.
        """
        for slot in map(self._slot_of, self._tombs):
            if slot is not None and self[slot].state == "released":
                self.drop(slot)
        forgotten = [self[slot] for slot in map(self._slot_of, ids) if slot is not None]
        for record in forgotten:
            self._changed(self.put(record.tombstone(now)._replace(position=self.counter + 1)))
        self._tombs = tuple(record.id for record in forgotten)

    def _slot_of(self, id_: int) -> int | None:
        known = 0 < id_ <= self.counter
        return next((slot for slot in self._near(id_) if self.ids[slot] == id_), None) if known else None

    def _near(self, position: int) -> Iterable[int]:
        """The slots in which a record can be that was appended at a position, or changed last."""
        return range(len(self.ids)) if self._places is None else (self._places[position - 1],)

    def _all_places(self) -> array[int]:
        places = array("I", bytes(4 * self.counter))
        for slot, id_ in enumerate(self.ids):
            if id_:
                places[id_ - 1] = places[self.position(slot) - 1] = slot
        return places


class SnapshotStore(MemoryStore):
    """Copies each site of another store into memory when the site is first asked for; changes stay in memory.

    It is for those who look at pages by hand: the other store, and its notes, are read and never written. A file that
    is not there is not made.
    """

    waits = True

    def __init__(self, store: FingerprintStore) -> None:
        super().__init__()
        self._store = store
        self._is_there = False
        self._copied: set[str] = set()

    async def open(self) -> None:
        self._is_there = self._store.exists()
        if self._is_there:
            await self._store.open()

    async def close(self) -> None:
        if self._is_there:
            await self._store.close()

    async def set_default(self, name: str, value: str) -> str:
        if self._is_there:
            value = await self._store.set_default(name, value)
        return await super().set_default(name, value)

    async def read(self, site: str, after: int = 0) -> Tail:
        await self._copy(site)
        return await super().read(site, after)

    async def append(self, site: str, record: Record, expected: int) -> int | None:
        await self._copy(site)
        return await super().append(site, record, expected)

    async def heartbeats(self) -> dict[str, float]:
        others = await self._store.heartbeats() if self._is_there else {}
        return others | await super().heartbeats()

    async def put_note(self, journal: str, key: bytes, value: bytes, *, once: bool = False) -> bytes:
        there = await self.get_note(journal, key) if once else None
        return value if there is None else there

    async def get_note(self, journal: str, key: bytes) -> bytes | None:
        return await self._store.get_note(journal, key) if self._is_there else None

    async def read_notes(self, journal: str, after: int = 0) -> Notes:
        return await self._store.read_notes(journal, after) if self._is_there else Notes((), after)

    async def journals(self) -> AsyncIterator[str]:
        if self._is_there:
            async for name in self._store.journals():
                yield name

    async def delete_journal(self, journal: str) -> None:
        """The journal stays where it is."""

    async def _copy(self, site: str) -> None:
        if site in self._copied or not self._is_there:
            return
        records = [record async for record in whole_log(self._store, site)]
        if site in self._copied:  # by another reader, while this one waited
            return
        self._copied.add(site)
        log = self._logs[site]
        for record in records:
            log.append(record)
