"""What a record says about its page."""

from __future__ import annotations

import pytest

from helpers.store_records import record
from scrapy_simdedup.store.base import MAX_HANDLERS

DAY = 86_400.0
PAGE = record(b"a", 0.0, last_seen=10 * DAY, state="confirmed", visits=11)


def test_a_page_that_was_seen_once_has_no_rate_of_change() -> None:
    assert PAGE._replace(visits=1).changes_per_day is None
    assert PAGE._replace(last_seen=0.0).changes_per_day is None


def test_visits_within_an_hour_tell_no_rate() -> None:
    assert PAGE._replace(last_seen=PAGE.first_seen + 4).changes_per_day is None
    assert PAGE._replace(last_seen=PAGE.first_seen + 3_600).changes_per_day is not None


def test_a_page_that_never_changed_is_thought_to_change_seldom() -> None:
    assert PAGE.changes_per_day == pytest.approx(0.0, abs=1e-9)


def test_more_changes_in_the_same_time_mean_a_higher_rate() -> None:
    rates = [PAGE._replace(changes=changes).changes_per_day for changes in range(11)]
    assert rates == sorted(rates)


def test_the_estimate_allows_for_changes_that_no_visit_saw() -> None:
    """Half of ten daily visits saw a change: more than half a change a day must have happened."""
    assert PAGE._replace(changes=5).changes_per_day == pytest.approx(0.6466, abs=1e-3)


def test_more_changes_than_visits_do_no_harm() -> None:
    assert PAGE._replace(changes=99).changes_per_day == PAGE._replace(changes=10).changes_per_day


def test_a_record_knows_who_got_what_it_says_and_in_which_run() -> None:
    first = PAGE._replace(run="monday", handler="shop parse")
    second = first._replace(run="tuesday", handler=first.handled_again("prices parse"))
    third = second._replace(run="wednesday", handler=second.handled_again("shop parse"))
    assert (second.handlers, second.runs) == (["prices parse", "shop parse"], {"monday", "tuesday"})
    assert (third.handlers, third.runs) == (["shop parse", "prices parse"], {"wednesday", "tuesday"})


def test_a_record_remembers_the_latest_handlers() -> None:
    page = PAGE._replace(run="run 0", handler="spider 0")
    for number in range(1, 20):
        page = page._replace(run=f"run {number}", handler=page.handled_again(f"spider {number}"))
    assert page.handlers == [f"spider {number}" for number in range(19, 19 - MAX_HANDLERS, -1)]
    assert page.runs == {f"run {number}" for number in range(19, 19 - MAX_HANDLERS, -1)}
