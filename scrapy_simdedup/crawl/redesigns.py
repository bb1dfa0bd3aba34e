"""Sites whose known pages come in a new template: said in the log, by a stat and by a signal."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simdedup.crawl.signals import site_redesigned

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_simdedup.detect.verdict import Verdict
    from scrapy_simdedup.fingerprint.structure import Change

logger = logging.getLogger(__name__)

PAGES, SHARE = 10, 0.5
"""Known pages of a site that must have been fetched again, and the share of them that must have a new template."""
SITES = 10_000
"""Sites that are counted at a time."""


@dataclass(frozen=True, slots=True)
class Redesign:
    """A site that has a new template."""

    site: str
    pages: int
    """Known pages that were fetched again."""
    share: float
    """Those of them that have another template than before, 0..1."""


class Redesigns:
    """The redesigns that one crawl met."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._changes: dict[str, Counter[Change]] = {}
        self._told: set[str] = set()

    def judged(self, site: str, verdict: Verdict) -> None:
        """Count a page that was fetched again."""
        if verdict.change is None:
            return
        self._crawler.stats.inc_value(f"simdedup/change_count/{verdict.change}")
        counts = self._changes.pop(site, None) or Counter()
        self._changes[site] = counts  # the one that was met longest ago comes first
        if len(self._changes) > SITES:
            del self._changes[next(iter(self._changes))]
        counts[verdict.change] += 1
        pages, new = counts.total(), counts["template"] + counts["both"]
        if pages >= PAGES and new >= SHARE * pages and site not in self._told:
            self._told.add(site)
            self._tell(Redesign(site, pages, new / pages))

    def _tell(self, redesign: Redesign) -> None:
        logger.info(
            "%s has a new design: of %d known pages, %.0f %% came in another template",
            redesign.site,
            redesign.pages,
            100 * redesign.share,
            extra={"spider": self._crawler.spider},
        )
        self._crawler.stats.inc_value("simdedup/redesigns_suspected")
        self._crawler.signals.send_catch_log(site_redesigned, redesign=redesign, spider=self._crawler.spider)
