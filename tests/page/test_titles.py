"""A title counts without what the site adds to it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simdedup.page.page import MAX_TITLE_LENGTH, own_title, read_page

SAME = [
    ("Blue chair | Acme", "Blue chair | Acme Furniture", "Blue chair"),
    ("Acme - Blue chair", "Acme: all for your home - Blue chair", "Blue chair"),
    ("Merger (tools 3.1 API)", "Merger (tools 3.2-SNAPSHOT API)", "Interface Merger<K, V>"),
    ("蓝色的椅子_家具网", "蓝色的椅子_家居之家", "蓝色的椅子"),
    ("Blue chair — Acme", "Blue chair", "blue CHAIR"),
    ("Blue chair » Offers » Acme", "Blue chair » Sale » Acme", "Blue chair"),
]
OTHER = [
    ("Blue chair | Acme", "Red chair | Acme", "Blue chair"),
    ("Blue chair - 29 EUR | Acme", "Blue chair - 35 EUR | Acme", "Blue chair"),
    ("Blue chair | Acme", "Blue chair sold out | Acme", "Blue chair"),
    ("Blue chair | Chair for two | Acme", "Blue chair | Chair for three | Acme", "Blue chair"),
    ("Terms | Acme", "Privacy | Acme", "Our house rules"),
    ("Terms | Acme", "Privacy | Acme", ""),
    ("save_all", "save_none", "save"),
    ("Blue chair", "Red chair", "Blue chair"),
]


@pytest.mark.parametrize(("one", "other", "headline"), SAME)
def test_what_a_site_adds_to_the_headline_counts_for_nothing(one: str, other: str, headline: str) -> None:
    assert own_title(one, headline, []).casefold() == own_title(other, headline, []).casefold()


@pytest.mark.parametrize(("one", "other", "headline"), OTHER)
def test_all_else_in_a_title_counts(one: str, other: str, headline: str) -> None:
    """Another headline, a price, and whatever a page without that headline is called."""
    assert own_title(one, headline, []) != own_title(other, headline, [])


@pytest.mark.parametrize("level", ["h1", "h2"])
def test_a_headline_is_the_first_heading_where_there_is_no_h1(level: str) -> None:
    html = f"<title>Blue chair | Acme</title><main><{level}>Blue chair</{level}><p>It is a chair of wood.</p></main>"
    assert read_page(html).own_title == "Blue chair"


def test_a_part_that_is_another_heading_counts() -> None:
    """The h1 of some sites is the name of the site."""
    html = "<title>Blue chair | Acme</title><main><h1>Acme</h1><h2>Blue chair</h2><p>It is a chair.</p></main>"
    assert read_page(html).own_title == "Blue chair|Acme"


@pytest.mark.parametrize("author", ["", "<h2><a href='/ann'>Ann</a></h2>", "<h2>Ann</h2>"])
def test_a_headline_that_leads_home_does_not_tell_what_the_site_adds(author: str) -> None:
    """The plain view of a thread has no heading but the site's name, and those who wrote."""
    html = f"<title>Acme Talk - Blue chair</title><h1><a href='/'>Acme Talk</a></h1>{author}<p>It is a chair.</p>"
    assert "Blue chair" in read_page(html).own_title


@given(st.text(), st.text(), st.lists(st.text(), max_size=3))
def test_of_no_title_nothing_is_left(title: str, headline: str, headings: list[str]) -> None:
    """A title that counted for nothing would hide what it becomes."""
    assert bool(own_title(title, headline, headings)) == bool(title)


def test_a_very_long_title_counts_as_it_is() -> None:
    title = "Blue chair | " + "x" * MAX_TITLE_LENGTH
    assert own_title(title, "Blue chair", []) == title
