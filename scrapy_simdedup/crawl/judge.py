"""The judge of pages and items: gives verdicts in the order of the responses, and has repeats wait for their originals.

While the delivery of its original is going on, a repeat is *parked*: it waits outside of the downloader's places.
"""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_simdedup.crawl import Crawl
from scrapy_simdedup.crawl.concurrency import KeyedCondition, wake_engine
from scrapy_simdedup.crawl.delivery import DeliveryTracker
from scrapy_simdedup.detect.verdict import FetchedPage, Verdict

POLL_SECONDS, POLL_SECONDS_PER_WAITING, MAX_POLL_SECONDS = 0.25, 0.005, 5.0
"""How often a repeat checks whether its original was settled, or the crawl closed, without a notification; the more
repeats wait, the rarer."""
MAX_PARKED_BYTES = 32_000_000
"""Bytes of pages and items that may wait at a time; with what Scrapy makes of a page it takes a few times as many."""


class Judge:
    """Gives verdicts. Repeats wait in the parking for their originals, unless the crawl is closing."""

    def __init__(self, crawl: Crawl, tracker: DeliveryTracker, page_settled: KeyedCondition) -> None:
        self._crawler, self._settings, self._detector = crawl.crawler, crawl.settings, crawl.detector
        self._stats, self._tracker, self._page_settled = crawl.stats, tracker, page_settled
        self._parking = Parking(crawl.crawler)
        self._tickets: dict[Hashable, deque[Ticket]] = {}
        """Of the pages that are being judged, by their sites."""

    async def judge_page(
        self, fetch: Callable[[], Awaitable[FetchedPage]], *, site: str, size: int, request: Request | None = None
    ) -> Verdict:
        """The verdict on a page, which is counted, among the pages of its site.

        ``fetch`` makes its fingerprint. ``request`` gives up its place in the downloader while the page, of ``size``
        bytes, waits.
        """
        # Workers may be done with a later page sooner; verdicts are given in the order of the responses.
        ticket = Ticket(self._tickets, site)
        try:
            page = await fetch()
            await ticket.acquire()
            verdict = await self._detector.judge_page(page)
        finally:
            ticket.release()
        verdict = await self._await_original(verdict, page, size, request)
        if verdict.kind == "unchanged" and verdict.original_run == page.run:
            verdict = verdict._replace(kind="identical")  # to people, unchanged is what it is since an earlier run
        self._stats.judged(verdict, site)
        return verdict

    async def judge_item(self, texts: tuple[str, ...], *, url: str, site: str, identity: str) -> Verdict:
        """An item's verdict among the items of ``site``."""
        # An item has no address of its own, so it never counts as an earlier item that was scraped again.
        page = self._detector.page_of(
            self._detector.fingerprint_texts(texts, identity=identity), url=url, key=secrets.token_bytes(16), site=site
        )
        return await self._await_original(await self._detector.judge_page(page), page, sum(map(len, texts)))

    async def _await_original(
        self, verdict: Verdict, page: FetchedPage, size: int, request: Request | None = None
    ) -> Verdict:
        """The verdict once the original is settled; the page is kept where that takes too long."""
        if verdict.pending is None:
            return verdict
        reason = "no_room"
        if self._parking.has_room(size):
            with self._parking.parked(request, size):
                verdict, reason = await self._wait(verdict, page)
        if verdict.pending is None:
            return verdict
        verdict = await self._detector.judge_page(page, keep_pending=True)
        if verdict.reason == "in_work" and request is not None:
            self._stats.increment("pages/in_work_reason_count/<reason>", reason)
        return verdict

    async def _wait(self, verdict: Verdict, page: FetchedPage) -> tuple[Verdict, str]:
        """The verdict once the original is settled, or else a pending one, and why nothing waits any longer."""
        # Feeds are stored when the crawl is over: nobody can wait for that.
        waits_for_feed = self._settings.confirm == "feed"
        deadline = time.monotonic() + (0.0 if waits_for_feed else self._settings.pending_timeout)
        while (original := verdict.pending) is not None:
            left = deadline - time.monotonic()
            if left <= 0 or not self._crawler.crawling:
                return verdict, "closing" if left > 0 else "feed" if waits_for_feed else "timeout"
            self._tracker.release_unclaimed(original, self._parking.is_under_way)
            poll = min(MAX_POLL_SECONDS, max(POLL_SECONDS, POLL_SECONDS_PER_WAITING * len(self._page_settled)), left)
            was_settled = await self._page_settled.wait((original.site, original.id), poll)
            self._tracker.release_dead()
            if was_settled or not self._tracker.is_in_work(original):
                verdict = await self._detector.judge_page(page)
        return verdict, ""


class Parking:
    """Takes requests out of the downloader's places while their responses wait in a downloader middleware.

    Scrapy counts a request as active until all middlewares are through with its response, and makes no more than
    ``CONCURRENT_REQUESTS`` at a time. A parked request is not active; it is still in progress, so that a crawl that is
    stopped waits for it, and the spider is not idle. Where another downloader has no such set, the places stay taken.
    """

    def __init__(self, crawler: Crawler, max_bytes: int = MAX_PARKED_BYTES) -> None:
        self._crawler, self._max_bytes = crawler, max_bytes
        self._bytes = self._count = 0
        crawler.signals.connect(self._spider_idle, signals.spider_idle)

    def has_room(self, size: int) -> bool:
        """Whether so many bytes can be parked."""
        return self._bytes + size <= self._max_bytes

    def is_under_way(self, request: Request) -> bool:
        """Whether Scrapy has a request in progress, which it is from the scheduler to the end of its callback.

        What ``engine.download_async`` fetches is in progress until it has its response. Of another engine nobody knows.
        """
        in_progress: Any = getattr(getattr(self._crawler.engine, "_slot", None), "inprogress", None)
        return not isinstance(in_progress, set) or request in in_progress

    @contextmanager
    def parked(self, request: Request | None, size: int) -> Iterator[None]:
        """Park a request whose response has ``size`` bytes; None for an item, which takes no place."""
        active: Any = getattr(getattr(self._crawler.engine, "downloader", None), "active", None)
        is_active = isinstance(active, set) and request in active
        self._bytes += size
        self._count += 1
        if is_active:
            active.discard(request)
            wake_engine(self._crawler)
        try:
            yield
        finally:
            self._bytes -= size
            self._count -= 1
            if is_active:
                active.add(request)

    def _spider_idle(self) -> None:
        if self._count:
            raise DontCloseSpider


class Ticket:
    """A place in the queue of a key, which has to be released.

    The lock of the key is acquired in the order of the tickets, however long their holders take to ask for it.
    """

    def __init__(self, queues: dict[Hashable, deque[Ticket]], key: Hashable) -> None:
        self._queues, self._key = queues, key
        queues.setdefault(key, deque()).append(self)
        self.wakeup: Deferred[None] | None = None
        """Fires when the ticket may acquire the lock; None while nobody waits with it."""

    async def acquire(self) -> None:
        """Wait until all earlier tickets of the queue are released."""
        if self._queues[self._key][0] is not self:
            self.wakeup = Deferred()
            await maybe_deferred_to_future(self.wakeup)

    def release(self) -> None:
        """Leave the queue and wake the first ticket in it; a second call does nothing."""
        queue = self._queues.get(self._key)
        if queue is None or self not in queue:
            return
        queue.remove(self)
        if not queue:
            del self._queues[self._key]
        elif (wakeup := queue[0].wakeup) is not None and not wakeup.called:
            wakeup.callback(None)
