"""The default store: this process's memory, where each site's log is packed, and snapshots of other stores there.

What it holds ends with the process.
"""

from __future__ import annotations

import sqlite3
import struct
import weakref
from array import array
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import TypeVar

from scrapy_simdedup.store.base import STEPS, FingerprintStore, Notes, Outcome, Record, Tail, store_errors, whole_log
from scrapy_simdedup.store.packed_records import FEW, InternTable, PackedRecords
from scrapy_simdedup.store.sqlite import JOURNAL_TABLES, SqliteJournals

Result = TypeVar("Result")
STEP = 1_000
"""Changes that are read at a time."""
RECENT_SITES = 12_000
"""Small sites that are kept as they are worked with, about as many as have an index at hand: that holds their records
also where they are compressed. The others are compressed until they are asked for again, which takes a tenth of a
millisecond; most sites of a wide crawl have few pages, and are left alone for a long time."""
_COUNTER = struct.Struct("<BQ")
"""How many records of a log are not released, and its counter."""


class MemoryStore(SqliteJournals):
    """Keeps each record once, packed; journals are in a temporary SQLite database."""

    lasts = waits = False

    def __init__(self) -> None:
        self._defaults: dict[str, str] = {}
        self._interned = InternTable()
        self._logs: dict[str, MemoryLog | bytes] = {}
        """By site; as bytes what :meth:`MemoryLog.to_bytes` gave."""
        self._recent: OrderedDict[str, None] = OrderedDict()
        """Small sites whose logs are no bytes, the one asked for last at the end."""
        self._lent: weakref.WeakValueDictionary[str, MemoryLog] = weakref.WeakValueDictionary()
        """Logs that are also there as bytes, as long as a detector looks at them."""
        self._heartbeats: dict[str, float] = {}
        self._journals: sqlite3.Connection | None = None

    def log(self, site: str) -> MemoryLog:
        """The site's records themselves; detectors of this process only look."""
        log = self._logs.get(site)
        if not isinstance(log, MemoryLog):
            lent = self._lent.pop(site, None)
            log = self._logs[site] = MemoryLog(self._interned, log or b"") if lent is None else lent
        if len(log.ids) <= FEW:
            self._recent[site] = None
            self._recent.move_to_end(site)
            if len(self._recent) > RECENT_SITES:
                self._compress(self._recent.popitem(last=False)[0])
        return log

    async def set_default(self, name: str, value: str) -> str:
        return self._defaults.setdefault(name, value)

    async def read(self, site: str, after: int = 0) -> Tail:
        log = self.log(site)
        end = min(after + STEP, log.counter)
        found = filter(None, map(log.at, range(after + 1, end + 1)))
        return Tail(tuple(found), end, complete=end == log.counter)

    async def append(self, site: str, record: Record, expected: int) -> int | None:
        log = self.log(site)
        if log.counter != expected:
            return None
        log.append(record)
        return log.counter

    async def settle(self, site: str, id: int, state: Outcome, now: float) -> int | None:  # noqa: A002 - the field's name
        return self.log(site).settle(id, state, now)

    async def forget(self, site: str, ids: Sequence[int], now: float) -> None:
        """Tombstones stay until some records of the site are taken out again."""
        self.log(site).forget(ids, now)

    async def heartbeat(self, worker: str, now: float) -> None:
        self._heartbeats[worker] = now

    async def heartbeats(self) -> dict[str, float]:
        return dict(self._heartbeats)

    async def count(self) -> int:
        return sum(log[0] if isinstance(log, bytes) else len(log) for log in self._logs.values())

    async def sites(self) -> AsyncIterator[str]:
        for site in [site for site, log in self._logs.items() if isinstance(log, bytes) or log.counter]:
            yield site

    def _compress(self, site: str) -> None:
        log = self._logs[site]
        if isinstance(log, MemoryLog) and len(log.ids) <= FEW:  # it may have grown since
            self._lent[site] = log
            if log.counter:
                self._logs[site] = log.to_bytes()
            else:
                del self._logs[site]

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

    __slots__ = ("__weakref__", "_places", "_tombs", "counter")

    def __init__(self, interned: InternTable, packed: bytes = b"") -> None:
        super().__init__(interned, packed[_COUNTER.size :])
        self.counter: int = _COUNTER.unpack_from(packed)[1] if packed else 0
        """How many changes there were; what changes next has the position after."""
        self._places: array[int] | None = None
        """Of each change, the slot of the record that changed; None while there are so few that all are looked at."""
        self._tombs: tuple[int, ...] = ()
        """The ids of the records that were forgotten last, of which there are tombstones."""

    @property
    def size(self) -> int:
        """How many bytes of memory the log takes, about."""
        return super().size + 4 * len(self._places or ())

    def to_bytes(self) -> bytes:
        """The log without tombstones; see :meth:`PackedRecords.to_bytes`."""
        self.forget((), 0.0)
        return _COUNTER.pack(len(self), self.counter) + super().to_bytes()

    def append(self, record: Record) -> None:
        """Add a record, and give it an id and a position."""
        self._changed(self.put(record, self.counter + 1))

    def settle(self, id_: int, outcome: Outcome, now: float) -> int | None:
        """Settle a record, if there is one and its state allows the outcome; its new position."""
        slot = self._slot_of(id_)
        if slot is None or self.state(slot) not in STEPS[outcome]:
            return None
        self.change_state(slot, outcome, now, self.counter + 1)
        self._changed(slot)
        return self.counter

    def _changed(self, slot: int) -> None:
        self.counter += 1
        if self._places is not None:
            self._places.append(slot)
        elif len(self.ids) > FEW:
            self._places = self._all_places()

    def slot_of(self, key: bytes, id_: int) -> int | None:  # noqa: ARG002 - the other asks it
        """See :meth:`PackedRecords.slot_of`; here it is known without the record's key."""
        return self._slot_of(id_)

    def at(self, position: int) -> Record | None:
        """The record that changed last at a position; None if it changed again later, or is gone."""
        for slot in self._near(position):
            if self.ids[slot] and self.position(slot) == position:
                return self[slot]
        return None

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
        log = self.log(site)
        for record in records:
            log.append(record)
