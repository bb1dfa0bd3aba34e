"""Waiting and background work that behave the same on asyncio, on any Twisted reactor, and without a reactor."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from collections.abc import Coroutine, Hashable

T = TypeVar("T")

logger = logging.getLogger(__name__)


async def sleep(seconds: float) -> None:
    """Let other work go on for ``seconds``."""
    await Waiters().wait("nothing", seconds)


async def in_time(turn: Deferred[T], seconds: float) -> T:
    """What a Deferred that nobody else waits for gives.

    Raises:
        TimeoutError: it gave nothing within ``seconds``.
    """
    clock = call_later(seconds, _time_out, turn)
    try:
        return await maybe_deferred_to_future(turn)
    finally:
        clock.cancel()


def _time_out(turn: Deferred[Any]) -> None:
    if not turn.called:
        turn.errback(TimeoutError())


class Waiters:
    """Who waits for what. One Deferred per waiter: a Deferred turned into a future gives its result only once."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, list[Deferred[bool]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    async def wait(self, what: Hashable, seconds: float) -> bool:
        """Wait until :meth:`wake` is called with the same ``what``; False if ``seconds`` passed first."""
        turn: Deferred[bool] = Deferred()
        queue = self._waiting.setdefault(what, [])
        queue.append(turn)
        clock = call_later(seconds, self._give_up, what, turn)
        try:
            return await maybe_deferred_to_future(turn)
        finally:
            self._forget(what, turn)
            clock.cancel()

    def wake(self, what: Hashable) -> None:
        """Let all that wait for ``what`` go on."""
        for turn in self._waiting.pop(what, []):
            if not turn.called:
                turn.callback(True)

    def wake_all(self) -> None:
        """Let everybody go on."""
        for what in list(self._waiting):
            self.wake(what)

    def _give_up(self, what: Hashable, turn: Deferred[bool]) -> None:
        self._forget(what, turn)
        if not turn.called:
            turn.callback(False)

    def _forget(self, what: Hashable, turn: Deferred[bool]) -> None:
        queue = self._waiting.get(what)
        if queue and turn in queue:
            queue.remove(turn)
            if not queue:
                del self._waiting[what]


class Tasks:
    """Coroutines that signal handlers start and nobody awaits, so that closing can wait for them."""

    def __init__(self) -> None:
        self._running = 0
        self._idle = Waiters()

    @property
    def busy(self) -> bool:
        """Whether any of them runs."""
        return self._running > 0

    def start(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run it in the background; a failure is logged."""
        self._running += 1
        deferred_from_coro(self._run(work))

    async def drain(self) -> None:
        """Wait until all that was started has ended."""
        while self._running:
            await self._idle.wait("idle", 60)

    async def _run(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            await work
        except Exception:
            logger.exception("Background work failed")
        finally:
            self._running -= 1
            if not self._running:
                self._idle.wake("idle")
