"""One walk over the tree of a page: the blocks of text in their order, and the tree of the roles around them.

Where the package was installed with its compiled part, :mod:`scrapy_simdedup.page._walk` does the same.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from lxml import etree

from scrapy_simdedup.page.roles import ARIA_ROLES, TEXT_ROLES
from scrapy_simdedup.page.traits import BLOCK, BOX, LINK, NODE_ROLES, SKIPPED, SLUG, TRAITS, UNNAMED

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from scrapy_simdedup.page.roles import RoleWords

    Ints: TypeAlias = list[int]
    Walked: TypeAlias = tuple[list[str], Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, int]

_END = etree.Element("br")
"""Behind the page: a line break outside of all elements ends all that is open."""


def walk(root: HtmlElement, words: RoleWords) -> Walked:  # noqa: PLR0912, PLR0915 - calls cost as much again
    """Read the tree once, without recursion.

    Args:
        root: The ``<html>`` element.
        words: Roles of class and id names.

    Returns:
        The fields of an :class:`~scrapy_simdedup.page.blocks.Outline` in their order, but for the title.
    """
    texts: list[str] = []
    block_roles: list[int] = []
    links: list[int] = []
    nodes: list[int] = []
    parents, node_roles, numbers = [-1], [0], [0]
    boxes: list[int] = []
    box_parents, box_roles = [-1], [0]
    line: list[str] = []
    node = box = text_roles = named = linked = 0
    number = -1
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
    elements = chain(root.iter("*"), [_END])  # a list of them all would set off the garbage collector
    for element in elements:
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
        number += 1
        roles = TRAITS.get(element.tag, 0)
        is_block = roles & BLOCK
        if is_block and line:
            end_line(node, box, text_roles, linked)
            linked = 0
        if roles & SKIPPED and element.get("shadowrootmode") is None:
            for _ in element.iterdescendants("*"):
                next(elements)
                number += 1
            continue
        aria = element.get("role")
        if aria:
            roles |= ARIA_ROLES.get(aria, 0)
        if not roles & UNNAMED:
            classes = element.get("class")
            by_name = words[classes] if classes else 0
            if not roles & SLUG and not (classes and "section" in classes):
                identity = element.get("id")
                if identity:
                    by_name |= words[identity]
            if by_name:
                named |= by_name
                roles |= by_name
        if roles:
            text_roles |= roles & TEXT_ROLES
            if roles & LINK:
                in_link = True
            is_box = roles & BOX
            roles &= NODE_ROLES
            if roles:
                parents.append(node)
                node = len(node_roles)
                node_roles.append(roles)
                numbers.append(number)
            if roles or is_box:
                box_parents.append(box)
                box = len(box_roles)
                box_roles.append(roles)
        text = element.text
        if text and (line or not text.isspace()):
            line.append(text)
            if in_link:
                linked += len(text.strip())
    return (
        *(texts, block_roles, links, nodes, parents, node_roles, numbers),
        *(boxes, box_parents, box_roles, named),
    )
