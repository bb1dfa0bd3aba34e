"""The block tree of a page: its blocks of text in their order, and the roles and boxes around them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, TypeAlias, cast
from zlib import crc32

from lxml import etree
from lxml.html import HtmlElement

from scrapy_simdedup.page.hidden_texts import open_noscripts
from scrapy_simdedup.page.roles import (
    ARIA_ROLES,
    BLOCK,
    BODY_PROPERTIES,
    BOX,
    HAS_SLUG_ID,
    HEADING,
    IGNORES_NAMES,
    LINK,
    NODE_ROLES,
    SKIPPED,
    TAG_FLAGS,
    TAG_IDS,
    TEXT_ROLES,
    RoleWords,
)

Ints: TypeAlias = list[int]
Walked: TypeAlias = tuple[
    list[str], Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints,
    Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, int,
]  # fmt: skip


_title_of_head = etree.XPath("string(head/title)", smart_strings=False)
_title_of_body = etree.XPath("string(body/title)", smart_strings=False)


@dataclass(frozen=True, slots=True)
class BlockTree:
    """The blocks of a page in document order, and two trees around them.

    Each tree is a list of parents, which come before their children. *Nodes* are the elements that have a role; *boxes*
    are the nodes and all elements that begin and end a block. The first node and the first box stand for the page.
    """

    texts: list[str]
    """The text of each block, without the white space around it; never blank. White space within is single blanks, as
    the template indents texts; but not where details are asked for, as the content model makes use of it."""
    text_roles: list[int]
    """The ``HEADING``, ``H1`` and ``PARAGRAPH`` bits of each block."""
    link_lengths: list[int]
    """The characters of each block that stand inside of links to other pages; of all links if details are asked for."""
    role_nodes: list[int]
    """The innermost node around each block."""
    role_parents: list[int]
    """The node around each node; -1 for the page."""
    node_roles: list[int]
    """The roles that the tag, ARIA role, class and id of each node give, without those of the nodes around it."""
    element_numbers: list[int]
    """The number of each node's element in document order; 0 for the page."""
    boxes: list[int]
    """The innermost box around each block."""
    box_parents: list[int]
    """The box around each box; -1 for the page."""
    box_roles: list[int]
    """The roles of each box, without those of the boxes around it."""
    box_paths: list[int]
    """32 bits of the tags of each box and of the boxes around it, without their classes and ids; 0 for the page."""
    headings: list[int]
    """The numbers of the blocks that are headings."""
    link_counts: list[int]
    """The links that begin in each block; this list and the next five are empty unless they are asked for."""
    image_counts: list[int]
    """The images between the end of the block before and the end of each block."""
    last_elements: list[int]
    """The number of the last element before the end of each block, in document order."""
    box_tags: list[int]
    """The tag of each box, as :data:`~scrapy_simdedup.page.roles.TAG_IDS` has it; 0 for the page."""
    box_class_paths: list[int]
    """32 bits of the tags and classes of each box and of the boxes around it; 0 for the page."""
    box_bodies: list[int]
    """1 for each box that one of ``BODY_PROPERTIES`` stands on, else 0."""
    named_roles: int
    """All roles that class and id names of the page gave."""
    title: str
    """The text of ``<title>``; may be empty."""


PATH_FACTOR = 0x9E3779B1
"""What the path of a box is multiplied by before the tag of a box inside it is added."""


@lru_cache(256)
def tag_number(tag: str) -> int:
    """32 bits of the name of an element."""
    return crc32(tag.encode())


def class_path_of(path: int, tag: str, classes: str | None) -> int:
    """The path of a box with its class, from that of the box around it."""
    of_tag = 0 if tag.startswith("{") else tag_number(tag)  # of another vocabulary, which a page of HTML has not
    return (path * PATH_FACTOR + of_tag + (crc32(classes.encode()) if classes else 0)) & 0xFFFF_FFFF


