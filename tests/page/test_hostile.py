"""Hostile pages of the largest size: each is judged, or says why it is not, and hides no other page."""

from __future__ import annotations

import pytest

from helpers.hostile import HOSTILE
from scrapy_simdedup import fingerprint_page


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_hides_no_other(name: str) -> None:
    """Two pages that differ in what follows are two; the bytes of one again are the same page, if it has content."""
    hostile = HOSTILE[name]
    page = hostile.page("one")
    one, again = fingerprint_page(page), fingerprint_page(page)
    assert one.unjudged == hostile.unjudged
    assert (one.compare(again).kind == "identical") is hostile.is_recognised
    if not hostile.void:
        assert one.compare(fingerprint_page(hostile.page("other"))).kind == "different"
