"""What a rule says of a parameter is not believed of words, and beside parameters, that hardly any page had."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from helpers.simulated_crawl import Page, crawl_and_ask, in_crawl_order, noisy, same
from scrapy_simdedup.urls import LearnerThresholds, UrlLearner

SURE = LearnerThresholds(verify=0.0, verify_low_risk=0.0, verify_floor=0.0)
URL = "https://code.example/commit"


@in_crawl_order
def commits(rng: random.Random, moved: float) -> Iterator[list[Page]]:
    """A commit is the same in whichever branch, but for those that were moved; without an id it is the latest."""
    yield [Page(f"{URL}?branch={branch}", f"latest of {branch}") for branch in ("main", "old", "new")]
    for number in range(300):
        url = f"{URL}?id={number}"
        own = same(f"commit {number}", url, f"{url}&branch=main", f"{url}&branch=old")
        if rng.random() < moved:
            own.append(Page(f"{url}&branch=new", f"commit {number} as it was moved"))
        yield own


def taught() -> UrlLearner:
    """A learner that knows thirty commits in two branches."""
    learner = UrlLearner(thresholds=SURE, checks=1.0)
    for number in range(30):
        for more in ("", "&branch=main", "&branch=old"):
            learner.observe(f"{URL}?id={number}{more}", f"commit {number}")
    learner.observe(f"{URL}?id=100", "commit 100")
    return learner


def test_words_that_many_pages_had_are_believed() -> None:
    assert taught().decide(f"{URL}?id=100&branch=old").skip


def test_a_word_that_no_page_had_is_tried_first() -> None:
    learner = taught()
    assert learner.decide(f"{URL}?id=100&branch=new").action == "go"
    for number in (1, 2):
        learner.observe(f"{URL}?id={number}&branch=new", f"commit {number}")
    assert learner.decide(f"{URL}?id=100&branch=new").skip


def test_a_campaign_that_changes_nothing_is_believed_where_another_changes_the_page() -> None:
    learner = UrlLearner(thresholds=SURE)
    for number in range(30):
        for campaign, shown in (("", ""), ("&utm_source=news", ""), ("&utm_source=ad", " with an offer")):
            learner.observe(f"{URL}?id={number}{campaign}", f"commit {number}{shown}")
    learner.observe(f"{URL}?id=100", "commit 100")
    assert learner.decide(f"{URL}?id=100&utm_source=ad").action == "go"
    assert learner.decide(f"{URL}?id=100&utm_source=news").skip


def test_a_word_is_tried_beside_each_word_of_another_parameter() -> None:
    """In full and the newest first, a list shows more, which neither does alone; nor does any other pair."""
    learner = UrlLearner(thresholds=SURE, checks=1.0)
    for number in range(30):
        for more in (
            "",
            "&view=short",
            "&view=full",
            "&sort=old",
            "&sort=new",
            "&view=short&sort=new",
            "&view=full&sort=old",
        ):
            learner.observe(f"{URL}?id={number}{more}", f"commit {number}")
    learner.observe(f"{URL}?id=100", "commit 100")
    assert learner.decide(f"{URL}?id=100&view=full&sort=old").skip
    assert learner.decide(f"{URL}?id=100&view=full&sort=new").action == "go"
    for number in (50, 51):
        learner.observe(f"{URL}?id={number}", f"commit {number}")
        learner.observe(f"{URL}?id={number}&view=full&sort=new", f"commit {number} with all")
    assert learner.decide(f"{URL}?id=100&view=full&sort=new").action == "go"


@pytest.mark.parametrize(
    ("translated", "pages", "believed"), [({"de": 2}, 60, False), ({"de": 1}, 60, True), ({"de": 2}, 470, True)]
)
def test_a_word_is_doubted_while_another_changes_some_pages(
    translated: dict[str, int], pages: int, *, believed: bool
) -> None:
    """Into German every second page is translated, so that one may be into Japanese as well."""
    learner = UrlLearner(thresholds=SURE)
    for number in range(pages):
        learner.observe(f"{URL}?id={number}", f"commit {number}")
        for language in ("de", "ja"):
            own = f" in {language}" if number % translated.get(language, pages) == 0 and number else ""
            learner.observe(f"{URL}?id={number}&hl={language}", f"commit {number}{own}")
    learner.observe(f"{URL}?id=1000", "commit 1000")
    assert learner.decide(f"{URL}?id=1000&hl=ja").skip is believed


def test_of_many_words_no_other_needs_to_be_tried() -> None:
    """Such are the words that a forum highlights."""
    learner = UrlLearner(thresholds=SURE, checks=1.0)
    for number in range(30):
        for more in ("", f"&hl={'abcdefghijkl'[number % 12]}"):
            learner.observe(f"{URL}?id={number}{more}", f"commit {number}")
    learner.observe(f"{URL}?id=100", "commit 100")
    assert learner.decide(f"{URL}?id=100&hl=z").skip


def test_numbers_are_no_words() -> None:
    """Each page has another number, and trying each would save nothing."""
    learner = UrlLearner(thresholds=SURE, checks=1.0)
    for number in range(30):
        for more in ("", f"&reply={2 * number}", f"&reply={2 * number + 1}"):
            learner.observe(f"{URL}?id={number}{more}", f"commit {number}")
    learner.observe(f"{URL}?id=100", "commit 100")
    assert learner.decide(f"{URL}?id=100&reply=900").skip


def test_a_parameter_alone_is_tried_where_it_always_stood_beside_another() -> None:
    learner = taught()
    learner.observe(URL, "latest of main")
    assert learner.decide(f"{URL}?branch=old").action == "go"
    learner.observe(f"{URL}?branch=old", "latest of old", checked=True)
    assert not learner.decide(f"{URL}?branch=main").skip


def test_a_value_is_tried_where_it_stands_beside_a_parameter_that_no_page_had() -> None:
    """That marks another kind of page: a topic with a poll, a set of products."""
    learner = UrlLearner(thresholds=SURE, checks=1.0)
    for number in range(30):
        for more in ("", "&print=1"):
            learner.observe(f"{URL}?id={number}{more}", f"commit {number}")
    learner.observe(f"{URL}?id=100", "commit 100")
    learner.observe(f"{URL}?id=100&poll=1", "commit 100 with a poll")
    assert learner.decide(f"{URL}?id=100&print=1").skip
    assert learner.decide(f"{URL}?id=100&poll=1&print=1").action == "go"


def test_an_ending_that_many_pages_had_is_believed() -> None:
    learner = UrlLearner(thresholds=SURE, checks=1.0)
    for number in range(30):
        for more in ("", "/amp"):
            learner.observe(f"https://e.com/story/{number}{more}", f"story {number}")
    learner.observe("https://e.com/story/100", "story 100")
    learner.observe("https://e.com/story/100?poll=1", "story 100 with a poll")
    assert learner.decide("https://e.com/story/100/amp").skip
    assert learner.decide("https://e.com/story/100/amp?poll=1").action == "go"


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.0, 0.03])
@pytest.mark.parametrize("moved", [0.0, 0.02])
def test_nothing_is_lost_where_a_rule_is_wrong_for_one_word_or_where_another_parameter_is_missing(
    moved: float, rate: float
) -> None:
    for seed in range(1, 7):
        rng = random.Random(seed)
        pages = noisy(commits(rng, moved), rate, rng)
        outcome, _ = crawl_and_ask(pages, UrlLearner(seed=seed, checks=0.05), rate, rng)
        assert outcome.lost == frozenset()


def test_a_tracking_parameter_is_tried_first_in_each_section() -> None:
    """What a campaign links to matters on the pages of its offers alone."""
    learner = UrlLearner(thresholds=SURE, checks=1.0)
    for name in ("tents", "boots", "ropes"):
        url = f"https://code.example/offer/{name}"
        learner.observe(url, name)
        assert learner.decide(f"{url}?utm_campaign=spring").action == "go"
        learner.observe(f"{url}?utm_campaign=spring", f"{name} in spring")


COLOURS = "red green blue black white grey pink brown".split()


def taught_colours(*, wrong: float) -> UrlLearner:
    """Fifteen things: red ones are like the thing without a colour, of the other colours a share is not."""
    learner = UrlLearner(thresholds=SURE)
    rng = random.Random(1)
    for number in range(15):
        learner.observe(f"{URL}?id={number}", f"thing {number}")
        for colour in COLOURS:
            differs = colour != "red" and rng.random() < wrong
            learner.observe(f"{URL}?id={number}&color={colour}", f"thing {number}" + f" {colour}" * differs)
    return learner


def test_a_value_is_no_default_that_may_be_like_the_others_and_was_right_by_chance() -> None:
    rules = {str(rule) for rule in taught_colours(wrong=0.2).rules() if rule.in_force}
    assert "query:color=red" not in rules


def test_a_value_is_the_default_where_the_others_show_other_pages() -> None:
    rules = {str(rule) for rule in taught_colours(wrong=0.9).rules() if rule.in_force}
    assert "query:color=red" in rules
