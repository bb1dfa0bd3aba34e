"""The spider: it follows every link and yields what it reads. Nothing in it knows about repeats."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure


class ShopSpider(scrapy.Spider):
    """Reads the whole shop: ``scrapy crawl shop -a site=http://127.0.0.1:8077/``."""

    name = "shop"
    allowed_domains = ("127.0.0.1",)

    def __init__(self, site: str = "http://127.0.0.1:8077/", **kwargs: Any) -> None:
        super().__init__(start_urls=[site], **kwargs)

    def parse(self, response: Response) -> Iterator[Any]:
        if not isinstance(response, HtmlResponse):
            return  # the price list is a PDF
        for page in response.css("[data-id]"):
            yield {
                "url": response.url,
                "title": page.css("h1::text").get(),
                "kind": page.attrib["data-kind"],
                "id": page.attrib["data-id"],
                "text": "\n\n".join(page.css(".text::text").getall()),
            }
        for data in response.css("script#__NEXT_DATA__::text").getall():
            page = json.loads(data)["props"]["page"]
            yield {"url": response.url, **page, "text": "\n\n".join(page["text"])}
        yield from response.follow_all(css="a", errback=self.failed)

    def failed(self, failure: Failure) -> None:
        """Say in one line what could not be read, such as the page without an end."""
        if not failure.check(IgnoreRequest):
            self.logger.warning("Not read: %s, %r", failure.request, failure.value)
