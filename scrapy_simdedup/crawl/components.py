"""The components that Scrapy asks for: the add-on, which enables the others, and the three middlewares.

``ADDONS = {"scrapy_simdedup.Addon": 500}`` is all that a project has to configure. The downloader middleware has
requests filtered and pages judged, the spider middlewares drop pages and watch delivery. Of these two the outer one
(-100000) stands next to the engine: it sees which items get there, and when a callback's output ends. The inner one
(100000) stands next to the callback and sees whether it is called and whether it raises, before another middleware can
swallow that.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable
from typing import Any, cast

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider, NotConfigured
from scrapy.http import Response
from scrapy.settings import BaseSettings

from scrapy_simdedup.crawl.delivery import Delivery
from scrapy_simdedup.crawl.exceptions import FailSafe, NearDuplicatePage, SkippedRequest, refusing
from scrapy_simdedup.crawl.links import META_DEFERRED, META_TRIAL
from scrapy_simdedup.crawl.live_stats import LiveStats
from scrapy_simdedup.crawl.requests import handler_name, is_opted_in, passes_item_on
from scrapy_simdedup.crawl.response_handler import META_DROPS, META_VERDICT
from scrapy_simdedup.crawl.runtime import META_DELIVER, RuntimeComponent
from scrapy_simdedup.crawl.second_fetch import META_SECOND
from scrapy_simdedup.settings import DedupSettings

DOWNLOADER_PRIORITY = 540
"""Behind retries, redirects and decompression (550 and up), and behind a project's own middlewares at 543."""
OUTER_PRIORITY, INNER_PRIORITY = -100_000, 100_000
"""Next to the engine, and next to the callback: an item that a middleware further out swallows seems to be on its way
for ever, and its repeats wait for it."""
PIPELINE_PRIORITY = 900
"""Behind the pipelines that clean items."""
logger = logging.getLogger(__name__)


class Addon:
    """Enables all parts of the plugin, each at its priority; a part that the project enabled itself stays as it is."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Addon:
        """The add-on of a crawler."""
        return cls(crawler)

    def update_settings(self, settings: BaseSettings) -> None:
        """Called by Scrapy before the crawl.

        Raises:
            SettingError: a ``SIMDEDUP_`` setting cannot be used.
            NotConfigured: ``SIMDEDUP_ENABLED`` is off.
        """
        with refusing(self._crawler):
            ours = DedupSettings.from_settings(settings)
        if not ours.enabled:
            raise NotConfigured
        enable = settings.setdefault_in_component_priority_dict
        enable("DOWNLOADER_MIDDLEWARES", NearDuplicateDownloaderMiddleware, DOWNLOADER_PRIORITY)
        enable("SPIDER_MIDDLEWARES", DeliveryOuterMiddleware, OUTER_PRIORITY)
        enable("SPIDER_MIDDLEWARES", DeliveryInnerMiddleware, INNER_PRIORITY)
        if ours.item_fields:
            # Brings itemadapter and whatever kinds of items that knows, pydantic among them.
            from scrapy_simdedup.crawl.pipeline import NearDuplicatePipeline  # noqa: PLC0415

            enable("ITEM_PIPELINES", NearDuplicatePipeline, PIPELINE_PRIORITY)


class NearDuplicateDownloaderMiddleware(RuntimeComponent):
    """Judges pages. Without the spider middlewares it also drops repeats; these see more, and drop them otherwise."""

    part = "downloader"

    @property
    def live(self) -> LiveStats:
        """The figures of the crawl so far."""
        return self.runtime.live

    async def process_request(self, request: Request) -> Request | Response | None:
        """Give the page if it is at hand; raise SkippedRequest or LinkNotFollowed if the request is not made."""
        # Where a user copies response.meta into a request, the verdict is that of another page.
        request.meta.pop(META_VERDICT, None)
        skipper, is_second = self.runtime.url_skipper, META_SECOND in request.meta
        is_deferred = META_DEFERRED in request.meta or META_TRIAL in request.meta
        if skipper.mode == "off" and not is_deferred and not is_second:
            return None
        with FailSafe("Could not look at the request of %s; it is made", request.url):
            replacement = await self.runtime.links.filter(request) if is_deferred else None
            if replacement is None and skipper.mode != "off":
                replacement = await skipper.filter(request)
                if replacement is None:
                    skipper.observations.sent(request)
            return self.runtime.second_fetches.answer(request) if is_second and replacement is None else replacement
        return None

    async def process_response(self, request: Request, response: Response) -> Response:
        """Judge and tag the response; raise NearDuplicatePage where no spider middleware is there to drop a repeat."""
        if self.runtime.url_skipper.mode != "off":
            self.runtime.url_skipper.observations.answered(request)
        try:
            return await self.runtime.handler.process(request, response)
        finally:
            if META_TRIAL in request.meta:
                with FailSafe("Could not count what became of the link to %s", request.url):
                    self.runtime.links.answered(request, response, request.meta.get(META_VERDICT))

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Note that no response comes."""
        self.runtime.links.failed(request, is_known=isinstance(exception, SkippedRequest))


