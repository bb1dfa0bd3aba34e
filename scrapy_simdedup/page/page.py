"""The page as a value: its blocks of text, each with its kind, its title and its headline."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simdedup.page.blocks import outline
from scrapy_simdedup.page.kinds import Kind, judge_blocks
from scrapy_simdedup.page.layout import layout_paths
from scrapy_simdedup.page.parse import parse
from scrapy_simdedup.page.roles import DEFAULT_WORDS, H1, HEADING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from scrapy_simdedup.page.blocks import Outline
    from scrapy_simdedup.page.roles import RoleWords
    from scrapy_simdedup.settings import Extractor


logger = logging.getLogger(__name__)


class Block(NamedTuple):
    """The text between two block boundaries; inline elements do not cut it."""

    text: str
    """The text as it came, without the white space around it; never blank."""
    kind: Kind
    frame: int
    """The frame roles that made it ``FRAME``, as bits of :mod:`scrapy_simdedup.page.roles`; 0 for content."""
    heading: bool = False
    """Whether it is a heading of any level."""


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
    paths: frozenset[str] = frozenset()
    """Its layout, if that was asked for; see :mod:`scrapy_simdedup.page.layout`."""


def read_page(
    html: str,
    *,
    max_bytes: int = 5_000_000,
    words: RoleWords = DEFAULT_WORDS,
    extractor: Extractor = "roles",
    layout: bool = False,
) -> Page:
    """Read a page of any kind; never raises.

    Args:
        html: The decoded page.
        max_bytes: Characters above which the page is not read.
        words: What the words of class and id names mean.
        extractor: ``"roles"``, or ``"readability"``: then only what the main content holds is firm.
        layout: Find its paths, too.
    """
    document = parse(html, max_bytes=max_bytes, rich=extractor == "readability")
    if document.root is None:
        return Page((), "", "", document.unjudged)
    found = outline(document.root, words)
    kinds, frames = judge_blocks(found)
    headings = [roles & HEADING > 0 for roles in found.text_roles]
    blocks = tuple(map(Block._make, zip(found.texts, kinds, frames, headings, strict=True)))
    if not blocks:
        return Page((), "", "", "empty")
    headlines = (
        b.text for b, roles in zip(blocks, found.text_roles, strict=True) if roles & H1 and b.kind is Kind.FIRM
    )
    h1 = next(headlines, "")
    paths = layout_paths(document.root) if layout else frozenset()
    if extractor == "readability":
        blocks = _prefer_main_content(document.root, found, blocks)
    return Page(blocks, found.title, h1, None, paths)


def _prefer_main_content(root: HtmlElement, page: Outline, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Make loose what is firm and not in the main content; the tree is used up."""
    from scrapy_simdedup.page.firm import judge_by_main_content  # noqa: PLC0415 - brings Readability; few ask for it

    try:
        kinds = judge_by_main_content(root, page, [b.kind for b in blocks], [b.frame for b in blocks])
    except Exception:  # what no test has thought of must not cost the page: its roles still say enough
        logger.warning("No main content could be found in a page, its roles stand in", exc_info=True)
        return blocks
    return tuple(block._replace(kind=kind) for block, kind in zip(blocks, kinds, strict=True))
