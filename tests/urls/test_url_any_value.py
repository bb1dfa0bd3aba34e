"""A parameter that matters by being there, not by its value: one page with it is fetched, the others are skipped."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from helpers.simulated_crawl import Page, crawl_and_ask, in_crawl_order, noisy, same, word
from scrapy_simdedup.urls import LearnerThresholds, RememberedRule, UrlLearner, export_obstacle

SURE = LearnerThresholds(verify=0.0, verify_low_risk=0.0, verify_floor=0.0)
REPLY = "query:reply=*"


@in_crawl_order
def replies(differing: float, rng: random.Random, values_matter: float = 0.0) -> Iterator[list[Page]]:
    """Under each post are links to reply; a share of the posts shows another page for all of these."""
    reply = 0
    for number in range(300):
        url = f"https://blog.example/{number}/{word(rng)}"
        with_form = f"{url} with a form" if rng.random() < differing else url
        own = same(url, url, f"{url}?ref=mail")
        for _ in range(rng.randint(2, 8)):
            reply += 1
            shown = f"{url} reply {reply}" if rng.random() < values_matter else with_form
            own.append(Page(f"{url}?reply={reply}", shown))
        yield own


def taught(**options: object) -> UrlLearner:
    """A learner that knows forty posts with replies, of which two show another page for all replies."""
    learner = UrlLearner(thresholds=SURE, checks=1.0, **options)  # type: ignore[arg-type]
    for number in range(40):
        url = f"https://e.com/post?id={number}"
        learner.observe(url, f"post {number}", checked=True)
        shown = f"post {number}" + " with a form" * (number in {20, 30})
        for reply in range(3):
            learner.observe(f"{url}&reply={number * 3 + reply}", shown, checked=True)
    return learner


def test_a_reply_is_skipped_for_another_one_and_not_for_the_post() -> None:
    learner = taught()
    assert REPLY in {str(rule) for rule in learner.rules() if rule.in_force}
    url = "https://e.com/post?id=100"
    learner.observe(url, "post 100")
    assert not learner.decide(f"{url}&reply=901").skip
    learner.observe(f"{url}&reply=901", "post 100 with a form")
    decision = learner.decide(f"{url}&reply=902")
    assert decision.skip
    assert decision.rules == (REPLY,)
    assert learner.known_url(decision) == f"{url}&reply=901"


def test_the_post_itself_is_not_skipped_for_a_reply() -> None:
    learner = taught()
    learner.observe("https://e.com/post?id=100&reply=901", "post 100 with a form")
    assert not learner.decide("https://e.com/post?id=100").skip


def test_what_the_fallen_rule_had_skipped_is_given_back_and_one_of_each_post_is_fetched() -> None:
    learner = UrlLearner(thresholds=SURE, checks=1.0)
    for number in range(30):
        url = f"https://e.com/post?id={number}"
        for other in (url, f"{url}&reply={3 * number}", f"{url}&reply={3 * number + 1}"):
            learner.observe(other, f"post {number}")
    posts = [f"https://e.com/post?id={number}" for number in range(50, 60)]
    skipped = [f"{url}&reply={number}" for url in posts for number in range(200, 205)]
    for url in posts:
        learner.observe(url, url)
    assert all(learner.decide(url).skip for url in skipped)
    learner.observe("https://e.com/post?id=90", "post 90", checked=True)
    back = learner.observe("https://e.com/post?id=90&reply=700", "post 90 with a form", checked=True)
    back += learner.remaining()
    assert set(back) == set(skipped)
    fetched = []
    for url in skipped:
        if not learner.decide(url).skip:
            fetched.append(url)
            learner.observe(url, url.partition("&")[0])
    assert len(fetched) == len(posts)


def test_under_the_first_post_that_differs_from_its_replies_another_reply_is_fetched() -> None:
    """What was right for posts that are like their replies says nothing of one that is not."""
    learner = UrlLearner(thresholds=SURE, checks=1.0)
    for number in range(30):
        url = f"https://e.com/post?id={number}"
        for other in (url, f"{url}&reply={3 * number}", f"{url}&reply={3 * number + 1}"):
            learner.observe(other, f"post {number}")
    for number, form in (50, ""), (90, " with a form"):
        url = f"https://e.com/post?id={number}"
        learner.observe(url, f"post {number}", checked=True)
        learner.observe(f"{url}&reply={number}0", f"post {number}{form}", checked=True)
    assert learner.decide("https://e.com/post?id=50&reply=501").skip
    decision = learner.decide("https://e.com/post?id=90&reply=901")
    assert (decision.action, decision.rules) == ("go", (REPLY,))


def test_while_the_parameter_does_not_matter_at_all_nothing_is_said_of_its_values() -> None:
    learner = UrlLearner(thresholds=SURE, checks=1.0)
    for number in range(40):
        url = f"https://e.com/post?id={number}"
        for other in (url, f"{url}&reply={3 * number}", f"{url}&reply={3 * number + 1}"):
            learner.observe(other, f"post {number}")
    assert "query:reply" in {str(rule) for rule in learner.rules()}
    assert REPLY not in {str(rule) for rule in learner.rules()}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_post_is_lost_that_differs_from_its_many_replies_though_most_of_them_come_first(seed: int) -> None:
    """Nothing but the URL of the post itself tells what the post is without a reply."""
    rng = random.Random(seed)
    pages: list[tuple[float, Page]] = []
    for number in range(100):
        url, place = f"https://blog.example/thing/{number}", rng.random()
        with_form = f"{url} with a form" if rng.random() < 0.03 else url
        own = [
            Page(url, url),
            *(Page(f"{url}?reply={r}", with_form) for r in rng.sample(range(300), rng.randint(6, 20))),
        ]
        pages += [(place + 0.3 * rng.random(), page) for page in own]
    in_order = [page for _, page in sorted(pages, key=lambda pair: pair[0])]
    outcome, _ = crawl_and_ask(in_order, UrlLearner(seed=seed, checks=0.05), 0.0, rng)
    assert outcome.lost == frozenset()
    assert outcome.saved > 0.5


def test_a_parameter_with_few_values_has_no_such_rule() -> None:
    """Three colours are three things, whatever two of them share."""
    learner = UrlLearner(thresholds=SURE, checks=1.0)
    for number in range(60):
        url = f"https://e.com/post?id={number}"
        learner.observe(url, f"post {number}", checked=True)
        for colour in ("red", "green", "blue"):
            learner.observe(f"{url}&color={colour}", f"post {number} coloured", checked=True)
    assert not any(rule.in_force for rule in learner.rules() if rule.parts == ("query:color",) and rule.value == "*")


def test_it_is_remembered_and_no_rule_file_can_hold_it() -> None:
    learner = taught()
    (rule,) = [rule for rule in learner.rules() if rule.in_force and str(rule) == REPLY]
    assert "it is about pages that have a part" in (export_obstacle(rule, own=True) or "")
    assert export_obstacle(rule) is not None
    lasting = learner.lasting_rules("e.com")
    assert (("query:reply",), "*", True) in {(rule.parts, rule.value, rule.holds) for rule in lasting}


def test_a_remembered_one_is_confirmed_by_few_pages() -> None:
    learner = UrlLearner(thresholds=SURE, checks=1.0)
    learner.recall("e.com", [RememberedRule("post", ("query:reply",), "*", holds=True, successes=50)])
    for number in range(6):
        url = f"https://e.com/post?id={number}"
        learner.observe(url, f"post {number}", checked=True)
        for reply in range(2):
            learner.observe(f"{url}&reply={number * 2 + reply}", f"post {number} form", checked=True)
    assert REPLY in {str(rule) for rule in learner.rules() if rule.in_force}


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.0, 0.03])
@pytest.mark.parametrize("differing", [0.05, 0.5, 1.0])
def test_posts_whose_reply_pages_differ_cost_no_page_and_half_of_the_requests_is_saved(
    differing: float, rate: float
) -> None:
    for seed in range(1, 4):
        rng = random.Random(seed)
        pages = noisy(replies(differing, rng), rate, rng)
        outcome, _ = crawl_and_ask(pages, UrlLearner(seed=seed, checks=0.05), rate, rng)
        assert outcome.lost == frozenset()
        assert outcome.saved > (0.35 if rate else 0.4)  # where answers err, two looks are taken at each page


@pytest.mark.slow
@pytest.mark.parametrize("values_matter", [0.02, 0.1])
def test_where_values_matter_now_and_then_nothing_is_lost(values_matter: float) -> None:
    for seed in range(1, 4):
        rng = random.Random(seed)
        pages = replies(1.0, rng, values_matter)
        outcome, _ = crawl_and_ask(pages, UrlLearner(seed=seed, checks=0.05), 0.0, rng)
        assert outcome.lost == frozenset()
