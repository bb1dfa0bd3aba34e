"""Sites whose known pages come in a new template: said in the log, by a stat and by a signal."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from scrapy_simdedup.crawl.signals import site_redesigned

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_simdedup.detect.history import History
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


@dataclass(slots=True)
class _Count:
    """What is new on a site, while it is counted."""

    part: int
    counts: Counter[Change] = field(default_factory=Counter)
    written: int = 0
    """Pages that the store knows of."""


class Redesigns:
    """The redesigns that one crawl met, and what was new on the sites' pages.

    Args:
        crawler: the crawl.
        history: where both are kept for later runs.
    """

    def __init__(self, crawler: Crawler, history: History) -> None:
        self._crawler, self._history = crawler, history
        self._changes: dict[str, _Count] = {}
        self._parts = count()
        self._told: set[str] = set()

    async def write(self) -> None:
        """Write down what was counted since the last time."""
        for site, found in list(self._changes.items()):
            await self._write(site, found)

    async def judged(self, site: str, verdict: Verdict) -> None:
        """Count a page that was fetched again."""
        if verdict.change is None:
            return
        self._crawler.stats.inc_value(f"simdedup/change_count/{verdict.change}")
        found = self._changes.pop(site, None) or _Count(next(self._parts))
        self._changes[site] = found  # the one that was met longest ago comes first
        counts = found.counts
        counts[verdict.change] += 1
        pages, new = counts.total(), counts["template"] + counts["both"]
        if pages >= PAGES and new >= SHARE * pages and site not in self._told:
            self._told.add(site)
            await self._tell(Redesign(site, pages, new / pages))
        if len(self._changes) > SITES:
            oldest = next(iter(self._changes))
            await self._write(oldest, self._changes.pop(oldest))

    async def _write(self, site: str, found: _Count) -> None:
        if found.written < (total := found.counts.total()):
            found.written = total
            await self._history.changed(site, found.counts, found.part)

    async def _tell(self, redesign: Redesign) -> None:
        logger.info(
            "%s has a new design: of %d known pages, %.0f %% came in another template",
            redesign.site,
            redesign.pages,
            100 * redesign.share,
            extra={"spider": self._crawler.spider},
        )
        self._crawler.stats.inc_value("simdedup/redesigns_suspected")
        self._crawler.signals.send_catch_log(site_redesigned, redesign=redesign, spider=self._crawler.spider)
        await self._history.redesigned(redesign.site, redesign.pages, redesign.share)
