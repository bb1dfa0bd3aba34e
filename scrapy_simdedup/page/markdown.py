"""The chosen blocks of a page as GitHub-flavoured Markdown, in document order and with their structure.

One bounded walk over the content tree lays out its blocks: paragraphs, headings, items, quotations, code and tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from os.path import commonprefix
from typing import NamedTuple

from lxml.html import HtmlElement

from scrapy_simdedup.page.content_tree import Addresses, Child, ContentNode, build_content_tree, single_spaced
from scrapy_simdedup.page.markdown_inline import Inline, fenced_code

MAX_DEPTH = 100
"""Levels of elements that are laid out; deeper ones become one paragraph."""
MAX_INDENT = 32
"""Characters in front of a line; lists and quotations nested deeper stay at this level."""
MAX_CELL_LENGTH = 1_000
"""Characters of a cell above which a table is taken for the layout of a page."""
MAX_SPAN, MAX_COLUMNS = 20, 100
"""Columns and rows that a cell covers at most, and columns in which it is seen to cover rows."""
MAX_COVERED_CELLS, MAX_COVERED_PER_CELL = 100, 4
"""Cells that spans cover in a table at most, and in addition for each cell that is there: beyond, spans are ignored."""
_NOT_IN_CELLS = frozenset({"table", "pre", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6"})
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}


def to_markdown(root: HtmlElement, is_chosen: Iterable[bool], *, url: str = "", limit: int | None = None) -> str:
    """The chosen blocks of a page as Markdown. Text beyond ``limit`` characters is left off."""
    content = build_content_tree(root, is_chosen)
    if content is None:
        return ""
    return "".join(_join_blocks(_Layout(content, Addresses(root, url)).blocks, limit))


def _join_blocks(blocks: Sequence[MarkdownBlock], limit: int | None) -> Iterator[str]:
    """The blocks with their prefixes and with empty lines between them, up to the limit."""
    size = 0
    before: MarkdownBlock | None = None
    for block in blocks:
        between = ""
        if before is not None and (block.tight or not before.line_prefix):
            between = "\n" if block.tight else "\n\n"
        elif before is not None:
            common = commonprefix((before.line_prefix, block.first_prefix))  # noqa: RUF071 - they are no paths
            between = f"\n{common.rstrip()}\n"
        text = block.text
        if block.line_prefix and "\n" in text:
            blank = block.line_prefix.rstrip()
            first, *rest = text.split("\n")
            text = "\n".join((first, *(f"{block.line_prefix}{line}" if line else blank for line in rest)))
        made = f"{between}{block.first_prefix}{text}"
        if limit is not None and size + len(made) > limit:
            yield made[: limit - size]
            return
        yield made
        size += len(made)
        before = block


class MarkdownBlock(NamedTuple):
    """A block of Markdown."""

    first_prefix: str
    """What stands in front of the first line: indentation, the mark of an item, ``>``."""
    line_prefix: str
    """The characters in front of all lines but the first."""
    tight: bool
    """Whether no empty line stands before the block, as between the items of a list."""
    text: str
    """The lines without what stands in front of them; never empty."""


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


class _Layout:
    """The Markdown blocks of a content tree."""

    def __init__(self, content: ContentNode, addresses: Addresses) -> None:
        self._addresses = addresses
        self._inline = Inline(addresses)
        self.blocks: list[MarkdownBlock] = []
        self._block(content, _Container(), "", 0)

    def _add(self, container: _Container, text: str) -> None:
        if text:
            first, tight = container.take_prefix()
            self.blocks.append(MarkdownBlock(first, container.line_prefix, bool(tight), text))

    def _line(self, children: Sequence[Child], container: _Container, link: str) -> None:
        """Add a paragraph of texts and inline elements, unless it is blank."""
        if children:
            self._add(container, self._inline.line(children, link))

    def _content(self, node: ContentNode, container: _Container, link: str, depth: int) -> None:
        """Add what is in an element: runs of inline elements are paragraphs, block elements are blocks of their own."""
        if depth > MAX_DEPTH:
            self._line([node.text()], container, link)
            return
        line: list[Child] = []
        for child in node.children:
            if isinstance(child, str) or not child.is_block:
                line.append(child)
                continue
            self._line(line, container, link)
            line = []
            self._block(child, container, link, depth + 1)
        self._line(line, container, link)

    def _block(self, node: ContentNode, container: _Container, link: str, depth: int) -> None:
        tag = node.tag
        if tag in _HEADINGS:
            text = single_spaced(self._inline.line(node.children, link))
            self._add(container, text and _HEADINGS[tag] + text)
        elif tag == "pre":
            self._add(container, fenced_code(node))
        elif tag == "hr":
            self._add(container, "---")
        elif tag == "blockquote":
            self._content(node, container.nested("> ", "> "), link, depth)
        elif tag in ("ul", "ol"):
            self._list(node, container, link, depth)
        elif tag == "table" and not _is_layout_table(node):
            self._table(node, container, depth)
        else:
            if tag == "a":
                link = self._addresses.of_link(node.element) or link
            self._content(node, container, link, depth)

    def _list(self, node: ContentNode, container: _Container, link: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            self._line([node.text()], container, link)
            return
        numbers = _item_numbers(node.element) if node.tag == "ol" else {}
        rest = ""
        """The indentation of what stands in no item: it belongs to the item before, and to none at first."""
        line: list[Child] = []
        is_first = True
        for child in node.children:
            if not isinstance(child, ContentNode) or not (child.is_block or child.tag == "li"):
                line.append(child)
                continue
            self._line(line, container.nested(rest, rest) if rest else container, link)
            line = []
            if child.tag == "li":
                number = numbers.get(child.element, 1)
                mark = f"{number}. " if node.tag == "ol" else "- "
                rest = " " * len(mark)
                # A list inside an item needs no empty line, unless it could be taken for a line that begins "9.".
                is_tight = not is_first or (container.line_prefix != "" and number == 1)
                before = len(self.blocks)
                self._content(child, container.nested(mark, rest, tight=is_tight), link, depth + 1)
                is_first = is_first and len(self.blocks) == before
            else:
                nested = container.nested(rest, rest, tight=child.tag in ("ul", "ol")) if rest else container
                self._block(child, nested, link, depth + 1)
        self._line(line, container.nested(rest, rest) if rest else container, link)

    def _table(self, table: ContentNode, container: _Container, depth: int) -> None:
        for caption in table.nodes("caption"):
            self._content(caption, container, "", depth + 1)
        rows = [["" if cell is None else self._cell(cell, depth) for cell in row] for row in table_grid(table)]
        if not any(cell.element.get("rowspan") for row in _table_rows(table) for cell in row):  # which rows below need
            rows = [row for row in rows if any(row)]
        if any(map(any, rows)):
            self._add(container, _markdown_table([text for row in rows for text in row], list(map(len, rows))))

    def _cell(self, cell: ContentNode, depth: int) -> str:
        outer, self.blocks = self.blocks, []
        self._content(cell, _Container(), "", depth + 1)
        inner, self.blocks = self.blocks, outer
        return "<br>".join(block.text for block in inner if block.text != "---")


def _item_numbers(ordered: HtmlElement) -> dict[HtmlElement, int]:
    """The number of each item of a list, also where items before it are not chosen; GitHub reads up to nine digits."""
    start = ordered.get("start", "").strip()
    first = int(start) if start.isascii() and start.isdigit() and len(start) < 9 else 1
    return {item: number for number, item in enumerate(ordered.iterchildren("li"), first)}


def _table_rows(table: ContentNode) -> list[list[ContentNode]]:
    """The cells of each row of a table, without empty rows and the rows of tables inside."""
    parts = (part.nodes("tr") if part.tag in ("thead", "tbody", "tfoot") else (part,) for part in table.nodes())
    rows = (row.nodes("td", "th") for part in parts for row in part if row.tag == "tr")
    return [cells for row in rows if (cells := list(row))]


def _is_layout_table(table: ContentNode) -> bool:
    """Whether a table only places parts of the page side by side, or cannot be written as rows of lines."""
    if table.element.get("role") in ("presentation", "none"):
        return True
    if any(isinstance(child, ContentNode) and child.tag in _NOT_IN_CELLS for child in table.walk()):
        return True
    rows = _table_rows(table)
    return (
        len(rows) < 2
        or max(map(len, rows)) < 2
        or any(len(cell.text()) > MAX_CELL_LENGTH for row in rows for cell in row)
    )


def table_grid(table: ContentNode) -> list[list[ContentNode | None]]:
    """The cells of each row, and None where one from the left or above reaches: Markdown's tables have no spans."""
    rows = _table_rows(table)
    left = MAX_COVERED_CELLS + MAX_COVERED_PER_CELL * sum(map(len, rows))
    grid = []
    below: dict[int, int] = {}  # by column, the rows into which the cell above still reaches

    def cover(row: list[ContentNode | None]) -> bool:
        nonlocal left
        left -= 1
        if left >= 0:
            row.append(None)
        return left >= 0

    def fill(row: list[ContentNode | None], end: int) -> None:
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
        row: list[ContentNode | None] = []
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


def _span(cell: ContentNode, direction: str) -> int:
    span = cell.element.get(direction, "")
    return min(max(1, int(span)), MAX_SPAN) if span.isascii() and span.isdigit() and len(span) < 5 else 1


def _markdown_table(cells: Sequence[str], widths: Sequence[int]) -> str:
    """A table in GitHub's Markdown, whose first row is its head.

    ``widths`` has the cells of each row. GitHub wants as many in the head as anywhere, and fills up the others itself.
    """
    left = iter(cells)
    rows = [[_cell_text(next(left)) for _ in range(width)] for width in widths]
    rows[0] += [""] * (max(widths) - widths[0])
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|" + " --- |" * max(widths), *body])


def _cell_text(markdown: str) -> str:
    lines = (line.strip() for line in markdown.split("\n"))
    return "<br>".join(filter(None, lines)).replace("|", "\\|")
