"""A snapshot of a store, for those who look at pages by hand: it is read, and never written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy_simdedup.store.base import FingerprintStore, Notes, Record, Tail, whole_log
from scrapy_simdedup.store.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class SnapshotStore(MemoryStore):
    """Copies each site of another store into memory when the site is first asked for; changes stay in memory.

    Notes are read from the other store, and those that are written are dropped. A file that is not there is not made.

    Args:
        store: the other store, not opened yet.
    """

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
            log.write(replace(record, id=log.counter + 1, position=log.counter + 1))