def build_block_tree(root: HtmlElement, words: RoleWords, *, detailed: bool = False) -> BlockTree:
    """The block tree of the page with an ``<html>`` element, where class and id names give the roles of ``words``.

    Where the page stands in a ``<noscript>``, that element becomes one whose text is read. ``detailed`` fills the lists
    that the content model asks for, from ``link_counts`` to ``box_bodies``.
    """
    title = cast("str", _title_of_head(root) or _title_of_body(root))
    walked = walk(root, words, detailed)
    if open_noscripts(root, walked[0]):
        walked = walk(root, words, detailed)
    return BlockTree(*walked, title.strip())


_END = etree.Element("br")
"""An element behind the page: a line break outside of all others ends what is open."""


_OF_NUMBER = "0123456789 \t\n\v\f\r"
_SPACES = re.compile(r"[\t-\r\x1c-\x1f \xa0]+")


def _leads_on(element: etree._Element) -> bool:
    """Whether a link leads to another page, and not to a place of its own: a question to its answer.

    ``#`` alone stands on buttons, and a number is that of a line in a source.
    """
    href = element.get("href", "")
    if len(href) < 2 or href[0] != "#":
        return True
    text = element.text or ""
    return not (text.strip(_OF_NUMBER) or not text or text.isspace())


def python_walk(root: HtmlElement, words: RoleWords, detailed: bool = False) -> Walked:  # noqa: PLR0912, PLR0915 - calls cost as much again
    """The fields of a :class:`BlockTree` in their order, without the title, from one walk without recursion.

    1. Before an element begins, the elements that are over end: their text and the text behind them join the line.
    2. A block element ends the line before it and the line inside it. A line that is not blank is a block of text.
    3. An element without text of the page's own is skipped with all it holds.
    4. The roles of any other element come from its tag, its ARIA role, and the words of its class and id.
    5. An element with a role is a node; an element with a role or with the inside of a block is a box.

    Where the package was installed with its compiled part, :mod:`scrapy_simdedup.page._walk` does the same.
    """
    texts: list[str] = []
    block_roles: list[int] = []
    links: list[int] = []
    nodes: list[int] = []
    parents, node_roles, numbers = [-1], [0], [0]
    boxes: list[int] = []
    box_parents, box_roles, box_paths = [-1], [0], [0]
    headings: list[int] = []
    link_counts: list[int] = []
    image_counts: list[int] = []
    last_elements: list[int] = []
    box_tags, box_class_paths, bodies = ([0], [0], [0]) if detailed else ([], [], [])
    line: list[str] = []
    node = box = path = class_path = text_roles = named = linked = begun = images = 0
    number = -1
    in_link = False

    def shown(text: str) -> str:
        return (text if detailed else _SPACES.sub(" ", text)).strip()

    def end_line(node: int, box: int, text_roles: int, linked: int, last: int) -> None:
        nonlocal begun, images
        text = shown("".join(line))
        line.clear()
        if text:
            if text_roles & HEADING:
                headings.append(len(texts))
            texts.append(text)
            block_roles.append(text_roles)
            links.append(min(linked, len(text)) if linked else 0)
            nodes.append(node)
            boxes.append(box)
            if detailed:
                link_counts.append(begun)
                image_counts.append(images)
                last_elements.append(last)
                images = 0
        begun = 0

    inside: Any = None  # the innermost element that is not over yet
    is_block = 0
    around: list[tuple[Any, int, int, int, int, int, int, bool]] = []
    elements = chain(root.iter("*"), [_END])  # a list of them all would set off the garbage collector
    for element in elements:
        above = element.getparent()
        while inside is not above:
            if is_block and line:
                end_line(node, box, text_roles, linked, number)
                linked = 0
            tail = inside.tail
            inside, is_block, node, box, path, class_path, text_roles, in_link = around.pop()
            if tail and (line or not tail.isspace()):
                line.append(tail)
                if in_link:
                    linked += len(shown(tail))
        around.append((inside, is_block, node, box, path, class_path, text_roles, in_link))
        inside = element
        number += 1
        roles = TAG_FLAGS.get(element.tag, 0)
        is_block = roles & BLOCK
        if is_block and line:
            end_line(node, box, text_roles, linked, number - 1)
            linked = 0
        if roles & SKIPPED and element.get("shadowrootmode") is None:
            for _ in element.iterdescendants("*"):
                next(elements)
                number += 1
            continue
        aria = element.get("role")
        if aria:
            roles |= ARIA_ROLES.get(aria, 0)
        if element.tag == "img":
            images += 1
        if not roles & IGNORES_NAMES:
            classes = element.get("class")
            by_name = words[classes] if classes else 0
            if not roles & HAS_SLUG_ID and not (classes and "section" in classes):
                identity = element.get("id")
                if identity:
                    by_name |= words[identity]
            if by_name:
                named |= by_name
                roles |= by_name
        if roles:
            text_roles |= roles & TEXT_ROLES
            if roles & LINK and (detailed or _leads_on(element)):
                in_link = True
                begun += 1
            is_box = roles & BOX
            if is_box:
                path = (path * PATH_FACTOR + tag_number(element.tag)) & 0xFFFF_FFFF
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
                box_paths.append(path)
                if detailed:
                    class_path = class_path_of(class_path, element.tag, element.get("class"))
                    box_tags.append(TAG_IDS.get(element.tag, 0))
                    box_class_paths.append(class_path)
                    bodies.append(int(not BODY_PROPERTIES.isdisjoint(element.get("itemprop", "").split())))
        text = element.text
        if text and (line or not text.isspace()):
            line.append(text)
            if in_link:
                linked += len(shown(text))
    of_boxes = boxes, box_parents, box_roles, box_paths, headings
    details = link_counts, image_counts, last_elements, box_tags, box_class_paths, bodies
    return texts, block_roles, links, nodes, parents, node_roles, numbers, *of_boxes, *details, named


