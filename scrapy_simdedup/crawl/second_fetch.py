"""Second fetches: pages that were dropped, and would be kept now, as their original turned out to be a stub.

The forty dates of one course have one headline and one description, and each a line of its own. The first eight pages
cannot tell them from one page with a quote of the day, so all but one are dropped. Once they are told apart, their
requests are made once more, and what they answer is kept.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import TYPE_CHECKING

from scrapy_simdedup.crawl.links import META_DEFERRED, META_TRIAL

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_simdedup.crawl.stats import CrawlStats
    from scrapy_simdedup.detect.verdict import Verdict

logger = logging.getLogger(__name__)

MAX_REQUESTS = 5_000
"""Requests of dropped pages that are remembered, some 3 KB each; the original without a repeat for longest is forgotten
first."""


class SecondFetches:
    """Remembers the requests of pages that may have been dropped wrongly, and makes them once more where they were.

    Pages whose lines are all those of their original are none of them, and neither are answers to anything but GET.
    """

    def __init__(self, crawler: Crawler, stats: CrawlStats) -> None:
        self._crawler, self._stats = crawler, stats
        self._dropped: OrderedDict[tuple[str, bytes], list[Request]] = OrderedDict()
        """By the site and the key of the original."""
        self._count = 0
        self._stubs: set[tuple[str, bytes]] = set()
        """The originals that are known to be stubs."""

    def page_dropped(self, request: Request, site: str, verdict: Verdict) -> None:
        """Remember the request of a dropped page that has a line of its own."""
        if verdict.other_line is None or verdict.original_key is None or request.method != "GET":
            return
        key = site, verdict.original_key
        self._dropped.setdefault(key, []).append(request)
        self._dropped.move_to_end(key)
        self._count += 1
        if key in self._stubs:  # it is the page by which the stub was found, or was judged before
            self._fetch(key)
        while self._count > MAX_REQUESTS:
            _, forgotten = self._dropped.popitem(last=False)
            self._count -= len(forgotten)

    def stub_found(self, site: str, original: bytes) -> None:
        """Make the requests once more whose pages were dropped for an original that is a stub."""
        self._stubs.add((site, original))
        self._fetch((site, original))

    def _fetch(self, key: tuple[str, bytes]) -> None:
        requests = self._dropped.pop(key, [])
        self._count -= len(requests)
        for request in requests:
            meta = {name: value for name, value in request.meta.items() if name not in {META_DEFERRED, META_TRIAL}}
            try:  # the dupefilter knows the request already
                self._crawler.engine.crawl(request.replace(dont_filter=True, meta=meta))
            except Exception:  # the crawl is closing
                logger.exception("%s was dropped for a stub, and could not be fetched once more", request.url)
            else:
                self._stats.page_fetched_twice()
