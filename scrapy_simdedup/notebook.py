"""Small tables for Jupyter."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def table_html(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a caption; everything in it is text.

    >>> table_html("Tides", ["when"], [["<now>"]])
    '<table><caption>Tides</caption><thead><tr><th>when</th></tr></thead><tbody><tr><td>&lt;now&gt;</td></tr></tbody></table>'
    """
    body = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"
