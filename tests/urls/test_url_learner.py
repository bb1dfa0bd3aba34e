"""The learner in small: what one observation says about the next URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scrapy_simdedup.urls import LearnerThresholds, UrlLearner
from scrapy_simdedup.urls.parts import site_name

if TYPE_CHECKING:
    from collections.abc import Sequence

SURE = LearnerThresholds(verify=0.0, verify_low_risk=0.0, verify_floor=0.0)
"""Never verifies, so that a rule in force skips for sure."""


def taught(learner: UrlLearner, pages: int = 40, part: str = "ref=1", host: str = "example.com") -> UrlLearner:
    """A learner that has seen that a parameter does not matter."""
    for number in range(pages):
        learner.observe(f"https://{host}/item?id={number}", f"item {number}")
        learner.observe(f"https://{host}/item?id={number}&{part}", f"item {number}")
    return learner


def test_a_parameter_that_never_changes_the_page_becomes_a_rule() -> None:
    learner = taught(UrlLearner(thresholds=SURE))
    learner.observe("https://example.com/item?id=1000", "item 1000")
    decision = learner.decide("https://example.com/item?id=1000&ref=1")
    assert decision.skip
    assert "query:ref" in decision.rules[0]
    assert learner.known_url(decision) == "https://example.com/item?id=1000"


def test_a_url_whose_bare_form_is_unknown_goes() -> None:
    assert taught(UrlLearner(thresholds=SURE)).decide("https://example.com/item?id=1000&ref=1").action == "go"


def test_a_parameter_that_matters_is_no_rule() -> None:
    learner = UrlLearner(thresholds=SURE)
    for number in range(100):
        assert not learner.decide(f"https://example.com/item?id={number}").skip
        learner.observe(f"https://example.com/item?id={number}", f"item {number}")


def test_twenty_session_ids_of_one_page_prove_nothing() -> None:
    """Evidence counts per content, not per pair of URLs."""
    learner = UrlLearner(thresholds=SURE)
    for number in range(200):
        learner.observe(f"https://example.com/item?id=1&x={number}", "the same")
    learner.observe("https://example.com/item?id=2", "two")
    assert not learner.decide("https://example.com/item?id=2&x=5").skip


def test_one_site_teaches_nothing_about_another() -> None:
    learner = taught(UrlLearner(thresholds=SURE), host="alice.github.io")
    learner.observe("https://bob.github.io/item?id=5", "bob's")
    assert not learner.decide("https://bob.github.io/item?id=5&ref=1").skip


def test_hosts_of_one_site_share_what_each_has_confirmed() -> None:
    """Until then, the URL is fetched late: it probably leads to known content."""
    learner = taught(UrlLearner(thresholds=SURE), host="www.example.co.uk")
    learner.observe("https://www.example.co.uk/item?id=900", "item 900")
    learner.observe("https://shop.example.co.uk/item?id=901", "item 901")
    assert learner.decide("https://shop.example.co.uk/item?id=901&ref=1").action == "deprioritize"
    for number in range(901, 905):
        learner.observe(f"https://shop.example.co.uk/item?id={number}", f"item {number}")
        learner.observe(f"https://shop.example.co.uk/item?id={number}&ref=2", f"item {number}")
    assert learner.decide("https://shop.example.co.uk/item?id=901&ref=1").skip
    assert not learner.decide("https://shop.example.co.uk/item?id=900").skip, "no alias was learned"


def test_a_site_can_be_what_the_caller_says() -> None:
    learner = taught(UrlLearner(thresholds=SURE, site_of=lambda host: host), host="a.example.com")
    learner.observe("https://b.example.com/item?id=5", "five")
    assert not learner.decide("https://b.example.com/item?id=5&ref=1").skip


@pytest.mark.parametrize(
    ("host", "site"),
    [
        ("www.example.com", "example.com"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("alice.github.io", "alice.github.io"),
        ("localhost", "localhost"),
        ("127.0.0.1:8000", "127.0.0.1"),
        ("[::1]:8000", "[::1]"),
        ("[::1]", "[::1]"),
    ],
)
def test_a_site_is_a_registrable_domain(host: str, site: str) -> None:
    assert site_name(host) == site


def test_an_unusable_page_justifies_no_skip() -> None:
    learner = taught(UrlLearner(thresholds=SURE))
    learner.observe("https://example.com/item?id=1000", None)
    assert not learner.decide("https://example.com/item?id=1000&ref=1").skip


def test_the_target_of_a_redirect_passes() -> None:
    """Only what was observed is known: that http leads to https does not make the https page known."""
    learner = UrlLearner(thresholds=SURE)
    for number in range(60):
        learner.observe(f"http://example.com/{number}", f"item {number}")
        learner.observe(f"https://example.com/{number}", f"item {number}")
    assert not learner.decide("https://example.com/1000").skip
    learner.observe("http://example.com/1000", "item 1000")
    assert learner.decide("https://example.com/1000").skip


def test_the_same_url_with_new_content_blames_no_rule() -> None:
    learner = taught(UrlLearner(thresholds=SURE))
    for version in range(50):
        assert learner.observe("https://example.com/item?id=7&ref=1", f"version {version}") == []
    learner.observe("https://example.com/item?id=1000", "item 1000")
    assert learner.decide("https://example.com/item?id=1000&ref=1").skip


def test_tracking_parameters_do_not_matter_from_the_first_request_on() -> None:
    learner = UrlLearner(thresholds=SURE)
    learner.observe("https://example.com/a?id=1", "a")
    for tracking in ("utm_source=x&utm_medium=y", "gclid=Cj0KCQ", "fbclid=IwAR2F4"):
        assert learner.decide(f"https://example.com/a?id=1&{tracking}").skip
    assert not learner.decide("https://example.com/a?id=1&ref=x").skip


def test_a_tracking_parameter_that_matters_after_all_is_a_rule_no_longer() -> None:
    learner = UrlLearner(thresholds=SURE)
    learner.observe("https://example.com/a1", "a1")
    assert learner.decide("https://example.com/a1?gclid=1").skip
    back: list[str] = []
    for number in range(30):
        learner.observe(f"https://example.com/b{number}", f"b{number}")
        back += learner.observe(f"https://example.com/b{number}?gclid=1", f"b{number} for clickers")
    assert back == ["https://example.com/a1?gclid=1"]
    assert not learner.decide("https://example.com/a1?gclid=2").skip


def test_what_is_nearly_a_rule_is_deprioritized() -> None:
    learner = taught(UrlLearner(thresholds=SURE))
    for number in range(100, 103):
        learner.observe(f"https://example.com/item?id={number}", f"item {number}")
        learner.observe(f"https://example.com/item?id={number}&ref=1", f"item {number} by reference")
    learner.observe("https://example.com/item?id=1000", "item 1000")
    decision = learner.decide("https://example.com/item?id=1000&ref=1")
    assert decision.action == "deprioritize"
    assert learner.known_url(decision) == "https://example.com/item?id=1000"


def test_a_rule_that_falls_gives_back_exactly_what_it_skipped() -> None:
    learner = taught(UrlLearner(thresholds=SURE))
    skipped = []
    for number in range(1000, 1300):
        learner.observe(f"https://example.com/item?id={number}", f"item {number}")
        url = f"https://example.com/item?id={number}&ref=1"
        if learner.decide(url).skip:
            skipped.append(url)
    learner.observe("https://example.com/item?id=2000", "item 2000")
    back = learner.observe("https://example.com/item?id=2000&ref=1", "another page")
    back += learner.remaining()
    assert sorted(back) == sorted(skipped)
    assert skipped
    assert learner.remaining() == []


def test_a_rule_is_never_long_without_a_verification() -> None:
    learner = taught(
        UrlLearner(thresholds=LearnerThresholds(verify=0.0, verify_low_risk=0.0, verify_floor=0.0, max_unverified=20))
    )
    run = 0
    for number in range(1000, 1200):
        learner.observe(f"https://example.com/item?id={number}", f"item {number}")
        url = f"https://example.com/item?id={number}&ref=1"
        run = run + 1 if learner.decide(url).skip else 0
        if not run:
            learner.observe(url, f"item {number}")
        assert run <= 20


def test_the_fewer_rules_a_site_has_the_more_often_each_is_verified() -> None:
    def fetched(parts: Sequence[str]) -> int:
        learner = UrlLearner(seed=1)
        for part in parts:
            taught(learner, part=part)
        count = 0
        for number in range(1000, 1400):
            learner.observe(f"https://example.com/item?id={number}", f"item {number}")
            url = f"https://example.com/item?id={number}&ref=1"
            if not learner.decide(url).skip:
                learner.observe(url, f"item {number}")
                count += 1
        return count

    assert fetched(["ref=1"]) > 1.5 * fetched(["ref=1", "hl=1", "view=1", "from=1", "grid=1"])


def test_verifications_that_are_under_way_count_until_their_pages_come() -> None:
    """Else every URL that a new rule explains would be fetched before the first page has come."""
    learner = taught(UrlLearner())
    learner.observe("https://example.com/item?id=1000", "item 1000")
    actions = [learner.decide(f"https://example.com/item?id=1000&ref={number}").action for number in range(100)]
    assert actions[0] == "go"
    assert 2 < actions.count("go") < 50


def test_a_skip_that_was_right_counts_though_its_content_was_verified_before() -> None:
    """A post has many links to reply, so that its content is met again and again."""
    learner = taught(UrlLearner(seed=1))
    learner.observe("https://example.com/item?id=1000", "item 1000")

    def fetched(first: int) -> int:
        count = 0
        for number in range(first, first + 200):
            url = f"https://example.com/item?id=1000&ref={number}"
            if not learner.decide(url).skip:
                learner.observe(url, "item 1000")
                count += 1
        return count

    for word in range(30):
        learner.observe(f"https://example.com/item?id={word}&ref={word}", f"item {word}")
    before = fetched(5000)
    assert fetched(6000) < 0.8 * before


def test_one_fetch_verifies_all_the_rules_it_can() -> None:
    """The more rules a skip rests on, the more likely it is to be verified."""

    def fetched(part: str) -> int:
        learner = UrlLearner(seed=1)
        for each in ("ref=1", "view=1"):
            taught(learner, part=each, pages=60)
        learner.observe("https://example.com/item?id=1000", "item 1000")
        url = f"https://example.com/item?id=1000&{part}"
        return sum(not learner.decide(url, dry=True).skip for _ in range(2000))

    assert fetched("ref=1&view=1") > 1.3 * fetched("ref=1")


@pytest.mark.parametrize("first", ["/print", ""])
def test_a_rule_falls_whichever_of_two_unlike_pages_is_met_first(first: str) -> None:
    second = "/print" if not first else ""
    learner = UrlLearner(thresholds=SURE)
    for number in range(40):
        learner.observe(f"https://example.com/story/{number}-a", f"story {number}")
        learner.observe(f"https://example.com/story/{number}-a/print", f"story {number}")
    url = "https://example.com/story/1000-a"
    learner.observe(url + first, "one page")
    assert learner.decide(url + second).skip
    learner.observe(url + second, "another page")
    assert not any(rule.in_force for rule in learner.rules())


def test_not_more_than_a_share_of_a_site_is_skipped() -> None:
    learner = UrlLearner(
        thresholds=LearnerThresholds(verify=0.0, verify_low_risk=0.0, verify_floor=0.0, max_skipped=0.5)
    )
    learner.observe("https://example.com/a", "a")
    skipped = sum(learner.decide(f"https://example.com/a?gclid={n}").skip for n in range(1000))
    assert 0 < skipped < 100


def test_a_hint_makes_learning_faster_but_is_not_believed() -> None:
    def trials_until_skip(hinted: bool) -> int:
        learner = UrlLearner(thresholds=SURE)
        if hinted:
            learner.hint("https://example.com/item?id=1&ref=1", "https://example.com/item?id=1")
            assert not learner.decide("https://example.com/item?id=1&ref=1").skip
        for number in range(100):
            learner.observe(f"https://example.com/item?id={number}", f"item {number}")
            if learner.decide(f"https://example.com/item?id={number}&ref=1").skip:
                return number
            learner.observe(f"https://example.com/item?id={number}&ref=1", f"item {number}")
        raise AssertionError("nothing was learned")

    assert trials_until_skip(True) < trials_until_skip(False)


def test_a_false_hint_loses_nothing() -> None:
    learner = UrlLearner(thresholds=SURE)
    for number in range(60):
        learner.hint(f"https://example.com/list?page={number}", "https://example.com/list")
        learner.hint(f"https://example.com/list?page={number}", "https://other.example/list")
        learner.hint("not a URL", "https://example.com/")
        assert not learner.decide(f"https://example.com/list?page={number}").skip
        learner.observe(f"https://example.com/list?page={number}", f"page {number}")
