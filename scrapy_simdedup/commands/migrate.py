"""``migrate``: what other plugins knew becomes part of a store."""

from __future__ import annotations

import dbm
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simdedup.commands.console import YES, Action, Context
from scrapy_simdedup.commands.stores import persistent_store_url
from scrapy_simdedup.crawl.other_plugins import IMPORTED_LOG
from scrapy_simdedup.detect.detector import NearDuplicateDetector
from scrapy_simdedup.detect.revisit import imported_record
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.fingerprint.make import fingerprint
from scrapy_simdedup.setting_checks import redact_password
from scrapy_simdedup.store.base import IMPORTED
from scrapy_simdedup.store.bulk_writer import SiteLogWriter

if TYPE_CHECKING:
    from argparse import ArgumentParser

TABLE_SOURCES = {"requests": "scrapy-crawl-once", "Dict": "scrapy-deltafetch"}
"""Tables of SQLite files by what writes them: sqlitedict, and dbm from Python 3.13 on."""
DBM_SUFFIXES = (".dat", ".dir", ".bak", ".pag")
"""What some forms of dbm append to the name of a database, which is several files."""


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
    async with NearDuplicateDetector(url, settings=context.settings) as detector:
        nothing = replace(fingerprint("", context.settings, detector.secret), unjudged=IMPORTED)
        log = SiteLogWriter(detector.store, IMPORTED_LOG)
        with context.console.progress("pages read") as show:
            for key, seconds in times.items():
                record = imported_record(f"{source}:{key.hex()}", key, bytes(nothing), "unjudged", seconds)
                added += await log.add(record)
                show(added)
    return added, len(times) - added
