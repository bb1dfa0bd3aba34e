"""A circuit breaker for databases over a network: calls are bounded in time and number, and pause once one fails.

Time counts as long as the loop runs. A callback that blocks the process for six seconds is no database that takes them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from scrapy_simdedup.display import redact_password
from scrapy_simdedup.errors import StoreBusy, StoreError
from scrapy_simdedup.store.base import FingerprintStore

Result = TypeVar("Result")
CALL_SECONDS = 5.0
SLICE_SECONDS = 0.25
"""Seconds that count at most while the loop did not run, however long that was."""
SLOW_SECONDS = 1.0
"""How long short calls may take on average where somebody is in a hurry."""
SLOW_REST_SECONDS = 60.0
"""How long a database that takes longer is left alone then."""
PACE_WEIGHT = 0.2
"""The weight of the last call in that average."""
REST_SECONDS = 1.0
"""How long a database that did not answer is left alone, so that a crawl does not wait for it page by page."""
CONNECT_SECONDS = 2.0
"""Of :data:`CALL_SECONDS`, how long a call may wait for a connection."""
CALLS = 4
"""Calls, and connections, at a time; more of them only queue in the database."""
ASYNCIO = "use the asyncio reactor: TWISTED_REACTOR = 'twisted.internet.asyncioreactor.AsyncioSelectorReactor'"


class CircuitBreaker:
    """Runs the calls to one database; once it does not answer, it is left alone for a moment.

    ``failures`` are the driver's exceptions, ``lost`` those of them, and others, that mean that the database cannot be
    reached. ``remedies`` say what to do, by a part of the driver's message in lower case.
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
        self._rest_until, self._reason = 0.0, ""
        self.in_a_hurry: bool = False
        """Whether a database that is slow is left alone, too: a crawl waits for it page by page."""
        self._pace = 0.0
        """Seconds that short calls take, on average."""

    def check_loop(self) -> None:
        """Raise :class:`StoreError` where asyncio does not run, as on a plain Twisted reactor."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            raise StoreError(self.name, "needs asyncio, which does not run here", ASYNCIO) from None

    async def run(self, call: Callable[[], Coroutine[Any, Any, Result]], *, is_short: bool = False) -> Result:
        """What the call gives; a StoreError if the database cannot do it, a StoreBusy if it takes too long, or did.

        Where a call ``is_short``, little is sent and little comes back, so that it should not take long.
        """
        async with self._places:
            if time.monotonic() < self._rest_until:
                raise StoreBusy(self.name, self._reason)
            task = asyncio.ensure_future(call())
            self._calls.add(task)
            task.add_done_callback(self._ended)
            try:
                seconds = await _seconds_of(task, CALL_SECONDS)
            finally:
                if not task.done():
                    task.cancel()
            if not task.done():
                self._rest(REST_SECONDS, "did not answer a moment ago")
                raise StoreBusy(self.name, f"did not answer within {CALL_SECONDS:g} seconds")
            if is_short and self.in_a_hurry:
                self._count(seconds)
            try:
                return task.result()
            except self._failures as exc:
                if isinstance(exc, self._lost):
                    self._rest(REST_SECONDS, "did not answer a moment ago")
                message = " ".join(f"{type(exc).__name__}: {exc}".split()).rstrip(".")
                found = (remedy for part, remedy in self._remedies.items() if part in message.lower())
                raise StoreError(self.name, message, next(found, "")) from exc

    def take_time(self) -> None:
        """Make calls again, however long they take on average."""
        self.in_a_hurry, self._rest_until = False, 0.0

    async def finish(self) -> None:
        """Wait until the calls that were given up have ended, too."""
        if self._calls:
            await asyncio.wait(self._calls, timeout=CALL_SECONDS)
        self._rest_until = 0.0

    def _count(self, seconds: float) -> None:
        self._pace += PACE_WEIGHT * (seconds - self._pace)
        if self._pace > SLOW_SECONDS:
            minute = f"it is left alone for {SLOW_REST_SECONDS:g} seconds"
            self._rest(SLOW_REST_SECONDS, f"takes {seconds:.1f} seconds to answer, so {minute}")
            self._pace = 0.0

    def _rest(self, seconds: float, reason: str) -> None:
        self._rest_until, self._reason = time.monotonic() + seconds, reason

    def _ended(self, task: asyncio.Future[Any]) -> None:
        self._calls.discard(task)
        if not task.cancelled():
            task.exception()  # nobody may be left to ask for it, and asyncio would complain


class RemoteStore(FingerprintStore):
    """A store over a network, whose calls go through a :class:`CircuitBreaker`."""

    _breaker: CircuitBreaker

    def hurry(self) -> None:
        self._breaker.in_a_hurry = True

    def take_time(self) -> None:
        self._breaker.take_time()

    def _check_version(self, what: str, found: str, ours: str) -> None:
        if found != ours:
            problem = f"has {what} of version {found}; this scrapy-simdedup works with version {ours}"
            remedy = "name another database, or use the scrapy-simdedup that made this one"
            raise StoreError(self._breaker.name, problem, remedy)


async def _seconds_of(task: asyncio.Future[Any], limit: float) -> float:
    """Wait for a call, ``limit`` seconds at most in which the loop ran; how long it took of these."""
    seconds = 0.0
    while seconds < limit and not task.done():
        start, part = time.monotonic(), min(SLICE_SECONDS, limit - seconds)
        # Not wait_for, which would wait until the call has taken note that it is cancelled.
        await asyncio.wait({task}, timeout=part)
        seconds += min(time.monotonic() - start, part)
    return seconds
