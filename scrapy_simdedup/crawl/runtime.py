"""One per crawler: what the middlewares and the pipeline share."""

from __future__ import annotations

import logging
import time
import weakref
from typing import TYPE_CHECKING

import scrapy
from scrapy import signals
from scrapy.exceptions import CloseSpider, NotConfigured

from scrapy_simdedup.crawl.gate import Gate
from scrapy_simdedup.crawl.imported import Imported
from scrapy_simdedup.crawl.judge import Judge
from scrapy_simdedup.crawl.ledger import Ledger
from scrapy_simdedup.crawl.live import Live
from scrapy_simdedup.crawl.markdown_field import MarkdownField
from scrapy_simdedup.crawl.outcomes import Outcomes
from scrapy_simdedup.crawl.redesigns import Redesigns
from scrapy_simdedup.crawl.reporter import Reporter
from scrapy_simdedup.crawl.run import job_store, run_name
from scrapy_simdedup.crawl.settlement import Settlement
from scrapy_simdedup.crawl.stats import Tally
from scrapy_simdedup.crawl.urls import UrlGuide
from scrapy_simdedup.crawl.waiting import Tasks, Waiters, sleep
from scrapy_simdedup.crawl.walls import Walls
from scrapy_simdedup.crawl.workers import Workers
from scrapy_simdedup.detect.detector import NearDuplicateDetector
from scrapy_simdedup.detect.liveness import BEAT_SECONDS
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.page.roles import role_words
from scrapy_simdedup.settings import DedupSettings

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_simdedup.errors import StoreError

logger = logging.getLogger(__name__)

META_DELIVER = "simdedup_deliver"
COMPLAIN_SECONDS = 60.0
"""How often a store that keeps failing is mentioned in the log; the stats count every time."""

# Weak on both sides, as a runtime knows its crawler; the middlewares keep it alive.
_runtimes: weakref.WeakKeyDictionary[Crawler, weakref.ref[Runtime]] = weakref.WeakKeyDictionary()


