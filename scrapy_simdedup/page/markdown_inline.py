"""The inside of lines as Markdown, and the blocks whose inside is not laid out: code and tables of data."""

from __future__ import annotations

import re
from html import escape, unescape
from itertools import islice
from typing import TYPE_CHECKING

import html2text
from lxml import etree

from scrapy_simdedup.page.tree_edits import with_surroundings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml.html import HtmlElement

MAX_MARKUP = 50_000
"""Tags and references of a page that html2text converts, at some 10 µs each; lines beyond become plain text."""

_CODE_TAGS = ("code", "kbd", "samp", "tt")
EMPHASIS_TAGS = ("b", "strong", "em", "i", "u", "del", "s", "strike")

_LINE = "\ufdd0%d\ufdd1"
_CODE = "\ufdd2%d\ufdd3"
"""Placeholders of a line and of a piece of code. Unicode keeps these characters free for such use."""

_LINE_PLACEHOLDERS = re.compile("\ufdd0([0-9]{1,7})\ufdd1")
_CODE_PLACEHOLDERS = re.compile("\ufdd2([0-9]{1,7})\ufdd3")
_TAG_IN_TEXT = re.compile("&lt;(?=[a-zA-Z/!?])")
_TAG = re.compile("<[^>]*>")
_BLOCK_START = re.compile(r"^(#{1,6}(?=\s|$)|[>=]|[-*+](?=\s|$)|_{3}|`{3}|~{3})", re.MULTILINE)
_ITEM_START = re.compile(r"^(\d{1,9})([.)])(?=\s|$)", re.MULTILINE)
_EMPTY_LINES = re.compile(r"[ \n]*\n[ \n]*\n[ \n]*")


def serialise(element: HtmlElement) -> str:
    """An inline element and the text behind it as HTML."""
    return etree.tostring(element, encoding="unicode", method="html")


def escape_text(text: str | None) -> str:
    """A text as HTML."""
    return escape(text, quote=False) if text else ""


def replace_code_spans(root: HtmlElement) -> list[str]:
    """Put a placeholder in place of each inline code, whose text is no markup; return the texts."""
    codes: list[str] = []
    for element, is_inside in list(with_surroundings(root, _CODE_TAGS, (*_CODE_TAGS, "pre"))):
        if not is_inside:
            text = " ".join(element.text_content().split())
            element.clear(keep_tail=True)
            element.tag = "span"
            if text:
                element.text = _CODE % len(codes)
                codes.append(text)
    return codes


def convert_inline(pieces: Sequence[str], codes: Sequence[str]) -> list[str]:
    """The Markdown of pieces of HTML that hold no block elements, from one call of html2text.

    White space is collapsed before html2text sees it: its patterns take quadratic time on long runs.

    Args:
        pieces: HTML of each line. A ``<br>`` becomes a hard line break, two of them an empty line.
        codes: What :func:`replace_code_spans` returned.
    """
    converter = html2text.HTML2Text(bodywidth=0)
    converter.unicode_snob = True
    lines = [""] * len(pieces)
    html = []
    markup = 0
    for number, piece in enumerate(pieces):
        if piece:
            line = _TAG_IN_TEXT.sub(r"\\&lt;", " ".join(piece.split()))
            markup += 3 + line.count("<") + line.count("&")
            if markup > MAX_MARKUP:
                lines[number] = _finish(unescape(_TAG.sub("", line)), codes)
            else:
                html.append(f"<p>{_LINE % number}<wbr>{line}</p>")
    marked = _LINE_PLACEHOLDERS.split(converter.handle("".join(html)))
    for number, text in zip(map(int, marked[1::2]), marked[2::2], strict=True):
        if number < len(lines):
            lines[number] = _finish(text, codes)
    return lines


def _finish(text: str, codes: Sequence[str]) -> str:
    """Escape what would begin a block, which html2text does only in part, and put the inline code back."""
    text = _EMPTY_LINES.sub("\n\n", text.strip())
    text = _BLOCK_START.sub(r"\\\1", text)
    text = _ITEM_START.sub(r"\1\\\2", text)
    return _CODE_PLACEHOLDERS.sub(lambda mark: _code_span(codes, int(mark[1])), text)


def _code_span(codes: Sequence[str], number: int) -> str:
    code = codes[number] if number < len(codes) else ""
    ticks = "`" * (_longest_run(code, "`") + 1)
    pad = " " if code.startswith("`") or code.endswith("`") else ""
    return f"{ticks}{pad}{code}{pad}{ticks}"


_LINES = ("div", "p", "li")
_LANGUAGE = re.compile(r"(?:^|\s)(?:(?:lang(?:uage)?|hljs|highlight(?:-source)?)-|hljs\s+(?!lang))([\w+#.-]+)")
_NO_LANGUAGE = frozenset({"default", "none", "plain", "plaintext", "text"})


