"""The delivery of pages: a reserved page is confirmed once its items are through, or released when that failed.

Scrapy has no signal "callback finished, all its items are through". It is put together here from what the two spider
middlewares see (the callback was started, its output ended) and from the item signals.
"""

from __future__ import annotations

import logging
import time
import weakref
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_simdedup.crawl import Crawl
from scrapy_simdedup.crawl.concurrency import BackgroundTasks, KeyedCondition
from scrapy_simdedup.crawl.exceptions import NearDuplicateItem
from scrapy_simdedup.detect.verdict import PageRef
from scrapy_simdedup.errors import SettingError

FEED_SECONDS = 300.0
"""How long a feed may take to be stored before its pages are released."""
FEED_REMEDY = "look above for why, set STATS_CLASS to one that keeps stats, or SIMDEDUP_CONFIRM to 'items'"
logger = logging.getLogger(__name__)


class Delivery:
    """A reserved page on its way through callback and pipelines; ``on_death`` is called when its request is no more."""

    def __init__(self, page: PageRef, request: Request, on_death: Callable[[Delivery], None]) -> None:
        self.page = page
        self.request: weakref.ref[Request] = weakref.ref(request, lambda _: on_death(self))
        self.callback_started = False
        """Whether the callback was called; output without this is an errback's."""
        self.output_ended = False
        self.pending_items = 0
        """Items of the page that are still in the pipelines."""
        self.gave_item = False
        """Whether an item of the page came through the pipelines, or repeats one that did."""
        self.passes_item_on = False
        """Whether the callback made a request that brings an item along."""
        self.fills_in_form = False
        """Whether the callback sends a form that no filter stops, as of a login page that came in place of another."""
        self.failure: str | None = None
        """The first thing that went wrong, as a label for the stats."""

    def fail(self, failure: str) -> None:
        """Note a failure; the first one counts."""
        self.failure = self.failure or failure


