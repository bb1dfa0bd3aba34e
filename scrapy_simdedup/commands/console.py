"""Where answers go: tables for people, JSON for programs, and progress beside them on stderr."""

from __future__ import annotations

import json
import shutil
import time
from argparse import ArgumentTypeError
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

ON_A_TERMINAL, IN_A_FILE = 0.1, 10.0
"""Seconds between two signs of progress."""


class Console:
    """Writes what an action says.

    Args:
        out: for answers.
        err: for progress and complaints.
        as_json: give answers as JSON.
    """

    def __init__(self, out: TextIO, err: TextIO, *, as_json: bool) -> None:
        self.out, self.err, self.as_json = out, err, as_json
        for stream in (out, err):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")  # a terminal that cannot show a letter is no reason to stop

    def answer(self, data: Any, text: str) -> None:
        """Say the answer: ``data`` if JSON is wanted, else ``text``."""
        self.out.write((json.dumps(data, indent=2) if self.as_json else printable(text)) + "\n")
        self.out.flush()

    def complain(self, sentence: str) -> None:
        """Say what went wrong, or what should be known besides the answer."""
        self.err.write(printable(sentence) + "\n")

    @property
    def width(self) -> int:
        """Characters per line; where nobody looks, as many as it takes."""
        return shutil.get_terminal_size().columns if self.out.isatty() else 10_000

    @contextmanager
    def progress(self, what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Show how far a long work is; call what this gives with the number that is done.

        Args:
            what: such as ``"pages read"``.
            total: how many there will be, where that is known.
        """
        terminal = self.err.isatty()
        pause = ON_A_TERMINAL if terminal else IN_A_FILE
        start = said = time.monotonic()

        def show(done: int) -> None:
            nonlocal said
            now = time.monotonic()
            if now - said >= pause:
                said = now
                share = f" of {total:,} ({done / total:.0%})" if total else ""
                line = f"{done:,}{share} {what}, {done / (now - start):,.0f} per second"
                self.err.write(f"\r\x1b[K{line}" if terminal else line + "\n")
                self.err.flush()

        try:
            yield show
        finally:
            if terminal and said != start:
                self.err.write("\r\x1b[K")


def printable(text: str) -> str:
    """The text without what would steer a terminal, as pages may carry it in their addresses and titles."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def table(head: Sequence[str], rows: Iterable[Sequence[object]], width: int = 10_000) -> str:
    """Rows under a head, in columns as wide as what is in them; numbers stand on the right.

    Args:
        head: the columns' names; those that begin with ``#`` are of numbers.
        rows: values by column; None is a dash.
        width: characters that a line may have; the last column is cut to that.
    """
    numbers = [name.startswith("#") for name in head]
    cells = [[name.lstrip("#") for name in head], *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = [
        "  ".join(
            text.rjust(size) if number else text.ljust(size)
            for text, size, number in zip(row, widths, numbers, strict=True)
        ).rstrip()
        for row in cells
    ]
    return "\n".join(line if len(line) <= width else line[: width - 1] + "…" for line in lines)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


def count(text: str) -> int:
    """What an option means that says how many."""
    number = int(text)
    if number < 1:
        raise ArgumentTypeError("give a number from 1 on")
    return number
