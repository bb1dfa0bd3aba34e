"""A store by its URL."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeAlias

from scrapy_simdedup.errors import SettingError
from scrapy_simdedup.store.memory import MemoryStore
from scrapy_simdedup.store.sqlite import SqliteStore
from scrapy_simdedup.store_urls import STORE_FORMS, without_password

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simdedup.store.base import FingerprintStore, Sleep

Make: TypeAlias = "Callable[[str, Sleep, float | None], FingerprintStore]"
"""From a URL, a way to sleep, and the seconds after which a server may drop a site that did not change."""


def _redis(url: str, _sleep: Sleep, ttl: float | None) -> FingerprintStore:
    try:
        from scrapy_simdedup.store.redis import RedisStore  # noqa: PLC0415 - its driver is optional
    except ImportError as exc:
        raise _missing(url, "redis") from exc
    return RedisStore(url, ttl)


def _postgresql(url: str, _sleep: Sleep, _ttl: float | None) -> FingerprintStore:
    try:
        from scrapy_simdedup.store.postgresql import PostgresqlStore  # noqa: PLC0415 - as above
    except ImportError as exc:
        raise _missing(url, "postgresql") from exc
    return PostgresqlStore(url)


def _missing(url: str, extra: str) -> SettingError:
    remedy = f"its driver is not installed: pip install scrapy-simdedup[{extra}]"
    return SettingError("SIMDEDUP_STORE", without_password(url), remedy)


STORES: dict[str, Make] = {
    "memory": lambda _url, _sleep, _ttl: MemoryStore(),
    "sqlite": lambda url, sleep, _ttl: SqliteStore(url, sleep),
    "redis": _redis,
    "rediss": _redis,
    "redis+cluster": _redis,
    "unix": _redis,
    "postgresql": _postgresql,
}
"""What makes the store of each scheme; :data:`~scrapy_simdedup.store_urls.STORE_FORMS` has an example of each."""


def store_by_url(url: str, sleep: Sleep = asyncio.sleep, ttl: float | None = None) -> FingerprintStore:
    """The store that a URL names, not opened yet.

    Args:
        url: such as ``memory:`` or ``sqlite:///pages.sqlite``.
        sleep: lets other work go on while the store waits for its database.
        ttl: seconds after which a server may drop a site that did not change; None never lets it.

    Raises:
        SettingError: no store goes by that URL, or its driver is not installed.
    """
    make = STORES.get(url.partition(":")[0])
    if make is None or ":" not in url:
        examples = " or ".join(map(repr, STORE_FORMS.values()))
        raise SettingError("SIMDEDUP_STORE", without_password(url), f"write a store URL such as {examples}")
    return make(url, sleep, ttl)
