"""A crawl that is killed again and again loses nothing."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pages import page
from site_server import Site

SCRIPT = Path(__file__).with_name("kill_script.py")
KILLS = int(os.environ.get("SIMDEDUP_TEST_KILLS", "20"))
"""Kills per loop; 100 in the long form of this test."""
ARTICLES = 120
CONCURRENT_REQUESTS = 16

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="SIGKILL is a POSIX signal"),
]


@pytest.mark.parametrize("job", [False, True], ids=["store", "jobdir"])
def test_killing_a_crawl_at_random_instants_loses_no_article(site: Site, tmp_path: Path, job: bool) -> None:
    for number in range(ARTICLES):
        for frame, variant in enumerate(("", "?print=1", "?utm_source=mail")):
            site[f"/{number}{variant}"] = page(number, (number, frame), count=120)
    store = tmp_path / "job" / "simdedup.sqlite" if job else tmp_path / "pages.sqlite"
    settings = (
        {"JOBDIR": str(tmp_path / "job")} if job else {"SIMDEDUP_STORE": f"sqlite:///{store}", "SIMDEDUP_RUN": "one"}
    )
    exported = tmp_path / "exported"
    rng = random.Random(KILLS)
    for _ in range(KILLS):
        crawl = start(site, exported, settings)
        seen = len(site.requested)
        while crawl.poll() is None and len(site.requested) == seen:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.6))
        crawl.send_signal(signal.SIGKILL)
        crawl.wait()
    last = start(site, exported, settings)
    assert last.wait(timeout=180) == 0

    times = Counter(exported.read_text().split())
    assert set(times) == {str(number) for number in range(ARTICLES)}
    assert sum(times.values()) - len(times) <= KILLS * CONCURRENT_REQUESTS
    with sqlite3.connect(store) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def start(site: Site, exported: Path, settings: dict[str, Any]) -> subprocess.Popen[bytes]:
    environment = os.environ | {"SETTINGS": json.dumps(settings)}
    environment.pop("COVERAGE_PROCESS_START", None)  # a killed process leaves half-written data files
    return subprocess.Popen([sys.executable, str(SCRIPT), site.root, str(ARTICLES), str(exported)], env=environment)
