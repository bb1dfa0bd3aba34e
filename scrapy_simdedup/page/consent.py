"""Consent texts: a wall of words about cookies at the edge of a page, whatever its class and id say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_simdedup.page.roles import H1, MAIN
from scrapy_simdedup.page.tree import mark_inside, totals

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


def find_consent(page: Outline, is_content: Sequence[bool]) -> list[bool]:
    """Of each block, whether it belongs to a consent text.

    Pages about cookies say so in their title, and what holds the headline or the main part is no notice.

    Args:
        page: The blocks, and the boxes around them.
        is_content: Of each block, whether it is content so far.
    """
    everything = "\n".join(page.texts)
    if not _MENTION.search(everything) or _MENTION.search(page.title):
        return [False] * len(page.texts)
    words = [word for word in _SUBJECT if word in everything]
    mentions = [sum(map(text.count, words)) if own else 0 for text, own in zip(page.texts, is_content, strict=True)]
    if sum(mentions) < MENTIONS:
        return [False] * len(mentions)
    parents, boxes = page.box_parents, page.boxes
    lengths = [len(text) if own else 0 for text, own in zip(page.texts, is_content, strict=True)]
    size = totals(parents, boxes, lengths)
    count = totals(parents, boxes, mentions)
    said = totals(parents, boxes, (length if about else 0 for length, about in zip(lengths, mentions, strict=True)))
    heads = totals(
        parents, boxes, (own and roles & H1 > 0 for own, roles in zip(is_content, page.text_roles, strict=True))
    )
    mains = totals(parents, range(len(parents)), (roles & MAIN > 0 for roles in page.box_roles))
    notices: list[int] = []
    inside = [False] * len(parents)
    for box in range(1, len(parents)):
        if inside[parents[box]]:
            inside[box] = True
        elif (
            count[box] >= MENTIONS
            and said[box] >= SAID * size[box]
            and size[box] < MOST * size[0]
            and not heads[box]
            and not mains[box]
        ):
            inside[box] = True
            notices.append(box)
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
