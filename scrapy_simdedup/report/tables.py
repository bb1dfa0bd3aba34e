"""Tables that scroll inside the page, and those that sort and filter."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from scrapy_simdedup.report.elements import h, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_simdedup.report.elements import Child, Element

Cell: TypeAlias = "Child | int | float"


def data_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Element:
    """A table that the keyboard can scroll.

    Args:
        caption: what it shows.
        head: names of the columns; those that begin with ``#`` are of numbers, with ``#%`` of shares.
        rows: values; the first of each names the row. Floats are similarities and rates.
    """
    names = [h("th", _shown(name), scope="col", class_=_class(name)) for name in head]
    table = h("table", h("caption", caption), h("thead", h("tr", names)), _body(head, rows))
    return h("div", table, class_="scroll", tabindex="0", role="group", aria_label=caption)


def sortable_table(name: str, caption: str, head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> list[Element]:
    """A table whose columns sort, with a field that filters its rows.

    Args:
        name: of its elements; unique on the page.
        caption: what it shows.
        head: as in :func:`data_table`.
        rows: as in :func:`data_table`.
    """
    names = [h("th", h("button", _shown(column), type="button"), scope="col", class_=_class(column)) for column in head]
    table = h(
        "table",
        h("caption", caption),
        h("thead", h("tr", names)),
        _body(head, rows),
        id=name,
        data_sort="",
        class_=None,
    )
    field = h("input", id=f"{name}-filter", type="search", data_filters=name, aria_describedby=f"{name}-shown")
    label = h("label", f"Only where the {head[0].lower()} contains ", field)
    said = h("span", id=f"{name}-shown", role="status", class_="soft")
    return [
        h("div", label, said, class_="filter"),
        h("div", table, class_="scroll", tabindex="0", role="group", aria_label=caption),
    ]


def _body(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Element:
    return h(
        "tbody",
        [
            h("tr", [_cell(name, at, cell) for at, (name, cell) in enumerate(zip(head, row, strict=True))])
            for row in rows
        ],
    )


def _cell(name: str, at: int, value: Cell) -> Element:
    tag, scope = ("td", None) if at else ("th", "row")
    if not isinstance(value, (int, float)):
        return h(tag, value, scope=scope, class_=_class(name), data_value="-1" if value is None else None)
    shown = f"{value:.1%}" if name.startswith("#%") else number(value, 0 if isinstance(value, int) else 3)
    return h(tag, shown, scope=scope, class_=_class(name), data_value=repr(value))


def _shown(name: str) -> str:
    name = name.lstrip("#%")
    return name[0].upper() + name[1:]


def _class(name: str) -> str | None:
    return "number" if name.startswith("#") else None
