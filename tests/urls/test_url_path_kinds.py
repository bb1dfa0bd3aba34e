"""Pages under several paths: as AMP, for printing, in a locale, within a session."""

from __future__ import annotations

import random

import pytest

from helpers.path_kind_sites import SITES, locales_on_every_page
from helpers.simulated_crawl import crawl_and_ask, noisy
from scrapy_simdedup.urls import UrlLearner

TELLABLE = {name: site for name, site in SITES.items() if site is not locales_on_every_page}


@pytest.mark.parametrize("rate", [0.0, 0.03])
@pytest.mark.parametrize("name", TELLABLE)
def test_other_paths_of_a_page_are_skipped_and_no_page_is_lost(name: str, rate: float) -> None:
    for seed in range(1, 4):
        rng = random.Random(seed)
        pages = noisy(SITES[name](rng), rate, rng)
        outcome, _ = crawl_and_ask(pages, UrlLearner(seed=seed, checks=0.05), rate, rng)
        assert outcome.lost == frozenset()
        assert outcome.saved >= 0.3 or rate  # where answers err, two looks are taken at each page


def test_where_each_page_is_in_some_locale_none_is_lost() -> None:
    """What no locale shows is not known, so it is not learned which locales are alike."""
    rng = random.Random(1)
    outcome, _ = crawl_and_ask(locales_on_every_page(rng), UrlLearner(seed=1, checks=0.05), 0.0, rng)
    assert outcome.lost == frozenset()


def test_the_rules_say_which_view_and_which_locale() -> None:
    learner = UrlLearner(seed=1)
    for number in range(60):
        for path in ("shop/", "en-gb/shop/", "amp/shop/"):
            learner.observe(f"https://e.com/{path}tool-{number}", f"tool {number}")
        learner.observe(f"https://e.com/de/shop/tool-{number}", f"Werkzeug {number}")
    assert {str(rule) for rule in learner.rules() if rule.in_force} == {"locale=en-gb", "view=amp@0"}
