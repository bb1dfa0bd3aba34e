"""Files: packed ones, standard streams and other file systems; the pages of an archive's files, and copies of these."""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timezone
from datetime import time as clock_time
from hashlib import blake2b
from itertools import count
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO, Any, Literal, cast

from scrapy_simdedup.batch.archives import PAGES_PER_BATCH
from scrapy_simdedup.batch.feeds import Csv, FeedFormat, JsonArray, JsonLines, Parquet
from scrapy_simdedup.batch.tables import DamagedFile, package_of, pages_schema
from scrapy_simdedup.batch.things import HTML_FIELDS, FeedEntry, ItemFields
from scrapy_simdedup.batch.warc import Warc
from scrapy_simdedup.detect.verdict import Verdict
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.unjudged import UNJUDGED

if sys.platform != "win32":
    import fcntl


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
    part = path.with_name(f"{path.name}.{os.getpid()}.part")  # another process may work on the same file
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


def matching_files(pattern: str) -> list[str]:
    """The names of the files of another file system that match a pattern."""
    system, path = package_of("batch", "fsspec").core.url_to_fs(pattern)
    return sorted(system.unstrip_protocol(found) for found in system.glob(path))


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


@contextmanager
def only_run_in(directory: Path) -> Iterator[None]:
    """Make a directory, and keep other runs out of it; a SimdedupError says that one is at work there."""
    directory.mkdir(parents=True, exist_ok=True)
    if sys.platform == "win32":
        yield
        return
    lock = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SimdedupError(f"another run is at work in {directory}; wait for it, or name another -o") from None
        except OSError:  # a file system without locks
            pass
        yield
        for part in directory.glob("*.part"):  # of processes that were killed
            if re.search(r"\.[0-9]+\.part\Z", part.name):
                part.unlink(missing_ok=True)
    finally:
        os.close(lock)


FORMATS: dict[str, type[FeedFormat]] = {
    **dict.fromkeys(("jsonl", "jsonlines", "jl", "ndjson"), JsonLines),
    "json": JsonArray,
    "csv": Csv,
    "parquet": Parquet,
    "warc": Warc,
}
"""The formats, by the ending of a file's name without .gz and .zst."""
JSON = (JsonLines, JsonArray)
"""The formats that the items of every feed can be written in."""
_BEGINS_ARRAY = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*(?:[{\]]|\Z)")


def format_of(name: str) -> type[FeedFormat] | None:
    """The format that the name of a file says, packed or not."""
    return FORMATS.get(re.sub(r"\.(?:gz|zst)\Z", "", name.lower()).rpartition(".")[2])


def sniffed(form: type[FeedFormat], file: IO[bytes]) -> type[FeedFormat]:
    """Which of the two forms of JSON a file has: people call either by the name of the other."""
    if form not in JSON or not hasattr(file, "peek"):
        return form
    start = file.peek(64)[:64]
    if _BEGINS_ARRAY.match(start.split(b"\n")[0]):
        return JsonArray
    return form if start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"[" else JsonLines


TIME_FIELDS = ("time", "timestamp", "fetched_at", "crawled_at")
"""The fields in which an item is likely to say when its page was fetched."""
MAX_SECONDS = 1e11
"""Seconds since the epoch of the year 5138."""
_STAMP = re.compile(r"(?:19|20)\d{6}(\d{6})?")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?(?:e[+-]?\d+)?", re.IGNORECASE)
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

    def entries(self, file: IO[bytes], name: str, damages: list[str]) -> Iterator[FeedEntry]:
        """The entries of an open file; ``damages`` gets what is wrong with it, where that may be.

        Else a DamagedFile says it; a SimdedupError that no entry has a field for a page.
        """
        fields, has_items, has_pages = ItemFields(self.html_field), False, False
        try:
            for entry in _readable(sniffed(self.format_of(name), file).read(file, fields)):
                if entry.item is not None and not has_pages:
                    has_items, has_pages = True, any(field in entry.item for field in HTML_FIELDS)
                yield entry
        except DamagedFile as exc:
            if not self.skip_damaged:
                raise DamagedFile(f"{exc}; --skip-damaged takes the pages before") from exc
            damages.append(str(exc))
        fields.check()
        if has_items and not has_pages and self.html_field is None:
            raise SimdedupError("no entry has a field 'html' or 'body'; name the field of the page with --html-field")