class DeliveryTracker:
    """The deliveries of one crawl, by request.

    Requests are held weakly: one that dies without reaching a callback (another middleware raised, a download was
    awaited inside a callback) releases its page. ``on_ended`` is called once per page, with the reason why it is
    released, or None if it was delivered, and whether it gave an item. Unless ``items_count``, a page does not wait for
    its items, and counts as if it gave some.
    """

    def __init__(self, on_ended: Callable[[PageRef, str | None, bool], None], *, items_count: bool = True) -> None:
        self._on_ended = on_ended
        self._items_count = items_count
        self._deliveries: weakref.WeakKeyDictionary[Request, Delivery] = weakref.WeakKeyDictionary()
        self._pages: dict[tuple[str, int], Delivery] = {}
        # The garbage collector may run in any thread, so it only leaves a note here.
        self._orphans: deque[Delivery] = deque()
        self._delivered = 0
        self._busy_seconds = self._busy_since = 0.0
        self._busy = 0
        """How many pages are in a callback or in pipelines; the busy time is that in which there is any."""

    def connect(self, crawler: Crawler) -> None:
        """Hear of items and errors by Scrapy's signals, which hold their receivers weakly."""
        for signal in (signals.item_scraped, signals.item_dropped, signals.item_error):
            crawler.signals.connect(self._item_ended, signal)
        crawler.signals.connect(self._spider_error, signals.spider_error)

    def track(self, request: Request, page: PageRef) -> None:
        """Watch the delivery of a page that was reserved."""
        before = self._deliveries.get(request)
        if before is not None:
            self._settle(before, "refetched")
        self._deliveries[request] = self._pages[page.site, page.id] = Delivery(page, request, self._orphans.append)
        self.release_dead()

    def delivery_of(self, response: Response | None) -> Delivery | None:
        """The delivery of a response's page; None where there is none."""
        request = None if response is None else response.request
        return None if request is None else self._deliveries.get(request)

    def is_in_work(self, page: PageRef) -> bool:
        """Whether this process is delivering a page right now."""
        return (page.site, page.id) in self._pages

    @property
    def in_work(self) -> int:
        """How many pages this process is delivering right now."""
        return len(self._pages)

    def callback_started(self, delivery: Delivery) -> None:
        """The callback is called now."""
        if not delivery.callback_started:
            delivery.callback_started = True
            if not self._busy:
                self._busy_since = time.monotonic()
            self._busy += 1

    def item_finished(self, delivery: Delivery, failure: str | None) -> None:
        """An item of the page left the pipelines, or failed there."""
        delivery.pending_items -= 1
        if failure is None:
            delivery.gave_item = True
        elif self._items_count:
            delivery.fail(failure)
        self._settle_if_done(delivery)

    def output_ended(self, delivery: Delivery) -> None:
        """The callback's output came to its end, by itself or by an exception."""
        delivery.output_ended = True
        self._settle_if_done(delivery)

    def release_dead(self) -> None:
        """Release the pages whose requests died."""
        while self._orphans:
            self._settle(self._orphans.popleft(), "request_died")

    def release_unclaimed(self, page: PageRef, is_under_way: Callable[[Request], bool]) -> None:
        """Release a page whose response a callback awaited itself: its request is not under way to a callback."""
        delivery = self._pages.get((page.site, page.id))
        request = None if delivery is None or delivery.callback_started else delivery.request()
        if delivery is not None and request is not None and not is_under_way(request):
            self._settle(delivery, "request_died")

    @property
    def seconds_per_page(self) -> float:
        """What callbacks and pipelines took per delivered page: the time in which any was at work, shared out."""
        return self._busy_seconds / self._delivered if self._delivered else 0.0

    def close(self) -> None:
        """Release all pages that were not delivered when the spider closed."""
        self.release_dead()
        for delivery in list(self._pages.values()):
            self._settle(delivery, delivery.failure or "closed")

    def _settle_if_done(self, delivery: Delivery) -> None:
        if delivery.output_ended and not (delivery.pending_items > 0 and self._items_count):
            if not delivery.callback_started:
                delivery.fail("never_reached")
            elif delivery.fills_in_form and self._items_count and not delivery.gave_item:
                delivery.fail("retried")
            self._settle(delivery, delivery.failure)

    def _settle(self, delivery: Delivery, failure: str | None) -> None:
        if self._pages.pop((delivery.page.site, delivery.page.id), None) is not None:  # else it is settled
            if delivery.callback_started:
                self._busy -= 1
                if not self._busy:
                    self._busy_seconds += time.monotonic() - self._busy_since
            self._delivered += failure is None
            self._on_ended(delivery.page, failure, delivery.gave_item or not self._items_count)

    def _item_ended(
        self, response: Response | None, exception: BaseException | None = None, failure: object = None
    ) -> None:
        """An item left the pipelines: with an exception if it was dropped, with a failure if a pipeline raised."""
        if (delivery := self.delivery_of(response)) is not None:
            is_dropped = exception is not None and not isinstance(exception, NearDuplicateItem)
            self.item_finished(delivery, "item_error" if failure else "item_dropped" if is_dropped else None)

    def _spider_error(self, response: Response | None) -> None:
        # An errback's failure comes without a response of ours.
        if (delivery := self.delivery_of(response)) is not None:
            delivery.fail("callback_error")
            self.output_ended(delivery)


