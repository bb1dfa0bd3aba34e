"""Check-and-append per second and bytes per page of all four stores, at 1,000, 100,000 and 1,000,000 pages per site.

    python benchmarks/stores.py [--pages 1000 100000] [--json FILE]

Servers are started on loopback with their defaults, on a disk, and stopped again. What is measured is one call after
the other: what a page costs is a ``read`` of what is new and an ``append``; a delivery costs a ``settle``. In between,
servers are filled by calls side by side, which expect nothing of what is there. SQLite's bytes include its log of some
megabytes. A quarter of an hour, most of it to fill the servers to a million.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowd import first_visit
from measure import arguments, finish, memory
from scrapy_simdedup.store import store_by_url
from scrapy_simdedup.store.memory import MemoryStore
from scrapy_simdedup.store.remote import CALLS
from scrapy_simdedup.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simdedup.store.base import FingerprintStore, Record

SITE = "shop.example"
FINGERPRINT_BYTES = 760
"""Of a real page with its text units, in the mean."""
AHEAD = 2**53
"""A counter that no server's ever reaches: they count microseconds."""
MEASURED = 2000
"""Pages of each measurement. What is said is how many a second has of those that take the median time, which other work
on the machine shifts least."""


def records(seed: int) -> Callable[[int], Record]:
    rng = random.Random(seed)

    def make(number: int) -> Record:
        return first_visit(
            f"https://{SITE}/a/path/of/usual/length/article-{number}.html",
            rng.randbytes(20),
            rng.randbytes(FINGERPRINT_BYTES),
            number,
            run="20260101T000000Z-abcdef",
            worker="crawler-1.example:12345:0123abcd",
            state="reserved",
        )

    return make


async def fill(store: FingerprintStore, make: Callable[[int], Record], first: int, pages: int, cursor: int) -> int:
    together = 1 if isinstance(store, MemoryStore | SqliteStore) else CALLS
    for at in range(first, pages, together):
        expected = cursor if together == 1 else AHEAD
        numbers = range(at, min(at + together, pages))
        made = await asyncio.gather(*(store.append(SITE, make(number), expected) for number in numbers))
        assert None not in made
        cursor = max(cursor, *made)
    return cursor


async def read_on(store: FingerprintStore, cursor: int) -> int:
    complete = False
    while not complete:
        tail = await store.read(SITE, cursor)
        cursor, complete = tail.cursor, tail.complete
    return cursor


async def measure(url: str, sizes: list[int], stored: Callable[[], int]) -> list[dict[str, Any]]:
    store = store_by_url(url)
    await store.open()
    empty, make, pages, cursor, figures = stored(), records(1), 0, 0, []
    for size in sizes:
        cursor = await fill(store, make, pages, size, cursor)
        pages = size
        found: dict[str, Any] = {"pages": size, "bytes_per_page": (stored() - empty) / size}
        seconds: dict[str, list[float]] = {"check_and_append": [], "settle": []}
        ids = []
        for number in range(pages, pages + MEASURED):
            start = time.perf_counter()
            cursor = (await store.read(SITE, cursor)).cursor
            made = await store.append(SITE, make(number), cursor)
            seconds["check_and_append"].append(time.perf_counter() - start)
            assert made is not None
            ids.append(cursor := made)
        for id_ in ids:
            start = time.perf_counter()
            await store.settle(SITE, id_, "confirmed", 1.8e9)
            seconds["settle"].append(time.perf_counter() - start)
        cursor, pages = await read_on(store, cursor), pages + MEASURED
        for name, each in seconds.items():
            found[f"{name}_per_second"] = 1 / statistics.median(each)
        start = time.perf_counter()
        await read_on(store, 0)
        found["load_seconds"] = time.perf_counter() - start
        figures.append(found)
        print(url.partition(":")[0], found, file=sys.stderr, flush=True)
    await store.close()
    return figures


def stores(stack: ExitStack) -> dict[str, tuple[str, Callable[[], int]]]:
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    from helpers.servers import PostgresqlServer, RedisServer

    directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    redis, postgresql = stack.enter_context(RedisServer()), stack.enter_context(PostgresqlServer())

    def files() -> int:
        return sum(path.stat().st_size for path in directory.iterdir())

    def tables() -> int:
        sizes = "SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree('simdedup_page')"
        return int(postgresql.ask(sizes)[0][0])

    return {
        "memory": ("memory:", memory),
        "SQLite": (f"sqlite:///{directory}/pages.sqlite", files),
        "Redis": (redis.url, lambda: int(redis.ask("INFO", "memory")["used_memory"])),
        "PostgreSQL": (postgresql.url, tables),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--pages", type=int, nargs="+", default=[1_000, 100_000, 1_000_000])
    options = parser.parse_args()
    figures = {}
    with ExitStack() as stack:
        for name, (url, stored) in stores(stack).items():
            figures[name] = asyncio.run(measure(url, options.pages, stored))
    rows = [["store", "pages", "check and append / s", "settle / s", "bytes per page", "load, s"]]
    for name, found in figures.items():
        rows += [
            [
                name,
                f"{each['pages']:,}",
                f"{each['check_and_append_per_second']:,.0f}",
                f"{each['settle_per_second']:,.0f}",
                f"{each['bytes_per_page']:,.0f}",
                f"{each['load_seconds']:.2f}",
            ]
            for each in found
        ]
    finish({"stores": figures}, rows, options.json)


if __name__ == "__main__":
    main()
