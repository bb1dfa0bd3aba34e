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

_BOXES = BLOCK_TAGS - {"br", "hr"}


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
    elements: list[HtmlElement]
    """Of each node, its element."""
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


def outline(root: HtmlElement, words: RoleWords) -> Outline:  # noqa: PLR0912, PLR0915 - calls cost as much again
    """Read the tree once, without recursion.

    Args:
        root: The ``<html>`` element.
        words: Roles of class and id names.
    """
    texts: list[str] = []
    block_roles: list[int] = []
    links: list[int] = []
    nodes: list[int] = []
    parents, node_roles, elements = [-1], [0], [root]
    boxes: list[int] = []
    box_parents, box_roles = [-1], [0]
    line: list[str] = []
    node = box = text_roles = named = linked = 0
    in_link = False

    def end_line() -> None:
        text = "".join(line).strip()
        line.clear()
        if text:
            texts.append(text)
            block_roles.append(text_roles)
            links.append(min(linked, len(text)))
            nodes.append(node)
            boxes.append(box)

    around: list[tuple[int, int, int, bool]] = []
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        tag = element.tag
        if line and tag in BLOCK_TAGS:
            end_line()
            linked = 0
        if event == "end":
            node, box, text_roles, in_link = around.pop()
            if element.tail:
                line.append(element.tail)
                if in_link:
                    linked += len(element.tail.strip())
            continue
        around.append((node, box, text_roles, in_link))
        if tag in NOT_TEXT and element.get("shadowrootmode") is None:
            walk.skip_subtree()
            continue
        roles = TAG_ROLES.get(tag, 0)
        if element.attrib:
            roles |= ARIA_ROLES.get(element.get("role"), 0)
            by_name = _name_roles(element.attrib, tag, words)
            named |= by_name
            roles |= by_name
        if roles:
            text_roles |= roles & TEXT_ROLES
            roles &= ~TEXT_ROLES
            if roles:
                parents.append(node)
                node_roles.append(roles)
                elements.append(element)
                node = len(parents) - 1
        if roles or tag in _BOXES:
            box_parents.append(box)
            box_roles.append(roles)
            box = len(box_parents) - 1
        if tag == "a":
            in_link = True
        if element.text:
            line.append(element.text)
            if in_link:
                linked += len(element.text.strip())
    title = (root.findtext("head/title") or root.findtext("body/title") or "").strip()
    return Outline(
        *(texts, block_roles, links, nodes, parents, node_roles, elements),
        *(boxes, box_parents, box_roles, named, title),
    )


def _name_roles(attributes: Mapping[str, str], tag: str, words: RoleWords) -> int:
    """What class and id say."""
    roles = 0
    if tag not in UNNAMED_TAGS:
        classes = attributes.get("class")
        if classes:
            roles |= words[classes]
        if tag not in SLUG_TAGS and not (classes and "section" in classes):
            identity = attributes.get("id")
            if identity:
                roles |= words[identity]
    return roles
