"""What a crawl costs with and without the plugin: CPU per page, pages per second, reactor lag, memory.

    python benchmarks/crawl.py
    python benchmarks/crawl.py --corpus pages.zip --variants addon addon-workers2 --rounds 3 --json crawl.json

A server in a process of its own gives each page once, on loopback. Each variant crawls all of them in a fresh process,
after 40 other pages that warm it up; the variants take turns. Ratios are taken within a round; the table has medians.
On a busy machine read the CPU columns, and leave pages/s alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from measure import apart, arguments, finish, peak_memory
from pages import Page, corpus, generated
from recipe import Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator

WARMUP = 40
REPEATS = 0.25
TICK = 0.005
"""Seconds between two looks at how late the event loop is."""

CRAWL = {
    "CONCURRENT_REQUESTS": 16,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "LOG_LEVEL": "ERROR",
    "TELNETCONSOLE_ENABLED": False,
}
ADDON = {"ADDONS": {"scrapy_simdedup.Addon": 500}}
VARIANTS: dict[str, dict[str, Any]] = {
    "bare": {},
    "addon": ADDON,
    "addon-sqlite": {**ADDON, "SIMDEDUP_STORE": "sqlite:///{tmp}/pages.sqlite"},
    "addon-observe": {**ADDON, "SIMDEDUP_MODE": "observe"},
    "addon-readability": {**ADDON, "SIMDEDUP_EXTRACTOR": "readability"},
    "addon-workers2": {**ADDON, "SIMDEDUP_WORKERS": 2},
    "recipe": {"DOWNLOADER_MIDDLEWARES": {Recipe: 540}},
}
SHOWN = ("pages_per_s", "cpu_ms", "child_cpu_ms", "added_ms", "lag_p95_ms", "lag_max_ms", "memory_mb", "dropped")


# ------------------------------------------------------------------------------------ the server


def pages_to_serve(options: dict[str, Any]) -> list[Page]:
    count = WARMUP + options["pages"]
    return corpus(Path(options["corpus"]), count) if options["corpus"] else generated(count, repeats=REPEATS)


async def serve(pages: list[Page]) -> None:
    """Print the port, then answer until standard input ends."""
    bodies = {f"/{number}": page.html.encode("utf-8", "replace") for number, page in enumerate(pages)}

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                path = urlsplit((await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1].decode()).path
                body = bodies[path]
                head = (
                    f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
                )
                writer.write(head.encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


# ------------------------------------------------------------------------------------ one crawl


class Meter:
    """What a stretch of time cost this process and its children, and how late its event loop was."""

    def start(self) -> None:
        self.lags: list[float] = []
        self.loop = asyncio.get_running_loop()
        self.begin = self.loop.time(), cpu_seconds(), child_cpu_seconds()
        self.due = self.begin[0] + TICK
        self.loop.call_at(self.due, self.tick)

    def tick(self) -> None:
        now = self.loop.time()
        while self.due <= now:  # one for each tick that a stall swallowed, so that it weighs as long as it lasted
            self.lags.append(now - self.due)
            self.due += TICK
        self.loop.call_at(self.due, self.tick)

    def stop(self, pages: int) -> dict[str, float]:
        wall, own, children = (
            after - before
            for after, before in zip((self.loop.time(), cpu_seconds(), child_cpu_seconds()), self.begin, strict=True)
        )
        lags = sorted(self.lags) or [0.0]
        return {
            "pages_per_s": pages / wall,
            "cpu_ms": 1000 * own / pages,
            "child_cpu_ms": 1000 * children / pages,
            "lag_p95_ms": 1000 * lags[int(0.95 * len(lags))],
            "lag_max_ms": 1000 * lags[-1],
            "memory_mb": peak_memory(),
        }


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def child_cpu_seconds() -> float:
    """Of the living children of this process; 0 where there is no /proc."""
    ticks = 0
    for task in Path("/proc/self/task").glob("*/children"):
        for child in task.read_text(encoding="utf-8").split():
            ticks += sum(
                map(int, Path(f"/proc/{child}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13])
            )
    return ticks / os.sysconf("SC_CLK_TCK")


def crawl(settings: dict[str, Any], base: str, count: int) -> dict[str, float]:
    """Crawl in this process."""
    import scrapy
    from scrapy.crawler import CrawlerProcess
    from scrapy.exceptions import DontCloseSpider

    meter, figures = Meter(), {}

    class Bench(scrapy.Spider):
        name = "bench"
        items = 0

        def of(self, numbers: range) -> Iterator[scrapy.Request]:
            yield from (scrapy.Request(f"{base}/{number}") for number in numbers)

        async def start(self) -> Any:
            self.crawler.signals.connect(self.idle, scrapy.signals.spider_idle)
            for request in self.of(range(WARMUP)):
                yield request

        def parse(self, response: Any) -> Any:
            self.items += 1
            yield {"url": response.url, "size": len(response.body)}

        def idle(self) -> None:
            if "warm" not in figures:
                figures["warm"] = self.items
                meter.start()
                for request in self.of(range(WARMUP, WARMUP + count)):
                    self.crawler.engine.crawl(request)
                raise DontCloseSpider
            figures.update(meter.stop(count), dropped=count - (self.items - figures["warm"]))

    process = CrawlerProcess({**CRAWL, **settings})
    crawler = process.create_crawler(Bench)
    process.crawl(crawler)
    process.start()
    assert crawler.stats.get_value("downloader/response_status_count/200") == WARMUP + count
    return figures


# ------------------------------------------------------------------------------------ rounds


def run(variant: str, base: str, count: int) -> dict[str, float]:
    """One variant in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="simdedup-bench-") as tmp:
        job = {"variant": variant, "base": base, "count": count, "tmp": tmp}
        figures: dict[str, float] = apart(__file__, job, name="_crawl")
        return figures


