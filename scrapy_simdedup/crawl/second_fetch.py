"""Second fetches: pages that were dropped, and would be kept now, as their original turned out to be a stub.

The forty dates of one course have one headline and one description, and each a line of its own. The first eight pages
cannot tell them from one page with a quote of the day, so all but one are dropped. Once they are told apart, their
requests are made once more, and what they answer is kept.

A job that is stopped and resumed (``JOBDIR``) goes on with what it dropped.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from scrapy.utils.request import request_from_dict

from scrapy_simdedup.crawl.links import META_DEFERRED, META_TRIAL

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_simdedup.crawl.stats import CrawlStats
    from scrapy_simdedup.detect.verdict import Verdict

    Original: TypeAlias = tuple[str, bytes]

logger = logging.getLogger(__name__)

META_SECOND = "simdedup_second"
"""Marks the requests that are made once more."""
META_OF_FIRST = frozenset({META_DEFERRED, META_TRIAL, "retry_times"})
"""What the first fetch may have in its meta, and the second one has not."""
STATE = "simdedup_dropped"
"""Where the requests of a job are in ``spider.state``, which Scrapy keeps in a JOBDIR."""
MAX_REQUESTS = 5_000
"""Requests of dropped pages that are remembered, some 3 KB each; the original without a repeat for longest is forgotten
first."""


class SecondFetches:
    """Remembers the requests of pages that may have been dropped wrongly, and makes them once more where they were.

    Pages whose lines are all those of their original are none of them, and neither are answers to anything but GET.
    """

    def __init__(self, crawler: Crawler, stats: CrawlStats) -> None:
        self._crawler, self._stats = crawler, stats
        self._dropped: OrderedDict[Original, list[Request]] = OrderedDict()
        """By the site and the key of the original."""
        self._count = 0
        self._stubs: set[Original] = set()
        """The originals that are known to be stubs."""
        self._saved: dict[Original, list[dict[str, Any]]] | None = None
        """The same requests as a JOBDIR can hold them; None until the first page of the crawl is dropped."""

    def is_owed(self, request: Request, site: str, verdict: Verdict) -> bool:
        """Whether a page that was fetched once more is kept, though the store does not say that its original is a stub.

        Its record may be lost, or another record of the cluster is more like the page. What is dropped again would be
        fetched again, and so on.
        """
        return META_SECOND in request.meta and (site, verdict.original_key) in self._stubs

    def page_dropped(self, request: Request, site: str, verdict: Verdict) -> None:
        """Remember the request of a dropped page that has a line of its own."""
        if verdict.other_line is None or verdict.original_key is None or request.method != "GET":
            return
        key, saved = (site, verdict.original_key), self._saved_requests()
        self._remember(key, request)
        with suppress(ValueError):  # its callback is no method of the spider, so a JOBDIR cannot hold it
            saved.setdefault(key, []).append(request.to_dict(spider=self._crawler.spider))
        if key in self._stubs:  # it is the page by which the stub was found, or was judged before
            self._fetch(key)
        while self._count > MAX_REQUESTS:
            oldest, forgotten = self._dropped.popitem(last=False)
            saved.pop(oldest, None)
            self._count -= len(forgotten)

    def stub_found(self, site: str, original: bytes) -> None:
        """Make the requests once more whose pages were dropped for an original that is a stub."""
        self._stubs.add((site, original))
        self._fetch((site, original))

    def _remember(self, key: Original, request: Request) -> None:
        self._dropped.setdefault(key, []).append(request)
        self._dropped.move_to_end(key)
        self._count += 1

    def _saved_requests(self) -> dict[Original, list[dict[str, Any]]]:
        """What a JOBDIR gets to hold; at the first call, what it held is remembered."""
        if self._saved is None:
            state = getattr(self._crawler.spider, "state", None) if self._crawler.settings.get("JOBDIR") else None
            self._saved = {} if state is None else state.setdefault(STATE, {})
            for key, requests in self._saved.items():
                for request in requests:
                    self._restore(key, request)
        return self._saved

    def _restore(self, key: Original, request: dict[str, Any]) -> None:
        try:
            self._remember(key, request_from_dict(request, spider=self._crawler.spider))
        except ValueError:
            logger.warning("%s cannot be fetched once more: the spider lacks its callback by now", request["url"])

    def _fetch(self, key: Original) -> None:
        self._saved_requests().pop(key, None)
        requests = self._dropped.pop(key, [])
        self._count -= len(requests)
        for request in requests:
            meta = {name: value for name, value in request.meta.items() if name not in META_OF_FIRST}
            meta[META_SECOND] = True
            try:  # the dupefilter knows the request already
                self._crawler.engine.crawl(request.replace(dont_filter=True, meta=meta))
            except Exception:  # the crawl is closing
                logger.exception("%s was dropped for a stub, and could not be fetched once more", request.url)
            else:
                self._stats.page_fetched_twice()