try:
    from scrapy_simdedup.page._walk import walk
except (ImportError, TypeError, ValueError):  # installed without a compiler, or beside an lxml it was not compiled for
    walk = python_walk


def python_subtree_totals(parents: Sequence[int], places: Sequence[int], values: Iterable[int]) -> list[int]:
    """For each place of a tree, the sum of the values that lie in it or deeper.

    ``parents`` has the place around each place, -1 for the root, which comes first; ``places`` that of each value.
    """
    totals = [0] * len(parents)
    for place, value in zip(places, values, strict=True):
        totals[place] += value
    for place in range(len(totals) - 1, 0, -1):
        totals[parents[place]] += totals[place]
    return totals


def python_mark_ancestors(parents: Sequence[int], places: Iterable[int]) -> list[bool]:
    """For each place of a tree, whether it or anything inside it is one of some places."""
    around = [False] * len(parents)
    for place in places:
        while place >= 0 and not around[place]:
            around[place] = True
            place = parents[place]  # noqa: PLW2901 - one step up
    return around


def python_mark_descendants(parents: Sequence[int], marked: Iterable[bool]) -> list[bool]:
    """For each place of a tree, whether it or anything around it is marked."""
    inside: list[bool] = []
    for parent, mark in zip(parents, marked, strict=True):
        inside.append(mark or (parent >= 0 and inside[parent]))
    return inside


try:
    from scrapy_simdedup.page._classify import mark_ancestors as mark_ancestors  # noqa: PLC0414 - for others, too
    from scrapy_simdedup.page._classify import mark_descendants as mark_descendants  # noqa: PLC0414 - for others, too
    from scrapy_simdedup.page._classify import subtree_totals as subtree_totals  # noqa: PLC0414 - for others, too
except ImportError:  # installed without a compiler
    mark_ancestors, mark_descendants = python_mark_ancestors, python_mark_descendants
    subtree_totals = python_subtree_totals
