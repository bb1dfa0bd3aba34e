"""``export``, ``import``, ``migrate``: a store as JSON lines or a table, and what other plugins knew as part of one."""

from __future__ import annotations

import dbm
import sqlite3
import time
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import IO, Any

from scrapy_simdedup.batch import records
from scrapy_simdedup.batch.files import open_input, open_output
from scrapy_simdedup.batch.tables import metadata_of, open_table
from scrapy_simdedup.commands.console import NO, YES, Action, Context, option, read_share
from scrapy_simdedup.crawl.requests import IMPORTED_LOG
from scrapy_simdedup.detect.detector import NearDuplicateDetector
from scrapy_simdedup.detect.revisit import imported_record
from scrapy_simdedup.detect.site_judge import SITE_JOURNALS, SiteNote
from scrapy_simdedup.display import plural, redact_password
from scrapy_simdedup.errors import SimdedupError, StoreError
from scrapy_simdedup.fingerprint.make import fingerprint
from scrapy_simdedup.store.base import IMPORTED, FingerprintStore, LogPart, Record

MAX_SHOWN_ERRORS = 10
"""Lines that cannot be read and are shown; all are counted."""
TABLE_SOURCES = {"requests": "scrapy-crawl-once", "Dict": "scrapy-deltafetch"}
"""Tables of SQLite files by what writes them: sqlitedict, and dbm from Python 3.13 on."""
DBM_SUFFIXES = (".dat", ".dir", ".bak", ".pag")
"""What some forms of dbm append to the name of a database, which is several files."""


async def run_export(context: Context) -> int:
    """Export the store, and print where it went, unless it went to stdout."""
    output = context.options.output
    is_table = (context.options.format or ("parquet" if is_parquet(output or "") else "jsonl")) == "parquet"
    with open_output(output, compress=not is_table) as file:
        pages = await _export(context, file, records.TableOfRecords if is_table else records.LinesOfRecords)
    if output:
        context.console.print_answer({"pages": pages, "file": output}, [f"{pages:,} pages are in {output}"])
    return YES


EXPORT = Action(
    "write a store as JSON lines or Parquet, with the secret under its hashes: keep the file to yourself",
    run_export,
    (
        option("-o", "--output", metavar="FILE", help="default: stdout; compressed if it ends with .gz"),
        option("--format", choices=("jsonl", "parquet"), help="default: by the name of the file; else jsonl"),
        option("--thin", action="store_true", help="leave out all but 16 repeats of each page"),
    ),
)


def is_parquet(name: str) -> bool:
    """Whether the name of a file is that of a Parquet table."""
    return name.lower().endswith(".parquet")


async def _export(
    context: Context, file: IO[bytes], form: type[records.LinesOfRecords | records.TableOfRecords]
) -> int:
    written, site = 0, ""
    unsettled: list[Record] = []
    thinning = records.Thinning() if context.options.thin else None

    async def end_site() -> None:
        for record in sorted(unsettled, key=lambda record: record.id):
            out.add(site, record)
        unsettled.clear()
        for journal in journals:
            value = await store.get_note(journal, site.encode())
            if value is not None:
                out.add(site, SiteNote(journal, value))

    async with context.open_store() as store:
        journals = [name async for name in store.journals() if name in SITE_JOURNALS]
        metadata: dict[str, Any] | None = None
        if await anext(store.sites(), None) is not None:  # only a store with pages is sure to have them
            shared = {name: await store.set_default(name, "") for name in records.SHARED_METADATA}
            metadata = {"simdedup": records.EXPORT_VERSION, **shared}
        out = form(file, metadata)
        async for home, record in context.records(store, None, "pages written"):
            if home != site:
                if written:
                    await end_site()
                site = home
            if thinning is not None and not thinning.keeps(home, record):
                continue
            if record.settled:
                out.add(site, record)
            else:  # a settled version takes the place of those before it, so these must come after it
                unsettled.append(record)
            written += 1
        if written:
            await end_site()
        out.close()
    return written


async def run_import(context: Context) -> int:
    """Import the file, and print how many of its pages are new; NO if there are lines that are no records."""
    url = context.persistent_store_url
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
    (option("file", metavar="FILE", help="what export wrote, lines or a table; - for what is piped in"),),
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
            header = records.shared_metadata(metadata_of(table.schema_arrow)) if total else {}
            known_records = records.read_records(table, partial(refuse, "row"))
        else:
            head = file.readline()
            total, share = None, read_share(file)
            header = records.read_header(head) if head else {}
            known_records = records.read_lines(file, partial(refuse, "line"))
        async with context.open_store(url) as store:
            for name, value in header.items():
                if await store.set_default(name, value) != value:
                    problem = (
                        "its fingerprints were made in another way, or under another secret, than those in the file"
                    )
                    raise StoreError(redact_password(url), problem, "name another store")
            with context.console.progress("pages read", total, share) as show:
                writer = BulkWriter(store)
                for site, known in known_records:
                    if isinstance(known, SiteNote):
                        await store.put_note(known.journal, site.encode(), known.value, once=True)
                        continue
                    await writer.add(site, known)
                    show(writer.added + writer.known)
                await writer.flush()
    return {"added": writer.added, "known": writer.known, "refused": refused}


