"""One walk over the tree: the blocks of text in their order, and the tree of the roles around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simdedup.page.xpath import text_finder

try:
    from scrapy_simdedup.page._walk import walk
except (ImportError, TypeError, ValueError):  # installed without a compiler, or beside an lxml it was not compiled for
    from scrapy_simdedup.page.walk import walk

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from scrapy_simdedup.page.roles import RoleWords

_title_of_head, _title_of_body = text_finder("head/title"), text_finder("body/title")


@dataclass(frozen=True, slots=True)
class Outline:
    """Texts and roles of a page, in document order.

    Two trees lie over the texts, each a list of parents that come before their children: *nodes* are the elements that
    have a role, *boxes* are those and all that begin and end a block. The first of each is the page.
    """

    texts: list[str]
    """Text of each block, as it came; never blank."""
    text_roles: list[int]
    """``HEADING``, ``H1`` and ``PARAGRAPH`` bits of each block."""
    links: list[int]
    """Characters of each block that stand inside of links."""
    nodes: list[int]
    """The innermost node around each block."""
    parents: list[int]
    """Of each node, the node around it; -1 for the page."""
    roles: list[int]
    """Of each node, the roles that its own tag, ARIA role, class and id say."""
    numbers: list[int]
    """Of each node, the number of its element in document order; 0 for the page."""
    boxes: list[int]
    """The innermost box around each block."""
    box_parents: list[int]
    """Of each box, the box around it; -1 for the page."""
    box_roles: list[int]
    """Of each box, its own roles."""
    named: int
    """All roles that classes and ids of the page gave."""
    title: str
    """The text of ``<title>``; may be empty."""


def outline(root: HtmlElement, words: RoleWords) -> Outline:
    """Read a tree.

    Args:
        root: The ``<html>`` element.
        words: Roles of class and id names.
    """
    title = _title_of_head(root) or _title_of_body(root)
    return Outline(*walk(root, words), title.strip())
