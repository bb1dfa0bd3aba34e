"""A circuit breaker for databases over a network: calls are bounded in time and number, and pause once one fails."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy_simdedup.errors import StoreBusy, StoreError
from scrapy_simdedup.setting_checks import redact_password

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

Result = TypeVar("Result")

CALL_SECONDS = 5.0
"""How long a call may take."""
REST_SECONDS = 1.0
"""How long a database that did not answer is left alone, so that a crawl does not wait for it page by page."""
CONNECT_SECONDS = 2.0
"""How long a call may take of that to get a connection."""
CALLS = 4
"""Calls, and connections, at a time; more of them only queue in the database."""

ASYNCIO = "use the asyncio reactor: TWISTED_REACTOR = 'twisted.internet.asyncioreactor.AsyncioSelectorReactor'"


class CircuitBreaker:
    """Runs the calls to one database; once it does not answer, it is left alone for a moment.

    Args:
        url: the store's; errors show it without its password.
        failures: the driver's exceptions.
        lost: those of them, and others, that mean that the database cannot be reached.
        remedies: what to do, by a part of the driver's message in lower case.
    """

    def __init__(
        self,
        url: str,
        failures: tuple[type[Exception], ...],
        lost: tuple[type[Exception], ...],
        remedies: Mapping[str, str],
    ) -> None:
        self.name: str = redact_password(url)
        self._failures, self._lost, self._remedies = (*failures, *lost), lost, remedies
        self._places = asyncio.Semaphore(CALLS)
        self._calls: set[asyncio.Future[Any]] = set()
        self._rest_until = 0.0

    def check_loop(self) -> None:
        """Raise :class:`StoreError` where asyncio does not run, as on a plain Twisted reactor."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            raise StoreError(self.name, "needs asyncio, which does not run here", ASYNCIO) from None

    async def run(self, call: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """What the call gives.

        Raises:
            StoreBusy: it takes too long, or the database did not answer a moment ago.
            StoreError: the database cannot do it.
        """
        async with self._places:
            if time.monotonic() < self._rest_until:
                raise StoreBusy(self.name, "did not answer a moment ago")
            task = asyncio.ensure_future(call())
            self._calls.add(task)
            task.add_done_callback(self._ended)
            try:
                # Not wait_for, which would wait until the call has taken note that it is cancelled.
                await asyncio.wait({task}, timeout=CALL_SECONDS)
            finally:
                if not task.done():
                    task.cancel()
            if not task.done():
                self._rest_until = time.monotonic() + REST_SECONDS
                raise StoreBusy(self.name, f"did not answer within {CALL_SECONDS:g} seconds")
            try:
                return task.result()
            except self._failures as exc:
                if isinstance(exc, self._lost):
                    self._rest_until = time.monotonic() + REST_SECONDS
                message = " ".join(f"{type(exc).__name__}: {exc}".split()).rstrip(".")
                found = (remedy for part, remedy in self._remedies.items() if part in message.lower())
                raise StoreError(self.name, message, next(found, "")) from exc

    async def finish(self) -> None:
        """Wait until the calls that were given up have ended, too."""
        if self._calls:
            await asyncio.wait(self._calls, timeout=CALL_SECONDS)
        self._rest_until = 0.0

    def _ended(self, task: asyncio.Future[Any]) -> None:
        self._calls.discard(task)
        if not task.cancelled():
            task.exception()  # nobody may be left to ask for it, and asyncio would complain
