"""Where answers go: tables for people, JSON for programs, and progress beside them on stderr."""

from __future__ import annotations

import json
import os
import shutil
from argparse import ArgumentTypeError
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from scrapy_simdedup.commands.progress import Progress
from scrapy_simdedup.commands.text import coloured, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


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

    def answer(self, data: Any, lines: Iterable[str]) -> None:
        """Say the answer: ``data`` if JSON is wanted, else ``lines``."""
        if self.as_json:
            self.out.write(json.dumps(data, indent=2) + "\n")
        else:
            # https://no-color.org
            show = coloured if _is_terminal(self.out) and not os.environ.get("NO_COLOR") else printable
            self.out.writelines(f"{show(line)}\n" for line in lines)
        self.out.flush()

    def complain(self, sentence: str) -> None:
        """Say what went wrong, or what should be known besides the answer."""
        self.err.write(printable(sentence) + "\n")

    @property
    def width(self) -> int:
        """Characters per line; where nobody looks, as many as it takes."""
        return shutil.get_terminal_size().columns if self.out.isatty() else 10_000

    @contextmanager
    def progress(
        self, what: str, total: int | None = None, share: Callable[[int], float] | None = None
    ) -> Iterator[Callable[[int], None]]:
        """Show how far a long work is; call what this gives with the number that is done.

        Args:
            what: such as ``"pages read"``.
            total: how many there will be, where that is known.
            share: how much of the work is done then, 0..1, where that is known otherwise.
        """
        if total:
            share = lambda done: done / total  # noqa: E731
        progress = Progress(self.err, what, share, terminal=_is_terminal(self.err))
        try:
            yield progress.show
        finally:
            progress.end()


def _is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def count(text: str) -> int:
    """What an option means that says how many."""
    number = int(text)
    if number < 1:
        raise ArgumentTypeError("give a number from 1 on")
    return number
