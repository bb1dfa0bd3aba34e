"""``export``, ``import`` and ``migrate``: a store as JSON lines, which any other can read; what other plugins knew."""

from __future__ import annotations

import dbm
import json
import math
import sqlite3
import time
from base64 import b64decode, b64encode
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from scrapy_simdedup.commands.console import NO, YES, Action, Context, read_share
from scrapy_simdedup.commands.stores import (
    existing_store_url,
    open_detector,
    open_input,
    open_output,
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
from scrapy_simdedup.store.base import IMPORTED, FingerprintStore, Record

if TYPE_CHECKING:
    from argparse import ArgumentParser

EXPORT_VERSION = 1
"""Version of the format of the lines."""
SHARED_METADATA = ("fingerprint", "secret")
"""Metadata that stores must agree on to share records; the first line of an export has it."""
BASE64_FIELDS = ("key", "fingerprint", "original")
LOG_FIELDS = ("id", "position")
"""Fields that a record gets from the log it is appended to; they are not exported."""
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


async def run_export(context: Context) -> int:
    """Export the store, and print where it went, unless it went to stdout."""
    output = context.options.output
    with open_output(output) as file:
        pages = await _export(context, file)
    if output:
        context.console.print_answer({"pages": pages, "file": output}, [f"{pages:,} pages are in {output}"])
    return YES


EXPORT = Action(
    "write a store as JSON lines, with the secret under its hashes: keep the file to yourself",
    run_export,
    add_export_options,
)


async def _export(context: Context, file: IO[bytes]) -> int:
    written, site = 0, ""
    unsettled: list[Record] = []

    def write_unsettled() -> None:
        file.writelines(to_line(site, record) for record in sorted(unsettled, key=lambda record: record.id))
        unsettled.clear()

    async with open_store(existing_store_url(context)) as store:
        async for home, record in records_with_progress(context, store, None, "pages written"):
            if not written:  # only a store with pages is sure to have them
                metadata = {name: await store.set_default(name, "") for name in SHARED_METADATA}
                file.write(json.dumps({"simdedup": EXPORT_VERSION, **metadata}).encode() + b"\n")
            if home != site:
                write_unsettled()
                site = home
            if record.settled:
                file.write(to_line(site, record))
            else:  # a settled version takes the place of those before it, so these must come after it
                unsettled.append(record)
            written += 1
        write_unsettled()
    return written


def add_import_options(parser: ArgumentParser) -> None:
    """The file that is read."""
    parser.add_argument("file", metavar="FILE", help="what export wrote, or - for what is piped in")


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
    counts = {"added": 0, "known": 0, "refused": 0}
    head = file.readline()
    if not head:
        return counts
    async with open_store(url) as store:
        for name, value in read_header(head).items():
            if await store.set_default(name, value) != value:
                problem = "its fingerprints were made in another way, or under another secret, than those in the file"
                raise StoreError(redact_password(url), problem, "name another store")
        log: SiteLogWriter | None = None
        with context.console.progress("pages read", share=read_share(file)) as show:
            for number, line in enumerate(file, start=2):
                try:
                    site, record = from_line(line)
                except SimdedupError as exc:  # the others are worth no less for it
                    counts["refused"] += 1
                    if counts["refused"] <= MAX_SHOWN_ERRORS:
                        context.console.print_error(f"line {number}: {exc}")
                    continue
                if log is None or log.site != site:
                    log = SiteLogWriter(store, site)
                counts["added" if await log.add(record) else "known"] += 1
                show(counts["added"] + counts["known"])
    return counts


class SiteLogWriter:
    """Appends the records of pages that a site's log does not have yet, in an open store."""

    def __init__(self, store: FingerprintStore, site: str) -> None:
        self.site = site
        self._store = store
        self._known_keys: set[bytes] = set()
        self._cursor = 0

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
        head = json.loads(line)
        if head["simdedup"] == EXPORT_VERSION:
            return {name: str(head[name]) for name in SHARED_METADATA}
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise SimdedupError(f"the first line is not that of an export of version {EXPORT_VERSION}: {_start_of(line)}")


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
