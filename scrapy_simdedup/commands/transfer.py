"""``export``, ``import`` and ``migrate``: a store as JSON lines, which any other can read; what other plugins knew."""

from __future__ import annotations

import dbm
import json
import math
import sqlite3
import time
from base64 import b64decode, b64encode
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from scrapy_simdedup.batch.files import open_input, open_output
from scrapy_simdedup.batch.tables import (
    TableWriter,
    Thinning,
    metadata_of,
    open_table,
    read_records,
    record_row,
    records_schema,
)
from scrapy_simdedup.commands.console import NO, YES, Action, Context, read_share
from scrapy_simdedup.commands.stores import (
    existing_store_url,
    open_detector,
    open_store,
    persistent_store_url,
    records_with_progress,
)
from scrapy_simdedup.crawl.other_plugins import IMPORTED_LOG
from scrapy_simdedup.detect.revisit import imported_record
from scrapy_simdedup.display import plural
from scrapy_simdedup.errors import SimdedupError, StoreError
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.make import fingerprint
from scrapy_simdedup.setting_checks import redact_password
from scrapy_simdedup.store.base import IMPORTED, FingerprintStore, LogPart, Record

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Iterator

EXPORT_VERSION = 1
"""Version of the format of the lines."""
SHARED_METADATA = ("fingerprint", "secret")
"""Metadata that stores must agree on to share records; the first line of an export has it."""
BASE64_FIELDS = ("key", "fingerprint", "original")
LOG_FIELDS = ("id", "position")
"""Fields that a record gets from the log it is appended to; they are not exported."""
RECORDS_PER_LOAD, SITES_PER_LOAD = 20_000, 500
"""Records and sites that are written at a time: a second or so in which no other process can write to these sites."""
MAX_SHOWN_ERRORS = 10
"""Lines that cannot be read and are shown; all are counted."""
MAX_INT = 2**31 - 1
"""The greatest number that every store can keep."""
MAX_FIELD_BYTES = 2**16 - 1
"""Bytes of a key or a fingerprint that every store can keep."""
_HINTS = {"site": str, **get_type_hints(Record)}

TABLE_SOURCES = {"requests": "scrapy-crawl-once", "Dict": "scrapy-deltafetch"}
"""Tables of SQLite files by what writes them: sqlitedict, and dbm from Python 3.13 on."""
DBM_SUFFIXES = (".dat", ".dir", ".bak", ".pag")
"""What some forms of dbm append to the name of a database, which is several files."""


def add_export_options(parser: ArgumentParser) -> None:
    """The file that is written."""
    parser.add_argument("-o", "--output", metavar="FILE", help="default: stdout; compressed if it ends with .gz")
    parser.add_argument("--format", choices=("jsonl", "parquet"), help="default: by the name of the file; else jsonl")
    parser.add_argument("--thin", action="store_true", help="leave out all but 16 repeats of each page")


async def run_export(context: Context) -> int:
    """Export the store, and print where it went, unless it went to stdout."""
    output = context.options.output
    is_table = (context.options.format or ("parquet" if is_parquet(output or "") else "jsonl")) == "parquet"
    with open_output(output, compress=not is_table) as file:
        pages = await _export(context, TableOfRecords(file) if is_table else LinesOfRecords(file))
    if output:
        context.console.print_answer({"pages": pages, "file": output}, [f"{pages:,} pages are in {output}"])
    return YES


EXPORT = Action(
    "write a store as JSON lines or Parquet, with the secret under its hashes: keep the file to yourself",
    run_export,
    add_export_options,
)


def is_parquet(name: str) -> bool:
    """Whether the name of a file is that of a Parquet table."""
    return name.lower().endswith(".parquet")


class LinesOfRecords:
    """Writes an export as JSON lines."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def begin(self, metadata: dict[str, Any]) -> None:
        """Write what the export says about itself."""
        self._file.write(json.dumps(metadata).encode() + b"\n")

    def add(self, site: str, record: Record) -> None:
        """Write a record."""
        self._file.write(to_line(site, record))

    def close(self) -> None:
        """There is nothing behind the last line."""


class TableOfRecords:
    """Writes an export as a Parquet table."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._schema = file, records_schema()
        self._table: TableWriter | None = None

    def begin(self, metadata: dict[str, Any]) -> None:
        """Write what the export says about itself."""
        self._table = TableWriter(self._file, self._schema, metadata)

    def add(self, site: str, record: Record) -> None:
        """Write a record."""
        assert self._table is not None
        self._table.add(*record_row(site, record))

    def close(self) -> None:
        """Write the end of the table, also of one without records."""
        (self._table or TableWriter(self._file, self._schema)).close()


