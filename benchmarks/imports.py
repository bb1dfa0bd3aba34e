"""How long it takes to import records into each store: as a table in bulk, and line by line as any other program may.

    python benchmarks/imports.py [--records 1000000] [--lines 20000] [--stores sqlite redis postgresql] [--json FILE]

The records are those of a history of 5,000 sites, the largest with seven of a hundred pages. "Line by line" is what
`import` does with pages of sites that the store has already: a call for each. Servers are started on loopback with
their defaults, and stopped again.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import measure
from archive_size import SECRET, SETTINGS, TEMPLATES, site_fingerprints, site_sizes
from crowd import first_visit
from pages import generated
from scrapy_simdedup.batch.records import read_records, record_row, records_schema
from scrapy_simdedup.batch.tables import TableWriter, open_table
from scrapy_simdedup.commands.transfer import BulkWriter, SiteLogWriter
from scrapy_simdedup.fingerprint.make import fingerprint
from scrapy_simdedup.store import store_by_url
from scrapy_simdedup.store.base import Record

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from helpers.servers import PostgresqlServer, RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator

SITES = 5_000


def records(count: int) -> Iterator[tuple[str, Record]]:
    templates = [fingerprint(page.html, SETTINGS, SECRET.encode()) for page in generated(TEMPLATES)]
    for number, size in enumerate(site_sizes(count, min(SITES, count // 10))):
        for first, rows in site_fingerprints(templates[number % TEMPLATES], size, number):
            for place, row in enumerate(rows, first):
                yield f"site-{number}.example", _record(f"https://site-{number}.example/article-{place}", row.tobytes())


def _record(url: str, raw: bytes) -> Record:
    key = url.encode()[-20:].rjust(20, b"\0")
    return first_visit(url, key, raw, 0, run="march", worker="batch", state="confirmed")


async def import_table(url: str, path: Path, most: int, *, by_lines: bool) -> float:
    """Seconds that it takes to import so many records of a table."""
    store, start, count = store_by_url(url), time.monotonic(), 0
    await store.open()
    bulk, site, log = BulkWriter(store), "", None
    with path.open("rb") as file, open_table(file) as table:
        for home, known in read_records(table, lambda *_: None):
            assert isinstance(known, Record)
            if not by_lines:
                await bulk.add(home, known)
            else:
                log = log if log is not None and home == site else SiteLogWriter(store, home)
                site = home
                await log.add(known)
            count += 1
            if count == most:
                break
        await bulk.flush()
    seconds = time.monotonic() - start
    assert await store.count() == count
    await store.close()
    return seconds


def main() -> int:
    parser = measure.arguments(__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--stores", nargs="+", default=["sqlite", "redis", "postgresql"])
    options = parser.parse_args()
    rows, figures = [["store", "records", "seconds", "µs a record", "by lines, µs", "times"]], dict[str, Any]()
    with tempfile.TemporaryDirectory() as name, ExitStack() as servers:
        path = Path(name) / "records.parquet"
        writer = TableWriter(str(path), records_schema())
        for site, record in records(options.records):
            writer.add_row(record_row(site, record))
        writer.close()
        for store in options.stores:
            urls = [f"sqlite:///{name}/{form}.sqlite" for form in ("bulk", "lines")]
            if store != "sqlite":
                urls = [
                    servers.enter_context((RedisServer if store == "redis" else PostgresqlServer)()).url for _ in urls
                ]
            lines = asyncio.run(import_table(urls[1], path, options.lines, by_lines=True)) / options.lines
            bulk = asyncio.run(import_table(urls[0], path, options.records, by_lines=False))
            each = bulk / options.records
            figures[store] = {"records": options.records, "seconds": bulk, "lines": lines}
            said = f"{options.records:,}", f"{bulk:,.0f}", f"{1e6 * each:,.0f}", f"{1e6 * lines:,.0f}"
            rows.append([store, *said, f"{lines / each:.1f}"])
            print(rows[-1], flush=True)
    measure.finish(figures, rows, options.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
