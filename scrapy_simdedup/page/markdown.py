"""A page's main content as GitHub-flavoured Markdown, for people to read.

One bounded walk over the main content lays out its blocks: paragraphs, headings, items, code and tables. html2text
converts only what is inside their lines: its output for nested lists grows with the square of the page, and it knows
no nested paragraphs, no languages of code and no task lists.
"""

from __future__ import annotations

import logging
import re
from copy import deepcopy
from html import escape
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

from scrapy_simdedup.page.clean import clean_page
from scrapy_simdedup.page.main_content import main_content
from scrapy_simdedup.page.markdown_inline import (
    EMPHASIS_TAGS,
    convert_inline,
    escape_text,
    fenced_code,
    is_layout_table,
    markdown_table,
    replace_code_spans,
    serialise,
    table_grid,
)
from scrapy_simdedup.page.parse import parse
from scrapy_simdedup.page.roles import BLOCK_TAGS, DEFAULT_ROLE_WORDS, NON_TEXT_TAGS
from scrapy_simdedup.page.tree_edits import drop_elements, unwrap_elements
from scrapy_simdedup.setting_checks import require_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lxml.html import HtmlElement

    from scrapy_simdedup.page.roles import RoleWords

MAX_GROWTH = 4
"""Characters of Markdown per character of HTML at most."""
MIN_LIMIT = 1_000
"""Characters of Markdown that are allowed however short the HTML is."""
MAX_DEPTH = 100
"""Levels of elements that are laid out; what lies deeper is one paragraph."""
MAX_INDENT = 32
"""Characters in front of a line; lists and quotations nested deeper stay at this level."""

_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_WORD = re.compile(r"\w")

logger = logging.getLogger(__name__)


def page_markdown(html: str, *, url: str = "", words: RoleWords = DEFAULT_ROLE_WORDS) -> str:
    """The main content of a page as cleaned Markdown; never raises.

    Args:
        html: The decoded page.
        url: The page's address, against which links and images are made absolute.
        words: The roles that class and id names give; see :func:`~scrapy_simdedup.page.roles.role_words`.

    Returns:
        At most four times as many characters as the page has, and a thousand; what exceeds them is left off. ``""`` for
        a page that :func:`~scrapy_simdedup.page.parse.parse` gives no tree for: over 5 MB, cut by the parser's limits,
        thousands of links, not text. The page's text, should an error of ours come up.

    Raises:
        TypeError: the page is no text.
    """
    require_text(html, "html")
    root = parse(html).root
    if root is None:
        return ""
    try:
        content = main_content(clean_page(root, url, words))
        return to_markdown(content, limit=MAX_GROWTH * len(html) + MIN_LIMIT)
    except Exception:  # what no test has thought of must not cost the item that carries the Markdown
        logger.warning("No Markdown could be made of %s, its text stands in", url or "a page", exc_info=True)
        return " ".join(root.text_content().split())


def to_markdown(element: HtmlElement, *, limit: int | None = None) -> str:
    """An element's content as Markdown.

    Args:
        element: Cleaned by :func:`~scrapy_simdedup.page.clean.clean_page`; it stays as it is.
        limit: Characters at most; the rest is left off. None: no limit.
    """
    laid_out = MarkdownBlocks(element)
    blocks = laid_out.blocks
    lines = iter(convert_inline([html for block in blocks for html in block.html_lines], laid_out.code_spans))
    texts = [block.render([next(lines) for _ in block.html_lines]) for block in blocks]
    return "".join(_join_blocks(blocks, texts, limit))


