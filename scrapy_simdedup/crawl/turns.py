"""Lines in which those who come first go first, however long they take to get there."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from collections.abc import Hashable


class Turns:
    """One line per name; lines do not wait for each other."""

    def __init__(self) -> None:
        self._lines: dict[Hashable, deque[Turn]] = {}

    def take(self, name: Hashable) -> Turn:
        """The next turn in a line. It must be ended."""
        line = self._lines.setdefault(name, deque())
        turn = Turn(self, name)
        line.append(turn)
        return turn

    def is_first(self, turn: Turn) -> bool:
        """Whether a turn has come."""
        return self._lines[turn.name][0] is turn

    def drop(self, turn: Turn) -> None:
        """Take a turn out of its line, and call the first one behind it."""
        line = self._lines.get(turn.name)
        if line is None or turn not in line:
            return
        line.remove(turn)
        if line:
            line[0].call()
        else:
            del self._lines[turn.name]


class Turn:
    """A place in a line."""

    def __init__(self, turns: Turns, name: Hashable) -> None:
        self.name = name
        self._turns = turns
        self._called: Deferred[None] | None = None

    async def come(self) -> None:
        """Wait until all who came before have ended their turns."""
        if not self._turns.is_first(self):
            self._called = Deferred()
            await maybe_deferred_to_future(self._called)

    def call(self) -> None:
        """Let the one who waits go on."""
        if self._called is not None and not self._called.called:
            self._called.callback(None)

    def end(self) -> None:
        """Let the next one come; again, it does nothing."""
        self._turns.drop(self)
