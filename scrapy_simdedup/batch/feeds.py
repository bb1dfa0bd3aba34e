"""The formats of feeds of items that are read and written: JSON lines, JSON arrays, CSV and Parquet."""

from __future__ import annotations

import codecs
import csv
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any

from scrapy_simdedup.batch.tables import DamagedFile, open_table, package_of
from scrapy_simdedup.batch.things import FeedEntry, ItemFields
from scrapy_simdedup.detect.verdict import Verdict
from scrapy_simdedup.errors import SimdedupError

ROWS_PER_BATCH = 256
BYTES_PER_ROW_GROUP = 32 * 1024 * 1024
"""Bytes of rows that are written at a time."""
FIRST_CHUNK = 1 << 20
"""Bytes of an array that are read at a time; twice as many where a value does not end within them."""


class FeedFormat:
    """A format of feeds; an object of its class writes to a file what is kept of a feed. This one writes nothing."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    @staticmethod
    def read(file: IO[bytes], fields: ItemFields) -> Iterator[FeedEntry]:
        """The entries of a feed, one at a time; a SimdedupError if it is damaged, or a package is missing."""
        raise NotImplementedError

    def keep(self, entry: FeedEntry) -> None:
        """Write an entry."""

    def drop(self, entry: FeedEntry, verdict: Verdict) -> None:
        """Write what stands in place of an entry that is dropped, if anything does."""

    def close(self) -> None:
        """Write what comes after the last entry."""


class JsonLines(FeedFormat):
    """One JSON object per line."""

    @staticmethod
    def read(file: IO[bytes], fields: ItemFields) -> Iterator[FeedEntry]:
        """The entries of a feed; a line that holds no item gives an unjudged one."""
        for line in file:
            item = None
            with suppress(ValueError, RecursionError):
                item = json.loads(line)
            yield fields.entry(item, line)

    def keep(self, entry: FeedEntry) -> None:
        self._file.write(entry.raw if isinstance(entry.raw, bytes) else _json(entry).encode() + b"\n")


class JsonArray(FeedFormat):
    """One JSON array of objects, as ``scrapy crawl -O items.json`` writes it."""

    @staticmethod
    def read(file: IO[bytes], fields: ItemFields) -> Iterator[FeedEntry]:
        """The entries of a feed; a value that is no object gives an unjudged one."""
        for item, raw in _array_values(file):
            yield fields.entry(item, raw)

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file)
        self._before = b"[\n"

    def keep(self, entry: FeedEntry) -> None:
        raw = entry.raw if isinstance(entry.raw, str) else _json(entry)
        self._file.write(self._before + raw.encode())
        self._before = b",\n"

    def close(self) -> None:
        self._file.write(b"\n]" if self._before == b",\n" else b"[]")


class Csv(FeedFormat):
    """Comma-separated values under a row of names."""

    @staticmethod
    def read(file: IO[bytes], fields: ItemFields) -> Iterator[FeedEntry]:
        """The entries of a feed; the row of names is the first of them."""
        csv.field_size_limit(2**31 - 1)  # a page is longer than what csv expects of a field
        rows = csv.reader(codecs.iterdecode(file, "utf-8-sig", "replace"))
        names = next(rows, None)
        if names is None:
            return
        yield FeedEntry(names, unjudged="head")
        for row in rows:
            yield fields.entry(dict(zip(names, row, strict=False)), row)

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file)
        self._rows = csv.writer(codecs.getwriter("utf-8")(file))

    def keep(self, entry: FeedEntry) -> None:
        self._rows.writerow(entry.raw)


class Parquet(FeedFormat):
    """A table of Apache Parquet, read by pyarrow."""

    @staticmethod
    def read(file: IO[bytes], fields: ItemFields) -> Iterator[FeedEntry]:
        """The entries of a table; ``raw`` is a batch of rows and the number of a row in it."""
        with open_table(file) as table:
            for batch in table.iter_batches(batch_size=ROWS_PER_BATCH):
                for row, values in enumerate(zip(*map(_values, batch.columns), strict=True)):
                    yield fields.entry(dict(zip(batch.schema.names, values, strict=True)), (batch, row))

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file)
        self._pyarrow, self._parquet = package_of("parquet", "pyarrow"), package_of("parquet", "pyarrow.parquet")
        self._writer: Any = None
        self._batch: Any = None
        self._rows: list[int] = []
        self._full: list[Any] = []

    def keep(self, entry: FeedEntry) -> None:
        batch, row = entry.raw
        if batch is not self._batch:
            self._end_batch()
            self._batch = batch
        self._rows.append(row)

    def close(self) -> None:
        self._end_batch()
        self._write()
        if self._writer is not None:
            self._writer.close()

    def _end_batch(self) -> None:
        if self._batch is not None:
            self._full.append(self._batch.take(self._pyarrow.array(self._rows)))
            self._rows = []
            if sum(batch.nbytes for batch in self._full) >= BYTES_PER_ROW_GROUP:
                self._write()

    def _write(self) -> None:
        if self._full:
            if self._writer is None:
                self._writer = self._parquet.ParquetWriter(self._file, self._full[0].schema)
            self._writer.write_table(self._pyarrow.Table.from_batches(self._full))
            self._full = []


def _values(column: Any) -> list[Any]:
    """The values of a column: times to the microsecond, which Python knows, and texts even where some are no UTF-8."""
    arrow = package_of("parquet", "pyarrow")
    if arrow.types.is_timestamp(column.type) and column.type.unit == "ns":
        column = column.cast(arrow.timestamp("us", column.type.tz), safe=False)
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        texts = column.cast(arrow.large_binary()).to_pylist()
        return [None if text is None else text.decode("utf-8", "replace") for text in texts]


def _json(entry: FeedEntry) -> str:
    if entry.unjudged == "no_item":
        raise SimdedupError("the feed holds what is no item, which only a file of the feed's own format can keep")
    return json.dumps(entry.item, default=str)


def _array_values(file: IO[bytes]) -> Iterator[tuple[Any, str]]:
    """The values of a JSON array, each with its text; only one chunk is held, or one value where that is longer."""
    scan, decode = json.JSONDecoder().raw_decode, codecs.getincrementaldecoder("utf-8-sig")().decode
    text, place, count, at_end = "", 0, 0, False
    expected = re.compile(r"\s*\[\s*")  # then the end, or a value; after a value the end, or a comma and a value
    while True:
        begin = expected.match(text, place)
        error: Exception | None = None
        if begin is not None and text[begin.end() : begin.end() + 1] not in {"", "]"}:
            try:
                item, end = scan(text, begin.end())
            except (ValueError, RecursionError) as exc:
                error = exc
            else:
                if end < len(text):  # else a number may go on
                    count += 1
                    yield item, text[begin.end() : end]
                    place, expected = end, re.compile(r"\s*,\s*|\s*(?=\])")
                    continue
        elif begin is not None and text[begin.end() : begin.end() + 1] == "]":
            if text[begin.end() + 1 :].strip() or file.read(1 << 16).strip():
                raise DamagedFile(f"something comes after the end of the array of {count:,} items")
            return
        is_wrong = begin is None and text[place:].strip()
        if at_end or is_wrong or (error is not None and not _may_be_cut(error, text)):
            why = f": {error}" if error else ""
            raise DamagedFile(f"item {count + 1:,} of the array cannot be read, or the array is cut there{why}")
        text = text[place:]
        place = 0
        chunk = file.read(max(FIRST_CHUNK, len(text)))
        at_end = not chunk
        try:
            text += decode(chunk, at_end)
        except UnicodeDecodeError as exc:
            raise DamagedFile(f"item {count + 1:,} of the array or a later one is not in UTF-8: {exc}") from exc


def _may_be_cut(error: Exception, text: str) -> bool:
    """Whether a value cannot be read only because the text ends within it."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.msg.startswith("Unterminated string") or error.pos >= len(text) - len("-Infinity")
