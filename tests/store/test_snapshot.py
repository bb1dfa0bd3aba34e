"""A snapshot shows what a store has, and nothing that is done to it reaches the store."""

from __future__ import annotations

from pathlib import Path

from helpers.on_asyncio import on_asyncio
from helpers.store_records import SITE, put, record
from scrapy_simdedup.store.base import Record, whole_log
from scrapy_simdedup.store.memory import SnapshotStore
from scrapy_simdedup.store.sqlite import SqliteStore


def url_of(path: Path) -> str:
    return f"sqlite:///{path.as_posix()}"


@on_asyncio
async def test_it_is_read_and_written_like_the_store_which_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "pages.sqlite"
    store = SqliteStore(url_of(path))
    await store.open()
    await store.set_default("fingerprint", "ours")
    await put(store, record(b"one", url="https://a.example/1"))
    await store.put_note("journal", b"key", b"value")
    await store.close()
    before = path.read_bytes()

    snapshot = SnapshotStore(SqliteStore(url_of(path)))
    await snapshot.open()
    assert await snapshot.set_default("fingerprint", "others") == "ours"
    assert [found.key async for found in whole_log(snapshot, SITE)] == [b"one"]
    cursor = (await snapshot.read(SITE)).cursor
    two: Record = record(b"two", url="https://a.example/2")
    id_ = await snapshot.append(SITE, two, cursor)
    assert id_ is not None
    await snapshot.settle(SITE, id_, "confirmed", 1.0)
    assert [found.key async for found in whole_log(snapshot, SITE)] == [b"one", b"two"]
    await snapshot.put_note("journal", b"key", b"other")
    assert await snapshot.get_note("journal", b"key") == b"value"
    assert (await snapshot.read_notes("journal")).values == (b"value",)
    await snapshot.delete_journal("journal")
    assert [name async for name in snapshot.journals()] == ["journal"]
    await snapshot.heartbeat("worker", 1.0)
    assert await snapshot.heartbeats() == {"worker": 1.0}
    await snapshot.close()
    assert path.read_bytes() == before


@on_asyncio
async def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "pages.sqlite"
    snapshot = SnapshotStore(SqliteStore(url_of(path)))
    await snapshot.open()
    assert await snapshot.set_default("fingerprint", "ours") == "ours"
    assert await put(snapshot, record(b"one")) is not None
    assert (await snapshot.read_notes("journal")).values == ()
    assert await snapshot.get_note("journal", b"key") is None
    assert [name async for name in snapshot.journals()] == []
    await snapshot.close()
    assert not path.exists()
