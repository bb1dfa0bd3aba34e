"""Lines for people: tables, and what stands out where a terminal can show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


class Strong(str):
    """A line that is the answer, or the head of a table."""

    __slots__ = ()
    code = "1"


class Soft(Strong):
    """A line that is beside the point."""

    __slots__ = ()
    code = "2"


class Good(Strong):
    """A line about what is there, kept or sound."""

    __slots__ = ()
    code = "32"


class Bad(Strong):
    """A line about what is gone, dropped or damaged."""

    __slots__ = ()
    code = "31"


def printable(text: str) -> str:
    """The text without what would steer a terminal, as pages may carry it in their addresses and titles."""
    if text.isprintable():
        return str(text)
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def coloured(line: str) -> str:
    """A printable line in the manner of its class, for a terminal."""
    return f"\x1b[{line.code}m{printable(line)}\x1b[0m" if isinstance(line, Strong) else printable(line)


def table(
    head: Sequence[str], rows: Iterable[Sequence[object]], width: int = 10_000, *, indent: str = ""
) -> Iterator[str]:
    """Rows under a head, in columns as wide as what is in them; numbers stand on the right.

    Args:
        head: the columns' names; those that begin with ``#`` are of numbers.
        rows: values by column; None is a dash.
        width: characters that a line may have; the last column is cut to that.
        indent: what each line begins with.
    """
    numbers = [name.startswith("#") for name in head]
    cells = [[name.lstrip("#") for name in head], *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    for place, row in enumerate(cells):
        columns = (
            text.rjust(size) if number else text.ljust(size)
            for text, size, number in zip(row, widths, numbers, strict=True)
        )
        line = (indent + "  ".join(columns)).rstrip()
        line = line if len(line) <= width else line[: width - 1] + "…"
        yield line if place else Strong(line)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)
