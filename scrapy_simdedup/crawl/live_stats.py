"""What a crawl tells while it runs: its figures, as an object and as a line in the log, and alerts about its sites."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import create_looping_call

from scrapy_simdedup.crawl import Crawl
from scrapy_simdedup.crawl.concurrency import KeyedCondition
from scrapy_simdedup.crawl.delivery import DeliveryTracker
from scrapy_simdedup.crawl.stats import CrawlStats
from scrapy_simdedup.detect.verdict import Verdict
from scrapy_simdedup.fingerprint.unit_changes import Change
from scrapy_simdedup.signals import Redesign, Wall, site_redesigned, wall_suspected

logger = logging.getLogger(__name__)
MAX_REPEATED = 10
"""Originals in the list of the most repeated."""
SAID_FIGURES = ("delivered", "released", "in_work", "waiting")
"""What the ``repr`` tells beside the pages judged and dropped."""


class LiveStats:
    """What the plugin has done so far: ``simdedup`` in the telnet console, ``.live`` of the downloader middleware.

    Once a page was judged, its figures are logged beside those of Scrapy's LogStats, every ``LOGSTATS_INTERVAL``
    seconds; 0 switches both off.
    """

    def __init__(self, crawl: Crawl, tracker: DeliveryTracker, page_settled: KeyedCondition) -> None:
        # Brings twisted.conch, which a crawl has loaded by now, but nobody who only imports this package.
        from scrapy.extensions.telnet import update_telnet_vars  # noqa: PLC0415

        self._crawler, self._settings, self._detector = crawl.crawler, crawl.settings, crawl.detector
        self._stats, self._tracker, self._page_settled = crawl.stats, tracker, page_settled
        self._interval = crawl.crawler.settings.getfloat("LOGSTATS_INTERVAL")
        self._logged = 0, 0
        self._log_loop = create_looping_call(self._log)
        connect = crawl.crawler.signals.connect
        connect(self._opened, signals.spider_opened)
        connect(self._closed, signals.spider_closed)
        connect(self._update_telnet_vars, update_telnet_vars)

    def as_dict(self) -> dict[str, Any]:
        """All figures, as plain values.

        Those ``in_work`` are kept pages on their way through callback and pipelines, and those ``waiting`` repeats for
        which it is not known yet whether their original is delivered.
        """
        stats = self._stats
        return {
            "run": self._detector.run,
            "store": self._detector.store_name,
            "mode": self._settings.mode,
            "judged": stats["pages/judged"],
            "dropped": stats.dropped,
            "kinds": stats.kinds,
            "unjudged": dict(stats.unjudged),
            "bytes_dropped": stats.dropped_bytes,
            "items_dropped": stats["items/dropped"],
            "delivered": stats["confirmed"],
            "released": stats["released"],
            "in_work": self._tracker.in_work,
            "waiting": len(self._page_settled),
            "extract_seconds": stats.extract_seconds,
            "most_repeated": dict(stats.repeated.most_common(MAX_REPEATED)),
        }

    def __repr__(self) -> str:
        figures = self.as_dict()
        kinds = ", ".join(f"{count} {kind}" for kind, count in figures["kinds"].items())
        said = ", ".join(f"{figures[name]} {name.replace('_', ' ')}" for name in SAID_FIGURES)
        judged = f"{figures['judged']} pages judged ({kinds or 'none yet'})"
        return f"<simdedup, run {figures['run']}: {judged}, {figures['dropped']} {self._dropped_phrase}, {said}>"

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
        judged, dropped = self._stats["pages/judged"], self._stats.dropped
        if not judged:
            return
        judged_before, dropped_before = self._logged
        self._logged = judged, dropped
        per_minute = 60 / self._interval
        logger.info(
            "Judged %d pages (at %d pages/min), %d %s (at %d pages/min)",
            judged,
            (judged - judged_before) * per_minute,
            dropped,
            self._dropped_phrase,
            (dropped - dropped_before) * per_minute,
            extra={"spider": self._crawler.spider},
        )


MIN_REVISITED_PAGES, MIN_NEW_TEMPLATE_SHARE = 10, 0.5
"""How many known pages of a site must have been fetched again, and the share of them with a new template."""
MAX_COUNTED_SITES = 10_000


@dataclass(slots=True)
class _SiteChanges:
    """The changes of a site's known pages in this crawl."""

    part: int
    counts: Counter[Change] = field(default_factory=Counter)
    written: int = 0
    """How many pages were counted when the counts were last written to the store."""


class RedesignAlerts:
    """Counts what is new on known pages that are fetched again, and alerts of sites with a new design."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawler, self._stats, self._history = crawl.crawler, crawl.stats, crawl.detector.history
        self._changes: dict[str, _SiteChanges] = {}
        self._parts = count()
        self._alerted: set[str] = set()

    async def flush(self) -> None:
        """Log the changes that were counted since the last time."""
        for site, found in list(self._changes.items()):
            await self._flush_site(site, found)

    async def count_page(self, site: str, verdict: Verdict) -> None:
        """Count the changes of a page that was fetched again."""
        if verdict.change is None:
            return
        self._stats.increment("change_count/<change>", verdict.change)
        found = self._changes.pop(site, None) or _SiteChanges(next(self._parts))
        self._changes[site] = found  # so that the site whose page was fetched longest ago comes first
        counts = found.counts
        counts[verdict.change] += 1
        pages, new = counts.total(), counts["template"] + counts["both"]
        if pages >= MIN_REVISITED_PAGES and new >= MIN_NEW_TEMPLATE_SHARE * pages and site not in self._alerted:
            self._alerted.add(site)
            await self._report_redesign(Redesign(site, pages, new / pages))
        if len(self._changes) > MAX_COUNTED_SITES:
            oldest = next(iter(self._changes))
            await self._flush_site(oldest, self._changes.pop(oldest))

    async def _flush_site(self, site: str, found: _SiteChanges) -> None:
        if found.written < (total := found.counts.total()):
            found.written = total
            await self._history.site_changed(site, found.counts, found.part)

    async def _report_redesign(self, redesign: Redesign) -> None:
        logger.info(
            "%s has a new design: of %d known pages, %.0f %% came in another template",
            redesign.site,
            redesign.pages,
            100 * redesign.share,
            extra={"spider": self._crawler.spider},
        )
        self._stats.increment("redesigns_suspected")
        self._crawler.signals.send_catch_log(site_redesigned, redesign=redesign, spider=self._crawler.spider)
        await self._history.site_redesigned(redesign.site, redesign.pages, redesign.share)


def report_wall(wall: Wall, *, crawler: Crawler, stats: CrawlStats) -> None:
    """Log and count a suspected wall, a site that answers everything with one content, and send its signal."""
    logger.warning(
        "%s gives one content for %.0f %% of its recent pages, such as %s: a captcha, a login page or a ban?",
        wall.site,
        100 * wall.share,
        ", ".join(wall.samples[:3]),
        extra={"spider": crawler.spider},
    )
    stats.increment("walls_suspected")
    crawler.signals.send_catch_log(wall_suspected, wall=wall, spider=crawler.spider)
