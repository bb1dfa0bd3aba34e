"""The store in a SQLite file, for the crawls of one machine."""

from __future__ import annotations

import asyncio
import json
from dataclasses import fields, replace
from operator import attrgetter
from sys import intern
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.store import sqlite_notes
from scrapy_simdedup.store.base import STEPS, TOMBSTONE_SECONDS, Notes, Outcome, Record, Sleep, Tail
from scrapy_simdedup.store.sqlite_file import BEGIN, SqliteFile
from scrapy_simdedup.store.sqlite_tables import TABLES, VERSION
from scrapy_simdedup.store.whole import whole_log

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import AsyncIterator, Sequence

COLUMNS = attrgetter(*(field.name for field in fields(Record)))
PART = 2000
"""Records that are read at a time: some milliseconds in which nothing else runs in this process."""

REMEMBER = "INSERT INTO memo VALUES (?, ?) ON CONFLICT DO NOTHING"
RECALL = "SELECT value FROM memo WHERE name = ?"
READ = """
SELECT counter, page.* FROM site LEFT JOIN page ON page.site = number AND position > ?
WHERE name = ? ORDER BY position LIMIT ?
"""
ADD_SITE = "INSERT INTO site (name, counter) VALUES (?, 0) ON CONFLICT DO NOTHING"
CLAIM = "UPDATE site SET counter = counter + 1 WHERE name = ? AND counter = ?"
APPEND = """
INSERT INTO page VALUES (
    (SELECT number FROM site WHERE name = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
)
"""
ADVANCE = "UPDATE site SET counter = counter + 1 WHERE name = :site"
SETTLE = """
UPDATE page SET state = :state, last_seen = :now, position = (SELECT counter FROM site WHERE name = :site)
WHERE site = (SELECT number FROM site WHERE name = :site) AND id = :id
    AND state IN (SELECT value FROM json_each(:steps))
"""
FORGET = """
UPDATE page SET state = 'released', fingerprint = x'', last_seen = :now,
    position = (SELECT counter FROM site WHERE name = :site)
WHERE site = (SELECT number FROM site WHERE name = :site) AND id = :id
"""
BURY = "DELETE FROM page WHERE state = 'released' AND last_seen < ?"
BEAT = "INSERT INTO worker VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET beat = excluded.beat"
BEATS = "SELECT name, beat FROM worker"
SILENT = "DELETE FROM worker WHERE beat < ?"
SUPERSEDE = """
DELETE FROM page WHERE site = (SELECT number FROM site WHERE name = :site) AND id < :id
    AND key = (SELECT key FROM page WHERE site = (SELECT number FROM site WHERE name = :site) AND id = :id)
"""
COUNT = "SELECT count(*) FROM page"
SITES = "SELECT name FROM site WHERE counter > 0 ORDER BY name"


