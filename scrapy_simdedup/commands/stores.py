"""The store that an action is about."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from scrapy_simdedup.errors import SettingError, StoreError
from scrapy_simdedup.report.gather import live_records
from scrapy_simdedup.setting_checks import redact_password
from scrapy_simdedup.store.url import job_store, store_by_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy_simdedup.commands.console import Context
    from scrapy_simdedup.store.base import FingerprintStore, Record

RECORDS_PER_BATCH = 5_000


def persistent_store_url(context: Context) -> str:
    """The URL of the store, new or old."""
    url = context.settings.store or (job_store(jobdir) if (jobdir := context.scrapy.get("JOBDIR")) else None)
    if url is None or not store_by_url(url).lasts:
        shown, remedy = url and redact_password(url), "name a store that lasts, such as --store sqlite:///pages.sqlite"
        raise SettingError("SIMDEDUP_STORE", shown, remedy)
    return url


def existing_store_url(context: Context) -> str:
    """The URL of the store, which a crawl has written."""
    url = persistent_store_url(context)
    if not store_by_url(url).exists():
        raise StoreError(redact_password(url), "there is no such file", "name a store that a crawl has written")
    return url


@asynccontextmanager
async def open_store(url: str) -> AsyncIterator[FingerprintStore]:
    """The store at a URL, opened; it is closed in the end."""
    store = store_by_url(url)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def records_with_progress(
    context: Context, store: FingerprintStore, site: str | None, what: str = "pages read"
) -> AsyncIterator[tuple[str, Record]]:
    """The records of one site, or of all, with their sites; the console shows how many were read."""
    total = None if site is not None else await store.count()
    with context.console.progress(what, total) as show:
        done = 0
        async for home, record in live_records(store, site):
            yield home, record
            done += 1
            show(done)


async def record_batches(context: Context, store: FingerprintStore, site: str | None) -> AsyncIterator[list[Record]]:
    """The records of one site, or of all, to be compared :data:`RECORDS_PER_BATCH` at a time."""
    batch: list[Record] = []
    async for _, record in records_with_progress(context, store, site, "pages compared"):
        batch.append(record)
        if len(batch) == RECORDS_PER_BATCH:
            yield batch
            batch = []
    yield batch
