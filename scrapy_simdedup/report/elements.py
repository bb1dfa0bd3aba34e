"""HTML elements, tables, and bar charts in SVG, made from plain values; every string in them is text, never markup.

Charts fit any width, and each has its numbers in a table for readers who cannot see it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lxml import etree
from lxml.builder import E  # type: ignore[import-not-found]  # lxml-stubs lacks it

from scrapy_simdedup.display import shorten

Element: TypeAlias = "etree._Element"  # noqa: SLF001 - its only name
Child: TypeAlias = "str | Element | None"
Cell: TypeAlias = "Child | int | float"
MAX_SHOWN_URL = 120
"""Characters of a URL that are shown; its link has all of them."""
_INVALID_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
TOP, FLOOR, HEIGHT = 36, 204, 228
"""Pixels from the top of a chart to the end of its highest bar, to the foot of all bars, and to its lower edge."""
MIN_BAR_HEIGHT = 3.0
"""Pixels that a bar has at least, so that a single page can be seen."""


def h(tag: str, *children: Child | Iterable[Child], **attributes: str | None) -> Element:
    """An element with attributes and children.

    Of names of attributes an underscore at the end goes, and others become hyphens. None is left out.

    >>> to_html(h("p", "1 < 2 ", h("b", "!"), class_="sum", aria_label="so"))
    '<p class="sum" aria-label="so">1 &lt; 2 <b>!</b></p>'
    """
    named = {
        name.rstrip("_").replace("_", "-"): replace_invalid_xml(value)
        for name, value in attributes.items()
        if value is not None
    }
    parts = (
        part
        for child in children
        for part in ([child] if child is None or isinstance(child, (str, etree._Element)) else child)  # noqa: SLF001
        if part is not None
    )
    made: Element = E(tag, named, *(replace_invalid_xml(part) if isinstance(part, str) else part for part in parts))
    return made


def replace_invalid_xml(text: str) -> str:
    """The text with a replacement character for each character that no document may contain."""
    return _INVALID_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def to_html(element: Element) -> str:
    """The element as HTML."""
    return etree.tostring(element, method="html", encoding="unicode")


def link(url: str) -> Element:
    """A URL as a link, if it is an address of the web, else as text; the link sends no referrer."""
    if not url.startswith(("http://", "https://")):
        return h("span", shown_url(url), class_="url")
    return h("a", shown_url(url), href=url, class_="url", rel="noreferrer noopener")


def shown_url(url: str) -> str:
    """A URL for people: without the middle of a long one, and without characters that turn its direction."""
    return shorten("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in url), MAX_SHOWN_URL)


def data_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Element:
    """A table that the keyboard can scroll.

    A column whose name begins with ``#`` is of numbers, with ``#%`` of shares. The first cell of a row names it.
    Floats are similarities and rates.
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
    shown = f"{value:.1%}" if name.startswith("#%") else f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"
    return h(tag, shown, scope=scope, class_=_class(name), data_value=repr(value))


def _shown(name: str) -> str:
    name = name.lstrip("#%")
    return name[0].upper() + name[1:]


def _class(name: str) -> str | None:
    return "number" if name.startswith("#") else None


@dataclass(frozen=True, slots=True)
class Series:
    """One colour of a stacked bar chart: its name in the legend, and its value at each step."""

    name: str
    values: Sequence[int]
    colour: str
    """The verdict whose colour in the style sheet the bars have."""


@dataclass(frozen=True, slots=True)
class AxisMark:
    """A label on the x-axis of a chart, or a labelled vertical line through it."""

    at: float
    """The position of the mark, from 0 (left) to 1 (right)."""
    label: str
    minor: bool = False
    """Whether the label is left out on narrow screens."""


