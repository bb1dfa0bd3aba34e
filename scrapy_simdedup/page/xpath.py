"""XPath that finds elements and texts, with types."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Callable

    from lxml.html import HtmlElement


def finder(path: str) -> Callable[[HtmlElement], list[HtmlElement]]:
    """A function that returns the elements at an XPath of elements, in document order."""
    return cast("Callable[[HtmlElement], list[HtmlElement]]", etree.XPath(path))


def text_finder(path: str) -> Callable[[HtmlElement], str]:
    """A function that returns the text of the first element at an XPath, or ""."""
    return cast("Callable[[HtmlElement], str]", etree.XPath(f"string({path})", smart_strings=False))