class DeliveryOuterMiddleware(RuntimeComponent):
    """Drops tagged pages, or their items, and notes when a callback's output ended."""

    part = "outer"

    def process_spider_input(self, response: Response) -> None:
        """Raise :class:`NearDuplicatePage` to keep a repeat from its callback."""
        verdict = self.runtime.handler.dropped_page_verdict(response)
        if verdict is not None:
            raise NearDuplicatePage(response, verdict)

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass the output on, count what delivery depends on, and take out the items of a repeated page.

        The links that only repeated pages bring are deferred.
        """
        runtime = self.runtime
        delivery = runtime.delivery_tracker.delivery_of(response)
        drop_items = runtime.handler.drops(response) is not None
        is_errback = runtime.handler.dropped_page_verdict(response) is not None
        chain = runtime.links.chain_of(response)
        made_request, begun = False, [0]
        try:
            async for output in result:
                if is_errback and isinstance(output, Request):
                    if self._asks_again(output, response):
                        continue
                    output.meta[META_DROPS] = response.meta.get(META_DROPS, 0)
                if isinstance(output, Request):
                    made_request = True
                    if delivery is not None:
                        self._note_request(delivery, output, response)
                    self._note_begun_item(output, response, begun)
                    request = output if chain is None else runtime.links.defer(output, response, chain)
                    if request is not None:
                        yield request
                elif output is None:
                    yield output
                elif drop_items or await runtime.item_values.drops(output, response):
                    runtime.stats.increment("items/dropped")
                    if delivery is not None:  # of a page that is kept: its item was delivered before
                        delivery.gave_item = True
                else:
                    await self._note_item(delivery, output, response)
                    yield output
        except Exception:
            if delivery is not None:
                delivery.fail("callback_error")
                runtime.delivery_tracker.output_ended(delivery)
            runtime.item_values.output_ended(response, failed=True)
            raise
        self._callback_ended(response, delivery, made_request=made_request)

    def _callback_ended(self, response: Response, delivery: Delivery | None, *, made_request: bool) -> None:
        """Note that a callback's output came to its end by itself."""
        if self.runtime.handler.drops(response) is None:
            self._note_arguments(response)
        self.runtime.links.callback_ended(response, made_request=made_request)
        is_refused = response.meta.get(META_DELIVER) is False
        self.runtime.item_values.output_ended(response, refused=is_refused)
        if delivery is not None:
            if is_refused:
                delivery.fail("not_delivered")
            self.runtime.delivery_tracker.output_ended(delivery)

    def _asks_again(self, request: Request, response: Response) -> bool:
        """Whether an errback asks for a dropped page again: it would be dropped again, and so on for ever."""
        asks_again = False
        with FailSafe("Could not look at a request that the errback of %s made", response.url):
            spider, own = self.runtime.crawler.spider, cast("Request", response.request)
            fingerprint = self.runtime.crawler.request_fingerprinter.fingerprint
            is_same = is_opted_in(request) and fingerprint(request) == fingerprint(own)
            asks_again = is_same and handler_name(request, spider) == handler_name(own, spider)
        if asks_again:
            logger.debug("Not made: %s, for which an errback asks again; it would be dropped again", request)
        return asks_again

    async def _note_item(self, delivery: Delivery | None, item: Any, response: Response) -> None:
        """Fill the content fields of an item, and have the delivery of its page wait for the item."""
        await self.runtime.content_fields.add(item, response)
        self._note_arguments(response, item)
        if "pipeline" in self.runtime.enabled_parts:
            self.runtime.item_pages[id(item)] = item, response.url
        if delivery is not None:
            delivery.pending_items += 1

    def _note_arguments(self, response: Response, item: Any = None) -> None:
        """Note an item, or None for the end of a callback, for the arguments with which the callback was called."""
        with FailSafe("Could not look at what the request of %s brought along", response.url):
            if item is not None:
                self.runtime.arguments.item_given(item, response)
            else:
                verdict = _verdict_of(response)
                page = verdict.get("page") or {}
                keys = (page.get("key"), verdict.get("original_key"))
                self.runtime.arguments.output_ended(response, *(key for key in keys if key is not None))

    def _note_begun_item(self, request: Request, response: Response, begun: list[int]) -> None:
        """Note a request that may have an item finished of a page that is not what an earlier run had.

        It matters where such pages are dropped. ``begun`` counts the requests of the callback.
        """
        with FailSafe("Could not look at what the request for %s brings along", request.url):
            verdict = _verdict_of(response)
            is_news = verdict.get("kind") in {"new", "changed", "near"} or verdict.get("reason") == "other_arguments"
            if is_news and self.runtime.settings.is_anywhere("unchanged", "drop"):
                self.runtime.arguments.request_made(request, begun)

    def _note_request(self, delivery: Delivery, request: Request, response: Response) -> None:
        """Note what a request says about the delivery of the page whose callback made it."""
        with FailSafe("Could not look at a request that the callback of %s made", response.url):
            if not delivery.passes_item_on and passes_item_on(request, response):
                delivery.passes_item_on = True
                handler = handler_name(cast("Request", response.request), self.runtime.crawler.spider)
                self.runtime.detector.passes_items_on(handler, url=response.url)
        own = response.request
        if own is None or not request.dont_filter:  # a link of a page to itself is no retry: the scheduler filters it
            return
        fingerprint = self.runtime.crawler.request_fingerprinter.fingerprint
        urls = own.url, *own.meta.get("redirect_urls", ())
        if fingerprint(request) in {fingerprint(own.replace(url=url)) for url in urls}:
            delivery.fail("retried")
        elif request.method == "POST":
            delivery.fills_in_form = True


