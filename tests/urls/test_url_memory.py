"""What a crawl found out about URLs is left to the next one, where a few pages have to confirm it."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from helpers import misleading_sites, platform_sites
from helpers.simulated_crawl import Outcome, Page, crawl_and_ask
from scrapy_simdedup.urls import RememberedRule, RememberedRules, UrlLearner
from scrapy_simdedup.urls.rules import MAX_RULES

SITE = "e.com"
BY_VIEW = RememberedRule("item", ("query:view",), None, True, 40)


def recalling(*rules: RememberedRule) -> UrlLearner:
    learner = UrlLearner()
    learner.recall(SITE, rules)
    return learner


def read(learner: UrlLearner, numbers: range, *, another: bool = False) -> None:
    """Observe items, each under two URLs that differ in ``view``."""
    for number in numbers:
        learner.observe(f"https://e.com/item?id={number}", f"item {number}")
        learner.observe(f"https://e.com/item?id={number}&view=x", f"item {number}" + " viewed" * another)


def in_force(learner: UrlLearner) -> set[str]:
    return {str(rule) for rule in learner.rules() if rule.in_force and not rule.given}


def test_a_remembered_rule_is_not_in_force_before_pages_have_confirmed_it() -> None:
    learner = recalling(BY_VIEW)
    learner.observe("https://e.com/item?id=1", "item 1")
    assert learner.decide("https://e.com/item?id=1&view=x").action == "go"
    assert in_force(learner) == set()


def test_four_contents_confirm_it_where_eight_are_needed_otherwise() -> None:
    learner, fresh = recalling(BY_VIEW), UrlLearner()
    for each in (learner, fresh):
        read(each, range(4))
    assert "query:view" in in_force(learner)
    assert in_force(fresh) == set()


def verifications(learner: UrlLearner, *, trials: int) -> int:
    """How many of a hundred URLs a rule has fetched to verify it, once it is in force after so many trials."""
    read(learner, range(trials))
    assert "query:view" in in_force(learner)
    made = 0
    for number in range(100, 200):
        learner.observe(f"https://e.com/item?id={number}", f"item {number}")
        url = f"https://e.com/item?id={number}&view=x"
        if not learner.decide(url).skip:
            made += 1
            learner.observe(url, f"item {number}")
    return made


@pytest.mark.parametrize("seed", range(5))
def test_once_it_is_in_force_it_is_verified_as_often_as_a_new_one(seed: int) -> None:
    learner, fresh = UrlLearner(seed=seed, checks=0.05), UrlLearner(seed=seed, checks=0.05)
    learner.recall(SITE, [BY_VIEW])
    assert verifications(learner, trials=4) == verifications(fresh, trials=12)


def test_pages_that_differ_in_two_remembered_parts_confirm_both() -> None:
    learner, fresh = recalling(BY_VIEW, RememberedRule("item", ("query:ref",), None, True, 40)), UrlLearner()
    for each in (learner, fresh):
        for number in range(4):
            each.observe(f"https://e.com/item?id={number}&view=x", f"item {number}")
            each.observe(f"https://e.com/item?id={number}&ref=y", f"item {number}")
    assert in_force(learner) == {"query:view", "query:ref"}
    assert in_force(fresh) == set()


def test_pages_that_differ_in_two_parts_confirm_none_where_only_one_is_remembered() -> None:
    learner = recalling(BY_VIEW)
    for number in range(4):
        learner.observe(f"https://e.com/item?id={number}&view=x", f"item {number}")
        learner.observe(f"https://e.com/item?id={number}&ref=y", f"item {number}")
    assert in_force(learner) == set()


def test_some_links_that_test_remembered_rules_are_to_be_fetched_early() -> None:
    """Those to other URLs of a known page, or of the page that has the link, which may not be known yet."""
    learner = recalling(BY_VIEW)
    learner.observe("https://e.com/item?id=1", "item 1")
    assert learner.is_early_test("https://e.com/item?id=1&view=x", None)
    assert learner.is_early_test("https://e.com/item?id=2&view=x", "https://e.com/item?id=2")
    assert not learner.is_early_test("https://e.com/item?id=2&view=x", "https://e.com/item?id=2"), "it was already"
    assert not learner.is_early_test("https://e.com/item?id=3&view=x", "https://e.com/item?id=1")
    assert not learner.is_early_test("https://e.com/item?id=1&view=z", "https://e.com/item?id=1&view=z")
    assert not learner.is_early_test("https://e.com/item?id=1&tab=x", None)
    early = [learner.is_early_test(f"https://e.com/item?id=1&view={number}", None) for number in range(100)]
    assert 5 < sum(early) < 20


def test_a_few_urls_at_a_time_test_a_remembered_rule_and_others_come_late() -> None:
    learner = recalling(BY_VIEW)
    learner.observe("https://e.com/item?id=1", "item 1")
    urls = [f"https://e.com/item?id=1&view={number}" for number in range(8)]
    assert [learner.decide(url).action for url in urls[:5]] == ["go", "go", "go", "deprioritize", "deprioritize"]
    learner.observe(urls[0], "item 1")
    assert [learner.decide(url).action for url in urls[5:]] == ["go", "deprioritize", "deprioritize"]


def test_a_test_whose_page_does_not_come_makes_room_for_another() -> None:
    learner = recalling(BY_VIEW)
    learner.observe("https://e.com/item?id=1", "item 1")
    urls = [f"https://e.com/item?id=1&view={number}" for number in range(12)]
    assert [learner.decide(url).action for url in urls[:4]] == ["go", "go", "go", "deprioritize"]
    for number in range(200):
        learner.observe(f"https://e.com/news/{number}", f"news {number}")
    actions = [learner.decide(url).action for url in urls[4:]]
    assert "go" in actions
    assert actions[-1] == "deprioritize"


def test_no_link_is_to_be_fetched_early_without_remembered_rules() -> None:
    learner = UrlLearner()
    read(learner, range(30))
    learner.observe("https://e.com/item?id=100", "item 100")
    assert not learner.is_early_test("https://e.com/item?id=100&view=x", "https://e.com/item?id=100")


def test_no_link_is_to_be_fetched_early_for_a_rule_that_turned_out_wrong() -> None:
    learner = recalling(BY_VIEW)
    read(learner, range(4), another=True)
    learner.observe("https://e.com/item?id=100", "item 100")
    assert not learner.is_early_test("https://e.com/item?id=100&view=x", "https://e.com/item?id=100")


def test_what_was_fetched_before_it_was_confirmed_is_known_after_it() -> None:
    """Under two remembered parts at once, of which each alone was on trial."""
    learner = recalling(BY_VIEW, RememberedRule("item", ("query:ref",), None, True, 40))
    learner.observe("https://e.com/item?id=100&ref=1&view=y", "item 100")
    read(learner, range(40))
    for number in range(40):
        learner.observe(f"https://e.com/item?id={number}&ref={number}", f"item {number}")
    assert learner.decide("https://e.com/item?id=100").rules


def test_a_value_and_parts_that_change_together_are_remembered_as_well() -> None:
    learner = recalling(
        RememberedRule("item", ("query:page",), "1", True, 40),
        RememberedRule("item", ("query:a", "query:b"), None, True, 40),
    )
    for number in range(4):
        learner.observe(f"https://e.com/item?id={number}&page=1", f"item {number}")
        learner.observe(f"https://e.com/item?id={number}", f"item {number}")
        learner.observe(f"https://e.com/item?id={number}&a=1&b={number}", f"item {number}")
    assert {"query:page=1", "query:a+query:b"} <= in_force(learner)


def test_a_rule_that_fell_is_not_remembered() -> None:
    learner = recalling(BY_VIEW)
    read(learner, range(10))
    assert BY_VIEW.parts in {rule.parts for rule in learner.lasting_rules(SITE)}
    read(learner, range(10, 40), another=True)
    assert learner.lasting_rules(SITE) == ()


def test_a_rule_that_the_site_contradicts_at_once_is_forgotten() -> None:
    learner = recalling(BY_VIEW)
    read(learner, range(40), another=True)
    assert in_force(learner) == set()
    assert learner.lasting_rules(SITE) == ()


def test_a_rule_of_which_nothing_was_seen_stays_remembered() -> None:
    learner = recalling(BY_VIEW)
    assert learner.lasting_rules(SITE) == (BY_VIEW,)
    learner.observe("https://e.com/other", "other")
    assert learner.lasting_rules(SITE) == (BY_VIEW,)


def test_the_evidence_of_all_crawls_adds_up() -> None:
    learner = recalling(BY_VIEW)
    read(learner, range(5))
    (rule,) = [rule for rule in learner.lasting_rules(SITE) if rule.pattern == "item"]
    assert rule.successes == 45


def test_exceptions_are_remembered_with_the_rule() -> None:
    learner = UrlLearner()
    for number in range(12):
        for path in "abcdef":
            another = path == "f"
            learner.observe(f"https://e.com/{path}/{number}", f"{path} {number}")
            learner.observe(f"https://e.com/{path}/{number}?view={number}", f"{path} {number}" + " viewed" * another)
    rules = learner.lasting_rules(SITE)
    assert {rule.holds for rule in rules if rule.pattern == "f/<number>"} == {False}
    following = recalling(*rules)
    for number in range(20, 26):
        for path in "abcde":
            following.observe(f"https://e.com/{path}/{number}", f"{path} {number}")
            following.observe(f"https://e.com/{path}/{number}?view={number}", f"{path} {number}")
    assert "**" in {rule.pattern for rule in following.rules() if rule.in_force and not rule.given}
    following.observe("https://e.com/f/1", "f 1")
    assert following.decide("https://e.com/f/1?view=x").action == "deprioritize"
    following.observe("https://e.com/g/1", "g 1")
    assert following.decide("https://e.com/g/1?view=x").action == "go"  # to verify the rule at another path


def test_rules_that_hold_from_the_start_are_not_remembered() -> None:
    learner = UrlLearner()
    for number in range(20):
        learner.observe(f"https://e.com/{number}", f"{number}")
        learner.observe(f"https://e.com/{number}?gclid=1", f"{number}")
    assert learner.lasting_rules(SITE) == ()


# ------------------------------------------------------------------ two crawls


def followed(first: Sequence[Page], second: Sequence[Page], seed: int) -> tuple[Outcome, Outcome]:
    """The second crawl with what the first one left, and without."""
    found: list[Outcome] = []
    before = UrlLearner(seed=seed, checks=0.05)
    crawl_and_ask(first, before, 0.0, random.Random(seed))
    for remembers in (True, False):
        learner = UrlLearner(seed=seed, checks=0.05)
        for site in before.sites if remembers else ():
            learner.recall(site, before.lasting_rules(site))
        found.append(crawl_and_ask(second, learner, 0.0, random.Random(seed))[0])
    return found[0], found[1]


@pytest.mark.parametrize("make", [platform_sites.wiki, platform_sites.board])
def test_the_next_crawl_skips_sooner_and_loses_nothing(make: object) -> None:
    """Other pages of the same site."""
    assert callable(make)
    with_rules, without = followed(make(random.Random(1)), make(random.Random(101)), 1)
    assert with_rules.first_skip is not None
    assert without.first_skip is not None
    assert with_rules.first_skip < 0.7 * without.first_skip
    assert with_rules.saved >= without.saved - 0.01
    assert with_rules.lost == frozenset()


@pytest.mark.parametrize("share", [0.05, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_lost_by_a_rule_that_became_wrong_between_two_crawls(share: float, seed: int) -> None:
    """For a share of the pages, or for all."""
    true = misleading_sites.minority(0.0, 400, random.Random(seed))
    wrong = misleading_sites.minority(share, 400, random.Random(seed + 50))
    with_rules, _ = followed(true, wrong, seed)
    assert with_rules.lost == frozenset()


# ------------------------------------------------------------------ as it is stored


def test_rules_are_read_as_they_were_written() -> None:
    note = RememberedRules(SITE, "monday", (BY_VIEW, RememberedRule("**", ("query:a", "query:b"), None, False, 0)))
    assert RememberedRules.from_bytes(bytes(note)) == note


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        b"no JSON",
        b"\xff",
        b'[2,"e.com","monday",[]]',
        b'[1,"e.com","monday",[["item",[],null,true,1]]]',
        b'[1,"e.com","monday",[["item",["query:a"],5,true,1]]]',
        b'[1,"e.com","monday",[["item",["query:a"],null,true,"many"]]]',
        b'[1,"e.com","monday",[7]]',
        b'[1,"e.com","monday",[["item",["query:a"],null,true,Infinity]]]',
        b"[" * 100_000,
    ],
)
def test_what_another_version_wrote_is_ignored(raw: bytes) -> None:
    assert RememberedRules.from_bytes(raw) is None


def test_no_more_rules_are_kept_than_a_note_may_hold() -> None:
    learner = recalling(*(RememberedRule(f"a{n}", ("query:a",), None, True, n) for n in range(1, 2 * MAX_RULES)))
    learner.observe("https://e.com/", "home")
    assert len(learner.lasting_rules(SITE)) == MAX_RULES
    assert min(rule.successes for rule in learner.lasting_rules(SITE)) == MAX_RULES
