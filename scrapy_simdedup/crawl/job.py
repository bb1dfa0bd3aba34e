"""A page on its way through a worker."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from scrapy_simdedup.crawl.worker import Worker


class NoWorker(Exception):
    """There is no worker, and none to wait for."""


class Job:
    """What a worker is asked, and who waits for the answer.

    Made, answered and given up in the thread of the event loop; a worker's thread begins with it.
    """

    def __init__(self, request: bytes) -> None:
        self.request = request
        self.answer: Deferred[bytes | None] = Deferred()
        """None if the process ended instead."""
        self.since = math.inf
        """When a worker began with it, on the monotonic clock."""
        self._worker: Worker | None = None

    @property
    def is_over(self) -> bool:
        """Whether nobody waits any more."""
        return self.answer.called

    def begin(self, worker: Worker) -> bool:
        """A worker takes it; whether it is still wanted."""
        self._worker, self.since = worker, time.monotonic()
        if self.is_over:
            self._worker = None
        return not self.is_over

    def take(self, answer: bytes | None) -> None:
        """The worker is done with it."""
        self._worker = None
        if not self.is_over:
            self.answer.callback(answer)

    def give_up(self, why: Exception) -> None:
        """Let who waits go on without an answer."""
        if not self.is_over:
            self.answer.errback(why)

    def stop(self) -> None:
        """Nobody wants to know any more: end the process that is at it, if there is one."""
        if self._worker is not None:
            self._worker.kill()
