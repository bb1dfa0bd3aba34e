"""What speaks for and against two pages being the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from helpers import pages
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.make import fingerprint_page
from scrapy_simdedup.fingerprint.similarity import (
    COMPARISON_DTYPE,
    IDENTICAL_RESEMBLANCE,
    NEAR_RESEMBLANCE,
    Scores,
    score,
)

SHARED = pages.prose("terms", 1_500)


def product(name: str, count: int = 80, headline: str = "") -> str:
    """A page with a text of its own, and terms that every page of its site carries."""
    title = headline or f"The {name} of {name}shire"
    return f"<title>{title}</title><h1>{title}</h1>{pages.prose(name, count)}<div>{SHARED}</div>"


def found(one: str, other: str) -> Scores:
    return score(fingerprint_page(one).comparison_row[0], fingerprint_page(other).comparison_row)


@pytest.mark.parametrize(
    ("resemblance", "expected"),
    [(0, 0), (0.35, 0.425), (NEAR_RESEMBLANCE, 0.85), (IDENTICAL_RESEMBLANCE, 0.95), (1, 1)],
)
def test_similarity_is_linear_between_its_lines(resemblance: float, expected: float) -> None:
    """Below is what differs, between them what is near, above what is a copy."""
    nothing = np.array([False])
    evidence = Scores(np.array([resemblance]), np.array([resemblance]), nothing, nothing, nothing, np.zeros(1), nothing)
    assert evidence.similarity[0] == pytest.approx(expected)


def test_pages_that_differ_in_a_short_text_beside_a_long_one_are_near_at_most() -> None:
    """They resemble each other like copies, but have other headlines and other passages."""
    seen = found(product("wheelbarrow"), product("umbrella"))
    assert seen.resemblance[0] > IDENTICAL_RESEMBLANCE > seen.adjusted[0] >= NEAR_RESEMBLANCE
    assert seen.headline_differs[0]


def test_an_own_passage_lowers_what_is_said_even_under_the_same_headline() -> None:
    """By its units, and never below near."""
    seen = found(product("wheelbarrow", headline="Offer"), product("umbrella", headline="Offer"))
    assert NEAR_RESEMBLANCE <= seen.adjusted[0] < seen.resemblance[0]
    assert not seen.headline_differs[0]


def test_a_passage_that_is_merely_added_speaks_against_nothing() -> None:
    """Comments and related pages come and go."""
    html = product("wheelbarrow")
    seen = found(html, html + "<div>" + pages.prose("more", 40) + "</div>")
    assert seen.resemblance[0] - seen.adjusted[0] < 0.01


def test_equal_texts_are_equal_under_any_title() -> None:
    """Counters in titles say nothing."""
    html = product("wheelbarrow")
    assert found(html, html.replace("<title>", "<title>(3) ")).adjusted[0] == 1.0


@pytest.mark.parametrize(
    ("differing", "are_twins"),
    [
        ({"h1": (3, 4)}, True),
        ({"h1": (3, 4), "exact": (1, 1)}, True),
        ({"h1": (3, 0)}, False),
        ({"title": (1, 2)}, False),
        ({"title": (1, 2), "numbers": (5, 6)}, True),
        ({"title": (1, 2), "numbers": (5, 0)}, True),
        ({"title": (1, 2), "numbers": (5, 6), "exact": (1, 1)}, False),
        ({"title": (1, 2), "numbers": (5, 6), "h1": (3, 3)}, False),
        ({"title": (1, 2), "numbers": (5, 6), "h1": (3, 0)}, False),
        ({"title": (1, 0), "numbers": (5, 6)}, False),
        ({"numbers": (5, 6)}, False),
        ({"identity": (7, 8)}, True),
        ({"identity": (7, 0)}, False),
    ],
)
@pytest.mark.parametrize("length", [60, 3_000])
def test_pages_that_are_called_otherwise_are_near_at_most_however_long(
    differing: dict[str, tuple[int, int]], are_twins: bool, length: int
) -> None:
    """A headline that is missing is no other one."""
    rows = np.repeat(fingerprint_page(f"<p>{pages.prose('text', length)}").comparison_row, 2)
    rows["exact"] = 1, 2
    for name, values in differing.items():
        rows[name] = values
    found = score(rows[0], rows[1:])
    assert found.are_twins[0] == are_twins
    assert (found.adjusted[0] < IDENTICAL_RESEMBLANCE) == are_twins


def test_twins_are_below_any_threshold_of_identical() -> None:
    """A lower threshold catches edits, not other products."""
    one, other = (fingerprint_page(f"<h1>Kettle {size} l</h1>{SHARED}") for size in ("1.0", "1.5"))
    assert one.compare(other).kind == one.compare(other, identical=0.9).kind == "near"
    assert one.compare(other, identical=0.9, near=0.7).similarity < 0.9


@pytest.mark.parametrize("bits", [64, 128])
def test_the_evidence_is_the_end_of_a_fingerprint(bits: int) -> None:
    """So that many can be read at once from what a store gives."""
    fp = fingerprint_page(product("umbrella"), bits=bits)
    row: Any = np.frombuffer(bytes(fp), COMPARISON_DTYPE, offset=len(bytes(fp)) - COMPARISON_DTYPE.itemsize)[0]
    assert row == fp.comparison_row[0]
    for name in ("content", "title", "h1", "signatures", "headings", "numbers", "identity"):
        assert row[name] == getattr(fp, name)
    assert (row["odd_signatures"].tobytes(), row["odd_headings"].tobytes()) == (fp.odd_signatures, fp.odd_headings)
    assert (row["cells"].tobytes(), row["exact"].tobytes()) == (fp.sketch, fp.exact)


def test_what_is_not_judged_has_no_evidence() -> None:
    fp: PageFingerprint = fingerprint_page("<h1>Not found</h1>")
    assert len(fp.comparison_row) == 0


def test_one_is_weighed_against_many_as_against_each() -> None:
    """In either direction."""
    rows = np.concatenate([fingerprint_page(product(name)).comparison_row for name in ("a", "b", "c", "d")])
    together = score(rows[0], rows)
    for at, row in enumerate(rows):
        assert together.adjusted[at] == score(rows[0], rows[at : at + 1]).adjusted[0]
        assert together.adjusted[at] == score(row, rows[:1]).adjusted[0]
    assert together.take(np.array([2])).similarity[0] == together.similarity[2]
