"""One walk over the tree: the blocks of text in their order, and the tree of the roles around them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from lxml import etree

from scrapy_simdedup.page.parse import NOT_TEXT
from scrapy_simdedup.page.roles import (
    ARIA_ROLES,
    FRAME_ROLES,
    MAIN,
    MAIN_TAG,
    SLUG_TAGS,
    TAG_ROLES,
    TEXT_ROLES,
    UNNAMED_TAGS,
)
from scrapy_simdedup.page.xpath import text_finder

if TYPE_CHECKING:
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

_BLOCK, _BOX, _NOT_TEXT, _LINK, _UNNAMED, _SLUG = (1 << bit for bit in range(24, 30))  # above all roles

_TRAITS = {
    tag: TAG_ROLES.get(tag, 0)
    | sum(
        trait
        for trait, tags in (
            *((_BLOCK, BLOCK_TAGS), (_BOX, BLOCK_TAGS - {"br", "hr"}), (_NOT_TEXT, NOT_TEXT), (_LINK, {"a"})),
            *((_UNNAMED, UNNAMED_TAGS), (_SLUG, SLUG_TAGS)),
        )
        if tag in tags
    )
    for tag in (*TAG_ROLES, *BLOCK_TAGS, *NOT_TEXT, *UNNAMED_TAGS, *SLUG_TAGS)
}
"""Roles and whatever else the walk asks about a tag, in one look-up."""

_NODE_ROLES = FRAME_ROLES | MAIN | MAIN_TAG

_title_of_head, _title_of_body = text_finder("head/title"), text_finder("body/title")

_END = etree.Element("br")
"""Behind the page: a line break outside of all elements ends all that is open."""


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

    def end_line(node: int, box: int, text_roles: int, linked: int) -> None:
        text = "".join(line).strip()
        line.clear()
        if text:
            texts.append(text)
            block_roles.append(text_roles)
            links.append(min(linked, len(text)) if linked else 0)
            nodes.append(node)
            boxes.append(box)

    inside: Any = None  # the innermost element that is not over yet
    is_block = 0
    around: list[tuple[Any, int, int, int, int, bool]] = []
    walk = chain(root.iter("*"), [_END])  # a list of them all would set off the garbage collector
    for element in walk:
        above = element.getparent()
        while inside is not above:
            if is_block and line:
                end_line(node, box, text_roles, linked)
                linked = 0
            tail = inside.tail
            inside, is_block, node, box, text_roles, in_link = around.pop()
            if tail and (line or not tail.isspace()):
                line.append(tail)
                if in_link:
                    linked += len(tail.strip())
        around.append((inside, is_block, node, box, text_roles, in_link))
        inside = element
        roles = _TRAITS.get(element.tag, 0)
        is_block = roles & _BLOCK
        if is_block and line:
            end_line(node, box, text_roles, linked)
            linked = 0
        if roles & _NOT_TEXT and element.get("shadowrootmode") is None:
            for _ in element.iterdescendants("*"):
                next(walk)
            continue
        aria = element.get("role")
        if aria:
            roles |= ARIA_ROLES.get(aria, 0)
        if not roles & _UNNAMED:
            classes = element.get("class")
            by_name = words[classes] if classes else 0
            if not roles & _SLUG and not (classes and "section" in classes):
                identity = element.get("id")
                if identity:
                    by_name |= words[identity]
            if by_name:
                named |= by_name
                roles |= by_name
        if roles:
            text_roles |= roles & TEXT_ROLES
            if roles & _LINK:
                in_link = True
            is_box = roles & _BOX
            roles &= _NODE_ROLES
            if roles:
                parents.append(node)
                node = len(node_roles)
                node_roles.append(roles)
                elements.append(element)
            if roles or is_box:
                box_parents.append(box)
                box = len(box_roles)
                box_roles.append(roles)
        text = element.text
        if text and (line or not text.isspace()):
            line.append(text)
            if in_link:
                linked += len(text.strip())
    title = (_title_of_head(root) or _title_of_body(root)).strip()
    return Outline(
        *(texts, block_roles, links, nodes, parents, node_roles, elements),
        *(boxes, box_parents, box_roles, named, title),
    )
