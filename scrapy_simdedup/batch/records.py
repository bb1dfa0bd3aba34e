"""Records outside of stores: as JSON lines, which any other program can read, and as tables."""

from __future__ import annotations

import json
import sys
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from pathlib import Path
from typing import IO, Any, get_args, get_type_hints

from scrapy_simdedup.batch.tables import ROWS_PER_BATCH, TableWriter, open_table, package_of
from scrapy_simdedup.detect.copy_check import MAX_MEMBERS
from scrapy_simdedup.detect.site_judge import SITE_JOURNALS, SiteNote
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.store.base import LogPart, Record, State, Tail
from scrapy_simdedup.store.memory import MemoryStore

EXPORT_VERSION = 1
SHARED_METADATA = ("fingerprint", "secret")
"""Metadata that stores must agree on to share records; an export begins with it."""
LOG_FIELDS = ("id", "position")
"""Fields that a record gets from the log it is appended to; they are not exported."""
RECORD_COLUMNS = ("site", *(name for name in Record._fields if name not in LOG_FIELDS))
NOTE_COLUMNS = ("journal", "note")
"""The columns of a note of a site, which has a row of its own in a table of records."""
BYTES_FIELDS = ("key", "fingerprint", "original")
MAX_INT, MAX_FLOAT = 2**31 - 1, sys.float_info.max
"""The greatest numbers that every store can keep."""
MAX_FIELD_BYTES = 2**16 - 1
"""Bytes of a key or a fingerprint that every store can keep."""
# ------------------------------------------------------------------ what every store can keep
_STATES = frozenset(get_args(State))
_FITS: dict[Any, Callable[[Any], bool]] = {
    str: lambda value: isinstance(value, str),
    bytes: lambda value: isinstance(value, bytes) and 0 < len(value) <= MAX_FIELD_BYTES,
    float: lambda value: isinstance(value, float | int) and -MAX_FLOAT <= value <= MAX_FLOAT,
    int: lambda value: isinstance(value, int) and 0 <= value <= MAX_INT,
    State: lambda value: value in _STATES,
}
"""Whether a value fits a field, by the type of the field."""


_CHECKS = tuple(
    (name, next(_FITS[part] for part in (hint, *get_args(hint)) if part in _FITS), type(None) in get_args(hint))
    for name, hint in {"site": str, **get_type_hints(Record)}.items()
)
"""Of a site and each field of its record the name, the check, and whether None fits as well."""


def checked_record(site: Any, record: Record) -> tuple[str, Record]:
    """A site and its record, in no log yet, once every store can keep them; else a SimdedupError."""
    for (name, fits, may_be_none), value in zip(_CHECKS, (site, *record), strict=True):
        if not (fits(value) or (may_be_none and value is None)):
            raise SimdedupError(f"{name} cannot be {value!r:.60} in a record")
    PageFingerprint.from_bytes(record.fingerprint)
    return site, record


def checked_note(journal: object, value: object) -> SiteNote:
    """The note of a row or a line."""
    if not isinstance(journal, str) or journal not in SITE_JOURNALS or not isinstance(value, bytes):
        raise SimdedupError(f"{journal!r:.60} is no journal of notes of sites")
    return SiteNote(journal, value)


def shared_metadata(found: Any) -> dict[str, str]:
    """What an export says about itself, as far as stores must agree on it."""
    try:
        if found["simdedup"] == EXPORT_VERSION:
            return {name: str(found[name]) for name in SHARED_METADATA}
    except (TypeError, KeyError):
        pass
    raise SimdedupError(f"the table is none of an export of version {EXPORT_VERSION}")


# ------------------------------------------------------------------ lines


class LinesOfRecords:
    """Writes an export as JSON lines, the first of which says what it is; an empty store says nothing."""

    def __init__(self, file: IO[bytes], metadata: dict[str, Any] | None) -> None:
        self._file = file
        if metadata is not None:
            file.write(json.dumps(metadata).encode() + b"\n")

    def add(self, site: str, known: Record | SiteNote) -> None:
        """Write a record, or a note of the site."""
        self._file.write(to_line(site, known))

    def close(self) -> None:
        """There is nothing behind the last line."""


def to_line(site: str, known: Record | SiteNote) -> bytes:
    """A site and its record, or a note of it, as one line of an export."""
    if isinstance(known, SiteNote):
        values: dict[str, Any] = {"journal": known.journal, "note": b64encode(known.value).decode()}
    else:
        values = {name: value for name, value in known._asdict().items() if name not in LOG_FIELDS}
        values |= {name: b64encode(values[name]).decode() for name in BYTES_FIELDS if values[name] is not None}
    return json.dumps({"site": site, **values}, separators=(",", ":")).encode() + b"\n"


