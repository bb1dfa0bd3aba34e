"""A judge cannot tell packed text units from those of the page."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helpers import pages
from scrapy_simdedup import PageFingerprint, fingerprint_page
from scrapy_simdedup.batch.archives import fingerprint_of
from scrapy_simdedup.batch.tables import pack_units, unpack_units
from scrapy_simdedup.fingerprint.novelty import FilterBank, look_up, replaced_lines
from scrapy_simdedup.fingerprint.text_units import PageUnits, TextUnits, keep_units
from scrapy_simdedup.fingerprint.unit_changes import UnitComparison, compare_units
from scrapy_simdedup.page.amounts import (
    beginning,
    has_number,
    has_plain_number,
    is_amount,
    is_counter,
    is_name,
    is_short,
    is_sum,
    lettered_words,
)

LINES = [" ".join(pages.words(("line", number), 1 + number % 7)) for number in range(80)]
NEW_LINES = [
    *(f"{number} {' '.join(pages.words(('new', number), 1 + number % 7))}" for number in range(12)),
    *(
        "29 EUR",
        "540 €",
        "EUR",
        "41 %",
        "Yes: 41 %",
        "Q4: 41 %",
        "—",
        "7 9 11",
        "x²",
        " ".join("abcdefghijklmnopqrstuvwxyz0123456789" * 1),
        "x " * 45,
    ),
]
NOTE = " ".join(pages.words("note", 40))


def page(paragraphs: int, *, seed: object = 0, around: str = "", inside: str = "") -> PageFingerprint:
    texts = "".join(f"<p>{' '.join(pages.words((seed, number), 25))}</p>" for number in range(paragraphs))
    return fingerprint_page(f"<title>Tides</title>{around}<main><h1>Tides</h1>{texts}{inside}</main>")


PAGES = {
    "of a few words": page(1),
    "with prices and counters": page(3, inside="<p>29 EUR</p><p>7 of 9</p><p>3 comments</p>"),
    "with a note in its text": page(12, inside=f"<p>{NOTE}</p>"),
    "with a note in its footer": page(12, around=f"<footer><p>{NOTE}</p></footer>"),
    "with comments": page(12, around=f"<ol class=comments><li>{NOTE}</li><li><a href=/>{NOTE}</a></li></ol>"),
    "of links": page(1, inside="".join(f"<p><a href=/{n}>{' '.join(pages.words(n, 5))}</a></p>" for n in range(30))),
    "of many units": page(90),
    "of lines": page(1, inside="".join(f"<div>{line}</div>" for line in LINES)),
    "of more lines": page(1, inside="".join(f"<div>{line}</div>" for line in (*LINES[:40], *NEW_LINES, *LINES[40:]))),
    "of so many that few shingles are sampled": page(420),
    "of many others": page(230, seed=1),
}


def units_of(fp: PageFingerprint) -> tuple[PageUnits, PageUnits]:
    """The units, and what is made of the packed ones."""
    assert fp.page_units is not None
    assert fp.page_units.title
    return fp.page_units, unpack_units(pack_units(fp.page_units))


def told(found: UnitComparison) -> tuple[Any, ...]:
    """What is found but the texts for people."""
    edited = found.edited_places, found.edited_spots
    return *({at: text.digest for at, text in of.items()} for of in edited), *found._replace(edited_places={})[:4]


def kept(fp: PageFingerprint) -> TextUnits:
    assert fp.units is not None
    return fp.units


@pytest.mark.parametrize("name", PAGES)
def test_what_a_record_keeps_of_them_is_the_same(name: str) -> None:
    whole, packed = units_of(PAGES[name])
    clocks = set(whole.places[whole.in_table][::3].tolist())
    for places in (set[int](), clocks):
        assert keep_units(packed, places) == keep_units(whole, places)


@pytest.mark.parametrize("name", PAGES)
def test_they_tell_which_blocks_are_comments(name: str) -> None:
    whole, packed = units_of(PAGES[name])
    assert packed.in_comments.tolist() == whole.in_comments.tolist()
    assert whole.in_comments.any() == (name == "with comments")


@given(
    st.lists(st.sampled_from([*"x8 .:$€%—²٣値", "kr", "EUR", "IMG", " 29 ", "euros ", "x" * 101]), max_size=9),
    st.text(),
)
@example(["x" * 101, " 29 "], "")
@example(["EUR", "8"], "")
def test_a_text_gives_the_answers_of_its_kind(parts: list[str], rest: str) -> None:
    text = beginning("".join(parts) + rest)
    other = of_its_kind(text)
    for asked in (is_amount, is_counter, is_name, is_short, is_sum, has_plain_number):
        assert asked(other) == asked(text), (asked, text, other)
    if is_short(text):
        assert (has_number(other), lettered_words(other)) == (has_number(text), lettered_words(text))


def of_its_kind(text: str) -> str:
    fp = page(1)
    assert fp.page_units is not None
    at = fp.page_units.headline
    samples = [*fp.page_units.samples[:at], text, *fp.page_units.samples[at + 1 :]]
    return unpack_units(pack_units(fp.page_units._replace(samples=samples))).samples[at]


def test_the_headline_may_be_the_last_of_very_many_blocks() -> None:
    units = PAGES["of a few words"].page_units
    assert units is not None
    assert unpack_units(pack_units(units._replace(headline=100_000))).headline == 100_000
    assert unpack_units(pack_units(units._replace(is_unlisted=True))).is_unlisted


def test_what_a_url_may_say_is_kept_word_by_word() -> None:
    address = "https://shop.example/shirts/12"
    lines = ["Red, in all sizes", "Sold on the 3rd of May", "Sold on the 4th of May", f"Printed from {address}", "Blue"]
    fp = page(1, inside="".join(f"<p>{line}</p>" for line in lines), around=f"<footer><p>{address}</p></footer>")
    assert fp.page_units is not None
    packed = unpack_units(pack_units(fp.page_units, "https://shop.example/shirts/red?on=2026-05-03"))
    assert [text for text in packed.samples if text in fp.page_units.samples] == [address, *lines[:2], lines[3]]


@pytest.mark.parametrize(("name", "other"), list(product(PAGES, PAGES)))
def test_what_other_pages_lack_or_say_otherwise_is_the_same(name: str, other: str) -> None:
    (whole, packed), before = units_of(PAGES[name]), kept(PAGES[other])
    for asked in (whole.of_content, ~whole.pass_over):
        of_packed, of_whole = look_up(packed, [before], asked), look_up(whole, [before], asked)
        assert np.array_equal(of_packed.own_words(), of_whole.own_words())
        assert of_packed.longest_own_run(whole.of_content)[0] == of_whole.longest_own_run(whole.of_content)[0]
        assert np.array_equal(*(FilterBank([before]).have(units, asked) for units in (packed, whole)))
    for one_mask, other_mask in zip(replaced_lines(packed, [before]), replaced_lines(whole, [before]), strict=True):
        assert np.array_equal(one_mask, other_mask)
    for clocks in (set[int](), set(whole.places[whole.in_table][::5].tolist())):
        one, two = (told(compare_units(units, before, clocks)) for units in (packed, whole))
        assert one == two


def test_a_shingle_takes_about_three_bytes_of_those_that_can_be_sampled() -> None:
    """Half of them can."""
    whole, _ = units_of(PAGES["of many units"])
    assert len(pack_units(whole)) < 1.5 * len(whole.hashes) + 20 * len(whole.lengths)


@pytest.mark.parametrize("name", PAGES)
def test_what_a_record_keeps_of_the_units_is_made_of_the_packed_ones(name: str) -> None:
    fp = PAGES[name]
    assert fp.page_units is not None
    assert bytes(fingerprint_of(bytes(fp._replace(units=None)), pack_units(fp.page_units))) == bytes(fp)


def test_the_fingerprint_does_not_change() -> None:
    fp = PAGES["of many units"]
    _, packed = units_of(fp)
    assert bytes(fp._replace(page_units=packed)) == bytes(fp)
