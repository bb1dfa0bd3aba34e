"""The Scrapy add-on: ``ADDONS = {"scrapy_simdedup.Addon": 500}`` is all that a project has to configure."""

from __future__ import annotations

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings

from scrapy_simdedup.crawl.middlewares import (
    DeliveryInnerMiddleware,
    DeliveryOuterMiddleware,
    NearDuplicateDownloaderMiddleware,
)
from scrapy_simdedup.crawl.refusal import refusing
from scrapy_simdedup.settings import DedupSettings

DOWNLOADER_PRIORITY = 540
"""Behind retries, redirects and decompression (550 and up), and behind a project's own middlewares at 543."""
OUTER_PRIORITY, INNER_PRIORITY = -100_000, 100_000
"""Next to the engine, and next to the callback: an item that a middleware further out swallows seems to be on its way
for ever, and its repeats wait for it."""
PIPELINE_PRIORITY = 900
"""Behind the pipelines that clean items."""


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
