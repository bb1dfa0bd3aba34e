"""A SQLite file that many processes share: checked when it is opened, patient while somebody else holds it."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

from scrapy_simdedup.display import redact_password
from scrapy_simdedup.errors import SettingError, StoreBusy, StoreError
from scrapy_simdedup.store.base import Sleep

Result = TypeVar("Result")
LOCK_SECONDS = 0.02
"""How long SQLite itself waits for a lock. Nothing else runs in this process meanwhile, so it is short."""
PATIENCE_SECONDS = 5.0
"""How long the file has to be locked before it counts as busy. Until then we try again, letting other work go on;
from then on each call tries once, lest a crawl waits for the file page by page."""
CHECK_SECONDS = 1.0
"""How often it is checked that the file is still where it was."""
MODE = 0o600
"""The mode of a new file, and of those that SQLite puts beside it: it holds the secret under the hashes."""
APPLICATION = 0x53444544
"""Marks our files ("SDED"), so that another program's are left alone."""
BEGIN = "BEGIN IMMEDIATE"
"""A deferred transaction that has read cannot write once somebody else has written, however long it waits."""
COLUMNS = """
SELECT CAST(made.name AS BLOB), cid, CAST(part.name AS BLOB), CAST(part.type AS BLOB)
FROM sqlite_master AS made JOIN pragma_table_info(made.name) AS part
"""
SHARE = "name a file on a local disk in SIMDEDUP_STORE, or use redis:// or postgresql:// for several hosts"
UNREACHABLE = "check the path and its permissions, or name another file in SIMDEDUP_STORE"
REMEDIES = {
    "not a database": "name another file in SIMDEDUP_STORE; this one was left as it is",
    "malformed": "move the damaged file away, or put back a copy; it was left as it is",
    "readonly": "make the file and its directory writable",
    "full": "free some disk space",
    "No space left": "free some disk space",
    "unable to open": UNREACHABLE,
    "File exists": "name a file in a directory in SIMDEDUP_STORE; what stands there is none",
    "Not a directory": "name a file in a directory in SIMDEDUP_STORE; what stands there is none",
    "disk I/O error": "name an ordinary file on a disk that works in SIMDEDUP_STORE",
}
"""What to do, by a part of the message of SQLite or of the system."""
MALFORMED = "database disk image is malformed"
"""What SQLite says of a damaged file."""
MOUNTS = Path("/proc/self/mounts")
NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ncpfs", "9p", "fuse.sshfs", "glusterfs", "ceph"})
"""File systems that several hosts may use at a time."""