def _verdict_of(response: Response) -> dict[str, Any]:
    """The verdict on a page, as its request has it; empty for a response that was not judged."""
    return {} if response.request is None else response.meta.get(META_VERDICT) or {}


class DeliveryInnerMiddleware(RuntimeComponent):
    """Notes that a callback is called, and whether it raised."""

    part = "inner"

    def process_spider_input(self, response: Response) -> None:
        """Note that the callback is called now."""
        delivery = self.runtime.delivery_tracker.delivery_of(response)
        if delivery is not None:
            self.runtime.delivery_tracker.callback_started(delivery)

    def process_spider_exception(self, response: Response, exception: Exception) -> Iterable[Any] | None:
        """Swallow ``NearDuplicatePage``; note every other exception, and leave it to Scrapy."""
        if isinstance(exception, NearDuplicatePage):
            exception.__traceback__ = None  # with its frames it would hold the page until the garbage collector comes
            return ()
        self.runtime.item_values.callback_failed(response)
        if self.runtime.handler.drops(response) is not None:
            self.runtime.links.callback_failed(response)
        delivery = self.runtime.delivery_tracker.delivery_of(response)
        if delivery is not None:
            delivery.fail("callback_error")
            if isinstance(exception, CloseSpider):  # the only one that Scrapy sends no spider_error for
                self.runtime.delivery_tracker.output_ended(delivery)
        return None
