"""Journals in a SQLite database: a file that lasts, or what stands in for memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simdedup.store.base import Notes
from scrapy_simdedup.store.sqlite_file import BEGIN

if TYPE_CHECKING:
    import sqlite3

PART = 2000
"""Notes that are read or taken out at a time."""

TABLES = (
    "CREATE TABLE journal (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    """
    CREATE TABLE note (
        position INTEGER PRIMARY KEY AUTOINCREMENT,
        journal INTEGER NOT NULL REFERENCES journal (number), key BLOB NOT NULL, value BLOB NOT NULL
    )
    """,
    "CREATE UNIQUE INDEX note_key ON note (journal, key)",
    "CREATE INDEX note_position ON note (journal, position)",
)
ADD_JOURNAL = "INSERT INTO journal (name) VALUES (?) ON CONFLICT DO NOTHING"
FIND = "SELECT value FROM note WHERE journal = (SELECT number FROM journal WHERE name = ?) AND key = ?"
WRITE = "REPLACE INTO note (journal, key, value) VALUES ((SELECT number FROM journal WHERE name = ?), ?, ?)"
READ = """
SELECT position, value FROM note WHERE journal = (SELECT number FROM journal WHERE name = ?) AND position > ?
ORDER BY position LIMIT ?
"""
JOURNALS = "SELECT name FROM journal ORDER BY name"
TEAR = """
DELETE FROM note WHERE position IN
    (SELECT position FROM note WHERE journal = (SELECT number FROM journal WHERE name = ?) ORDER BY position LIMIT ?)
"""
CLOSE = "DELETE FROM journal WHERE name = ?"


def note(db: sqlite3.Connection, journal: str, key: bytes, value: bytes, *, once: bool) -> bytes:
    """Write a note; see :meth:`~scrapy_simdedup.store.base.FingerprintStore.note`."""
    with db:
        db.execute(BEGIN)
        there = noted(db, journal, key)
        if there is not None and (once or there == value):
            return there
        db.execute(ADD_JOURNAL, (journal,))
        db.execute(WRITE, (journal, key, value))
    return value


def noted(db: sqlite3.Connection, journal: str, key: bytes) -> bytes | None:
    """The note with a key."""
    found = db.execute(FIND, (journal, key)).fetchone()
    return None if found is None else bytes(found[0])


def notes(db: sqlite3.Connection, journal: str, after: int) -> Notes:
    """What was noted since the cursor was ``after``, or the first part of it."""
    rows = db.execute(READ, (journal, after, PART)).fetchall()
    return Notes(tuple(value for _, value in rows), rows[-1][0] if rows else after, len(rows) < PART)


def journals(db: sqlite3.Connection) -> list[str]:
    """The names of all journals."""
    return [name for (name,) in db.execute(JOURNALS).fetchall()]


def tear(db: sqlite3.Connection, journal: str) -> bool:
    """Take out the oldest notes of a journal, and it itself if that is all; False if there are more."""
    with db:
        db.execute(BEGIN)
        is_all = db.execute(TEAR, (journal, PART)).rowcount < PART
        if is_all:
            db.execute(CLOSE, (journal,))
    return is_all
