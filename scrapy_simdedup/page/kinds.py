"""Which blocks are content and which are the frame around it: roles, weighed against how much text they hold."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from scrapy_simdedup.page.roles import (
    COMMENT,
    FRAME_ROLES,
    HEADER,
    HEADING,
    MAIN,
    MAIN_TAG,
    PARAGRAPH,
    WEAK_ROLES,
)

if TYPE_CHECKING:
    from scrapy_simdedup.page.blocks import Outline

WRAPPER = 0.8
"""An element with a larger share of the page's text is no frame, whatever it is called."""
WEAK_WRAPPER = 0.5
"""As above for weak roles."""


class Kind(IntEnum):
    """How far a block belongs to the page itself."""

    FRAME = 1
    """Navigation, footer, advertisement: what other pages carry too."""
    LOOSE = 2
    """Neither marked as content nor as frame."""
    FIRM = 3
    """A paragraph or heading, or anything inside the main part."""


def judge_blocks(page: Outline) -> tuple[list[Kind], list[int]]:
    """The kind of each block, and the frame roles that made it so (0 for content)."""
    inherited = _inherit(page)
    frames = [inherited[node] & FRAME_ROLES for node in page.nodes]
    if _comments_are_the_page(page, frames):
        frames = [0 if frame == COMMENT else frame for frame in frames]
    kinds = [
        Kind.FRAME if frame else Kind.FIRM if own & (HEADING | PARAGRAPH) or inherited[node] & MAIN else Kind.LOOSE
        for frame, own, node in zip(frames, page.text_roles, page.nodes, strict=True)
    ]
    return kinds, frames


def _inherit(page: Outline) -> list[int]:
    """Of each node, its roles and those of all nodes around it, as far as its share of the text allows them."""
    sizes = [0] * len(page.parents)
    for text, node in zip(page.texts, page.nodes, strict=True):
        sizes[node] += len(text)
    for node in range(len(sizes) - 1, 0, -1):
        sizes[page.parents[node]] += sizes[node]
    made = list(page.roles)
    for node, parent in enumerate(page.parents):
        if sizes[node] > WRAPPER * sizes[0]:
            made[node] &= ~FRAME_ROLES
        elif sizes[node] > WEAK_WRAPPER * sizes[0]:
            made[node] &= ~WEAK_ROLES
        if parent >= 0 and not made[node] & MAIN_TAG:
            made[node] |= made[parent]
        if made[node] & MAIN:
            made[node] &= ~HEADER  # the header of an article holds its title
    return made


def _comments_are_the_page(page: Outline, frames: list[int]) -> bool:
    """Whether more text is framed as comments alone than there is content: a forum."""
    content = comments = 0
    for text, frame in zip(page.texts, frames, strict=True):
        if not frame:
            content += len(text)
        elif frame == COMMENT:
            comments += len(text)
    return comments > content
