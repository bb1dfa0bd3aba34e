"""Consent texts: a wall of words about cookies at the edge of a page, whatever its class and id say."""

from __future__ import annotations

import re
from bisect import bisect
from itertools import accumulate
from typing import TYPE_CHECKING

from scrapy_simdedup.page.roles import H1, MAIN
from scrapy_simdedup.page.tree import mark_around, mark_inside, totals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simdedup.page.blocks import Outline

MENTIONS = 2
"""How often a consent text says what it is about, at least."""
SAID = 0.4
"""The share of its text that stands in blocks which say so, at least."""
MOST = 0.9
"""The share of the page from which it is the page."""
EDGE = 0.02
"""The share of the other text that may come before it, or after it: a chapter of a policy lies deeper inside."""
LEFT, LEFT_SHARE = 300, 0.1
"""The characters, and the share of all, that the page must have besides."""

_SUBJECT = ("cookie", "Cookie", "COOKIE", "куки", "Куки", "クッキー", "עוגי", "쿠키")
"""Cookies, in some languages."""

_MENTION = re.compile("|".join(_SUBJECT))


def _is_mentioned(text: str) -> bool:
    return any(word in text for word in _SUBJECT)  # in a fourth of the time that the expression takes


def find_consent(page: Outline, is_content: Sequence[bool]) -> list[bool]:
    """Of each block, whether it belongs to a consent text.

    Pages about cookies say so in their title, and what holds the headline or the main part is no notice.

    Args:
        page: The blocks, and the boxes around them.
        is_content: Of each block, whether it is content so far.
    """
    everything = "\n".join(page.texts)
    if not _is_mentioned(everything) or _is_mentioned(page.title):
        return [False] * len(page.texts)
    ends = list(accumulate(len(text) + 1 for text in page.texts))
    mentions = [0] * len(page.texts)
    for found in _MENTION.finditer(everything):
        block = bisect(ends, found.start())
        mentions[block] += is_content[block]
    if sum(mentions) < MENTIONS:
        return [False] * len(mentions)
    parents, boxes = page.box_parents, page.boxes
    lengths = [len(text) if own else 0 for text, own in zip(page.texts, is_content, strict=True)]
    size = totals(parents, boxes, lengths)
    count = totals(parents, boxes, mentions)
    said = totals(parents, boxes, [length if about else 0 for length, about in zip(lengths, mentions, strict=True)])
    blocks = zip(boxes, page.text_roles, is_content, strict=True)
    heads = mark_around(parents, (box for box, roles, own in blocks if own and roles & H1))
    mains = mark_around(parents, (box for box, roles in enumerate(page.box_roles) if roles & MAIN))
    notices: list[int] = []
    inside = [False] * len(parents)
    for box in range(1, len(parents)):
        if count[box] >= MENTIONS:  # so has the box around it
            is_notice = said[box] >= SAID * size[box] and size[box] < MOST * size[0] and not (heads[box] or mains[box])
            if is_notice and not inside[parents[box]]:
                notices.append(box)
            inside[box] = is_notice or inside[parents[box]]
    if not notices:
        return [False] * len(mentions)
    left = size[0] - sum(size[box] for box in notices)
    if left < max(LEFT, LEFT_SHARE * size[0]):
        return [False] * len(mentions)
    at_edge = [False] * len(parents)
    starts, passed = _starts(page, lengths), 0
    for box in notices:
        before = starts[box] - passed
        at_edge[box] = min(before, left - before) <= EDGE * left
        passed += size[box]
    consent = mark_inside(parents, at_edge)
    return [consent[box] for box in boxes]


def _starts(page: Outline, lengths: Sequence[int]) -> list[int]:
    """Of each box, the characters of content before it; boxes without any lie at the end."""
    end = sum(lengths)
    starts = [end] * len(page.box_parents)
    position = 0
    for box, length in zip(page.boxes, lengths, strict=True):
        if length:
            starts[box] = min(starts[box], position)
        position += length
    for box in range(len(starts) - 1, 0, -1):
        parent = page.box_parents[box]
        starts[parent] = min(starts[parent], starts[box])
    return starts
