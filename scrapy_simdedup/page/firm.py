"""What is firm where Readability has the word: ``SIMDEDUP_EXTRACTOR="readability"``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simdedup.page.clean import remove_boilerplate
from scrapy_simdedup.page.extract import main_content
from scrapy_simdedup.page.kinds import Kind
from scrapy_simdedup.page.roles import H1

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lxml.html import HtmlElement

    from scrapy_simdedup.page.blocks import Outline

PROSE = 60
"""Letters from which a block under a headline is its text, and not its date or author."""
MAX_EFFORT = 500_000_000
"""Blocks times letters of the main content above which nobody looks which block lies in it."""


def judge_by_main_content(root: HtmlElement, page: Outline, kinds: Sequence[Kind], frames: Sequence[int]) -> list[Kind]:
    """Keep firm only what the main content holds, that is, the text of its Markdown; the rest becomes loose.

    Where the text under the page's headline lies outside of it, Readability found something else, such as the terms
    of a shop below a short article, and the kinds stay.

    Args:
        root: The ``<html>`` element; it is used up.
        page: Its outline.
        kinds: The kind of each block by its roles.
        frames: The frame roles of each block.
    """
    remove_boilerplate(root, page, frames)
    main = _letters(main_content(root).text_content())
    firm = {number: _letters(page.texts[number]) for number, kind in enumerate(kinds) if kind is Kind.FIRM}
    if len(firm) * len(main) > MAX_EFFORT:
        return list(kinds)
    # Readability cuts and joins blocks, so that only their letters can be found again.
    outside = {number for number, letters in firm.items() if letters not in main}
    if _text_under_headline(page, firm) in outside:
        return list(kinds)
    return [Kind.LOOSE if number in outside else kind for number, kind in enumerate(kinds)]


def _text_under_headline(page: Outline, firm: Mapping[int, str]) -> int | None:
    """The number of the first prose after the first ``<h1>``."""
    headline = next((number for number in firm if page.text_roles[number] & H1), None)
    if headline is None:
        return None
    return next((number for number, letters in firm.items() if number > headline and len(letters) >= PROSE), None)


def _letters(text: str) -> str:
    return "".join(text.split())
