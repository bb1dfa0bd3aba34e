"""Which short lines stand in place of other lines of another page: what tells products of one description apart."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.pages import prose, words
from scrapy_simdedup.fingerprint.make import fingerprint_page
from scrapy_simdedup.fingerprint.novelty import _replacements, replaced_lines

if TYPE_CHECKING:
    from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint

TABLES = {
    "another name": ("<p>Amber lamp</p>", "<p>Brass candle</p>", ["Brass candle"]),
    "a name with a number": ("<p>Amber lamp 2</p>", "<p>Brass candle 31</p>", ["Brass candle 31"]),
    "the name of a file": ("<p>IMG_0012</p>", "<p>IMG_0013</p>", ["IMG_0013"]),
    "another number": ("<p>Read 812 times</p>", "<p>Read 907 times</p>", []),
    "another price": ("<p>29 EUR</p>", "<p>31 EUR</p>", []),
    "a line that was added": ("", "<p>New in the shop</p>", []),
    "a line that was moved": ("<p>Amber lamp</p><p>Brass candle</p>", "<p>Brass candle</p><p>Amber lamp</p>", []),
    "a row that the other page has elsewhere": (
        "<p>Amber lamp</p><p>Brass candle</p><p>Copper jug</p>",
        "<p>Iron pan</p><p>Steel rod</p><p>Amber lamp</p>",
        ["Steel rod"],
    ),
    "a list that was moved on": (
        "<p>Amber lamp</p><p>Brass candle</p><p>Copper jug</p>",
        "<p>Iron pan</p><p>Amber lamp</p><p>Brass candle</p>",
        [],
    ),
    "a long text": (f"<p>{'amber ' * 40}</p>", f"<p>{'brass ' * 40}</p>", []),
}


@pytest.mark.parametrize(("before", "now", "expected"), TABLES.values(), ids=TABLES)
def test_a_line_is_replaced_if_other_words_stand_in_its_place(before: str, now: str, expected: list[str]) -> None:
    """What was added, moved, counted or is long tells no two pages apart."""
    around = "<p>{}</p>".format(" ".join(f"word{number}" for number in range(30)))
    one, other = (fingerprint_page(around + line + around.replace("word", "text")) for line in (now, before))
    assert one.page_units is not None
    assert other.units is not None
    lines = replaced_lines(one.page_units, [other.units])
    assert [one.page_units.samples[number] for number in lines.words.nonzero()[0]] == expected


ORDERS = {
    "newest first": ([*range(60)], [*range(59, -1, -1)], []),
    "another first line": ([*range(60)], [80, *range(1, 60)], [80]),
    "another line in the middle": ([*range(60)], [*range(30), 80, *range(31, 60)], []),
    "another last line": ([*range(60)], [*range(59), 80], [80]),
    "a line that was added": ([*range(60)], [80, *range(60)], []),
}


@pytest.mark.parametrize(("before", "now", "expected"), ORDERS.values(), ids=ORDERS)
def test_of_a_long_page_the_first_and_the_last_lines_are_known(
    before: list[int], now: list[int], expected: list[int]
) -> None:
    """The others share rows. What stands elsewhere on the page was not replaced."""

    def listed(numbers: list[int]) -> PageFingerprint:
        return fingerprint_page("".join(f"<p>{' '.join(words(('name', n), 2))}</p>{prose(n, 30)}" for n in numbers))

    one, other = listed(now), listed(before)
    assert one.page_units is not None
    assert other.units is not None
    assert other.units.joined_by
    lines = replaced_lines(one.page_units, [other.units])
    found = [one.page_units.samples[number] for number in lines.words.nonzero()[0]]
    assert found == [" ".join(words(("name", number), 2)) for number in expected]


rows = st.lists(st.integers(0, 12), max_size=9)


@given(rows | rows.map(lambda some: [*dict.fromkeys(some)]), rows | rows.map(lambda some: [*dict.fromkeys(some)]))
def test_tables_are_aligned_as_the_standard_library_does(one: list[int], other: list[int]) -> None:
    """Also where all common rows stand once on each page, and in one order."""
    opcodes = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    assert _replacements(one, other) == [tuple(of) for how, *of in opcodes if how == "replace"]
