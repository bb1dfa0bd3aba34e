"""The block tree of a page: its blocks of text in their order, and the roles and boxes around them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, cast
from zlib import crc32

from lxml import etree
from lxml.html import HtmlElement

from scrapy_simdedup.page import roles as role
from scrapy_simdedup.page.hidden_texts import open_noscripts
from scrapy_simdedup.page.metadata import Declared, find_declared

Ints: TypeAlias = list[int]
Walked: TypeAlias = tuple[
    list[str], Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints,
    Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, int,
]  # fmt: skip


_title_of_head = etree.XPath("string(head/title)", smart_strings=False)
_title_of_body = etree.XPath("string(body/title)", smart_strings=False)


class BlockTree(NamedTuple):
    """The blocks of a page in document order, and two trees around them.

    Each tree is a list of parents, which come before their children. *Nodes* are the elements that have a role; *boxes*
    are the nodes and all elements that begin and end a block. The first node and the first box stand for the page.
    """

    texts: list[str]
    """The text of each block, without the white space around it; never blank. White space within is single blanks, as
    the template indents texts, and words are whole where they may be broken. Where details are asked for it stays, as
    the content model makes use of it."""
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
    declared: Declared = Declared()
    """What the page declares of its main content; nothing unless details are asked for."""


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


def build_block_tree(root: HtmlElement, words: role.RoleWords, *, detailed: bool = False) -> BlockTree:
    """The block tree of the page with an ``<html>`` element, where class and id names give the roles of ``words``.

    Where the page stands in a ``<noscript>``, that element becomes one whose text is read. ``detailed`` fills the lists
    that the content model asks for, from ``link_counts`` to ``box_bodies``, and ``declared``.
    """
    title = cast("str", _title_of_head(root) or _title_of_body(root))
    walked = walk(root, words, detailed)
    if open_noscripts(root, walked[0]):
        walked = walk(root, words, detailed)
    return BlockTree(*walked, title.strip(), find_declared(root) if detailed else Declared())


_OF_NUMBER = "0123456789 \t\n\v\f\r"
_SPACES, _BREAKS = re.compile(r"[\t-\r\x1c-\x1f \xa0]+"), re.compile("[\xad\u200b]")
"""White space and no-break spaces; soft hyphens and zero-width spaces, which part no words."""


def _leads_on(element: etree._Element) -> bool:
    """Whether a link leads to another page, and neither to a file nor to a place of its own: a question to its answer.

    ``#`` alone stands on buttons, and a number is that of a line in a source.
    """
    href = element.get("href", "")
    if len(href) < 2 or href[0] != "#":
        return element.get("download") is None and not role.leads_to_no_page(href)
    text = element.text or ""
    return not (text.strip(_OF_NUMBER) or not text or text.isspace())


def python_walk(root: HtmlElement, words: role.RoleWords, detailed: bool = False) -> Walked:  # noqa: PLR0912, PLR0915 - what an element says is asked in one place
    """The fields of a :class:`BlockTree` in their order, without the title, from one walk without recursion.

    1. The texts in an element and behind it join the line.
    2. A block element ends the line before it and the line inside it. A line that is not blank is a block of text.
    3. An element without text of the page's own is skipped with all it holds.
    4. The roles of any other element come from its tag, its ARIA role, and the words of its class and id.
    5. An element with a role is a node; an element with a role or with the inside of a block is a box.

    Where the package was installed with its compiled part, :mod:`scrapy_simdedup.page._walk` does the same.
    """
    blocks: list[tuple[str, int, int, int, int, int, int, int]] = []
    nodes, boxes = [(-1, 0, 0)], [(-1, 0, 0, 0, 0, 0)]
    line: list[str] = []
    is_block = node = box = path = class_path = text_roles = named = linked = begun = images = 0
    number, in_link = -1, False
    around: list[tuple[int, int, int, int, int, int, bool]] = []

    def shown(text: str) -> str:
        return (text if detailed else _SPACES.sub(" ", _BREAKS.sub("", text))).strip()

    def add_to_line(text: str | None) -> None:
        nonlocal linked
        if text and (line or not text.isspace()):
            line.append(text)
            if in_link:
                linked += len(shown(text))

    def end_line(last: int) -> None:
        nonlocal linked, begun, images
        if line:
            text = shown("".join(line))
            if text:
                blocks.append((text, text_roles, min(linked, len(text)), node, box, begun, images, last))
                images = 0
            line.clear()
            linked = begun = 0

    walker = etree.iterwalk(root, events=("start", "end"))
    for event, element in walker:
        if event == "end":
            if is_block:
                end_line(number)
            is_block, node, box, path, class_path, text_roles, in_link = around.pop()
            add_to_line(element.tail)
            continue
        around.append((is_block, node, box, path, class_path, text_roles, in_link))
        number += 1
        roles = role.TAG_FLAGS.get(element.tag, 0)
        is_block = roles & role.BLOCK
        if is_block:
            end_line(number - 1)
        if roles & role.SKIPPED and element.get("shadowrootmode") is None:
            number += sum(1 for _ in element.iterdescendants("*"))
            walker.skip_subtree()
            continue
        aria = element.get("role")
        if aria:
            roles |= role.ARIA_ROLES.get(aria, 0)
        if element.tag == "img":
            images += 1
        if not roles & role.IGNORES_NAMES:
            classes = element.get("class")
            by_name = words[classes] if classes else 0
            if not roles & role.HAS_SLUG_ID and not (classes and "section" in classes):
                identity = element.get("id")
                if identity:
                    by_name |= words[identity]
            named |= by_name
            roles |= by_name
        text_roles |= roles & role.TEXT_ROLES
        if roles & role.LINK and (detailed or _leads_on(element)):
            in_link = True
            begun += 1
        is_box = roles & role.BOX
        if is_box:
            path = (path * PATH_FACTOR + tag_number(element.tag)) & 0xFFFF_FFFF
        roles &= role.NODE_ROLES
        if roles:
            nodes.append((node, roles, number))
            node = len(nodes) - 1
        if roles or is_box:
            class_path = class_path_of(class_path, element.tag, element.get("class")) if detailed else 0
            is_body = detailed and not role.BODY_PROPERTIES.isdisjoint(element.get("itemprop", "").split())
            boxes.append((box, roles, path, role.TAG_IDS.get(element.tag, 0), class_path, int(is_body)))
            box = len(boxes) - 1
        add_to_line(element.text)
    texts, block_roles, links, of_nodes, of_boxes, *of_lines = _columns(blocks, 8)
    box_parents, box_roles, box_paths, *of_tags = _columns(boxes, 6)
    headings = [at for at, found in enumerate(block_roles) if found & role.HEADING]
    details = (*of_lines, *of_tags) if detailed else ([], [], [], [], [], [])
    of_blocks, around_them = (texts, block_roles, links, of_nodes), (of_boxes, box_parents, box_roles, box_paths)
    return cast("Walked", (*of_blocks, *_columns(nodes, 3), *around_them, headings, *details, named))


def _columns(rows: Sequence[tuple[Any, ...]], count: int) -> list[list[Any]]:
    return list(map(list, zip(*rows, strict=True))) or [[] for _ in range(count)]


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


def self_and_above(parents: Sequence[int], place: int) -> Iterator[int]:
    """A place of a tree, and those around it, the innermost first."""
    while place >= 0:
        yield place
        place = parents[place]


def innermost_around(parents: Sequence[int], one: int, other: int) -> int:
    """The innermost box around two boxes; boxes are numbered in their order, so the later one is never around."""
    while one != other:
        if one > other:
            one = parents[one]
        else:
            other = parents[other]
    return one


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
    from scrapy_simdedup.page._classify import mark_ancestors, mark_descendants, subtree_totals
except ImportError:  # installed without a compiler
    mark_ancestors, mark_descendants = python_mark_ancestors, python_mark_descendants
    subtree_totals = python_subtree_totals
