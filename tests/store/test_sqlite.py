"""What only the SQLite store can get wrong: its file."""

# ruff: noqa: ASYNC240 - the files are small, and nothing else runs meanwhile

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.on_asyncio import on_asyncio
from helpers.store_records import SITE, put, record, stored
from scrapy_simdedup.errors import SettingError, StoreBusy, StoreError
from scrapy_simdedup.store import sqlite, sqlite_file, store_by_url
from scrapy_simdedup.store.base import TOMBSTONE_SECONDS
from scrapy_simdedup.store.sqlite import SqliteStore
from scrapy_simdedup.store.sqlite_file import network_file_system


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pages.sqlite"


def at(path: Path) -> SqliteStore:
    return SqliteStore(f"sqlite:///{path.as_posix()}")


async def fill(path: Path, pages: int = 1) -> None:
    store = at(path)
    await store.open()
    for number in range(pages):
        await store.append(SITE, record(b"%d" % number, fingerprint=os.urandom(500)), number)
    await store.close()


@on_asyncio
async def test_pages_survive_the_process(path: Path) -> None:
    await fill(path, 3)
    again = at(path)
    await again.open()
    assert await stored(again) == [1, 2, 3]
    await again.close()


@on_asyncio
async def test_a_relative_path_starts_where_the_process_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Directories that are missing are made."""
    monkeypatch.chdir(tmp_path)
    store = SqliteStore("sqlite:///data/of/crawls/pages.sqlite")
    await store.open()
    await store.close()
    assert (tmp_path / "data" / "of" / "crawls" / "pages.sqlite").exists()


@on_asyncio
async def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    await fill(path)
    assert path.stat().st_size > 0


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw[:5000],
        lambda raw: raw[: len(raw) // 2] + b"\x99" * 8192 + raw[len(raw) // 2 + 8192 :],
    ],
    ids=["truncated", "middle"],
)
@on_asyncio
async def test_a_damaged_file_is_set_aside_and_the_next_start_begins_a_new_one(
    path: Path, damage: Callable[[bytes], bytes]
) -> None:
    await fill(path, 200)
    path.write_bytes(damage(path.read_bytes()))
    damaged = path.read_bytes()
    one_line = r"\A.*it was set aside as pages\.sqlite\.damaged-.*start again.*\Z"
    with pytest.raises(StoreError, match=one_line):
        await at(path).open()
    (aside,) = path.parent.glob("*.damaged-*Z")
    assert aside.read_bytes() == damaged
    await fill(path, 1)


def break_schema(path: Path, old: bytes, new: bytes) -> None:
    """Overwrite a part of the statements that made the tables, in the file's first page."""
    raw = path.read_bytes()
    assert old in raw
    assert len(old) == len(new)
    path.write_bytes(raw.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"CREATE TABLE page", b"CREATE \xff\xfe\xff\xfeE page"),
        (b"tablepagepage", b"table\xff\xfe\xff\xfepage"),
        (b"similarity REAL", b"similar\xff\xfe\xff REAL"),
        (b"fingerprint BLOB NOT NULL", b"fingermarks BLOB NOT NULL"),
    ],
)
@on_asyncio
async def test_a_damaged_schema_is_an_error_of_the_store(path: Path, old: bytes, new: bytes) -> None:
    """SQLite quotes it in its messages, and Python cannot decode these."""
    await fill(path)
    break_schema(path, old, new)
    with pytest.raises(StoreError, match="it was set aside as"):
        await at(path).open()
    await fill(path)


@pytest.mark.skipif(os.name != "posix", reason="modes are a POSIX matter")
@on_asyncio
async def test_nobody_else_may_read_a_new_file_as_it_holds_the_secret(path: Path) -> None:
    """Nor the files that SQLite puts beside it."""
    before = os.umask(0o022)
    try:
        store = at(path)
        await store.open()
        await store.append(SITE, record(b"key"), 0)
        parts = {part.name: part.stat().st_mode & 0o777 for part in path.parent.iterdir()}
        await store.close()
    finally:
        os.umask(before)
    assert parts == dict.fromkeys(("pages.sqlite", "pages.sqlite-wal", "pages.sqlite-shm"), 0o600)


@pytest.mark.skipif(os.name != "posix", reason="modes are a POSIX matter")
@on_asyncio
async def test_a_file_that_is_there_keeps_its_mode(path: Path) -> None:
    path.touch()
    path.chmod(0o640)
    await fill(path)
    assert path.stat().st_mode & 0o777 == 0o640


@on_asyncio
async def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(path: Path) -> None:
    path.write_bytes(b"garbage" * 100)
    with pytest.raises(StoreError, match="name another file"):
        await at(path).open()
    assert path.read_bytes() == b"garbage" * 100


