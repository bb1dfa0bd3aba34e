"""The Lua scripts: one per verb, sent to a server that does not know it yet, else named by its digest."""

from __future__ import annotations

from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from redis.exceptions import NoScriptError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redis.asyncio import Redis
    from redis.asyncio.cluster import RedisCluster

NO_LOG = frozenset({"remember", "beat", "note", "notes"})
"""Verbs that need no functions for a log."""


async def run_script(
    client: Redis | RedisCluster, verb: str, names: Sequence[str], values: Sequence[str | bytes | float]
) -> Any:
    """What the verb's script answers.

    Args:
        client: a connected one.
        verb: the name of the script.
        names: the keys it touches; in a cluster, all on one node.
        values: its other arguments.
    """
    script, digest = _script(verb)
    try:
        return await answer_of(client.evalsha(digest, len(names), *names, *values))
    except NoScriptError:  # the first call, or the server was restarted, or its scripts were flushed
        return await answer_of(client.eval(script, len(names), *names, *values))


async def answer_of(call: Any) -> Any:
    """The answer to a call of a method that redis-py types for its synchronous client, too."""
    return await call


@cache
def _script(verb: str) -> tuple[str, str]:
    folder = files("scrapy_simdedup.store")
    parts = (f"{verb}.lua",) if verb in NO_LOG else ("log.lua", f"{verb}.lua")
    script = "".join(folder.joinpath(part).read_text(encoding="utf-8") for part in parts)
    return script, sha1(script.encode(), usedforsecurity=False).hexdigest()
