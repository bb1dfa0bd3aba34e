"""The worker processes of a crawl, which fingerprint its pages; none of them, and it is done right here."""

from __future__ import annotations

import logging
import pickle
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_simdedup.crawl.waiting import in_time
from scrapy_simdedup.crawl.worker import END_SECONDS, Worker
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.making import fingerprint, fingerprint_read
from scrapy_simdedup.fingerprint.worker import read_answer
from scrapy_simdedup.page.page import Page

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simdedup.settings import DedupSettings

logger = logging.getLogger(__name__)

MOST_FAILURES = 3
"""Workers that do not get ready, one after the other, before no more are started."""


class Workers:
    """Fingerprints pages, one per worker at a time, in the order in which they come.

    A worker that dies or takes too long costs the page it had its verdict, and is replaced. Where none can be started,
    pages are fingerprinted in the crawl's process.

    Args:
        count: processes; they are started when the first page comes. 0 starts none.
        deadline: seconds that a page may take in a worker.
        on_extracted: told the seconds that each page took.
    """

    def __init__(self, count: int, deadline: float, on_extracted: Callable[[float], None]) -> None:
        self._count, self._deadline, self._on_extracted = count, deadline, on_extracted
        self._all: set[Worker] = set()
        self._free: deque[Worker] = deque()
        self._waiting: deque[Deferred[Worker | None]] = deque()
        self._failures = 0
        self._is_closed = False

    async def fingerprint(
        self, html: str, body: bytes, url: str, settings: DedupSettings, secret: bytes
    ) -> PageFingerprint:
        """The page's fingerprint, unjudged as ``worker_died`` or ``worker_timeout`` where there is none.

        Args:
            html: The decoded page.
            body: Its :func:`~scrapy_simdedup.fingerprint.making.body_digest`.
            url: How the log calls it.
            settings: Those of its site.
            secret: Key under the hashes.
        """
        worker = None if len(html) > settings.max_page_bytes else await self._next_free()
        if worker is None:
            return self._here(html, body, settings, secret)
        try:
            answer = await worker.ask(pickle.dumps((html, body, settings, secret), pickle.HIGHEST_PROTOCOL))
        except TimeoutError:
            return self._without_worker("worker_timeout", body, url, settings, secret)
        if answer is None:
            return self._without_worker("worker_died", body, url, settings, secret)
        self._hand_over(worker)
        seconds, made = read_answer(answer)
        self._on_extracted(seconds)
        return PageFingerprint.from_bytes(made)

    async def close(self) -> None:
        """End all workers and wait for that."""
        self._is_closed = True
        running = list(self._all)
        for worker in running:
            worker.end()
        for worker in running:
            with suppress(TimeoutError):  # then its thread is about to kill it
                await in_time(worker.ended, 2 * END_SECONDS)

    def _here(self, html: str, body: bytes, settings: DedupSettings, secret: bytes) -> PageFingerprint:
        start = time.perf_counter()
        made = fingerprint(html, settings, secret, body=body)
        self._on_extracted(time.perf_counter() - start)
        return made

    @staticmethod
    def _without_worker(why: str, body: bytes, url: str, settings: DedupSettings, secret: bytes) -> PageFingerprint:
        logger.warning("%s is kept unjudged (%s): a new worker process takes over from the next page on", url, why)
        return fingerprint_read(Page((), "", "", why), body, settings, secret)

    # ------------------------------------------------------------------ whose turn it is

    async def _next_free(self) -> Worker | None:
        """A worker for the caller alone; None if there is none, and none to wait for."""
        self._start_missing()
        while self._free:
            worker = self._free.popleft()
            if worker.is_alive:
                return worker
            worker.end()  # its thread has not noticed yet
        if not self._all:
            return None
        turn: Deferred[Worker | None] = Deferred()
        self._waiting.append(turn)
        return await maybe_deferred_to_future(turn)

    def _start_missing(self) -> None:
        while len(self._all) < self._count and self._failures < MOST_FAILURES and not self._is_closed:
            self._all.add(Worker(self._deadline, on_ready=self._became_ready, on_end=self._ended))

    def _became_ready(self, worker: Worker) -> None:
        self._failures = 0
        self._hand_over(worker)

    def _hand_over(self, worker: Worker) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.called:  # one that is cancelled counts as called
                turn.callback(worker)
                return
        self._free.append(worker)

    def _ended(self, worker: Worker) -> None:
        self._all.discard(worker)
        if worker in self._free:
            self._free.remove(worker)
        if not worker.is_ready:
            self._failures += 1
            if self._failures == MOST_FAILURES:
                logger.error("Worker processes do not start, so pages are fingerprinted in the crawl's own process")
        self._start_missing()
        while self._waiting and not self._all:
            turn = self._waiting.popleft()
            if not turn.called:
                turn.callback(None)
