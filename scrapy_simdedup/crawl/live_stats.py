"""A crawl's figures while it runs: a line in the log now and then, and an object to ask."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.utils.asyncio import create_looping_call

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_simdedup.crawl.ledger import Ledger
    from scrapy_simdedup.crawl.stats import Tally
    from scrapy_simdedup.crawl.waiting import Waiters
    from scrapy_simdedup.detect.detector import NearDuplicateDetector
    from scrapy_simdedup.settings import DedupSettings

logger = logging.getLogger(__name__)


class Live:
    """What the plugin has done so far: ``simdedup`` in the telnet console, ``.live`` of the downloader middleware.

    Once a page was judged, its figures are logged beside those of Scrapy's LogStats, every ``LOGSTATS_INTERVAL``
    seconds; 0 switches both off.
    """

    def __init__(
        self,
        crawler: Crawler,
        *,
        settings: DedupSettings,
        detector: NearDuplicateDetector,
        tally: Tally,
        ledger: Ledger,
        waiters: Waiters,
    ) -> None:
        # Brings twisted.conch, which a crawl has loaded by now, but nobody who only imports this package.
        from scrapy.extensions.telnet import update_telnet_vars  # noqa: PLC0415

        self._crawler, self._settings, self._detector = crawler, settings, detector
        self._tally, self._ledger, self._waiters = tally, ledger, waiters
        self._interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        self._before = 0, 0
        self._line = create_looping_call(self._log)
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)
        crawler.signals.connect(self._name_it, update_telnet_vars)

    @property
    def judged(self) -> int:
        """Pages that got a verdict other than unjudged."""
        return self._tally.judged_pages

    @property
    def dropped(self) -> int:
        """Pages that were dropped, or would have been in observe mode."""
        return self._tally.pages["dropped"]

    @property
    def kinds(self) -> dict[str, int]:
        """Pages by verdict."""
        return {kind: count for kind, count in self._tally.pages.items() if kind != "dropped"}

    @property
    def unjudged(self) -> dict[str, int]:
        """Pages that could not be judged, by reason."""
        return dict(self._tally.unjudged)

    @property
    def in_work(self) -> int:
        """Kept pages that are on their way through callback and pipelines."""
        return self._ledger.in_work

    @property
    def waiting(self) -> int:
        """Repeats that wait until it is known whether their original is delivered."""
        return len(self._waiters)

    def most_repeated(self, limit: int = 10) -> dict[str, int]:
        """Repeats by the URL of their original, the most first."""
        return dict(self._tally.repeated.most_common(limit))

    def as_dict(self) -> dict[str, Any]:
        """Everything, as plain values."""
        tally = self._tally
        return {
            "run": self._detector.run,
            "store": self._detector.store_name,
            "mode": self._settings.mode,
            "judged": self.judged,
            "dropped": self.dropped,
            "kinds": self.kinds,
            "unjudged": self.unjudged,
            "bytes_dropped": tally.bytes_dropped,
            "items_dropped": tally.items_dropped,
            "delivered": tally.confirmed,
            "released": tally.released,
            "in_work": self.in_work,
            "waiting": self.waiting,
            "extract_seconds": tally.extract_seconds,
            "most_repeated": self.most_repeated(),
        }

    def __repr__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.kinds.items())
        tally = self._tally
        return (
            f"<simdedup, run {self._detector.run}: {self.judged} pages judged ({kinds or 'none yet'}), "
            f"{self.dropped} {self._said}, {tally.confirmed} delivered, {tally.released} released, "
            f"{self.in_work} in work, {self.waiting} waiting>"
        )

    @property
    def _said(self) -> str:
        return "would have been dropped" if self._settings.mode == "observe" else "dropped"

    def _name_it(self, telnet_vars: dict[str, Any]) -> None:
        telnet_vars["simdedup"] = self

    def _opened(self) -> None:
        if self._interval:
            self._line.start(self._interval)

    def _closed(self) -> None:
        if self._line.running:
            self._line.stop()

    def _log(self) -> None:
        if not self.judged:
            return
        judged, dropped = self._before
        self._before = self.judged, self.dropped
        per_minute = 60 / self._interval
        logger.info(
            "Judged %(judged)d pages (at %(rate)d pages/min), %(dropped)d %(said)s (at %(droprate)d pages/min)",
            {
                "judged": self.judged,
                "rate": (self.judged - judged) * per_minute,
                "dropped": self.dropped,
                "droprate": (self.dropped - dropped) * per_minute,
                "said": self._said,
            },
            extra={"spider": self._crawler.spider},
        )
