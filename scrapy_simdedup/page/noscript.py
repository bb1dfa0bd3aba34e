"""Pages that stand in ``<noscript>``: forums that scripts build show search engines their text there.

As a rule a ``<noscript>`` holds a tracking pixel, an image that is loaded late, or the plea to enable JavaScript, which
is the same on all pages of a site. It is read only where it holds more text than all of the page besides, and looks
like a page: it has a main part or an article, or is far longer than a plea.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml import etree

from scrapy_simdedup.page.tree_edits import outermost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml.html import HtmlElement

MAX_REST = 2_000
"""Characters of other text above which a page speaks for itself."""
MIN_MAIN_LENGTH = 200
"""Characters from which a ``<noscript>`` with a main part or an article may be the page."""
MIN_LENGTH = 1_500
"""Characters from which any other may be."""
LENGTH_PER_MENTION = 400
"""Characters of a page for each time that it mentions JavaScript; what mentions it more often is a plea."""

_has_main_part = etree.XPath("boolean(descendant::*[self::main or self::article or @role='main' or @itemprop])")
_CODE = ("script", "style", "template", "iframe", "svg")


def open_noscripts(root: HtmlElement, texts: Sequence[str]) -> bool:
    """Make each ``<noscript>`` that is the page an element whose text is read; whether there is one.

    Args:
        root: The ``<html>`` element; it is changed if there is one.
        texts: The page's other texts.
    """
    rest = sum(map(len, texts))
    if rest > MAX_REST:
        return False
    opened = False
    for element in outermost(list(root.iter("noscript"))):
        text = _letters(element)
        if len(text) > max(rest, MIN_MAIN_LENGTH, LENGTH_PER_MENTION * text.lower().count("javascript")) and (
            len(text) >= MIN_LENGTH or _has_main_part(element)
        ):
            element.tag = "div"
            opened = True
    return opened


def _letters(element: HtmlElement) -> str:
    """The text of an element without white space and code."""
    parts = []
    depth = 0
    for event, found in etree.iterwalk(element, events=("start", "end")):
        is_code = found.tag in _CODE
        if event == "start":
            depth += is_code
            text = found.text
        else:
            depth -= is_code
            text = found.tail if found is not element else None
        if text and not depth:
            parts.append(text)
    return "".join("".join(parts).split())
