"""Stores, and records to put into them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from scrapy_simdedup.store import store_by_url
from scrapy_simdedup.store.base import FingerprintStore, Record

SITE = "shop.example"


@asynccontextmanager
async def opened(url: str, ttl: float | None = None) -> AsyncIterator[FingerprintStore]:
    store = store_by_url(url, ttl=ttl)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def record(key: bytes = b"a", at: float = 1000.5, **changes: Any) -> Record:
    """A page that was fetched for the first time, and is on its way, unless ``changes`` say otherwise."""
    made = Record(
        url="https://shop.example/a",
        key=key,
        fingerprint=b"\x00\x01\xff" * 9,
        run="monday",
        worker="w1",
        state="reserved",
        kind="new",
        similarity=None,
        original=None,
        first_seen=at,
        last_seen=at,
        last_changed=at,
        visits=1,
        changes=0,
    )
    return made._replace(**changes)


async def put(store: FingerprintStore, made: Record, site: str = SITE) -> int:
    id_ = await store.append(site, made, (await store.read(site)).cursor)
    assert id_ is not None
    return id_


async def stored(store: FingerprintStore) -> list[int]:
    """The ids of the site's records, oldest change first."""
    return [found.id for found in (await store.read(SITE)).records]
