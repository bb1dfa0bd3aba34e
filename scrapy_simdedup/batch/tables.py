"""The tables of archives, as Arrow and Parquet have them: fingerprints, verdicts, and the records of stores."""

from __future__ import annotations

import json
import math
import shutil
import tempfile
from collections import Counter
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any, get_args

from scrapy_simdedup.detect.copy_check import MAX_MEMBERS
from scrapy_simdedup.detect.site_judge import SITE_JOURNALS
from scrapy_simdedup.errors import FingerprintMismatch, SimdedupError
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.store.base import Record, SiteNote, State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

EXTRAS = {
    "parquet": "read and write Parquet",
    "warc": "read archives",
    "batch": "judge archives",
    "spark": "judge archives on a cluster",
}
"""What the extras are needed for."""
METADATA = b"simdedup"
"""The name of the metadata of a table that says how its fingerprints were made, as JSON."""
ROWS_PER_BATCH = 2_048
"""Rows of a table that are held at a time."""
ROWS_PER_GROUP = 65_536
"""Rows of a group in a Parquet file."""
MAX_KEY_BYTES = 2**16 - 1
"""Bytes of a key or a fingerprint that every store can keep."""
RECORD_COLUMNS = ("site", *(field.name for field in fields(Record) if field.name not in {"id", "position"}))
"""The columns of a table of records that are those of a record."""
NOTE_COLUMNS = ("journal", "note")
"""Those of a note of a site, which has a row of its own."""
PAGE_COLUMNS = ("site", "time", "url", "key", "size", "file", "position")
"""The columns that say of which page a verdict is."""
VERDICT_COLUMNS = (
    *("kind", "is_duplicate", "original", "original_key", "similarity", "distance", "reason", "own_words"),
    *("supersedes", "original_first_seen", "original_run"),
)
"""The columns of a table of verdicts that are fields of a verdict."""
_STATES = frozenset(get_args(State))
_BINARY = {"key", "fingerprint", "original", "note"}
_NUMBERS, _COUNTS = {"similarity", "last_changed"}, {"visits", "changes"}


