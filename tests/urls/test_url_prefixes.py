"""First segments of which pages show what others show without them are found, and what they mean is learned."""

from __future__ import annotations

from scrapy_simdedup.urls import LearnerThresholds, UrlLearner, export_own_rules
from scrapy_simdedup.urls.parts import split_url
from scrapy_simdedup.urls.patterns import MAX_COMPARED, MIN_CONTENTS

SURE = LearnerThresholds(verify=0.0, verify_low_risk=0.0, verify_floor=0.0)
ROOT = "https://e.com"


def taught(
    learner: UrlLearner, contents: int, *, prefix: str = "mirror", first: str = "", root: str = ROOT
) -> UrlLearner:
    """Tell of so many pages with and without a prefix, of which ``first`` comes first."""
    for number in range(contents):
        for segment in (first, *({"", f"/{prefix}"} - {first})):
            learner.observe(f"{ROOT}{segment}/shop/item-{number}", f"item {number}")
    return learner


def prefixes(learner: UrlLearner) -> frozenset[str]:
    return learner._sites["e.com"].prefixes.adopted


def in_force(learner: UrlLearner) -> set[str]:
    return {str(rule) for rule in learner.rules() if rule.in_force}


def test_a_prefix_is_a_part_of_the_url() -> None:
    parts = split_url(f"{ROOT}/amp/Mirror/en/shop/item-1", None, frozenset({"mirror"}))
    assert parts is not None
    assert parts.segments == ("shop", "item-1")
    assert dict(parts.parts) == {"view": "amp@0", "prefix": "mirror", "locale": "en"}
    alone = split_url(f"{ROOT}/mirror", None, frozenset({"mirror"}))
    assert alone is not None
    assert alone.segments == ("mirror",)


def test_pages_with_and_without_a_first_segment_make_it_a_prefix_whichever_come_first() -> None:
    for first in ("", "/mirror"):
        learner = taught(UrlLearner(), MIN_CONTENTS - 1, first=first)
        assert prefixes(learner) == frozenset()
        assert prefixes(taught(learner, MIN_CONTENTS, first=first)) == {"mirror"}


def test_it_is_skipped_once_as_many_pages_as_for_any_other_part_were_the_same_without_it() -> None:
    learner = taught(UrlLearner(thresholds=SURE), 7)
    learner.observe(f"{ROOT}/shop/item-100", "item 100")
    assert not learner.decide(f"{ROOT}/mirror/shop/item-100").skip
    taught(learner, 12)
    assert "prefix=mirror" in in_force(learner)
    assert learner.decide(f"{ROOT}/mirror/shop/item-100").skip


def test_pages_from_before_it_was_found_speak_for_and_against_it() -> None:
    """Where a prefix leads to other pages as well, these are trials, too."""
    learner = UrlLearner(thresholds=SURE)
    for number in range(100, 120):
        learner.observe(f"{ROOT}/shop/item-{number}", f"item {number}")
        learner.observe(f"{ROOT}/mirror/shop/item-{number}", f"item {number} in the mirror")
    taught(learner, 20)
    assert prefixes(learner) == {"mirror"}
    assert "prefix=mirror" not in in_force(learner)
    assert not learner.decide(f"{ROOT}/mirror/shop/item-200").skip


def test_a_section_of_which_no_page_is_elsewhere_is_none() -> None:
    learner = UrlLearner()
    for number in range(40):
        learner.observe(f"{ROOT}/shop/item-{number}", f"item {number}")
        learner.observe(f"{ROOT}/blog/shop/item-{number}", f"post {number}")
        learner.observe(f"{ROOT}/blog/about/item-{number}", f"item {number}")
    assert prefixes(learner) == frozenset()


def test_numbers_and_session_ids_are_none() -> None:
    for segment in ("2024", "0123456789abcdef0123"):
        assert prefixes(taught(UrlLearner(), 10, prefix=segment)) == frozenset()


def test_no_more_than_some_repeats_are_compared() -> None:
    learner = UrlLearner()
    for number in range(MAX_COMPARED):
        learner.observe(f"{ROOT}/shop/item-{number}", f"item {number}")
        learner.observe(f"{ROOT}/mirror/other-{number}", f"item {number}")
    assert prefixes(taught(learner, 10)) == frozenset()


def test_a_remembered_rule_and_one_of_a_file_know_their_prefix() -> None:
    learner = taught(UrlLearner(thresholds=SURE), 20)
    again = UrlLearner(thresholds=SURE)
    again.recall("e.com", learner.lasting_rules("e.com"))
    taught(again, 4)
    assert "prefix=mirror" in in_force(again)

    given = UrlLearner(thresholds=SURE, rules=export_own_rules(learner.rules()))
    given.observe(f"{ROOT}/shop/item-1", "item 1")
    assert given.decide(f"{ROOT}/mirror/shop/item-1").skip


def test_equal_observations_find_equal_prefixes() -> None:
    """So a resumed crawl, and each worker of a run, has the same."""
    one, other = (taught(UrlLearner(seed=1), 30, first="/mirror") for _ in range(2))
    urls = [f"{ROOT}{segment}/shop/item-{n}?ref=1" for n in range(30) for segment in ("", "/mirror")]
    assert [one.decide(url) for url in urls] == [other.decide(url) for url in urls]