async def run_migrate(context: Context) -> int:
    """Copy the pages, and print how many are new."""
    url = context.persistent_store_url
    source, times = _read_plugin_file(context.options.file)
    async with NearDuplicateDetector(url, settings=context.settings) as detector:
        nothing = bytes(fingerprint("", context.settings, detector.secret)._replace(unjudged=IMPORTED))
        writer = BulkWriter(detector.store)
        with context.console.progress("pages read", len(times)) as show:
            for done, (key, seconds) in enumerate(times.items(), 1):
                record = imported_record(f"{source}:{key.hex()}", key, nothing, "unjudged", seconds)
                await writer.add(IMPORTED_LOG, record)
                show(done)
        await writer.flush()
    text = f"{writer.added:,} pages of {source} were added; {writer.known:,} were there already"
    data = {"added": writer.added, "known": writer.known, "source": source, "store": redact_password(url)}
    context.console.print_answer(data, [text])
    return YES


MIGRATE = Action(
    "take over the pages that deltafetch or crawl_once knew: they are unchanged when they come by next",
    run_migrate,
    (option("file", metavar="FILE", help="such as .scrapy/deltafetch/news.db or .scrapy/crawl_once/news.sqlite"),),
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


RECORDS_PER_LOAD, SITES_PER_LOAD = 2_000, 500
"""Records and sites that are written at a time: while one call of a busy server lasts, which has to end within seconds,
no other process can write to these sites."""


class SiteLogWriter:
    """Appends the records of pages that a site's log does not have yet, in an open store."""

    def __init__(self, store: FingerprintStore, site: str, cursor: int = 0) -> None:
        self.site, self.cursor = site, cursor
        self.known_keys: set[bytes] = set()
        """The keys of the pages in the log that others wrote, as far as it was read."""
        self._store = store

    async def add(self, record: Record) -> bool:
        """Append the record; False if the log has its page already."""
        while record.key not in self.known_keys:
            id_ = await self._store.append(self.site, record, self.cursor)
            if id_ is not None:
                self.cursor = id_
                return True
            await self.read()  # the log has grown beyond what was read of it
        return False

    async def read(self) -> None:
        """Read the log from the cursor to its end."""
        complete = False
        while not complete:
            tail = await self._store.read(self.site, self.cursor)
            self.cursor, complete = tail.cursor, tail.complete
            self.known_keys.update(record.key for record in tail.records)


class BulkWriter:
    """Writes records of pages that an open store does not have, many at a time."""

    def __init__(self, store: FingerprintStore) -> None:
        self.added: int = 0
        """Added records, those that wait to be written among them."""
        self.known: int = 0
        """Records of pages that the store had already."""
        self._store = store
        self._sites: set[str] | None = None
        """The sites that the store has, once it was asked."""
        self._log = SiteLogWriter(store, "")
        self._keys: set[bytes] = set()
        """The keys of the pages of the current site that came so far."""
        self._parts: list[LogPart] = []
        self._waiting = 0

    async def add(self, site: str, record: Record) -> None:
        """Add a record; the records of a site come together."""
        if site != self._log.site:
            await self._begin(site)
        if record.key in self._log.known_keys:
            self.known += 1
            return
        self.added += 1
        if record.key in self._keys or not record.settled:
            await self.flush()  # a version of a page, beside an older one or in its place
            self._count(is_new=await self._log.add(record))
            return
        self._keys.add(record.key)
        if not self._parts or self._parts[-1].site != site:
            self._parts.append(LogPart(site, self._log.cursor, []))
        self._parts[-1].records.append(record)
        self._waiting += 1
        if self._waiting >= RECORDS_PER_LOAD:
            await self.flush()

    async def flush(self) -> None:
        """Write the records that wait."""
        parts, self._parts, self._waiting = self._parts, [], 0
        for part, counter in zip(parts, await self._store.load(parts) if parts else (), strict=True):
            log = self._log if part.site == self._log.site else SiteLogWriter(self._store, part.site, part.expected)
            if counter is not None:
                log.cursor = counter
                continue
            for record in part.records:  # somebody else came first
                self._count(is_new=await log.add(record))

    def _count(self, *, is_new: bool) -> None:
        """Correct the counts once it is known whether a record, counted as added, was there already."""
        self.added, self.known = self.added - (not is_new), self.known + (not is_new)

    async def _begin(self, site: str) -> None:
        if self._sites is None:
            self._sites = {name async for name in self._store.sites()}
        if len(self._parts) >= SITES_PER_LOAD:
            await self.flush()
        self._log, self._keys = SiteLogWriter(self._store, site), set()
        if site in self._sites:  # it may come a second time
            await self.flush()
            await self._log.read()
        self._sites.add(site)
