"""What comes out of pages of six kinds is what the guide shows, and is all of their text and nothing else."""

from __future__ import annotations

import re

import pytest
from lxml import html

from helpers.page_kinds import KINDS, URL, kind_of_page, shown_in_guide
from helpers.rendered import rendered_text
from scrapy_simdedup import page_content


@pytest.mark.parametrize("kind", KINDS)
def test_the_guide_shows_what_comes_out(kind: str) -> None:
    """``python tests/helpers/page_kinds.py`` writes it anew."""
    assert page_content(kind_of_page(kind), url=URL).markdown == shown_in_guide()[kind].rstrip("\n")


@pytest.mark.parametrize("kind", KINDS)
def test_prose_lists_and_tables_come_out_whole_and_the_site_does_not(kind: str) -> None:
    root = html.fromstring(kind_of_page(kind))
    text = " ".join(rendered_text(page_content(kind_of_page(kind), url=URL).markdown).split())
    [main] = root.iter("main")
    for block in main.xpath(".//p[not(@class)] | .//td[not(*)] | .//h1 | .//article//li[not(*)] | .//h2"):
        words = " ".join(block.text_content().replace("¶", "").split())
        assert words in text, words
    for frame in ("Most read", "All rights reserved", "About us", "Imprint"):
        assert frame not in text


def test_metadata_of_an_article() -> None:
    found = page_content(kind_of_page("An article"), url=URL)
    assert found.title == "The harbour lamp burns again | The Lantern"
    assert (found.author, found.language, found.site_name) == ("Ada Obst", "en", "The Lantern")
    assert re.fullmatch(r"# The harbour lamp burns again\n.*", found.markdown, re.DOTALL)
