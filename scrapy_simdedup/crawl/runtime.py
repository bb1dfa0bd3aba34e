"""The runtime of a crawler: everything that the middlewares and the pipeline share."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from typing import ClassVar, TypeVar

import scrapy
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider, NotConfigured
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.datatypes import LocalCache

from scrapy_simdedup.crawl import Crawl
from scrapy_simdedup.crawl.arguments import CallbackArguments
from scrapy_simdedup.crawl.concurrency import BackgroundTasks, KeyedCondition, sleep
from scrapy_simdedup.crawl.delivery import DeliverySettler, DeliveryTracker
from scrapy_simdedup.crawl.exceptions import refusing
from scrapy_simdedup.crawl.item_values import ItemValues
from scrapy_simdedup.crawl.items import ContentFields
from scrapy_simdedup.crawl.judge import Judge
from scrapy_simdedup.crawl.links import DeferredLinks, remove_headless_queues
from scrapy_simdedup.crawl.live_stats import LiveStats, RedesignAlerts, report_wall
from scrapy_simdedup.crawl.output_files import DroppedFeed, Reporter, with_filled_placeholders
from scrapy_simdedup.crawl.requests import ImportedPages, is_inspection_crawl
from scrapy_simdedup.crawl.response_handler import ResponseHandler
from scrapy_simdedup.crawl.second_fetch import SecondFetches
from scrapy_simdedup.crawl.stats import CrawlStats
from scrapy_simdedup.crawl.summary import summarize
from scrapy_simdedup.crawl.url_skipper import UrlSkipper
from scrapy_simdedup.crawl.worker_pool import WorkerPool
from scrapy_simdedup.detect.detector import NearDuplicateDetector, check_compatible
from scrapy_simdedup.detect.names import run_name
from scrapy_simdedup.detect.site_logs import HEARTBEAT_SECONDS
from scrapy_simdedup.display import redact_password
from scrapy_simdedup.errors import SimdedupError, StoreBusy, StoreError
from scrapy_simdedup.fingerprint.make import LocalFingerprinter
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store import job_store, store_by_url
from scrapy_simdedup.store.base import Sleep, run_at_once
from scrapy_simdedup.store.memory import SnapshotStore

Component = TypeVar("Component", bound="RuntimeComponent")
logger = logging.getLogger(__name__)
META_DELIVER = "simdedup_deliver"
ERROR_LOG_SECONDS = 60.0
"""How often a store that keeps failing is mentioned in the log; the stats count every time."""
BUSY_ATTEMPTS = 11
"""How often a store that somebody else holds is opened before the last attempt: for a minute where it is a file."""
MAX_ITEMS_ON_THEIR_WAY = 1_000
"""Items whose page is remembered until the pipeline asks for it, as another component may replace an item."""
YOUNG_OBJECTS = 5_000
"""Objects from which on the garbage collector looks at new ones, some dozens of pages; in Python it is 700 or 2,000."""
# Weak on both sides, as a runtime knows its crawler; the middlewares keep it alive.
_runtimes: weakref.WeakKeyDictionary[Crawler, weakref.ref[Runtime]] = weakref.WeakKeyDictionary()


class Runtime:
    """Detector, delivery tracker and stats of one crawler, and whatever else its parts share."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.settings: DedupSettings = DedupSettings.from_settings(crawler.settings)
        if not self.settings.enabled:
            raise NotConfigured
        self._is_inspection = is_inspection_crawl(crawler)
        if self._is_inspection:
            self.settings = replace(self.settings, report=(), dropped_feed=(), url_learning="off")
        self.settings = with_filled_placeholders(self.settings, crawler.spider, datetime.now(timezone.utc))
        self.enabled_parts: set[str] = set()
        """Which of ``downloader``, ``outer``, ``inner`` and ``pipeline`` are enabled."""
        jobdir = crawler.settings.get("JOBDIR")
        self._is_resumable = bool(self.settings.run or jobdir)
        self._thresholds: tuple[int, int, int] | None = None
        """Those of the garbage collector before it was spared; None if it was not."""
        self.stats: CrawlStats = CrawlStats(crawler.stats)
        self.worker_pool: WorkerPool = WorkerPool(
            self.settings.workers, self.settings.worker_timeout, self.stats.extracted
        )
        fingerprinter = self.worker_pool if self.settings.workers else LocalFingerprinter(self.stats.extracted)
        store = self.settings.store or (job_store(jobdir) if jobdir else "memory:")
        self.second_fetches: SecondFetches = SecondFetches(crawler, self.stats, self.store_failed)
        self.detector: NearDuplicateDetector = NearDuplicateDetector(
            SnapshotStore(store_by_url(store, sleep)) if self._is_inspection else store,
            settings=self.settings,
            run=self.settings.run or run_name(crawler.spidercls.name, jobdir),
            sleep=sleep,
            on_store_error=self.store_failed,
            on_wall=partial(report_wall, crawler=crawler, stats=self.stats),
            on_stub=self.second_fetches.stub_found,
            on_records=self.second_fetches.may_be_records,
            fingerprinter=fingerprinter,
            resumable=self._is_resumable,
        )
        crawl = Crawl(crawler, self.settings, self.detector, self.stats, self.store_failed)
        self.redesign_alerts: RedesignAlerts = RedesignAlerts(crawl)
        self._last_error_log = -ERROR_LOG_SECONDS
        self.page_settled: KeyedCondition = KeyedCondition()
        settling_tasks = BackgroundTasks()
        self.arguments: CallbackArguments = CallbackArguments()
        self.url_skipper: UrlSkipper = UrlSkipper(crawl, self.arguments, settling_tasks=settling_tasks)
        on_settled = self.url_skipper.observations.settled
        self.settler: DeliverySettler = DeliverySettler(
            crawl, self.page_settled, tasks=settling_tasks, on_settled=on_settled
        )
        self.delivery_tracker: DeliveryTracker = DeliveryTracker(
            self.settler.delivery_ended, items_count=self.settings.confirm != "callback"
        )
        self.delivery_tracker.connect(crawler)
        self.judge: Judge = Judge(crawl, self.delivery_tracker, self.page_settled)
        self.imported_pages: ImportedPages = ImportedPages()
        self.content_fields: ContentFields = ContentFields(
            self.settings.item_content,
            lambda html, url: self.worker_pool.content(html, url, self.detector.settings_for(url)),
        )
        self.item_pages: LocalCache[int, tuple[object, str]] = LocalCache(MAX_ITEMS_ON_THEIR_WAY)
        """By the ids of items the URLs of their pages, and the items: else another object could get the id."""
        self.item_values: ItemValues = ItemValues(crawl, self.settler)
        self.reporter: Reporter = Reporter(crawl)
        self.links: DeferredLinks = DeferredLinks(crawl)
        self.dropped_feed: DroppedFeed = DroppedFeed(self.settings.dropped_feed)
        self.handler: ResponseHandler = ResponseHandler(
            crawl,
            judge=self.judge,
            tracker=self.delivery_tracker,
            settler=self.settler,
            imported=self.imported_pages,
            links=self.links,
            item_values=self.item_values,
            arguments=self.arguments,
            second_fetches=self.second_fetches,
            reporter=self.reporter if self.settings.report else None,
            dropped_feed=self.dropped_feed,
            observations=self.url_skipper.observations if self.url_skipper.mode != "off" else None,
            redesigns=self.redesign_alerts if self.settings.track_layout or self.settings.site_settings else None,
        )
        self.live: LiveStats = LiveStats(crawl, self.delivery_tracker, self.page_settled)
        self._closing, self._heartbeat_tasks = KeyedCondition(), BackgroundTasks()
        if not self._is_inspection:  # then nothing is written that an unusable store could spoil
            probe_store(store, self.settings)
            if jobdir:
                remove_headless_queues(jobdir)
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)

    @classmethod
    def of(cls, crawler: Crawler) -> Runtime:
        """The crawler's runtime; made when the first part asks for it.

        Raises NotConfigured if ``SIMDEDUP_ENABLED`` is off, and an error of ours if the settings or the store are
        unusable.
        """
        known = _runtimes.get(crawler)
        runtime = known() if known is not None else None
        if runtime is None:
            with refusing(crawler):
                runtime = cls(crawler)
            _runtimes[crawler] = weakref.ref(runtime)
        return runtime

    @property
    def tracks_delivery(self) -> bool:
        """Whether both spider middlewares are there to see callbacks end."""
        return {"outer", "inner"} <= self.enabled_parts

    async def _opened(self) -> None:
        try:
            await self._open_detector()
            await self.imported_pages.load(self.detector.store)
            await self.detector.history.run_started(alone=not self._is_resumable)
        except SimdedupError as error:
            consequence = "Pages get no verdict" if self._is_inspection else "The crawl is stopped"
            logger.error("%s: %s", consequence, error)  # noqa: TRY400 - the sentence says it all
            await self.detector.close()
            if self._is_inspection:  # the page can be looked at without a verdict
                return
            if scrapy.version_info < (2, 18):  # there the exception would only be logged
                await self.crawler.engine.close_spider_async(reason="simdedup_store_error")
                return
            raise CloseSpider("simdedup_store_error") from error
        self.detector.store.hurry()
        self.links.open(tracks_delivery=self.tracks_delivery)
        self.dropped_feed.open()
        self.handler.open(tracks_delivery=self.tracks_delivery)
        self._thresholds = None if self._is_inspection else _spare_collector()
        self._heartbeat_tasks.start(self._send_heartbeats())
        if self._is_resumable and self.detector.store.lasts and not self._is_inspection:
            await self.second_fetches.open(
                self.detector.store, self.detector.context, shared=self.settings.run is not None
            )
        await self.url_skipper.open()

    async def _open_detector(self) -> None:
        for _ in range(BUSY_ATTEMPTS):
            try:
                await self.detector.open()
            except StoreBusy as busy:  # noqa: PERF203 - a few times a minute
                logger.warning("%s; the crawl waits for it", busy)
            else:
                return
        await self.detector.open()

    async def _send_heartbeats(self) -> None:
        while self.handler.is_open:
            await self._closing.wait("end", HEARTBEAT_SECONDS)
            await self.detector.heartbeat()
            await self.redesign_alerts.flush()

    def store_failed(self, error: StoreError) -> None:
        """Count a failure of the store, and mention it in the log."""
        self.stats.increment("store/error_count")
        if time.monotonic() - self._last_error_log >= ERROR_LOG_SECONDS:
            self._last_error_log = time.monotonic()
            logger.error("The store failed, so pages are kept: %s", error, extra={"spider": self.crawler.spider})

    async def _closed(self) -> None:
        if not self.handler.is_open:
            return
        self.handler.close()
        if self._thresholds is not None:
            gc.unfreeze()
            gc.set_threshold(*self._thresholds)
        self.dropped_feed.close()
        self.delivery_tracker.close()
        self.page_settled.notify_all()
        self._closing.notify_all()
        await self._heartbeat_tasks.drain()
        await self.settler.close()
        await self.second_fetches.close()
        await self.redesign_alerts.flush()
        await self.url_skipper.close()
        await self.worker_pool.close()
        missing = [*self._missing_parts(), *([] if self._is_inspection else self._settings_without_effect())]
        await self.reporter.write(self.url_skipper, self.delivery_tracker.seconds_per_page, missing)
        await self.detector.close()
        summary = summarize(
            self.stats,
            mode=self.settings.mode,
            seconds_per_page=self.delivery_tracker.seconds_per_page,
            url_mode=self.url_skipper.mode,
            rules=self.url_skipper.rules(),
            missing=missing,
        )
        logger.info(summary, extra={"spider": self.crawler.spider})
        if sites := self.stats.sites_closed():
            logger.info("Near-duplicates by site: %s", json.dumps(sites), extra={"spider": self.crawler.spider})

    def _missing_parts(self) -> list[str]:
        if "downloader" not in self.enabled_parts:
            return ["NearDuplicateDownloaderMiddleware is not enabled, so no page was judged"]
        if not self.tracks_delivery:
            return [
                "the delivery middlewares are not enabled, so a page counts as delivered once it was downloaded: "
                "what its callback or a pipeline loses is not made good by its repeats"
            ]
        return []

    def _settings_without_effect(self) -> Iterator[str]:
        """Sentences about settings without effect in this crawl, each with its remedy."""
        if self.settings.url_rules and self.url_skipper.mode == "off":
            yield "SIMDEDUP_URL_RULES has no effect while SIMDEDUP_URL_LEARNING is off; set it to 'skip'"
        if not self.detector.store.lasts:
            of_runs = {
                "SIMDEDUP_UNCHANGED = 'drop'": self.settings.is_anywhere("unchanged", "drop"),
                "SIMDEDUP_AGAINST = 'history'": self.settings.against == "history",
                "SIMDEDUP_UNCHANGED_BY": self.item_values.is_on,
            }
            for setting in (name for name, is_set in of_runs.items() if is_set):
                remedy = "set SIMDEDUP_STORE, such as 'sqlite:///pages.sqlite'"
                yield f"{setting} knows of no earlier run, as the store ends with the crawl; {remedy}"


