"""A content that unrelated pages show may be an error: it stands for one of them once that showed it twice."""

from __future__ import annotations

from scrapy_simdedup.urls import LearnerThresholds, UrlLearner

SURE = LearnerThresholds(verify=0.0, verify_low_risk=0.0, verify_floor=0.0)


def item(number: int, part: str = "") -> str:
    return f"https://e.com/item?id={number}{part}"


def taught() -> UrlLearner:
    learner = UrlLearner(thresholds=SURE, checks=1.0)
    for number in range(40):
        for part in ("", "&ref=1", "&ref=2", "&view=x", "&gclid=1"):
            learner.observe(item(number, part), f"item {number}")
    return learner


def answer(learner: UrlLearner, shown: dict[str, str]) -> list[str]:
    """Answer all questions; the URLs that are readmitted."""
    readmitted = []
    while questions := learner.questions():
        for question in questions:
            readmitted += learner.observe(question.url, shown[question.url])
    return readmitted


def test_a_page_that_shows_what_an_unrelated_one_shows_is_looked_at_twice_before_its_urls_are_skipped() -> None:
    learner = taught()
    for number in (100, 101):
        learner.observe(item(number), "out of order")
    assert not learner.decide(item(101, "&view=x")).skip
    assert learner.decide(item(101, "&ref=1")).skip, "one more look is enough"
    assert learner.observe(item(101, "&view=x"), "out of order") == []
    assert learner.decide(item(101, "&ref=3")).skip, "it is a copy"


def test_an_error_that_pages_share_is_found_by_the_second_look_and_what_was_skipped_for_it_is_made() -> None:
    learner = taught()
    learner.observe(item(100), "out of order")
    assert learner.decide(item(100, "&ref=1")).skip
    assert learner.observe(item(101), "out of order") == [item(100, "&ref=1")]
    for number, is_known_error in ((100, False), (101, True)):
        view = item(number, "&view=x")
        assert not learner.decide(view).skip
        assert learner.decide(item(number, "&ref=2")).skip is not is_known_error
        readmitted = learner.observe(view, f"item {number}")
        readmitted += answer(learner, {view: f"item {number}", item(number): f"item {number}"})
        assert readmitted == ([] if is_known_error else [item(number, "&ref=2")])
        found = learner.decide(item(number, "&ref=3"))
        assert found.skip
        assert learner.known_url(found) == view
    assert all(rule.in_force for rule in learner.rules() if str(rule) == "query:view=x")


def test_a_page_is_told_to_show_something_else_than_one_that_was_fetched_not_than_one_under_way() -> None:
    learner = taught()
    for number in (100, 101):
        learner.observe(item(number), "out of order")
    assert not learner.decide(item(101, "&view=x&ref=5")).skip
    learner.observe(item(101, "&ref=5"), "item 101")
    assert [question.known_url for question in learner.questions()] == [item(101)]


def test_where_one_page_showed_an_error_every_other_that_showed_it_once_is_looked_at_again() -> None:
    learner = taught()
    for number in (100, 101):
        learner.observe(item(number), "out of order")
    learner.decide(item(101, "&view=x"))
    learner.observe(item(101, "&view=x"), "item 101")
    answer(learner, {item(101, "&view=x"): "item 101", item(101): "item 101"})
    assert not learner.decide(item(100, "&view=x")).skip


def test_copies_that_are_usual_on_a_site_are_believed_at_the_first_look() -> None:
    learner = taught()
    for number in range(5):
        learner.observe(f"https://e.com/archive/{number}/{number}", f"item {number}")
    learner.observe("https://e.com/archive/100/100", "item 100")
    learner.observe(item(100), "item 100")
    assert learner.decide(item(100, "&view=x")).skip


def test_copies_in_each_value_of_a_part_are_believed_at_the_first_look_once_several_were_met() -> None:
    """Many products are the same in each color; an error is met at several products."""
    learner = taught()
    colors = [f"&color={color}" for color in ("red", "green", "blue")]
    for number in range(100, 130):
        for color in colors:
            learner.observe(item(number, color), f"item {number}" + (color if number % 2 else ""))
    for number in (100, 102):  # so that the rule was tried beside each color
        for color in colors:
            learner.observe(item(number, f"{color}&view=x"), f"item {number}")
    learner.observe(item(200, "&color=red"), "item 200")
    for color in colors[1:]:
        learner.observe(item(200, color), "item 200")
        assert learner.decide(item(200, f"{color}&view=x")).skip
    for number in (300, 301):
        learner.observe(item(number, "&color=red"), "out of order")
    assert not learner.decide(item(301, "&color=red&view=x")).skip


def test_an_error_that_answers_a_question_is_no_proof_of_what_a_page_shows() -> None:
    learner = taught()
    for number in (100, 101):
        learner.observe(item(number), "out of order")
    learner.observe(item(102), "item 102")
    learner.observe(item(102, "&view=x"), "half of page 102")
    view = item(102, "&view=x")
    assert [question.url for question in learner.questions()] == [view]
    learner.observe(view, "out of order")
    assert [question.url for question in learner.questions()] == [view], "the same has to come twice, or what should"
    learner.observe(view, "item 102")
    assert learner.questions() == []
    assert all(rule.in_force for rule in learner.rules() if str(rule) == "query:view=x")


def test_pages_that_a_rule_relates_by_now_are_no_unrelated_ones() -> None:
    learner = UrlLearner(thresholds=SURE, checks=1.0)
    for number in range(40):
        for part in ("&ref=1", "&ref=2", ""):  # the first two are unrelated before anything is known of ref
            learner.observe(item(number, part), f"item {number}")
    assert learner.decide(item(0, "&ref=3")).skip
