"""What only the store in Redis can get wrong: its keys and scripts."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.on_asyncio import on_asyncio
from helpers.servers import PASSWORD, START_SECONDS, RedisCluster, RedisServer, wait_until
from helpers.store_records import SITE, opened, put, record, stored
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.store import store_by_url
from scrapy_simdedup.store.base import FingerprintStore, Record
from scrapy_simdedup.store.redis import STATES, pack_record, site_keys, unpack_record

pytestmark = pytest.mark.redis


NUMBERS = st.floats(allow_nan=False)


@given(
    st.builds(
        Record,
        state=st.sampled_from(STATES),
        similarity=st.none() | NUMBERS,
        first_seen=NUMBERS,
        last_seen=NUMBERS,
        last_changed=NUMBERS,
    )
)
def test_a_record_survives_its_bytes(made: Record) -> None:
    assert unpack_record(pack_record(made), made.id, made.position) == made


@on_asyncio
async def test_scripts_that_were_flushed_are_sent_again(redis_server: RedisServer, redis_store: str) -> None:
    async with opened(redis_store) as store:
        ids = [await put(store, record(b"a"))]
        redis_server.ask("SCRIPT", "FLUSH")
        ids.append(await put(store, record(b"b")))
        assert await stored(store) == ids


@pytest.mark.parametrize("key", site_keys(SITE)[:3])
@on_asyncio
async def test_a_key_that_was_evicted_stops_nobody(redis_server: RedisServer, redis_store: str, key: str) -> None:
    """What it held is forgotten; the site goes on."""
    async with opened(redis_store) as store:
        first = await put(store, record(b"a"))
        redis_server.ask("DEL", key)
        second = await put(store, record(b"b"))
        await store.settle(SITE, second, "confirmed", 2000.0)
        assert [id_ for id_ in await stored(store) if id_ != first] == [second]


@on_asyncio
async def test_a_unix_socket_leads_to_the_same_store(redis_server: RedisServer, redis_store: str) -> None:
    async with opened(redis_store) as store, opened(f"unix://{redis_server.directory}/redis.sock?db=0") as other:
        id_ = await put(store, record())
        assert await stored(other) == [id_]


@on_asyncio
async def test_the_server_drops_a_site_that_nobody_changes_for_long(
    redis_server: RedisServer, redis_store: str
) -> None:
    """All its keys together; each change begins the time anew, and without a limit there is none."""
    async with opened(redis_store) as store:
        await put(store, record())
        assert {redis_server.ask("TTL", key) for key in site_keys(SITE)[:3]} == {-1}
    async with opened(redis_store, ttl=1000.0) as store:
        id_ = await put(store, record(b"b"))
        assert all(990 < redis_server.ask("TTL", key) <= 1000 for key in site_keys(SITE)[:3])
        redis_server.ask("EXPIRE", site_keys(SITE)[0], 5)
        await store.settle(SITE, id_, "confirmed", 2000.0)
        assert redis_server.ask("TTL", site_keys(SITE)[0]) > 990


@pytest.fixture(scope="module")
def guarded() -> Iterator[RedisServer]:
    with RedisServer(password=PASSWORD) as server:
        yield server


@pytest.mark.parametrize("credentials", ["", ":wrong@", "nobody:wrong@"])
@on_asyncio
async def test_a_wrong_password_is_said_without_it(guarded: RedisServer, credentials: str) -> None:
    url = f"redis://{credentials}127.0.0.1:{guarded.port}/0"
    with pytest.raises(StoreError, match=r"user and password (into|in) SIMDEDUP_STORE") as caught:
        await store_by_url(url).open()
    assert "wrong@" not in str(caught.value)


@on_asyncio
async def test_a_database_that_the_server_has_not_is_said_with_a_remedy(redis_server: RedisServer) -> None:
    with pytest.raises(StoreError, match="name another database in SIMDEDUP_STORE"):
        await store_by_url(f"redis://127.0.0.1:{redis_server.port}/99").open()


@on_asyncio
async def test_a_server_without_tls_is_said_with_a_remedy(redis_server: RedisServer) -> None:
    with pytest.raises(StoreError, match="check that the server runs, and scheme, host and port"):
        await store_by_url(f"rediss://127.0.0.1:{redis_server.port}/0").open()


@pytest.mark.parametrize(
    ("rights", "remedy"),
    [
        (["-eval", "-evalsha"], "and run scripts"),
        (["-zadd"], "let the user read and write keys"),
    ],
)
@on_asyncio
async def test_who_lacks_a_right_is_told(redis_server: RedisServer, rights: list[str], remedy: str) -> None:
    redis_server.ask("ACL", "SETUSER", "guest", "reset", "on", f">{PASSWORD}", "~*", "+@all", *rights)
    with pytest.raises(StoreError, match=remedy):
        async with opened(f"redis://guest:{PASSWORD}@127.0.0.1:{redis_server.port}/0") as store:
            await put(store, record())


@on_asyncio
async def test_a_server_without_memory_is_explained() -> None:
    with RedisServer("--maxmemory", "100kb") as server, pytest.raises(StoreError, match="give Redis more memory"):
        await store_by_url(server.url).open()


@on_asyncio
async def test_the_right_password_opens(guarded: RedisServer) -> None:
    async with opened(f"redis://:{PASSWORD}@127.0.0.1:{guarded.port}/0") as store:
        assert await stored(store) == []


@on_asyncio
async def test_keys_of_another_version_are_refused(redis_server: RedisServer, redis_store: str) -> None:
    redis_server.ask("HSET", "{simdedup}:memo", "layout", "99")
    with pytest.raises(StoreError, match=r"keys of version 99.*name another database"):
        await store_by_url(redis_store).open()


@on_asyncio
async def test_a_node_of_a_cluster_named_as_a_single_server_is_explained(redis_cluster: RedisCluster) -> None:
    """The keys of some sites are elsewhere."""
    async with opened(redis_cluster.url):
        pass
    stores = [store_by_url(node.url) for node in redis_cluster.nodes]
    answers = [exc for exc in await asyncio.gather(*(store.open() for store in stores), return_exceptions=True) if exc]
    assert ["redis+cluster://" in str(exc) for exc in answers] == [True, True]
    for store in stores:
        await store.close()


@pytest.mark.slow
@on_asyncio
async def test_a_node_that_dies_is_replaced_by_its_replica() -> None:
    """In a cluster with replicas the store can be used again after some seconds, with what it had."""
    with RedisCluster(replicas=True) as cluster:
        async with opened(cluster.url) as store:
            ids = {site: await put(store, record(), site) for site in map("site-{}.example".format, range(12))}
            wait_until(lambda: sizes(cluster.replicas) == sizes(cluster.primaries))
            cluster.primaries[1].stop(signal.SIGKILL)
            for site, id_ in ids.items():
                await there_again(store, site, id_)
            assert {site async for site in store.sites()} == set(ids)


def sizes(nodes: list[RedisServer]) -> list[int]:
    return [node.ask("DBSIZE") for node in nodes]


async def there_again(store: FingerprintStore, site: str, id_: int) -> None:
    give_up = time.monotonic() + START_SECONDS
    while time.monotonic() < give_up:
        with suppress(StoreError):
            assert [found.id for found in (await store.read(site)).records] == [id_]
            return
        await asyncio.sleep(0.1)
    pytest.fail(f"{site} did not come back")
