"""The store in a SQLite file, for the crawls of one machine."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from importlib.resources import files
from typing import TypeVar

from scrapy_simdedup.store import base
from scrapy_simdedup.store.sqlite_file import BEGIN, SqliteFile

Result = TypeVar("Result")
VERSION = 2
"""Version of the tables; the columns of ``page`` are the fields of ``Record``, in their order."""
TABLES, JOURNAL_TABLES = (
    tuple(files("scrapy_simdedup.store").joinpath(name).read_text(encoding="utf-8").split(";")[:-1])
    for name in ("sqlite.sql", "sqlite_journals.sql")
)
"""The statements that make the tables of a new file; those of journals stand in for the store in memory, too."""
PART = 2000
"""Records or notes that are read or deleted at a time: some milliseconds in which nothing else runs in this process."""
SET_DEFAULT = "INSERT INTO memo VALUES (?, ?) ON CONFLICT DO NOTHING"
GET_DEFAULT = "SELECT value FROM memo WHERE name = ?"
READ = """
SELECT counter, page.* FROM site LEFT JOIN page ON page.site = number AND position > ?
WHERE name = ? ORDER BY position LIMIT ?
"""
ADD_SITE = "INSERT INTO site (name, counter) VALUES (?, 0) ON CONFLICT DO NOTHING"
CLAIM = "UPDATE site SET counter = ? WHERE name = ? AND counter = ?"
SITE_NUMBER = "SELECT number FROM site WHERE name = ?"
APPEND = "INSERT INTO page VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
ADVANCE = "UPDATE site SET counter = counter + 1 WHERE name = :site"
COUNTER = "SELECT counter FROM site WHERE name = :site"
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
PURGE = "DELETE FROM page WHERE state = 'released' AND last_seen < ?"
HEARTBEAT = "INSERT INTO worker VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET heartbeat = excluded.heartbeat"
HEARTBEATS = "SELECT name, heartbeat FROM worker"
SILENT = "DELETE FROM worker WHERE heartbeat < ?"
SUPERSEDE = """
DELETE FROM page WHERE site = (SELECT number FROM site WHERE name = :site) AND id < :id
    AND key = (SELECT key FROM page WHERE site = (SELECT number FROM site WHERE name = :site) AND id = :id)
"""
COUNT = "SELECT count(*) FROM page"
SITES = "SELECT name FROM site WHERE counter > 0 ORDER BY name"
ADD_JOURNAL = "INSERT INTO journal (name) VALUES (?) ON CONFLICT DO NOTHING"
FIND_NOTE = "SELECT value FROM note WHERE journal = (SELECT number FROM journal WHERE name = ?) AND key = ?"
WRITE_NOTE = "REPLACE INTO note (journal, key, value) VALUES ((SELECT number FROM journal WHERE name = ?), ?, ?)"
READ_NOTES = """
SELECT position, value FROM note WHERE journal = (SELECT number FROM journal WHERE name = ?) AND position > ?
ORDER BY position LIMIT ?
"""
JOURNALS = "SELECT name FROM journal ORDER BY name"
DELETE_JOURNAL = """
DELETE FROM note WHERE position IN
    (SELECT position FROM note WHERE journal = (SELECT number FROM journal WHERE name = ?) ORDER BY position LIMIT ?)
"""
CLOSE_JOURNAL = "DELETE FROM journal WHERE name = ?"


class SqliteJournals(base.FingerprintStore):
    """The journals of a store in a SQLite database, wherever its records are."""

    @abstractmethod
    async def _run(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Do some work with the database."""

    async def _rest(self) -> None:
        """Let other work go on between two parts of a long task."""

    async def put_note(self, journal: str, key: bytes, value: bytes, *, once: bool = False) -> bytes:
        def put_note(db: sqlite3.Connection) -> bytes:
            with db:
                db.execute(BEGIN)
                there = _find_note(db, journal, key)
                if there is not None and (once or there == value):
                    return there
                db.execute(ADD_JOURNAL, (journal,))
                db.execute(WRITE_NOTE, (journal, key, value))
            return value

        return await self._run(put_note)

    async def get_note(self, journal: str, key: bytes) -> bytes | None:
        return await self._run(lambda db: _find_note(db, journal, key))

    async def read_notes(self, journal: str, after: int = 0) -> base.Notes:
        rows = await self._run(lambda db: db.execute(READ_NOTES, (journal, after, PART)).fetchall())
        return base.Notes(tuple(value for _, value in rows), rows[-1][0] if rows else after, len(rows) < PART)

    async def journals(self) -> AsyncIterator[str]:
        for (name,) in await self._run(lambda db: db.execute(JOURNALS).fetchall()):
            yield name

    async def delete_journal(self, journal: str) -> None:
        def delete_part(db: sqlite3.Connection) -> bool:
            with db:
                db.execute(BEGIN)
                is_last = db.execute(DELETE_JOURNAL, (journal, PART)).rowcount < PART
                if is_last:
                    db.execute(CLOSE_JOURNAL, (journal,))
            return is_last

        while not await self._run(delete_part):
            await self._rest()


