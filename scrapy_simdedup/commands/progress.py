"""How far a long work is: a bar on a terminal, a line now and then in a file."""

from __future__ import annotations

import os
import shutil
import stat
import time
from datetime import timedelta
from typing import IO, TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable

ON_A_TERMINAL, IN_A_FILE = 0.1, 10.0
"""Seconds between two signs of progress."""
BAR = 30
"""Characters of a full bar."""
CLEAR = "\r\x1b[K"


class Progress:
    """Says on a stream how far a work is; silent about what is done in a moment.

    Args:
        stream: stderr, as a rule.
        what: such as ``"pages read"``.
        share: how much of the work is done when so many are done, 0..1; None where nobody knows.
        terminal: whether somebody looks at the stream.
    """

    def __init__(self, stream: TextIO, what: str, share: Callable[[int], float] | None, *, terminal: bool) -> None:
        self._stream, self._what, self._share, self._terminal = stream, what, share, terminal
        self._pause = ON_A_TERMINAL if terminal else IN_A_FILE
        self._start = self._said = time.monotonic()
        self._signs = ("█", "░") if (stream.encoding or "utf-8").lower().startswith("utf") else ("#", "-")

    def show(self, done: int) -> None:
        """So many are done."""
        now = time.monotonic()
        if now - self._said >= self._pause:
            self._said = now
            text = self._text(done, now - self._start)
            self._stream.write(
                CLEAR + text[: shutil.get_terminal_size().columns - 1] if self._terminal else f"{text}\n"
            )
            self._stream.flush()

    def end(self) -> None:
        """Leave nothing on a terminal."""
        if self._terminal and self._said != self._start:
            self._stream.write(CLEAR)
            self._stream.flush()

    def _text(self, done: int, seconds: float) -> str:
        text = f"{done:,} {self._what}, {done / max(seconds, 1e-6):,.0f} per second"
        share = self._share(done) if self._share else 0.0
        if not 0 < share <= 1:  # more than all: it was read once more, or grew meanwhile
            return text
        full, empty = self._signs
        bar = (full * round(share * BAR)).ljust(BAR, empty) + "  " if self._terminal else ""
        left = timedelta(seconds=round(seconds * (1 - share) / share))
        return f"{bar}{share:4.0%}  {text}, {left} left"


def share_of(file: IO[bytes]) -> Callable[[int], float] | None:
    """How much of a file was read, compressed or not; None for a pipe, which has no end that is known."""
    raw = getattr(file, "fileobj", file)
    try:
        status = os.fstat(raw.fileno())
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode) or not status.st_size:
        return None
    return lambda _: raw.tell() / status.st_size