def crawl_here(job: dict[str, Any]) -> None:
    settings = {
        name: value.replace("{tmp}", job["tmp"]) if isinstance(value, str) else value
        for name, value in VARIANTS[job["variant"]].items()
    }
    print(json.dumps(crawl(settings, job["base"], job["count"])))


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--corpus", metavar="ZIP", help="real pages; generated ones by default")
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=list(VARIANTS), metavar="NAME")
    options = parser.parse_args()
    serving = json.dumps({"corpus": options.corpus, "pages": options.pages})
    names = list(dict.fromkeys(["bare", *options.variants]))
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    with subprocess.Popen(
        [sys.executable, __file__, "_serve", serving], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout
        base = f"http://127.0.0.1:{int(server.stdout.readline())}"
        for number in range(options.rounds):
            turn = number % len(names)
            for name in names[turn:] + names[:turn]:
                rounds[name].append(run(name, base, options.pages))
                print(f"round {number + 1}: {name}: {rounds[name][-1]['cpu_ms']:.2f} ms", file=sys.stderr)
        assert server.stdin
        server.stdin.close()
    summary = {name: summarise(figures, rounds["bare"], rounds.get("recipe")) for name, figures in rounds.items()}
    rows = [
        [
            "variant",
            "pages/s",
            "CPU ms/page",
            "children",
            "added",
            "lag p95",
            "max ms",
            "MB",
            "dropped",
            "CPU x bare",
            "added x recipe",
        ]
    ]
    for name, figures in summary.items():
        ratios = (figures["cpu_x_bare"], figures.get("added_x_recipe"))
        digits = (0, 2, 2, 2, 1, 0, 0, 0)
        rows.append(
            [name, *(f"{figures[key]:.{n}f}" for key, n in zip(SHOWN, digits, strict=True))]
            + ["" if ratio is None else f"{ratio:.2f}" for ratio in ratios]
        )
    finish(
        {"pages": options.pages, "real": bool(options.corpus), "medians": summary, "rounds": rounds}, rows, options.json
    )
    return 0


def summarise(
    own: list[dict[str, float]], bare: list[dict[str, float]], recipe: list[dict[str, float]] | None
) -> dict[str, float]:
    """Medians over the rounds, each ratio and difference taken within its round first."""
    for figures, without in zip(own, bare, strict=True):
        figures["added_ms"] = all_cpu(figures) - all_cpu(without)
        figures["cpu_x_bare"] = figures["cpu_ms"] / without["cpu_ms"]
    if recipe and own is not bare:
        for figures, without, other in zip(own, bare, recipe, strict=True):
            figures["added_x_recipe"] = figures["added_ms"] / (all_cpu(other) - all_cpu(without))
    return {key: statistics.median(figures[key] for figures in own) for key in own[0]}


def all_cpu(figures: dict[str, float]) -> float:
    return figures["cpu_ms"] + figures["child_cpu_ms"]


if __name__ == "__main__":
    if sys.argv[1:2] == ["_serve"]:
        asyncio.run(serve(pages_to_serve(json.loads(sys.argv[2]))))
    elif sys.argv[1:2] == ["_crawl"]:
        crawl_here(json.loads(sys.argv[2]))
    else:
        sys.exit(main())
