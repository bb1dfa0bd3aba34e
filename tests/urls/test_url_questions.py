"""Where a page speaks against a rule, the learner asks for a second look, and learns which of the two was wrong."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

import pytest

from helpers import misleading_sites, platform_sites
from helpers.simulated_crawl import Site, crawl_and_ask, noisy
from scrapy_simdedup.urls import LearnerThresholds, Question, UrlLearner
from scrapy_simdedup.urls.evidence import Evidence
from scrapy_simdedup.urls.hypotheses import Hypothesis
from scrapy_simdedup.urls.patterns import PathPattern
from scrapy_simdedup.urls.questions import Questions

SURE = LearnerThresholds(verify=0.0, verify_low_risk=0.0, verify_floor=0.0)
BARE, VIEW, OTHER = ("https://e.com/item?id=100" + part for part in ("", "&view=x", "&gclid=2"))


def teach(learner: UrlLearner, numbers: Iterable[int], *parts: str) -> None:
    """Have the learner observe some items, each under its own URL, and with each of some parts added to it."""
    for number in numbers:
        for part in ("", *parts):
            learner.observe(f"https://e.com/item?id={number}{part}", f"item {number}")


PARTS = "&ref=1", "&ref=2", "&hl=a", "&view=x", "&gclid=1"


def taught(**options: float) -> UrlLearner:
    learner = UrlLearner(thresholds=SURE, **({"checks": 1.0} | options))  # type: ignore[arg-type]
    teach(learner, range(40), *PARTS)
    return learner


def in_force(learner: UrlLearner, rule: str = "query:view=x") -> bool:
    return any(r.in_force and str(r) == rule for r in learner.rules() if r.pattern != "**")


def skipped(learner: UrlLearner, count: int = 20) -> set[str]:
    """URLs that the rule about ``view`` skips."""
    urls = {f"https://e.com/item?id={number}&view=x" for number in range(200, 200 + count)}
    teach(learner, range(200, 200 + count))
    assert all(learner.decide(url).skip for url in urls)
    return urls


def learn_and_ask(learner: UrlLearner, contents: dict[str, str]) -> None:
    """Have the learner observe what URLs show, and see again what it asks for."""
    for url, content in contents.items():
        learner.observe(url, content)
        for question in learner.questions():
            learner.observe(question.url, contents[question.url])


def asked(learner: UrlLearner) -> list[str]:
    return [question.url for question in learner.questions()]


def test_a_page_that_shows_the_second_time_what_the_rule_said_had_erred() -> None:
    learner = taught()
    urls = skipped(learner)
    learner.observe(BARE, "item 100")
    assert learner.observe(VIEW, "half a page") == []
    assert learner.questions() == [Question(VIEW, VIEW, BARE)]
    assert learner.observe(VIEW, "item 100") == []
    assert learner.questions() == [] == learner.remaining()
    assert in_force(learner)
    assert all(learner.decide(url).skip for url in urls)


def test_a_page_that_shows_the_same_twice_refutes_the_rule_once_the_known_page_did_so_too() -> None:
    learner = taught()
    urls = skipped(learner)
    learner.observe(BARE, "item 100")
    learner.observe(VIEW, "item 100 viewed")
    assert learner.questions() == [Question(VIEW, VIEW, BARE)]
    learner.observe(VIEW, "item 100 viewed")
    assert learner.questions() == [Question(BARE, VIEW)]
    readmitted = learner.observe(BARE, "item 100")
    assert set(readmitted) == urls
    assert not in_force(learner)
    assert learner.questions() == []


def about(learner: UrlLearner, part: str) -> list[str]:
    """The rules in force about a part, of the part and of its values."""
    return [f"{rule} in {rule.pattern}" for rule in learner.rules() if rule.in_force and rule.parts == (part,)]


def test_when_a_rule_about_a_value_falls_the_one_about_the_part_does_not_take_its_place() -> None:
    """The page that refuted the one was no trial of the other, which had hundreds of successes and no failure."""
    learner = taught()
    learner.observe(BARE, "item 100")
    for url, content in ((VIEW, "item 100 viewed"), (VIEW, "item 100 viewed"), (BARE, "item 100")):
        learner.questions()
        learner.observe(url, content)
    teach(learner, range(200, 550), "&view=x")
    assert about(learner, "query:view") == []
    assert about(learner, "query:hl") != []


def test_a_page_of_many_for_which_a_rule_is_wrong_speaks_against_it_at_the_others() -> None:
    """The first words at a place of a path are told apart, so that each passes for a kind of page of its own."""
    learner = UrlLearner(thresholds=SURE, checks=1.0)
    contents: dict[str, str] = {}
    for number in range(80):
        url = f"https://e.com/article/b{'bdfgklmnprst'[number % 12]}o-t{'bdfgklmn'[number // 12]}a"
        contents |= {url: f"page {number}", f"{url}?ref=1": f"page {number}", f"{url}?hl=a": f"page {number}"}
        contents[f"{url}?view=x"] = f"page {number}" + (" viewed" if number in (7, 20) else "")
    learn_and_ask(learner, contents)
    assert about(learner, "query:view") == []
    assert "query:hl=a in article/*" in about(learner, "query:hl")


def test_a_failure_that_second_looks_confirm_counts_above_its_section_as_well() -> None:
    learner = UrlLearner(thresholds=SURE, checks=1.0)
    contents: dict[str, str] = {}
    for number in range(100):
        for section in "abcdef":
            url = f"https://e.com/{section * 3}/item?id={number}"
            contents |= {url: url, f"{url}&ref=1": url, f"{url}&view=x": url, f"{url}&hl=a": url}
    contents["https://e.com/aaa/item?id=0&view=x"] = "viewed"
    learn_and_ask(learner, contents)
    assert about(learner, "query:view") == []
    assert "query:hl=a in **" in about(learner, "query:hl")


def test_what_a_page_refutes_for_the_site_falls_in_the_other_sections_as_well() -> None:
    """A section has a verdict of its own, from too few pages to know that the exceptions are elsewhere."""
    learner = UrlLearner(thresholds=SURE, checks=1.0)
    contents: dict[str, str] = {}
    for number in range(450):
        section, word = "abcdefghi"[number % 9] * 3, "bdfgklmnpr"[number // 9 % 10] + "aeiou"[number // 90]
        url = f"https://e.com/{section}/2026/t-{word}"
        contents |= {url: url, f"{url}?ref=1": url, f"{url}?hl=a": url, f"{url}?view=x": url}
        if number in (400, 440):
            contents[f"{url}?view=x"] = f"{url} viewed"
    learn_and_ask(learner, contents)
    assert about(learner, "query:view") == []
    assert "query:hl=a in **" in about(learner, "query:hl")


def sections_of_items(sections: str, numbers: Iterable[int], *parts: str) -> dict[str, str]:
    """What items show in each section, whose URLs have each of some parts as well."""
    bare = [f"https://e.com/{section * 3}/item?id={number}" for number in numbers for section in sections]
    return {f"{url}{part}": url for url in bare for part in ("", *parts)}


def test_an_exception_in_a_new_section_counts_for_the_site_once_the_rule_was_right_there() -> None:
    """Until then it may be wrong for the whole section; that second looks confirmed it is not forgotten meanwhile."""
    learner = UrlLearner(thresholds=SURE, checks=1.0)
    contents = sections_of_items("abcdef", range(100), "&ref=1", "&view=x", "&hl=a")
    contents |= sections_of_items("x", [0, 1, 2], "&view=x") | {"https://e.com/xxx/item?id=0&view=x": "viewed"}
    learn_and_ask(learner, contents)
    assert about(learner, "query:view") == []
    assert "query:hl=a in **" in about(learner, "query:hl")


def test_where_one_rule_had_an_exception_the_others_are_tried_before_they_are_believed() -> None:
    """Such a section may be a kind of page apart. What was skipped there before is decided about anew."""
    learner = UrlLearner(thresholds=SURE, checks=1.0)
    learn_and_ask(learner, sections_of_items("abcdefghijkl", range(100), "&ref=1", "&view=x", "&hl=a"))
    learn_and_ask(learner, sections_of_items("x", range(20)))
    urls = [f"https://e.com/xxx/item?id={number}&hl=a" for number in range(20)]
    learner.observe(urls[0], urls[0].removesuffix("&hl=a"))
    assert sum(learner.decide(url).skip for url in urls[1:]) > 10
    contents = sections_of_items("x", [20, 21, 22], "&view=x") | {"https://e.com/xxx/item?id=22&view=x": "viewed"}
    readmitted = []
    for url, content in contents.items():
        readmitted += learner.observe(url, content)
        while questions := learner.questions():
            readmitted += learner.observe(questions[0].url, contents[questions[0].url])
    again = [url for url in readmitted if "hl=a" in url]
    assert len(again) > 10
    assert [learner.decide(url).skip for url in again[:4]] == [False] * 4


def test_a_known_page_that_shows_another_content_the_second_time_had_erred() -> None:
    """What was learned from it is corrected."""
    learner = taught()
    learner.observe(BARE, "half a page")
    learner.observe(VIEW, "item 100")
    for url in (VIEW, BARE):
        assert asked(learner) == [url]
        learner.observe(url, "item 100")
    assert in_force(learner)
    assert learner.observe(OTHER, "item 100") == []
    assert learner.questions() == []


def test_a_page_that_a_third_one_shows_to_be_odd_is_looked_at_twice_and_proves_noise_if_it_is_odd_each_time() -> None:
    learner = taught()
    learn_and_ask(learner, {BARE: "odd", VIEW: "item 100", OTHER: "item 100"})
    assert learner._sites["e.com"].noise.proven_count == 1


def test_an_odd_page_that_is_like_the_others_the_second_time_proves_no_noise() -> None:
    learner = taught()
    for url, content in ((BARE, "odd"), (VIEW, "item 100"), (OTHER, "item 100")):
        learner.observe(url, content)
        for question in learner.questions():
            learner.observe(question.url, "item 100")
    assert learner._sites["e.com"].noise.proven_count == 0
    assert in_force(learner)


def test_once_a_page_is_known_to_be_odd_each_time_no_second_looks_are_taken_and_no_rule_is_doubted_for_it() -> None:
    learner = taught()
    learn_and_ask(learner, {BARE: "odd", VIEW: "item 100", OTHER: "item 100"})
    learner.observe("https://e.com/item?id=101", "item 101")
    learner.observe("https://e.com/item?id=101&view=x", "item 101 viewed")
    assert not asked(learner)
    assert not learner._sites["e.com"].know_exceptions


def test_what_may_prove_noise_is_asked_first_and_beyond_what_is_allowed() -> None:
    questions = Questions()
    for url in "ab":
        questions.ask(url, 1, because_of=url, about=[])
    assert [question.url for question in questions.due(1)] == ["a"]
    questions.ask("c", 2, because_of="c", about=[], is_urgent=True)
    assert [question.url for question in questions.due(1)] == ["c"]


def test_an_error_that_was_found_out_is_doubted_wherever_it_appears_again() -> None:
    """The same error page for many URLs: each shows its own page to whom asks again."""
    learner = taught()
    for number in range(100, 103):
        url = f"https://e.com/item?id={number}"
        learner.observe(url, f"item {number}")
        learner.observe(url + "&view=x", "out of order")
        assert asked(learner) == [url + "&view=x"]
        learner.observe(url + "&view=x", f"item {number}")
    learner.observe("https://e.com/item?id=103", "out of order")
    assert asked(learner) == ["https://e.com/item?id=103"]
    assert in_force(learner)


def test_failures_of_a_young_hypothesis_are_asked_about_when_much_speaks_for_it() -> None:
    """A page that erred early would otherwise keep the rule away for some hundred pages."""
    learner = UrlLearner(thresholds=SURE, checks=1.0)
    for number in range(30):
        url = f"https://e.com/item?id={number}"
        learner.observe(url, f"item {number}")
        learner.observe(url + "&view=x", "half a page" if number == 1 else f"item {number}")
        for question in learner.questions():
            learner.observe(question.url, f"item {question.url.partition('=')[2].partition('&')[0]}")
    assert in_force(learner)


def test_the_rule_skips_on_while_a_question_is_open() -> None:
    learner = taught()
    learner.observe(BARE, "item 100")
    learner.observe(VIEW, "half a page")
    skipped(learner)


def test_a_question_is_asked_once() -> None:
    learner = taught()
    learner.observe(BARE, "item 100")
    learner.observe(VIEW, "half a page")
    assert len(learner.questions()) == 1
    assert learner.questions() == []


def test_a_question_without_an_answer_is_taken_for_one_against_the_rule() -> None:
    learner = taught()
    urls = skipped(learner)
    learner.observe(BARE, "item 100")
    learner.observe(VIEW, "item 100 viewed")
    learner.questions()
    assert set(learner.remaining()) == urls
    assert not in_force(learner)
    assert learner.questions() == []


@pytest.mark.parametrize("answers", [["a", "b", "c"], [None, None, None]])
def test_a_page_that_never_shows_the_same_twice_is_believed(answers: list[str | None]) -> None:
    learner = taught()
    learner.observe(BARE, "item 100")
    learner.observe(VIEW, "item 100 viewed")
    for answer in answers:
        assert asked(learner) == [VIEW]
        learner.observe(VIEW, answer)
    assert asked(learner) == [BARE]
    learner.observe(BARE, "item 100")
    assert not in_force(learner)


def test_a_page_that_was_fetched_twice_before_raises_no_question() -> None:
    """So a crawl that is resumed after an answer does not ask again."""
    learner = taught()
    learner.observe(BARE, "item 100", checked=True)
    learner.observe(VIEW, "item 100 viewed", checked=True)
    assert learner.questions() == []
    assert not in_force(learner)


def test_a_learner_that_may_not_ask_judges_by_statistics() -> None:
    learner = taught(checks=0.0)
    learner.observe(BARE, "item 100")
    learner.observe(VIEW, "item 100 viewed")
    assert learner.questions() == [] == learner.sample()
    assert not in_force(learner)


def test_no_more_is_asked_than_the_share_of_what_was_skipped_allows() -> None:
    learner = taught(checks=0.5)
    skipped(learner, 40)
    for number in range(300, 400):
        learner.observe(f"https://e.com/item?id={number}", f"item {number}")
        learner.observe(f"https://e.com/item?id={number}&view=x", f"half a page {number}")
    assert len(learner.questions()) == 20 + 12  # the first 20 are free; the sample has the rest of the share


# ------------------------------------------------------------------ the sample


def test_before_the_end_a_random_sample_of_the_skipped_is_fetched_and_bounds_what_was_missed() -> None:
    learner = UrlLearner(checks=0.1, thresholds=replace(SURE, verify_floor=0.01))
    for number in range(1000):
        url = f"https://e.com/item?id={number}"
        for other in (url, f"{url}&ref=1", f"{url}&view=x"):
            if not learner.decide(other).skip:
                learner.observe(other, f"item {number}")
    before = learner.unseen_bound
    sample = learner.sample()
    assert 130 <= len(sample) <= 250  # a tenth, as both rules are about one value
    for url in sample:
        learner.observe(url, f"item {url.split('=')[1].split('&')[0]}")
    assert learner.sample() == []
    assert before is not None
    assert learner.unseen_bound is not None
    assert 0.05 < learner.unseen_bound < before < 0.25


def test_where_nothing_was_skipped_nothing_is_claimed() -> None:
    assert taught().unseen_bound is None
    assert taught().sample() == []


def test_an_exception_in_the_sample_readmits_what_the_rule_has_skipped() -> None:
    learner = taught(checks=0.5)
    urls = skipped(learner, 100)
    sample = learner.sample()
    assert set(sample) < urls
    learner.observe(sample[0], "another page")
    assert asked(learner) == [sample[0]]
    learner.observe(sample[0], "another page")
    (question,) = learner.questions()
    readmitted = learner.observe(question.url, f"item {question.url.split('=')[1]}")
    assert set(readmitted) == urls - set(sample)


def make_exception(learner: UrlLearner) -> None:
    """Have the rule about ``hl`` be wrong for a page."""
    url = "https://e.com/item?id=900"
    learner.observe(url, "item 900", checked=True)
    learner.observe(f"{url}&hl=a", "item 900 of another kind", checked=True)
    assert not in_force(learner, "query:hl=a")


def test_where_a_rule_was_wrong_for_one_page_half_of_what_others_about_few_values_skipped_is_sampled() -> None:
    """On such a site they may be wrong for few pages as well, and no other URL of a page would show it."""
    learner = taught(checks=0.05)
    skipped(learner, 200)
    make_exception(learner)
    assert 70 < len(learner.sample()) < 130


def test_where_the_sample_finds_an_exception_what_other_rules_skipped_is_sampled_once_more() -> None:
    learner = taught(checks=0.05)
    skipped(learner, 200)
    assert 0 < len(learner.sample()) < 30
    make_exception(learner)
    assert 60 < len(learner.sample()) < 130
    assert learner.sample() == []


def test_a_rule_that_was_right_hundreds_of_times_is_sampled_no_more_for_exceptions_of_others() -> None:
    """Exceptions of one page in a hundred would have shown by then."""
    learner = taught(checks=0.05)
    teach(learner, range(1000, 1440), "&view=x")
    skipped(learner, 200)
    make_exception(learner)
    assert len(learner.sample()) < 30


def test_what_was_looked_at_for_the_sample_and_not_taken_is_readmitted_when_its_rule_falls() -> None:
    learner = taught(checks=0.05)
    teach(learner, range(1000, 1440), "&view=x")
    urls = skipped(learner, 200)
    make_exception(learner)
    sample = set(learner.sample())
    assert sample < urls
    learner.observe(BARE, "item 100", checked=True)
    readmitted = set(learner.observe(VIEW, "item 100 viewed", checked=True))
    assert not in_force(learner)
    assert readmitted == urls - sample


def test_a_part_with_few_values_is_sampled_as_a_single_value_is() -> None:
    learner = taught(checks=0.5)
    for number in range(40):
        learner.observe(f"https://e.com/item?id={number}&view=y", f"item {number}")
    assert in_force(learner, "query:view")
    skipped(learner, 200)
    assert 70 < len(learner.sample()) < 130


def test_where_a_rule_was_wrong_for_one_page_others_about_few_values_are_verified_more_often() -> None:
    def verified(*, after_exception: bool) -> int:
        learner = UrlLearner(checks=0.05)
        teach(learner, range(40), *PARTS)
        if after_exception:
            make_exception(learner)
        count = 0
        for number in range(200, 600):
            url = f"https://e.com/item?id={number}"
            learner.observe(url, f"item {number}")
            if not learner.decide(f"{url}&view=x").skip:
                learner.observe(f"{url}&view=x", f"item {number}")
                count += 1
        return count

    assert verified(after_exception=True) > 1.2 * verified(after_exception=False)


def test_a_part_that_turns_out_to_matter_often_is_no_exception_of_a_rule() -> None:
    """It seemed right for nine pages before it was wrong for the first, and is wrong for every other one."""
    learner = taught(checks=0.05)
    skipped(learner, 200)
    for number in range(500, 560):
        url, is_right = f"https://e.com/item?id={number}", number < 509 or number % 2
        learner.observe(url, f"item {number}", checked=True)
        learner.observe(f"{url}&sort=new", f"item {number}" + ("" if is_right else " sorted"), checked=True)
        if number == 510:
            questions = learner._sites["e.com"].questions
            assert questions is not None
            assert questions.know_exceptions
    assert len(learner.sample()) < 30


def test_a_part_that_matters_for_one_page_in_eight_makes_no_other_rule_doubtful() -> None:
    """It is seen soon that it matters, whereas exceptions that are rare may escape."""
    learner = taught(checks=0.05)
    skipped(learner, 200)
    for number in range(500, 700):
        url, is_right = f"https://e.com/item?id={number}", number < 509 or number % 8
        learner.observe(url, f"item {number}", checked=True)
        learner.observe(f"{url}&print=1", f"item {number}" + ("" if is_right else " printed"), checked=True)
    assert not in_force(learner, "query:print=1")
    assert len(learner.sample()) < 30


def test_a_rule_that_another_takes_the_blame_from_makes_no_other_doubtful() -> None:
    learner = taught(checks=0.05)
    make_exception(learner)
    questions = learner._sites["e.com"].questions
    assert questions is not None
    assert questions.know_exceptions
    for pattern in learner._sites["e.com"].tree.patterns.values():
        for hypothesis, evidence in pattern.evidence.items():
            if str(hypothesis) == "query:hl=a":
                evidence.uncount(failures=1)
    assert not questions.know_exceptions


def noted(successes: int, failures: int, *, at: PathPattern, below: PathPattern) -> bool:
    """Whether a hypothesis counts as one with exceptions that was right and wrong so often at a pattern.

    Below that pattern it was right twice, and wrong once.
    """
    hypothesis, questions = Hypothesis(0, ("query:view",), None, 1, 0), Questions()
    at.evidence[hypothesis] = Evidence(successes, failures)
    below.evidence[hypothesis] = Evidence(9, 1, confirmed_failures=1)
    below.lineage = [below, at]
    questions.add_exception(below, hypothesis)
    return questions.know_exceptions


def test_a_rule_is_judged_by_where_it_was_tried_most_whether_it_has_exceptions() -> None:
    """A part that matters everywhere seems right for nine pages beside some other part."""
    assert noted(400, 1, at=PathPattern("**"), below=PathPattern("story/*"))
    assert not noted(130, 360, at=PathPattern("list"), below=PathPattern("list?view"))


def test_of_a_page_that_was_seen_with_a_part_no_other_url_with_it_is_sampled() -> None:
    """A session id beside it makes no other page."""
    learner = taught(checks=0.5)
    for number in range(300, 400):
        url = f"https://e.com/item?id={number}"
        learner.observe(url, f"item {number}")
        if number % 2:
            learner.observe(f"{url}&view=x", f"item {number}")
        assert learner.decide(f"{url}&view=x&gclid={number}").skip
    sample = learner.sample()
    assert len(sample) > 15
    assert sum(int(url.split("=")[1].split("&")[0]) % 2 for url in sample) < 5


def test_of_a_page_that_was_seen_with_a_part_no_other_url_with_it_is_verified() -> None:
    thresholds = LearnerThresholds(verify=50.0, verify_low_risk=0.0, verify_floor=0.0)
    learner = UrlLearner(thresholds=thresholds, checks=0.05)
    teach(learner, range(60), "&gclid=1", "&view=x")
    assert in_force(learner)
    verified = [not learner.decide(f"https://e.com/item?id={number}&view=x&gclid=7").skip for number in range(60)]
    assert sum(verified) < 5
    teach(learner, range(100, 160))
    verified = [not learner.decide(f"https://e.com/item?id={number}&view=x&gclid=7").skip for number in range(100, 160)]
    assert sum(verified) > 20


def test_the_sample_looks_first_at_what_the_least_proven_rule_skipped() -> None:
    learner = UrlLearner(thresholds=SURE, checks=0.1)
    teach(learner, range(30), "&view=x", "&amp=1")
    teach(learner, range(30, 200), "&view=x")
    for number in range(300, 450):
        url = f"https://e.com/item?id={number}"
        learner.observe(url, f"item {number}")
        assert learner.decide(f"{url}&view=x").skip
        assert learner.decide(f"{url}&amp=1").skip
    sample = learner.sample()
    assert sum("amp=1" in url for url in sample) > 20
    assert sum("view=x" in url for url in sample) < 5


# ------------------------------------------------------------------ pages that were fetched once, where answers err


def err(learner: UrlLearner, *, renamed: bool = False) -> None:
    """Have the learner find out that a page had shown an error of its own, or that its content has another name."""
    learner.observe(BARE, "item 100")
    learner.observe(VIEW, "half of page 100")
    assert asked(learner) == [VIEW]
    learner.observe(VIEW, "item 100", renamed=renamed)


def test_where_a_page_erred_each_that_was_fetched_once_is_seen_under_another_url_before_the_end() -> None:
    learner = taught(checks=0.001)
    urls = skipped(learner, 30)
    err(learner)
    assert set(learner.sample()) == urls


def test_a_page_that_says_what_it_said_and_is_nearer_to_another_by_now_had_not_erred() -> None:
    """The second look is what the rule said, so that the rule stands, and no other page is doubtful."""
    learner = taught(checks=0.001)
    skipped(learner, 30)
    err(learner, renamed=True)
    assert in_force(learner)
    assert len(learner.sample()) < 3


def test_a_page_whose_first_look_is_never_confirmed_may_have_erred_as_well_as_been_edited() -> None:
    learner = taught(checks=0.001)
    urls = skipped(learner, 30)
    learner.observe(BARE, "half a page")
    learner.observe(VIEW, "item 100")
    for url in (VIEW, BARE):
        assert asked(learner) == [url]
        learner.observe(url, "item 100")
    assert set(learner.sample()) == urls


def test_where_no_page_erred_the_sample_is_no_larger_for_pages_that_were_fetched_once() -> None:
    learner = taught(checks=0.001)
    skipped(learner, 30)
    learner.observe(BARE, "item 100")
    learner.observe(VIEW, "item 100")
    assert len(learner.sample()) < 3


def test_an_error_page_that_many_urls_show_makes_no_page_doubtful_that_is_unlike_it() -> None:
    learner = taught(checks=0.001)
    skipped(learner, 30)
    for number in (98, 99):
        learner.observe(f"https://e.com/item?id={number}", "out of order")
    learner.observe(BARE, "item 100")
    learner.observe(VIEW, "out of order")
    assert asked(learner) == [VIEW]
    learner.observe(VIEW, "item 100")
    assert len(learner.sample()) < 3


def test_a_page_that_was_seen_under_two_urls_or_fetched_twice_is_not_seen_under_a_third_one() -> None:
    learner = taught(checks=0.001)
    urls = skipped(learner, 30)
    err(learner)
    learner.observe("https://e.com/item?id=200&ref=1", "item 200")
    learner.observe("https://e.com/item?id=201", "item 201", checked=True)
    assert urls - set(learner.sample()) == {f"https://e.com/item?id={number}&view=x" for number in (200, 201)}


def test_a_page_whose_first_url_showed_an_error_is_found_by_one_more_look_at_that_url() -> None:
    """The URL that was skipped shows the page; what its first URL showed stood for both."""
    learner = taught(checks=0.2)
    err(learner)
    learner.observe("https://e.com/item?id=300", "error 4711 at /item?id=300")
    for other in ("&view=x", "&ref=1", "&ref=2"):
        assert learner.decide("https://e.com/item?id=300" + other).skip
    (other,) = learner.sample()
    assert learner.observe(other, "item 300") == []
    assert asked(learner) == ["https://e.com/item?id=300"]
    assert len(learner.observe("https://e.com/item?id=300", "item 300")) == 2
    assert asked(learner) == []
    assert in_force(learner)
    assert learner.decide("https://e.com/item?id=300&ref=2").skip


# ------------------------------------------------------------------ whole sites


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.0, 0.03])
@pytest.mark.parametrize(
    ("site", "least"), [(platform_sites.board, 0.58), (platform_sites.blog, 0.45)], ids=["board", "blog"]
)
def test_answers_that_err_now_and_then_cost_neither_pages_nor_savings(site: Site, least: float, rate: float) -> None:
    rng = random.Random(1)
    pages = noisy(site(rng), rate, rng)
    outcome, count = crawl_and_ask(pages, UrlLearner(seed=1, checks=0.05), rate, rng)
    assert outcome.lost == frozenset()
    assert outcome.saved >= least
    assert count <= 20 + 0.05 * outcome.saved * outcome.urls


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.01, 0.03])
@pytest.mark.parametrize(
    ("site", "least"), [(platform_sites.board, 0.55), (platform_sites.blog, 0.45)], ids=["board", "blog"]
)
def test_no_page_is_lost_to_errors_that_show_nothing_of_it(site: Site, least: float, rate: float) -> None:
    rng = random.Random(1)
    pages = noisy(site(rng), rate, rng)
    outcome, _ = crawl_and_ask(pages, UrlLearner(seed=1, checks=0.05), rate, rng, errors_hide=True)
    assert outcome.lost == frozenset()
    assert outcome.saved >= least


@pytest.mark.slow
@pytest.mark.parametrize("site", [misleading_sites.print_ten, misleading_sites.print_four], ids=["10 %", "4 %"])
@pytest.mark.parametrize("rate", [0.0, 0.03])
def test_a_rule_that_is_wrong_for_some_pages_loses_none(site: Site, rate: float) -> None:
    rng = random.Random(1)
    pages = noisy(site(rng), rate, rng)
    outcome, _ = crawl_and_ask(pages, UrlLearner(seed=1, checks=0.05), rate, rng)
    assert outcome.lost == frozenset()


@pytest.mark.slow
def test_equal_seeds_and_answers_give_equal_questions() -> None:
    def run() -> list[Question]:
        rng = random.Random(2)
        pages = noisy(platform_sites.board(rng)[:2_500], 0.02, rng)
        learner = UrlLearner(seed=1, checks=0.05)
        found: list[Question] = []
        for page in pages:
            if not learner.decide(page.url).skip:
                learner.observe(page.url, page.content_id)
            new = learner.questions()
            found += new
            for question in new:
                learner.observe(question.url, "unlike any" + question.url)
        return found

    assert run() == run() != []
