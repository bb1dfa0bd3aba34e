"""A store by its URL."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from scrapy_simdedup.errors import SettingError
from scrapy_simdedup.settings import STORE_FORMS, without_password
from scrapy_simdedup.store.memory import MemoryStore
from scrapy_simdedup.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simdedup.store.base import FingerprintStore, Sleep

STORES: dict[str, Callable[[str, Sleep], FingerprintStore]] = {
    "memory": lambda _url, _sleep: MemoryStore(),
    "sqlite": SqliteStore,
}
"""What makes the store of each scheme; :data:`~scrapy_simdedup.settings.STORE_FORMS` has an example of each."""


def store_by_url(url: str, sleep: Sleep = asyncio.sleep) -> FingerprintStore:
    """The store that a URL names, not opened yet.

    Args:
        url: such as ``memory:`` or ``sqlite:///pages.sqlite``.
        sleep: lets other work go on while the store waits for its database.

    Raises:
        SettingError: no store goes by that URL.
    """
    make = STORES.get(url.partition(":")[0])
    if make is None or ":" not in url:
        examples = " or ".join(map(repr, STORE_FORMS.values()))
        raise SettingError("SIMDEDUP_STORE", without_password(url), f"write a store URL such as {examples}")
    return make(url, sleep)
