"""Second fetches: pages that were dropped, and would be kept now, as their original turned out to be a stub.

The forty dates of one course have one headline and one description, and each a line of its own. The first eight pages
cannot tell them from one page with a quote of the day, so all but one are dropped. Once they are told apart, their
requests are made once more, and what they answer is kept. As long as there is room the answer is what was dropped:
a server may be busy the second time.

A job that is stopped and resumed (``JOBDIR``) goes on with what it dropped.
"""

from __future__ import annotations

import logging
import weakref
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from scrapy.utils.request import request_from_dict

from scrapy_simdedup.crawl.links import META_DEFERRED, META_TRIAL

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

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
MAX_HELD_BYTES = 32_000_000
"""Bytes of dropped pages that are held, in all; what has no room is fetched from the server once more."""
FLAG = "simdedup-"
"""The beginning of the flags that the first verdict gave a response."""


class SecondFetches:
    """Remembers pages that may have been dropped wrongly, and makes their requests once more where they were.

    Pages whose lines are all those of their original are none of them, and neither are answers to anything but GET.
    """

    def __init__(self, crawler: Crawler, stats: CrawlStats) -> None:
        self._crawler, self._stats = crawler, stats
        self._dropped: OrderedDict[Original, list[tuple[Request, Response | None]]] = OrderedDict()
        """By the site and the key of the original; without the response where there was no room for it."""
        self._count = self._held_bytes = 0
        self._answers: weakref.WeakKeyDictionary[Request, Response] = weakref.WeakKeyDictionary()
        """What the second requests are answered with, as far as they are still in memory."""
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

    def answer(self, request: Request) -> Response | None:
        """The page that was dropped, for a request that is made once more; None where it has to be fetched."""
        response = self._answers.pop(request, None)
        return None if response is None else response.replace(request=request)

    def page_dropped(self, request: Request, response: Response, site: str, verdict: Verdict) -> None:
        """Remember a dropped page that has a line of its own."""
        if verdict.other_line is None or verdict.original_key is None or request.method != "GET":
            return
        key, saved = (site, verdict.original_key), self._saved_requests()
        has_room = self._held_bytes + len(response.body) <= MAX_HELD_BYTES
        self._remember(key, request, response.replace(request=None) if has_room else None)
        with suppress(ValueError):  # its callback is no method of the spider, so a JOBDIR cannot hold it
            saved.setdefault(key, []).append(request.to_dict(spider=self._crawler.spider))
        if key in self._stubs:  # it is the page by which the stub was found, or was judged before
            self._fetch(key)
        while self._count > MAX_REQUESTS:
            oldest = next(iter(self._dropped))
            saved.pop(oldest, None)
            self._take(oldest)

    def stub_found(self, site: str, original: bytes) -> None:
        """Make the requests once more whose pages were dropped for an original that is a stub."""
        self._stubs.add((site, original))
        self._fetch((site, original))

    def _remember(self, key: Original, request: Request, response: Response | None) -> None:
        self._dropped.setdefault(key, []).append((request, response))
        self._dropped.move_to_end(key)
        self._count += 1
        self._held_bytes += 0 if response is None else len(response.body)

    def _take(self, key: Original) -> list[tuple[Request, Response | None]]:
        taken = self._dropped.pop(key, [])
        self._count -= len(taken)
        self._held_bytes -= sum(len(response.body) for _, response in taken if response is not None)
        return taken

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
            self._remember(key, request_from_dict(request, spider=self._crawler.spider), None)
        except ValueError:
            logger.warning("%s cannot be fetched once more: the spider lacks its callback by now", request["url"])

    def _fetch(self, key: Original) -> None:
        self._saved_requests().pop(key, None)
        for request, response in self._take(key):
            meta = {name: value for name, value in request.meta.items() if name not in META_OF_FIRST}
            meta[META_SECOND] = True
            again = request.replace(dont_filter=True, meta=meta)  # the dupefilter knows the request already
            if response is not None:
                flags = [flag for flag in response.flags if not flag.startswith(FLAG)]
                self._answers[again] = response.replace(flags=flags)  # without its request, which may die in a queue
            try:
                self._crawler.engine.crawl(again)
            except Exception:  # the crawl is closing
                logger.exception("%s was dropped for a stub, and could not be fetched once more", request.url)
            else:
                self._stats.page_fetched_twice()
