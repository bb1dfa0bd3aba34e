"""HTML elements and tables, made from plain values; every string in them is text, never markup."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Element: TypeAlias = "etree._Element"  # noqa: SLF001 - its only name
Child: TypeAlias = "str | Element | None"
Cell: TypeAlias = "Child | int | float"

MAX_SHOWN_URL = 120
"""Characters of a URL that are shown; its link has all of them."""
_INVALID_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def h(tag: str, *children: Child | Iterable[Child], **attributes: str | None) -> Element:
    """An element with attributes and children.

    >>> to_html(h("p", "1 < 2 ", h("b", "!"), class_="sum", aria_label="so"))
    '<p class="sum" aria-label="so">1 &lt; 2 <b>!</b></p>'

    Args:
        tag: the name of the element.
        children: texts and elements, also in lists; None is left out.
        attributes: names without an underscore at the end, and with hyphens for others; one that is None is left out.
    """
    made = etree.Element(tag)
    for name, value in attributes.items():
        if value is not None:
            made.set(name.rstrip("_").replace("_", "-"), replace_invalid_xml(value))
    for child in children:
        for part in [child] if child is None or isinstance(child, (str, etree._Element)) else child:  # noqa: SLF001
            _append(made, part)
    return made


def _append(made: Element, part: Child) -> None:
    if part is None:
        return
    if not isinstance(part, str):
        made.append(part)
    elif len(made):
        made[-1].tail = (made[-1].tail or "") + replace_invalid_xml(part)
    else:
        made.text = (made.text or "") + replace_invalid_xml(part)


def replace_invalid_xml(text: str) -> str:
    """The text with a replacement character for each character that no document may contain."""
    return _INVALID_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def to_html(element: Element) -> str:
    """The element as HTML."""
    return etree.tostring(element, method="html", encoding="unicode")


def link(url: str) -> Element:
    """A URL as a link, if it is an address of the web, else as text; the link sends no referrer."""
    if not url.startswith(("http://", "https://")):
        return h("span", shorten(url), class_="url")
    return h("a", shorten(url), href=url, class_="url", rel="noreferrer noopener")


def shorten(url: str) -> str:
    """A URL as it is shown: without its middle if it is long, and without characters that turn its direction."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in url)
    return shown if len(shown) <= MAX_SHOWN_URL else f"{shown[: MAX_SHOWN_URL * 2 // 3]}…{shown[-MAX_SHOWN_URL // 3 :]}"


def format_number(value: float, digits: int = 0) -> str:
    """A number for people.

    >>> format_number(1234567), format_number(0.98765, 3)
    ('1,234,567', '0.988')
    """
    return f"{value:,.{digits}f}"


def data_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Element:
    """A table that the keyboard can scroll.

    Args:
        caption: what the table shows.
        head: names of the columns; one that begins with ``#`` is of numbers, with ``#%`` of shares.
        rows: the cells; the first of a row names it. Floats are similarities and rates.
    """
    return _scrolling(caption, head, [_shown(name) for name in head], rows)


def sortable_table(name: str, caption: str, head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> list[Element]:
    """A :func:`data_table` whose columns sort, with a field that filters its rows; ``name`` is its id."""
    buttons = [h("button", _shown(column), type="button") for column in head]
    field = h("input", id=f"{name}-filter", type="search", data_filters=name, aria_describedby=f"{name}-shown")
    label = h("label", f"Only where the {head[0].lower()} contains ", field)
    summary = h("span", id=f"{name}-shown", role="status", class_="soft")
    table = _scrolling(caption, head, buttons, rows, id=name, data_sort="")
    return [h("div", label, summary, class_="filter"), table]


def _scrolling(
    caption: str, head: Sequence[str], names: Sequence[Child], rows: Iterable[Sequence[Cell]], **attributes: str
) -> Element:
    columns = [h("th", shown, scope="col", class_=_class(name)) for name, shown in zip(head, names, strict=True)]
    body = [
        h("tr", [_cell(name, at, cell) for at, (name, cell) in enumerate(zip(head, row, strict=True))]) for row in rows
    ]
    table = h("table", h("caption", caption), h("thead", h("tr", columns)), h("tbody", body), **attributes)
    return h("div", table, class_="scroll", tabindex="0", role="group", aria_label=caption)


def _cell(name: str, at: int, value: Cell) -> Element:
    tag, scope = ("td", None) if at else ("th", "row")
    if not isinstance(value, (int, float)):
        return h(tag, value, scope=scope, class_=_class(name), data_value="-1" if value is None else None)
    shown = f"{value:.1%}" if name.startswith("#%") else format_number(value, 0 if isinstance(value, int) else 3)
    return h(tag, shown, scope=scope, class_=_class(name), data_value=repr(value))


def _shown(name: str) -> str:
    name = name.lstrip("#%")
    return name[0].upper() + name[1:]


def _class(name: str) -> str | None:
    return "number" if name.startswith("#") else None
