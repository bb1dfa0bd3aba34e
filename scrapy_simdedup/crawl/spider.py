"""The spider middlewares: they drop what the downloader middleware tagged, and watch the delivery of the rest.

The outer one (10) stands next to the engine and sees the end of a callback's output; the inner one (100000) stands next
to the callback and sees whether it is called and whether it raises, before another middleware can swallow that.
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
    """Drops tagged pages, or their items, and notes when a callback's output ended."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        runtime.enabled_parts.add("outer")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DeliveryOuterMiddleware:
        """Share the crawler's runtime."""
        return cls(Runtime.of(crawler))

    def process_spider_input(self, response: Response) -> None:
        """Keep a repeated page from its callback.

        Raises:
            NearDuplicatePage: the page is dropped.
        """
        verdict = self.runtime.handler.dropped_page_verdict(response)
        if verdict is not None:
            raise NearDuplicatePage(response, verdict)

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass the output on, count what delivery depends on, and take out the items of a repeated page."""
        runtime = self.runtime
        fingerprint = runtime.crawler.request_fingerprinter.fingerprint
        delivery = runtime.delivery_tracker.delivery_of(response)
        drop_items = runtime.handler.drops(response) is not None
        try:
            async for output in result:
                if isinstance(output, Request):
                    # A page that links to itself is no retry: the scheduler filters such a request, unless told not to.
                    if (
                        delivery is not None
                        and output.dont_filter
                        and response.request is not None
                        and fingerprint(output) == fingerprint(response.request)
                    ):
                        delivery.fail("retried")
                elif output is not None:
                    if drop_items:
                        runtime.stats.item_dropped()
                        continue
                    await runtime.markdown.add(output, response)
                    if delivery is not None:
                        delivery.pending_items += 1
                yield output
        except Exception:
            if delivery is not None:
                delivery.fail("callback_error")
                runtime.delivery_tracker.output_ended(delivery)
            raise
        if delivery is not None:
            if response.meta.get(META_DELIVER) is False:
                delivery.fail("not_delivered")
            runtime.delivery_tracker.output_ended(delivery)


class DeliveryInnerMiddleware:
    """Notes that a callback is called, and whether it raised."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        runtime.enabled_parts.add("inner")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DeliveryInnerMiddleware:
        """Share the crawler's runtime."""
        return cls(Runtime.of(crawler))

    def process_spider_input(self, response: Response) -> None:
        """Note that the callback is called now."""
        delivery = self.runtime.delivery_tracker.delivery_of(response)
        if delivery is not None:
            self.runtime.delivery_tracker.callback_started(delivery)

    def process_spider_exception(self, response: Response, exception: Exception) -> Iterable[Any] | None:
        """Swallow our own exception; note every other and leave it to those who handle it."""
        if isinstance(exception, NearDuplicatePage):
            exception.__traceback__ = None  # with its frames it would hold the page until the garbage collector comes
            return ()
        delivery = self.runtime.delivery_tracker.delivery_of(response)
        if delivery is not None:
            delivery.fail("callback_error")
            if isinstance(exception, CloseSpider):  # the only one that Scrapy sends no spider_error for
                self.runtime.delivery_tracker.output_ended(delivery)
        return None
