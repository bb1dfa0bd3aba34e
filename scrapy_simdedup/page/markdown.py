"""A page's main content as GitHub-flavoured Markdown, for people to read."""

from __future__ import annotations

import logging
from itertools import takewhile
from typing import TYPE_CHECKING

from scrapy_simdedup.page.clean import clean
from scrapy_simdedup.page.extract import main_content
from scrapy_simdedup.page.inline import to_lines
from scrapy_simdedup.page.parse import parse
from scrapy_simdedup.page.passages import Passages
from scrapy_simdedup.page.roles import DEFAULT_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lxml.html import HtmlElement

    from scrapy_simdedup.page.passages import Passage
    from scrapy_simdedup.page.roles import RoleWords

MAX_GROWTH = 4
"""Characters of Markdown per character of HTML at most."""
FLOOR = 1_000
"""Characters that are allowed however short the HTML is."""

logger = logging.getLogger(__name__)


def page_markdown(html: str, *, url: str = "", words: RoleWords = DEFAULT_WORDS) -> str:
    """The main content of a page as cleaned Markdown; never raises.

    Args:
        html: The decoded page.
        url: The page's address, against which links and images are made absolute.
        words: What class and id names say; see :func:`~scrapy_simdedup.page.roles.role_words`.

    Returns:
        At most four times as many characters as the page has, and a thousand; what exceeds them is left off at the
        end. A page that :func:`~scrapy_simdedup.page.parse.parse` does not give a tree for (over 5 MB, cut by the
        parser's limits, thousands of links, not text) has no Markdown: ``""``. Should an error of ours come up, the
        page's text stands in.
    """
    root = parse(html).root
    if root is None:
        return ""
    try:
        content = main_content(clean(root, url, words))
        return to_markdown(content, limit=MAX_GROWTH * len(html) + FLOOR)
    except Exception:  # what no test has thought of must not cost the item that carries the Markdown
        logger.warning("No Markdown could be made of %s, its text stands in", url or "a page", exc_info=True)
        return " ".join(root.text_content().split())


def to_markdown(element: HtmlElement, *, limit: int | None = None) -> str:
    """An element's content as Markdown.

    Headings are ``#``, code is fenced and carries its language, ticked boxes are ``[x]``.

    Args:
        element: Cleaned by :func:`~scrapy_simdedup.page.clean.clean`; it stays as it is.
        limit: Characters at most; the rest is left off. None: no limit.
    """
    walk = Passages(element)
    lines = iter(to_lines([html for passage in walk.found for html in passage.html], walk.codes))
    texts = [passage.write([next(lines) for _ in passage.html]) for passage in walk.found]
    return "".join(_join(walk.found, texts, limit))


def _join(found: Sequence[Passage], texts: Sequence[str], limit: int | None) -> Iterator[str]:
    """Put what stands in front of its lines before each passage, and empty lines between them; stop at the limit."""
    size = 0
    before: Passage | None = None
    for passage, text in zip(found, texts, strict=True):
        if not text:
            continue
        parts = []
        if before is not None:
            parts.append("\n" if passage.tight else f"\n{_shared(before.rest, passage.first).rstrip()}\n")
        first, *rest = text.split("\n")
        parts.append(passage.first + first)
        parts += [f"\n{passage.rest}{line}" if line else f"\n{passage.rest.rstrip()}" for line in rest]
        made = "".join(parts)
        if limit is not None and size + len(made) > limit:
            yield made[: limit - size]
            return
        yield made
        size += len(made)
        before = passage


def _shared(one: str, other: str) -> str:
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
