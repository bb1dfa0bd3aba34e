"""Small tables for Jupyter, light or dark."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

CELL = "text-align: left; vertical-align: top; white-space: normal; min-width: 7em; overflow-wrap: anywhere"
"""Jupyter sets numbers and texts to the right, in one line."""
MARK = "background: #ffd54a55; color: inherit"
"""To be read on black as well as on white."""


class Markup(str):
    """HTML that goes into a table as it is; everything else is text."""

    __slots__ = ()


def table_html(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a caption.

    Args:
        caption: what it says in one line.
        head: names of the columns; none: no head.
        rows: cells; everything in them but :class:`Markup` is text.
    """
    body = "".join(f"<tr>{''.join(_cell('td', cell) for cell in row)}</tr>" for row in rows)
    names = f"<thead><tr>{''.join(_cell('th', name) for name in head)}</tr></thead>" if head else ""
    said = f'<caption style="{CELL}"><b>{escape(caption)}</b></caption>'
    return f"<table>{said}{names}<tbody>{body}</tbody></table>"


def link(url: str) -> Markup:
    """An address that can be followed, if it is one of the web."""
    shown = escape(url)
    is_web = url.startswith(("http://", "https://"))
    return Markup(f'<a href="{shown}" rel="noreferrer noopener">{shown}</a>' if is_web else shown)


def bar(share: float) -> Markup:
    """A share from 0 to 1 as a number, with its picture."""
    style = "display: inline-block; height: 0.6em; margin-right: 0.6em; width: 6em; background: "
    full = f"linear-gradient(to right, #4a90e2 {share:.0%}, #8886 {share:.0%})"
    return Markup(f'<span style="{style}{full}"></span>{share:.3f}')


def marked(parts: Iterable[tuple[str, bool]]) -> Markup:
    """Text of which some parts stand out.

    >>> marked([("two ", False), ("<fresh>", True)])
    'two <mark style="background: #ffd54a55; color: inherit">&lt;fresh&gt;</mark>'
    """
    mark = f'<mark style="{MARK}">'
    return Markup("".join(f"{mark}{escape(text)}</mark>" if stands_out else escape(text) for text, stands_out in parts))


def _cell(tag: str, value: object) -> str:
    return f'<{tag} style="{CELL}">{value if isinstance(value, Markup) else escape(str(value))}</{tag}>'