def from_line(line: bytes) -> tuple[str, Record | SiteNote]:
    """The site and the record in a line of an export, which is in no log yet, or the site and a note of it."""
    try:
        values: dict[str, Any] = json.loads(line)
        site = values.pop("site")
        if "journal" in values:
            return str(site), checked_note(values["journal"], b64decode(values["note"], validate=True))
        for name in BYTES_FIELDS:
            values[name] = None if values[name] is None else b64decode(values[name], validate=True)
        record = Record(**values)
    except (SimdedupError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as exc:
        raise SimdedupError(f"this line is no record: {_start_of(line)}") from exc
    return checked_record(site, record)


def read_header(line: bytes) -> dict[str, str]:
    """The metadata in the first line of an export, see :func:`shared_metadata`."""
    try:
        return shared_metadata(json.loads(line))
    except (ValueError, RecursionError, SimdedupError):
        problem = f"the first line is not that of an export of version {EXPORT_VERSION}: {_start_of(line)}"
        raise SimdedupError(problem) from None


def read_lines(file: IO[bytes], refuse: Callable[[int, str], None]) -> Iterator[tuple[str, Record | SiteNote]]:
    """The records and notes of an export behind its first line; ``refuse`` gets the number of a wrong line, and why."""
    for number, line in enumerate(file, start=2):
        try:
            yield from_line(line)
        except SimdedupError as exc:  # noqa: PERF203 - each line may be wrong by itself
            refuse(number, str(exc))


def _start_of(line: bytes) -> str:
    return repr(line[:60].decode("utf-8", "replace"))


# ------------------------------------------------------------------ tables


@cache
def records_schema() -> Any:
    """The schema of a table of records and their sites; where ``journal`` is not null the row is a note of the site."""
    arrow, hints = package_of("parquet", "pyarrow"), {**get_type_hints(Record), "note": bytes}
    types = {bytes: arrow.binary(), float: arrow.float64(), int: arrow.int32()}

    def type_of(name: str) -> Any:
        hint = hints.get(name, str)
        return next((types[part] for part in (hint, *get_args(hint)) if part in types), arrow.string())

    columns = [arrow.field(name, type_of(name), name != "site") for name in (*RECORD_COLUMNS, *NOTE_COLUMNS)]
    return arrow.schema(columns)


class TableOfRecords(TableWriter):
    """Writes an export as a Parquet table, with metadata that name its form."""

    def __init__(self, file: IO[bytes], metadata: dict[str, Any] | None) -> None:
        super().__init__(file, records_schema(), metadata)

    def add(self, site: str, known: Record | SiteNote) -> None:
        """Write a record, or a note of the site."""
        self.add_row(record_row(site, known))


def record_row(site: str, known: Record | SiteNote) -> tuple[Any, ...]:
    """A row of a table of records."""
    if isinstance(known, SiteNote):
        return (site, *[None] * (len(RECORD_COLUMNS) - 1), known.journal, known.value)
    return (site, *(getattr(known, name) for name in RECORD_COLUMNS[1:]), None, None)


def read_records(table: Any, refuse: Callable[[int, str], None]) -> Iterator[tuple[str, Record | SiteNote]]:
    """The records and notes of an open table; ``refuse`` gets the number of a row that is no record, and why."""
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
                yield checked_record(site, Record(*values)) if journal is None else (site, checked_note(journal, note))
            except SimdedupError as exc:
                refuse(number, str(exc))


class RecordTables(MemoryStore):
    """Tables of records as a store that reports read; nothing is written to it, and one site at a time is held."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._tables = sorted(directory.glob("records-*.parquet"))

    async def read(self, site: str, after: int = 0) -> Tail:
        """All records of a site."""
        parquet, found = package_of("batch", "pyarrow.parquet"), list[Record]()
        for path in self._tables:
            rows = parquet.read_table(path, filters=[("site", "=", site)]).to_pylist()
            found += [Record(*(row[name] for name in RECORD_COLUMNS[1:])) for row in rows if row["journal"] is None]
        found = LogPart(site, 0, found).numbered()
        return Tail(tuple(found[after:]), len(found))

    async def records(self) -> AsyncIterator[tuple[str, Record]]:
        """All records, site by site."""
        for path in self._tables:
            with path.open("rb") as file, open_table(file) as table:
                for number, (site, known) in enumerate(read_records(table, lambda *_: None), 1):
                    if isinstance(known, Record):
                        yield site, known._replace(id=number, position=number)


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