def _find_note(db: sqlite3.Connection, journal: str, key: bytes) -> bytes | None:
    found = db.execute(FIND_NOTE, (journal, key)).fetchone()
    return None if found is None else bytes(found[0])


class SqliteStore(SqliteJournals):
    """Records in a SQLite file. Calls run inline: a commit takes a fraction of a millisecond.

    The URL is ``sqlite:///relative/path``, ``sqlite:////absolute/path`` or ``sqlite:///C:/path``, else a SettingError
    says so. While somebody else holds the file, ``sleep`` lets other work go on.
    """

    def __init__(self, url: str, sleep: base.Sleep = asyncio.sleep) -> None:
        self._file, self._sleep = SqliteFile(url, sleep), sleep
        self._tidy = False

    def exists(self) -> bool:
        return self._file.exists()

    def bytes_on_disk(self) -> int | None:
        return self._file.bytes_on_disk()

    async def open(self) -> None:
        """Open the file, or make it; a damaged one, or another program's, is an error and is left as it is."""
        await self._file.open((*TABLES, *JOURNAL_TABLES), VERSION)
        self._tidy = False

    async def close(self) -> None:
        self._file.close()

    async def _run(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        return await self._file.run(work)

    async def _rest(self) -> None:
        await self._sleep(0)

    async def set_default(self, name: str, value: str) -> str:
        def set_default(db: sqlite3.Connection) -> str:
            db.execute(SET_DEFAULT, (name, value))
            return str(db.execute(GET_DEFAULT, (name,)).fetchone()[0])

        return await self._run(set_default)

    async def read(self, site: str, after: int = 0) -> base.Tail:
        rows = await self._run(lambda db: db.execute(READ, (after, site, PART)).fetchall())
        if not rows:
            return base.Tail((), 0)
        # A site without news is one row that has its counter alone.
        records = tuple(base.Record._make(record) for _, number, *record in rows if number is not None)
        complete = len(rows) < PART
        return base.Tail(records, rows[0][0] if complete else records[-1].position, complete)

    async def append(self, site: str, record: base.Record, expected: int) -> int | None:
        def append(db: sqlite3.Connection) -> int | None:
            with db:
                db.execute(BEGIN)
                id_ = _append(db, base.LogPart(site, expected, [record]))
                if id_ is not None and record.settled:
                    db.execute(SUPERSEDE, {"site": site, "id": id_})
            return id_

        return await self._run(append)

    async def load(self, parts: Sequence[base.LogPart]) -> list[int | None]:
        def load(db: sqlite3.Connection) -> list[int | None]:
            with db:
                db.execute(BEGIN)
                return [_append(db, part) for part in parts]

        return await self._run(load)

    async def settle(self, site: str, id: int, state: base.Outcome, now: float) -> int | None:  # noqa: A002 - the field's name
        values = {"site": site, "id": id, "state": state, "now": now, "steps": json.dumps(sorted(base.STEPS[state]))}

        def settle(db: sqlite3.Connection) -> int | None:
            with db:
                db.execute(BEGIN)
                db.execute(ADVANCE, values)
                if not db.execute(SETTLE, values).rowcount:
                    db.rollback()
                    return None
                if state != "released":
                    db.execute(SUPERSEDE, values)
                return int(db.execute(COUNTER, values).fetchone()[0])

        return await self._run(settle)

    async def forget(self, site: str, ids: Sequence[int], now: float) -> None:
        """Tombstones are deleted with the first heartbeat of another day."""

        def forget(db: sqlite3.Connection) -> None:
            with db:
                db.execute(BEGIN)
                for id_ in ids:
                    values = {"site": site, "id": id_, "now": now}
                    db.execute(ADVANCE, values)
                    db.execute(FORGET, values)

        await self._run(forget)

    async def heartbeat(self, worker: str, now: float) -> None:
        await self._run(lambda db: db.execute(HEARTBEAT, (worker, now)))
        if not self._tidy:  # once, and by the same clock that wrote them
            self._tidy = True
            old = (now - base.TOMBSTONE_SECONDS,)
            await self._run(lambda db: (db.execute(PURGE, old), db.execute(SILENT, old)))

    async def heartbeats(self) -> dict[str, float]:
        return dict(await self._run(lambda db: db.execute(HEARTBEATS).fetchall()))

    async def count(self) -> int:
        return int((await self._run(lambda db: db.execute(COUNT).fetchone()))[0])

    async def sites(self) -> AsyncIterator[str]:
        for (name,) in await self._run(lambda db: db.execute(SITES).fetchall()):
            yield name


def _append(db: sqlite3.Connection, part: base.LogPart) -> int | None:
    """Append records to a site's log; the new counter, or None if the log is beyond what the part expects."""
    db.execute(ADD_SITE, (part.site,))
    if not db.execute(CLAIM, (part.counter, part.site, part.expected)).rowcount:
        return None
    (number,) = db.execute(SITE_NUMBER, (part.site,)).fetchone()
    db.executemany(APPEND, [(number, *record) for record in part.numbered()])
    return part.counter
