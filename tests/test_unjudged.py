"""The reasons for which pages are unjudged, and what each implies."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from scrapy_simdedup.unjudged import COMPARED_BY_BODY, UNJUDGED, UnjudgedReason

STATS = Path(__file__).parent.parent / "docs" / "reference" / "stats.md"
NO_STAT = {"imported", "no_item", "unknown", "unreadable"}
"""Reasons that a crawl does not count: they are of stored records and of feeds."""


def test_every_reason_says_what_it_implies() -> None:
    """A reason that the types allow has its row, and there is no row beside them."""
    assert set(UNJUDGED) == set(get_args(UnjudgedReason))


def test_pages_with_content_and_no_text_to_trust_are_compared_by_their_bodies() -> None:
    """What was cut, or is more than is read, repeats what is the same byte for byte; nothing else does."""
    assert {
        "cut",
        "too_big",
        "too_many_attributes",
        "too_many_elements",
        "too_many_links",
        "too_much_text",
    } == COMPARED_BY_BODY


@pytest.mark.parametrize("reason", sorted(reason for reason in UNJUDGED if UNJUDGED[reason].counted))
def test_the_docs_say_what_a_reason_means_and_what_to_do(reason: UnjudgedReason) -> None:
    """The table of reasons in the docs is what the package says itself."""
    implied = UNJUDGED[reason]
    compared = "yes" if implied.compared_by_body else "no"
    row = f"| `{reason}` | {implied.meaning} | {compared} | {implied.remedy} |"
    told = STATS.read_text(encoding="utf-8").splitlines()
    assert (re.sub(r"SIMDEDUP_\w+", r"`\g<0>`", row) in told) == (reason not in NO_STAT)
