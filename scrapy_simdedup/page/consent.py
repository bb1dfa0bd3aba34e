"""Consent notices: texts about cookies at the edge of a page, found whatever their class and id say.

1. A page that mentions cookies in its title is about cookies and has no notice.
2. A candidate is an outermost box with two mentions or more, mostly in blocks with a mention, that holds neither the
   headline nor a main part nor nearly all of the page.
3. The candidates must leave the page enough other text.
4. A candidate is a notice if it lies at the beginning or the end of that other text.
"""

from __future__ import annotations

import re
from bisect import bisect
from itertools import accumulate
from typing import TYPE_CHECKING

from scrapy_simdedup.page.block_tree import mark_ancestors, mark_descendants, subtree_totals
from scrapy_simdedup.page.roles import H1, MAIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simdedup.page.block_tree import BlockTree

MIN_MENTIONS = 2
"""A notice mentions cookies at least twice."""
MIN_MENTIONING_SHARE = 0.4
"""At least this share of a notice stands in blocks that mention cookies."""
MAX_NOTICE_SHARE = 0.9
"""A notice holds less than this share of the page's text."""
MAX_EDGE_DISTANCE = 0.02
"""A notice lies within the first or last 2 % of the page's other text; a chapter about cookies lies in the middle."""
MIN_REST, MIN_REST_SHARE = 300, 0.1
"""The characters, and the share of its text, that a page must have besides its notices."""

_COOKIE_WORDS = ("cookie", "Cookie", "COOKIE", "куки", "Куки", "クッキー", "עוגי", "쿠키")
"""The word in several languages."""
_COOKIE_WORD = re.compile("|".join(_COOKIE_WORDS))


def _mentions_cookies(text: str) -> bool:
    return any(word in text for word in _COOKIE_WORDS)  # in a fourth of the time that the expression takes


def find_consent_notices(tree: BlockTree, is_content: Sequence[bool]) -> list[bool]:
    """For each block, whether it belongs to a consent notice.

    Args:
        tree: The blocks, and the boxes around them.
        is_content: For each block, whether it has no boilerplate role.
    """
    none = [False] * len(tree.texts)
    everything = "\n".join(tree.texts)
    if not _mentions_cookies(everything) or _mentions_cookies(tree.title):
        return none
    ends = list(accumulate(len(text) + 1 for text in tree.texts))
    mentions = [0] * len(tree.texts)
    for found in _COOKIE_WORD.finditer(everything):
        block = bisect(ends, found.start())
        mentions[block] += is_content[block]
    if sum(mentions) < MIN_MENTIONS:
        return none
    parents, boxes = tree.box_parents, tree.boxes
    lengths = [len(text) if is_own else 0 for text, is_own in zip(tree.texts, is_content, strict=True)]
    size = subtree_totals(parents, boxes, lengths)
    count = subtree_totals(parents, boxes, mentions)
    mentioning = (length if found else 0 for length, found in zip(lengths, mentions, strict=True))
    mentioning_size = subtree_totals(parents, boxes, mentioning)
    blocks = zip(boxes, tree.text_roles, is_content, strict=True)
    heads = mark_ancestors(parents, (box for box, roles, is_own in blocks if is_own and roles & H1))
    mains = mark_ancestors(parents, (box for box, roles in enumerate(tree.box_roles) if roles & MAIN))
    notices: list[int] = []
    inside = [False] * len(parents)
    for box in range(1, len(parents)):
        if count[box] >= MIN_MENTIONS:  # so has the box around it
            is_notice = (
                mentioning_size[box] >= MIN_MENTIONING_SHARE * size[box]
                and size[box] < MAX_NOTICE_SHARE * size[0]
                and not (heads[box] or mains[box])
            )
            if is_notice and not inside[parents[box]]:
                notices.append(box)
            inside[box] = is_notice or inside[parents[box]]
    left = size[0] - sum(size[box] for box in notices)
    if not notices or left < max(MIN_REST, MIN_REST_SHARE * size[0]):
        return none
    at_edge = [False] * len(parents)
    starts, passed = _starts(tree, lengths), 0
    for box in notices:
        before = starts[box] - passed
        at_edge[box] = min(before, left - before) <= MAX_EDGE_DISTANCE * left
        passed += size[box]
    in_notice = mark_descendants(parents, at_edge)
    return [in_notice[box] for box in boxes]


def _starts(tree: BlockTree, lengths: Sequence[int]) -> list[int]:
    """For each box, the characters of content before it; boxes without any content lie at the end."""
    end = sum(lengths)
    starts = [end] * len(tree.box_parents)
    position = 0
    for box, length in zip(tree.boxes, lengths, strict=True):
        if length:
            starts[box] = min(starts[box], position)
        position += length
    for box in range(len(starts) - 1, 0, -1):
        parent = tree.box_parents[box]
        starts[parent] = min(starts[parent], starts[box])
    return starts
