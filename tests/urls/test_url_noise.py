"""A third page tells a rule that is wrong from a fingerprint that errs."""

from __future__ import annotations

import pytest

from scrapy_simdedup.urls import LearnerThresholds, UrlLearner
from scrapy_simdedup.urls.evidence import LOWER, Evidence, wilson_bound
from scrapy_simdedup.urls.noise import Noise
from scrapy_simdedup.urls.rule_book import RuleBook, RuleTests

SURE = LearnerThresholds(verify=0.0, verify_low_risk=0.0, verify_floor=0.0)
ALWAYS = LearnerThresholds(verify_floor=1.0)
"""Verifies every skip."""


def taught(learner: UrlLearner) -> UrlLearner:
    for number in range(40):
        url = f"https://e.com/item?id={number}"
        for other in (url, f"{url}&ref=1", f"{url}&ref=2", f"{url}&hl=a", f"{url}&view=x", f"{url}&gclid=1"):
            learner.observe(other, f"item {number}")
    return learner


def in_force(learner: UrlLearner, rule: str) -> bool:
    return any(r.in_force and str(r) == rule for r in learner.rules() if r.pattern != "**")


def test_on_a_site_without_noise_a_single_failure_refutes_a_rule() -> None:
    learner = taught(UrlLearner(thresholds=SURE))
    assert in_force(learner, "query:view=x")
    learner.observe("https://e.com/item?id=100", "item 100")
    learner.observe("https://e.com/item?id=100&view=x", "item 100 viewed")
    assert not in_force(learner, "query:view=x")


def test_a_failure_that_a_third_page_proves_to_be_noise_is_forgiven() -> None:
    """The page without the part is the odd one: one with another part agrees with the one that has it."""
    learner = taught(UrlLearner(thresholds=SURE))
    learner.observe("https://e.com/item?id=100", "noise")
    learner.observe("https://e.com/item?id=100&view=x", "item 100")
    assert not in_force(learner, "query:view=x")
    learner.observe("https://e.com/item?id=100&gclid=2", "item 100")
    assert in_force(learner, "query:view=x")
    assert learner._sites["e.com"].noise.proven_count == 1


def test_a_third_page_on_the_other_side_proves_nothing() -> None:
    learner = taught(UrlLearner(thresholds=SURE))
    learner.observe("https://e.com/item?id=100", "item 100")
    learner.observe("https://e.com/item?id=100&view=x", "item 100 viewed")
    learner.observe("https://e.com/item?id=100&gclid=2", "item 100")
    learner.observe("https://e.com/item?id=100&view=x&gclid=3", "item 100 viewed")
    assert not in_force(learner, "query:view=x")
    assert learner._sites["e.com"].noise.proven_count == 0


def test_what_only_two_parts_do_together_is_no_noise() -> None:
    """Such as a year and a month: each alone changes nothing."""
    learner = taught(UrlLearner(thresholds=SURE))
    learner.observe("https://e.com/item?id=100&hl=a", "item 100")
    learner.observe("https://e.com/item?id=100&hl=a&view=x", "archive of item 100")
    learner.observe("https://e.com/item?id=100&view=x", "item 100")
    assert not in_force(learner, "query:view=x")
    assert learner._sites["e.com"].noise.proven_count == 0


def test_what_two_parts_do_together_is_no_noise_once_one_of_them_was_cleared() -> None:
    learner = taught(UrlLearner(thresholds=ALWAYS))
    learner.observe("https://e.com/item?id=100", "item 100")
    learner.observe("https://e.com/item?id=100&hl=a&view=x", "archive of item 100")  # is it hl, or view?
    learner.observe("https://e.com/item?id=100&hl=a", "item 100")  # it is not hl alone
    learner.observe("https://e.com/item?id=100&view=x", "item 100")
    assert learner._sites["e.com"].noise.proven_count == 0


def test_of_two_suspects_the_one_is_cleared_that_a_third_page_shows_to_be_innocent() -> None:
    learner = taught(UrlLearner(thresholds=ALWAYS))
    learner.observe("https://e.com/item?id=100&hl=a", "item 100")
    learner.observe("https://e.com/item?id=100&view=x", "item 100 viewed")  # is it hl, or view?
    learner.observe("https://e.com/item?id=100", "item 100")
    assert in_force(learner, "query:hl=a")
    assert not in_force(learner, "query:view=x")


def evidence(successes: int, failures: int) -> Evidence:
    made = Evidence()
    made.successes, made.failures = successes, failures
    made.update_likely()
    return made


@pytest.mark.parametrize(
    ("share", "successes", "failures", "explained"),
    [
        (0.0, 30, 0, True),
        (0.0, 30, 1, False),
        (0.0, 2000, 1, True),
        (0.0, 200, 8, False),
        (0.02, 200, 5, True),
        (0.02, 200, 16, False),
        (0.10, 100, 12, True),
    ],
)
def test_noise_explains_as_many_failures_as_it_causes(
    share: float, successes: int, failures: int, explained: bool
) -> None:
    noise = Noise()
    noise.share = share
    assert noise.explains(evidence(successes, failures), random=False) == explained


