"""One per crawler: what the middlewares and the pipeline share."""

from __future__ import annotations

import logging
import time
import weakref
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import CloseSpider, NotConfigured

from scrapy_simdedup.crawl.eligibility import is_inspection, is_page, why_not
from scrapy_simdedup.crawl.exceptions import NearDuplicateItem, NearDuplicatePage
from scrapy_simdedup.crawl.judge import Judge
from scrapy_simdedup.crawl.ledger import Ledger
from scrapy_simdedup.crawl.markdown_field import MarkdownField
from scrapy_simdedup.crawl.run import job_store, run_name
from scrapy_simdedup.crawl.settlement import Settlement
from scrapy_simdedup.crawl.signals import near_duplicate_dropped
from scrapy_simdedup.crawl.stats import Tally
from scrapy_simdedup.crawl.waiting import Waiters, sleep
from scrapy_simdedup.detect.detector import NearDuplicateDetector
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.settings import DedupSettings

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_simdedup.detect.verdict import PageRef, Verdict
    from scrapy_simdedup.errors import StoreError

logger = logging.getLogger(__name__)

META_VERDICT = "simdedup_verdict"
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
        jobdir = crawler.settings.get("JOBDIR")
        self.detector = NearDuplicateDetector(
            self.settings.store or (job_store(jobdir) if jobdir else "memory:"),
            settings=self.settings,
            run=self.settings.run or run_name(crawler.spidercls.name, jobdir),
            sleep=sleep,
            on_store_error=self._store_failed,
        )
        self.tally = Tally(crawler.stats)
        self._complained = -COMPLAIN_SECONDS
        self.waiters = Waiters()
        self.settlement = Settlement(crawler, self.detector, self.tally, self.waiters, self.settings.confirm)
        self.ledger = Ledger(self.settlement.ended, items_count=self.settings.confirm != "callback")
        self.judge = Judge(
            self.detector,
            self.ledger,
            self.tally,
            self.waiters,
            self.settings,
            most_waiters=max(1, crawler.settings.getint("CONCURRENT_REQUESTS") * 3 // 4),
            is_closing=lambda: not crawler.crawling,
        )
        self.markdown = MarkdownField(self.settings.markdown_field)
        self._verdicts: weakref.WeakKeyDictionary[Request, Verdict] = weakref.WeakKeyDictionary()
        self.ready = False
        connect = crawler.signals.connect
        connect(self._opened, signals.spider_opened)
        connect(self._item_scraped, signals.item_scraped)
        connect(self._item_dropped, signals.item_dropped)
        connect(self._item_error, signals.item_error)
        connect(self._spider_error, signals.spider_error)
        connect(self._closed, signals.spider_closed)

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

    # ------------------------------------------------------------------ pages

    async def process(self, request: Request, response: Response) -> Response:
        """Judge a response, tag it, and drop it where no spider middleware will.

        Raises:
            NearDuplicatePage: it is a repeat, and this is the last place where it can be dropped.
        """
        if not self.ready or not is_page(request):
            return response
        reason = why_not(request, response)
        if reason is not None:
            if reason != "opted_out":
                self.tally.not_judged(reason)
            return response
        verdict = await self.judge.page(response, self.crawler.request_fingerprinter.fingerprint(request))
        if verdict is None:
            return response
        request.meta[META_VERDICT] = verdict.as_dict()
        if verdict.kind not in {"new", "unjudged"}:
            response.flags.append(f"simdedup-{verdict.kind}")
        if is_inspection(request):
            if verdict.page is not None:
                self.settlement.write(verdict.page, "inspected")
            return response
        if verdict.page is not None:
            self._reserve(request, verdict.page)
        if verdict.is_duplicate:
            self._drop(request, response, verdict)
        return response

    def dropped(self, response: Response) -> Verdict | None:
        """The verdict of a response that is to be dropped, page or items; else None."""
        return None if response.request is None else self._verdicts.get(response.request)

    def is_same_request(self, one: Request, other: Request | None) -> bool:
        """Whether a callback asks again for what it was given."""
        fingerprint = self.crawler.request_fingerprinter.fingerprint
        return other is not None and fingerprint(one) == fingerprint(other)

    def _drop(self, request: Request, response: Response, verdict: Verdict) -> None:
        self.tally.page_dropped(len(response.body))
        if self.settings.mode == "observe":
            return
        logger.debug(
            "Dropped %(page)s: repeats %(original)s (%(kind)s, similarity %(similarity).3f)",
            {"page": response, "original": verdict.original, "kind": verdict.kind, "similarity": verdict.similarity},
            extra={"spider": self.crawler.spider},
        )
        self.crawler.signals.send_catch_log(
            near_duplicate_dropped, response=response, verdict=verdict, spider=self.crawler.spider
        )
        self._verdicts[request] = verdict
        if not self._sees_delivery and self.settings.mode == "pages":
            raise NearDuplicatePage(response, verdict)

    # ------------------------------------------------------------------ delivery

    @property
    def _sees_delivery(self) -> bool:
        return {"outer", "inner"} <= self.parts

    def confirm(self, response: Response) -> None:
        """Confirm a page by hand, where ``SIMDEDUP_CONFIRM="manual"``."""
        delivery = self.ledger.of(response)
        if delivery is not None:
            self.settlement.settle(delivery.page, None)

    def _reserve(self, request: Request, page: PageRef) -> None:
        if self._sees_delivery:
            self.ledger.open(request, page)
        else:
            self.settlement.settle(page, None)  # nobody will ever tell; the summary says so

    def _item_scraped(self, response: Response | None) -> None:
        self._item_ended(response, None)

    def _item_dropped(self, response: Response | None, exception: BaseException) -> None:
        self._item_ended(response, None if isinstance(exception, NearDuplicateItem) else "item_dropped")

    def _item_error(self, response: Response | None) -> None:
        self._item_ended(response, "item_error")

    def _item_ended(self, response: Response | None, failure: str | None) -> None:
        delivery = None if response is None else self.ledger.of(response)
        if delivery is not None:
            self.ledger.item_through(delivery, failure)

    def _spider_error(self, response: Response | None) -> None:
        # An errback's failure comes without a response of ours.
        delivery = None if response is None else self.ledger.of(response)
        if delivery is not None:
            delivery.fail("callback_error")
            self.ledger.exhaust(delivery)

    # ------------------------------------------------------------------ opening and closing

    async def _opened(self) -> None:
        try:
            await self.detector.open()
        except SimdedupError as error:
            logger.error("The crawl is stopped: %s", error)  # noqa: TRY400 - the sentence says it all
            raise CloseSpider("simdedup_store_error") from error
        self.ready = True

    def _store_failed(self, error: StoreError) -> None:
        self.tally.store_error()
        if time.monotonic() - self._complained >= COMPLAIN_SECONDS:
            self._complained = time.monotonic()
            logger.error("The store failed, so pages are kept: %s", error, extra={"spider": self.crawler.spider})

    async def _closed(self) -> None:
        if not self.ready:
            return
        self.ledger.close()
        self.waiters.wake_all()
        await self.settlement.close()
        await self.detector.close()
        summary = self.tally.summary(
            mode=self.settings.mode, seconds_per_page=self.ledger.seconds_per_page, missing=self._missing()
        )
        logger.info(summary, extra={"spider": self.crawler.spider})

    def _missing(self) -> list[str]:
        notes = []
        if "downloader" not in self.parts:
            notes.append("NearDuplicateDownloaderMiddleware is not enabled, so no page was judged")
        elif not self._sees_delivery:
            notes.append(
                "the delivery middlewares are not enabled, so a page counts as delivered once it was downloaded: "
                "what its callback or a pipeline loses is not made good by its repeats"
            )
        return notes
