"""The store that a call is about, opened."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.utils.request import fingerprint as request_fingerprint

from scrapy_simdedup.crawl.run import job_store
from scrapy_simdedup.detect.detector import NearDuplicateDetector
from scrapy_simdedup.detect.site import key_of
from scrapy_simdedup.errors import SettingError, StoreError
from scrapy_simdedup.report.records import records_of
from scrapy_simdedup.store.url import store_by_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy_simdedup.commands.call import Call
    from scrapy_simdedup.store.base import FingerprintStore, Record

BATCH = 5_000


def named_url(call: Call) -> str:
    """The URL of a store that lasts, new or old.

    Raises:
        SettingError: none is named.
    """
    url = call.settings.store or (job_store(jobdir) if (jobdir := call.scrapy.get("JOBDIR")) else None)
    if url is None or url.startswith("memory:"):
        raise SettingError("SIMDEDUP_STORE", url, "name a store that lasts, such as --store sqlite:///pages.sqlite")
    return url


def store_url(call: Call) -> str:
    """The URL of a store that a crawl has written.

    Raises:
        SettingError: none is named.
        StoreError: there is nothing at that URL.
    """
    url = named_url(call)
    scheme, _, path = url.partition(":///")
    if scheme == "sqlite" and not Path(path).is_file():
        raise StoreError(url, "there is no such file", "name a store that a crawl has written")
    return url


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[FingerprintStore]:
    """The store at a URL; closed in the end."""
    store = store_by_url(url)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def opened_detector(call: Call, url: str) -> AsyncIterator[NearDuplicateDetector]:
    """A detector that makes fingerprints under the secret of the store at a URL.

    Raises:
        StoreError: the store's fingerprints are made in another way than the settings say.
    """
    detector = NearDuplicateDetector(url, settings=call.settings)
    await detector.open()
    try:
        yield detector
    finally:
        await detector.close()


async def records(
    call: Call, store: FingerprintStore, site: str | None, what: str = "pages read"
) -> AsyncIterator[tuple[str, Record]]:
    """Records with their sites, of one site or of all, while it is shown how far this is."""
    total = None if site is not None else await store.count()
    with call.console.progress(what, total) as show:
        done = 0
        async for home, record in records_of(store, site):
            yield home, record
            done += 1
            show(done)


async def in_batches(call: Call, store: FingerprintStore, site: str | None, what: str) -> AsyncIterator[list[Record]]:
    """The same records, :data:`BATCH` at a time."""
    batch: list[Record] = []
    async for _, record in records(call, store, site, what):
        batch.append(record)
        if len(batch) == BATCH:
            yield batch
            batch = []
    yield batch


def key_in_a_crawl(url: str) -> bytes:
    """Who the page at a URL is in a crawl, unless the project has a request fingerprinter of its own."""
    try:
        return request_fingerprint(Request(url))
    except ValueError:  # no URL that could be fetched
        return key_of(url)
