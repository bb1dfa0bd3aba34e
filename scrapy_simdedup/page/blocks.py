"""One walk over the tree: the blocks of text in their order, and the tree of the roles around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simdedup.page.parse import NOT_TEXT
from scrapy_simdedup.page.roles import ARIA_ROLES, SLUG_TAGS, TAG_ROLES, TEXT_ROLES, UNNAMED_TAGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

    from scrapy_simdedup.page.roles import RoleWords

BLOCK_TAGS = frozenset(
    {
        *("html", "body", "main", "article", "section", "div", "header", "footer", "nav", "aside", "center"),
        *("p", "pre", "blockquote", "address", "figure", "figcaption", "details", "summary", "br", "hr"),
        *("h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "dl", "dt", "dd", "form", "fieldset"),
        *("table", "caption", "thead", "tbody", "tr", "td", "th"),
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


def outline(root: HtmlElement, words: RoleWords) -> Outline:
    """Read the tree once, without recursion.

    Args:
        root: The ``<html>`` element.
        words: Roles of class and id names.
    """
    page = Outline([], [], [], [-1], [0])
    line: list[str] = []

    def end_line(node: int, text_roles: int) -> None:
        text = "".join(line).strip()
        line.clear()
        if text:
            page.texts.append(text)
            page.text_roles.append(text_roles)
            page.nodes.append(node)

    stack: list[tuple[HtmlElement, int, int, Iterator[HtmlElement]]] = [(root, 0, 0, iter(root))]
    while stack:
        element, node, text_roles, children = stack[-1]
        for child in children:
            tag = child.tag
            if tag not in NOT_TEXT:
                break
            if child.tail:
                line.append(child.tail)
        else:
            stack.pop()
            if line and element.tag in BLOCK_TAGS:
                end_line(node, text_roles)
            if element.tail:
                line.append(element.tail)
            continue
        if line and tag in BLOCK_TAGS:
            end_line(node, text_roles)
        roles = TAG_ROLES.get(tag, 0)
        if child.attrib:
            roles |= _attribute_roles(child, tag, words)
        if roles:
            text_roles |= roles & TEXT_ROLES
            roles &= ~TEXT_ROLES
            if roles:
                page.parents.append(node)
                page.roles.append(roles)
                node = len(page.parents) - 1
        if child.text:
            line.append(child.text)
        stack.append((child, node, text_roles, iter(child)))
    end_line(0, 0)
    return page


def _attribute_roles(element: HtmlElement, tag: str, words: RoleWords) -> int:
    attributes = element.attrib
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
