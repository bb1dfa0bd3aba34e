"""The item pipeline: drops items that repeat items."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy import signals

from scrapy_simdedup.crawl.exceptions import NearDuplicateItem
from scrapy_simdedup.crawl.item_texts import item_texts, item_url
from scrapy_simdedup.crawl.runtime import Runtime
from scrapy_simdedup.detect.site import site_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_simdedup.detect.verdict import PageRef

logger = logging.getLogger(__name__)

MOST_ON_THE_WAY = 10_000
"""Items that are waited for at a time. Those that a later pipeline put others in the place of never come back."""


class NearDuplicatePipeline:
    """Drops an item whose text repeats that of an item which came through before.

    The text is that of ``SIMDEDUP_ITEM_FIELDS``; without that setting, of all text fields that hold no URL. As with
    pages, only items of one site are compared, in the sense of ``SIMDEDUP_SITE``: that of the item's field ``url``,
    ``link`` or ``href``. Place the pipeline behind those that clean items: an item counts as delivered when Scrapy
    reports it as scraped.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.fields = runtime.settings.item_fields
        runtime.parts.add("pipeline")
        # Item objects are held, so that no other object can get the id of one that is still on its way.
        self._on_the_way: dict[int, tuple[Any, PageRef]] = {}
        connect = runtime.crawler.signals.connect
        connect(self._scraped, signals.item_scraped)
        connect(self._failed, signals.item_dropped)
        connect(self._failed, signals.item_error)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NearDuplicatePipeline:
        """Share the crawler's runtime."""
        return cls(Runtime.of(crawler))

    async def process_item(self, item: Any) -> Any:
        """Pass the item on, or drop it.

        Raises:
            NearDuplicateItem: its text repeats that of an item that was delivered.
        """
        try:
            return await self._process(item)
        except NearDuplicateItem:
            raise
        except Exception:  # whatever went wrong in us must not cost the user an item
            logger.exception("Could not judge an item of type %s; it is kept", type(item).__name__)
            return item

    async def _process(self, item: Any) -> Any:
        adapter = ItemAdapter(item)
        texts = tuple(item_texts(adapter, self.fields))
        if not texts or not self.runtime.ready:
            return item
        url = item_url(adapter)
        site = f"items of {self.runtime.crawler.spidercls.name} from {site_of(url, self.runtime.settings.site)}"
        verdict = await self.runtime.judge.item(texts, url=url, site=site)
        if verdict.is_duplicate and self.runtime.settings.mode != "observe":
            self.runtime.tally.item_dropped()
            raise NearDuplicateItem(
                f"Repeats the item of {verdict.original or 'another page'} (similarity {verdict.similarity:.3f})",
                log_level="DEBUG",
            )
        if verdict.page is not None:
            self._on_the_way[id(item)] = (item, verdict.page)
            if len(self._on_the_way) > MOST_ON_THE_WAY:
                lost, _ = self._on_the_way[next(iter(self._on_the_way))]
                self._failed(lost)
        return item

    def _scraped(self, item: Any) -> None:
        self._settle(item, None)

    def _failed(self, item: Any) -> None:
        self._settle(item, "item_error")

    def _settle(self, item: Any, failure: str | None) -> None:
        # A later pipeline that returns another object leaves the item reserved: its repeats are then kept.
        _, page = self._on_the_way.pop(id(item), (None, None))
        if page is not None:
            self.runtime.settlement.write(page, failure)
