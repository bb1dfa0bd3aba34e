"""Tables of data, as rows of lines; tables that lay out a page are told apart from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml.html import HtmlElement

MAX_CELL = 1_000
"""Characters of a cell above which a table is taken for the layout of a page."""
MAX_SPAN, MAX_COLUMNS = 20, 100
"""Columns and rows that a cell covers at most, and columns in which it is seen to cover rows."""

_NOT_IN_CELLS = ("table", "pre", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6")


def rows_of(table: HtmlElement) -> list[list[HtmlElement]]:
    """The cells of each row of a table, without empty rows and the rows of tables inside."""
    parts = (part if part.tag in ("thead", "tbody", "tfoot") else (part,) for part in table)
    rows = (row.iterchildren("td", "th") for part in parts for row in part if row.tag == "tr")
    return [cells for row in rows if (cells := list(row))]


def is_layout(table: HtmlElement) -> bool:
    """Whether a table only places parts of the page side by side, or cannot be written as rows of lines."""
    if table.get("role") in ("presentation", "none") or next(table.iterdescendants(*_NOT_IN_CELLS), None) is not None:
        return True
    rows = rows_of(table)
    return (
        len(rows) < 2
        or max(map(len, rows)) < 2
        or any(len(cell.text_content()) > MAX_CELL for row in rows for cell in row)
    )


def grid_of(table: HtmlElement) -> list[list[HtmlElement | None]]:
    """The cells of each row, and None where one from the left or above reaches: Markdown's tables have no spans."""
    grid = []
    below: dict[int, int] = {}  # by column, the rows into which the cell above still reaches

    def fill(row: list[HtmlElement | None], end: int) -> None:
        while len(row) < end or below.get(len(row)):
            below[len(row)] = max(0, below.get(len(row), 0) - 1)
            row.append(None)

    for cells in rows_of(table):
        row: list[HtmlElement | None] = []
        for cell in cells:
            fill(row, 0)
            for column in range(_span(cell, "colspan")):
                if len(row) < MAX_COLUMNS:
                    below[len(row)] = _span(cell, "rowspan") - 1
                row.append(None if column else cell)
        fill(row, 1 + max((column for column, rows in below.items() if rows and column >= len(row)), default=-1))
        grid.append(row)
    return grid


def _span(cell: HtmlElement, direction: str) -> int:
    span = cell.get(direction, "")
    return min(max(1, int(span)), MAX_SPAN) if span.isascii() and span.isdigit() and len(span) < 5 else 1


def write_table(cells: Sequence[str], widths: Sequence[int]) -> str:
    """A table in GitHub's Markdown, whose first row is its head.

    Args:
        cells: Markdown of all cells, row by row.
        widths: Cells of each row. GitHub wants as many in the head as anywhere, and fills up the others itself.
    """
    left = iter(cells)
    rows = [[_in_cell(next(left)) for _ in range(width)] for width in widths]
    rows[0] += [""] * (max(widths) - widths[0])
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|" + " --- |" * max(widths), *body])


def _in_cell(markdown: str) -> str:
    lines = (line.strip() for line in markdown.split("\n"))
    return "<br>".join(filter(None, lines)).replace("|", "\\|")
