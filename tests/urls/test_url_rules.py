"""Rules go in and out as plain values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scrapy_simdedup.errors import SettingError
from scrapy_simdedup.urls import GivenRule, LearnerThresholds, UrlLearner, export_rules, load_rules
from scrapy_simdedup.urls.given import GivenRules, UrlPattern
from scrapy_simdedup.urls.parts import TRACKING_PARAMETERS

SURE = LearnerThresholds(verify=0.0, verify_low_risk=0.0, verify_floor=0.0)


def rule(processor: str, *args: Any, include: tuple[str, ...] = ("example.com",), order: int = 1) -> GivenRule:
    return GivenRule(include, (), processor, args, order)


@pytest.mark.parametrize(
    ("pattern", "url", "matches"),
    [
        ("example.com", "http://example.com/a", True),
        ("example.com", "https://shop.example.com/a?b=1", True),
        ("example.com", "http://myexample.com/", False),
        ("example.com/", "http://www.example.com/a", True),
        ("example.com/", "http://shop.example.com/a", False),
        ("example.com/a", "http://example.com/abc", True),
        ("example.com/a|", "http://example.com/abc", False),
        ("example.com/a|", "http://example.com/A", True),
        ("/images/*.jpg|", "http://any.example/images/x/y.jpg", True),
        ("/images/*.jpg|", "http://any.example/images/y.jpeg", False),
        ("https://example.com/", "http://example.com/", False),
        ("?id=*", "http://any.example/x?a=1&ID=7", True),
        ("?id=3&id=4", "http://any.example/x?id=4", True),
        ("?id=3", "http://any.example/x?id=33", False),
        ("/p|?cat=*&id=1", "http://any.example/p?id=1", False),
    ],
)
def test_patterns_say_what_they_say_in_url_matcher(pattern: str, url: str, matches: bool) -> None:
    assert UrlPattern(pattern).matches(url) == matches


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("", "", True),
        ("", "a", False),
        ("a/<number>", "a/7", True),
        ("a/<number>", "a/b", False),
        ("a/<slug>", "a/how-to-boil-an-egg", True),
        ("a/<slug>", "a/7", False),
        ("a/*", "a/b", True),
        ("a/*", "a/7", False),
        ("a/**", "a/b/c", True),
        ("a/**", "a", False),
        ("**", "", True),
        ("a/b/c/d/e/f/g/h", "a/b/c/d/e/f/g/h/i", True),
        ("/".join(["<number>"] * 8), "1/2/3/4/5/6/7/8/9", True),
    ],
)
def test_a_rule_holds_for_its_kind_of_path(pattern: str, path: str, matches: bool) -> None:
    given = GivenRules([GivenRule(("example.com",), (), "partRemoval", ("query:a=1",), 1, pattern)])
    segments = tuple(path.split("/")) if path else ()
    parts = {"query:a": "1", "query:b": "1"}
    renamed = given.rename_parts(f"http://example.com/{path}", segments, parts)
    assert ("query:a" not in renamed) == matches
    assert "query:b" in renamed
    assert given.rename_parts(f"http://example.com/{path}", segments, {"query:a": "2"}) == {"query:a": "2"}


def test_our_own_rules_come_out_as_they_went_in() -> None:
    own = GivenRule(("example.com",), (), "partRemoval", ("query:a=1", "slash"), 3, "a/<number>")
    assert load_rules(json.dumps([own.to_dict()])) == [own]


@pytest.mark.parametrize(
    ("given", "url", "left"),
    [
        (rule("queryRemoval", "ref", "b c"), "http://example.com/?a=1&b+c=2&ref=3", "http://example.com/?a=1"),
        (rule("queryRemoval", "ref"), "http://example.com/?ref=3", "http://example.com/"),
        (rule("queryRemovalExcept", "a"), "http://example.com/?a=1&b=2&c=3", "http://example.com/?a=1"),
        (rule("subpathRemoval", 0, 2), "http://example.com/a/b/c/d", "http://example.com/b/d"),
        (rule("normalizer"), "http://www2.example.com/a/", "http://example.com/a"),
        (rule("queryRemoval", "ref"), "http://other.example/?ref=3", "http://other.example/?ref=3"),
    ],
)
def test_a_given_rule_removes_what_it_says(given: GivenRule, url: str, left: str) -> None:
    after, removed = GivenRules([given]).apply(url)
    assert after == left
    assert bool(removed) == (left != url)


def test_universal_rules_yield_to_any_rule_about_a_url() -> None:
    rules = GivenRules([rule("queryRemoval", "a", include=()), rule("queryRemoval", "b")])
    assert rules.apply("http://other.example/?a=1&b=2")[0] == "http://other.example/?b=2"
    assert rules.apply("http://example.com/?a=1&b=2")[0] == "http://example.com/?a=1"


def test_an_excluded_url_is_left_alone() -> None:
    given = GivenRule(("example.com",), ("example.com/keep",), "queryRemoval", ("a",), 1)
    assert GivenRules([given]).apply("http://example.com/keep?a=1")[0] == "http://example.com/keep?a=1"


def test_given_rules_work_from_the_first_request_on() -> None:
    learner = UrlLearner(thresholds=SURE, rules=[rule("queryRemoval", "color"), rule("normalizer", order=2)])
    learner.observe("https://www.example.com/shoe/?id=1&color=red", "shoe")
    decision = learner.decide("https://example.com/shoe?id=1&color=blue")
    assert decision.skip
    assert {name.partition("(")[0] for name in decision.rules} == {"given:queryRemoval", "given:normalizer"}
    assert not learner.decide("https://example.com/shoe?id=2&color=blue").skip


def test_a_given_rule_is_seldom_verified() -> None:
    """Who wrote it knows the site; of what was learned the learner cannot be as sure."""
    learner = UrlLearner(rules=[rule("queryRemoval", "color", include=())])
    verified = 0
    for number in range(1000):
        learner.observe(f"https://example.com/shoe{number}", f"shoe {number}")
        if not learner.decide(f"https://example.com/shoe{number}?color=blue").skip:
            verified += 1
            learner.observe(f"https://example.com/shoe{number}?color=blue", f"shoe {number}")
    assert 0 < verified < 50


def test_a_given_rule_that_is_wrong_for_a_site_falls_there_and_gives_back_what_it_skipped() -> None:
    learner = UrlLearner(thresholds=SURE, rules=[rule("queryRemoval", "color", include=())])
    learner.observe("https://example.com/shoe?color=red", "red shoe")
    assert learner.decide("https://example.com/shoe?color=blue").skip
    back: list[str] = []
    for number in range(20):
        for color in ("red", "blue"):
            back += learner.observe(f"https://example.com/shirt{number}?color={color}", f"{color} shirt {number}")
    assert back == ["https://example.com/shoe?color=blue"]
    assert not learner.decide("https://example.com/shoe?color=green").skip


@pytest.mark.parametrize(
    "wrong",
    [
        "{}", "no JSON", "[1]", '[{"processor": "queryRemoval"}]',
        '[{"order": 1, "urlPattern": {"include": []}, "processor": "unknown"}]',
        '[{"order": 1, "urlPattern": {"include": []}, "processor": "queryRemoval", "args": [1]}]',
        '[{"order": 1, "urlPattern": {"include": [1]}, "processor": "normalizer"}]',
        '[{"order": 1, "urlPattern": ["example.com"], "processor": "normalizer"}]',
    ],
)  # fmt: skip
def test_a_rule_file_that_cannot_be_used_says_what_to_write(wrong: str) -> None:
    with pytest.raises(SettingError, match="queryRemoval"):
        load_rules(wrong)


def test_rules_survive_a_round_trip_through_a_file() -> None:
    rules = [rule("queryRemoval", "a", "b"), rule("normalizer"), GivenRule((), ("x.com",), "subpathRemoval", (1,), 3)]
    assert load_rules(json.dumps([r.to_dict() for r in rules])) == rules


def test_learned_rules_show_their_evidence_and_can_be_exported() -> None:
    learner = UrlLearner(thresholds=SURE)
    for number in range(40):
        for path in ("viewtopic.php", "printthread.php"):
            learner.observe(f"https://www.example.com/{path}?t={number}", f"{path} {number}")
            learner.observe(f"https://www.example.com/{path}?t={number}&hl=x{number % 9}", f"{path} {number}")
    learner.observe("https://www.example.com/viewtopic.php?t=1000", "last")
    assert learner.decide("https://www.example.com/viewtopic.php?t=1000&hl=y").skip
    found = {(r.pattern, str(r)): r for r in learner.rules()}
    shown = found["viewtopic.php", "query:hl"]
    assert (shown.in_force, shown.given, shown.failures, shown.skipped) == (True, False, 0, 1)
    assert shown.successes > 10
    assert [str(r) for r in learner.rules() if r.in_force].count("query:hl") == 2

    exported = export_rules(learner.rules())
    assert [(r.include, r.args) for r in exported] == [
        (("example.com/printthread.php|",), ("hl",)),
        (("example.com/viewtopic.php|",), ("hl",)),
    ]
    again = GivenRules(load_rules(json.dumps([r.to_dict() for r in exported])))
    assert (
        again.apply("https://www.example.com/viewtopic.php?hl=1&t=5")[0] == "https://www.example.com/viewtopic.php?t=5"
    )
    assert again.apply("https://www.example.com/other.php?hl=1&t=5")[0] == "https://www.example.com/other.php?hl=1&t=5"


def test_counter_examples_are_kept_with_a_refuted_rule() -> None:
    learner = UrlLearner(thresholds=SURE)
    for number in range(40):
        learner.observe(f"https://example.com/view?t={number}", f"{number}")
        shown = f"{number} full" if number > 30 else f"{number}"
        learner.observe(f"https://example.com/view?t={number}&full=1", shown)
    refuted = [r for r in learner.rules() if not r.in_force and "full" in str(r)]
    assert refuted
    assert {"full=1" in url for r in refuted for url in r.counter_examples} == {True}
    assert export_rules(learner.rules()) == []


def test_every_tracking_parameter_names_its_source() -> None:
    assert all(source.startswith("https://") for source in TRACKING_PARAMETERS.values())
    assert not {"ref", "id", "page", "s", "sid"} & set(TRACKING_PARAMETERS)
