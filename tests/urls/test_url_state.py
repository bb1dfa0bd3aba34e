"""What is known is counted as it comes and goes, and does not depend on the process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simdedup.urls import UrlLearner


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["ref=1", "ref=2", "sid=1", "gclid=1"])), max_size=40))
def test_the_rules_in_force_are_counted_as_they_come_and_go(unlike: list[tuple[int, str]]) -> None:
    def counted(learner: UrlLearner) -> bool:
        site = learner._sites["e.com"]
        found = (h for p in site.tree.patterns.values() for h, evidence in p.evidence.items() if evidence.holds)
        return +site.in_force == Counter(found)

    learner = UrlLearner(seed=5)
    for number in range(20):
        for path in "abc":
            for query in ("", "?ref=1", "?ref=2", "?sid=1"):
                learner.observe(f"https://e.com/{path}/{number}{query}", f"{path} {number}")
    assert learner._sites["e.com"].in_force
    for number, (path, query) in enumerate(unlike, 20):
        learner.observe(f"https://e.com/{'abc'[path]}/{number}", f"{number}")
        learner.observe(f"https://e.com/{'abc'[path]}/{number}?{query}", f"{number} {query}")
        assert counted(learner)


PROGRAM = """
import hashlib, random
from scrapy_simdedup.urls import UrlLearner
from helpers.simulated_crawl import noisy
from helpers import platform_sites
rng = random.Random(4)
learner, told = UrlLearner(seed=2), hashlib.sha256()
for page in noisy(platform_sites.gallery(rng)[:2_500], 0.01, rng):
    decision = learner.decide(page.url)
    told.update(repr(decision).encode())
    if not decision.skip:
        told.update(repr(learner.observe(page.url, page.content_id)).encode())
told.update(repr(list(learner.rules())).encode())
print(told.hexdigest())
"""


@pytest.mark.slow
def test_decisions_and_rules_do_not_depend_on_the_seed_of_python_s_hashes() -> None:
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "777")
    }
    assert len(outputs) == 1
