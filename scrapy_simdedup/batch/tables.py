"""The tables of archives, as Arrow and Parquet have them: pages, fingerprints and verdicts."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from scrapy_simdedup.errors import SimdedupError

EXTRAS = {
    "parquet": "read and write Parquet",
    "warc": "read archives",
    "zstd": "read and write .zst files",
    "batch": "judge archives, and open files of other file systems",
    "spark": "judge archives on a cluster",
}
"""What the extras are needed for."""
METADATA = b"simdedup"
"""The name of the metadata of a table that says how its fingerprints were made, as JSON."""
ROWS_PER_BATCH = 2_048
ROWS_PER_GROUP = 65_536
PAGE_COLUMNS = ("site", "time", "url", "key", "size", "file", "position")
"""The columns that say of which page a verdict is."""
VERDICT_COLUMNS = (
    *("kind", "is_duplicate", "original", "original_key", "similarity", "distance", "reason", "own_words"),
    *("supersedes", "original_first_seen", "original_run"),
)
"""The columns of a table of verdicts that are fields of a verdict."""


def package_of(extra: str, module: str) -> Any:
    """A module of the package that an extra of ours brings."""
    try:
        return import_module(module)
    except ImportError as exc:
        raise SimdedupError(f"to {EXTRAS[extra]}, pip install scrapy-simdedup[{extra}]") from exc


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


def batch_of(rows: Iterable[tuple[Any, ...]], schema: Any) -> Any:
    """The record batch of one row or more."""
    arrow = package_of("parquet", "pyarrow")
    columns = zip(zip(*rows, strict=True), schema, strict=True)
    return arrow.record_batch([arrow.array(column, field.type) for column, field in columns], schema=schema)


class TableWriter:
    """Writes rows to a Parquet file, complete once it is closed, with :data:`METADATA` of what it says about itself."""

    def __init__(self, file: IO[bytes] | str, schema: Any, metadata: Mapping[str, Any] | None = None) -> None:
        parquet = package_of("parquet", "pyarrow.parquet")
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
            self._writer.write_batch(batch_of(self._rows, self._schema))
            self._rows = []


@contextmanager
def open_table(file: IO[bytes]) -> Iterator[Any]:
    """A Parquet file as pyarrow reads it; what has no seekable end, such as a pipe, goes to the disk first."""
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


def metadata_of(schema: Any) -> dict[str, Any]:
    """What a table says about itself; nothing if it is none of ours."""
    return dict(json.loads((schema.metadata or {}).get(METADATA, "{}")))


def read_metadata(path: Path, what: str) -> dict[str, Any]:
    """What the table in a file says about itself; ``what`` it has to be, such as a table of records."""
    arrow, parquet = package_of("batch", "pyarrow"), package_of("batch", "pyarrow.parquet")
    try:
        return metadata_of(parquet.read_schema(path))
    except (OSError, arrow.ArrowException) as exc:
        raise SimdedupError(f"{path} is no {what}: {exc}") from exc


def sql_list(paths: Iterable[Path]) -> str:
    """Paths as a list of SQL."""
    return f"[{', '.join(map(sql_text, paths))}]"


def sql_text(path: Path) -> str:
    """A path as a text of SQL."""
    return "'" + str(path).replace("'", "''") + "'"
