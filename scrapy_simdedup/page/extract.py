"""The main content of a cleaned page: what Readability finds, or else what the page's own tags say."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from lxml import etree
from readability.readability import Unparseable

from scrapy_simdedup.page.readability import ArticleDocument, text_length
from scrapy_simdedup.page.xpath import finder

if TYPE_CHECKING:
    from lxml.html import HtmlElement

CHAR_THRESHOLD = 400
"""Characters below which Readability's article is not taken: on lists and short pages it finds some fragment."""
MAX_ELEMENTS = 10_000
"""Elements above which Readability is not asked: some of its rules compare each element with all others."""
SHARE = 0.5
"""Share of the page's text that an element must hold to be taken for its main content."""
MOST = 0.8
"""As above, where no tag says that it is the main content."""
MAX_DESCENT = 50
MAX_EFFORT = 30_000_000
"""Levels of elements times characters (an element counts as 50) above which Readability is not asked: it counts the
text of nested elements again and again."""

_SELECTORS = tuple(
    finder(f"./descendant::{step}") for step in ("article", "main", "*[@role='main']", "*[@id='content']")
)
_PARTS_OF_TABLES = ("thead", "tbody", "tfoot", "tr")
_CONTAINERS = ("article", "center", "div", "fieldset", "form", "main", "section", "table", "td", *_PARTS_OF_TABLES)
_DEEPER = {depth: etree.XPath("boolean(." + "/*" * depth + ")") for depth in (16, 32, 64, 128, 256, 512, 1024)}
_count = etree.XPath("count(.//*)")


def main_content(root: HtmlElement) -> HtmlElement:
    """The element with the main content, best guess first.

    Readability's article (Arc90's algorithm, by readability-lxml); ``<article>``, ``<main>``, ``role="main"``,
    ``id="content"``; the smallest element that holds most of the text; the body.

    Args:
        root: The ``<html>`` element of a page without boilerplate; it stays as it is.

    Returns:
        An element of the tree or, where Readability found it, of another one.
    """
    article = _article(root)
    if article is not None:
        return article
    body = root.find("body")
    body = root if body is None else body
    least = SHARE * text_length(body)
    for select in _SELECTORS:
        found = max(select(body), key=text_length, default=None)
        if found is not None and text_length(found) >= least:
            return found
    return _largest_block(body)


def _article(root: HtmlElement) -> HtmlElement | None:
    if _is_too_much(root):
        return None
    try:
        article = ArticleDocument(root).article()
    except Unparseable:
        return None
    return article if text_length(article) >= CHAR_THRESHOLD else None


def _is_too_much(root: HtmlElement) -> bool:
    count = cast("float", _count(root))
    depth = next((depth for depth, is_deeper in _DEEPER.items() if not is_deeper(root)), 2048)
    return count > MAX_ELEMENTS or depth * (len(root.text_content()) + 50 * count) > MAX_EFFORT


def _largest_block(body: HtmlElement) -> HtmlElement:
    """The smallest element that holds most of the text: whatever stands around it is left out."""
    least = MOST * text_length(body)
    block = body
    for _ in range(MAX_DESCENT):
        inner = next((child for child in block if child.tag in _CONTAINERS and text_length(child) >= least), None)
        if inner is None:
            break
        block = inner
    return block if block.tag not in _PARTS_OF_TABLES else next(block.iterancestors("table"), block)