def fenced_code(pre: HtmlElement) -> str:
    """A ``<pre>`` between fences of more backticks than it holds in a row; "" if it is empty."""
    code = _code_text(pre).strip("\n").rstrip()
    if not code:
        return ""
    fence = "`" * max(3, _longest_run(code, "`") + 1)
    return f"{fence}{_language(pre)}\n{code}\n{fence}"


def _longest_run(text: str, character: str) -> int:
    """The longest run of a character."""
    return max(map(len, re.findall(f"{re.escape(character)}+", text)), default=0)


def _code_text(pre: HtmlElement) -> str:
    """The text of a code block, with a line of its own for each block element inside."""
    text: list[str] = []
    for event, element in etree.iterwalk(pre, events=("start", "end")):
        if element.tag in _LINES and text and not text[-1].endswith("\n"):
            text.append("\n")
        if event == "start":
            found = "\n" if element.tag == "br" else element.text
        else:
            found = element.tail if element is not pre else None
        if found:
            text.append(found)
    return "".join(text)


def _language(pre: HtmlElement) -> str:
    """The language that the classes of a code block, or of the elements around it, name."""
    for element in (*pre.iterchildren("code"), pre, *islice(pre.iterancestors("div", "figure"), 2)):
        for language in _LANGUAGE.findall(element.get("class", "")):
            if language not in _NO_LANGUAGE:
                return str(language)
    return ""


MAX_CELL_LENGTH = 1_000
"""Characters of a cell above which a table is taken for the layout of a page."""
MAX_SPAN, MAX_COLUMNS = 20, 100
"""Columns and rows that a cell covers at most, and columns in which it is seen to cover rows."""
MAX_COVERED_CELLS, MAX_COVERED_PER_CELL = 100, 4
"""Cells that spans cover in a table at most, and in addition for each cell that is there: beyond, spans are ignored."""

_NOT_IN_CELLS = ("table", "pre", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6")


def _table_rows(table: HtmlElement) -> list[list[HtmlElement]]:
    """The cells of each row of a table, without empty rows and the rows of tables inside."""
    parts = (part if part.tag in ("thead", "tbody", "tfoot") else (part,) for part in table)
    rows = (row.iterchildren("td", "th") for part in parts for row in part if row.tag == "tr")
    return [cells for row in rows if (cells := list(row))]


def is_layout_table(table: HtmlElement) -> bool:
    """Whether a table only places parts of the page side by side, or cannot be written as rows of lines."""
    if table.get("role") in ("presentation", "none") or next(table.iterdescendants(*_NOT_IN_CELLS), None) is not None:
        return True
    rows = _table_rows(table)
    return (
        len(rows) < 2
        or max(map(len, rows)) < 2
        or any(len(cell.text_content()) > MAX_CELL_LENGTH for row in rows for cell in row)
    )


def table_grid(table: HtmlElement) -> list[list[HtmlElement | None]]:
    """The cells of each row, and None where one from the left or above reaches: Markdown's tables have no spans."""
    rows = _table_rows(table)
    left = MAX_COVERED_CELLS + MAX_COVERED_PER_CELL * sum(map(len, rows))
    grid = []
    below: dict[int, int] = {}  # by column, the rows into which the cell above still reaches

    def cover(row: list[HtmlElement | None]) -> bool:
        nonlocal left
        left -= 1
        if left >= 0:
            row.append(None)
        return left >= 0

    def fill(row: list[HtmlElement | None], end: int) -> None:
        while len(row) < end or len(row) in below:
            column = len(row)
            if not cover(row):
                below.clear()
                return
            if column in below:
                below[column] -= 1
                if not below[column]:
                    del below[column]

    for cells in rows:
        row: list[HtmlElement | None] = []
        for cell in cells:
            fill(row, 0)
            height = _span(cell, "rowspan") - 1
            for column in range(_span(cell, "colspan")):
                below.pop(len(row), None)
                if height and len(row) < MAX_COLUMNS:
                    below[len(row)] = height
                if not column:
                    row.append(cell)
                elif not cover(row):
                    break
        fill(row, 1 + max((column for column in below if column >= len(row)), default=-1))
        grid.append(row)
    return grid


def _span(cell: HtmlElement, direction: str) -> int:
    span = cell.get(direction, "")
    return min(max(1, int(span)), MAX_SPAN) if span.isascii() and span.isdigit() and len(span) < 5 else 1


def markdown_table(cells: Sequence[str], widths: Sequence[int]) -> str:
    """A table in GitHub's Markdown, whose first row is its head.

    Args:
        cells: Markdown of all cells, row by row.
        widths: Cells of each row. GitHub wants as many in the head as anywhere, and fills up the others itself.
    """
    left = iter(cells)
    rows = [[_cell_text(next(left)) for _ in range(width)] for width in widths]
    rows[0] += [""] * (max(widths) - widths[0])
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|" + " --- |" * max(widths), *body])


def _cell_text(markdown: str) -> str:
    lines = (line.strip() for line in markdown.split("\n"))
    return "<br>".join(filter(None, lines)).replace("|", "\\|")
