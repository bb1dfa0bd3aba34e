"""Skipped requests that have to be made after all, and the crawl that is held open for them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.request import request_from_dict

from scrapy_simdedup.crawl.waiting import Tasks, sleep
from scrapy_simdedup.detect.url_notes import key_of_note
from scrapy_simdedup.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_simdedup.crawl.url_journal import UrlJournal
    from scrapy_simdedup.crawl.url_tally import UrlTally
    from scrapy_simdedup.detect.url_notes import SkippedUrl
    from scrapy_simdedup.urls import UrlLearner

logger = logging.getLogger(__name__)

META_AGAIN = "simdedup_again"
"""Marks a request that goes through the scheduler once more: ``put off`` or ``given back``."""
IDLE_ROUNDS = 12
"""How often a crawl that is done asks a failing store for what it owes; Scrapy lets it, every 5 seconds."""


class Readmission:
    """Takes URLs that the learner gives back, and has the scheduler take their requests once more.

    Args:
        crawler: the crawl.
        tally: counts them.
        tasks: work that may give something back, so that the crawl is not done before it is.
        deliveries: more such work: that of settling pages.
        run: the crawl's run.
        on_store_error: called with each failure of the store.
    """

    def __init__(
        self,
        crawler: Crawler,
        tally: UrlTally,
        *,
        tasks: Tasks,
        deliveries: Tasks,
        run: str,
        on_store_error: Callable[[StoreError], None],
    ) -> None:
        self._crawler, self._tally, self._tasks, self._deliveries, self._run = crawler, tally, tasks, deliveries, run
        self._on_store_error = on_store_error
        self._learner: UrlLearner | None = None
        self._journal: UrlJournal | None = None
        self._noting: dict[str, bool] = {}
        """URLs whose skips are being noted, and whether they were given back meanwhile."""
        self._owed: dict[str, None] = {}
        """URLs that were given back, and whose requests have yet to be made."""
        self._coming: set[bytes] = set()
        """Keys of URLs whose requests were given back and are in the scheduler."""
        self._is_paying = False
        self._has_looked = False
        """Whether all notes were read since something was skipped for the last time."""
        self._idle_rounds = 0
        """How often in a row the crawl was idle and the store failed."""
        self._wakes = Tasks()

    def open(self, learner: UrlLearner, journal: UrlJournal) -> None:
        """From now on requests may be skipped."""
        self._learner, self._journal = learner, journal
        self._crawler.signals.connect(self._idle, signals.spider_idle)

    async def close(self) -> None:
        """Wait until all that is going on has ended."""
        await self._tasks.drain()
        await self._wakes.drain()

    # ------------------------------------------------------------------ skips that are being noted

    def is_noting(self, url: str) -> bool:
        """Whether the skip of this URL is being noted."""
        return url in self._noting

    def begin_note(self, url: str) -> None:
        """The skip of this URL is noted from now on; until it is, the note of a URL that is given back is not found."""
        self._noting[url] = self._has_looked = False

    def end_note(self, url: str) -> bool:
        """Whether the URL was given back meanwhile, so that its request has to be made."""
        return self._noting.pop(url)

    # ------------------------------------------------------------------ given back

    def add(self, urls: Sequence[str]) -> None:
        """Make the requests of these URLs, as soon as that is possible."""
        for url in urls:
            if url in self._noting:
                self._noting[url] = True
            elif key_of_note(url) not in self._coming:
                self._owed[url] = None
        if self._owed and not self._is_paying:
            self._is_paying = True
            self._tasks.start(self._pay())

    def arrived(self, url: str) -> None:
        """A request that was marked came out of the scheduler."""
        self._coming.discard(key_of_note(url))

    async def _pay(self) -> None:
        """What the store cannot tell now is asked again when the crawl is idle."""
        try:
            while self._owed:
                url = next(iter(self._owed))
                note = await self._taken_back(url)
                self._owed.pop(url, None)
                self._idle_rounds = 0
                if note is not None:
                    self._send(note)
            self._look_again_soon()
        except StoreError as exc:
            self._on_store_error(exc)
        finally:
            self._is_paying = False

    async def _taken_back(self, url: str) -> SkippedUrl | None:
        try:
            return await self._journal.take_back(url) if self._journal is not None else None
        except StoreError:
            raise
        except Exception:  # others are waiting behind it
            logger.exception("%s has to be fetched after all, and nobody can tell how", url)
            return None

    def _send(self, note: SkippedUrl) -> None:
        try:
            request = request_from_dict(dict(note.request), spider=self._crawler.spider)
            request.meta[META_AGAIN] = "given back"
            request.dont_filter = True  # the dupefilter knows it already
            self._schedule(request)
        except Exception:  # the crawl is closing, or the spider has lost a callback; the note stays
            logger.exception("%s has to be fetched after all, and could not be scheduled", note.url)
        else:
            self._coming.add(key_of_note(note.url))
            self._tally.count("readmitted")

    def _schedule(self, request: Request) -> None:
        if self._crawler.engine is None:
            raise RuntimeError("there is no engine")
        self._crawler.engine.crawl(request)

    # ------------------------------------------------------------------ when nothing else is left to do

    def _idle(self) -> None:
        """Scrapy asks whether the crawl is done.

        Raises:
            DontCloseSpider: it is not.
        """
        if self._deliveries.busy or self._tasks.busy:  # what is being noted may give something back
            self._look_again_soon()
            raise DontCloseSpider
        self.add([*self._owed, *(self._learner.remaining() if self._learner is not None else ())])
        if not self._owed and self._has_looked:
            return
        self._idle_rounds += 1
        if self._idle_rounds > IDLE_ROUNDS:
            logger.error(
                "%d skipped URLs have to be fetched after all, or more, but the store does not tell: go on with run %s",
                len(self._owed),
                self._run,
            )
            return
        if not self._owed:
            self._has_looked = True
            self._tasks.start(self._look_around())
        raise DontCloseSpider

    async def _look_around(self) -> None:
        """See what other workers of the run have found out, and what could not be read when it was noted."""
        try:
            if self._journal is not None:
                await self._journal.catch_up()
            self._idle_rounds = 0
            self._look_again_soon()
        except StoreError as exc:
            self._has_looked = False
            self._on_store_error(exc)

    def _look_again_soon(self) -> None:
        """Have the engine look again whether it is idle, which by itself it does every 5 seconds."""
        if not self._wakes.busy:
            self._wakes.start(self._wake())

    async def _wake(self) -> None:
        await self._deliveries.drain()
        await self._tasks.drain()
        await sleep(0)
        slot = getattr(self._crawler.engine, "_slot", None)
        if slot is not None:
            slot.nextcall.schedule()