async def _export(context: Context, out: LinesOfRecords | TableOfRecords) -> int:
    written, site = 0, ""
    unsettled: list[Record] = []
    thinning = Thinning() if context.options.thin else None

    def write_unsettled() -> None:
        for record in sorted(unsettled, key=lambda record: record.id):
            out.add(site, record)
        unsettled.clear()

    async with open_store(existing_store_url(context)) as store:
        async for home, record in records_with_progress(context, store, None, "pages written"):
            if not written:  # only a store with pages is sure to have them
                metadata = {name: await store.set_default(name, "") for name in SHARED_METADATA}
                out.begin({"simdedup": EXPORT_VERSION, **metadata})
            if home != site:
                write_unsettled()
                site = home
            if thinning is not None and not thinning.keeps(home, record):
                continue
            if record.settled:
                out.add(site, record)
            else:  # a settled version takes the place of those before it, so these must come after it
                unsettled.append(record)
            written += 1
        write_unsettled()
        out.close()
    return written


def add_import_options(parser: ArgumentParser) -> None:
    """The file that is read."""
    parser.add_argument("file", metavar="FILE", help="what export wrote, lines or a table; - for what is piped in")


async def run_import(context: Context) -> int:
    """Import the file, and print how many of its pages are new; NO if there are lines that are no records."""
    url = persistent_store_url(context)
    with open_input(context.options.file) as file:
        counts = await _import(context, file, url)
    text = f"{counts['added']:,} pages were added; {counts['known']:,} were there already"
    if counts["refused"]:
        text += f"; {plural(counts['refused'], 'line')} could not be read"
    context.console.print_answer({**counts, "store": redact_password(url)}, [text])
    return NO if counts["refused"] else YES


IMPORT = Action(
    "read what export wrote into this store, new or old; pages that it has already stay as they are",
    run_import,
    add_import_options,
)


async def _import(context: Context, file: IO[bytes], url: str) -> dict[str, int]:
    refused = 0

    def refuse(what: str, number: int, problem: str) -> None:  # the others are worth no less for it
        nonlocal refused
        refused += 1
        if refused <= MAX_SHOWN_ERRORS:
            context.console.print_error(f"{what} {number}: {problem}")

    with ExitStack() as files:
        is_table = is_parquet(context.options.file) or (hasattr(file, "peek") and file.peek(4)[:4] == b"PAR1")
        if is_table:
            table = files.enter_context(open_table(file))
            total, share = table.metadata.num_rows, None
            header = read_metadata(metadata_of(table.schema_arrow)) if total else {}
            records = read_records(table, partial(refuse, "row"))
        else:
            head = file.readline()
            total, share = None, read_share(file)
            header = read_header(head) if head else {}
            records = _read_lines(file, partial(refuse, "line"))
        async with open_store(url) as store:
            for name, value in header.items():
                if await store.set_default(name, value) != value:
                    problem = (
                        "its fingerprints were made in another way, or under another secret, than those in the file"
                    )
                    raise StoreError(redact_password(url), problem, "name another store")
            with context.console.progress("pages read", total, share) as show:
                writer = BulkWriter(store)
                for site, record in records:
                    await writer.add(site, record)
                    show(writer.added + writer.known)
                await writer.flush()
    return {"added": writer.added, "known": writer.known, "refused": refused}


def _read_lines(file: IO[bytes], refuse: Callable[[int, str], None]) -> Iterator[tuple[str, Record]]:
    for number, line in enumerate(file, start=2):
        try:
            yield from_line(line)
        except SimdedupError as exc:  # noqa: PERF203 - each line may be wrong by itself
            refuse(number, str(exc))


