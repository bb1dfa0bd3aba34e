"""The item pipeline: drops items that repeat items."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy import signals

from scrapy_simdedup.crawl.exceptions import NearDuplicateItem
from scrapy_simdedup.crawl.items import item_texts, item_url
from scrapy_simdedup.crawl.runtime import Runtime
from scrapy_simdedup.detect.names import site_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_simdedup.detect.verdict import PageRef

logger = logging.getLogger(__name__)

MAX_PENDING_ITEMS = 10_000
"""Items whose end is awaited at a time; an item that a later pipeline replaced by another never ends."""


class NearDuplicatePipeline:
    """Drops an item whose text repeats that of an item that was delivered.

    The text is that of ``SIMDEDUP_ITEM_FIELDS``; without that setting, of all text fields that hold no URL. As with
    pages, only items of one site are compared, in the sense of ``SIMDEDUP_SCOPE``: that of the item's field ``url``,
    ``link`` or ``href``. Place the pipeline behind those that clean items: an item counts as delivered when Scrapy
    reports it as scraped.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.fields: tuple[str, ...] = runtime.settings.item_fields
        runtime.enabled_parts.add("pipeline")
        # Item objects are held, so that no other object can get the id of one that is still on its way.
        self._pending_items: dict[int, tuple[Any, PageRef]] = {}
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
        if not texts or not self.runtime.handler.is_open:
            return item
        url = item_url(adapter)
        site = f"items of {self.runtime.crawler.spidercls.name} from {site_of(url, self.runtime.settings.scope)}"
        verdict = await self.runtime.judge.judge_item(texts, url=url, site=site)
        if verdict.is_duplicate and self.runtime.settings.mode != "observe":
            self.runtime.stats.item_dropped()
            raise NearDuplicateItem(
                f"Repeats the item of {verdict.original or 'another page'} (similarity {verdict.similarity:.3f})",
                log_level="DEBUG",
            )
        if verdict.page is not None:
            self._pending_items[id(item)] = (item, verdict.page)
            if len(self._pending_items) > MAX_PENDING_ITEMS:
                lost, _ = self._pending_items[next(iter(self._pending_items))]
                self._failed(lost)
        return item

    def _scraped(self, item: Any) -> None:
        self._settle(item, None)

    def _failed(self, item: Any) -> None:
        self._settle(item, "item_error")

    def _settle(self, item: Any, failure: str | None) -> None:
        # A later pipeline that returns another object leaves the item reserved: its repeats are then kept.
        _, page = self._pending_items.pop(id(item), (None, None))
        if page is not None:
            self.runtime.settler.write_outcome(page, failure)
