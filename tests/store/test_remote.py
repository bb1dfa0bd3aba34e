"""What only the stores on servers can get wrong: the way there, and what a server forgets."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from helpers.on_asyncio import on_asyncio
from helpers.servers import PASSWORD, START_SECONDS, PostgresqlServer, RedisServer, Server
from helpers.store_records import SITE, opened, put, record, stored
from scrapy_simdedup.errors import SettingError, StoreBusy, StoreError
from scrapy_simdedup.store import postgresql, redis, remote, store_by_url
from scrapy_simdedup.store.base import TOMBSTONE_SECONDS, FingerprintStore


@pytest.fixture
def server(server_url: str, request: pytest.FixtureRequest) -> Iterator[Server]:
    """The process behind ``server_url``; it runs again after the test."""
    found = request.getfixturevalue("redis_server" if server_url.startswith("redis") else "postgresql_server")
    yield found
    found.thaw()
    if found.process is None:
        found.start()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Gives up a server after half a second, once it is called."""
    return lambda: monkeypatch.setattr(remote, "CALL_SECONDS", 0.5)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests are of what happens, however long a busy machine takes for it."""
    for module, name in (
        (remote, "CALL_SECONDS"),
        (redis, "CONNECT_SECONDS"),
        (postgresql, "CONNECT_SECONDS"),
    ):
        monkeypatch.setattr(module, name, 60.0)


def cut(server: Server) -> None:
    """Close all connections from the server's side."""
    if isinstance(server, RedisServer):
        server.ask("CLIENT", "KILL", "TYPE", "normal")
    elif isinstance(server, PostgresqlServer):
        server.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")


# ------------------------------------------------------------------ the way there


@on_asyncio
async def test_a_connection_that_was_lost_is_made_again(server: Server, server_url: str) -> None:
    """Nobody notices, not even where all connections of the pool are dead."""
    async with opened(server_url) as store:
        ids = [await put(store, record(b"a"))]
        await asyncio.gather(*(store.read(SITE) for _ in range(8)))
        cut(server)
        ids.append(await put(store, record(b"b")))
        assert await stored(store) == ids


@on_asyncio
async def test_a_server_that_was_restarted_is_used_again(
    server: Server, server_url: str, impatient: Callable[[], None]
) -> None:
    """While it is down each verb says so; what it had is there after."""
    async with opened(server_url) as store:
        id_ = await put(store, record())
        server.stop(signal.SIGINT)
        impatient()
        for _ in range(3):
            with pytest.raises(StoreError):
                await store.read(SITE)
        server.start()
        await eventually(store, [id_])


async def eventually(store: FingerprintStore, wanted: list[int]) -> None:
    """The store has these records, once its server answers again."""
    give_up = time.monotonic() + START_SECONDS
    while time.monotonic() < give_up:
        with suppress(StoreError):
            assert await stored(store) == wanted
            return
        await asyncio.sleep(0.05)
    pytest.fail("the store did not come back")


@on_asyncio
async def test_a_server_that_hangs_is_given_up(server: Server, server_url: str, impatient: Callable[[], None]) -> None:
    """After some time the caller hears of it; then others are not kept waiting; and then it is tried again."""
    async with opened(server_url) as store:
        id_ = await put(store, record())
        server.freeze()
        impatient()
        with pytest.raises(StoreBusy, match=r"did not answer within 0\.5 seconds"):
            await store.read(SITE)
        with pytest.raises(StoreBusy, match="did not answer a moment ago"):
            await store.read(SITE)
        server.thaw()
        await eventually(store, [id_])


