"""What learning about URLs costs on a large site: memory per URL, time of a query and of an update, the worst step.

    python benchmarks/urls.py
    python benchmarks/urls.py --urls 100000 4000000 --json build/bench/urls.json

Each row is a process of its own that crawls one site whose pages are linked under several URLs each, asks about every
URL, and tells of every page that is fetched. Time is CPU time of the process; memory is what it has more than before,
with all that is remembered: fetched and skipped URLs, evidence, rules.
"""

from __future__ import annotations

import gc
import json
import random
import sys
import time
from itertools import islice
from typing import TYPE_CHECKING

from measure import apart, arguments, finish, memory
from scrapy_simdedup.urls import UrlLearner

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS = {"two thirds of which can be skipped": 2, "none of which can be skipped": 0}
"""Kind of a site → URLs of a page that differ in parameters which do not matter."""


def site(variants: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """URLs and contents of an endless shop with session ids, sort orders and tracking."""
    rng = random.Random(seed)
    while True:
        pages = [rng.randrange(1 << 40) for _ in range(50)]
        urls = [
            (
                f"https://shop.example/{number % 40}/{number}?color={number % 7}&page={number % 5}{part}",
                str(number),
            )
            for number in pages
            for part in ("", f"&sid={rng.randrange(1 << 64):016x}", f"&view={rng.choice('abc')}")[: variants + 1]
        ]
        rng.shuffle(urls)
        yield from urls


def crawl(variants: int, count: int) -> dict[str, float]:
    """One row."""
    learner, urls = UrlLearner(seed=1), site(variants)
    learner.observe(*next(urls))  # what loading the list of suffixes takes is no part of the figures
    gc.collect()
    gc.freeze()  # or the worst step is one collection of all modules of the process
    before, clock = memory(), time.thread_time
    steps: dict[str, list[float]] = {"query": [0.0, 0, 0.0], "update": [0.0, 0, 0.0]}

    def spent(step: str, start: float) -> None:
        seconds, made, worst = steps[step]
        took = clock() - start
        steps[step] = [seconds + took, made + 1, max(worst, took)]

    for url, content in islice(urls, count):
        start = clock()
        decision = learner.decide(url)
        spent("query", start)
        if not decision.skip:
            start = clock()
            learner.observe(url, content)
            spent("update", start)
    gc.collect()
    return {
        "urls": count,
        "skipped": 1 - steps["update"][1] / count,
        "bytes": (memory() - before) / count,
        **{f"{name}_us": 1e6 * seconds / made for name, (seconds, made, _) in steps.items()},
        **{f"worst_{name}_ms": 1e3 * worst for name, (_, _, worst) in steps.items()},
    }


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--urls", type=int, nargs="+", default=[100_000, 1_000_000], help="of one site")
    options = parser.parse_args()
    table = [["", "skipped", "bytes/URL", "us/query", "us/update", "worst query ms", "worst update ms"]]
    figures = {}
    for kind, variants in KINDS.items():
        figures[kind] = [apart(__file__, [variants, count]) for count in options.urls]
        table += [
            [
                f"{row['urls']:,} URLs, {kind}",
                f"{row['skipped']:.0%}",
                *(f"{row[name]:.0f}" for name in ("bytes", "query_us", "update_us")),
                *(f"{row[name]:.1f}" for name in ("worst_query_ms", "worst_update_ms")),
            ]
            for row in figures[kind]
        ]
    finish(figures, table, options.json)
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["_run"]:
        print(json.dumps(crawl(*json.loads(sys.argv[2]))))
    else:
        sys.exit(main())
