"""How time, memory and stores grow with a site, and with the number of sites.

    python benchmarks/scale.py
    python benchmarks/scale.py --pages 1000 1000000 10000000 --sites 1000000 --json build/bench/scale.json

Each row is a process of its own: a site is filled with fingerprints of one template, then pages that are new to it are
fingerprinted, judged, stored and confirmed. Time is CPU time of the process; memory is what it has more than before.
"""

from __future__ import annotations

import asyncio
import gc
import json
import math
import statistics
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

from crowd import crowd, fill
from measure import apart, arguments, finish, memory
from pages import Site
from scrapy_simdedup.detect.detector import NearDuplicateDetector

SITE = "template.example"
QUERIES = 200
PAGES_PER_SITE = 3


async def one_site(store: str, count: int) -> dict[str, float]:
    """A site of ``count`` pages, and pages that are new to it."""
    template = Site(SITE)
    detector = NearDuplicateDetector(store)
    await detector.open()
    html = [template.page(number).html for number in range(50)]
    reading = time.thread_time()
    prints = [await detector.fingerprint(page, url=f"https://{SITE}/{number}") for number, page in enumerate(html)]
    reading = (time.thread_time() - reading) / len(prints)
    sum(1 for _ in crowd(prints[0], 5_000, seed=3))  # what making fingerprints needs is no part of the figures
    before, start = memory(), time.thread_time()
    await fill(detector.store, SITE, detector.run, crowd(prints[0], count))
    filling = time.thread_time() - start
    judging = []
    for number, fp in enumerate(crowd(prints[0], QUERIES, seed=2), count):
        start = time.thread_time()
        verdict = await detector.judge_page(detector.page_of(fp, url=f"https://{SITE}/articles/{number}"))
        await detector.confirm(verdict.page)
        judging.append(time.thread_time() - start)
    gc.collect()
    figures = {
        "fill_us": 1e6 * filling / count,
        "first_s": judging[0],
        "judge_ms": 1000 * statistics.median(judging[1:]),
        "judge_p95_ms": 1000 * sorted(judging[1:])[int(0.95 * len(judging))],
        "page_ms": 1000 * (reading + statistics.mean(judging[1:])),
        "memory_bytes": (memory() - before) / count,
    }
    await detector.close()
    return figures


async def many_sites(store: str, count: int) -> dict[str, float]:
    """``count`` sites of three pages each, through the detector."""
    detector = NearDuplicateDetector(store)
    await detector.open()
    page = Site(SITE).page(0)
    one = await detector.fingerprint(page.html, url=page.url)
    prints = crowd(one, count * PAGES_PER_SITE)
    before, start = memory(), time.thread_time()
    judging = []
    for number in range(count):
        for page_number, fp in enumerate(islice(prints, PAGES_PER_SITE)):
            began = time.thread_time()
            verdict = await detector.judge_page(
                detector.page_of(fp, url=f"https://site{number}.example/articles/{page_number}")
            )
            await detector.confirm(verdict.page)
            judging.append(time.thread_time() - began)
    seconds = time.thread_time() - start
    gc.collect()
    figures = {
        "fill_us": 1e6 * seconds / len(judging),
        "judge_ms": 1000 * statistics.median(judging[-1000:]),
        "memory_bytes": (memory() - before) / count,
    }
    await detector.close()
    return figures


KINDS = {"pages": one_site, "sites": many_sites}


def run(kind: str, store: str, count: int) -> dict[str, float]:
    """One row, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="simdedup-bench-") as tmp:
        url = f"sqlite:///{Path(tmp).as_posix()}/pages.sqlite" if store == "sqlite" else "memory:"
        figures: dict[str, float] = apart(__file__, [kind, url, count])
        files = sum(file.stat().st_size for file in Path(tmp).iterdir())
    return {"count": count, "file_bytes": files / count, **figures}


def growth(rows: list[dict[str, float]], figure: str) -> float | None:
    """The exponent x of the best fit of the figure to count ** x: 0 is constant, 1 linear."""
    points = [(math.log(row["count"]), math.log(row[figure])) for row in rows]
    if len(points) < 2:
        return None
    return statistics.linear_regression(*zip(*points, strict=True)).slope


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--pages", type=int, nargs="*", default=[1_000, 10_000, 100_000, 1_000_000], help="of one site")
    parser.add_argument(
        "--sites", type=int, nargs="*", default=[1_000, 100_000], help=f"of {PAGES_PER_SITE} pages each"
    )
    parser.add_argument("--stores", nargs="+", default=["memory", "sqlite"], choices=["memory", "sqlite"])
    options = parser.parse_args()
    table = [["", "store", "ms/page", "x", "judging ms", "p95", "filling us", "first s", "bytes", "file"]]
    figures: dict[str, Any] = {}
    for kind in KINDS:
        for store in options.stores:
            rows = []
            for count in getattr(options, kind):
                row = run(kind, store, count)
                rows.append(row)
                print(f"{count:,} {kind}, {store}: {row}", file=sys.stderr)
                table.append(described(store, row, rows[0]))
            figures[f"{kind}, {store}"] = {
                "rows": rows,
                "growth": {name: growth(rows, name) for name in ("judge_ms", "memory_bytes") if rows},
            }
    finish(figures, table, options.json)
    return 0


def described(store: str, row: dict[str, float], first: dict[str, float]) -> list[str]:
    whole = "page_ms" in row
    return [
        f"{row['count']:,} {'pages in one site' if whole else f'sites of {PAGES_PER_SITE} pages'}",
        store,
        f"{row['page_ms']:.2f}" if whole else "",
        f"{row['page_ms'] / first['page_ms']:.2f}" if whole else "",
        f"{row['judge_ms']:.3f}",
        f"{row['judge_p95_ms']:.3f}" if whole else "",
        f"{row['fill_us']:.0f}",
        f"{row['first_s']:.2f}" if whole else "",
        f"{row['memory_bytes']:,.0f}",
        f"{row['file_bytes']:,.0f}" if store == "sqlite" else "",
    ]


if __name__ == "__main__":
    if sys.argv[1:2] == ["_run"]:
        what, where, how_many = json.loads(sys.argv[2])
        print(json.dumps(asyncio.run(KINDS[what](where, how_many))))
    else:
        sys.exit(main())
