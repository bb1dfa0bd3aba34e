"""The store in PostgreSQL, for crawls of many machines.

Each verb is one statement; the tables, and the functions that the statements call, are in ``postgresql.sql``. A new
database gets its tables; tables of another version are refused.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from importlib.resources import files
from typing import Any

import psycopg
from psycopg import AsyncConnection, OperationalError
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import AsyncConnectionPool

from scrapy_simdedup.errors import FingerprintMismatch, StoreError
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.store import base
from scrapy_simdedup.store.remote import CALLS, CONNECT_SECONDS, CircuitBreaker, RemoteStore

VERSION = "2"
"""Version of the tables. ``simdedup_page`` has ``site``, the fields of ``Record`` in their order, and ``simhash``."""
OLDEST = 14
"""The first PostgreSQL that has ``bit_count``."""
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('simdedup schema', 0))"
"""Processes that open a new database wait for the first one."""
EXISTS = "SELECT to_regclass('simdedup_memo') IS NOT NULL"
PARTS = "memo", "worker", "page", "note", "append", "settle", "forget", "put_note"
"""What the script makes, without what is for people: tables, and then functions."""
MISSING = """
SELECT name FROM unnest(%s::text[]) AS name
WHERE to_regclass('simdedup_' || name) IS NULL AND to_regproc('simdedup_' || name) IS NULL
"""
# Not DO NOTHING: what somebody else wrote meanwhile is not to be seen by the statement that waited for it.
SET_DEFAULT = """
INSERT INTO simdedup_memo AS memo VALUES (%(name)s, %(value)s) ON CONFLICT (name) DO UPDATE SET value = memo.value
RETURNING value
"""
SESSION = """
SET synchronous_commit = off;  -- a crash may cost the last commits: repeats of their pages come once more
SET plan_cache_mode = force_generic_plan;  -- for these statements planning takes longer than running
SET lock_timeout = '4s'
"""
PART = 2000
"""Records or notes that are read at a time: some milliseconds in which nothing else runs in this process."""
READ = """
SELECT (SELECT position FROM simdedup_page WHERE site = %(site)s ORDER BY position DESC LIMIT 1), page.*
FROM (VALUES (1)) AS one LEFT JOIN (
    SELECT * FROM simdedup_page WHERE site = %(site)s AND position > %(after)s ORDER BY position LIMIT %(part)s
) AS page ON true ORDER BY page.position
"""
APPEND = f"SELECT simdedup_append(ROW(%s{', %s' * 18})::simdedup_page, %s)"
COPY = "COPY simdedup_page FROM STDIN"
LOCK_SITES = """
SELECT pg_advisory_xact_lock(hashtextextended('simdedup ' || site, 0)) FROM unnest(%s::text[]) AS site ORDER BY site
"""
COUNTERS = """
SELECT site, (SELECT position FROM simdedup_page AS page WHERE page.site = asked.site ORDER BY position DESC LIMIT 1)
FROM unnest(%s::text[]) AS asked (site)
"""
SETTLE = "SELECT simdedup_settle(%s, %s, %s, %s, %s)"
FORGET = "SELECT simdedup_forget(%s, %s, %s)"
PURGE = "DELETE FROM simdedup_page WHERE state = 'released' AND last_seen < %s"
HEARTBEAT = (
    "INSERT INTO simdedup_worker VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET heartbeat = excluded.heartbeat"
)
SILENT = "DELETE FROM simdedup_worker WHERE heartbeat < %s"
HEARTBEATS = "SELECT name, heartbeat FROM simdedup_worker"
COUNT = "SELECT count(*) FROM simdedup_page"
SITES = "SELECT DISTINCT site FROM simdedup_page ORDER BY site"
PUT_NOTE = "SELECT simdedup_put_note(%s, %s, %s, %s)"
GET_NOTE = "SELECT value FROM simdedup_note WHERE journal = %s AND key = %s"
READ_NOTES = "SELECT position, value FROM simdedup_note WHERE journal = %s AND position > %s ORDER BY position LIMIT %s"
JOURNALS = "SELECT DISTINCT journal FROM simdedup_note ORDER BY journal"
DELETE_JOURNAL = "DELETE FROM simdedup_note WHERE journal = %s"
SHORT = frozenset({APPEND, SETTLE, PUT_NOTE})
"""Statements that send and get next to nothing."""
GONE = "put back a copy of what is missing, or drop all that begins with 'simdedup_' to begin a new store"
REMEDIES = {
    "password authentication failed": "correct user and password in SIMDEDUP_STORE",
    "no password supplied": "write the password into SIMDEDUP_STORE: 'postgresql://user:password@host/database'",
    "undefinedtable": GONE,
    "undefinedfunction": GONE,
    "does not exist": "create it first, or correct SIMDEDUP_STORE",
    "not permitted to log in": "let the user log in, or name another one in SIMDEDUP_STORE",
    "permission denied for table": "let the user read, write and delete in all tables that begin with 'simdedup_'",
    "permission denied for function": "let the user call all functions that begin with 'simdedup_'",
    "permission denied": "let the user create tables in the schema, or let somebody open the store once who may",
    "does not support ssl": "correct sslmode in SIMDEDUP_STORE, or have the server speak TLS",
    "connection refused": "check that the server runs, and host and port in SIMDEDUP_STORE",
    "timeout expired": "check that the server runs, and host and port in SIMDEDUP_STORE",
    "is the server running": "check that the server runs, and host and port in SIMDEDUP_STORE",
    "resolve host": "correct the host in SIMDEDUP_STORE",
    "name or service not known": "correct the host in SIMDEDUP_STORE",  # the older drivers leave it to the system
    "too many": "allow more connections in postgresql.conf, or put a pooler in front",
    "disk full": "free some disk space on the server",
    "read-only transaction": "name the primary, not a standby, and a database that is not set to read only",
    "statement timeout": "let statements of this user take five seconds: ALTER ROLE ... SET statement_timeout = '5s'",
    "lock timeout": "look in pg_locks for who locks the tables that begin with 'simdedup_'",
}
"""What to do, by a part of the driver's message."""


