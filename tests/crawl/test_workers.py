"""Worker processes: the same verdicts in the same order, and whatever happens to a worker costs no page."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scrapy.utils.test import get_crawler

from helpers.crawl_script import SCRIPT, run
from helpers.crawling import ADDON, PathsSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page, prose
from helpers.servers import wait_until
from helpers.site_server import Site
from scrapy_simdedup import Content, page_markdown
from scrapy_simdedup.crawl import Crawl, worker_pool
from scrapy_simdedup.crawl.concurrency import KeyedCondition
from scrapy_simdedup.crawl.delivery import DeliveryTracker
from scrapy_simdedup.crawl.judge import Judge
from scrapy_simdedup.crawl.stats import CrawlStats
from scrapy_simdedup.crawl.worker_pool import WorkerPool
from scrapy_simdedup.detect.detector import NearDuplicateDetector
from scrapy_simdedup.detect.names import site_of
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.make import fingerprint
from scrapy_simdedup.fingerprint.worker import READY, read_frame, write_frame
from scrapy_simdedup.settings import DedupSettings

pytestmark = pytest.mark.slow

SETTINGS = DedupSettings()
MISCHIEF = """
import json, os, pathlib, sys, time
sys.path[:] = json.loads(sys.argv[1])
from scrapy_simdedup.fingerprint import worker
fingerprint = worker.fingerprint
def mischief(html, *others, **more):
    if "this page hangs" in html:
        time.sleep(600)
    if "this page kills" in html:
        os._exit(3)
    if "this page waits for " in html:
        file = pathlib.Path(html.partition("this page waits for ")[2].partition("<")[0])
        while not file.exists():
            time.sleep(0.01)
    return fingerprint(html, *others, **more)
worker.fingerprint = mischief
markdown = worker._MAKERS["content"]
def slow_markdown(html, *others):
    if "this text hangs" in html:
        time.sleep(600)
    return markdown(html, *others)
worker._MAKERS["content"] = slow_markdown
worker.main(float(sys.argv[2]))
"""
"""A worker's program in which some pages do what no page should be able to do."""

on_linux = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")


@pytest.fixture
def mischief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_pool, "PROGRAM", MISCHIEF)


async def read(workers: WorkerPool, html: str, secret: bytes = b"") -> PageFingerprint:
    workers.open(secret)
    return await workers.fingerprint(html, "url", SETTINGS)


def hanging(seed: object) -> str:
    return page(seed, body="<p>this page hangs</p>")


DEADLINE = 4.0
"""Seconds in which a busy machine reads a page of a test, and which a page that hangs takes."""


# ------------------------------------------------------------------ fingerprints


