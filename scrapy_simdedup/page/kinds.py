"""Which blocks are content and which are the frame around it: roles weighed by what they hold, then text and shape."""

from __future__ import annotations

from collections import defaultdict
from enum import IntEnum
from typing import TYPE_CHECKING

from scrapy_simdedup.page.consent import find_consent
from scrapy_simdedup.page.roles import (
    ASIDE,
    BRANDING,
    COMMENT,
    COOKIE,
    FRAME_ROLES,
    H1,
    HEADER,
    LAYOUT_ROLES,
    MAIN,
    MAIN_TAG,
    NAV,
    PARAGRAPH,
    WEAK_ROLES,
    WIDGET,
)
from scrapy_simdedup.page.shape import find_links, is_outside_main, is_outside_root
from scrapy_simdedup.page.tree import mark_around, totals

if TYPE_CHECKING:
    from scrapy_simdedup.page.blocks import Outline

WRAPPER = 0.8
"""An element with a larger share of the page's text is no frame, whatever it is called."""
WEAK_WRAPPER = 0.5
"""As above for weak roles; also of the paragraphs of the main part, and of the text of all main parts."""
NEXT_TO_NOTHING = 0.05
"""Share of the page's text that content must exceed; else what is framed by weak roles is content as well."""


class Kind(IntEnum):
    """How far a block belongs to the page itself."""

    FRAME = 1
    """Navigation, footer, advertisement: what other pages carry too."""
    LOOSE = 2
    """Neither marked as content nor as frame."""
    FIRM = 3
    """A paragraph or heading, or anything inside the main part."""


def judge_blocks(page: Outline) -> tuple[list[Kind], list[int]]:
    """The kind of each block, and the frame roles that made it so (0 for content).

    Roles decide, and consent texts are frames whatever they are called. Where no class or id names a part of the
    layout, as on sites that hash their names, shape and place decide as well.
    """
    kinds, frames = _judge_by_roles(page)
    consent = find_consent(page, [not frame for frame in frames])
    for number, found in enumerate(consent):
        if found:
            kinds[number], frames[number] = Kind.FRAME, COOKIE
    return (kinds, frames) if page.named & LAYOUT_ROLES else _judge_by_shape(page, kinds, frames)


def _judge_by_roles(page: Outline) -> tuple[list[Kind], list[int]]:
    roles = _inherit(page)
    frames = [roles[node] & FRAME_ROLES for node in page.nodes]
    void = _roles_of_content(page, frames)
    if void:
        frames = [frame if frame & ~void else 0 for frame in frames]
    framed, loose, firm = Kind
    kinds = [
        framed if frame else firm if own or roles[node] & MAIN else loose
        for frame, own, node in zip(frames, page.text_roles, page.nodes, strict=True)
    ]
    return kinds, frames


def _judge_by_shape(page: Outline, kinds: list[Kind], frames: list[int]) -> tuple[list[Kind], list[int]]:
    """Step down from firm to loose to frame: links, and what lies around the content root or outside the main part."""
    is_content = [not frame for frame in frames]
    links = find_links(page, is_content)
    around = is_outside_root(page, is_content, [kind is Kind.FIRM for kind in kinds])
    outside = is_outside_main(page, is_content)
    made = list(kinds)
    for number, (kind, link) in enumerate(zip(kinds, links, strict=True)):
        step = link + around[number] or outside[number]
        if step and kind > Kind.FRAME:
            made[number] = Kind(max(Kind.FRAME, kind - step))
    because = [NAV if link else ASIDE for link in links]
    return made, [
        why if kind is Kind.FRAME and not frame else frame
        for kind, frame, why in zip(made, frames, because, strict=True)
    ]


def _inherit(page: Outline) -> list[int]:
    """Of each node, the roles that are believed of it and of all nodes around it."""
    text = totals(page.parents, page.nodes, map(len, page.texts))
    parts = _main_parts(page)
    believed = _believe(page, text, parts)
    articles = sum(text[node] for node, part in enumerate(parts) if part == node and parts[page.parents[node]] < 0)
    made: list[int] = []
    for node, roles in enumerate(believed):
        around = made[page.parents[node]] if node else 0
        if roles & MAIN_TAG:
            around = 0
        elif roles & MAIN and text[node] > WEAK_WRAPPER * articles:
            around &= ~WEAK_ROLES
        both = roles | around
        made.append(both & ~HEADER if both & MAIN else both)  # the header of an article holds its title
    return made


def _believe(page: Outline, text: list[int], parts: list[int]) -> list[int]:
    """Of each node, its own roles as far as what it holds allows them: what wraps the content is no frame."""
    in_paragraphs = [len(t) if own & PARAGRAPH else 0 for t, own in zip(page.texts, page.text_roles, strict=True)]
    paragraphs = totals(page.parents, page.nodes, in_paragraphs)
    headlines = (node for node, own in zip(page.nodes, page.text_roles, strict=True) if own & H1)
    holds_headline = mark_around(page.parents, headlines)
    made = list(page.roles)
    for node, part in enumerate(parts):
        if text[node] > WRAPPER * text[0]:
            made[node] &= ~FRAME_ROLES
        elif text[node] > WEAK_WRAPPER * text[0] or (part >= 0 and paragraphs[node] > WEAK_WRAPPER * paragraphs[part]):
            made[node] &= ~WEAK_ROLES
        elif holds_headline[node]:
            made[node] &= ~WEAK_ROLES | HEADER | BRANDING
    return made


def _main_parts(page: Outline) -> list[int]:
    """Of each node, the innermost main part that it is or lies in; -1 outside."""
    parts: list[int] = []
    for node, (roles, parent) in enumerate(zip(page.roles, page.parents, strict=True)):
        parts.append(node if roles & MAIN else parts[parent] if node else -1)
    return parts


def _roles_of_content(page: Outline, frames: list[int]) -> int:
    """The roles that frame nothing on this page, because little or nothing would be left."""
    size: dict[int, int] = defaultdict(int)
    for text, frame in zip(page.texts, frames, strict=True):
        size[frame] += len(text)
    content = size[0]
    if content <= NEXT_TO_NOTHING * sum(size.values()):
        return WEAK_ROLES
    return sum(role for role in (COMMENT, WIDGET) if size[role] > content)
