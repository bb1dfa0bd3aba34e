"""Requests that are made once more: those of URLs that are readmitted, and those that check a rule about URLs."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from scrapy import Request, signals
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.datatypes import LocalCache
from scrapy.utils.request import request_from_dict

from scrapy_simdedup.crawl import Crawl
from scrapy_simdedup.crawl.concurrency import BackgroundTasks, sleep, wake_engine
from scrapy_simdedup.crawl.link_memory import link_pattern
from scrapy_simdedup.crawl.requests import serialize_request
from scrapy_simdedup.crawl.url_journal import META_CHECK, UrlJournal
from scrapy_simdedup.detect.events import SkippedUrl, event_key
from scrapy_simdedup.detect.names import site_of
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.urls import Question, UrlLearner

logger = logging.getLogger(__name__)
META_RESCHEDULED = "simdedup_again"
"""Marks a request that goes through the scheduler once more: ``deprioritized``, ``readmitted`` or ``sampled``."""
MAX_IDLE_RETRIES = 18
"""How often an idle crawl asks a failing store for pending URLs; Scrapy lets it ask every 5 seconds. That takes longer
than a slow store is left alone."""
MAX_REMEMBERED = 5000
"""Requests that are remembered, in order to make them once more; some kilobytes each."""


class Readmission:
    """Takes URLs that the learner readmits, and has their requests scheduled once more.

    A readmitted URL is *pending* until its request is read from the store and rescheduled. The crawl stays open until
    no URL is pending, and all notes of the run were read. Nor is the crawl done before the tasks that may readmit URLs,
    or settle pages.
    """

    _learner: UrlLearner
    _journal: UrlJournal

    def __init__(
        self, crawl: Crawl, checks: UrlChecks, *, tasks: BackgroundTasks, settling_tasks: BackgroundTasks
    ) -> None:
        self._crawler, self._stats, self._on_store_error = crawl.crawler, crawl.stats, crawl.store_failed
        self._checks = checks
        self._sample: set[str] = set()
        """URLs that are readmitted as a sample of the skipped ones."""
        self._tasks, self._settling_tasks, self._wake_tasks = tasks, settling_tasks, BackgroundTasks()
        self._unwritten_skips: dict[str, bool] = {}
        """URLs whose skips are being noted, and whether they were readmitted meanwhile."""
        self._pending: dict[str, None] = {}
        """Readmitted URLs whose requests have yet to be rescheduled."""
        self._lost: dict[str, bool] = {}
        """Readmitted URLs whose requests nobody knows, and whether the crawl was idle since."""
        self._in_scheduler: set[bytes] = set()
        """Keys of readmitted URLs whose requests are in the scheduler."""
        self._is_rescheduling = False
        self._is_caught_up = False
        """Whether all notes were read since a request was last skipped."""
        self._idle_rounds = 0
        """How often in a row the crawl was idle and the store failed."""

    def open(self, learner: UrlLearner, journal: UrlJournal) -> None:
        """Hold the crawl open for readmitted URLs from now on."""
        self._learner, self._journal = learner, journal
        self._crawler.signals.connect(self._idle, signals.spider_idle)

    async def close(self) -> None:
        """Wait until all background work has ended."""
        await self._tasks.drain()
        await self._wake_tasks.drain()

    def begin_skip_write(self, url: str) -> bool:
        """Expect a note of the skip of this URL, which a readmission cannot find before; False if one is on its way."""
        if url in self._unwritten_skips:
            return False
        self._unwritten_skips[url] = self._is_caught_up = False
        return True

    def end_skip_write(self, url: str) -> bool:
        """Whether the URL was readmitted while its skip was noted, so that its request has to be made."""
        return self._unwritten_skips.pop(url)

    def readmit(self, urls: Sequence[str]) -> None:
        """Make the requests of these URLs, as soon as that is possible."""
        for url in urls:
            if url in self._unwritten_skips:
                self._unwritten_skips[url] = True
            elif event_key(url) not in self._in_scheduler:
                self._pending[url] = None
        if self._pending and not self._is_rescheduling:
            self._is_rescheduling = True
            self._tasks.start(self._reschedule_pending())

    def left_scheduler(self, url: str) -> None:
        """Note that a request with :data:`META_RESCHEDULED` came out of the scheduler."""
        self._in_scheduler.discard(event_key(url))

    async def _reschedule_pending(self) -> None:
        """Reschedule all pending URLs; where the store fails, they stay pending until the crawl is idle."""
        try:
            while self._pending:
                url = next(iter(self._pending))
                try:
                    note = await self._journal.skipped_request(url)
                except StoreError:
                    raise
                except LookupError:  # the server was short of memory, and dropped the note
                    note = self._checks.lost_request(url, self._journal.worker)
                    if note is None and self._lost.setdefault(url, False):
                        message = "%s is readmitted, and its request is gone from the store, as is any like it"
                        logger.error(message, url)  # noqa: TRY400 - the sentence says it all
                except Exception:  # other URLs are waiting behind this one
                    logger.exception("%s is readmitted, and its request cannot be read", url)
                    note = None
                self._pending.pop(url, None)
                self._idle_rounds = 0
                if note is not None:
                    self._reschedule(note)
            self._wake_engine_soon()
        except StoreError as exc:
            self._on_store_error(exc)
        finally:
            self._is_rescheduling = False

    def _reschedule(self, note: SkippedUrl) -> None:
        try:
            request = request_from_dict(dict(note.request), spider=self._crawler.spider)
            is_sample = note.url in self._sample
            request.meta[META_RESCHEDULED] = "sampled" if is_sample else "readmitted"
            request.dont_filter = True  # the dupefilter knows it already
            self._crawler.engine.crawl(request)
        except Exception:  # the crawl is closing, or the spider has lost a callback; the note stays
            logger.exception("%s is readmitted, and could not be scheduled", note.url)
        else:
            self._in_scheduler.add(event_key(note.url))
            self._stats.increment("urls/readmitted")
            if is_sample:
                self._stats.increment("urls/sampled")
                self._sample.discard(note.url)

    def _idle(self) -> None:
        """Raise DontCloseSpider while there is work that may readmit URLs, or URLs are pending."""
        if self._settling_tasks.busy or self._tasks.busy:
            self._wake_engine_soon()
            raise DontCloseSpider
        if self._checks.ask():
            raise DontCloseSpider
        lost = [url for url, was_idle in self._lost.items() if not was_idle]
        self._lost.update(dict.fromkeys(lost, True))
        self.readmit([*self._pending, *lost, *self._learner.remaining()])
        if not self._pending and self._is_caught_up:
            sample = self._learner.sample()
            if not sample:
                return
            self._sample.update(sample)
            self.readmit(sample)
        self._idle_rounds += 1
        if self._idle_rounds > MAX_IDLE_RETRIES:
            logger.error(
                "The store fails to say which skipped URLs are to be fetched after all (%d or more): go on with run %s",
                len(self._pending),
                self._journal.run,
            )
            return
        if not self._pending:
            self._is_caught_up = True
            self._tasks.start(self._catch_up())
        raise DontCloseSpider

    async def _catch_up(self) -> None:
        """Read the notes of other workers, and those that could not be read when they were written."""
        try:
            await self._journal.catch_up()
            self._idle_rounds = 0
            self._wake_engine_soon()
        except StoreError as exc:
            self._is_caught_up = False
            self._on_store_error(exc)

    def _wake_engine_soon(self) -> None:
        """Have the engine check again whether it is idle, once all work has ended that may readmit URLs."""
        if not self._wake_tasks.busy:
            self._wake_tasks.start(self._wake_engine())

    async def _wake_engine(self) -> None:
        await self._settling_tasks.drain()
        await self._tasks.drain()
        await sleep(0)
        wake_engine(self._crawler)


class UrlChecks:
    """Asks what the learner wants to know, by the requests that were made for these URLs before.

    Such a request goes through the scheduler, the downloader's delay and robots.txt as any other. Its page reaches the
    callback only if its content is new. A question that gets no answer is taken for one against the rule.
    """

    _learner: UrlLearner

    def __init__(self, crawl: Crawl) -> None:
        self._crawler, self._stats = crawl.crawler, crawl.stats
        self._requests: LocalCache[str, dict[str, Any]] = LocalCache(MAX_REMEMBERED)
        """URL → its request as plain values, the latest ones."""

    def open(self, learner: UrlLearner) -> None:
        """Ask what this learner wants to know from now on."""
        self._learner = learner

    def remember(self, request: Request) -> None:
        """Remember a request that is made, in case its page raises a question."""
        try:
            values = serialize_request(request, self._crawler.spider)
        except ValueError:  # it can never be made again
            return
        self._requests.pop(request.url, None)
        self._requests[request.url] = values

    def lost_request(self, url: str, worker: str) -> SkippedUrl | None:
        """The request of a skipped URL whose note is gone: the one made, or one like it for its site, if any."""
        values = self._requests.get(url)
        if values is None:
            site, pattern = site_of(url), link_pattern(url)
            alike = [known for known in reversed(self._requests) if site_of(known) == site]
            if not alike:
                return None
            like = next((known for known in alike if link_pattern(known) == pattern), alike[0])
            values = self._requests[like]
            logger.warning("The request for %s is gone from the store; it is made like that for %s", url, like)
        return SkippedUrl(url, None, "", worker, {**values, "url": url})

    def ask(self) -> int:
        """Schedule the requests for all questions that there are; how many were scheduled."""
        return sum(map(self._ask, self._learner.questions()))

    def _ask(self, question: Question) -> bool:
        values = self._requests.get(question.url) or self._requests.get(question.doubted_url)
        if values is None:
            return False
        try:
            request = request_from_dict(dict(values), spider=self._crawler.spider).replace(
                url=question.url,
                errback=None,
                dont_filter=True,  # the dupefilter knows it already
            )
            request.meta.update({META_CHECK: question.known_url or question.url, "dont_redirect": True})
            self._crawler.engine.crawl(request)
        except Exception:  # the crawl is closing, or the spider has lost a callback
            logger.exception("%s could not be scheduled once more", question.url)
            return False
        self._stats.increment("urls/asked")
        return True
