"""Parking: repeats wait for their originals outside of the downloader's places, so that the crawl goes on meanwhile."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import DontCloseSpider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler

MAX_PARKED_BYTES = 32_000_000
"""Bytes of pages and items that may wait at a time; with what Scrapy makes of a page it takes a few times as many."""


class Parking:
    """Takes requests out of the downloader's places while their responses wait in a downloader middleware.

    Scrapy counts a request as active until all middlewares are through with its response, and makes no more than
    ``CONCURRENT_REQUESTS`` at a time. A parked request is not active; it is still in progress, so that a crawl that is
    stopped waits for it, and the spider is not idle. Where another downloader has no such set, the places stay taken.

    Args:
        max_bytes: how much may be parked.
    """

    def __init__(self, crawler: Crawler, max_bytes: int = MAX_PARKED_BYTES) -> None:
        self._crawler, self._max_bytes = crawler, max_bytes
        self._bytes = self._count = 0
        crawler.signals.connect(self._spider_idle, signals.spider_idle)

    def has_room(self, size: int) -> bool:
        """Whether so many bytes can be parked."""
        return self._bytes + size <= self._max_bytes

    @contextmanager
    def parked(self, request: Request | None, size: int) -> Iterator[None]:
        """Park a request whose response has ``size`` bytes; None for an item, which takes no place."""
        active: Any = getattr(getattr(self._crawler.engine, "downloader", None), "active", None)
        is_active = isinstance(active, set) and request in active
        self._bytes += size
        self._count += 1
        if is_active:
            active.discard(request)
            self._ask_for_more()
        try:
            yield
        finally:
            self._bytes -= size
            self._count -= 1
            if is_active:
                active.add(request)

    def _ask_for_more(self) -> None:
        """Tell the engine, which looks for free places when a request ends, and every five seconds."""
        slot = getattr(self._crawler.engine, "_slot", None)
        nextcall = getattr(slot, "nextcall", None)
        if nextcall is not None:
            nextcall.schedule()

    def _spider_idle(self) -> None:
        if self._count:
            raise DontCloseSpider