def _join_blocks(blocks: Sequence[MarkdownBlock], texts: Sequence[str], limit: int | None) -> Iterator[str]:
    """The blocks with their prefixes and with empty lines between them, up to the limit."""
    size = 0
    before: MarkdownBlock | None = None
    for block, text in zip(blocks, texts, strict=True):
        if not text:
            continue
        between = ""
        if before is not None:
            prefix = "" if block.tight else _common_prefix(before.line_prefix, block.first_prefix).rstrip() + "\n"
            between = "\n" + prefix
        first, *rest = text.split("\n")
        lines = (f"\n{block.line_prefix}{line}" if line else f"\n{block.line_prefix.rstrip()}" for line in rest)
        made = "".join((between, block.first_prefix, first, *lines))
        if limit is not None and size + len(made) > limit:
            yield made[: limit - size]
            return
        yield made
        size += len(made)
        before = block


def _common_prefix(one: str, other: str) -> str:
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


class MarkdownBlock(NamedTuple):
    """A block of Markdown whose lines are still HTML."""

    first_prefix: str
    """What stands in front of the first line: indentation, the mark of an item, ``>``."""
    line_prefix: str
    """What stands in front of the other lines."""
    tight: bool
    """Whether no empty line stands before the block, as between the items of a list."""
    html_lines: tuple[str, ...]
    """The lines to be converted to Markdown."""
    render: Callable[[Sequence[str]], str]
    """Makes the text of the block from the Markdown of ``html_lines``."""


class _Container:
    """An item or a quotation, inside of others, that Markdown blocks lie in."""

    def __init__(
        self, around: _Container | None = None, mark: str = "", rest: str = "", *, tight: bool = False
    ) -> None:
        self._around, self._mark, self._tight = around, mark, tight
        self._is_used = False
        self.line_prefix: str = (around.line_prefix if around else "") + rest

    def take_prefix(self) -> tuple[str, bool | None]:
        """``first_prefix`` and ``tight`` of the next block, where None leaves ``tight`` to others.

        Only the first block gets the marks; the outermost item that begins with it decides whether it is tight.
        """
        if self._is_used or self._around is None:
            return self.line_prefix, None
        self._is_used = True
        first, tight = self._around.take_prefix()
        return first + self._mark, self._tight if tight is None else tight

    def nested(self, mark: str, rest: str, *, tight: bool = False) -> _Container:
        return self if len(self.line_prefix) >= MAX_INDENT else _Container(self, mark, rest, tight=tight)


