"""Journals in PostgreSQL; what the statements call is in postgresql_notes.sql."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.store.base import Notes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from psycopg import AsyncConnection

PART = 2000
"""Notes that are read at a time."""

EXISTS = b"SELECT to_regclass('simdedup_note') IS NOT NULL"
NOTE = "SELECT simdedup_take_note(%s, %s, %s, %s)"
NOTED = "SELECT value FROM simdedup_note WHERE journal = %s AND key = %s"
NOTES = "SELECT position, value FROM simdedup_note WHERE journal = %s AND position > %s ORDER BY position LIMIT %s"
JOURNALS = "SELECT DISTINCT journal FROM simdedup_note ORDER BY journal"
TEAR = "DELETE FROM simdedup_note WHERE journal = %s"


async def make_tables(db: AsyncConnection[Any]) -> None:
    """Add what a database of an earlier version does not have."""
    found = await (await db.execute(EXISTS)).fetchone()
    if not (found and found[0]):
        script = files("scrapy_simdedup.store").joinpath("postgresql_notes.sql").read_text(encoding="utf-8")
        await db.execute(script.encode())


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