def package_of(extra: str, module: str) -> Any:
    """A module of the package that an extra of ours brings.

    Raises:
        SimdedupError: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as exc:
        raise SimdedupError(f"to {EXTRAS[extra]}, pip install scrapy-simdedup[{extra}]") from exc


@cache
def records_schema() -> Any:
    """The schema of a table of records: a site, and the fields of :class:`~scrapy_simdedup.store.base.Record`.

    Where ``journal`` is not null the row is a note of the site, and has no record.
    """
    arrow = package_of("parquet", "pyarrow")

    def type_of(name: str) -> Any:
        if name in _BINARY:
            return arrow.binary()
        if name in _NUMBERS or name.endswith("_seen"):
            return arrow.float64()
        return arrow.int32() if name in _COUNTS else arrow.string()

    columns = [arrow.field(name, type_of(name), name != "site") for name in (*RECORD_COLUMNS, *NOTE_COLUMNS)]
    return arrow.schema(columns)


@cache
def pages_schema() -> Any:
    """The schema of a table of pages.

    ``time`` is in seconds since the epoch, ``file`` and ``position`` say which entry of which file a page is, and
    ``unjudged`` why it is not to be judged.
    """
    arrow = package_of("batch", "pyarrow")
    texts, numbers = ("url", "html", "unjudged", "file"), {"time": arrow.float64(), "position": arrow.int64()}
    return arrow.schema([*((name, arrow.string()) for name in texts), *numbers.items()])


@cache
def fingerprints_schema() -> Any:
    """The schema of a table of fingerprints: of pages, and of a history where ``record`` is not null.

    ``units`` has the text units of the page, where own texts or edits matter; ``size`` is the page's bytes in UTF-8.
    """
    arrow = package_of("batch", "pyarrow")
    return arrow.schema(
        [
            ("site", arrow.string()),
            ("time", arrow.float64()),
            ("url", arrow.string()),
            ("key", arrow.binary()),
            ("canonical", arrow.string()),
            ("fingerprint", arrow.binary()),
            ("units", arrow.binary()),
            ("unjudged", arrow.string()),
            ("size", arrow.int64()),
            ("file", arrow.string()),
            ("position", arrow.int64()),
            ("record", arrow.binary()),
        ]
    )


@cache
def verdicts_schema() -> Any:
    """The schema of a table of verdicts: the page, and the fields of its :class:`~scrapy_simdedup.Verdict`."""
    arrow = package_of("batch", "pyarrow")
    page = [fingerprints_schema().field(name) for name in PAGE_COLUMNS]
    texts = ("kind", "original", "reason", "supersedes", "original_run")
    types = {
        **dict.fromkeys(texts, arrow.string()),
        "is_duplicate": arrow.bool_(),
        "original_key": arrow.binary(),
        "similarity": arrow.float64(),
        "distance": arrow.int32(),
        "own_words": arrow.int32(),
        "original_first_seen": arrow.float64(),
    }
    return arrow.schema([*page, *((name, types[name]) for name in VERDICT_COLUMNS)])


class TableWriter:
    """Writes rows to a Parquet file; the file is complete once it is closed.

    Args:
        file: where the table goes.
        schema: the columns.
        metadata: what the table says about itself, see :data:`METADATA`.
    """

    def __init__(self, file: IO[bytes] | str, schema: Any, metadata: Mapping[str, Any] | None = None) -> None:
        self._arrow, parquet = package_of("parquet", "pyarrow"), package_of("parquet", "pyarrow.parquet")
        about = {METADATA: json.dumps(dict(metadata))} if metadata is not None else {}
        self._schema = schema.with_metadata(about)
        self._writer = parquet.ParquetWriter(file, self._schema, compression="zstd")
        self._rows: list[tuple[Any, ...]] = []

    def add_row(self, row: tuple[Any, ...]) -> None:
        """Write a row."""
        self._rows.append(row)
        if len(self._rows) >= ROWS_PER_GROUP:
            self._write_rows()

    def add_batch(self, batch: Any) -> None:
        """Write a record batch."""
        self._write_rows()
        self._writer.write_batch(batch.cast(self._schema) if batch.schema != self._schema else batch)

    def close(self) -> None:
        """Write what is left, and the end of the table."""
        self._write_rows()
        self._writer.close()

    def _write_rows(self) -> None:
        if self._rows:
            columns = zip(*self._rows, strict=True)
            arrays = [
                self._arrow.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)
            ]
            self._writer.write_batch(self._arrow.record_batch(arrays, schema=self._schema))
            self._rows = []


@contextmanager
def open_table(file: IO[bytes]) -> Iterator[Any]:
    """A Parquet file as pyarrow reads it; what has no seekable end, such as a pipe, goes to the disk first.

    Raises:
        SimdedupError: pyarrow is not installed, or the table is damaged.
    """
    arrow, parquet = package_of("parquet", "pyarrow"), package_of("parquet", "pyarrow.parquet")
    with tempfile.TemporaryFile() as unpacked:
        if not file.seekable() or hasattr(file, "fileobj"):  # the end of a table is read first
            shutil.copyfileobj(file, unpacked)
            file = unpacked
        try:
            with parquet.ParquetFile(file) as table:
                yield table
        except arrow.ArrowException as exc:
            raise SimdedupError(f"the table cannot be read: {exc}") from exc


def metadata_of(schema: Any) -> dict[str, Any] | None:
    """What a table says about itself; None if it is none of ours."""
    raw = (schema.metadata or {}).get(METADATA)
    return None if raw is None else dict(json.loads(raw))


def record_row(site: str, known: Record | SiteNote) -> tuple[Any, ...]:
    """A row of a table of records."""
    if isinstance(known, SiteNote):
        return (site, *[None] * (len(RECORD_COLUMNS) - 1), known.journal, known.value)
    return (site, *(getattr(known, name) for name in RECORD_COLUMNS[1:]), None, None)


def read_records(table: Any, refuse: Callable[[int, str], None]) -> Iterator[tuple[str, Record | SiteNote]]:
    """The records of an open table, in no log yet, and the notes of its sites.

    Args:
        table: what :func:`open_table` gave.
        refuse: called with the number of a row that is no record, and the reason.

    Raises:
        SimdedupError: the table has other columns than one of records.
    """
    wanted = [*RECORD_COLUMNS, *NOTE_COLUMNS]
    missing = [name for name in wanted if name not in table.schema_arrow.names]
    if missing:
        raise SimdedupError(f"the table has no column {missing[0]}; give one that export --format parquet wrote")
    number = 0
    for batch in table.iter_batches(ROWS_PER_BATCH, columns=wanted):
        columns = [batch.column(name).to_pylist() for name in wanted]
        for site, *values, journal, note in zip(*columns, strict=True):
            number += 1
            try:
                yield site, checked_record(site, *values) if journal is None else checked_note(journal, note)
            except (TypeError, ValueError, FingerprintMismatch) as exc:
                refuse(number, str(exc))


def checked_record(site: str, *values: Any) -> Record:
    """The record of a row, once every store can keep it.

    Raises:
        FingerprintMismatch: its fingerprint is none; a site that had it in its log could not be judged.
        TypeError: a value is missing, or of another type.
        ValueError: a value is out of bounds.
    """
    record = Record(*values)
    texts = site, record.url, record.run, record.worker, record.kind, record.handler
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a text is missing in this record")
    if record.state not in _STATES:
        raise ValueError(f"state cannot be {record.state!r:.60} in a record")
    times = record.first_seen, record.last_seen, record.last_changed, record.similarity or 0.0
    if not all(map(math.isfinite, times)) or record.visits < 0 or record.changes < 0:
        raise ValueError("a number in this record is out of bounds")
    if not 0 < len(record.key) <= MAX_KEY_BYTES or len(record.fingerprint) > MAX_KEY_BYTES:
        raise ValueError("the key of this record is too long, or missing")
    PageFingerprint.from_bytes(record.fingerprint)
    return record


def checked_note(journal: object, value: object) -> SiteNote:
    """The note of a row or a line.

    Raises:
        ValueError: it is none of a journal of sites.
    """
    if not isinstance(journal, str) or journal not in SITE_JOURNALS or not isinstance(value, bytes):
        raise ValueError(f"{journal!r:.60} is no journal of notes of sites")
    return SiteNote(journal, value)


class Thinning:
    """Chooses which records of a history are worth keeping: all but the later repeats of each original.

    A page is compared with an original and with up to :data:`~scrapy_simdedup.detect.copy_check.MAX_MEMBERS` of its
    repeats; further ones only say that their own URLs are known.
    """

    def __init__(self) -> None:
        self._site, self._repeats = "", Counter[bytes]()

    def keeps(self, site: str, record: Record) -> bool:
        """Whether a record is worth keeping; the records of a site come together."""
        if site != self._site:
            self._site, self._repeats = site, Counter()
        if record.state != "duplicate" or record.original is None:
            return True
        self._repeats[record.original] += 1
        return self._repeats[record.original] <= MAX_MEMBERS


def sql_list(paths: Iterable[Path]) -> str:
    """Paths as a list of SQL."""
    return f"[{', '.join(map(sql_text, paths))}]"


def sql_text(path: Path) -> str:
    """A path as a text of SQL."""
    return "'" + str(path).replace("'", "''") + "'"
