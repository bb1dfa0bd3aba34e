"""Scrapy's side: middlewares, pipeline, delivery, stats, skipped requests; and the crawl that all of them belong to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_simdedup.crawl.stats import CrawlStats
    from scrapy_simdedup.detect.detector import NearDuplicateDetector
    from scrapy_simdedup.errors import StoreError
    from scrapy_simdedup.settings import DedupSettings


@dataclass(frozen=True, slots=True)
class Crawl:
    """What most parts of the plugin use in a crawl."""

    crawler: Crawler
    settings: DedupSettings
    detector: NearDuplicateDetector
    stats: CrawlStats
    store_failed: Callable[[StoreError], None]
    """Counts a failure of the store, and mentions it in the log."""
