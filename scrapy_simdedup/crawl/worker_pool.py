"""The pool of worker processes that fingerprint a crawl's pages, and make their Markdown."""

from __future__ import annotations

import asyncio
import logging
import pickle
from collections import deque
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import is_asyncio_available

from scrapy_simdedup.crawl.worker_process import END_SECONDS, Job, NoAnswer, Worker
from scrapy_simdedup.detect.detector import LocalFingerprinter
from scrapy_simdedup.detect.page_settings import PageSettings
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.make import body_digest, fingerprint_parsed
from scrapy_simdedup.fingerprint.worker import read_answer, read_fingerprint
from scrapy_simdedup.page.page import Page
from scrapy_simdedup.page.roles import role_words
from scrapy_simdedup.settings import DedupSettings

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

MAX_START_FAILURES = 3
"""How many workers in a row may fail to start before no more are started."""


class NoWorker(Exception):
    """There is no worker process, and none will be started."""


class WorkerPool:
    """Makes fingerprints and Markdown in worker processes, each with one page at a time, in the order of the calls.

    A worker that dies or takes too long costs its page the result, and is replaced. Where no worker can be started, or
    the crawl does not run on asyncio, pages are fingerprinted in the crawl's process.

    Args:
        count: how many processes; they are started for the first page. 0 starts none.
        deadline: seconds that a page may take in a worker.
        on_extracted: called with the seconds that each page took.
    """

    def __init__(self, count: int, deadline: float, on_extracted: Callable[[float], None]) -> None:
        self._count, self._deadline, self._on_extracted = count, deadline, on_extracted
        self._settings, self._secret = PageSettings(DedupSettings()), b""
        self._local = LocalFingerprinter(on_extracted)
        self._workers: set[Worker] = set()
        self._free: deque[Worker] = deque()
        self._queue: deque[Job] = deque()
        self._failures = 0
        self._is_closed = False

    def open(self, settings: PageSettings, secret: bytes) -> None:
        """Take the settings and the secret; see :class:`~scrapy_simdedup.detect.detector.Fingerprinter`."""
        self._settings, self._secret = settings, secret
        self._local.open(settings, secret)

    async def fingerprint(
        self, html: str, url: str, *, body: bytes | None = None, identity: str | None = None
    ) -> PageFingerprint:
        """The page's fingerprint, unjudged as ``worker_died`` or ``worker_timeout`` where there is none."""
        settings, secret = self._settings.of(url), self._secret
        body = body or body_digest(html, secret)
        self._start_missing()
        if not self._workers or len(html) > settings.max_page_bytes:
            return await self._local.fingerprint(html, url, body=body, identity=identity)
        try:
            answer = await self._ask("fingerprint", html, body, identity, settings, secret)
        except NoWorker:
            return await self._local.fingerprint(html, url, body=body, identity=identity)
        except NoAnswer as exc:
            logger.warning(
                "%s is kept unjudged (%s): a new worker process takes over from the next page on", url, exc.reason
            )
            return fingerprint_parsed(Page((), "", "", exc.reason), body, settings, secret)
        seconds, made = read_answer(answer)
        self._on_extracted(seconds)
        return read_fingerprint(made)

    async def markdown(self, html: str, url: str, settings: DedupSettings) -> str | None:
        """The page's Markdown; None where a worker died of the page, or took too long for it.

        Args:
            html: the decoded page.
            url: the page's URL.
            settings: ``role_words`` matters.
        """
        self._start_missing()
        try:
            if self._workers:
                _, made = read_answer(await self._ask("markdown", html, url, settings))
                return made.decode("utf-8", "surrogatepass")
        except NoWorker:
            pass
        except NoAnswer as exc:
            logger.warning("No Markdown could be made of %s (%s)", url, exc.reason)
            return None
        from scrapy_simdedup.page.markdown import page_markdown  # noqa: PLC0415 - brings Readability; few want it

        return page_markdown(html, url=url, words=role_words(settings.role_words))

    async def close(self) -> None:
        """End all workers and wait until they have ended."""
        self._is_closed = True
        for worker in self._workers:
            worker.end()
        if self._workers:
            await asyncio.wait([worker.life for worker in self._workers], timeout=2 * END_SECONDS)

    async def _ask(self, wanted: str, *arguments: object) -> bytes:
        job = Job(pickle.dumps((wanted, *arguments), pickle.HIGHEST_PROTOCOL))
        self._queue.append(job)
        self._dispatch()
        try:
            return await job.answer
        except asyncio.CancelledError:  # the answer is not wanted any more
            for worker in self._workers:
                if worker.job is job:
                    worker.kill()
            raise

    def _dispatch(self) -> None:
        while self._queue and self._free:
            if not self._free[0].is_alive:
                self._free.popleft()
            elif not (job := self._queue.popleft()).answer.done():
                self._free.popleft().begin(job)

    def _start_missing(self) -> None:
        if self._count and not self._workers and not is_asyncio_available():
            logger.warning(
                "SIMDEDUP_WORKERS = %d has no effect: worker processes need asyncio, and this crawl runs on another "
                "reactor, so pages are fingerprinted in its own process; take TWISTED_REACTOR out of the settings, or "
                "write SIMDEDUP_WORKERS = 0",
                self._count,
            )
            self._count = 0
        while len(self._workers) < self._count and self._failures < MAX_START_FAILURES and not self._is_closed:
            self._workers.add(Worker(self._deadline, on_free=self._became_free, on_end=self._ended))

    def _became_free(self, worker: Worker) -> None:
        self._failures = 0
        self._free.append(worker)
        self._dispatch()

    def _ended(self, worker: Worker) -> None:
        self._workers.discard(worker)
        if not worker.is_ready:
            self._failures += 1
            if self._failures == MAX_START_FAILURES:
                logger.error("Worker processes do not start, so pages are fingerprinted in the crawl's own process")
        self._start_missing()
        while self._queue and not self._workers:
            self._queue.popleft().give_up(NoWorker())