class BulkWriter:
    """Writes records to an open store, those of sites that the store does not have many at a time.

    A page that the store has already stays as it is.
    """

    def __init__(self, store: FingerprintStore) -> None:
        self.added: int = 0
        """Records that were added; those that wait to be written count as well."""
        self.known: int = 0
        """Records of pages that were there already."""
        self._store = store
        self._sites: set[str] | None = None
        """The sites that the store had before."""
        self._log: SiteLogWriter | None = None
        """Appends one by one to the log of the current site, where that was begun by others, or has versions."""
        self._site: str | None = None
        self._cursor = 0
        self._keys: set[bytes] = set()
        self._parts: list[LogPart] = []
        self._waiting = 0

    async def add(self, site: str, record: Record) -> None:
        """Add a record; the records of a site come together."""
        if site != self._site:
            await self._begin(site)
        if self._log is None and (record.key in self._keys or not record.settled):
            await self.flush()  # a version of a page, beside an older one or in its place
        if self._log is None and (record.key in self._keys or not record.settled):
            self._log = SiteLogWriter(self._store, site, self._cursor)
        if self._log is not None:
            is_new = await self._log.add(record)
            self.added, self.known = self.added + is_new, self.known + (not is_new)
            return
        self._keys.add(record.key)
        if not self._parts or self._parts[-1].site != site:
            self._parts.append(LogPart(site, self._cursor, []))
        self._parts[-1].records.append(record)
        self.added += 1
        self._waiting += 1
        if self._waiting >= RECORDS_PER_LOAD:
            await self.flush()

    async def flush(self) -> None:
        """Write the records that wait."""
        parts, self._parts, self._waiting = self._parts, [], 0
        if not parts:
            return
        for part, counter in zip(parts, await self._store.load(parts), strict=True):
            if counter is None:  # somebody else came first
                log = SiteLogWriter(self._store, part.site, part.expected)
                news = [await log.add(record) for record in part.records]
                self.added, self.known = self.added - news.count(False), self.known + news.count(False)
                self._log = log if part.site == self._site else self._log
            elif part.site == self._site:
                self._cursor = counter

    async def _begin(self, site: str) -> None:
        if self._sites is None:
            self._sites = {name async for name in self._store.sites()}
        if len(self._parts) >= SITES_PER_LOAD:
            await self.flush()
        is_known = site in self._sites
        self._sites.add(site)  # a site that comes a second time goes on where it was left
        if is_known:
            await self.flush()
        self._site, self._cursor, self._keys = site, 0, set()
        self._log = SiteLogWriter(self._store, site) if is_known else None


class SiteLogWriter:
    """Appends the records of pages that a site's log does not have yet, in an open store."""

    def __init__(self, store: FingerprintStore, site: str, cursor: int = 0) -> None:
        self.site = site
        self._store = store
        self._known_keys: set[bytes] = set()
        self._cursor = cursor

    async def add(self, record: Record) -> bool:
        """Append the record; False if the log has its page already."""
        while record.key not in self._known_keys:
            id_ = await self._store.append(self.site, record, self._cursor)
            if id_ is not None:
                self._cursor = id_
                return True
            await self._read()  # the log has grown beyond what was read of it
        return False

    async def _read(self) -> None:
        complete = False
        while not complete:
            tail = await self._store.read(self.site, self._cursor)
            self._cursor, complete = tail.cursor, tail.complete
            self._known_keys.update(record.key for record in tail.records)


def to_line(site: str, record: Record) -> bytes:
    """A site and its record as one line of an export."""
    values = asdict(record)
    for name in LOG_FIELDS:
        del values[name]
    for name in BASE64_FIELDS:
        values[name] = None if values[name] is None else b64encode(values[name]).decode()
    return json.dumps({"site": site, **values}, separators=(",", ":")).encode() + b"\n"


def read_header(line: bytes) -> dict[str, str]:
    """The metadata in the first line of an export, which stores must agree on.

    Raises:
        SimdedupError: the line is not that of an export of this version.
    """
    try:
        return read_metadata(json.loads(line))
    except (ValueError, RecursionError, SimdedupError):
        problem = f"the first line is not that of an export of version {EXPORT_VERSION}: {_start_of(line)}"
        raise SimdedupError(problem) from None


def read_metadata(found: Any) -> dict[str, str]:
    """The metadata of an export, which stores must agree on.

    Raises:
        SimdedupError: it is not that of an export of this version.
    """
    try:
        if found["simdedup"] == EXPORT_VERSION:
            return {name: str(found[name]) for name in SHARED_METADATA}
    except (TypeError, KeyError):
        pass
    raise SimdedupError(f"the table is none of an export of version {EXPORT_VERSION}")


def from_line(line: bytes) -> tuple[str, Record]:
    """The site and the record in a line of an export; the record is in no log yet.

    Raises:
        SimdedupError: the line is none of an export.
    """
    try:
        values: dict[str, Any] = json.loads(line)
        for name in BASE64_FIELDS:
            values[name] = None if values[name] is None else b64decode(values[name], validate=True)
        unfit = next((name for name, value in values.items() if not _fits(value, _HINTS[name])), None)
        if unfit:
            raise SimdedupError(f"{unfit} cannot be {values[unfit]!r:.60} in a record")
        site, record = values.pop("site"), Record(**values)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as exc:
        raise SimdedupError(f"this line is no record: {_start_of(line)}") from exc
    PageFingerprint.from_bytes(record.fingerprint)  # a site that had another in its log could not be judged
    return site, record


