"""Crawls of simulated sites: no page is lost, whatever the site is like, and what can be saved is."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from helpers import misleading_sites, pattern_sites, platform_sites, stub_sites
from helpers.simulated_crawl import Outcome, Page, Site, crawl, noisy
from scrapy_simdedup.urls import UrlLearner

EXACT: dict[Site, float] = {
    pattern_sites.five_urls_per_pattern: 0.33,
    pattern_sites.five_items_of_three: 0.40,
    pattern_sites.grid_in_every_eighth: 0.05,
    pattern_sites.sections_and_templates: 0.45,
    pattern_sites.true_in_nine_of_ten: 0.38,
    pattern_sites.pages_in_sections: 0.45,
    pattern_sites.literal_paths: 0.65,
    pattern_sites.host_alias_for_half: 0.18,
    pattern_sites.host_alias_bad_ones_last: 0.18,
    misleading_sites.section_parameter: 0.0,
    misleading_sites.only_together: 0.12,
    misleading_sites.clamped_at_one: 0.65,
    misleading_sites.clamped_at_two_for_some: 0.08,
    misleading_sites.print_ten: 0.0,
    misleading_sites.print_four: 0.0,
    misleading_sites.print_three: 0.0,
    misleading_sites.print_two: 0.0,
    misleading_sites.print_four_among_others: 0.50,
    misleading_sites.print_two_among_others: 0.50,
    misleading_sites.print_four_in_sections: 0.04,
    misleading_sites.colour_for_few: 0.35,
    misleading_sites.three_nearly_true: 0.0,
    stub_sites.stub_in_one_section: 0.30,
    stub_sites.stub_in_five_sections: 0.27,
    platform_sites.wiki: 0.22,
    platform_sites.blog: 0.50,
    platform_sites.answers: 0.15,
    platform_sites.jobs: 0.40,
    platform_sites.documentation: 0.20,
    platform_sites.board: 0.64,
    misleading_sites.changes_its_mind: 0.0,
    misleading_sites.same_content_first: 0.0,
    misleading_sites.tokens_that_change_together: 0.50,
    misleading_sites.endless_calendar: 0.25,
}
"""Site → the share of its URLs that are saved at least."""

NOISY: dict[Site, float] = {
    platform_sites.blog: 0.25,
    platform_sites.board: 0.35,
    misleading_sites.print_ten: 0.0,
}


def run(site: Site, seed: int, disturb: Callable[[list[Page], random.Random], list[Page]] | None = None) -> Outcome:
    rng = random.Random(seed)
    pages = site(rng)
    return crawl(disturb(pages, rng) if disturb else pages, UrlLearner(seed=seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("site", EXACT, ids=lambda site: site.__name__)
def test_no_page_of_a_site_is_lost(site: Site, seed: int) -> None:
    outcome = run(site, seed)
    assert outcome.lost == frozenset()
    assert outcome.saved >= EXACT[site]


@pytest.mark.parametrize("rate", [0.02, 0.05])
@pytest.mark.parametrize("site", NOISY, ids=lambda site: site.__name__)
def test_a_fingerprint_that_errs_costs_savings_not_pages(site: Site, rate: float) -> None:
    outcome = run(site, 1, lambda pages, rng: noisy(pages, rate, rng))
    assert outcome.lost == frozenset()
    assert outcome.saved >= NOISY[site]


def test_a_hostile_host_does_not_poison_the_next() -> None:
    """1,000 pages that ignore their id on one site, then 1,000 on another where the id is all that matters."""
    hostile = [Page(f"http://evil.example/x?id={n}", "evil") for n in range(1000)]
    victim = [Page(f"http://victim.example/p?id={n}", f"victim {n}") for n in range(1000)]
    outcome = crawl([*hostile, *victim], UrlLearner(seed=1))
    assert outcome.lost == frozenset()


def test_a_false_rule_costs_a_delay_not_a_page() -> None:
    """All that a rule has skipped is given back when it turns out wrong."""
    outcome = run(misleading_sites.changes_its_mind, 1)
    assert outcome.readmitted > 0
    assert outcome.lost == frozenset()
