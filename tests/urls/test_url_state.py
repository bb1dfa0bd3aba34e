"""What is known outlives the process, and does not depend on it."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pattern_sites
import platform_sites
import pytest
import sequence_sites
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_crawl import Page, Site, noisy

from scrapy_simdedup.urls import Caution, GivenRule, UrlLearner
from scrapy_simdedup.urls.decision import Decision


def follow(
    pages: list[Page], learner: UrlLearner, restart: Callable[[UrlLearner], UrlLearner], every: int
) -> list[tuple[Decision, list[str]]]:
    """Every decision of a crawl and what was given back, with a restart now and then."""
    told = []
    known = {page.url: page for page in pages}
    queue = list(known.values())
    for number, page in enumerate(queue):
        if number % every == every - 1:
            learner = restart(learner)
        decision = learner.decide(page.url)
        back = [] if decision.skip else learner.observe(page.url, page.content_id)
        queue += [known[url] for url in back if len(queue) < 2 * len(known)]
        told.append((decision, back))
    return told


def reborn(learner: UrlLearner) -> UrlLearner:
    made = UrlLearner(seed=5)
    for site in learner.sites:
        made.load(learner.dump(site))
    return made


@pytest.mark.parametrize(
    ("site", "rate"),
    [
        (platform_sites.jobs, 0.0),
        (platform_sites.jobs, 0.02),
        (platform_sites.documentation, 0.05),
        (pattern_sites.grid_in_every_eighth, 0.0),
        (sequence_sites.tokens_that_change_together, 0.0),
        (sequence_sites.changes_its_mind, 0.0),
        (sequence_sites.endless_calendar, 0.0),
    ],
)
def test_a_restart_in_the_middle_of_a_crawl_changes_no_decision(site: Site, rate: float) -> None:
    rng = random.Random(3)
    pages = noisy(site(rng), rate, rng)
    straight = follow(pages, UrlLearner(seed=5), lambda learner: learner, 10**9)
    assert follow(pages, UrlLearner(seed=5), reborn, 700) == straight
    assert any(decision.skip for decision, _ in straight)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["ref=1", "ref=2", "sid=1", "gclid=1"])), max_size=40))
def test_the_rules_in_force_are_counted_as_they_come_and_go_and_after_a_restart(unlike: list[tuple[int, str]]) -> None:
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
    assert counted(reborn(learner))


def test_what_is_being_given_back_survives_a_restart() -> None:
    caution = Caution(verify=0.0, verify_innocent=0.0, verify_floor=0.0)
    learner = UrlLearner(caution=caution)
    learner.observe("https://e.com/a", "a")
    skipped = [url for n in range(300) if learner.decide(url := f"https://e.com/a?gclid={n}").skip]
    site = learner._sites["e.com"]
    site.give_back_for(site.contents.latest)
    learner.load(learner.dump("e.com"))
    assert sorted(learner.remaining()) == sorted(skipped)


def test_a_dump_made_with_another_key_is_refused() -> None:
    learner = UrlLearner(key=b"one")
    learner.observe("https://e.com/a", "a")
    with pytest.raises(ValueError, match="another key"):
        UrlLearner(key=b"two").load(learner.dump("e.com"))


@pytest.mark.parametrize("junk", [b"", b"junk", zlib.compress(b"junk"), zlib.compress(b"{}"), zlib.compress(b"[]")])
def test_junk_is_refused(junk: bytes) -> None:
    with pytest.raises(ValueError, match="no dump"):
        UrlLearner().load(junk)


def test_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="version"):
        UrlLearner().load(zlib.compress(b'{"state": 999, "check": 0}'))


def test_given_rules_mean_the_same_after_a_restart() -> None:
    rules = [GivenRule(("e.com",), (), "queryRemoval", ("x",), 1)]
    caution = Caution(verify=0.0, verify_innocent=0.0, verify_floor=0.0)
    learner = UrlLearner(rules=rules, caution=caution)
    learner.observe("https://e.com/a?x=1", "a")
    again = UrlLearner(rules=rules, caution=caution)
    again.load(learner.dump("e.com"))
    assert again.decide("https://e.com/a?x=2").skip


PROGRAM = """
import hashlib, random
from scrapy_simdedup.urls import UrlLearner
from simulated_crawl import noisy
import platform_sites
rng = random.Random(4)
learner, told = UrlLearner(seed=2), hashlib.sha256()
for page in noisy(platform_sites.gallery(rng), 0.01, rng):
    decision = learner.decide(page.url)
    told.update(repr(decision).encode())
    if not decision.skip:
        told.update(repr(learner.observe(page.url, page.content_id)).encode())
print(told.hexdigest(), hashlib.sha256(learner.dump("photos.example")).hexdigest())
"""


def test_decisions_and_dumps_do_not_depend_on_the_seed_of_python_s_hashes() -> None:
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