class RuntimeComponent:
    """A component of Scrapy that shares the runtime of its crawler, and is its ``part``."""

    part: ClassVar[str]

    def __init__(self, runtime: Runtime) -> None:
        self.runtime: Runtime = runtime
        runtime.enabled_parts.add(self.part)

    @classmethod
    def from_crawler(cls: type[Component], crawler: Crawler) -> Component:
        """Share the crawler's runtime."""
        return cls(Runtime.of(crawler))


def probe_store(url: str, settings: DedupSettings) -> None:
    """Open and close a store, and wait for that: nothing else runs here meanwhile, for some milliseconds as a rule.

    Raises :class:`~scrapy_simdedup.StoreError`; but a store that is busy passes, as it can be opened a moment later.
    """
    if url == "memory:":
        return
    try:
        if is_asyncio_available():
            # The loop of this thread may be running, and then takes no second coroutine to wait for.
            with ThreadPoolExecutor(1) as thread:
                thread.submit(asyncio.run, _open(url, settings, asyncio.sleep)).result()
        else:
            run_at_once(_open(url, settings, _block))
    except StoreBusy as busy:
        logger.warning("%s; the crawl begins nevertheless, and waits for it", busy)
    except SimdedupError:
        raise
    except Exception:  # a class of the user's own that works only in the crawl's event loop, which will tell
        logger.debug("The store could not be tried before the crawl", exc_info=True)


def _spare_collector() -> tuple[int, int, int] | None:
    """Have the garbage collector pass over what is there, which stays to the end of the crawl as a rule.

    It would look at all of it every hundred pages; and at what is new once a page, as Scrapy makes some hundred tasks
    for the output of each callback, of several objects each, which are gone a moment later. Its thresholds before; None
    if somebody else froze some objects, or this Python cannot.
    """
    if not hasattr(gc, "freeze") or gc.get_freeze_count():
        return None
    gc.freeze()
    before = gc.get_threshold()
    if 0 < before[0] < YOUNG_OBJECTS:
        gc.set_threshold(YOUNG_OBJECTS)
    return before


async def _open(url: str, settings: DedupSettings, sleep: Sleep) -> None:
    store = store_by_url(url, sleep, settings.ttl)
    try:
        await store.open()
        await check_compatible(store, redact_password(url), settings)
    finally:
        await store.close()


async def _block(seconds: float) -> None:
    time.sleep(seconds)  # noqa: ASYNC251 - no loop runs that could do something else
