"""What shape and place say about a block, where no class or id says anything: lists of links, and where the text is."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

from scrapy_simdedup.page.roles import H1, MAIN
from scrapy_simdedup.page.tree import mark_around, mark_inside, totals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simdedup.page.blocks import Outline

LINKED = 0.6
"""Share of its characters inside of links from which a block, or a group of blocks, is links."""
GROUP = 3
"""Blocks of links that make a group, ..."""
LINK_BLOCK = 0.5
"""... each of which has this share of its characters inside of links; ..."""
PROSE = 200
"""... and no block without links is longer than these characters."""
LINKS_ARE_THE_PAGE = 0.5
"""Links with more than this share of the other text are what the page is about: an index, a list of results."""
ROOT_WITH_HEADLINE, ROOT = 0.4, 0.8
"""Shares of the page's prose that the root of its content holds: with the headline, and on a page without one."""
ROOT_TEXT = 0.3
"""The share of all text that it holds, too."""
MAIN_PARTS = 0.5
"""Share of the text from which ``<main>`` and ``<article>`` hold the content."""


def find_links(page: Outline, is_content: Sequence[bool]) -> list[int]:
    """Of each block, 2 in a group of links, 1 if it is a link by itself, else 0; all 0 if the links are the page."""
    lengths = list(map(len, page.texts))
    blocks = list(zip(lengths, page.links, strict=True))
    parents, boxes = page.box_parents, page.boxes
    size, linked = totals(parents, boxes, lengths), totals(parents, boxes, page.links)
    many = totals(parents, boxes, [links >= LINK_BLOCK * length for length, links in blocks])
    is_prose = [links < LINK_BLOCK * length and length > PROSE for length, links in blocks]
    prose = mark_around(parents, compress(boxes, is_prose))
    groups = [many[k] >= GROUP and linked[k] >= LINKED * size[k] and not prose[k] for k in range(len(parents))]
    groups[0] = False
    in_group = mark_inside(parents, groups)
    found = [
        2 if in_group[box] else int(links >= LINKED * length)
        for box, (length, links) in zip(boxes, blocks, strict=True)
    ]
    in_links = sum(length for length, own, step in zip(lengths, is_content, found, strict=True) if own and step)
    others = sum(length for length, own, step in zip(lengths, is_content, found, strict=True) if own and not step)
    return [0] * len(found) if in_links > LINKS_ARE_THE_PAGE * others else found


def is_outside_root(page: Outline, is_content: Sequence[bool], is_firm: Sequence[bool]) -> list[bool]:
    """Of each block, whether it lies outside of the box that holds the headline and most of the prose."""
    parents, boxes = page.box_parents, page.boxes
    lengths = [len(text) if own else 0 for text, own in zip(page.texts, is_content, strict=True)]
    text = totals(parents, boxes, lengths)
    prose = totals(parents, boxes, [max(0, n - links) for n, links in zip(lengths, page.links, strict=True)])
    blocks = zip(boxes, page.text_roles, is_firm, strict=True)
    heads = mark_around(parents, (box for box, roles, firm in blocks if firm and roles & H1))
    root = 0
    if prose[0]:
        share = ROOT_WITH_HEADLINE if heads[0] else ROOT
        for box in range(1, len(parents)):
            if (
                parents[box] == root
                and text[box] >= ROOT_TEXT * text[0]
                and prose[box] >= share * prose[0]
                and (heads[box] or not heads[0])
            ):
                root = box
    inside = mark_inside(parents, (box == root for box in range(len(parents))))
    return [not inside[box] for box in boxes]


def is_outside_main(page: Outline, is_content: Sequence[bool]) -> list[bool]:
    """Of each block, whether it lies outside of the main parts; none does if these hold too little of the text."""
    main = mark_inside(page.box_parents, (roles & MAIN > 0 for roles in page.box_roles))
    outside = [not main[box] for box in page.boxes]
    lengths = [len(text) if own else 0 for text, own in zip(page.texts, is_content, strict=True)]
    without = sum(length for length, out in zip(lengths, outside, strict=True) if out)
    return outside if sum(lengths) - without > MAIN_PARTS * sum(lengths) else [False] * len(outside)
