"""The store in PostgreSQL, for crawls of many machines. One statement per verb; what they call is in postgresql.sql."""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from sys import intern
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import AsyncConnection, OperationalError
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import AsyncConnectionPool

from scrapy_simdedup.errors import FingerprintMismatch, SettingError, StoreError
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.store.base import STEPS, TOMBSTONE_SECONDS, Outcome, Record, Tail
from scrapy_simdedup.store.postgresql_notes import PostgresqlNotes
from scrapy_simdedup.store.postgresql_tables import REMEMBER, prepare_tables, rows
from scrapy_simdedup.store.remote import CALLS, CONNECT_SECONDS, Remote
from scrapy_simdedup.store.whole import whole_log
from scrapy_simdedup.store_urls import STORE_FORMS, without_password

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

COLUMNS = attrgetter(*(field.name for field in fields(Record)))

SESSION = """
SET synchronous_commit = off;  -- a crash may cost the last commits: repeats of their pages come once more
SET plan_cache_mode = force_generic_plan;  -- for these statements planning takes longer than running
SET lock_timeout = '4s'
"""
PART = 2000
"""Records that are read at a time: some milliseconds in which nothing else runs in this process."""

READ = """
SELECT (SELECT position FROM simdedup_page WHERE site = %(site)s ORDER BY position DESC LIMIT 1), page.*
FROM (VALUES (1)) AS one LEFT JOIN (
    SELECT * FROM simdedup_page WHERE site = %(site)s AND position > %(after)s ORDER BY position LIMIT %(part)s
) AS page ON true ORDER BY page.position
"""
APPEND = f"SELECT simdedup_append(ROW(%s{', %s' * 17})::simdedup_page, %s)"
SETTLE = "SELECT simdedup_settle(%s, %s, %s, %s, %s)"
FORGET = "SELECT simdedup_forget(%s, %s, %s)"
BURY = "DELETE FROM simdedup_page WHERE state = 'released' AND last_seen < %s"
BEAT = "INSERT INTO simdedup_worker VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET beat = excluded.beat"
SILENT = "DELETE FROM simdedup_worker WHERE beat < %s"
BEATS = "SELECT name, beat FROM simdedup_worker"
COUNT = "SELECT count(*) FROM simdedup_page"
SITES = "SELECT DISTINCT site FROM simdedup_page ORDER BY site"

REMEDIES = {
    "password authentication failed": "correct user and password in SIMDEDUP_STORE",
    "no password supplied": "write the password into SIMDEDUP_STORE: 'postgresql://user:password@host/database'",
    "does not exist": "create it first, or correct SIMDEDUP_STORE",
    "permission denied": "let the user create tables in the schema, or let somebody open the store once who may",
    "connection refused": "check that the server runs, and host and port in SIMDEDUP_STORE",
    "too many": "allow more connections in postgresql.conf, or put a pooler in front",
    "disk full": "free some disk space on the server",
}
"""What to do, by a part of the message."""


class PostgresqlStore(PostgresqlNotes):
    """Changes of one site wait for each other under an advisory lock; sites are independent.

    Args:
        url: ``postgresql://user:password@host:port/database``; options of libpq follow a ``?``.

    Raises:
        SettingError: the URL cannot be used.
    """

    def __init__(self, url: str) -> None:
        try:
            conninfo_to_dict(url)
        except psycopg.Error:
            remedy = f"write it as {STORE_FORMS['postgresql']!r}"
            raise SettingError("SIMDEDUP_STORE", without_password(url), remedy) from None
        self._url = url
        self._remote = Remote(url, (psycopg.Error,), (OperationalError, OSError), REMEDIES)
        self._pool: AsyncConnectionPool[AsyncConnection[Any]] | None = None
        self._tidy = False

    async def open(self) -> None:
        """Connect; a new database gets its tables, an existing one is checked."""
        self._remote.check_loop()
        self._tidy = False
        await self._remote.run(self._prepare)
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
        """Close the connections."""
        await self._remote.finish()
        if self._pool is not None:
            pool, self._pool = self._pool, None
            await pool.close()

    async def remember(self, name: str, value: str) -> str:
        """Keep ``value`` under ``name`` unless something is there already; what is there then."""
        ((found,),) = await self._ask(REMEMBER, {"name": name, "value": value})
        return str(found)

    async def read(self, site: str, after: int = 0) -> Tail:
        """What happened to the site since the counter was ``after``."""
        found = await self._ask(READ, {"site": site, "after": after, "part": PART})
        # A site without news is one row that has its counter alone.
        records = tuple(_record(*record) for _, name, *record, _ in found if name is not None)
        complete = len(records) < PART
        return Tail(records, found[0][0] or 0 if complete else records[-1].position, complete)

    async def append(self, site: str, record: Record, expected: int) -> int | None:
        """Add a record; its id, or None if the site changed after ``expected``."""
        ((id_,),) = await self._ask(APPEND, (site, *COLUMNS(record), _bits(record.fingerprint), expected))
        return None if id_ is None else int(id_)

    async def settle(self, site: str, id: int, state: Outcome, now: float) -> None:  # noqa: A002 - the field's name
        """Confirm or release a reserved record, or make a delivered one a stub."""
        await self._ask(SETTLE, (site, id, state, sorted(STEPS[state]), now))

    async def forget(self, site: str, ids: Sequence[int], now: float) -> None:
        """Take records out; their tombstones go with the first beat of another day."""
        await self._ask(FORGET, (site, list(ids), now))

    async def beat(self, worker: str, now: float) -> None:
        """The worker is alive."""
        await self._ask(BEAT, (worker, now))
        if not self._tidy:
            self._tidy = True
            for statement in (BURY, SILENT):
                await self._ask(statement, (now - TOMBSTONE_SECONDS,))

    async def beats(self) -> dict[str, float]:
        """When each worker was last heard of."""
        return dict(await self._ask(BEATS))

    async def count(self) -> int:
        """How many records there are, tombstones included."""
        return int((await self._ask(COUNT))[0][0])

    async def sites(self) -> AsyncIterator[str]:
        """The sites that have pages."""
        for (name,) in await self._ask(SITES):
            yield name

    async def records(self) -> AsyncIterator[tuple[str, Record]]:
        """All records with their sites; one that changes meanwhile may come twice."""
        async for site in self.sites():
            async for record in whole_log(self, site):
                yield site, record

    async def _ask(self, statement: str, values: Any = None) -> list[tuple[Any, ...]]:
        if self._pool is None:
            raise StoreError(self._remote.name, "is not open", "open it first")
        pool = self._pool

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

        return await self._remote.run(ask)

    async def _prepare(self) -> None:
        async with await AsyncConnection.connect(self._url, connect_timeout=round(CONNECT_SECONDS)) as db:
            await prepare_tables(db, self._remote.name)


async def _configure(db: AsyncConnection[Any]) -> None:
    await db.execute(SESSION)


def _record(url: str, key: bytes, fingerprint: bytes, *rest: Any) -> Record:
    # The driver makes a new string for each row. The four names are the same in thousands of records that are held.
    names: list[Any] = [intern(name) for name in rest[:4]]
    return Record(url, key, fingerprint, *names, *rest[4:])


def _bits(raw: bytes) -> str | None:
    """The simhash for those who query the table; None where the page has none."""
    try:
        fp = PageFingerprint.from_bytes(raw)
    except FingerprintMismatch:
        return None
    return None if fp.unjudged else f"{fp.simhash:0{fp.bits}b}"
