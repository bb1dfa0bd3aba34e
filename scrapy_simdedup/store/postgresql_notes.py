"""Journals in PostgreSQL; what the statements call is in postgresql.sql."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_simdedup.store.base import Notes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PART = 2000
"""Notes that are read at a time."""

NOTE = "SELECT simdedup_take_note(%s, %s, %s, %s)"
NOTED = "SELECT value FROM simdedup_note WHERE journal = %s AND key = %s"
NOTES = "SELECT position, value FROM simdedup_note WHERE journal = %s AND position > %s ORDER BY position LIMIT %s"
JOURNALS = "SELECT DISTINCT journal FROM simdedup_note ORDER BY journal"
TEAR = "DELETE FROM simdedup_note WHERE journal = %s"


class PostgresqlNotes:
    """The verbs of a store that are about journals."""

    async def note(self, journal: str, key: bytes, value: bytes, *, once: bool = False) -> bytes:
        """Write a note."""
        ((there,),) = await self._ask(NOTE, (journal, key, value, once))
        return bytes(there)

    async def noted(self, journal: str, key: bytes) -> bytes | None:
        """The note with a key."""
        rows = await self._ask(NOTED, (journal, key))
        return bytes(rows[0][0]) if rows else None

    async def notes(self, journal: str, after: int = 0) -> Notes:
        """What was noted since the cursor was ``after``."""
        rows = await self._ask(NOTES, (journal, after, PART))
        return Notes(tuple(value for _, value in rows), rows[-1][0] if rows else after, len(rows) < PART)

    async def journals(self) -> AsyncIterator[str]:
        """The names of all journals."""
        for (name,) in await self._ask(JOURNALS):
            yield name

    async def tear(self, journal: str) -> None:
        """Take a journal out."""
        await self._ask(TEAR, (journal,))

    async def _ask(self, statement: str, values: Any = None) -> list[tuple[Any, ...]]:
        raise NotImplementedError
