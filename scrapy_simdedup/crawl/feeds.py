"""Delivery that waits for the feeds: items are on disk only when their feed is closed and stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals

from scrapy_simdedup.crawl.waiting import Waiters
from scrapy_simdedup.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from scrapy_simdedup.detect.verdict import PageRef

CLOSE_SECONDS = 300.0
"""How long a feed may take to be stored before its pages are released."""


class FeedConfirmation:
    """Holds delivered pages back until Scrapy's feed exporter has stored every feed.

    Raises:
        SettingError: ``SIMDEDUP_CONFIRM="feed"`` without ``FEEDS``, so that nothing would ever be confirmed.
    """

    def __init__(self, crawler: Crawler, settle: Callable[[PageRef, str | None], None]) -> None:
        if not crawler.settings.getdict("FEEDS"):
            raise SettingError("SIMDEDUP_CONFIRM", "feed", "add a feed to FEEDS, or write 'items'")
        self._crawler = crawler
        self._settle = settle
        self._held: list[PageRef] = []
        self._closed = False
        self._waiters = Waiters()
        crawler.signals.connect(self._stored, signals.feed_exporter_closed)

    def hold(self, page: PageRef) -> None:
        """The page's items are through the pipelines."""
        self._held.append(page)

    async def finish(self) -> None:
        """Wait for the feeds, then confirm what was held, or release it if a feed could not be stored."""
        if not self._closed:
            await self._waiters.wait("feeds", CLOSE_SECONDS)
        failed = any(name.startswith("feedexport/failed_count/") for name in self._crawler.stats.get_stats())
        for page in self._held:
            self._settle(page, None if self._closed and not failed else "feed_failed")
        self._held.clear()

    def _stored(self) -> None:
        self._closed = True
        self._waiters.wake("feeds")