class Runtime:
    """Detector, ledger and tally of one crawler."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.settings = DedupSettings.from_settings(crawler.settings)
        if not self.settings.enabled:
            raise NotConfigured
        self.parts: set[str] = set()
        """Which of ``downloader``, ``outer``, ``inner`` and ``pipeline`` are enabled."""
        self.walls = Walls(crawler, self.settings)
        jobdir = crawler.settings.get("JOBDIR")
        self.tally = Tally(crawler.stats)
        self.workers = Workers(self.settings.workers, self.settings.worker_timeout, self.tally.extracted)
        self.detector = NearDuplicateDetector(
            self.settings.store or (job_store(jobdir) if jobdir else "memory:"),
            settings=self.settings,
            run=self.settings.run or run_name(crawler.spidercls.name, jobdir),
            sleep=sleep,
            on_store_error=self.store_failed,
            on_wall=self.walls.suspected,
            extract=self.workers.fingerprint,
        )
        self.redesigns = Redesigns(crawler, self.detector.history)
        self._complained = -COMPLAIN_SECONDS
        self.waiters = Waiters()
        deliveries = Tasks()
        self.guide = UrlGuide(
            crawler, self.settings, self.detector, deliveries=deliveries, on_store_error=self.store_failed
        )
        self.settlement = Settlement(
            crawler,
            self.detector,
            self.tally,
            self.waiters,
            confirm=self.settings.confirm,
            tasks=deliveries,
            on_settled=self.guide.examples.settled,
        )
        self.ledger = Ledger(self.settlement.ended, items_count=self.settings.confirm != "callback")
        self._outcomes = Outcomes(crawler, self.ledger)
        self.judge = Judge(
            self.detector,
            self.ledger,
            self.tally,
            self.waiters,
            self.settings,
            most_waiters=max(1, crawler.settings.getint("CONCURRENT_REQUESTS") * 3 // 4),
            is_closing=lambda: not crawler.crawling,
        )
        self.imported = Imported()
        self.markdown = MarkdownField(self.settings.markdown_field, role_words(self.settings.role_words))
        self.reporter = Reporter(self.settings)
        self.gate = Gate(self)
        self.live = Live(
            crawler,
            settings=self.settings,
            detector=self.detector,
            tally=self.tally,
            ledger=self.ledger,
            waiters=self.waiters,
        )
        self._end, self._beats = Waiters(), Tasks()
        self.ready = False
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)

    @classmethod
    def of(cls, crawler: Crawler) -> Runtime:
        """The crawler's runtime; made when the first part asks for it.

        Raises:
            NotConfigured: ``SIMDEDUP_ENABLED`` is off.
            SettingError: a setting cannot be used.
        """
        known = _runtimes.get(crawler)
        runtime = known() if known is not None else None
        if runtime is None:
            runtime = cls(crawler)
            _runtimes[crawler] = weakref.ref(runtime)
        return runtime

    # ------------------------------------------------------------------ delivery

    @property
    def sees_delivery(self) -> bool:
        """Whether both spider middlewares are there to see callbacks end."""
        return {"outer", "inner"} <= self.parts

    def confirm(self, response: Response) -> None:
        """Confirm a page by hand, where ``SIMDEDUP_CONFIRM="manual"``."""
        delivery = self.ledger.of(response)
        if delivery is not None:
            self.settlement.settle(delivery.page, None)

    def is_same_request(self, one: Request, other: Request | None) -> bool:
        """Whether a callback asks again for what it was given."""
        fingerprint = self.crawler.request_fingerprinter.fingerprint
        return other is not None and fingerprint(one) == fingerprint(other)

    # ------------------------------------------------------------------ opening and closing

    async def _opened(self) -> None:
        try:
            await self.detector.open()
            await self.imported.read(self.detector.store)
            await self.detector.history.began(alone=not (self.settings.run or self.crawler.settings.get("JOBDIR")))
        except SimdedupError as error:
            logger.error("The crawl is stopped: %s", error)  # noqa: TRY400 - the sentence says it all
            await self.detector.close()
            if scrapy.version_info < (2, 18):  # there the exception would only be logged
                await self.crawler.engine.close_spider_async(reason="simdedup_store_error")
                return
            raise CloseSpider("simdedup_store_error") from error
        self.ready = True
        self._beats.start(self._beat())
        await self.guide.open()

    async def _beat(self) -> None:
        while self.ready:
            await self._end.wait("end", BEAT_SECONDS)
            await self.detector.beat()
            await self.redesigns.write()

    def store_failed(self, error: StoreError) -> None:
        """Count it, and mention it in the log."""
        self.tally.store_error()
        if time.monotonic() - self._complained >= COMPLAIN_SECONDS:
            self._complained = time.monotonic()
            logger.error("The store failed, so pages are kept: %s", error, extra={"spider": self.crawler.spider})

    async def _closed(self) -> None:
        if not self.ready:
            return
        self.ready = False
        self.ledger.close()
        self.waiters.wake_all()
        self._end.wake_all()
        await self._beats.drain()
        await self.settlement.close()
        await self.redesigns.write()
        await self.guide.close(self.tally.mean_dropped)
        await self.workers.close()
        missing = self._missing()
        await self.reporter.write(self.detector, self.tally, self.guide, self.ledger.seconds_per_page, missing)
        await self.detector.close()
        summary = self.tally.summary(
            mode=self.settings.mode,
            seconds_per_page=self.ledger.seconds_per_page,
            urls=self.guide.tally.lines(self.guide.mode, self.guide.rules()),
            missing=missing,
        )
        logger.info(summary, extra={"spider": self.crawler.spider})

    def _missing(self) -> list[str]:
        notes = []
        if "downloader" not in self.parts:
            notes.append("NearDuplicateDownloaderMiddleware is not enabled, so no page was judged")
        elif not self.sees_delivery:
            notes.append(
                "the delivery middlewares are not enabled, so a page counts as delivered once it was downloaded: "
                "what its callback or a pipeline loses is not made good by its repeats"
            )
        return notes
