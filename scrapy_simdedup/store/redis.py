"""The store in Redis, Valkey or a Redis Cluster, for crawls of many machines.

Each verb is one Lua script: it is sent to a server that does not know it yet, and named by its digest from then on.
"""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import AsyncIterator, Sequence
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import Any, get_args
from urllib.parse import urlsplit

from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.store import base
from scrapy_simdedup.store.remote import CALLS, CONNECT_SECONDS, CircuitBreaker, RemoteStore

LAYOUT = "2"
"""Version of keys and records."""
PART = 500
"""Records that are read at a time: half a megabyte, and some ten milliseconds in which nothing else runs here."""
NOTES_PER_PART = 1000
MEMO, HEARTBEATS = "{simdedup}:memo", "{simdedup}:heartbeats"
PARTS = ("log", "pages", "versions", "released")
"""The keys of a site, in the order in which log.lua takes them."""
SITE, LOG = "{simdedup:", "}:log"
"""What stands before and after the name of a site in the key of its log."""
JOURNAL, NOTES_KEY = "{simdedup journal:", "}:notes"
"""What stands before and after the name of a journal in the key of its notes; its keys share a hash tag."""
NO_LOG = frozenset({"set_default", "heartbeat", "put_note", "read_notes"})
"""Verbs whose scripts do without the functions of ``log.lua``."""
SHORT = frozenset({"append", "settle", "put_note"})
"""Verbs that send and get next to nothing."""
REMEDIES = {
    "wrongpass": "correct user and password in SIMDEDUP_STORE",
    "invalid username-password": "correct user and password in SIMDEDUP_STORE",
    "invalid password": "correct user and password in SIMDEDUP_STORE",
    "noauth": "write user and password into SIMDEDUP_STORE: 'redis://user:password@host:6379/0'",
    "client already authenticated": "write user and password into SIMDEDUP_STORE: 'redis://user:password@host:6379/0'",
    "authentication required": "write user and password into SIMDEDUP_STORE: 'redis://user:password@host:6379/0'",
    "noperm": "let the user read and write keys that contain 'simdedup', and run scripts",
    "can't run this command": "let the user read and write keys that contain 'simdedup', and run scripts",
    "maxmemory": "give Redis more memory, or the store a SIMDEDUP_TTL",
    "readonly": "name the primary, not a replica",
    "misconf": "make the server save its data again: it may have no disk space left",
    "max number of clients": "allow more clients: maxclients in redis.conf",
    "wrongtype": "name another database: a key of this name is not the store's",
    "moved": "name the cluster as 'redis+cluster://host:6379'",
    "index is out of range": "name another database in SIMDEDUP_STORE, by a smaller number at its end",
    "cluster mode is not enabled": "name a single server as 'redis://host:6379/0'",
    "connecting to": "check that the server runs, and scheme, host and port in SIMDEDUP_STORE",
    "closed by server": "check host and port in SIMDEDUP_STORE, and whether a server wants TLS: 'rediss://'",
}
"""What to do, by a part of the driver's message."""
STATES: tuple[base.State, ...] = get_args(base.State)
"""By their number in the bytes; ``released`` is 2 in log.lua, too."""
HEAD = struct.Struct(">BdHI")
"""State, last seen, bytes of the key, bytes of the body; as in log.lua."""


