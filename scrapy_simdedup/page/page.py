"""The page as a value: its blocks of text, each with its kind, its title and its headline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simdedup.page.blocks import outline
from scrapy_simdedup.page.kinds import Kind, judge_blocks
from scrapy_simdedup.page.parse import parse
from scrapy_simdedup.page.roles import DEFAULT_WORDS, H1

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from scrapy_simdedup.page.roles import RoleWords


class Block(NamedTuple):
    """The text between two block boundaries; inline elements do not cut it."""

    text: str
    """The text as it came, without the white space around it; never blank."""
    kind: Kind
    frame: int
    """The frame roles that made it ``FRAME``, as bits of :mod:`scrapy_simdedup.page.roles`; 0 for content."""


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says, or why it is not judged."""

    blocks: tuple[Block, ...]
    """All text of the page in its order; empty if the page is unjudged."""
    title: str
    """The text of ``<title>``; may be empty."""
    h1: str
    """The first ``<h1>`` of the content; may be empty."""
    unjudged: str | None
    """Why the page must not be compared by its text; see :func:`scrapy_simdedup.page.parse.parse`."""


def read_page(html: str, *, max_bytes: int = 5_000_000, words: RoleWords = DEFAULT_WORDS) -> Page:
    """Read a page of any kind; never raises.

    Args:
        html: The decoded page.
        max_bytes: Characters above which the page is not read.
        words: What the words of class and id names mean.
    """
    document = parse(html, max_bytes=max_bytes, rich=False)
    if document.root is None:
        return Page((), "", "", document.unjudged)
    found = outline(document.root, words)
    kinds, frames = judge_blocks(found)
    blocks = tuple(map(Block, found.texts, kinds, frames))
    if not blocks:
        return Page((), "", "", "empty")
    h1 = (
        block.text
        for block, roles in zip(blocks, found.text_roles, strict=True)
        if roles & H1 and block.kind is Kind.FIRM
    )
    return Page(blocks, _title(document.root), next(h1, ""), None)


def _title(root: HtmlElement) -> str:
    return (root.findtext("head/title") or root.findtext("body/title") or "").strip()
