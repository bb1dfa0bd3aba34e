"""Alerts about sites, by a line in the log, a stat and a signal: a new design, or a suspected wall."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field
from itertools import count

from scrapy.crawler import Crawler

from scrapy_simdedup.crawl.stats import CrawlStats
from scrapy_simdedup.detect.event_log import EventLog
from scrapy_simdedup.detect.verdict import Verdict
from scrapy_simdedup.fingerprint.unit_changes import Change
from scrapy_simdedup.signals import Redesign, Wall, site_redesigned, wall_suspected

logger = logging.getLogger(__name__)
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

    def __init__(self, crawler: Crawler, stats: CrawlStats, history: EventLog) -> None:
        self._crawler, self._stats, self._history = crawler, stats, history
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