@on_asyncio
async def test_fingerprints_are_those_that_are_made_without_workers() -> None:
    htmls = [page(number // 2, number) for number in range(12)]
    seconds: list[float] = []
    workers = WorkerPool(2, 20, seconds.append)
    made = await asyncio.gather(*(read(workers, html, b"secret") for html in htmls))
    await workers.close()
    assert list(made) == [fingerprint(html, SETTINGS, b"secret") for html in htmls]
    assert len(seconds) == len(htmls)


@on_asyncio
async def test_a_page_that_kills_its_worker_is_unjudged_and_the_next_ones_are_not(mischief: None) -> None:
    workers = WorkerPool(1, 20, lambda _: None)
    htmls = [page(1), page(2, body="<p>this page kills</p>"), page(3)]
    made = await asyncio.gather(*(read(workers, html) for html in htmls))
    await workers.close()
    assert [fp.unjudged for fp in made] == [None, "worker_died", None]


@on_asyncio
async def test_a_page_that_hangs_is_given_up_at_the_deadline_and_the_next_ones_are_not(mischief: None) -> None:
    workers = WorkerPool(1, DEADLINE, lambda _: None)
    htmls = [page(1), hanging(2), page(3)]
    made = await asyncio.gather(*(read(workers, html) for html in htmls))
    await workers.close()
    assert [fp.unjudged for fp in made] == [None, "worker_timeout", None]


@on_asyncio
async def test_markdown_is_made_by_workers_under_the_same_deadline(mischief: None) -> None:
    """As it is made without them."""
    workers, alone = (WorkerPool(count, DEADLINE, lambda _: None) for count in (1, 0))
    html = page(1)
    hangs = page(2, body="<p>this text hangs</p>")
    made = await asyncio.gather(
        *(workers.content(text, "https://site.example/", SETTINGS) for text in (html, hangs, html))
    )
    assert made == [Content(markdown=made[0].markdown, text=made[0].text), None, made[0]]
    assert made[0].markdown == page_markdown(html, url="https://site.example/")
    assert await alone.content(html, "https://site.example/", SETTINGS) == made[0]
    await workers.close()


@on_asyncio
async def test_an_item_whose_markdown_takes_too_long_is_delivered_without(site: Site, mischief: None) -> None:
    site["/one"], site["/two"] = page(1), page(2, body=f"{prose(2)}<p>this text hangs</p>")
    settings = {"SIMDEDUP_MARKDOWN_FIELD": "text", "SIMDEDUP_WORKERS": 1, "SIMDEDUP_WORKER_TIMEOUT": DEADLINE}
    made = await crawl(PathsSpider, ADDON | settings, urls=site.urls("/one", "/two"))
    assert made.urls == site.urls("/one", "/two")
    assert ["text" in item for item in made.items] == [True, False]
    assert made.stat("confirmed") == 2


@on_asyncio
async def test_a_worker_that_was_killed_between_pages_costs_no_page() -> None:
    workers = WorkerPool(1, 20, lambda _: None)
    await read(workers, page(1))
    (running,) = workers._workers
    running.kill()
    running._process.wait()
    assert (await read(workers, page(2))).unjudged is None
    await workers.close()


@on_asyncio
async def test_a_page_that_nobody_wants_any_more_gives_its_worker_free(mischief: None) -> None:
    workers = WorkerPool(1, 20, lambda _: None)
    await read(workers, page(1))
    given_up = asyncio.ensure_future(read(workers, hanging(2)))
    await asyncio.sleep(0.05)
    given_up.cancel()
    assert (await read(workers, page(3))).unjudged is None
    await workers.close()


@pytest.mark.parametrize("executable", ["", sys.executable + "-which-is-not-there"])
@on_asyncio
async def test_where_no_worker_can_be_started_the_crawl_does_it_itself(
    executable: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    workers = WorkerPool(2, 20, lambda _: None)
    made = await asyncio.gather(*(read(workers, page(n)) for n in range(5)))
    await workers.close()
    assert [fp.unjudged for fp in made] == [None] * 5
    assert "do not start" in caplog.text


@on_asyncio
async def test_workers_are_started_for_the_first_page_and_end_with_the_crawl() -> None:
    workers = WorkerPool(2, 20, lambda _: None)
    assert not workers._workers
    await read(workers, page(1))
    processes = [running._process for running in workers._workers]
    await workers.close()
    assert len(processes) == 2
    assert [process.poll() for process in processes] == [0, 0]


def test_a_worker_does_not_import_scrapy() -> None:
    program = "import sys, scrapy_simdedup.fingerprint.worker; assert not {'scrapy', 'twisted'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.skipif(sys.platform == "win32", reason="has no interval timers")
def test_a_worker_whose_crawl_was_killed_does_not_hang_for_ever() -> None:
    program = [sys.executable, "-c", MISCHIEF, json.dumps(sys.path), "0.5"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        assert read_frame(process.stdout) == READY
        write_frame(process.stdin, pickle.dumps(("fingerprint", pickle.dumps((SETTINGS, b"")), b"", None)))
        write_frame(process.stdin, hanging(1).encode())
        assert process.wait(180) == -signal.SIGALRM


# ------------------------------------------------------------------ verdicts


class Bench:
    """A judge with everything it needs, without a crawl."""

    def __init__(self, count: int, deadline: float = 20.0) -> None:
        settings = DedupSettings.from_keywords(pending_timeout=0, secret="the same for all benches")
        self.stats = CrawlStats(get_crawler().stats)
        self.workers = WorkerPool(count, deadline, self.stats.extracted)
        self.detector = NearDuplicateDetector(settings=settings, run="run", fingerprinter=self.workers)
        tracker = DeliveryTracker(lambda *_: None)
        crawler = get_crawler()
        crawler.crawling = True
        crawl = Crawl(crawler, settings, self.detector, self.stats, lambda _: None)
        self.judge = Judge(crawl, tracker, KeyedCondition())
        self.order: list[str] = []

    async def verdicts(self, pages: dict[str, str]) -> list[dict[str, Any]]:
        await self.detector.open()
        try:
            found = await asyncio.gather(*(self.page(url, html) for url, html in pages.items()))
        finally:
            await self.workers.close()
            await self.detector.close()
        return found

    async def page(self, url: str, html: str) -> dict[str, Any]:
        fetch = partial(self.detector.fetched, html, url=url, key=url.encode())
        verdict = await self.judge.judge_page(fetch, site=site_of(url), size=len(html))
        self.order.append(url)
        if verdict.page is not None:
            await self.detector.confirm(verdict.page)
        return {**verdict.as_dict(), "original_first_seen": None}


@on_asyncio
async def test_verdicts_are_the_same_with_and_without_workers() -> None:
    pages = {f"https://site{n % 2}.example/{n}": page(n // 3, n, count=60 + n * 20) for n in range(24)}
    pages |= {f"https://site0.example/again/{n}": page(n, "again") for n in range(4)}
    alone, shared = Bench(0), Bench(2)
    expected = await alone.verdicts(pages)
    assert await shared.verdicts(pages) == expected
    assert len({verdict["kind"] for verdict in expected}) > 1


@on_asyncio
async def test_verdicts_of_a_site_are_given_in_the_order_in_which_its_pages_came(
    mischief: None, tmp_path: Path
) -> None:
    class Waited(list[str]):
        """The order of verdicts; the slow page waits for the first."""

        def append(self, url: str) -> None:
            super().append(url)
            (tmp_path / "one").touch()

    bench = Bench(2)
    bench.order = Waited()
    pages = {"https://a.example/slow": page("slow", body=f"<p>this page waits for {tmp_path / 'one'}</p>{page('one')}")}
    pages |= {f"https://a.example/{n}": page(n) for n in range(4)} | {"https://b.example/": page("other")}
    await bench.verdicts(pages)
    of_site = [url for url in bench.order if url.startswith("https://a.")]
    assert of_site == list(pages)[:-1]
    assert bench.order.index("https://b.example/") == 0, "another site does not wait for the slow page"


@on_asyncio
async def test_a_page_that_hangs_is_kept_unjudged(mischief: None) -> None:
    bench = Bench(2, deadline=DEADLINE)
    hung, fine = await bench.verdicts({"https://a.example/1": hanging(1), "https://a.example/2": page(2)})
    assert (hung["kind"], hung["reason"], hung["is_duplicate"]) == ("unjudged", "worker_timeout", False)
    assert fine["kind"] == "new"
    assert bench.stats.unjudged == {"worker_timeout": 1}


# ------------------------------------------------------------------ crawls


@pytest.mark.parametrize("kind", ["asyncio", "reactorless", "plain"])
def test_workers_serve_asyncio_and_other_loops_do_without(site: Site, kind: str) -> None:
    """Whether the crawl runs on it with a reactor or without one; where it does not, one warning says so."""
    for number, path in enumerate(("/one?fails", "/one?a", "/one?b", "/two")):
        site[path] = page(path[:4], number)
    site["/large"] = page("large", count=150_000)  # more than any socket takes at once
    urls = site.urls("/one?fails", "/one?a", "/one?b", "/two", "/large")
    done = run(kind, urls, SIMDEDUP_WORKERS=2, SIMDEDUP_WORKER_TIMEOUT=60)
    assert sorted(done["items"]) == sorted([urls[1], *urls[3:]])
    assert done["stats"]["simdedup/pages/new"] == 4
    assert done["stats"]["simdedup/pages/dropped"] == 1
    assert done["stats"]["simdedup/released_reason_count/callback_error"] == 1
    assert done["log"].count("SIMDEDUP_WORKERS = 2 has no effect") == (kind == "plain")


@pytest.mark.parametrize("kind", ["asyncio", "reactorless"])
def test_a_hanging_worker_is_given_up_with_and_without_a_reactor(site: Site, kind: str, tmp_path: Path) -> None:
    site["/hangs"], site["/fine"] = hanging(1), page(2)
    patched = tmp_path / "sitecustomize.py"
    patched.write_text(f"import scrapy_simdedup.crawl.worker_pool as worker\nworker.PROGRAM = {MISCHIEF!r}\n")
    script = tmp_path / "script.py"
    script.write_text(patched.read_text() + SCRIPT.read_text().replace("from __future__ import annotations", ""))
    urls = site.urls("/hangs", "/fine")
    done = run(kind, urls, script=script, SIMDEDUP_WORKERS=1, SIMDEDUP_WORKER_TIMEOUT=DEADLINE)
    assert done["items"] == urls
    assert done["stats"]["simdedup/pages/unjudged_reason_count/worker_timeout"] == 1


@on_asyncio
async def test_pages_of_a_crawl_go_through_the_workers(site: Site) -> None:
    site["/one"], site["/again"] = page("one", 1), page("one", 2)
    done = await crawl(PathsSpider, {**ADDON, "SIMDEDUP_WORKERS": 2}, urls=site.urls("/one", "/again"))
    assert done.urls == site.urls("/one")
    assert done.stat("extract_seconds") > 0


def test_a_script_without_a_main_guard_is_not_run_again_in_its_workers(site: Site, tmp_path: Path) -> None:
    site["/one"] = page("one")
    script = tmp_path / "unguarded.py"
    script.write_text(SCRIPT.read_text().replace('if __name__ == "__main__":\n    main', 'print("started")\nmain'))
    done = subprocess.run(
        [sys.executable, str(script), "asyncio", site.url("/one")],
        env=os.environ | {"SETTINGS": '{"SIMDEDUP_WORKERS": 2}'},
        capture_output=True, text=True, timeout=180, check=True,
    )  # fmt: skip
    assert done.stdout.count("started") == 1
    assert site.url("/one") in done.stdout


def marked(mark: str) -> Iterator[int]:
    """The living processes that have a mark in their environment."""
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it ended meanwhile, or is not ours
            if mark.encode() in environ.read_bytes():
                yield int(environ.parent.name)


@on_linux
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_process_is_left_when_the_crawl_is_interrupted(site: Site, how: signal.Signals) -> None:
    reached: list[str] = []

    def endless(path: str) -> str:
        reached.append(path)
        number = int(path.rpartition("/")[2])
        site[f"/{number + 1}"] = endless
        time.sleep(0.05)
        return page(number)

    site["/0"] = endless
    mark = f"SIMDEDUP_TEST_MARK={os.getpid()}-{time.monotonic_ns()}"
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), "asyncio", *site.urls(*(f"/{number}" for number in range(400)))],
        env=os.environ | {"SETTINGS": '{"SIMDEDUP_WORKERS": 2}', "SIMDEDUP_TEST_MARK": mark.partition("=")[2]},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_until(lambda: len(reached) >= 5 and len(list(marked(mark))) == 3)
    process.send_signal(how)
    process.wait(180)
    wait_until(lambda: not list(marked(mark)))
