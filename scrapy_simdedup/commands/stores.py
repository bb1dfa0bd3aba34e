"""The store that an action is about, and the files that it reads and writes."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from argparse import ArgumentTypeError
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, cast

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
    """A file to write to, or stdout for None and ``-``; it takes its place when complete, packed for .gz and .zst.

    Raises:
        SimdedupError: no package that packs the file is installed.
    """
    if name is None or name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(name)
    part = path.with_name(path.name + ".part")
    try:
        with _open_packed(part, "wb", path.suffix if compress else "") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def open_input(name: str) -> Iterator[IO[bytes]]:
    """A file to read from, or stdin for ``-``; one whose name ends with .gz or .zst is unpacked.

    Raises:
        OSError: the file cannot be read.
        SimdedupError: the file is compressed, and damaged or cut, or no package that unpacks it is installed.
    """
    if name == "-":
        yield sys.stdin.buffer
        return
    try:
        with _open_packed(Path(name), "rb", Path(name).suffix) as file:
            yield file
    except (EOFError, zlib.error) as exc:
        raise SimdedupError(f"{name} cannot be read to its end: {exc}") from exc


class _Unpacked(io.BufferedReader):
    """What a compressed file holds; ``fileobj`` is the file itself, as that of ``gzip.GzipFile`` is."""

    fileobj: IO[bytes]


@contextmanager
def _open_packed(path: Path, mode: Literal["rb", "wb"], suffix: str) -> Iterator[IO[bytes]]:
    """An open file, packed or unpacked as its suffix says."""
    if suffix == ".gz":
        with gzip.open(path, mode) as packed:
            yield cast("IO[bytes]", packed)
    elif suffix == ".zst":
        zstandard = _zstandard()
        with path.open(mode) as file:
            try:
                if mode == "wb":
                    with zstandard.ZstdCompressor().stream_writer(file, closefd=False) as packer:
                        yield packer
                else:
                    stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
                    with _Unpacked(stream) as unpacked:
                        unpacked.fileobj = cast("IO[bytes]", file)
                        yield cast("IO[bytes]", unpacked)
            except zstandard.ZstdError as exc:
                raise SimdedupError(f"{path.name} cannot be read to its end: {exc}") from exc
    else:
        with path.open(mode) as file:
            yield cast("IO[bytes]", file)


def _zstandard() -> Any:
    try:
        return import_module("zstandard")
    except ImportError as exc:
        raise SimdedupError("for .zst files, pip install scrapy-simdedup[zstd]") from exc


def document_path(name: str) -> str:
    """The value of an option that names a document."""
    if not name.endswith((".html", ".json")):
        raise ArgumentTypeError("give a path that ends with .html or .json")
    return name