def bar_chart(
    name: str,
    title: str,
    series: Sequence[Series],
    steps: Sequence[str],
    *,
    ticks: Sequence[AxisMark],
    lines: Sequence[AxisMark] = (),
) -> Element:
    """A chart of stacked bars, the lowest series first, with a legend and a table of its numbers to be unfolded.

    Widths are percentages and font sizes are not, so that no letter shrinks on a phone. ``steps`` are the names of the
    steps in the table, and ``lines`` are thresholds.
    """
    totals = [sum(column) for column in zip(*(one.values for one in series), strict=True)]
    top = _round_up(max(totals, default=0))
    levels = [(share, FLOOR - share * (FLOOR - TOP)) for share in (0.0, 0.5, 1.0)]
    grid = [h("line", x1="0", x2="100%", y1=f"{y:.1f}", y2=f"{y:.1f}", class_="grid") for _, y in levels]
    marks = [h("text", f"{top * of:,.0f}", x="100%", y=f"{y + 4:.1f}", text_anchor="end") for of, y in levels[1:]]
    scale = h("svg", marks, class_="scale", height=str(HEIGHT))
    thresholds = [_line(row, mark) for row, mark in enumerate(lines)]
    drawn = [*grid, *_bars(series, steps, top), *thresholds, *map(_tick, ticks)]
    bars = h("svg", drawn, class_="bars", height=str(HEIGHT))
    summary = f"{title}: {len(totals)} steps of at most {max(totals, default=0):,}; the numbers are below"
    picture = h("div", scale, bars, class_="chart", role="img", aria_label=summary)
    legend = [h("li", h("span", class_=f"swatch {one.colour}", aria_hidden="true"), one.name) for one in series]
    return h("figure", picture, h("ul", legend, class_="legend"), _numbers(title, series, steps, totals), id=name)


def _bars(series: Sequence[Series], steps: Sequence[str], top: int) -> list[Element]:
    bars = []
    width = 100 / max(1, len(steps))
    for step, label in enumerate(steps):
        floor = float(FLOOR)
        for one in series:
            value = one.values[step]
            if not value:
                continue
            height = max(MIN_BAR_HEIGHT, value / top * (FLOOR - TOP))
            floor -= height
            title = h("title", f"{label}: {value:,} {one.name}")
            x, y = f"{step * width:.3f}%", f"{floor:.1f}"
            sizes = {"width": f"{width * 0.86:.3f}%", "y": y, "height": f"{height:.1f}"}
            bars.append(h("rect", title, x=x, **sizes, class_=one.colour))
    return bars


def _line(row: int, mark: AxisMark) -> Element:
    """A threshold line; its label has a row of its own, because two thresholds may be close to each other."""
    x, y = f"{100 * mark.at:.3f}%", 10 + 13 * row
    return h(
        "g",
        h("line", x1=x, x2=x, y1=str(y + 3), y2=str(FLOOR), class_="threshold"),
        h("text", mark.label, x=x, y=str(y), class_="threshold", text_anchor=_anchor(mark.at)),
    )


def _tick(mark: AxisMark) -> Element:
    x, class_ = f"{100 * mark.at:.3f}%", "minor tick" if mark.minor else "tick"
    return h("text", mark.label, x=x, y=str(FLOOR + 18), text_anchor=_anchor(mark.at), class_=class_)


def _anchor(at: float) -> str:
    return "start" if at < 0.08 else "end" if at > 0.92 else "middle"


def _numbers(title: str, series: Sequence[Series], steps: Sequence[str], totals: Sequence[int]) -> Element:
    columns = zip(*(one.values for one in series), strict=True)
    rows = [(label, *values) for label, values, total in zip(steps, columns, totals, strict=True) if total]
    table = data_table(title, ("step", *(f"#{one.name}" for one in series)), rows)
    return h("details", h("summary", "The numbers"), table)


def _round_up(value: int) -> int:
    """The smallest even digit or 10, times a power of ten, that is not below the value: easy to read and to halve."""
    size = 1
    while value > size * 10:
        size *= 10
    return next((size * step for step in (2, 4, 6, 8, 10) if size * step >= value), size * 10)
