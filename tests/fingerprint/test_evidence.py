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
    evidence = Scores(np.array([resemblance]), np.array([resemblance]), nothing, nothing, nothing, np.zeros(1))
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
    ("titles", "h1s", "content", "vetoed"),
    [
        ((1, 2), (3, 4), (50, 900), True),
        ((1, 1), (3, 4), (50, 50), False),
        ((1, 2), (3, 3), (50, 50), False),
        ((0, 2), (3, 4), (50, 50), False),
        ((1, 2), (3, 0), (50, 50), False),
        ((1, 2), (3, 4), (128, 128), False),
    ],
)
def test_a_short_page_with_another_title_and_another_headline_is_no_copy(
    titles: tuple[int, int], h1s: tuple[int, int], content: tuple[int, int], vetoed: bool
) -> None:
    """A missing one is no other one; longer pages are told apart by their passages."""
    rows = np.repeat(fingerprint_page(f"<p>{pages.prose('text', 60)}").comparison_row, 2)
    rows["title"], rows["h1"], rows["content"], rows["exact"] = titles, h1s, content, (1, 2)
    assert (score(rows[0], rows[1:]).adjusted[0] < IDENTICAL_RESEMBLANCE) == vetoed


@pytest.mark.parametrize("bits", [64, 128])
def test_the_evidence_is_the_end_of_a_fingerprint(bits: int) -> None:
    """So that many can be read at once from what a store gives."""
    fp = fingerprint_page(product("umbrella"), bits=bits)
    row: Any = np.frombuffer(bytes(fp), COMPARISON_DTYPE, offset=len(bytes(fp)) - COMPARISON_DTYPE.itemsize)[0]
    assert row == fp.comparison_row[0]
    for name in ("content", "title", "h1", "signatures", "headings"):
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
