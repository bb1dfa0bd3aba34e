"""The judge of pages and items: asks the detector, and waits for originals whose delivery is still going on."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

from scrapy_simdedup.crawl.concurrency import KeyedFifoLock

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.http import TextResponse

    from scrapy_simdedup.crawl.concurrency import KeyedCondition
    from scrapy_simdedup.crawl.delivery import DeliveryTracker
    from scrapy_simdedup.crawl.stats import CrawlStats
    from scrapy_simdedup.detect.detector import NearDuplicateDetector
    from scrapy_simdedup.detect.verdict import FetchedPage, Verdict
    from scrapy_simdedup.settings import DedupSettings

POLL_SECONDS = 0.25
"""How often a repeat checks whether its original was settled, or the crawl closed, without a notification."""


class Judge:
    """Gives verdicts.

    Args:
        page_settled: notified of each page once its outcome is written.
        max_waiting: repeats that may wait at a time. Each holds one of the downloader's places, and some must stay
            free for what the callbacks of their originals may need.
        is_closing: whether the crawl is being shut down, so that nothing should wait any more.
    """

    def __init__(
        self,
        detector: NearDuplicateDetector,
        tracker: DeliveryTracker,
        stats: CrawlStats,
        page_settled: KeyedCondition,
        settings: DedupSettings,
        *,
        max_waiting: int,
        is_closing: Callable[[], bool],
    ) -> None:
        self._detector, self._tracker, self._stats, self._page_settled = detector, tracker, stats, page_settled
        self._settings, self._max_waiting, self._is_closing = settings, max_waiting, is_closing
        self._site_locks = KeyedFifoLock()

    async def judge_page(
        self,
        response: TextResponse,
        key: bytes,
        *,
        site: str,
        canonical: str | None = None,
        known_since: float | None = None,
    ) -> Verdict:
        """The page's verdict among the pages of ``site``, which is counted.

        ``key`` is the request's fingerprint, ``canonical`` the canonical URL that the page declares, and
        ``known_since`` the time at which another plugin delivered it.
        """
        # Workers may be done with a later page sooner; verdicts are given in the order of the responses.
        ticket = self._site_locks.enqueue(site)
        try:
            page = await self._detector.fetched(
                response.text, url=response.url, key=key, site=site, canonical=canonical, known_since=known_since
            )
            if ticket.must_wait:
                await ticket.acquire()
            verdict = await self._detector.judge_page(page)
        finally:
            ticket.release()
        if verdict.pending is not None:
            verdict = await self._await_original(verdict, page)
        self._stats.judged(verdict, site)
        return verdict

    async def judge_item(self, texts: tuple[str, ...], *, url: str, site: str) -> Verdict:
        """An item's verdict among the items of ``site``."""
        # An item has no address of its own, so it never counts as an earlier item that was scraped again.
        page = self._detector.page_of(
            self._detector.fingerprint_texts(texts), url=url, key=secrets.token_bytes(16), site=site
        )
        return await self._await_original(await self._detector.judge_page(page), page)

    async def _await_original(self, verdict: Verdict, page: FetchedPage) -> Verdict:
        deadline = time.monotonic() + self._settings.pending_timeout
        while (original := verdict.pending) is not None:
            if len(self._page_settled) >= self._max_waiting or time.monotonic() >= deadline or self._is_closing():
                return await self._detector.judge_page(page, keep_pending=True)
            await self._page_settled.wait((original.site, original.id), POLL_SECONDS)
            self._tracker.release_dead()
            verdict = await self._detector.judge_page(page)
        return verdict
