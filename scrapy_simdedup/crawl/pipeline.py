"""The item pipeline: drops items that repeat items."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from itemadapter import ItemAdapter
from scrapy import signals

from scrapy_simdedup.crawl.exceptions import FailSafe, NearDuplicateItem
from scrapy_simdedup.crawl.items import comparable_item, item_url
from scrapy_simdedup.crawl.runtime import Runtime, RuntimeComponent
from scrapy_simdedup.detect.names import site_of
from scrapy_simdedup.detect.verdict import PageRef

logger = logging.getLogger(__name__)
MAX_PENDING_ITEMS = 10_000
"""Items whose end is awaited at a time; an item that a later pipeline replaced by another never ends."""
ANY_CLASS = ""
"""Stands for the name of an item's class where the fields are those of all classes."""


class NearDuplicatePipeline(RuntimeComponent):
    """Drops an item whose text repeats a delivered item.

    The text is that of ``SIMDEDUP_ITEM_FIELDS``; without that setting, of all fields that hold no URL. Items of another
    class, or with another number, date or truth value in these fields, are no repeats. As with pages, only items of one
    site are compared, in the sense of ``SIMDEDUP_SCOPE``: that of the item's field ``url``, ``link`` or ``href``, or
    else of the page that the item came from. Place the pipeline behind those that clean items: an item counts as
    delivered when Scrapy reports it as scraped, or with its feed, as ``SIMDEDUP_CONFIRM`` says.
    """

    part = "pipeline"

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime)
        fields = runtime.settings.item_fields
        self.fields: Mapping[str, tuple[str, ...]] = fields if isinstance(fields, Mapping) else {ANY_CLASS: fields}
        """By the name of an item's class, the fields that are compared."""
        self._unseen = {name: dict.fromkeys(fields) for name, fields in self.fields.items()}
        """By the name of an item's class, the fields that no item had so far."""
        self._unseen_classes = dict.fromkeys(self.fields)
        self._has_items = False
        # Item objects are held, so that no other object can get the id of one that is still on its way.
        self._pending_items: dict[int, tuple[Any, PageRef]] = {}
        for signal in (signals.item_scraped, signals.item_dropped, signals.item_error):
            runtime.crawler.signals.connect(self._item_ended, signal)
        runtime.crawler.signals.connect(self._closed, signals.spider_closed)

    async def process_item(self, item: Any) -> Any:
        """Pass the item on, or raise :class:`NearDuplicateItem` if it repeats an item that was delivered."""
        with FailSafe("Could not judge an item of type %s; it is kept", type(item).__name__):
            await self._judge(item)
        return item

    async def _judge(self, item: Any) -> None:
        adapter, (_, page_url) = ItemAdapter(item), self.runtime.item_pages.pop(id(item), (None, ""))
        self._has_items, name = True, self._class_name(item)
        if name is None:
            return
        self._unseen_classes.pop(name, None)
        for field in [field for field in self._unseen[name] if field in adapter]:
            del self._unseen[name][field]
        texts, identity = comparable_item(adapter, self.fields[name], type(item).__qualname__)
        if not texts or not self.runtime.handler.is_open:
            return
        url = item_url(adapter) or page_url
        site = f"items of {self.runtime.crawler.spidercls.name} from {site_of(url, self.runtime.settings.scope)}"
        verdict = await self.runtime.judge.judge_item(texts, url=url, site=site, identity=identity)
        if verdict.is_duplicate and self.runtime.settings.mode != "observe":
            self.runtime.stats.increment("items/dropped")
            raise NearDuplicateItem(
                f"Repeats the item of {verdict.original or 'another page'} (similarity {verdict.similarity:.3f})",
                log_level="DEBUG",
            )
        if verdict.page is not None:
            self._pending_items[id(item)] = (item, verdict.page)
            if len(self._pending_items) > MAX_PENDING_ITEMS:
                lost, _ = self._pending_items[next(iter(self._pending_items))]
                self._item_ended(lost, failure="lost")

    def _class_name(self, item: Any) -> str | None:
        """The name under which the fields of an item's class are set; None if they are not, so that it is kept."""
        if ANY_CLASS in self.fields:
            return ANY_CLASS
        names = (name for of in type(item).__mro__ for name in (f"{of.__module__}.{of.__qualname__}", of.__name__))
        return next((name for name in names if name in self.fields), None)

    def _closed(self) -> None:
        """Say which fields no item had: most likely they are misspelt."""
        if not self._has_items:
            return
        for name in self._unseen_classes:
            logger.warning(
                "No item was of the class %r of SIMDEDUP_ITEM_FIELDS, so none was compared by its fields: write the "
                "name of a class, or its import path",
                name,
            )
        for name, unseen in self._unseen.items():
            if unseen:
                self.runtime.stats.increment("items/fields_unseen", amount=len(unseen))
            if unseen and name not in self._unseen_classes:
                logger.warning(
                    "No item%s had the fields %s of SIMDEDUP_ITEM_FIELDS, so they were not compared",
                    f" of the class {name!r}" if name != ANY_CLASS else "",
                    ", ".join(map(repr, unseen)),
                )

    def _item_ended(self, item: Any, exception: BaseException | None = None, failure: object = None) -> None:
        # A later pipeline that returns another object leaves the item reserved: its repeats are then kept.
        self.runtime.item_pages.pop(id(item), None)
        _, page = self._pending_items.pop(id(item), (None, None))
        if page is not None:
            self.runtime.settler.item_ended(page, "item_error" if exception or failure else None)
