"""Bar charts in SVG that fit any width, with their numbers beside them for those who cannot see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simdedup.report.elements import h, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simdedup.report.elements import Element

TOP, FLOOR, HEIGHT = 36, 204, 228
"""Pixels from the top: where the highest bar ends, where all begin, and where the picture ends."""

LOWEST = 3.0
"""Pixels of the lowest bar: what is there can be seen."""


@dataclass(frozen=True, slots=True)
class Series:
    """One kind of bar."""

    name: str
    values: Sequence[int]
    """One for each step."""
    colour: str
    """A kind of page whose colour it has; see the style sheet."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A label on the x-axis, or a line across the chart."""

    at: float
    """Where, from 0 (left) to 1 (right)."""
    label: str
    minor: bool = False
    """Left out where there is little room."""


def bar_chart(
    name: str,
    title: str,
    series: Sequence[Series],
    steps: Sequence[str],
    *,
    ticks: Sequence[Mark],
    lines: Sequence[Mark] = (),
) -> Element:
    """Stacked bars, their legend, and their numbers in a table that can be unfolded.

    Widths are percentages and letters are not, so that nothing shrinks on a phone.

    Args:
        name: its id on the page.
        title: what it shows.
        series: the lowest first.
        steps: what each step is called in the table.
        ticks: labels of the x-axis.
        lines: thresholds.
    """
    totals = [sum(column) for column in zip(*(one.values for one in series), strict=True)]
    top = _round_up(max(totals, default=0))
    scale = h("svg", [_scale(top, share) for share in (0.5, 1.0)], class_="scale", height=str(HEIGHT))
    bars = h(
        "svg",
        [_gridline(share) for share in (0.0, 0.5, 1.0)],
        _bars(series, steps, top),
        [_line(mark, row) for row, mark in enumerate(lines)],
        [_tick(mark) for mark in ticks],
        class_="bars",
        height=str(HEIGHT),
    )
    said = f"{title}: {len(totals)} steps of at most {number(max(totals, default=0))}; the numbers are below"
    picture = h("div", scale, bars, class_="chart", role="img", aria_label=said)
    legend = [h("li", h("span", class_=f"swatch {one.colour}", aria_hidden="true"), one.name) for one in series]
    return h("figure", picture, h("ul", legend, class_="legend"), _numbers(title, series, steps, totals), id=name)


def _bars(series: Sequence[Series], steps: Sequence[str], top: int) -> list[Element]:
    made = []
    width = 100 / max(1, len(steps))
    for step, label in enumerate(steps):
        floor = float(FLOOR)
        for one in series:
            value = one.values[step]
            if not value:
                continue
            height = max(LOWEST, value / top * (FLOOR - TOP))
            floor -= height
            made.append(
                h(
                    "rect",
                    h("title", f"{label}: {number(value)} {one.name}"),
                    x=f"{step * width:.3f}%",
                    width=f"{width * 0.86:.3f}%",
                    y=f"{floor:.1f}",
                    height=f"{height:.1f}",
                    class_=one.colour,
                )
            )
    return made


def _gridline(share: float) -> Element:
    y = f"{FLOOR - share * (FLOOR - TOP):.1f}"
    return h("line", x1="0", x2="100%", y1=y, y2=y, class_="grid")


def _scale(top: int, share: float) -> Element:
    y = f"{FLOOR - share * (FLOOR - TOP) + 4:.1f}"
    return h("text", number(top * share), x="100%", y=y, text_anchor="end")


def _line(mark: Mark, row: int) -> Element:
    """A threshold; each has its label in a row of its own, as they may be close."""
    x, y = f"{100 * mark.at:.3f}%", 10 + 13 * row
    return h(
        "g",
        h("line", x1=x, x2=x, y1=str(y + 3), y2=str(FLOOR), class_="threshold"),
        h("text", mark.label, x=x, y=str(y), class_="threshold", text_anchor=_anchor(mark.at)),
    )


def _tick(mark: Mark) -> Element:
    x = f"{100 * mark.at:.3f}%"
    return h(
        "text",
        mark.label,
        x=x,
        y=str(FLOOR + 18),
        text_anchor=_anchor(mark.at),
        class_="minor tick" if mark.minor else "tick",
    )


def _anchor(at: float) -> str:
    return "start" if at < 0.08 else "end" if at > 0.92 else "middle"


def _numbers(title: str, series: Sequence[Series], steps: Sequence[str], totals: Sequence[int]) -> Element:
    head = h("tr", h("td"), [h("th", one.name, scope="col", class_="number") for one in series])
    rows = [
        h("tr", h("th", label, scope="row"), [h("td", number(one.values[at]), class_="number") for one in series])
        for at, label in enumerate(steps)
        if totals[at]
    ]
    table = h("table", h("caption", title), h("thead", head), h("tbody", rows))
    return h(
        "details",
        h("summary", "The numbers"),
        h("div", table, class_="scroll", tabindex="0", role="group", aria_label=f"{title}, the numbers"),
    )


def _round_up(value: int) -> int:
    """The next number that is easy to read and to halve."""
    size = 1
    while value > size * 10:
        size *= 10
    return next((size * step for step in (2, 4, 6, 8, 10) if size * step >= value), size * 10)
