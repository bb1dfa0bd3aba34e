"""URLs that nobody would write by hand."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simdedup.urls import LearnerThresholds, UrlLearner

HOSTILE = [
    "", " ", "http://", "https:///", "http://.../", "http://?", "http://#", "//", "http://[::1", "http://[::1]/", "http://%00/",
    "a" * 5000,
    "http://e.com/" + "a/" * 900, "http://e.com/?" + "&" * 1500, "http://e.com/?" + "a=1&" * 400, "http://e.com/%",
    "http://e.com/%zz?%=%", "http://e.com/?=&==&=", "http://e.com/\x00", "http://e.com/\ud800", "http://e.com:/",
    "http://e.com/..;/..;/", "http://e.com/" + "../" * 300, "http://" + "a." * 400 + "com/", "http://xn--/", "http://e.com/;;;;",
    "HTTP://E.COM/ A B", "http://e.com/?utm_=1&UTM_x=2", "http://e.com/(s(" + "a" * 30 + "))/x", "http://١٢٣.com/",
]  # fmt: skip


@pytest.mark.parametrize("url", HOSTILE)
def test_no_url_raises_or_is_skipped_at_first_sight(url: str) -> None:
    learner = UrlLearner()
    assert not learner.decide(url).skip
    assert learner.observe(url, "x") == []
    assert learner.observe(url, None) == []
    learner.decide(url)
    learner.hint(url, url)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=30), st.sampled_from(["a", "b", "c", None])), max_size=30))
def test_no_sequence_of_texts_raises(pages: list[tuple[str, str | None]]) -> None:
    learner = UrlLearner(thresholds=LearnerThresholds(accept=0.1, revoke=0.05, min_contents=1, min_patterns=1))
    for text, content in pages:
        url = f"http://e.com/{text}"
        learner.decide(url)
        learner.observe(url, content)
    list(learner.rules())
    learner.remaining()


def test_a_flood_of_names_values_and_paths_meets_its_caps() -> None:
    learner = UrlLearner()
    rng = random.Random(1)
    for number in range(3000):
        name = "".join(rng.choices(string.ascii_lowercase, k=6))
        learner.observe(
            f"http://e.com/{name}/{name[::-1]}/{number}x?{name}={number}&v={number}&{name}b={name}", str(number)
        )
    site = learner._sites["e.com"]
    assert len(site.tree.leaves) <= 1001
    assert len(site.hypotheses.parts) <= 200
    assert all(len(part.values) <= 50 for part in site.hypotheses.parts.values())
    assert all(len(leaf.parts) <= 40 for leaf in site.tree.leaves.values())
    assert len(site.hypotheses.joint) <= 10
    assert len(site.noise.disputes) <= 2000
    assert len(site.firsts) <= 4000


def test_beyond_its_caps_the_learner_forgets_to_learn_not_to_fetch() -> None:
    learner = UrlLearner(thresholds=LearnerThresholds(max_urls=10, max_sites=2))
    for number in range(100):
        for host in ("a.com", "b.com", "c.com"):
            assert not learner.decide(f"http://{host}/{number}").skip
            assert learner.observe(f"http://{host}/{number}", str(number)) == []
    assert learner.sites == ["a.com", "b.com"]
    assert len(learner._sites["a.com"].pages) == 10
