"""Files: packed ones, standard streams and other file systems; the pages of an archive's files, and copies of these."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO, Any, Literal, cast

from scrapy_simdedup.batch.archives import PAGES_PER_BATCH
from scrapy_simdedup.batch.feeds import FORMATS, FeedFormat, Warc, format_of, sniffed
from scrapy_simdedup.batch.tables import package_of, pages_schema
from scrapy_simdedup.batch.things import FeedEntry, ItemFields
from scrapy_simdedup.detect.verdict import Verdict
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.unjudged import UNJUDGED


@contextmanager
def open_output(name: str | None, *, compress: bool = True) -> Iterator[IO[bytes]]:
    """A file to write to, or stdout for None and ``-``; it takes its place when complete, packed for .gz and .zst."""
    if name is None or name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with whole_file(name) as part, _open_packed(part, "wb", Path(name).suffix if compress else "") as file:
        yield file


@contextmanager
def whole_file(name: str | Path) -> Iterator[Path]:
    """A path to write to; the file takes its place when all of it is written, on another file system by fsspec."""
    if "://" in str(name):
        with TemporaryDirectory() as directory:
            yield Path(directory) / "part"
            system, path = package_of("batch", "fsspec").core.url_to_fs(str(name))
            system.put_file(str(Path(directory) / "part"), path)
        return
    path = Path(name)
    part = path.with_name(path.name + ".part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def open_input(name: str) -> Iterator[IO[bytes]]:
    """A file to read from, or stdin for ``-``; one whose name ends with .gz or .zst is unpacked.

    A name such as ``s3://bucket/file`` is opened by fsspec, which needs a package for each other file system. An
    OSError says that the file cannot be read, a SimdedupError that it is damaged, or that a package is missing.
    """
    if name == "-":
        yield sys.stdin.buffer
        return
    if "://" in name:
        with package_of("batch", "fsspec").open(name, "rb", compression="infer") as file:
            yield file
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
        zstandard = package_of("zstd", "zstandard")
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


TIME_FIELDS = ("time", "timestamp", "fetched_at", "crawled_at")
"""The fields in which an item is likely to say when its page was fetched."""
BYTES_PER_BATCH = 16 * 1024 * 1024
"""Characters of pages that are held at a time; a single page may be longer."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How the files of an archive are read."""

    form: str | None = None
    """The name of the format; None takes that of the file's name."""
    html_field: str | None = None
    """The field of items that holds the page; None looks for it."""
    time_field: str | None = None
    """The field of items that holds the time; None looks for it."""
    in_order: bool = False
    """Whether the order of the files and of their entries stands in for times."""
    skip_damaged: bool = False
    """Whether what can be read of a damaged file is enough."""

    def format_of(self, name: str) -> type[FeedFormat]:
        """The format of a file."""
        found = FORMATS.get(self.form or "") or format_of(name)
        if found is None:
            raise SimdedupError(f"{name} is no .warc, .parquet, .jsonl, .json or .csv file; say with --from what it is")
        return found

    def entries(self, file: IO[bytes], name: str) -> Iterator[FeedEntry]:
        """The entries of an open file."""
        fields = ItemFields(self.html_field)
        yield from sniffed(self.format_of(name), file).read(file, fields)
        fields.check()


def read_pages(name: str, number: int, reading: Reading, damages: list[str]) -> Iterator[Any]:
    """The pages of a file, as batches of :func:`~scrapy_simdedup.batch.tables.pages_schema`.

    ``number`` is that of the file among all, and ``damages`` gets what is wrong with the file, where that may be; else
    a SimdedupError says it, or that the file does not say when its pages were fetched.
    """
    arrow, schema = package_of("batch", "pyarrow"), pages_schema()
    rows: list[dict[str, Any]] = []
    size = 0
    with open_input(name) as file:
        entries = enumerate(reading.entries(file, name))
        while True:
            try:
                position, entry = next(entries, (0, None))
            except SimdedupError as exc:
                if not reading.skip_damaged:
                    raise SimdedupError(f"{exc}; --skip-damaged takes the pages before") from exc
                damages.append(str(exc))
                break
            if entry is None:
                break
            if entry.unjudged is not None and not UNJUDGED[entry.unjudged].counted:
                continue
            time = float(number << 32 | position) if reading.in_order else _seconds(entry, reading.time_field, position)
            unjudged = entry.unjudged or (None if entry.html is not None else "no_page")
            html = entry.html
            if html is not None and not html.isascii():  # a lone surrogate, which JSON may have, is none of a text
                html = html.encode("utf-8", "replace").decode()
            values = {"url": entry.url, "html": html, "unjudged": unjudged, "time": time}
            rows.append(values | {"file": name, "position": position})
            size += len(entry.html or "")
            if len(rows) >= PAGES_PER_BATCH or size >= BYTES_PER_BATCH:
                yield arrow.RecordBatch.from_pylist(rows, schema=schema)
                rows, size = [], 0
    if rows:
        yield arrow.RecordBatch.from_pylist(rows, schema=schema)


def _seconds(entry: FeedEntry, field: str | None, position: int) -> float:
    value: Any = entry.time
    if entry.item is not None:
        names = [field] if field else [name for name in TIME_FIELDS if entry.item.get(name) is not None]
        value = entry.item.get(names[0]) if names else None
    try:
        if isinstance(value, str):
            made = datetime.fromisoformat(value.strip().replace("Z", "+00:00"))
            return made.replace(tzinfo=made.tzinfo or timezone.utc).timestamp()
        if isinstance(value, datetime):
            return value.replace(tzinfo=value.tzinfo or timezone.utc).timestamp()
        return float(value)
    except (TypeError, ValueError):
        what = f"says no time that can be read: {value!r:.60}" if value is not None else "says no time"
        remedy = "name its field with --time-field, or take the order of the files with --order file"
        raise SimdedupError(f"entry {position + 1:,} {what}; {remedy}") from None


def output_names(names: Iterable[str]) -> dict[str, str]:
    """The last part of each input file's name, by the whole name; behind a digest where several have the same."""
    bases = {name: PurePosixPath(name.replace("\\", "/")).name for name in names}
    counts = Counter(bases.values())
    return {
        name: base if counts[base] == 1 else f"{blake2b(name.encode(), digest_size=4).hexdigest()}-{base}"
        for name, base in bases.items()
    }


def kept_names(names: Iterable[str], reading: Reading) -> dict[str, str]:
    """The names of the copies of input files, by theirs; archives are always compressed."""
    return {
        name: base + ".gz" if reading.format_of(name) is Warc and not name.endswith(".gz") else base
        for name, base in output_names(names).items()
    }


def copy_kept(name: str, output: str, reading: Reading, dropped: Mapping[int, Verdict]) -> int:
    """Copy a whole file without the entries at the positions of ``dropped``; how many these were."""
    count = 0
    with open_input(name) as file:
        form = sniffed(reading.format_of(name), file)
        with open_output(output, compress=form is not Warc) as out:
            writer = form(out)
            entries = enumerate(form.read(file, ItemFields(reading.html_field)))
            with suppress(*([SimdedupError] if reading.skip_damaged else [])):
                for position, entry in entries:
                    verdict = dropped.get(position)
                    if verdict is None:
                        writer.keep(entry)
                    else:
                        writer.drop(entry, verdict)
                        count += 1
            writer.close()
    return count
