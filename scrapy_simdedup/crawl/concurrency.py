"""Waiting and background work that behave the same on asyncio, on any Twisted reactor, and without a reactor."""

from __future__ import annotations

import logging
from collections.abc import Coroutine, Hashable
from typing import Any

from scrapy.crawler import Crawler
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_simdedup.store.base import run_at_once

logger = logging.getLogger(__name__)


async def sleep(seconds: float) -> None:
    """Let other work go on for ``seconds``."""
    await KeyedCondition().wait("nothing", seconds)


def wake_engine(crawler: Crawler) -> None:
    """Have the engine look for work now: by itself it does when a request ends, and every five seconds."""
    nextcall = getattr(getattr(crawler.engine, "_slot", None), "nextcall", None)
    if nextcall is not None:
        nextcall.schedule()


class KeyedCondition:
    """A condition per key: coroutines wait for a key until somebody notifies it, or a time has passed.

    Each waiter has a Deferred of its own: one that was turned into a future gives its result only once.
    """

    def __init__(self) -> None:
        self._waiters: dict[Hashable, list[Deferred[bool]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._waiters.values()))

    async def wait(self, key: Hashable, seconds: float) -> bool:
        """Wait until :meth:`notify` is called with the same ``key``; False if ``seconds`` passed first."""
        waiter: Deferred[bool] = Deferred()
        self._waiters.setdefault(key, []).append(waiter)
        timer = call_later(seconds, _fire, waiter, False)
        try:
            return await maybe_deferred_to_future(waiter)
        finally:
            timer.cancel()
            waiters = self._waiters.get(key, [])
            if waiter in waiters:
                waiters.remove(waiter)
                if not waiters:
                    del self._waiters[key]

    def notify(self, key: Hashable) -> None:
        """Let all waiters of ``key`` go on."""
        for waiter in self._waiters.pop(key, []):
            _fire(waiter, True)

    def notify_all(self) -> None:
        """Let the waiters of all keys go on."""
        for key in list(self._waiters):
            self.notify(key)


def _fire(waiter: Deferred[bool], result: bool) -> None:
    if not waiter.called:
        waiter.callback(result)


class BackgroundTasks:
    """Coroutines of signal handlers, which nobody awaits but the close of the spider."""

    def __init__(self) -> None:
        self._running = 0
        self._idle = KeyedCondition()

    @property
    def busy(self) -> bool:
        """Whether any coroutine runs."""
        return self._running > 0

    def start(self, work: Coroutine[Any, Any, Any], *, waits: bool = True) -> None:
        """Run a coroutine in the background, and log its failure.

        One that ``waits`` for nothing has ended when this returns: a task for it would take longer than itself.
        """
        self._running += 1
        run = deferred_from_coro if waits else run_at_once
        run(self._run(work))

    async def drain(self) -> None:
        """Wait until all coroutines that were started have ended."""
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
                self._idle.notify("idle")
