"""The store in Redis, Valkey or a Redis Cluster, for crawls of many machines. One Lua script per verb."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    ClusterDownError,
    ConnectionError,  # noqa: A004 - the driver's name
    RedisClusterException,
    RedisError,
    TimeoutError,  # noqa: A004 - as above
)

from scrapy_simdedup.errors import SettingError, StoreError
from scrapy_simdedup.store.base import TOMBSTONE_SECONDS, Outcome, Record, Tail
from scrapy_simdedup.store.redis_notes import RedisNotes
from scrapy_simdedup.store.redis_record import STATES, pack, steps, unpack
from scrapy_simdedup.store.redis_scripts import answer_of, run_script
from scrapy_simdedup.store.remote import CALL_SECONDS, CALLS, CONNECT_SECONDS, Remote
from scrapy_simdedup.store.whole import whole_log
from scrapy_simdedup.store_urls import STORE_FORMS, without_password

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

LAYOUT = "1"
"""Version of keys and records."""
PART = 500
"""Records that are read at a time: half a megabyte, and some ten milliseconds in which nothing else runs here."""
MEMO, BEATS = "{simdedup}:memo", "{simdedup}:beats"
PARTS = ("log", "pages", "versions", "released")
"""The keys of a site, in the order in which log.lua takes them."""

REMEDIES = {
    "wrongpass": "correct user and password in SIMDEDUP_STORE",
    "invalid username-password": "correct user and password in SIMDEDUP_STORE",
    "invalid password": "correct user and password in SIMDEDUP_STORE",
    "noauth": "write user and password into SIMDEDUP_STORE: 'redis://user:password@host:6379/0'",
    "client already authenticated": "write user and password into SIMDEDUP_STORE: 'redis://user:password@host:6379/0'",
    "authentication required": "write user and password into SIMDEDUP_STORE: 'redis://user:password@host:6379/0'",
    "noperm": "let the user read and write keys that contain 'simdedup', and run scripts",
    "oom": "give Redis more memory, or the store a SIMDEDUP_TTL",
    "readonly": "name the primary, not a replica",
    "moved": "name the cluster as 'redis+cluster://host:6379'",
    "cluster mode is not enabled": "name a single server as 'redis://host:6379/0'",
    "connecting to": "check that the server runs, and host and port in SIMDEDUP_STORE",
}
"""What to do, by a part of the message."""


class RedisStore(RedisNotes):
    """Keys of a site share a hash tag, so that a cluster keeps them on one node, and spreads the sites.

    Args:
        url: ``redis://``, ``rediss://``, ``unix://`` or ``redis+cluster://``; options of redis-py follow a ``?``.
        ttl: seconds after which the server drops a site that did not change; None never does.

    Raises:
        SettingError: the URL cannot be used.
    """

    def __init__(self, url: str, ttl: float | None = None) -> None:
        self._url = url
        self._ttl = "" if ttl is None else str(max(1, round(ttl)))
        lost = (ConnectionError, TimeoutError, ClusterDownError, RedisClusterException, OSError)
        self._remote = Remote(url, (RedisError,), lost, REMEDIES)
        self._client: Redis | RedisCluster | None = None
        try:
            self._connect()
        except (ValueError, TypeError, RedisError):
            example = STORE_FORMS[url.partition(":")[0]]
            raise SettingError("SIMDEDUP_STORE", without_password(url), f"write it as {example!r}") from None

    async def open(self) -> None:
        """Connect, and check that what is there was laid out by this version."""
        self._remote.check_loop()
        self._client = self._connect()
        try:
            await self._check_layout()
        except StoreError:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the connections."""
        await self._remote.finish()
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    async def remember(self, name: str, value: str) -> str:
        """Keep ``value`` under ``name`` unless something is there already; what is there then."""
        found: bytes = await self._run("remember", [MEMO], name, value)
        return found.decode()

    async def read(self, site: str, after: int = 0) -> Tail:
        """What happened to the site since the counter was ``after``."""
        cursor, complete, *found = await self._run("read", keys(site), after, PART)
        rows = zip(found[::3], found[1::3], found[2::3], strict=True)
        records = tuple(unpack(raw, int(id_), int(position)) for id_, position, raw in rows)
        return Tail(records, int(cursor), bool(complete))

    async def append(self, site: str, record: Record, expected: int) -> int | None:
        """Add a record; its id, or None if the site changed after ``expected``."""
        old = record.last_seen - TOMBSTONE_SECONDS
        made = await self._run("append", keys(site), expected, pack(record), int(record.settled), old, self._ttl)
        return None if made is None else int(made)

    async def settle(self, site: str, id: int, state: Outcome, now: float) -> None:  # noqa: A002 - the field's name
        """Confirm or release a reserved record, or make a delivered one a stub."""
        await self._run("settle", keys(site), id, STATES.index(state), steps(state), now, self._ttl)

    async def forget(self, site: str, ids: Sequence[int], now: float) -> None:
        """Take records out; their tombstones go another day, with the appends of that day."""
        for at in range(0, len(ids), PART):
            await self._run("forget", keys(site), now, self._ttl, *ids[at : at + PART])

    async def beat(self, worker: str, now: float) -> None:
        """The worker is alive."""
        await self._run("beat", [BEATS], worker, now, now - TOMBSTONE_SECONDS)

    async def beats(self) -> dict[str, float]:
        """When each worker was last heard of."""
        found = await self._remote.run(lambda: answer_of(self._open.zrange(BEATS, 0, -1, withscores=True)))
        return {worker.decode(): beat for worker, beat in found}

    async def count(self) -> int:
        """How many records there are, tombstones included; asks once for each site."""

        async def count() -> int:
            return sum([await answer_of(self._open.zcard(log)) for log in await self._logs()])

        return await self._remote.run(count)

    async def sites(self) -> AsyncIterator[str]:
        """The sites that have pages; walks all keys of the database, ours or not."""
        names = await self._remote.run(self._logs)
        for name in sorted(names):
            yield name[len("{simdedup:") : -len("}:log")]

    async def records(self) -> AsyncIterator[tuple[str, Record]]:
        """All records with their sites; one that changes meanwhile may come twice."""
        async for site in self.sites():
            async for record in whole_log(self, site):
                yield site, record

    async def _check_layout(self) -> None:
        layout = await self.remember("layout", LAYOUT)
        if layout != LAYOUT:
            problem = f"has keys of version {layout}; this scrapy-simdedup works with version {LAYOUT}"
            remedy = "name another database, or use the scrapy-simdedup that made this one"
            raise StoreError(self._remote.name, problem, remedy)

    async def _logs(self) -> set[str]:
        return {name.decode() async for name in self._open.scan_iter(match="{simdedup:*}:log", count=1000)}

    @property
    def _open(self) -> Redis | RedisCluster:
        if self._client is None:
            raise StoreError(self._remote.name, "is not open", "open it first")
        return self._client

    async def _run(self, verb: str, names: Sequence[str], *values: str | bytes | float) -> Any:
        client = self._open
        return await self._remote.run(lambda: run_script(client, verb, names, values))

    def _connect(self) -> Redis | RedisCluster:
        options: dict[str, Any] = {"socket_connect_timeout": CONNECT_SECONDS, "socket_timeout": CALL_SECONDS}
        scheme, _, rest = self._url.partition(":")
        if scheme == "redis+cluster":
            return RedisCluster.from_url(f"redis:{rest}", max_connections=2 * CALLS, **options)
        # Once more at once: a connection that idled may be dead. Every script can be run twice.
        retry = Retry(NoBackoff(), 1, supported_errors=(ConnectionError,))
        return Redis.from_url(self._url, retry=retry, retry_on_error=[ConnectionError], **options)


def keys(site: str) -> list[str]:
    """The keys of a site."""
    return [f"{{simdedup:{site}}}:{part}" for part in PARTS]
