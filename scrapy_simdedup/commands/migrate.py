"""``migrate FILE``: what scrapy-deltafetch or scrapy-crawl-once knew, into this store."""

from __future__ import annotations

import asyncio
import dbm
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simdedup.commands.call import YES
from scrapy_simdedup.commands.load import Log
from scrapy_simdedup.commands.stores import named_url, opened_detector
from scrapy_simdedup.crawl.imported import LOG
from scrapy_simdedup.detect.past import imported_record
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.fingerprint.making import fingerprint
from scrapy_simdedup.store.base import IMPORTED
from scrapy_simdedup.store_urls import without_password

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from scrapy_simdedup.commands.call import Call

SUMMARY = "take over the pages that deltafetch or crawl_once knew: they are unchanged when they come by next"

TABLES = {"requests": "scrapy-crawl-once", "Dict": "scrapy-deltafetch"}
"""Tables of SQLite files by what writes them: sqlitedict, and dbm from Python 3.13 on."""
PARTS = (".dat", ".dir", ".bak", ".pag")
"""What some forms of dbm put behind the name of the database, which are several files."""


def add_options(parser: ArgumentParser) -> None:
    """Where from."""
    parser.add_argument(
        "file", metavar="FILE", help="such as .scrapy/deltafetch/news.db or .scrapy/crawl_once/news.sqlite"
    )


def run(call: Call) -> int:
    """Read it."""
    url = named_url(call)
    source, times = _read(call.options.file)
    added, known = asyncio.run(_write(call, url, source, times))
    text = f"{added:,} pages of {source} were added; {known:,} were there already"
    call.console.answer({"added": added, "known": known, "source": source, "store": without_password(url)}, text)
    return YES


def _read(name: str) -> tuple[str, dict[bytes, float]]:
    """The plugin that wrote a file, and when it delivered each page, by the name it gave the page's request."""
    path = Path(name)
    if path.is_file():
        with path.open("rb") as file:
            if file.read(15) == b"SQLite format 3":
                return _read_sqlite(path)
    if path.suffix in PARTS and dbm.whichdb(str(path.with_suffix(""))):
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
            return "scrapy-deltafetch", {_bytes(key): _seconds(found[key]) for key in found.keys()}  # noqa: SIM118
    except (ImportError, *dbm.error) as exc:
        raise SimdedupError(f"{name} is a {form} file that this Python cannot read: {exc}") from exc


def _read_sqlite(path: Path) -> tuple[str, dict[bytes, float]]:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file:
            tables = {name for (name,) in file.execute("SELECT name FROM sqlite_master")}
            table = next((name for name in TABLES if name in tables), None)
            if table is None:
                raise SimdedupError(f"{path} is a SQLite file of another program")
            # The values of crawl-once are pickled, and a pickle of somebody else's is not to be trusted.
            time_of = "NULL" if table == "requests" else "value"
            rows = list(file.execute(f'SELECT key, {time_of} FROM "{table}"'))  # noqa: S608 - names of ours
    except sqlite3.Error as exc:
        raise SimdedupError(f"{path} cannot be read: {exc}") from exc
    return TABLES[table], {_bytes(key): _seconds(value) for key, value in rows}


def _bytes(key: bytes | str) -> bytes:
    return key if isinstance(key, bytes) else key.encode()


def _seconds(value: bytes | str | None) -> float:
    """The time that deltafetch wrote, or now."""
    try:
        return float(value or "")
    except ValueError:
        return time.time()


async def _write(call: Call, url: str, source: str, times: dict[bytes, float]) -> tuple[int, int]:
    added = 0
    async with opened_detector(call, url) as detector:
        nothing = replace(fingerprint("", call.settings, detector.secret), unjudged=IMPORTED)
        log = await Log.of(detector.store, LOG)
        with call.console.progress("pages read") as show:
            for key, seconds in times.items():
                added += await log.add(
                    imported_record(f"{source}:{key.hex()}", key, bytes(nothing), "unjudged", seconds)
                )
                show(added)
    return added, len(times) - added
