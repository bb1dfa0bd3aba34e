"""The content of a page, for people and for what feeds on text: its main content as Markdown, and its metadata."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from lxml.html import HtmlElement

from scrapy_simdedup.page.block_tree import build_block_tree
from scrapy_simdedup.page.content_blocks import find_content_blocks
from scrapy_simdedup.page.markdown import to_markdown
from scrapy_simdedup.page.metadata import find_metadata
from scrapy_simdedup.page.parse import parse
from scrapy_simdedup.page.roles import role_words
from scrapy_simdedup.setting_checks import require_text
from scrapy_simdedup.settings import DedupSettings

MAX_GROWTH = 4
"""Characters of Markdown per character of HTML at most."""
MIN_LIMIT = 1_000
"""Characters of Markdown that are allowed however short the HTML is."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Content:
    """What a page says, without the site around it. What is not known is ``""``."""

    markdown: str = ""
    """The main content as GitHub-flavoured Markdown, with absolute links and images."""
    text: str = ""
    """The words of the Markdown without marks: a line for each block of text."""
    title: str = ""
    """The headline that the page names, else its ``<title>``."""
    author: str = ""
    """The names of the authors, with commas between them."""
    date: str = ""
    """When the page was published: ``2026-11-22``, or with the time as ISO 8601 writes it."""
    language: str = ""
    """The page's language as BCP 47 writes it, such as ``en`` or ``pt-BR``."""
    site_name: str = ""
    """What the site calls itself."""
    canonical: str = ""
    """The absolute URL that the page declares to be its own."""


def page_content(html: str, *, url: str = "", **settings: Any) -> Content:
    """The main content of a page and its metadata; never raises for any HTML.

    Args:
        html: The decoded page.
        url: The page's URL, against which links and images are made absolute.
        settings: Settings as keywords, in lower case and without their prefix: ``role_words``, ``max_page_bytes``, and
            ``extractor``, of which ``"readability"`` lets Readability choose the blocks instead of the content model.

    Returns:
        Markdown of at most four times as many characters as the page has, and a thousand; what exceeds them is left
        off. Empty fields for a page that is not read: over ``max_page_bytes``, cut by the parser's limits, thousands of
        links, not text. The page's text, should an error of ours come up.

    Raises:
        SettingError: a setting cannot be used.
        TypeError: the page is no text.
    """
    require_text(html, "html")
    return content_with_settings(html, url, DedupSettings.from_keywords(**settings))


def page_markdown(html: str, *, url: str = "", **settings: Any) -> str:
    """The Markdown of :func:`page_content`, which takes the same arguments, without looking for metadata."""
    require_text(html, "html")
    return content_with_settings(html, url, DedupSettings.from_keywords(**settings), metadata=False).markdown


def content_with_settings(html: str, url: str, settings: DedupSettings, *, metadata: bool = True) -> Content:
    """What :func:`page_content` returns, under settings that are already checked; without metadata where not asked."""
    root = parse(html, max_bytes=settings.max_page_bytes, with_html_methods=settings.extractor == "readability").root
    if root is None:
        return Content()
    found = _metadata(root, url) if metadata else {}
    try:
        tree = build_block_tree(root, role_words(settings.role_words), detailed=True)
        chosen = find_content_blocks(root, tree, settings.extractor)
        markdown = to_markdown(root, chosen, url=url, limit=MAX_GROWTH * len(html) + MIN_LIMIT)
        text = "\n".join(" ".join(block.split()) for block, is_own in zip(tree.texts, chosen, strict=True) if is_own)
    except Exception:  # what no test has thought of must not cost the item that carries the content
        logger.warning("No Markdown could be made of %s, its text stands in", url or "a page", exc_info=True)
        markdown = text = " ".join("".join(root.itertext()).split())
    return Content(markdown, text, **found)


def _metadata(root: HtmlElement, url: str) -> dict[str, str]:
    try:
        return find_metadata(root, url)
    except Exception:  # metadata are written by all kinds of plugins, and are no reason to lose the text
        logger.warning("No metadata could be read from %s", url or "a page", exc_info=True)
        return {}
