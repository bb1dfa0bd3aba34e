"""The worker processes of a crawl, which fingerprint its pages; none of them, and it is done right here."""

from __future__ import annotations

import logging
import pickle
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future

from scrapy_simdedup.crawl.waiting import in_time
from scrapy_simdedup.crawl.worker import END_SECONDS, Job, Worker
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.making import fingerprint, fingerprint_read
from scrapy_simdedup.fingerprint.worker import read_answer
from scrapy_simdedup.page.page import Page

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.utils.asyncio import CallLaterResult

    from scrapy_simdedup.settings import DedupSettings

logger = logging.getLogger(__name__)

MOST_FAILURES = 3
"""Workers that do not get ready, one after the other, before no more are started."""
LOOKS = 8
"""How often, within the time that a page may take, somebody looks whether one has taken too long."""


class NoWorker(Exception):
    """There is no worker, and none to wait for."""


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
        self._waiting: deque[Job] = deque()
        self._clock: CallLaterResult | None = None
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
        self._start_missing()
        if not self._all or len(html) > settings.max_page_bytes:
            return self._here(html, body, settings, secret)
        try:
            answer = await self._ask(pickle.dumps((html, body, settings, secret), pickle.HIGHEST_PROTOCOL))
        except NoWorker:
            return self._here(html, body, settings, secret)
        except TimeoutError:
            return self._without_worker("worker_timeout", body, url, settings, secret)
        if answer is None:
            return self._without_worker("worker_died", body, url, settings, secret)
        seconds, made = read_answer(answer)
        self._on_extracted(seconds)
        return PageFingerprint.from_bytes(made)

    async def close(self) -> None:
        """End all workers and wait for that."""
        self._is_closed = True
        if self._clock is not None:
            self._clock.cancel()
        running = list(self._all)
        for worker in running:
            worker.end()
        for worker in running:
            with suppress(TimeoutError):  # then it is about to be killed
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

    # ------------------------------------------------------------------ what waits, and for how long

    async def _ask(self, request: bytes) -> bytes | None:
        job = Job(request)
        self._waiting.append(job)
        self._hand_out()
        self._watch()
        try:
            return await maybe_deferred_to_future(job.answer)
        except BaseException:  # also if nobody wants to know any more
            for worker in self._all:
                if worker.job is job:
                    worker.kill()
            raise

    def _hand_out(self) -> None:
        while self._waiting and self._free:
            if not self._free[0].is_alive:
                self._free.popleft()
            elif not (job := self._waiting.popleft()).is_over:
                self._free.popleft().begin(job)

    def _watch(self) -> None:
        if self._clock is None:
            self._clock = call_later(self._deadline / LOOKS, self._look)

    def _look(self) -> None:
        self._clock = None
        jobs = [worker.job for worker in self._all if worker.job is not None]
        latest = time.monotonic() - self._deadline
        for job in jobs:
            if job.since < latest:
                job.give_up(TimeoutError())
        if jobs or self._waiting:
            self._watch()

    # ------------------------------------------------------------------ who works

    def _start_missing(self) -> None:
        while len(self._all) < self._count and self._failures < MOST_FAILURES and not self._is_closed:
            self._all.add(Worker(self._deadline, on_free=self._became_free, on_end=self._ended))

    def _became_free(self, worker: Worker) -> None:
        self._failures = 0
        self._free.append(worker)
        self._hand_out()

    def _ended(self, worker: Worker) -> None:
        self._all.discard(worker)
        if not worker.is_ready:
            self._failures += 1
            if self._failures == MOST_FAILURES:
                logger.error("Worker processes do not start, so pages are fingerprinted in the crawl's own process")
        self._start_missing()
        while self._waiting and not self._all:
            self._waiting.popleft().give_up(NoWorker())
