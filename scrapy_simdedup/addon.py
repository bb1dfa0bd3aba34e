"""``ADDONS = {"scrapy_simdedup.Addon": 500}`` and nothing else to configure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from scrapy_simdedup.crawl.downloader import NearDuplicateDownloaderMiddleware
from scrapy_simdedup.crawl.spider import DeliveryInnerMiddleware, DeliveryOuterMiddleware
from scrapy_simdedup.settings import DedupSettings

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

DOWNLOADER = 540
"""Behind retries, redirects and decompression (550 and up), and behind a project's own middlewares at 543."""
OUTER, INNER = 10, 100_000
"""Next to the engine, and next to the callback."""
PIPELINE = 900
"""Behind the pipelines that clean items."""


class Addon:
    """Switches all parts on, each where it belongs; a user's own entry for a part is left as it is."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Called by Scrapy before the crawl.

        Raises:
            SettingError: a ``SIMDEDUP_`` setting cannot be used.
            NotConfigured: ``SIMDEDUP_ENABLED`` is off.
        """
        ours = DedupSettings.from_settings(settings)
        if not ours.enabled:
            raise NotConfigured
        enable = settings.setdefault_in_component_priority_dict
        enable("DOWNLOADER_MIDDLEWARES", NearDuplicateDownloaderMiddleware, DOWNLOADER)
        enable("SPIDER_MIDDLEWARES", DeliveryOuterMiddleware, OUTER)
        enable("SPIDER_MIDDLEWARES", DeliveryInnerMiddleware, INNER)
        if ours.item_fields:
            # Brings itemadapter and whatever kinds of items that knows, pydantic among them.
            from scrapy_simdedup.crawl.pipeline import NearDuplicatePipeline  # noqa: PLC0415

            enable("ITEM_PIPELINES", NearDuplicatePipeline, PIPELINE)
