"""A crawl that is killed again and again loses nothing."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from helpers.pages import page
from helpers.site_server import Site
from helpers.warm_python import start_python

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

SCRIPT = Path(__file__).parents[1] / "helpers" / "kill_script.py"
KILLS = int(os.environ.get("SIMDEDUP_TEST_KILLS", "10"))
"""Kills per loop; 100 in the long form of this test."""
ARTICLES = 60
CONCURRENT_REQUESTS = 16

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="SIGKILL is a POSIX signal"),
]


@pytest.mark.parametrize("job", [False, True], ids=["store", "jobdir"])
def test_killing_a_crawl_at_random_instants_loses_no_article(site: Site, tmp_path: Path, job: bool) -> None:
    serve(site, "", "?print=1", "?utm_source=mail")
    store = tmp_path / "job" / "simdedup.sqlite" if job else tmp_path / "pages.sqlite"
    settings = (
        {"JOBDIR": str(tmp_path / "job")} if job else {"SIMDEDUP_STORE": f"sqlite:///{store}", "SIMDEDUP_RUN": "one"}
    )
    exported = tmp_path / "exported"
    rng = random.Random(KILLS)
    for _ in range(KILLS):
        crawl = start(site, exported, settings)
        kill(crawl, site, rng.uniform(0, 0.6))
        # Scrapy takes up no queue of a crawl that was killed, but writes on in its files, and hangs where one was cut.
        shutil.rmtree(tmp_path / "job" / "requests.queue", ignore_errors=True)
    last = start(site, exported, settings)
    assert ended_well(last)

    times = Counter(exported.read_text().split())
    assert set(times) == {str(number) for number in range(ARTICLES)}
    assert sum(times.values()) - len(times) <= KILLS * CONCURRENT_REQUESTS
    with closing(sqlite3.connect(store)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_two_workers_on_one_server_lose_no_article_when_they_are_killed(
    server_url: str, site: Site, tmp_path: Path
) -> None:
    """Each fetches other URLs of the same articles; what a dead one had reserved, the other one delivers."""
    kills = KILLS // 2
    variants = ["?print=1,?utm_source=mail", "?print=2,?utm_source=feed"]
    serve(site, *",".join(variants).split(","))
    settings = {"SIMDEDUP_STORE": server_url, "SIMDEDUP_RUN": "one"}
    exported = tmp_path / "exported"
    rng = random.Random(KILLS)
    workers = [start(site, exported, settings, mine) for mine in variants]
    for number in range(kills):
        which = number % 2
        kill(workers[which], site, rng.uniform(0, 0.6))
        workers[which] = start(site, exported, settings, variants[which])
    assert ended_well(*workers)

    times = Counter(exported.read_text().split())
    assert set(times) == {str(number) for number in range(ARTICLES)}
    assert sum(times.values()) - len(times) <= kills * CONCURRENT_REQUESTS


def test_what_one_worker_loses_in_its_pipeline_another_delivers(server_url: str, site: Site, tmp_path: Path) -> None:
    variants = ["?print=1", "?utm_source=mail"]
    serve(site, *variants)
    settings = {"SIMDEDUP_STORE": server_url, "SIMDEDUP_RUN": "one"}
    exported = tmp_path / "exported"
    workers = [
        start(site, exported, settings, "?print=1", FAILS="1"),
        start(site, exported, settings, "?utm_source=mail"),
    ]
    assert ended_well(*workers)
    assert set(exported.read_text().split()) == {str(number) for number in range(ARTICLES)}


def serve(site: Site, *variants: str) -> None:
    for number in range(ARTICLES):
        for frame, variant in enumerate(variants):
            site[f"/{number}{variant}"] = page(number, (number, frame), count=120)


def kill(crawl: BaseProcess, site: Site, seconds: float) -> None:
    """Some time after it began to fetch."""
    seen = len(site.requested)
    while crawl.is_alive() and len(site.requested) == seen:
        time.sleep(0.01)
    time.sleep(seconds)
    crawl.kill()
    crawl.join()


def ended_well(*crawls: BaseProcess) -> bool:
    for crawl in crawls:
        crawl.join(180)
    return [crawl.exitcode for crawl in crawls] == [0] * len(crawls)


def start(
    site: Site, exported: Path, settings: dict[str, Any], variants: str | None = None, **environment: str
) -> BaseProcess:
    environment = os.environ | {"SETTINGS": json.dumps(settings)} | environment
    environment.pop("COVERAGE_PROCESS_START", None)  # a killed process leaves half-written data files
    return start_python([SCRIPT, site.root, ARTICLES, exported, *([variants] if variants else [])], env=environment)
