"""Journals in Redis: a hash of notes, and a sorted set of their keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_simdedup.store.base import Notes
from scrapy_simdedup.store.redis_scripts import answer_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from redis.asyncio import Redis
    from redis.asyncio.cluster import RedisCluster

    from scrapy_simdedup.store.remote import Remote

PART = 1000
"""Notes that are read at a time."""
PREFIX, SUFFIX = "{simdedup journal:", "}:notes"


class RedisNotes:
    """The verbs of a store that are about journals. A journal's keys share a hash tag."""

    _ttl: str
    _remote: Remote

    async def note(self, journal: str, key: bytes, value: bytes, *, once: bool = False) -> bytes:
        """Write a note."""
        return bytes(await self._run("note", keys(journal), key, value, int(once), self._ttl))

    async def noted(self, journal: str, key: bytes) -> bytes | None:
        """The note with a key."""
        client: Any = self._open  # typed for keys of text alone
        found: bytes | None = await self._remote.run(lambda: answer_of(client.hget(keys(journal)[0], key)))
        return found

    async def notes(self, journal: str, after: int = 0) -> Notes:
        """What was noted since the cursor was ``after``."""
        cursor, complete, *values = await self._run("notes", keys(journal), after, PART)
        return Notes(tuple(values), int(cursor), bool(complete))

    async def journals(self) -> AsyncIterator[str]:
        """The names of all journals; walks all keys of the database."""
        for name in sorted(await self._remote.run(self._names)):
            yield name[len(PREFIX) : -len(SUFFIX)]

    async def tear(self, journal: str) -> None:
        """Take a journal out."""
        await self._remote.run(lambda: answer_of(self._open.unlink(*keys(journal))))

    async def _names(self) -> set[str]:
        return {name.decode() async for name in self._open.scan_iter(match=f"{PREFIX}*{SUFFIX}", count=1000)}

    @property
    def _open(self) -> Redis | RedisCluster:
        raise NotImplementedError

    async def _run(self, verb: str, names: Sequence[str], *values: str | bytes | float) -> Any:
        raise NotImplementedError


def keys(journal: str) -> list[str]:
    """The keys of a journal, in the order in which the scripts take them."""
    return [f"{PREFIX}{journal}{SUFFIX}", f"{PREFIX}{journal}}}:order"]