class FeedConfirmation:
    """Holds delivered pages back until Scrapy's feed exporter has stored every feed: before that, no item is on disk.

    Raises :class:`~scrapy_simdedup.SettingError` without ``FEEDS``, as nothing would ever be confirmed.
    """

    def __init__(self, crawler: Crawler) -> None:
        if not crawler.settings.getdict("FEEDS"):
            raise SettingError("SIMDEDUP_CONFIRM", "feed", "add a feed to FEEDS, or write 'items'")
        self._crawler = crawler
        self.unconfirmed: list[Callable[[str | None], None]] = []
        """Functions of the failure that settle pages whose items are through the pipelines and not yet stored."""
        self._is_stored = self._has_items = False
        self._stored = KeyedCondition()
        crawler.signals.connect(self._item_scraped, signals.item_scraped)
        crawler.signals.connect(self._feeds_stored, signals.feed_exporter_closed)

    async def finish(self) -> None:
        """Wait for the feeds, then confirm the pages that were held back, or release them if a feed failed."""
        if not self._is_stored:
            await self._stored.wait("feeds", FEED_SECONDS)
        ends = {name.split("/")[1] for name in self._crawler.stats.get_stats() if name.startswith("feedexport/")}
        # One that could not even be opened is not counted by Scrapy, and some collectors of stats keep none.
        is_untold = not ends and self._has_items
        if is_untold:
            logger.error("No stat says that a feed was stored, so no page counts as delivered; %s", FEED_REMEDY)
        has_failed = is_untold or "failed_count" in ends
        for settle in self.unconfirmed:
            settle(None if self._is_stored and not has_failed else "feed_failed")
        self.unconfirmed.clear()

    def _item_scraped(self) -> None:
        self._has_items = True

    def _feeds_stored(self) -> None:
        self._is_stored = True
        self._stored.notify("feeds")


class DeliverySettler:
    """Confirms and releases pages in the store, when ``SIMDEDUP_CONFIRM`` says that it is time.

    ``on_settled`` is called with each page once its outcome is written, and whether it was delivered with an item, or
    is of those that give none.
    """

    def __init__(
        self,
        crawl: Crawl,
        page_settled: KeyedCondition,
        *,
        tasks: BackgroundTasks,
        on_settled: Callable[[PageRef, bool], None],
    ) -> None:
        self._detector, self._stats, self._page_settled = crawl.detector, crawl.stats, page_settled
        self._tasks, self._on_settled = tasks, on_settled
        self._feeds = FeedConfirmation(crawl.crawler) if crawl.settings.confirm == "feed" else None

    def delivery_ended(self, page: PageRef, failure: str | None, gave_item: bool = True) -> None:
        """Settle a page that callback and pipelines are through with; ``failure`` is None if all went well."""
        self._once_stored(partial(self.settle, page, gave_item=gave_item), failure)

    def item_ended(self, page: PageRef, failure: str | None) -> None:
        """Write the outcome of an item that was judged by itself; ``failure`` is None if the pipelines took it."""
        self._once_stored(partial(self.write_outcome, page), failure)

    def items_delivered(self, remember: Callable[[], Coroutine[None, None, None]]) -> None:
        """Remember items that callback and pipelines are through with, in the background, once they are stored."""
        self._once_stored(lambda failure: self._tasks.start(remember()) if failure is None else None)

    def _once_stored(self, settle: Callable[[str | None], None], failure: str | None = None) -> None:
        """Settle what failed now; all else once the feeds are stored, where they decide."""
        if failure is None and self._feeds is not None:
            self._feeds.unconfirmed.append(settle)
        else:
            settle(failure)

    def settle(self, page: PageRef, failure: str | None, gave_item: bool = True) -> None:
        """Count and write the outcome of a delivery."""
        self._stats.settled(failure, page.site, gave_item=gave_item)
        self.write_outcome(page, failure, gave_item)

    def write_outcome(self, page: PageRef, failure: str | None, gave_item: bool = True) -> None:
        """Confirm (None) or release a page in the store, in the background, and let its repeats go on."""
        self._tasks.start(self._write_to_store(page, failure, gave_item), waits=self._detector.store.waits)

    async def close(self) -> None:
        """Wait for the feeds, where they decide, and until all outcomes are written."""
        if self._feeds is not None:
            await self._feeds.finish()
        await self._tasks.drain()

    async def _write_to_store(self, page: PageRef, failure: str | None, gave_item: bool) -> None:
        delivered = False
        try:
            if failure is None:
                delivered = await self._detector.confirm(page, items=gave_item)
            else:
                await self._detector.release(page)
        finally:
            self._page_settled.notify((page.site, page.id))
            # What a URL leads to is not known while the next page with its content may give an item.
            self._on_settled(page, delivered and (gave_item or self._detector.gives_no_items(page)))