class RedisStore(RemoteStore):
    """Records in Redis. Keys of a site share a hash tag, so a cluster keeps them on one node, and spreads the sites.

    The URL begins with ``redis://``, ``rediss://``, ``unix://`` or ``redis+cluster://``; options of redis-py follow a
    ``?``. A ValueError says that it cannot be used. The server drops a site that did not change for ``ttl`` seconds;
    None: never.
    """

    def __init__(self, url: str, ttl: float | None = None) -> None:
        self._url = url
        self._ttl = "" if ttl is None else str(max(1, round(ttl)))
        lost = (
            exceptions.ConnectionError,
            exceptions.TimeoutError,
            exceptions.ClusterDownError,
            exceptions.RedisClusterException,
            OSError,
        )
        self._breaker = CircuitBreaker(url, (exceptions.RedisError,), lost, REMEDIES)
        self._client: Redis | RedisCluster | None = None
        scheme, database = url.partition(":")[0], urlsplit(url).path.strip("/")
        try:
            client: Any = self._connect()
            if scheme != "redis+cluster":  # the driver reads most options once it makes a connection
                client.connection_pool.make_connection()
        except (TypeError, exceptions.RedisError) as exc:
            raise ValueError(str(exc)) from exc
        # It takes what is no number for database 0, which another project may have.
        if client.get_encoder().decode_responses or (
            scheme in {"redis", "rediss"} and not (database or "0").isdecimal()
        ):
            raise ValueError(url)

    async def open(self) -> None:
        """Connect, and check that the keys of an existing store are of this version."""
        self._breaker.check_loop()
        self._client = self._connect()
        try:
            self._check_version("keys", await self.set_default("layout", LAYOUT), LAYOUT)
        except StoreError:
            await self.close()
            raise

    async def close(self) -> None:
        await self._breaker.finish()
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    async def set_default(self, name: str, value: str) -> str:
        return bytes(await self._run("set_default", [MEMO], name, value)).decode()

    async def read(self, site: str, after: int = 0) -> base.Tail:
        cursor, complete, *found = await self._run("read", site_keys(site), after, PART)
        rows = zip(found[::3], found[1::3], found[2::3], strict=True)
        records = tuple(unpack_record(raw, int(id_), int(position)) for id_, position, raw in rows)
        return base.Tail(records, int(cursor), bool(complete))

    async def append(self, site: str, record: base.Record, expected: int) -> int | None:
        old = record.last_seen - base.TOMBSTONE_SECONDS
        about = expected, pack_record(record), int(record.settled), old, self._ttl
        made = await self._run("append", site_keys(site), *about)
        return None if made is None else int(made)

    async def load(self, parts: Sequence[base.LogPart]) -> list[int | None]:
        """Each site by itself: :data:`PART` records at a time, and up to :data:`CALLS` sites at once."""
        places = asyncio.Semaphore(CALLS)

        async def load(part: base.LogPart) -> int | None:
            async with places:
                for at in range(0, len(part.records), PART):
                    packed = [pack_record(record) for record in part.records[at : at + PART]]
                    if await self._run("load", site_keys(part.site), part.expected + at, self._ttl, *packed) is None:
                        return None
                return part.counter

        return list(await asyncio.gather(*map(load, parts)))

    async def settle(self, site: str, id: int, state: base.Outcome, now: float) -> None:  # noqa: A002 - the field's name
        await self._run("settle", site_keys(site), id, STATES.index(state), steps(state), now, self._ttl)

    async def forget(self, site: str, ids: Sequence[int], now: float) -> None:
        """Tombstones are deleted another day, with the appends of that day."""
        for at in range(0, len(ids), PART):
            await self._run("forget", site_keys(site), now, self._ttl, *ids[at : at + PART])

    async def heartbeat(self, worker: str, now: float) -> None:
        await self._run("heartbeat", [HEARTBEATS], worker, now, now - base.TOMBSTONE_SECONDS)

    async def heartbeats(self) -> dict[str, float]:
        found = await self._breaker.run(lambda: answer_of(self._open.zrange(HEARTBEATS, 0, -1, withscores=True)))
        return {worker.decode(): time for worker, time in found}

    async def count(self) -> int:
        async def count() -> int:
            return sum([await answer_of(self._open.zcard(log)) for log in await self._keys(SITE, LOG)])

        return await self._breaker.run(count)

    async def sites(self) -> AsyncIterator[str]:
        for name in sorted(await self._breaker.run(lambda: self._keys(SITE, LOG))):
            yield name[len(SITE) : -len(LOG)]

    async def put_note(self, journal: str, key: bytes, value: bytes, *, once: bool = False) -> bytes:
        return bytes(await self._run("put_note", journal_keys(journal), key, value, int(once), self._ttl))

    async def get_note(self, journal: str, key: bytes) -> bytes | None:
        client: Any = self._open  # typed for keys of text alone
        return await self._breaker.run(lambda: answer_of(client.hget(journal_keys(journal)[0], key)))

    async def read_notes(self, journal: str, after: int = 0) -> base.Notes:
        cursor, complete, *values = await self._run("read_notes", journal_keys(journal), after, NOTES_PER_PART)
        return base.Notes(tuple(values), int(cursor), bool(complete))

    async def journals(self) -> AsyncIterator[str]:
        for name in sorted(await self._breaker.run(lambda: self._keys(JOURNAL, NOTES_KEY))):
            yield name[len(JOURNAL) : -len(NOTES_KEY)]

    async def delete_journal(self, journal: str) -> None:
        await self._breaker.run(lambda: answer_of(self._open.unlink(*journal_keys(journal))))

    async def _keys(self, before: str, after: str) -> set[str]:
        """The keys that begin and end so, found by a walk through all keys of the database, ours or not."""
        names = self._open.scan_iter(match=f"{before}*{after}", count=1000)
        return {name.decode() async for name in names}

    @property
    def _open(self) -> Redis | RedisCluster:
        if self._client is None:
            raise StoreError(self._breaker.name, "is not open", "open it first")
        return self._client

    async def _run(self, verb: str, names: Sequence[str], *values: str | bytes | float) -> Any:
        """The answer of the verb's script to the keys that it touches, on one node, and its other arguments."""
        client, (script, digest) = self._open, _script(verb)

        async def run() -> Any:
            try:
                return await answer_of(client.evalsha(digest, len(names), *names, *values))
            except exceptions.NoScriptError:  # the first call, or the server was restarted, or its scripts were flushed
                return await answer_of(client.eval(script, len(names), *names, *values))

        return await self._breaker.run(run, is_short=verb in SHORT)

    def _connect(self) -> Redis | RedisCluster:
        # How long an answer may take is for the breaker to say: the driver would count the time of blocking callbacks.
        options: dict[str, Any] = {"socket_connect_timeout": CONNECT_SECONDS, "socket_timeout": None}
        scheme, _, rest = self._url.partition(":")
        if scheme == "redis+cluster":
            return RedisCluster.from_url(f"redis:{rest}", max_connections=2 * CALLS, **options)
        # Once more at once: a connection that idled may be dead. Every script can be run twice.
        retry = Retry(NoBackoff(), 1, supported_errors=(exceptions.ConnectionError,))
        return Redis.from_url(self._url, retry=retry, retry_on_error=[exceptions.ConnectionError], **options)


