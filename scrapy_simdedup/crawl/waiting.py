"""Waiting and background work that behave the same on asyncio, on any Twisted reactor, and without a reactor."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from collections.abc import Coroutine, Hashable

    from twisted.python.failure import Failure

logger = logging.getLogger(__name__)


async def sleep(seconds: float) -> None:
    """Let other work go on for ``seconds``."""
    await Waiters().wait("nothing", seconds)


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
        self._running: set[Deferred[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run it in the background; a failure is logged."""
        task: Deferred[Any] = deferred_from_coro(work)
        self._running.add(task)

        def done(result: Any) -> None:
            self._running.discard(task)
            if isinstance(result, Exception) or hasattr(result, "getTraceback"):
                self._log(result)

        task.addBoth(done)

    async def drain(self) -> None:
        """Wait until all that was started has ended."""
        while self._running:
            turn: Deferred[None] = Deferred()
            task = next(iter(self._running))
            task.addBoth(lambda _, turn=turn: turn.callback(None))
            await maybe_deferred_to_future(turn)

    @staticmethod
    def _log(failure: Failure) -> None:
        logger.error(
            "Background work failed: %s",
            failure.value,
            exc_info=(failure.type, failure.value, failure.getTracebackObject()),
        )