def _readable(entries: Iterator[FeedEntry]) -> Iterator[FeedEntry]:
    """The entries; a DamagedFile says which one cannot be read."""
    for number in count(1):
        try:
            entry = next(entries, None)
        except SimdedupError:
            raise
        except Exception as exc:  # unpackers and tables have errors of all kinds
            raise DamagedFile(f"entry {number:,} cannot be read: {exc}") from exc
        if entry is None:
            return
        yield entry


def has_pages(name: str, reading: Reading) -> bool:
    """Whether a file has an entry on which there has to be a verdict."""
    with open_input(name) as file:
        return any(map(_is_counted, reading.entries(file, name, [])))


def _is_counted(entry: FeedEntry) -> bool:
    return entry.unjudged is None or UNJUDGED[entry.unjudged].counted


def read_pages(name: str, number: int, reading: Reading, damages: list[str]) -> Iterator[Any]:
    """The pages of a file, as batches of :func:`~scrapy_simdedup.batch.tables.pages_schema`.

    ``number`` is that of the file among all, and ``damages`` gets what is wrong with the file, where that may be; else
    a SimdedupError says it, or that the file does not say when its pages were fetched.
    """
    arrow, schema = package_of("batch", "pyarrow"), pages_schema()
    rows: list[dict[str, Any]] = []
    size = 0
    with open_input(name) as file:
        for position, entry in enumerate(reading.entries(file, name, damages)):
            if not _is_counted(entry):
                continue
            unjudged = entry.unjudged or (None if entry.html is not None else "no_page")
            if reading.in_order:
                time = float(number << 32 | position)
            else:
                time = _seconds(entry, reading.time_field, position, may_be_unknown=unjudged is not None)
            html = None if entry.html is None else _without_surrogates(entry.html)
            values = {"url": _without_surrogates(entry.url), "html": html, "unjudged": unjudged, "time": time}
            rows.append(values | {"file": name, "position": position})
            size += len(entry.html or "")
            if len(rows) >= PAGES_PER_BATCH or size >= BYTES_PER_BATCH:
                yield arrow.RecordBatch.from_pylist(rows, schema=schema)
                rows, size = [], 0
    if rows:
        yield arrow.RecordBatch.from_pylist(rows, schema=schema)


def _without_surrogates(text: str) -> str:
    """The text without lone surrogates, which JSON may have, and tables may not."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _seconds(entry: FeedEntry, field: str | None, position: int, *, may_be_unknown: bool) -> float:
    """When an entry was fetched; 0 where that is not known, and it holds nothing that is judged."""
    value: Any = entry.time
    if entry.item is not None:
        names = [field] if field else [name for name in TIME_FIELDS if entry.item.get(name) is not None]
        value = entry.item.get(names[0]) if names else None
    try:
        return as_seconds(value)
    except (TypeError, ValueError, OverflowError):
        if may_be_unknown:
            return 0.0
        what = f"says no time that can be read: {value!r:.60}" if value is not None else "says no time"
        remedy = "name its field with --time-field, or take the order of the files with --order file"
        raise SimdedupError(f"entry {position + 1:,} {what}; {remedy}") from None


def as_seconds(value: Any) -> float:
    """A time in seconds since the epoch, from a date, a number or a text; others have errors of several kinds.

    A number that is too great for seconds is one of milliseconds, microseconds or nanoseconds.

    >>> as_seconds("2026-01-02T03:04:05Z") == as_seconds(20260102030405) == as_seconds("1767323045000")
    True
    """
    if isinstance(value, int):
        value = str(value)
    if isinstance(value, str):
        text = value.strip()
        if stamp := _STAMP.fullmatch(text):
            value = datetime.strptime(text, "%Y%m%d%H%M%S" if stamp[1] else "%Y%m%d")
        elif not _NUMBER.fullmatch(text):
            value = datetime.fromisoformat(text.replace("Z", "+00:00"))
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, clock_time())
    if isinstance(value, datetime):
        return value.replace(tzinfo=value.tzinfo or timezone.utc).timestamp()
    seconds = float(value)
    for _ in ("milliseconds", "microseconds", "nanoseconds"):
        seconds = seconds / 1000 if abs(seconds) > MAX_SECONDS else seconds
    if not abs(seconds) <= MAX_SECONDS:
        raise ValueError(value)
    return seconds


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
    lacks = 0
    with open_input(name) as file:
        form = sniffed(reading.format_of(name), file)
        with open_output(output, compress=form is not Warc) as out:
            writer = form(out)
            for position, entry in enumerate(reading.entries(file, name, [])):
                verdict = dropped.get(position)
                if verdict is None:
                    writer.keep(entry)
                else:
                    writer.drop(entry, verdict)
                    lacks += 1
            writer.close()
    return lacks