def test_failures_at_one_pattern_alone_are_not_judged_once_more_above_it() -> None:
    """A rule in force may have more of them than one that is new, as it does at its pattern; above it is none."""
    learner = taught(UrlLearner(thresholds=SURE))
    site = learner._sites["e.com"]
    site.noise.proven_count, site.noise.share = 5, 0.02
    leaf, rule = site.tree.leaves["item"], site.hypotheses.parts["query:view"].values["x"]
    for found in (pattern.evidence[rule] for pattern in leaf.lineage):
        found.successes, found.failures = 200, 10
        found.decayed_same, found.decayed_different = 200.0, 10.0
    assert not site.noise.explains(leaf.lineage[-1].evidence[rule], random=False)
    assert not RuleTests(site).must_fall(leaf, rule, leaf.evidence[rule])


def test_noise_is_what_the_median_part_has_and_none_before_any_is_proven() -> None:
    noise = Noise()
    parts = [evidence(100, 0), evidence(98, 2), evidence(95, 5)]
    noise.estimate(parts)
    assert noise.share == 0
    noise.proven_count = 1
    noise.estimate(parts)
    assert 0.015 < noise.share < 0.03


def test_parts_that_matter_on_the_same_pages_are_no_noise_where_another_hardly_fails() -> None:
    """Such as two parameters that both show all of an article."""
    noise = Noise()
    noise.proven_count = 1
    noise.estimate([evidence(88, 12), evidence(88, 12), evidence(390, 4)])
    assert noise.share < 0.03


def test_a_page_that_erred_counts_once_however_many_urls_it_is_compared_under() -> None:
    learner = UrlLearner(thresholds=SURE)
    for number in range(4):
        learner.observe(f"https://e.com/item?id=1&view=x&page={number}", "item 1")
        learner.observe(f"https://e.com/item?id=1&page={number}", "noise")
    (failures,) = {r.failures for r in trials(learner, "query:view")}
    assert failures == 1


def trials(learner: UrlLearner, part: str) -> list[Evidence]:
    site = learner._sites["e.com"]
    return [site.tree.leaves["item"].evidence[h] for h in (site.hypotheses.parts[part].irrelevant,) if h is not None]


@pytest.mark.parametrize("checks", [0.0, 1.0])
def test_once_a_rule_fell_tracking_parameters_tell_whether_that_was_noise(checks: float) -> None:
    learner = taught(UrlLearner(thresholds=SURE, checks=checks))
    learner.observe("https://e.com/item?id=100", "item 100")
    tracked = "https://e.com/item?id=100&gclid=2"
    assert learner.decide(tracked).skip
    for url, content in (("item?id=101", "item 101"), ("item?id=101&view=x", "item 101 changed")):
        learner.observe(f"https://e.com/{url}", content, checked=True)
    assert not learner.decide(tracked).skip
    learner.observe(tracked, "noise")
    for question in learner.questions():
        learner.observe(question.url, "noise" if question.url == tracked else "item 100")
    for question in learner.questions():
        learner.observe(question.url, "item 100")
    assert learner._sites["e.com"].noise.proven_count == 1
    learner.observe("https://e.com/item?id=103", "item 103")
    assert learner.decide("https://e.com/item?id=103&gclid=2").skip


def test_failures_that_noise_explains_do_not_make_a_rule_more_doubtful() -> None:
    site = taught(UrlLearner(thresholds=SURE))._sites["e.com"]
    site.noise.share = 0.01
    for site.noise.proven_count, verified in ((0, 50), (1, 100)):
        rule = evidence(200, 1)
        rule.verified = 100
        RuleBook(site)._fail(rule, "https://e.com/item?id=1&view=x", 1.0)
        assert rule.verified == verified


def test_successes_of_a_content_that_has_its_share_count_for_how_often_pages_err() -> None:
    """Each of twenty URLs of a page errs as often as the only URL of another does."""
    many, few = evidence(300, 12), evidence(300, 12)
    many.surplus = 1000
    assert 3 * many.failure_rate < few.failure_rate
    noise = Noise()
    noise.share = 0.01
    assert noise.explains(many, random=False)
    assert not noise.explains(few, random=False)
    noise.share = 0.0
    assert not noise.explains(many, random=False)


@pytest.mark.parametrize(("same", "different"), [(0, 0), (1, 0), (11, 0), (24, 0), (24, 1), (1000, 50)])
def test_the_lower_bound_is_below_the_share_and_grows_with_evidence(same: int, different: int) -> None:
    bound = wilson_bound(same, different, LOWER)
    assert 0 <= bound <= same / max(1, same + different)
    assert wilson_bound(same * 2, different * 2, LOWER) >= bound