@on_asyncio
async def test_a_process_that_does_not_listen_takes_no_server_for_one_that_hangs(
    server: Server, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A callback may block it for longer than an answer may take. Connections that are made then take several steps."""
    async with opened(server_url) as store:
        id_ = await put(store, record())
        monkeypatch.setattr(remote, "CALL_SECONDS", 3.0)
        monkeypatch.setattr(remote, "SLICE_SECONDS", 0.05)
        asked = asyncio.gather(*(store.read(SITE) for _ in range(remote.CALLS)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        time.sleep(3.2)  # noqa: ASYNC251 - what blocks the loop is what is tested
        assert [[found.id for found in tail.records] for tail in await asked] == remote.CALLS * [[id_]]


@on_asyncio
async def test_an_append_whose_answer_was_lost_can_be_made_again(remote_url: str) -> None:
    """The same id comes back, and there is one record."""
    async with opened(remote_url) as store:
        made = record(b"a", similarity=0.5, original=None)
        first = await store.append(SITE, made, 0)
        assert await store.append(SITE, made, 0) == first
        assert await store.append(SITE, record(b"b"), 0) is None
        assert await stored(store) == [first]


@on_asyncio
async def test_nobody_there_is_said_with_a_remedy(
    server: Server, server_url: str, impatient: Callable[[], None]
) -> None:
    server.stop()
    impatient()
    with pytest.raises(StoreError, match="check that the server runs") as caught:
        await store_by_url(server_url).open()
    assert PASSWORD not in str(caught.value)


@on_asyncio
async def test_a_verb_on_a_closed_store_says_so(remote_url: str) -> None:
    with pytest.raises(StoreError, match="is not open; open it first"):
        await store_by_url(remote_url).read(SITE)


# ------------------------------------------------------------------ what a server forgets


@on_asyncio
async def test_a_worker_goes_on_where_the_server_lost_everything(
    remote_url: str, request: pytest.FixtureRequest
) -> None:
    """It appends after what it knew; and what it settles now is none of the pages that came since."""
    async with opened(remote_url) as store, opened(remote_url) as other:
        lost = [await put(store, record(b"%d" % number)) for number in range(3)]
        if remote_url.startswith("redis"):
            cluster = remote_url.startswith("redis+cluster")
            nodes = (
                request.getfixturevalue("redis_cluster").nodes if cluster else [request.getfixturevalue("redis_server")]
            )
            for node in nodes:
                node.ask("FLUSHALL")
        else:
            schema = remote_url.rpartition("%3D")[2]
            request.getfixturevalue("postgresql_server").ask(f"TRUNCATE {schema}.simdedup_page")
        theirs = await other.append(SITE, record(b"theirs"), 0)
        await store.settle(SITE, lost[0], "confirmed", 2000.0)
        tail = await store.read(SITE, lost[-1])
        assert [(found.id, found.state) for found in tail.records] == [(theirs, "reserved")]
        assert await store.append(SITE, record(b"ours"), tail.cursor) is not None
        assert theirs not in lost


@on_asyncio
async def test_tombstones_and_silent_workers_are_cleared_another_day(remote_url: str) -> None:
    later = 1000.0 + 2 * TOMBSTONE_SECONDS
    async with opened(remote_url) as store:
        await store.heartbeat("w1", 1000.0)
        await store.forget(SITE, [await put(store, record())], 1000.0)
        await store.settle(SITE, await put(store, record(b"b")), "released", 1000.0)
        assert len(await stored(store)) == 2
    async with opened(remote_url) as store:
        await store.heartbeat("w2", later)
        id_ = await put(store, record(b"c", last_seen=later))
        assert await stored(store) == [id_]
        assert set(await store.heartbeats()) == {"w2"}


@on_asyncio
async def test_many_can_open_a_new_store_at_a_time(remote_url: str) -> None:
    stores = [store_by_url(remote_url) for _ in range(8)]
    await asyncio.gather(*(store.open() for store in stores))
    for store in stores:
        await store.close()


# ------------------------------------------------------------------ URLs and drivers


@pytest.mark.parametrize(
    "url",
    [
        "redis://u:geheim@host:port/0",
        "redis://u:geheim@host:6379/0?socket_timeout=often",
        "redis://u:geheim@host:6379/0?no_such_option=1",
        "redis://u:geheim@host:6379/0?decode_responses=1",
        "redis://u:geheim@host:6379/production",
        "postgresql://u:geheim@host:1/db?no_such_option=1",
    ],
)
def test_a_url_that_its_driver_cannot_read_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(SettingError, match=r"SIMDEDUP_STORE = .* write it as '(redis|postgresql)://") as caught:
        store_by_url(url)
    assert "geheim" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("driver", "url", "extra"),
    [
        ("redis", "redis://u:geheim@host/0", "redis"),
        ("redis", "redis+cluster://u:geheim@host", "redis"),
        ("psycopg", "postgresql://u:geheim@host/db", "postgresql"),
        ("psycopg_pool", "postgresql://host/db?password=geheim", "postgresql"),
    ],
)
def test_a_driver_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, driver: str, url: str, extra: str) -> None:
    monkeypatch.setitem(sys.modules, driver, None)
    for module in [name for name in sys.modules if name.startswith(f"{driver}.") or "simdedup.store." in name]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(SettingError, match=rf"SIMDEDUP_STORE = .*pip install scrapy-simdedup\[{extra}\]") as caught:
        store_by_url(url)
    assert "geheim" not in str(caught.value)


def test_no_driver_is_imported_before_its_store_is_named() -> None:
    script = (
        "import sys; from scrapy_simdedup import NearDuplicateDetector; NearDuplicateDetector('memory:');"
        "assert not {'redis', 'psycopg', 'psycopg_pool'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_without_asyncio_a_store_on_a_server_cannot_be_opened(remote_url: str) -> None:
    """A thread has no loop, as a plain Twisted reactor has none."""
    opening = store_by_url(remote_url).open()
    with ThreadPoolExecutor() as thread, pytest.raises(StoreError, match=r"needs asyncio.*use the asyncio reactor"):
        thread.submit(opening.send, None).result()
