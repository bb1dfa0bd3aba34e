"""What Scrapy's signals tell of deliveries: items that came through the pipelines or did not, callbacks that raised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals

from scrapy_simdedup.crawl.exceptions import NearDuplicateItem

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_simdedup.crawl.ledger import Ledger


class Outcomes:
    """Tells the ledger. To be held as long as the crawl runs: signals hold nobody."""

    def __init__(self, crawler: Crawler, ledger: Ledger) -> None:
        self._ledger = ledger
        connect = crawler.signals.connect
        connect(self._item_scraped, signals.item_scraped)
        connect(self._item_dropped, signals.item_dropped)
        connect(self._item_error, signals.item_error)
        connect(self._spider_error, signals.spider_error)

    def _item_scraped(self, response: Response | None) -> None:
        self._item_ended(response, None)

    def _item_dropped(self, response: Response | None, exception: BaseException) -> None:
        self._item_ended(response, None if isinstance(exception, NearDuplicateItem) else "item_dropped")

    def _item_error(self, response: Response | None) -> None:
        self._item_ended(response, "item_error")

    def _item_ended(self, response: Response | None, failure: str | None) -> None:
        delivery = None if response is None else self._ledger.of(response)
        if delivery is not None:
            self._ledger.item_through(delivery, failure)

    def _spider_error(self, response: Response | None) -> None:
        # An errback's failure comes without a response of ours.
        delivery = None if response is None else self._ledger.of(response)
        if delivery is not None:
            delivery.fail("callback_error")
            self._ledger.exhaust(delivery)