class SqliteStore:
    """Calls run inline: a commit takes a fraction of a millisecond.

    Args:
        url: ``sqlite:///relative/path``, ``sqlite:////absolute/path`` or ``sqlite:///C:/path``.
        sleep: lets other work go on while somebody else holds the file.

    Raises:
        SettingError: the URL names no file.
    """

    def __init__(self, url: str, sleep: Sleep = asyncio.sleep) -> None:
        self._file, self._sleep = SqliteFile(url, sleep), sleep
        self._tidy = False

    async def open(self) -> None:
        """Open the file, or make it; a damaged one, or another program's, is an error and is left as it is."""
        await self._file.open((*TABLES, *sqlite_notes.TABLES), VERSION)
        self._tidy = False

    async def close(self) -> None:
        """Close the file."""
        self._file.close()

    async def remember(self, name: str, value: str) -> str:
        """Keep ``value`` under ``name`` unless something is there already; what is there then."""

        def remember(db: sqlite3.Connection) -> str:
            db.execute(REMEMBER, (name, value))
            return str(db.execute(RECALL, (name,)).fetchone()[0])

        return await self._file.run(remember)

    async def read(self, site: str, after: int = 0) -> Tail:
        """What happened to the site since the counter was ``after``."""
        rows = await self._file.run(lambda db: db.execute(READ, (after, site, PART)).fetchall())
        if not rows:
            return Tail((), 0)
        # A site without news is one row that has its counter alone.
        records = tuple(_record(*record) for _, number, *record in rows if number is not None)
        complete = len(rows) < PART
        return Tail(records, rows[0][0] if complete else records[-1].position, complete)

    async def append(self, site: str, record: Record, expected: int) -> int | None:
        """Add a record; its id, or None if the counter is not ``expected`` any more."""
        id_ = expected + 1
        values = COLUMNS(replace(record, id=id_, position=id_))

        def append(db: sqlite3.Connection) -> int | None:
            with db:
                db.execute(BEGIN)
                db.execute(ADD_SITE, (site,))
                if not db.execute(CLAIM, (site, expected)).rowcount:
                    return None
                db.execute(APPEND, (site, *values))
                if record.settled:
                    db.execute(SUPERSEDE, {"site": site, "id": id_})
            return id_

        return await self._file.run(append)

    async def settle(self, site: str, id: int, state: Outcome, now: float) -> None:  # noqa: A002 - the field's name
        """Confirm or release a reserved record."""
        values = {"site": site, "id": id, "state": state, "now": now, "steps": json.dumps(sorted(STEPS[state]))}

        def settle(db: sqlite3.Connection) -> None:
            with db:
                db.execute(BEGIN)
                db.execute(ADVANCE, values)
                if not db.execute(SETTLE, values).rowcount:
                    db.rollback()
                elif state != "released":
                    db.execute(SUPERSEDE, values)

        await self._file.run(settle)

    async def forget(self, site: str, ids: Sequence[int], now: float) -> None:
        """Take records out; their tombstones go when the file is opened another day."""

        def forget(db: sqlite3.Connection) -> None:
            with db:
                db.execute(BEGIN)
                for id_ in ids:
                    values = {"site": site, "id": id_, "now": now}
                    db.execute(ADVANCE, values)
                    db.execute(FORGET, values)

        await self._file.run(forget)

    async def beat(self, worker: str, now: float) -> None:
        """The worker is alive."""
        await self._file.run(lambda db: db.execute(BEAT, (worker, now)))
        if not self._tidy:  # once, and by the same clock that wrote them
            self._tidy = True
            old = (now - TOMBSTONE_SECONDS,)
            await self._file.run(lambda db: (db.execute(BURY, old), db.execute(SILENT, old)))

    async def beats(self) -> dict[str, float]:
        """When each worker was last heard of."""
        return dict(await self._file.run(lambda db: db.execute(BEATS).fetchall()))

    async def count(self) -> int:
        """How many records there are, tombstones included."""
        return int((await self._file.run(lambda db: db.execute(COUNT).fetchone()))[0])

    async def sites(self) -> AsyncIterator[str]:
        """The sites that have pages."""
        for (name,) in await self._file.run(lambda db: db.execute(SITES).fetchall()):
            yield name

    async def records(self) -> AsyncIterator[tuple[str, Record]]:
        """All records with their sites; one that changes meanwhile may come twice."""
        async for site in self.sites():
            async for record in whole_log(self, site):
                yield site, record

    async def note(self, journal: str, key: bytes, value: bytes, *, once: bool = False) -> bytes:
        """Write a note."""
        return await self._file.run(lambda db: sqlite_notes.note(db, journal, key, value, once=once))

    async def noted(self, journal: str, key: bytes) -> bytes | None:
        """The note with a key."""
        return await self._file.run(lambda db: sqlite_notes.noted(db, journal, key))

    async def notes(self, journal: str, after: int = 0) -> Notes:
        """What was noted since the cursor was ``after``."""
        return await self._file.run(lambda db: sqlite_notes.notes(db, journal, after))

    async def journals(self) -> AsyncIterator[str]:
        """The names of all journals."""
        for name in await self._file.run(sqlite_notes.journals):
            yield name

    async def tear(self, journal: str) -> None:
        """Take a journal out."""
        while not await self._file.run(lambda db: sqlite_notes.tear(db, journal)):
            await self._sleep(0)


def _record(url: str, key: bytes, fingerprint: bytes, *rest: Any) -> Record:
    # SQLite makes a new string for each row. The four names are the same in thousands of records that are held.
    names: list[Any] = [intern(name) for name in rest[:4]]
    return Record(url, key, fingerprint, *names, *rest[4:])
