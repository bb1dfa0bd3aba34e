"""The default store: this process's memory. What it holds ends with the process."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from scrapy_simdedup.store.base import STEPS, Outcome, Record, Tail

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence


@dataclass(slots=True)
class _Log:
    """One site."""

    counter: int = 0
    records: dict[int, Record] = field(default_factory=dict)
    """By id; what changed last comes last."""
    versions: dict[bytes, tuple[int, ...]] = field(default_factory=dict)
    """The ids of each page's records, by key."""

    def put(self, record: Record) -> None:
        """Add or change a record, at the head of the log."""
        self.counter = record.position
        self.records.pop(record.id, None)
        self.records[record.id] = record
        ids = {*self.versions.get(record.key, ()), record.id}
        if record.settled:
            superseded = {id_ for id_ in ids if id_ < record.id}
            for id_ in superseded:
                del self.records[id_]
            ids -= superseded
        self.versions[record.key] = tuple(ids)


class MemoryStore:
    """Keeps records as they are; nothing is copied for those who read them."""

    in_memory = True

    def __init__(self) -> None:
        self._memos: dict[str, str] = {}
        self._logs: dict[str, _Log] = {}
        self._beats: dict[str, float] = {}

    async def open(self) -> None:
        """Nothing to do."""

    async def close(self) -> None:
        """Nothing to do: what was stored stays until the store itself goes."""

    async def remember(self, name: str, value: str) -> str:
        """Keep ``value`` under ``name`` unless something is there already; what is there then."""
        return self._memos.setdefault(name, value)

    async def read(self, site: str, after: int = 0) -> Tail:
        """What happened to the site since the counter was ``after``."""
        log = self._logs.get(site)
        if log is None:
            return Tail((), 0)
        tail = []
        for record in reversed(log.records.values()):
            if record.position <= after:
                break
            tail.append(record)
        return Tail(tuple(reversed(tail)), log.counter)

    async def append(self, site: str, record: Record, expected: int) -> int | None:
        """Add a record; its id, or None if the counter is not ``expected`` any more."""
        log = self._logs.setdefault(site, _Log())
        if log.counter != expected:
            return None
        log.put(replace(record, id=expected + 1, position=expected + 1))
        return expected + 1

    async def settle(self, site: str, id: int, state: Outcome, now: float) -> None:  # noqa: A002 - the field's name
        """Confirm or release a reserved record."""
        log = self._logs.get(site)
        record = log.records.get(id) if log else None
        if log and record and record.state in STEPS[state]:
            log.put(replace(record, state=state, last_seen=now, position=log.counter + 1))

    async def forget(self, site: str, ids: Sequence[int], now: float) -> None:
        """Take records out; their tombstones stay for this process's indexes."""
        log = self._logs.get(site)
        for id_ in ids:
            record = log.records.get(id_) if log else None
            if log and record:
                log.put(replace(record, state="released", last_seen=now, fingerprint=b"", position=log.counter + 1))

    async def beat(self, worker: str, now: float) -> None:
        """The worker is alive."""
        self._beats[worker] = now

    async def beats(self) -> dict[str, float]:
        """When each worker was last heard of."""
        return dict(self._beats)

    async def sites(self) -> AsyncIterator[str]:
        """The sites that have pages."""
        for site in [site for site, log in self._logs.items() if log.counter]:
            yield site

    async def records(self) -> AsyncIterator[tuple[str, Record]]:
        """All records with their sites."""
        for site, log in list(self._logs.items()):
            for record in list(log.records.values()):
                yield site, record
