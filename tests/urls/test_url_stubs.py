"""Pages that stand for nothing: what they seem to teach is not learned, and what they hid is fetched after all."""

from __future__ import annotations

import random

import pytest

from helpers.stub_sites import crawl_through_wall, wall_over_real_pages
from scrapy_simdedup.urls import LearnerThresholds, UrlLearner
from scrapy_simdedup.urls.page_index import MAX_UNEXPLAINED_URLS, ContentCounters

SURE = LearnerThresholds(verify=0.0, verify_low_risk=0.0, verify_floor=0.0)


@pytest.mark.parametrize(("begin", "length"), [(10, 100), (200, 10), (300, 30), (300, 100), (400, 16), (250, 300)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_page_is_lost_that_a_captcha_did_not_hide_behind_all_its_urls(begin: int, length: int, seed: int) -> None:
    pages = wall_over_real_pages(random.Random(seed))
    _, in_vain = crawl_through_wall(pages, UrlLearner(seed=seed), begin, length)
    assert in_vain == set()


def test_a_wall_teaches_no_rule() -> None:
    learner = UrlLearner(thresholds=SURE)
    for number in range(300):
        learner.observe(f"http://e.com/view?id={number}", "captcha")
        learner.observe(f"http://e.com/view?id={number}&tab=2", "captcha")
    assert not any(rule.in_force for rule in learner.rules())


def test_what_the_first_pages_of_a_wall_stood_in_for_is_given_back_when_it_turns_out_to_be_one() -> None:
    learner = UrlLearner(thresholds=SURE)
    for number in range(40):
        learner.observe(f"http://e.com/view?id={number}", f"item {number}")
        learner.observe(f"http://e.com/view?id={number}&ref=1", f"item {number}")
    skipped, back = [], []
    for number in range(1000, 1030):
        back += learner.observe(f"http://e.com/view?id={number}", "captcha")
        url = f"http://e.com/view?id={number}&ref=1"
        if learner.decide(url).skip:
            skipped.append(url)
    back += learner.remaining()
    assert skipped
    assert sorted(back) == sorted(skipped)


def test_a_template_that_is_met_again_and_again_may_stand_in_for_a_page_until_it_fails() -> None:
    contents = ContentCounters()
    for number in range(MAX_UNEXPLAINED_URLS + 10):
        contents.count_fetch(7, number, explained=False)
        assert contents.can_represent_page(7) == (number < contents.limit)
    for number in range(20):  # in separate runs, not in one burst
        contents.count_fetch(100 + number, number, explained=False)
        contents.count_fetch(7, number, explained=False)
    assert contents.is_stub_content(7)
    assert contents.can_represent_page(7)
    contents.misled.add(7)
    assert not contents.can_represent_page(7)
