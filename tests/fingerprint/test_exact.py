"""Exact digests: equal for equal texts, and for what is masked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simdedup.fingerprint.methods import normalise, text_digest
from scrapy_simdedup.settings import Mask

MASKS: list[Mask] = ["case", "dates", "times", "numbers"]


@pytest.mark.parametrize(
    "date",
    [
        *("2024-05-01", "1/5/2024", "01.05.24", "5 May 2024", "5th May, 2024", "May 5, 2024"),
        *("Sept. 3rd, 2023", "12 December 1999", "2024年5月1日", "2024年 5月", "2024년 5월 1일"),
    ],
)
def test_dates_are_masked(date: str) -> None:
    """In digits, and in English words."""
    assert normalise(f"Posted {date}, by us", ["dates"]) == "Posted <date>, by us"


@pytest.mark.parametrize(
    "time", ["9:05", "12:30:59", "12:30 pm", "7:15 a.m.", "12:30:59.123Z", "12:30 UTC", "12:30 +02:00"]
)
def test_times_are_masked(time: str) -> None:
    """With seconds, halves of the day and zones."""
    assert normalise(f"At {time} sharp", ["times"]) == "At <time> sharp"


def test_a_timestamp_is_a_date_and_a_time() -> None:
    """As ISO 8601 writes it."""
    assert normalise("2024-05-01T12:30:59Z", ["dates", "times"]) == "<date><time>"


@pytest.mark.parametrize(
    "text", ["version 1.2-3", "May we 12", "ratio 1/2", "march 12", "a maypole 3 2024", "the mayor 5"]
)
def test_what_is_no_date_stays(text: str) -> None:
    """Nor is it a time."""
    assert normalise(text, ["dates", "times"]) == text


def test_numbers_are_masked_whole() -> None:
    """With their separators."""
    assert normalise("1,204 views, 3.5 stars, room 12", ["numbers"]) == "<number> views, <number> stars, room <number>"


def test_nothing_is_masked_that_nobody_asked_for() -> None:
    """Only white space goes."""
    assert normalise("  At 12:30,\n 5 May  2024 ") == "At 12:30, 5 May 2024"


@given(st.text(max_size=60), st.sets(st.sampled_from(MASKS)))
def test_what_is_masked_once_is_masked(text: str, masked: set[Mask]) -> None:
    """Another time changes nothing, for texts that hold no masks of their own."""
    text = text.replace("<", " ")
    once = normalise(text, masked)
    assert normalise(once, masked) == once


@given(st.lists(st.text(max_size=20), max_size=5), st.lists(st.text(max_size=20), max_size=5))
def test_digests_are_equal_for_equal_texts_alone(one: list[str], other: list[str]) -> None:
    """White space around and in them aside."""
    folded = [[" ".join(text.split()) for text in texts if text.split()] for texts in (one, other)]
    assert (text_digest(one) == text_digest(other)) == (folded[0] == folded[1])


def test_digests_are_keyed() -> None:
    """Nobody can tell them without the secret."""
    assert text_digest(["tides"]) != text_digest(["tides"], secret=b"secret")


def test_hostile_texts_take_linear_time() -> None:
    """Long runs of what a date, a time or a number may begin with."""
    for unit in ("1-", "1.", "12:", "1 ", "may ", "1年", "9" * 50 + " "):
        assert normalise(unit * 20_000, MASKS)
