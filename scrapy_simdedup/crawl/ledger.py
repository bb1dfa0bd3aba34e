"""Reserved → confirmed | released: when a page counts as delivered.

Scrapy has no signal "callback finished, all its items are through". It is put together here from what the two spider
middlewares see (the callback was reached, its output is exhausted) and from the item signals.
"""

from __future__ import annotations

import time
import weakref
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_simdedup.detect.verdict import PageRef


class Delivery:
    """A reserved page on its way through callback and pipelines."""

    def __init__(self, page: PageRef) -> None:
        self.page = page
        self.reached = False
        """The callback was called; output without this is an errback's."""
        self.exhausted = False
        """All output of the callback was taken."""
        self.open_items = 0
        """Items that are still in the pipelines."""
        self.failure: str | None = None
        """The first thing that went wrong, as a label for the stats."""
        self.settled = False

    def fail(self, why: str) -> None:
        """Note a failure; the first one counts."""
        self.failure = self.failure or why


class Busy:
    """The time in which at least one thing was going on."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._going_on = 0
        self._since = 0.0

    def begin(self) -> None:
        """One more thing goes on."""
        if not self._going_on:
            self._since = time.monotonic()
        self._going_on += 1

    def end(self) -> None:
        """One of them ended."""
        self._going_on -= 1
        if not self._going_on:
            self.seconds += time.monotonic() - self._since


class Ledger:
    """The deliveries of one crawl, by request.

    Requests are held weakly: one that dies without reaching a callback (another middleware raised, a download was
    awaited inside a callback) releases its page.

    Args:
        settle: called once per page, with the reason why it is released, or None if it was delivered.
        items_count: whether a page is delivered only when its items are through the pipelines.
    """

    def __init__(self, settle: Callable[[PageRef, str | None], None], *, items_count: bool = True) -> None:
        self._settle = settle
        self._items_count = items_count
        self._deliveries: weakref.WeakKeyDictionary[Request, Delivery] = weakref.WeakKeyDictionary()
        self._pages: dict[tuple[str, int], Delivery] = {}
        # The garbage collector may run in any thread, so it only leaves a note here.
        self._orphans: deque[Delivery] = deque()
        self._delivered = 0
        self._work = Busy()

    def open(self, request: Request, page: PageRef) -> None:
        """A page was reserved."""
        before = self._deliveries.get(request)
        if before is not None:
            self._end(before, "refetched")
        delivery = self._deliveries[request] = self._pages[page.site, page.id] = Delivery(page)
        weakref.finalize(request, self._orphans.append, delivery).atexit = False
        self.sweep()

    def of(self, response: Response) -> Delivery | None:
        """The delivery that a response belongs to."""
        request = response.request
        return None if request is None else self._deliveries.get(request)

    def has(self, page: PageRef) -> bool:
        """Whether this process is delivering the page right now."""
        return (page.site, page.id) in self._pages

    @property
    def in_work(self) -> int:
        """How many pages this process is delivering right now."""
        return len(self._pages)

    def reach(self, delivery: Delivery) -> None:
        """The callback is called now."""
        if not delivery.reached:
            delivery.reached = True
            self._work.begin()

    def item_through(self, delivery: Delivery, failure: str | None) -> None:
        """An item of the page left the pipelines, or failed there."""
        delivery.open_items -= 1
        if failure and self._items_count:
            delivery.fail(failure)
        self.check(delivery)

    def exhaust(self, delivery: Delivery) -> None:
        """The callback's output came to its end, by itself or by an exception."""
        delivery.exhausted = True
        self.check(delivery)

    def check(self, delivery: Delivery) -> None:
        """Settle the page if nothing of it is on its way any more."""
        if delivery.exhausted and not (delivery.open_items > 0 and self._items_count):
            self._end(delivery, delivery.failure or (None if delivery.reached else "never_reached"))

    def sweep(self) -> None:
        """Release the pages whose requests died."""
        while self._orphans:
            self._end(self._orphans.popleft(), "request_died")

    @property
    def seconds_per_page(self) -> float:
        """What callbacks and pipelines took per delivered page: the time in which any was at work, shared out."""
        return self._work.seconds / self._delivered if self._delivered else 0.0

    def close(self) -> None:
        """The spider closed: what was not delivered by now will not be."""
        self.sweep()
        for delivery in list(self._pages.values()):
            self._end(delivery, delivery.failure or "closed")

    def _end(self, delivery: Delivery, failure: str | None) -> None:
        if not delivery.settled:
            delivery.settled = True
            self._pages.pop((delivery.page.site, delivery.page.id), None)
            if delivery.reached:
                self._work.end()
            self._delivered += failure is None
            self._settle(delivery.page, failure)
