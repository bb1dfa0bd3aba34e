"""One bounded walk over an element: the paragraphs, headings, items, code and tables that its Markdown consists of.

The blocks are laid out here and not by html2text, whose output for nested lists grows with the square of the page and
which knows no nested paragraphs, no languages of code and no task lists. It converts what is inside the lines.
"""

from __future__ import annotations

import re
from copy import deepcopy
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

from scrapy_simdedup.page.code import fenced
from scrapy_simdedup.page.inline import EMPHASIS, mark_code, serialise, text_html
from scrapy_simdedup.page.parse import NOT_TEXT
from scrapy_simdedup.page.tables import grid_of, is_layout, write_table
from scrapy_simdedup.page.traits import BLOCK_TAGS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lxml.html import HtmlElement

MAX_DEPTH = 100
"""Levels of elements that are told apart; what lies deeper is one paragraph."""
MAX_INDENT = 32
"""Characters in front of a line; lists and quotations nested deeper stay at this level."""

_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_WORD = re.compile(r"\w")


class Passage(NamedTuple):
    """A block of Markdown whose lines are still HTML."""

    first: str
    """What stands in front of its first line: indentation, the mark of an item, ``>``."""
    rest: str
    """What stands in front of its other lines."""
    tight: bool
    """Whether no empty line goes before it: the items of a list."""
    html: tuple[str, ...]
    """Lines to be converted to Markdown."""
    write: Callable[[Sequence[str]], str]
    """Its text, given the Markdown of ``html``."""


class _Place:
    """Where passages go: inside which items and quotations."""

    def __init__(self, around: _Place | None = None, mark: str = "", rest: str = "", *, tight: bool = False) -> None:
        self._around, self._mark, self._tight = around, mark, tight
        self._is_used = False
        self.rest: str = (around.rest if around else "") + rest

    def take(self) -> tuple[str, bool | None]:
        """``first`` and ``tight`` of the next passage.

        Only the first one gets the marks, and the outermost item that begins with it says how it follows the rest.
        """
        if self._is_used or self._around is None:
            return self.rest, None
        self._is_used = True
        first, tight = self._around.take()
        return first + self._mark, self._tight if tight is None else tight

    def inside(self, mark: str, rest: str, *, tight: bool = False) -> _Place:
        return self if len(self.rest) >= MAX_INDENT else _Place(self, mark, rest, tight=tight)


class Passages:
    """The passages of an element, in ``found``, and its inline code, in ``codes``; the element stays as it is."""

    def __init__(self, element: HtmlElement) -> None:
        element = deepcopy(element)
        element.tail = None
        etree.strip_attributes(element, "title")  # tooltips, whose quotes would end those of Markdown
        _drop_empty_inlines(element)
        self.codes = mark_code(element)
        self.found: list[Passage] = []
        self._holders = _holders_of_blocks(element)
        self._block(element, _Place(), None, 0)

    def _add(self, place: _Place, html: Sequence[str], write: Callable[[Sequence[str]], str]) -> None:
        first, tight = place.take()
        self.found.append(Passage(first, place.rest, bool(tight), tuple(html), write))

    def _line(self, html: str, place: _Place, link: str | None, write: Callable[[Sequence[str]], str]) -> None:
        if html and not html.isspace():
            self._add(place, [f'<a href="{escape(link)}">{html}</a>' if link else html], write)

    def _content(self, element: HtmlElement, place: _Place, link: str | None, depth: int) -> None:
        """What is in an element: runs of inline elements are paragraphs, block elements stand for themselves."""
        if depth > MAX_DEPTH:
            self._line(text_html(element.text_content()), place, link, _paragraph)
            return
        line = [text_html(element.text)]
        for child in element:
            if (child.tag in BLOCK_TAGS and child.tag != "br") or child in self._holders:
                self._line("".join(line), place, link, _paragraph)
                self._block(child, place, link, depth + 1)
                line = [text_html(child.tail)]
            else:
                line.append(text_html(child.tail) if child.tag in NOT_TEXT else serialise(child))
        self._line("".join(line), place, link, _paragraph)

    def _block(self, element: HtmlElement, place: _Place, link: str | None, depth: int) -> None:
        tag = element.tag
        if tag in _HEADINGS:
            self._line(_inside(element), place, link, lambda lines: _HEADINGS[tag] + " ".join(lines[0].split()))
        elif tag == "pre":
            code = fenced(element)
            if code:
                self._add(place, (), lambda _: code)
        elif tag == "hr":
            self._add(place, (), lambda _: "---")
        elif tag == "blockquote":
            self._content(element, place.inside("> ", "> "), link, depth)
        elif tag in ("ul", "ol"):
            self._list(element, place, link, depth)
        elif tag == "table" and not is_layout(element):
            self._table(element, place, depth)
        else:
            self._content(element, place, (element.get("href") or link) if tag == "a" else link, depth)

    def _list(self, element: HtmlElement, place: _Place, link: str | None, depth: int) -> None:
        number = _start(element)
        self._line(text_html(element.text), place, link, _paragraph)
        for child in element:
            if child.tag == "li":
                mark = "- " if element.tag == "ul" else f"{number}. "
                # A list inside an item needs no empty line, unless it could be taken for a line that begins "9.".
                is_tight = child.getprevious() is not None or (place.rest != "" and number == 1)
                self._content(child, place.inside(mark, " " * len(mark), tight=is_tight), link, depth + 1)
                number += 1
            else:
                self._block(child, place.inside("  ", "  ", tight=child.tag in ("ul", "ol")), link, depth + 1)
            self._line(text_html(child.tail), place.inside("  ", "  "), link, _paragraph)

    def _table(self, table: HtmlElement, place: _Place, depth: int) -> None:
        for caption in table.iterchildren("caption"):
            self._content(caption, place, None, depth + 1)
        rows = [["" if cell is None else self._cell(cell, depth) for cell in row] for row in grid_of(table)]
        self._add(place, [html for row in rows for html in row], lambda lines: write_table(lines, list(map(len, rows))))

    def _cell(self, cell: HtmlElement, depth: int) -> str:
        outer, self.found = self.found, []
        self._content(cell, _Place(), None, depth + 1)
        inner, self.found = self.found, outer
        return "<br>".join(html for passage in inner for html in passage.html)


def _paragraph(lines: Sequence[str]) -> str:
    return lines[0]


def _inside(element: HtmlElement) -> str:
    return text_html(element.text) + "".join(map(serialise, element))


def _drop_empty_inlines(root: HtmlElement) -> None:
    """Take away links and emphasis around nothing, whose marks html2text would write, and the ``¶`` behind headings."""
    for element in reversed(list(root.iterdescendants("a", "span", *EMPHASIS))):  # the innermost first
        text = element.text or ""
        if not len(element) and not _WORD.search(text) and element.get("href", "").startswith("#"):
            element.drop_tree()
        elif not len(element) and not text.strip():
            element.drop_tag()


def _holders_of_blocks(root: HtmlElement) -> set[HtmlElement]:
    """The elements that hold block elements, at any depth."""
    holders: set[HtmlElement] = set()
    for block in root.iterdescendants(*BLOCK_TAGS - {"br"}):
        for above in block.iterancestors():
            if above in holders:
                break
            holders.add(above)
    return holders


def _start(ordered: HtmlElement) -> int:
    """The number of a list's first item; GitHub reads up to nine digits."""
    start = ordered.get("start", "").strip()
    return int(start) if start.isascii() and start.isdigit() and len(start) < 9 else 1