class MarkdownBlocks:
    """The Markdown blocks of an element, and the code inside of their lines; the element stays as it is."""

    def __init__(self, element: HtmlElement) -> None:
        element = deepcopy(element)
        element.tail = None
        etree.strip_attributes(element, "title")  # tooltips, whose quotes would end those of Markdown
        _drop_empty_inlines(element)
        self.code_spans: list[str] = replace_code_spans(element)
        self.blocks: list[MarkdownBlock] = []
        self._holders = _elements_with_blocks(element)
        self._block(element, _Container(), None, 0)

    def _add(self, container: _Container, html: Sequence[str], render: Callable[[Sequence[str]], str]) -> None:
        first, tight = container.take_prefix()
        self.blocks.append(MarkdownBlock(first, container.line_prefix, bool(tight), tuple(html), render))

    def _line(self, html: str, container: _Container, link: str | None, render: Callable[[Sequence[str]], str]) -> None:
        if html and not html.isspace():
            self._add(container, [f'<a href="{escape(link)}">{html}</a>' if link else html], render)

    def _content(self, element: HtmlElement, container: _Container, link: str | None, depth: int) -> None:
        """Add what is in an element: runs of inline elements are paragraphs, block elements are blocks of their own."""
        if depth > MAX_DEPTH:
            self._line(escape_text(element.text_content()), container, link, _paragraph)
            return
        line = [escape_text(element.text)]
        for child in element:
            if (child.tag in BLOCK_TAGS and child.tag != "br") or child in self._holders:
                self._line("".join(line), container, link, _paragraph)
                self._block(child, container, link, depth + 1)
                line = [escape_text(child.tail)]
            else:
                line.append(escape_text(child.tail) if child.tag in NON_TEXT_TAGS else serialise(child))
        self._line("".join(line), container, link, _paragraph)

    def _block(self, element: HtmlElement, container: _Container, link: str | None, depth: int) -> None:
        tag = element.tag
        if tag in _HEADINGS:
            html = escape_text(element.text) + "".join(map(serialise, element))
            self._line(html, container, link, lambda lines: _HEADINGS[tag] + " ".join(lines[0].split()))
        elif tag == "pre":
            code = fenced_code(element)
            if code:
                self._add(container, (), lambda _: code)
        elif tag == "hr":
            self._add(container, (), lambda _: "---")
        elif tag == "blockquote":
            self._content(element, container.nested("> ", "> "), link, depth)
        elif tag in ("ul", "ol"):
            self._list(element, container, link, depth)
        elif tag == "table" and not is_layout_table(element):
            self._table(element, container, depth)
        else:
            self._content(element, container, (element.get("href") or link) if tag == "a" else link, depth)

    def _list(self, element: HtmlElement, container: _Container, link: str | None, depth: int) -> None:
        number = _list_start(element)
        self._line(escape_text(element.text), container, link, _paragraph)
        for child in element:
            if child.tag == "li":
                mark = "- " if element.tag == "ul" else f"{number}. "
                # A list inside an item needs no empty line, unless it could be taken for a line that begins "9.".
                is_tight = child.getprevious() is not None or (container.line_prefix != "" and number == 1)
                self._content(child, container.nested(mark, " " * len(mark), tight=is_tight), link, depth + 1)
                number += 1
            else:
                self._block(child, container.nested("  ", "  ", tight=child.tag in ("ul", "ol")), link, depth + 1)
            self._line(escape_text(child.tail), container.nested("  ", "  "), link, _paragraph)

    def _table(self, table: HtmlElement, container: _Container, depth: int) -> None:
        for caption in table.iterchildren("caption"):
            self._content(caption, container, None, depth + 1)
        rows = [["" if cell is None else self._cell(cell, depth) for cell in row] for row in table_grid(table)]
        self._add(
            container, [html for row in rows for html in row], lambda lines: markdown_table(lines, list(map(len, rows)))
        )

    def _cell(self, cell: HtmlElement, depth: int) -> str:
        outer, self.blocks = self.blocks, []
        self._content(cell, _Container(), None, depth + 1)
        inner, self.blocks = self.blocks, outer
        return "<br>".join(html for block in inner for html in block.html_lines)


def _paragraph(lines: Sequence[str]) -> str:
    return lines[0]


def _drop_empty_inlines(root: HtmlElement) -> None:
    """Drop links and emphasis around nothing, whose marks html2text would write, and the ``¶`` behind headings."""
    dropped: dict[HtmlElement, str] = {}
    """The elements that go, with the text that each leaves to the element around it."""
    anchors: set[HtmlElement] = set()
    for element in reversed(list(root.iterdescendants("a", "span", *EMPHASIS_TAGS))):  # the innermost first
        parts = [element.text or ""]
        for child in element:
            if child not in dropped:
                break
            parts += dropped[child], child.tail or ""
        else:
            text = "".join(parts)
            if not _WORD.search(text) and element.get("href", "").startswith("#"):
                anchors.add(element)
                dropped[element] = ""
            elif not text.strip():
                dropped[element] = text[:1]
    drop_elements(root, anchors)
    unwrap_elements(root, dropped.keys() - anchors)


def _elements_with_blocks(root: HtmlElement) -> set[HtmlElement]:
    """The elements that hold block elements, at any depth."""
    holders: set[HtmlElement] = set()
    for block in root.iterdescendants(*BLOCK_TAGS - {"br"}):
        for above in block.iterancestors():
            if above in holders:
                break
            holders.add(above)
    return holders


def _list_start(ordered: HtmlElement) -> int:
    """The number of a list's first item; GitHub reads up to nine digits."""
    start = ordered.get("start", "").strip()
    return int(start) if start.isascii() and start.isdigit() and len(start) < 9 else 1
