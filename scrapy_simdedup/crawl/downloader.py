"""The downloader middleware: filters requests by their URLs, and has responses judged."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy_simdedup.crawl.exceptions import LinkNotFollowed, SkippedRequest
from scrapy_simdedup.crawl.response_handler import META_VERDICT
from scrapy_simdedup.crawl.runtime import Runtime

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_simdedup.crawl.live_stats import LiveStats

logger = logging.getLogger(__name__)


class NearDuplicateDownloaderMiddleware:
    """Judges pages. Alone it also drops them; beside the spider middlewares it leaves that to those, which see more."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime: Runtime = runtime
        self.live: LiveStats = runtime.live
        runtime.enabled_parts.add("downloader")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NearDuplicateDownloaderMiddleware:
        """Share the crawler's runtime."""
        return cls(Runtime.of(crawler))

    async def process_request(self, request: Request) -> Request | None:
        """Ask whether the request's URL leads to known content.

        Raises:
            LinkNotFollowed: only repeats link to the URL, and links like it lead to known content.
            SkippedRequest: the URL leads to known content, so the request is not made.
        """
        # Where a user copies response.meta into a request, the verdict is that of another page.
        request.meta.pop(META_VERDICT, None)
        skipper = self.runtime.url_skipper
        try:
            replacement = await self.runtime.links.filter(request)
            if replacement is None and skipper.mode != "off":
                replacement = await skipper.filter(request)
                if replacement is None:
                    skipper.observations.sent(request)
        except (LinkNotFollowed, SkippedRequest):
            raise
        except Exception:  # whatever went wrong in us must not cost the user a page
            logger.exception("Could not look at the request of %s; it is made", request.url)
            return None
        return replacement

    async def process_response(self, request: Request, response: Response) -> Response:
        """Judge the response and tag it.

        Raises:
            NearDuplicatePage: it is a repeat, and no spider middleware is there to drop it.
        """
        if self.runtime.url_skipper.mode != "off":
            self.runtime.url_skipper.observations.answered(request)
        try:
            return await self.runtime.handler.process(request, response)
        finally:
            try:
                self.runtime.links.answered(request, response, request.meta.get(META_VERDICT))
            except Exception:  # whatever went wrong in us must not cost the user a page
                logger.exception("Could not count what became of the link to %s", request.url)

    def process_exception(self, request: Request, exception: Exception) -> None:  # noqa: ARG002 - Scrapy's signature
        """Note that no response comes."""
        self.runtime.links.failed(request)