class SqliteFile:
    """One connection to one file in write-ahead mode; see :class:`~scrapy_simdedup.store.sqlite.SqliteStore`."""

    def __init__(self, url: str, sleep: Sleep) -> None:
        scheme, slashes, path = url.partition(":///")
        if not (scheme == "sqlite" and slashes and path) or path == ":memory:" or "\0" in path:
            remedy = "write 'sqlite:///pages.sqlite', 'sqlite:////full/path/pages.sqlite' or 'memory:'"
            raise SettingError("SIMDEDUP_STORE", redact_password(url), remedy)
        self._url, self._path, self._sleep = url, Path(path), sleep
        self._db: sqlite3.Connection | None = None
        self._inode, self._check_at = -1, 0.0
        self._locked_since: float | None = None
        """When somebody else was first found to hold the file, where nothing could be written since."""

    def exists(self) -> bool:
        """Whether the file is there."""
        return self._path.is_file()

    def bytes_on_disk(self) -> int:
        """How large the file is, with the files that SQLite keeps beside it."""
        return sum(file.stat().st_size for file in self._parts())

    async def open(self, tables: Sequence[str], version: int) -> None:
        """Connect; a new file gets its tables and version, an existing one is checked (StoreError), never replaced."""
        self._locked_since = None
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            network = network_file_system(self._path.parent)
            if network is not None:
                raise StoreError(self._url, f"is on a network file system ({network}), where SQLite is not safe", SHARE)
            # A file that is there keeps its mode, and what cannot be made SQLite will say. Windows has no modes.
            with suppress(OSError):
                os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, MODE))
            self._db = sqlite3.connect(self._path, timeout=LOCK_SECONDS, isolation_level=None)
            self._inode = self._path.stat().st_ino
        except (OSError, sqlite3.Error) as exc:
            self.close()
            raise self._error(exc) from exc
        try:
            await self.run(lambda db: self._prepare(db, tables, version))
        except StoreError as exc:
            self.close()
            if "malformed" in exc.problem and self._is_ours():
                raise StoreError(self._url, exc.problem, self._set_aside()) from exc
            raise

    def close(self) -> None:
        """Close the file."""
        if self._db is not None:
            self._db.close()
            self._db = None

    async def run(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Do the work, again and again while somebody else holds the file, until a StoreBusy; else a StoreError."""
        while True:
            if self._db is None:
                raise StoreError(self._url, "is not open", "open it first")
            self._check_place()
            changes = self._db.total_changes
            try:
                done = work(self._db)
            except (UnicodeDecodeError, sqlite3.Error) as exc:
                if not _is_busy(exc):
                    raise self._error(exc) from exc
                now = time.monotonic()
                if self._locked_since is None:
                    self._locked_since = now
                if now - self._locked_since >= PATIENCE_SECONDS:
                    raise StoreBusy(self._url, f"was locked for {PATIENCE_SECONDS:g} seconds") from exc
            else:
                if self._db.total_changes != changes:  # else it only read, which needs no lock
                    self._locked_since = None
                return done
            # Jitter, so that those who wait for one lock do not come back together.
            await self._sleep(random.uniform(0.005, 0.05))  # noqa: S311 - not a secret

    def _check_place(self) -> None:
        """Check that the file is where it was: SQLite goes on writing to a file that was deleted, and all is lost."""
        if time.monotonic() < self._check_at:
            return
        self._check_at = time.monotonic() + CHECK_SECONDS
        try:
            inode = self._path.stat().st_ino
        except OSError:
            inode = -1
        if inode != self._inode:
            self._check_at = 0.0  # the next call fails, too
            raise StoreError(self._url, "was deleted or replaced while it was in use", "start the crawl again")

    def _prepare(self, db: sqlite3.Connection, tables: Sequence[str], version: int) -> None:
        with db:
            db.execute(BEGIN)
            if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                marks = f"PRAGMA application_id = {APPLICATION}", f"PRAGMA user_version = {version}"
                for statement in (*tables, *marks):
                    db.execute(statement)
        application, found = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
        if application != APPLICATION:
            raise StoreError(self._url, "is another program's database", REMEDIES["not a database"])
        if found != version:
            problem = f"has tables of version {found}; this scrapy-simdedup works with version {version}"
            remedy = "name another file in SIMDEDUP_STORE, or use the scrapy-simdedup that made this one"
            raise StoreError(self._url, problem, remedy)
        # Garbage in the middle lets look-ups and inserts succeed; only a check finds it.
        verdict = db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise sqlite3.DatabaseError(f"{MALFORMED}: {verdict.splitlines()[-1]}")
        if not _columns_made_by(tables) <= _columns(db):
            raise sqlite3.DatabaseError(f"{MALFORMED}: its tables have other columns than they were made with")
        db.execute("PRAGMA journal_mode = WAL")
        # Survives the death of the process. A power cut may cost the last commits: their pages are fetched again.
        db.execute("PRAGMA synchronous = NORMAL")

    def _is_ours(self) -> bool:
        """Whether the header, where SQLite keeps the application's mark, says so."""
        with self._path.open("rb") as file:
            return int.from_bytes(file.read(72)[68:], "big") == APPLICATION

    def _set_aside(self) -> str:
        """Rename a damaged file, so that the next start begins a new one; and say so."""
        aside = self._path.with_name(f"{self._path.name}.damaged-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}")
        for part in self._parts():
            part.rename(aside.with_name(aside.name + part.name.removeprefix(self._path.name)))
        return f"it was set aside as {aside.name}; start again to begin a new one, or put back a copy"

    def _parts(self) -> list[Path]:
        """The file, and SQLite's files beside it, as far as they exist."""
        parts = (self._path.with_name(self._path.name + suffix) for suffix in ("", "-wal", "-shm"))
        return [part for part in parts if part.is_file()]

    def _error(self, exc: Exception) -> StoreError:
        message = str(exc)
        # SQLite quotes a damaged schema; what of its words is no UTF-8, Python 3.10 leaves out.
        if isinstance(exc, UnicodeDecodeError) or not message:
            message = f"{MALFORMED}: a text in it is no UTF-8"
        other = UNREACHABLE if isinstance(exc, OSError) else ""
        return StoreError(self._url, message, next((REMEDIES[part] for part in REMEDIES if part in message), other))


def _columns(db: sqlite3.Connection) -> set[tuple[bytes, int, bytes, bytes]]:
    """The columns of all tables: table, place, name and type of each."""
    return set(db.execute(COLUMNS).fetchall())


def _columns_made_by(tables: Sequence[str]) -> set[tuple[bytes, int, bytes, bytes]]:
    """What :func:`_columns` gives for a file in which these statements were run."""
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in tables:
            db.execute(statement)
        return _columns(db)


def _is_busy(exc: Exception) -> bool:
    # Python 3.10 has no error codes.
    return isinstance(exc, sqlite3.OperationalError) and ("locked" in str(exc) or "busy" in str(exc))


def network_file_system(path: Path, mounts: Path = MOUNTS) -> str | None:
    """The type of the network file system that a path is on; None for a local one, or where nobody can tell."""
    try:
        table = mounts.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    place = path.resolve()
    found, depth = None, -1
    for line in table.splitlines():
        fields = line.split()
        if len(fields) < 3:
            continue
        point = Path(fields[1].replace("\\040", " "))
        # The longest mount point that holds the path; of several on one point the last is the one that is seen.
        if (place == point or point in place.parents) and len(point.parts) >= depth:
            found, depth = fields[2], len(point.parts)
    return found if found in NETWORK else None