def _fits(value: object, hint: Any) -> bool:
    """Whether a value is of the type that a field of a record has, and every store can keep it."""
    types = get_args(hint) or (hint,)
    if get_origin(hint) is Literal:
        return value in types
    if float in types and isinstance(value, int | float):
        return math.isfinite(value)
    if isinstance(value, bytes):
        return len(value) <= MAX_FIELD_BYTES
    return isinstance(value, types) and (not isinstance(value, int) or 0 <= value <= MAX_INT)


def _start_of(line: bytes) -> str:
    return repr(line[:60].decode("utf-8", "replace"))


def add_migrate_options(parser: ArgumentParser) -> None:
    """The file of the other plugin."""
    parser.add_argument(
        "file", metavar="FILE", help="such as .scrapy/deltafetch/news.db or .scrapy/crawl_once/news.sqlite"
    )


async def run_migrate(context: Context) -> int:
    """Copy the pages, and print how many are new."""
    url = persistent_store_url(context)
    source, times = _read_plugin_file(context.options.file)
    added, known = await _write_pages(context, url, source, times)
    text = f"{added:,} pages of {source} were added; {known:,} were there already"
    data = {"added": added, "known": known, "source": source, "store": redact_password(url)}
    context.console.print_answer(data, [text])
    return YES


MIGRATE = Action(
    "take over the pages that deltafetch or crawl_once knew: they are unchanged when they come by next",
    run_migrate,
    add_migrate_options,
)


def _read_plugin_file(name: str) -> tuple[str, dict[bytes, float]]:
    """The plugin that wrote a file, and when it delivered each page, by the fingerprint of the page's request."""
    path = Path(name)
    if path.is_file():
        with path.open("rb") as file:
            if file.read(15) == b"SQLite format 3":
                return _read_sqlite(path)
    if path.suffix in DBM_SUFFIXES and dbm.whichdb(str(path.with_suffix(""))):
        name = str(path.with_suffix(""))
    form = dbm.whichdb(name)
    if form is None:
        raise SimdedupError(f"{name}: there is no such file, or it cannot be read")
    if not form:
        raise SimdedupError(
            f"{name} is no database of scrapy-deltafetch 2 or scrapy-crawl-once; one of scrapy-deltafetch 1 is to be "
            "copied first, see the guide to migration"
        )
    try:
        with dbm.open(name, "r") as found:
            return "scrapy-deltafetch", {_key_bytes(key): _seconds(found[key]) for key in found.keys()}  # noqa: SIM118
    except (ImportError, *dbm.error) as exc:
        raise SimdedupError(f"{name} is a {form} file that this Python cannot read: {exc}") from exc


def _read_sqlite(path: Path) -> tuple[str, dict[bytes, float]]:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file:
            tables = {name for (name,) in file.execute("SELECT name FROM sqlite_master")}
            table = next((name for name in TABLE_SOURCES if name in tables), None)
            if table is None:
                raise SimdedupError(f"{path} is a SQLite file of another program")
            # The values of crawl-once are pickled, and a pickle of somebody else's is not to be trusted.
            time_of = "NULL" if table == "requests" else "value"
            rows = list(file.execute(f'SELECT key, {time_of} FROM "{table}"'))  # noqa: S608 - names of ours
    except sqlite3.Error as exc:
        raise SimdedupError(f"{path} cannot be read: {exc}") from exc
    return TABLE_SOURCES[table], {_key_bytes(key): _seconds(value) for key, value in rows}


def _key_bytes(key: bytes | str) -> bytes:
    return key if isinstance(key, bytes) else key.encode()


def _seconds(value: bytes | str | None) -> float:
    """The time that scrapy-deltafetch wrote, or now."""
    try:
        return float(value or "")
    except ValueError:
        return time.time()


async def _write_pages(context: Context, url: str, source: str, times: dict[bytes, float]) -> tuple[int, int]:
    added = 0
    async with open_detector(context, url) as detector:
        nothing = replace(fingerprint("", context.settings, detector.secret), unjudged=IMPORTED)
        log = SiteLogWriter(detector.store, IMPORTED_LOG)
        with context.console.progress("pages read") as show:
            for key, seconds in times.items():
                record = imported_record(f"{source}:{key.hex()}", key, bytes(nothing), "unjudged", seconds)
                added += await log.add(record)
                show(added)
    return added, len(times) - added
