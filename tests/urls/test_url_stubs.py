"""Pages that stand for nothing: what they seem to teach is not learned, and what they hid is fetched after all."""

from __future__ import annotations

import random

import pytest
from stub_sites import crawl_through_wall, wall_over_real_pages

from scrapy_simdedup.urls import Caution, UrlLearner
from scrapy_simdedup.urls.contents import POPULAR, Contents

SURE = Caution(verify=0.0, verify_innocent=0.0, verify_floor=0.0)


@pytest.mark.parametrize(("begin", "length"), [(10, 100), (200, 10), (300, 30), (300, 100), (400, 16), (250, 300)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_page_is_lost_that_a_captcha_did_not_hide_behind_all_its_urls(begin: int, length: int, seed: int) -> None:
    pages = wall_over_real_pages(random.Random(seed))
    _, in_vain = crawl_through_wall(pages, UrlLearner(seed=seed), begin, length)
    assert in_vain == set()


def test_a_wall_teaches_no_rule() -> None:
    learner = UrlLearner(caution=SURE)
    for number in range(300):
        learner.observe(f"http://e.com/view?id={number}", "captcha")
        learner.observe(f"http://e.com/view?id={number}&tab=2", "captcha")
    assert not any(rule.in_force for rule in learner.rules())


def test_what_the_first_pages_of_a_wall_stood_in_for_is_given_back_when_it_turns_out_to_be_one() -> None:
    learner = UrlLearner(caution=SURE)
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
    contents = Contents()
    for number in range(POPULAR + 10):
        contents.fetched(7, number, explained=False)
        assert contents.can_stand_in(7) == (number < contents.limit)
    for number in range(20):  # in separate runs, not in one burst
        contents.fetched(100 + number, number, explained=False)
        contents.fetched(7, number, explained=False)
    assert contents.is_popular(7)
    assert contents.can_stand_in(7)
    contents.failed.add(7)
    assert not contents.can_stand_in(7)
