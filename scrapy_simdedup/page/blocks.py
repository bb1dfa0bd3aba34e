"""One walk over the tree: the blocks of text in their order, and the tree of the roles around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lxml import etree

from scrapy_simdedup.page.parse import NOT_TEXT
from scrapy_simdedup.page.roles import ARIA_ROLES, SLUG_TAGS, TAG_ROLES, TEXT_ROLES, UNNAMED_TAGS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lxml.html import HtmlElement

    from scrapy_simdedup.page.roles import RoleWords

BLOCK_TAGS = frozenset(
    {
        *("html", "body", "main", "article", "section", "div", "header", "footer", "nav", "aside", "center"),
        *(
            "p",
            "pre",
            "xmp",
            "blockquote",
            "address",
            "figure",
            "figcaption",
            "details",
            "summary",
            "dialog",
            "br",
            "hr",
        ),
        *("h1", "h2", "h3", "h4", "h5", "h6", "hgroup", "ul", "ol", "menu", "li", "dl", "dt", "dd"),
        *("form", "fieldset", "legend", "table", "caption", "thead", "tbody", "tfoot", "tr", "td", "th"),
    }
)
"""Elements that begin and end a block of text; all others, unknown ones too, stand inside a line."""


@dataclass(frozen=True, slots=True)
class Outline:
    """Texts and roles of a page, in document order. Node 0 is the page; a parent comes before its children."""

    texts: list[str]
    """Text of each block, as it came; never blank."""
    text_roles: list[int]
    """``HEADING``, ``H1`` and ``PARAGRAPH`` bits of each block."""
    nodes: list[int]
    """The innermost node around each block."""
    parents: list[int]
    """Of each node, the node around it; -1 for the page."""
    roles: list[int]
    """Of each node, the roles that its own tag, ARIA role, class and id say."""
    elements: list[HtmlElement]
    """Of each node, its element."""


def outline(root: HtmlElement, words: RoleWords) -> Outline:
    """Read the tree once, without recursion.

    Args:
        root: The ``<html>`` element.
        words: Roles of class and id names.
    """
    page = Outline([], [], [], [-1], [0], [root])
    line: list[str] = []
    node = text_roles = 0

    def end_line() -> None:
        text = "".join(line).strip()
        line.clear()
        if text:
            page.texts.append(text)
            page.text_roles.append(text_roles)
            page.nodes.append(node)

    around: list[tuple[int, int]] = []
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        tag = element.tag
        if line and tag in BLOCK_TAGS:
            end_line()
        if event == "end":
            node, text_roles = around.pop()
            if element.tail:
                line.append(element.tail)
            continue
        around.append((node, text_roles))
        if tag in NOT_TEXT and element.get("shadowrootmode") is None:
            walk.skip_subtree()
            continue
        roles = TAG_ROLES.get(tag, 0)
        if element.attrib:
            roles |= _attribute_roles(element.attrib, tag, words)
        if roles:
            text_roles |= roles & TEXT_ROLES
            roles &= ~TEXT_ROLES
            if roles:
                page.parents.append(node)
                page.roles.append(roles)
                page.elements.append(element)
                node = len(page.parents) - 1
        if element.text:
            line.append(element.text)
    return page


def _attribute_roles(attributes: Mapping[str, str], tag: str, words: RoleWords) -> int:
    roles = 0
    aria = attributes.get("role")
    if aria:
        roles = ARIA_ROLES.get(aria, 0)
    if tag not in UNNAMED_TAGS:
        classes = attributes.get("class")
        if classes:
            roles |= words[classes]
        if tag not in SLUG_TAGS and not (classes and "section" in classes):
            identity = attributes.get("id")
            if identity:
                roles |= words[identity]
    return roles