class PostgresqlStore(RemoteStore):
    """Records in PostgreSQL. Changes of one site wait for each other under an advisory lock; sites are independent.

    The URL is ``postgresql://user:password@host:port/database``; options of libpq follow a ``?``. A ValueError says
    that it cannot be used.
    """

    def __init__(self, url: str) -> None:
        try:
            conninfo_to_dict(url)
        except psycopg.Error as exc:
            raise ValueError(str(exc)) from exc
        self._url = url
        self._breaker = CircuitBreaker(url, (psycopg.Error,), (OperationalError, OSError), REMEDIES)
        self._pool: AsyncConnectionPool[AsyncConnection[Any]] | None = None
        self._tidy = False

    async def open(self) -> None:
        """Connect; a new database gets its tables, an existing one is checked."""
        self._breaker.check_loop()
        self._tidy = False
        await self._breaker.run(self._prepare)
        self._pool = AsyncConnectionPool(
            self._url,
            kwargs={"autocommit": True, "connect_timeout": round(CONNECT_SECONDS)},
            min_size=1,
            max_size=CALLS,
            timeout=CONNECT_SECONDS,
            reconnect_timeout=CONNECT_SECONDS,
            configure=_configure,
            open=False,
        )
        await self._pool.open()

    async def close(self) -> None:
        await self._breaker.finish()
        if self._pool is not None:
            pool, self._pool = self._pool, None
            await pool.close()

    async def set_default(self, name: str, value: str) -> str:
        ((found,),) = await self._ask(SET_DEFAULT, {"name": name, "value": value})
        return str(found)

    async def read(self, site: str, after: int = 0) -> base.Tail:
        found = await self._ask(READ, {"site": site, "after": after, "part": PART})
        # A site without news is one row that has its counter alone.
        records = tuple(base.Record._make(record) for _, name, *record, _ in found if name is not None)
        complete = len(records) < PART
        return base.Tail(records, found[0][0] or 0 if complete else records[-1].position, complete)

    async def append(self, site: str, record: base.Record, expected: int) -> int | None:
        ((id_,),) = await self._ask(APPEND, (site, *record, _bits(record.fingerprint), expected))
        return None if id_ is None else int(id_)

    async def load(self, parts: Sequence[base.LogPart]) -> list[int | None]:
        """All in one transaction; each site is locked meanwhile, so a part has up to a few hundred sites."""
        pool, sites = self._open_pool, [part.site for part in parts]

        async def load() -> list[int | None]:
            async with pool.connection() as db, db.transaction(), db.cursor() as cursor:
                await cursor.execute(LOCK_SITES, (sites,))
                await cursor.execute(COUNTERS, (sites,))
                counters = dict(await cursor.fetchall())
                free = [part for part in parts if (counters[part.site] or 0) <= part.expected]
                async with cursor.copy(COPY) as copy:
                    for part in free:
                        for record in part.numbered():
                            await copy.write_row((part.site, *record, _bits(record.fingerprint)))
            loaded = {part.site for part in free}
            return [part.counter if part.site in loaded else None for part in parts]

        return await self._breaker.run(load)

    async def settle(self, site: str, id: int, state: base.Outcome, now: float) -> None:  # noqa: A002 - the field's name
        await self._ask(SETTLE, (site, id, state, sorted(base.STEPS[state]), now))

    async def forget(self, site: str, ids: Sequence[int], now: float) -> None:
        """Tombstones are deleted with the first heartbeat of another day."""
        await self._ask(FORGET, (site, list(ids), now))

    async def heartbeat(self, worker: str, now: float) -> None:
        await self._ask(HEARTBEAT, (worker, now))
        if not self._tidy:
            self._tidy = True
            for statement in (PURGE, SILENT):
                await self._ask(statement, (now - base.TOMBSTONE_SECONDS,))

    async def heartbeats(self) -> dict[str, float]:
        return dict(await self._ask(HEARTBEATS))

    async def count(self) -> int:
        return int((await self._ask(COUNT))[0][0])

    async def sites(self) -> AsyncIterator[str]:
        for (name,) in await self._ask(SITES):
            yield name

    async def put_note(self, journal: str, key: bytes, value: bytes, *, once: bool = False) -> bytes:
        ((there,),) = await self._ask(PUT_NOTE, (journal, key, value, once))
        return bytes(there)

    async def get_note(self, journal: str, key: bytes) -> bytes | None:
        found = await self._ask(GET_NOTE, (journal, key))
        return bytes(found[0][0]) if found else None

    async def read_notes(self, journal: str, after: int = 0) -> base.Notes:
        found = await self._ask(READ_NOTES, (journal, after, PART))
        return base.Notes(tuple(value for _, value in found), found[-1][0] if found else after, len(found) < PART)

    async def journals(self) -> AsyncIterator[str]:
        for (name,) in await self._ask(JOURNALS):
            yield name

    async def delete_journal(self, journal: str) -> None:
        await self._ask(DELETE_JOURNAL, (journal,))

    @property
    def _open_pool(self) -> AsyncConnectionPool[AsyncConnection[Any]]:
        if self._pool is None:
            raise StoreError(self._breaker.name, "is not open", "open it first")
        return self._pool

    async def _ask(self, statement: str, values: Any = None) -> list[tuple[Any, ...]]:
        pool = self._open_pool

        async def ask() -> list[tuple[Any, ...]]:
            async with pool.connection() as db:
                try:
                    return await rows(db, statement, values)
                except OperationalError:
                    if not db.broken:
                        raise
            # The server was restarted, so others in the pool are dead, too. Every statement can be run twice.
            await pool.check()
            async with pool.connection() as db:
                return await rows(db, statement, values)

        return await self._breaker.run(ask, is_short=statement in SHORT)

    async def _prepare(self) -> None:
        name = self._breaker.name
        async with await AsyncConnection.connect(self._url, connect_timeout=round(CONNECT_SECONDS)) as db:
            server = db.info.server_version // 10_000
            if server < OLDEST:
                raise StoreError(name, f"is PostgreSQL {server}", f"use PostgreSQL {OLDEST} or newer")
            await db.execute(LOCK)
            if not (await rows(db, EXISTS))[0][0]:
                script = files("scrapy_simdedup.store").joinpath("postgresql.sql").read_text(encoding="utf-8")
                await db.execute(script.encode())
            if missing := await rows(db, MISSING, (list(PARTS),)):
                raise StoreError(name, f"lacks simdedup_{missing[0][0]}", GONE)
            ((found,),) = await rows(db, SET_DEFAULT, {"name": "tables", "value": VERSION})
            self._check_version("tables", found, VERSION)


async def _configure(db: AsyncConnection[Any]) -> None:
    await db.execute(SESSION)


def _bits(raw: bytes) -> str | None:
    """The simhash for those who query the table; None where the page has none."""
    try:
        fp = PageFingerprint.from_bytes(raw)
    except FingerprintMismatch:
        return None
    return None if fp.unjudged else f"{fp.simhash:0{fp.bits}b}"


async def rows(db: AsyncConnection[Any], statement: str, values: Any = None) -> list[tuple[Any, ...]]:
    """The rows of a statement; none for a statement without rows."""
    cursor = await db.execute(statement.encode(), values, binary=True)
    # Not by its description, which takes as long to make as the rest of a small answer.
    return [] if cursor.rownumber is None else await cursor.fetchall()
