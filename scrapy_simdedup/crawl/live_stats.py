"""Live stats: a crawl's figures while it runs, as an object and as a line in the log now and then."""

from __future__ import annotations

import logging
from typing import Any

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import create_looping_call

from scrapy_simdedup.crawl.concurrency import KeyedCondition
from scrapy_simdedup.crawl.delivery import DeliveryTracker
from scrapy_simdedup.crawl.stats import CrawlStats
from scrapy_simdedup.detect.detector import NearDuplicateDetector
from scrapy_simdedup.settings import DedupSettings

logger = logging.getLogger(__name__)


class LiveStats:
    """What the plugin has done so far: ``simdedup`` in the telnet console, ``.live`` of the downloader middleware.

    Once a page was judged, its figures are logged beside those of Scrapy's LogStats, every ``LOGSTATS_INTERVAL``
    seconds; 0 switches both off.
    """

    def __init__(
        self,
        crawler: Crawler,
        settings: DedupSettings,
        detector: NearDuplicateDetector,
        stats: CrawlStats,
        tracker: DeliveryTracker,
        *,
        page_settled: KeyedCondition,
    ) -> None:
        # Brings twisted.conch, which a crawl has loaded by now, but nobody who only imports this package.
        from scrapy.extensions.telnet import update_telnet_vars  # noqa: PLC0415

        self._crawler, self._settings, self._detector = crawler, settings, detector
        self._stats, self._tracker, self._page_settled = stats, tracker, page_settled
        self._interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        self._logged = 0, 0
        self._log_loop = create_looping_call(self._log)
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)
        crawler.signals.connect(self._update_telnet_vars, update_telnet_vars)

    @property
    def judged(self) -> int:
        """Pages that got a verdict other than unjudged."""
        return self._stats["pages/judged"]

    @property
    def dropped(self) -> int:
        """Pages that were dropped, or would have been in observe mode."""
        return self._stats.dropped

    @property
    def kinds(self) -> dict[str, int]:
        """Pages by verdict."""
        return self._stats.kinds

    @property
    def unjudged(self) -> dict[str, int]:
        """Pages that could not be judged, by reason."""
        return dict(self._stats.unjudged)

    @property
    def in_work(self) -> int:
        """Kept pages that are on their way through callback and pipelines."""
        return self._tracker.in_work

    @property
    def waiting(self) -> int:
        """Repeats that wait until it is known whether their original is delivered."""
        return len(self._page_settled)

    def most_repeated(self, limit: int = 10) -> dict[str, int]:
        """How many repeats an original has, by its URL, the most repeated first."""
        return dict(self._stats.repeated.most_common(limit))

    def as_dict(self) -> dict[str, Any]:
        """All figures, as plain values."""
        stats = self._stats
        return {
            "run": self._detector.run,
            "store": self._detector.store_name,
            "mode": self._settings.mode,
            "judged": self.judged,
            "dropped": self.dropped,
            "kinds": self.kinds,
            "unjudged": self.unjudged,
            "bytes_dropped": stats.dropped_bytes,
            "items_dropped": stats["items/dropped"],
            "delivered": stats["confirmed"],
            "released": stats["released"],
            "in_work": self.in_work,
            "waiting": self.waiting,
            "extract_seconds": stats.extract_seconds,
            "most_repeated": self.most_repeated(),
        }

    def __repr__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.kinds.items())
        stats = self._stats
        return (
            f"<simdedup, run {self._detector.run}: {self.judged} pages judged ({kinds or 'none yet'}), "
            f"{self.dropped} {self._dropped_phrase}, {stats['confirmed']} delivered, {stats['released']} released, "
            f"{self.in_work} in work, {self.waiting} waiting>"
        )

    @property
    def _dropped_phrase(self) -> str:
        return "would have been dropped" if self._settings.mode == "observe" else "dropped"

    def _update_telnet_vars(self, telnet_vars: dict[str, Any]) -> None:
        telnet_vars["simdedup"] = self

    def _opened(self) -> None:
        if self._interval:
            self._log_loop.start(self._interval)

    def _closed(self) -> None:
        if self._log_loop.running:
            self._log_loop.stop()

    def _log(self) -> None:
        if not self.judged:
            return
        judged, dropped = self._logged
        self._logged = self.judged, self.dropped
        per_minute = 60 / self._interval
        logger.info(
            "Judged %d pages (at %d pages/min), %d %s (at %d pages/min)",
            self.judged,
            (self.judged - judged) * per_minute,
            self.dropped,
            self._dropped_phrase,
            (self.dropped - dropped) * per_minute,
            extra={"spider": self._crawler.spider},
        )