@on_asyncio
async def test_a_file_that_is_deleted_while_it_is_open_is_noticed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite itself would go on writing, and all of it would be gone in the end."""
    monkeypatch.setattr(sqlite_file, "CHECK_SECONDS", 0.0)
    store = at(path)
    await store.open()
    path.unlink()
    for _ in range(2):
        with pytest.raises(StoreError, match="was deleted or replaced while it was in use; start the crawl again"):
            await store.read(SITE)
    await store.close()


MOUNT_TABLE = """
/dev/vda1 / ext4 rw 0 0
server:/export /data nfs4 rw 0 0
/dev/vdb1 /data/local ext4 rw 0 0
//server/share /mnt/my\\040share cifs rw 0 0
"""


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("/tmp", None),
        ("/data/crawls", "nfs4"),
        ("/data/local/crawls", None),
        ("/mnt/my share/crawls", "cifs"),
        ("/database", None),
    ],
)
@pytest.mark.skipif(os.name != "posix", reason="mount points are a POSIX matter")
def test_a_network_file_system_is_recognised(place: str, found: str | None, tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNT_TABLE, encoding="utf-8")
    assert network_file_system(Path(place), mounts) == found


@on_asyncio
async def test_a_file_on_a_network_file_system_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "network_file_system", lambda _path: "nfs4")
    with pytest.raises(StoreError, match=r"network file system \(nfs4\).*redis"):
        await at(path).open()
    assert not path.exists()


@on_asyncio
async def test_the_database_of_another_program_is_refused_and_left_as_it_is(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE customers (name)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program's database; name another file"):
        await at(path).open()
    assert path.read_bytes() == before


@on_asyncio
async def test_tables_of_another_version_are_refused(path: Path) -> None:
    await fill(path)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreError, match=r"tables of version 99.*name another file"):
        await at(path).open()


@on_asyncio
async def test_a_path_that_cannot_be_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for wrong in (tmp_path, tmp_path / "file" / "pages.sqlite"):
        with pytest.raises(StoreError):
            await at(wrong).open()


@on_asyncio
async def test_a_verb_on_a_closed_store_says_so(path: Path) -> None:
    with pytest.raises(StoreError, match="is not open; open it first"):
        await at(path).read(SITE)


def test_the_older_versions_of_a_page_are_found_by_its_key() -> None:
    """Not by a walk through all older pages of the site, which made confirming slower with each page."""
    db = sqlite3.connect(":memory:")
    for statement in sqlite.TABLES:
        db.execute(statement)
    plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sqlite.SUPERSEDE}", {"site": SITE, "id": 7})]
    db.close()
    assert re.search(r"page_key \(site=\? AND key=\? AND id<\?\)", plan[0]), plan


@on_asyncio
async def test_other_work_goes_on_while_somebody_else_holds_the_file(path: Path) -> None:
    """The store waits for the lock, and appends once it is free."""
    await fill(path)
    store, holder = at(path), sqlite3.connect(path, isolation_level=None)
    await store.open()
    holder.execute("BEGIN IMMEDIATE")
    appending = asyncio.ensure_future(put(store, record(b"late")))
    await asyncio.sleep(0.3)
    assert not appending.done()
    assert await stored(store) == [1], "reading needs no lock"
    holder.execute("COMMIT")
    assert await appending == 2
    holder.close()
    await store.close()


@on_asyncio
async def test_a_file_that_stays_locked_is_busy(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After some seconds the caller hears of it, and can keep its page; nothing was changed. The next hears at once."""
    monkeypatch.setattr(sqlite_file, "PATIENCE_SECONDS", 0.3)
    await fill(path)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    store, holder = SqliteStore(f"sqlite:///{path.as_posix()}", sleep), sqlite3.connect(path, isolation_level=None)
    await store.open()
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy, match=r"was locked for 0\.3 seconds"):
        await put(store, record(b"late"))
    assert slept, "it waited in the way it was told to"
    slept.clear()
    assert await stored(store) == [1], "reading needs no lock"
    with pytest.raises(StoreBusy):
        await put(store, record(b"late"))
    assert not slept
    holder.close()
    assert await put(store, record(b"late")) == 2
    await store.close()


@on_asyncio
async def test_a_driver_error_comes_as_a_store_error_with_its_cause(path: Path) -> None:
    """A table that somebody dropped while the store was open."""
    store = at(path)
    await store.open()
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE page")
    db.close()
    with pytest.raises(StoreError, match="no such table: page") as caught:
        await store.read(SITE)
    assert isinstance(caught.value.__cause__, sqlite3.Error)
    await store.close()


@pytest.mark.skipif(os.name == "nt" or (hasattr(os, "geteuid") and os.geteuid() == 0), reason="root may write anything")
@on_asyncio
async def test_a_file_that_cannot_be_written_is_refused(path: Path) -> None:
    await fill(path)
    path.chmod(0o400)
    with pytest.raises(StoreError, match="writable"):
        await at(path).open()


@on_asyncio
async def test_tombstones_and_silent_workers_are_cleared_another_day(path: Path) -> None:
    store = at(path)
    await store.open()
    id_ = await put(store, record())
    await store.heartbeat("w1", 1000.0)
    await store.forget(SITE, [id_], 1000.0)
    assert await stored(store) == [id_]
    await store.close()
    await store.open()
    await store.heartbeat("w2", 1000.0 + 2 * TOMBSTONE_SECONDS)
    assert await stored(store) == []
    assert set(await store.heartbeats()) == {"w2"}
    await store.close()


@pytest.mark.parametrize(
    ("place", "remedy"),
    [
        ("folder", "check the path and its permissions"),
        ("file/pages.sqlite", "name a file in a directory"),
        (f"{'n' * 300}.sqlite", "check the path and its permissions"),
        (f"{'n' * 300}/pages.sqlite", "or name another file in SIMDEDUP_STORE"),
    ],
)
@on_asyncio
async def test_a_place_where_no_file_can_be_is_explained(tmp_path: Path, place: str, remedy: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=remedy):
        await SqliteStore(f"sqlite:///{(tmp_path / place).as_posix()}").open()


def test_a_path_with_a_null_is_no_path() -> None:
    with pytest.raises(SettingError, match=r"write 'sqlite:///pages\.sqlite'"):
        store_by_url("sqlite:///pages\0.sqlite")
