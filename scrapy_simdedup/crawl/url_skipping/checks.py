"""The checks of rules: URLs that are fetched once more, to see whether a page or a rule about URLs was wrong."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.utils.request import request_from_dict

from scrapy_simdedup.crawl.requests import serialize_request
from scrapy_simdedup.crawl.url_skipping.observations import META_CHECK

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_simdedup.crawl.stats import CrawlStats
    from scrapy_simdedup.urls import Question, UrlLearner

logger = logging.getLogger(__name__)

MAX_REMEMBERED = 5000
"""Requests that are remembered, in order to make them once more; some kilobytes each."""


class UrlChecks:
    """Asks what the learner wants to know, by the requests that were made for these URLs before.

    Such a request goes through the scheduler, the downloader's delay and robots.txt as any other. Its page reaches the
    callback only if its content is new. A question that gets no answer is taken for one against the rule.
    """

    def __init__(self, crawler: Crawler, stats: CrawlStats) -> None:
        self._crawler, self._stats = crawler, stats
        self._learner: UrlLearner | None = None
        self._requests: dict[str, dict[str, Any]] = {}
        """URL → its request as plain values, the latest ones."""

    def open(self, learner: UrlLearner) -> None:
        """Ask what this learner wants to know from now on."""
        self._learner = learner

    def remember(self, request: Request) -> None:
        """Remember a request that is made, in case its page raises a question."""
        try:
            values = serialize_request(request, self._crawler.spider)
        except ValueError:  # it can never be made again
            return
        self._requests.pop(request.url, None)
        self._requests[request.url] = values
        if len(self._requests) > MAX_REMEMBERED:
            del self._requests[next(iter(self._requests))]

    def ask(self) -> int:
        """Schedule the requests for all questions that there are; how many were scheduled."""
        return sum(self._ask(question) for question in self._learner.questions()) if self._learner is not None else 0

    def _ask(self, question: Question) -> bool:
        values = self._requests.get(question.url) or self._requests.get(question.doubted_url)
        if values is None:
            return False
        try:
            request = request_from_dict(dict(values), spider=self._crawler.spider).replace(
                url=question.url,
                errback=None,
                dont_filter=True,  # the dupefilter knows it already
            )
            request.meta.update({META_CHECK: question.known_url or question.url, "dont_redirect": True})
            self._crawler.engine.crawl(request)
        except Exception:  # the crawl is closing, or the spider has lost a callback
            logger.exception("%s could not be scheduled once more", question.url)
            return False
        self._stats.url_asked()
        return True
