"""The tables in PostgreSQL: made where there are none, refused where another version made them."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.errors import StoreError

if TYPE_CHECKING:
    from psycopg import AsyncConnection

VERSION = "1"
"""Version of the tables. ``simdedup_page`` has ``site``, the fields of ``Record`` in their order, and ``simhash``."""
OLDEST = 14
"""The first PostgreSQL that has ``bit_count``."""

LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('simdedup schema', 0))"
"""Those who open a new database wait for the first."""
EXISTS = "SELECT to_regclass('simdedup_memo') IS NOT NULL"
# Not DO NOTHING: what somebody else wrote meanwhile is not to be seen by the statement that waited for it.
REMEMBER = """
INSERT INTO simdedup_memo AS memo VALUES (%(name)s, %(value)s) ON CONFLICT (name) DO UPDATE SET value = memo.value
RETURNING value
"""


async def prepare_tables(db: AsyncConnection[Any], name: str) -> None:
    """Make the tables of a new database, check those of an existing one; in one transaction.

    Args:
        db: a connection that does not commit each statement.
        name: the store's URL without its password, for errors.

    Raises:
        StoreError: the server is too old, or the tables are of another version.
    """
    if db.info.server_version < OLDEST * 10_000:
        problem = f"is PostgreSQL {db.info.server_version // 10_000}"
        raise StoreError(name, problem, f"use PostgreSQL {OLDEST} or newer")
    await db.execute(LOCK)
    if not (await rows(db, EXISTS))[0][0]:
        script = files("scrapy_simdedup.store").joinpath("postgresql.sql").read_text(encoding="utf-8")
        await db.execute(script.encode())
    ((found,),) = await rows(db, REMEMBER, {"name": "tables", "value": VERSION})
    if found != VERSION:
        problem = f"has tables of version {found}; this scrapy-simdedup works with version {VERSION}"
        remedy = "name another database, or use the scrapy-simdedup that made this one"
        raise StoreError(name, problem, remedy)


async def rows(db: AsyncConnection[Any], statement: str, values: Any = None) -> list[tuple[Any, ...]]:
    """What a statement gives; nothing if it is none that gives rows."""
    cursor = await db.execute(statement.encode(), values, binary=True)
    # Not by its description, which takes as long to make as the rest of a small answer.
    return [] if cursor.rownumber is None else await cursor.fetchall()
