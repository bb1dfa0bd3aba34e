"""The downloader middleware: requests are looked at by their URLs, responses get their verdicts and a tag."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy_simdedup.crawl.exceptions import SkippedRequest
from scrapy_simdedup.crawl.gate import META_VERDICT
from scrapy_simdedup.crawl.runtime import Runtime

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)


class NearDuplicateDownloaderMiddleware:
    """Judges pages. Alone it also drops them; beside the spider middlewares it leaves that to those, which see more."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime, self.live = runtime, runtime.live
        runtime.parts.add("downloader")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NearDuplicateDownloaderMiddleware:
        """Share the crawler's runtime."""
        return cls(Runtime.of(crawler))

    async def process_request(self, request: Request) -> Request | None:
        """Ask whether the request's URL leads to known content, and hold it back while its site is left alone.

        Raises:
            SkippedRequest: it need not be made.
        """
        # It is another page's, and comes along where a user copies response.meta.
        request.meta.pop(META_VERDICT, None)
        try:
            instead = await self.runtime.guide.advise(request)
            if instead is None:
                self.runtime.guide.examples.sent(request)
                await self.runtime.walls.hold(request)
        except SkippedRequest:
            raise
        except Exception:  # whatever went wrong in us must not cost the user a page
            logger.exception("Could not look at the request of %s; it is made", request.url)
            return None
        return instead

    async def process_response(self, request: Request, response: Response) -> Response:
        """Judge the response and tag it.

        Raises:
            NearDuplicatePage: it is a repeat, and no spider middleware is there to drop it.
        """
        self.runtime.guide.examples.answered(request)
        return await self.runtime.gate.process(request, response)
