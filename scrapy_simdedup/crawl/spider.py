"""The spider middlewares: they drop what the downloader middleware tagged, and see how delivery goes.

The outer one (10) stands next to the engine and sees the end of a callback's output; the inner one (100000) stands next
to the callback and sees whether it was reached and whether it raised, before another middleware can swallow that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.exceptions import CloseSpider

from scrapy_simdedup.crawl.exceptions import NearDuplicatePage
from scrapy_simdedup.crawl.runtime import META_DELIVER, Runtime

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from scrapy.crawler import Crawler
    from scrapy.http import Response


class DeliveryOuterMiddleware:
    """Drops tagged pages, or their items, and notes when a callback's output is exhausted."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        runtime.parts.add("outer")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DeliveryOuterMiddleware:
        """Share the crawler's runtime."""
        return cls(Runtime.of(crawler))

    def process_spider_input(self, response: Response) -> None:
        """Keep a repeated page from its callback."""
        verdict = self.runtime.gate.drops_page(response)
        if verdict is not None:
            raise NearDuplicatePage(response, verdict)

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass the output on, count what delivery depends on, and take out the items of a repeated page."""
        runtime = self.runtime
        delivery = runtime.ledger.of(response)
        drop_items = runtime.gate.drops(response) is not None
        try:
            async for output in result:
                if isinstance(output, Request):
                    # A page that links to itself is no retry: the scheduler filters such a request, unless told not to.
                    again = output.dont_filter and runtime.is_same_request(output, response.request)
                    if delivery is not None and again:
                        delivery.fail("retried")
                elif output is not None:
                    if drop_items:
                        runtime.tally.item_dropped()
                        continue
                    runtime.markdown.add(output, response)
                    if delivery is not None:
                        delivery.open_items += 1
                yield output
        except Exception:
            if delivery is not None:
                delivery.fail("callback_error")
                runtime.ledger.exhaust(delivery)
            raise
        if delivery is not None:
            if response.meta.get(META_DELIVER) is False:
                delivery.fail("not_delivered")
            runtime.ledger.exhaust(delivery)


class DeliveryInnerMiddleware:
    """Notes that a callback was reached, and whether it raised."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        runtime.parts.add("inner")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DeliveryInnerMiddleware:
        """Share the crawler's runtime."""
        return cls(Runtime.of(crawler))

    def process_spider_input(self, response: Response) -> None:
        """The callback is next."""
        delivery = self.runtime.ledger.of(response)
        if delivery is not None:
            self.runtime.ledger.reach(delivery)

    def process_spider_exception(self, response: Response, exception: Exception) -> Iterable[Any] | None:
        """Swallow our own exception; note every other and leave it to those who handle it."""
        if isinstance(exception, NearDuplicatePage):
            exception.__traceback__ = None  # with its frames it would hold the page until the garbage collector comes
            return ()
        delivery = self.runtime.ledger.of(response)
        if delivery is not None:
            delivery.fail("callback_error")
            if isinstance(exception, CloseSpider):  # the only one that Scrapy sends no spider_error for
                self.runtime.ledger.exhaust(delivery)
        return None