def site_keys(site: str) -> list[str]:
    """The keys of a site, which share a hash tag."""
    return [f"{SITE}{site}}}:{part}" for part in PARTS]


def journal_keys(journal: str) -> list[str]:
    """The keys of a journal, in the order in which the scripts take them."""
    return [f"{JOURNAL}{journal}{NOTES_KEY}", f"{JOURNAL}{journal}}}:order"]


async def answer_of(call: Any) -> Any:
    """The answer to a call of a method that redis-py types for its synchronous client, too."""
    return await call


@cache
def _script(verb: str) -> tuple[str, str]:
    folder = files("scrapy_simdedup.store").joinpath("lua")
    parts = (f"{verb}.lua",) if verb in NO_LOG else ("log.lua", f"{verb}.lua")
    script = "".join(folder.joinpath(part).read_text(encoding="utf-8") for part in parts)
    return script, sha1(script.encode(), usedforsecurity=False).hexdigest()


def pack_record(record: base.Record) -> bytes:
    """A record as bytes, without ``id`` and ``position``, which the log knows.

    They are laid out so that the Lua scripts can change the state of a record without knowing the rest.
    """
    original = None if record.original is None else record.original.hex()
    texts = record.url, record.run, record.worker, record.kind, record.similarity, original
    numbers = record.first_seen, record.last_changed, record.visits, record.changes, record.handler
    body = json.dumps((*texts, *numbers), separators=(",", ":")).encode()
    head = HEAD.pack(STATES.index(record.state), record.last_seen, len(record.key), len(body))
    return b"".join((head, record.key, body, record.fingerprint))


def unpack_record(raw: bytes, id_: int, position: int) -> base.Record:
    """The record that :func:`pack_record` made, or a script changed."""
    state, last_seen, key_size, body_size = HEAD.unpack_from(raw)
    body_at = HEAD.size + key_size
    fingerprint_at = body_at + body_size
    url, run, worker, kind, similarity, original, first_seen, *others = json.loads(raw[body_at:fingerprint_at])
    marks = run, worker, STATES[state], kind, similarity, None if original is None else bytes.fromhex(original)
    of_page, times_and_counts = (url, raw[HEAD.size : body_at], raw[fingerprint_at:]), (first_seen, last_seen, *others)
    return base.Record._make((*of_page, *marks, *times_and_counts, id_, position))


def steps(outcome: base.Outcome) -> str:
    """The numbers of the states from which a record can be settled to an outcome, a digit each."""
    return "".join(sorted(str(STATES.index(state)) for state in base.STEPS[outcome]))
