"""The store that an action is about, and the files that it reads and writes."""

from __future__ import annotations

import gzip
import sys
import zlib
from argparse import ArgumentTypeError
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from scrapy_simdedup.detect.detector import NearDuplicateDetector
from scrapy_simdedup.errors import SettingError, SimdedupError, StoreError
from scrapy_simdedup.report.gather import live_records
from scrapy_simdedup.setting_checks import redact_password
from scrapy_simdedup.store.url import job_store, store_by_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy_simdedup.commands.console import Context
    from scrapy_simdedup.store.base import FingerprintStore, Record

RECORDS_PER_BATCH = 5_000


def persistent_store_url(context: Context) -> str:
    """The URL of the store, new or old.

    Raises:
        SettingError: no store is named, or one that does not outlast a process.
    """
    url = context.settings.store or (job_store(jobdir) if (jobdir := context.scrapy.get("JOBDIR")) else None)
    if url is None or not store_by_url(url).lasts:
        shown, remedy = url and redact_password(url), "name a store that lasts, such as --store sqlite:///pages.sqlite"
        raise SettingError("SIMDEDUP_STORE", shown, remedy)
    return url


def existing_store_url(context: Context) -> str:
    """The URL of the store, which a crawl has written.

    Raises:
        SettingError: no store is named, or one that does not outlast a process.
        StoreError: there is nothing at that URL.
    """
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


@asynccontextmanager
async def open_detector(context: Context, url: str | None = None) -> AsyncIterator[NearDuplicateDetector]:
    """A detector on the store at a URL, or on that of the settings, opened; it is closed in the end.

    Raises:
        StoreError: the store's fingerprints are made in another way than the settings say.
    """
    detector = NearDuplicateDetector(url, settings=context.settings)
    await detector.open()
    try:
        yield detector
    finally:
        await detector.close()


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


@contextmanager
def open_output(name: str | None, *, compress: bool = True) -> Iterator[IO[bytes]]:
    """A file to write to, or stdout for None and ``-``; it takes its place, compressed for .gz, when it is complete."""
    if name is None or name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(name)
    part = path.with_name(path.name + ".part")
    try:
        with gzip.open(part, "wb") if compress and path.suffix == ".gz" else part.open("wb") as file:
            yield cast("IO[bytes]", file)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def open_input(name: str) -> Iterator[IO[bytes]]:
    """A file to read from, or stdin for ``-``; one whose name ends with .gz is unpacked.

    Raises:
        OSError: the file cannot be read.
        SimdedupError: the file is compressed, and damaged or cut.
    """
    if name == "-":
        yield sys.stdin.buffer
        return
    try:
        with gzip.open(name, "rb") if name.endswith(".gz") else Path(name).open("rb") as file:
            yield cast("IO[bytes]", file)
    except (EOFError, zlib.error) as exc:
        raise SimdedupError(f"{name} cannot be read to its end: {exc}") from exc


def document_path(name: str) -> str:
    """The value of an option that names a document."""
    if not name.endswith((".html", ".json")):
        raise ArgumentTypeError("give a path that ends with .html or .json")
    return name
