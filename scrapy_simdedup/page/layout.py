"""The layout of a page: which block elements stand inside which, whatever they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simdedup.page.traits import BLOCK_TAGS

if TYPE_CHECKING:
    from lxml.html import HtmlElement

LEVELS = 3
"""Elements of a path: one, and those around it."""
_CLASSES = 200
"""Characters of a class attribute that are read."""


def layout_paths(root: HtmlElement) -> frozenset[str]:
    """The paths of a page's block elements, such as ``"body > main > p"``.

    A path is there once, so that a list may grow. Names of classes belong to it, unless they have digits, which number
    pages and builds.

    Args:
        root: The page's tree; stays as it is.
    """
    paths: dict[HtmlElement | None, tuple[str, ...]] = {}
    for element in root.iter(*BLOCK_TAGS - {"br", "hr"}):
        above = paths.get(element.getparent(), ())
        paths[element] = (*above[1 - LEVELS :], _label(element))
    return frozenset(" > ".join(path) for path in paths.values())


def _label(element: HtmlElement) -> str:
    names = {name for name in element.get("class", "")[:_CLASSES].lower().split() if name.replace("-", "").isalpha()}
    return ".".join((str(element.tag), *sorted(names)))
