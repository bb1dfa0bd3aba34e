"""XPath that finds elements, with types."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Callable

    from lxml.html import HtmlElement


def finder(path: str) -> Callable[[HtmlElement], list[HtmlElement]]:
    """A function that returns the elements at an XPath of elements, in document order."""
    return cast("Callable[[HtmlElement], list[HtmlElement]]", etree.XPath(path))
