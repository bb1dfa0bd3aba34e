"""Links that only repeats bring: they wait behind all other requests, and then are tried pattern by pattern.

1. A repeat whose links were all requested, or were on a repeat before, is dropped without its callback. So is any
   repeat whose callback made no request for so many pages that it seems to make none.
2. The callback of any other repeat is called for its requests. Each goes into the scheduler as a *deferred* request:
   with a priority below all others, and past the dupefilter, so that a kept page that brings the link as well has it
   fetched in its turn.
3. When a deferred request comes out of the scheduler, its *pattern* decides: the path with numbers masked, and the
   names of the parameters. While that is open, the request goes into the scheduler once more, as an ordinary one: now
   the dupefilter, and whoever else filters requests, has its say. What comes of it is a trial of the pattern.
4. A pattern ends when the upper bound for the share of its links that lead to new content is below 5 %. Its other links
   are left: :class:`~scrapy_simdedup.LinkNotFollowed`. Only a page that an earlier run delivered is visited again.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, cast
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.http import Response, TextResponse

from scrapy_simdedup.crawl import Crawl
from scrapy_simdedup.crawl.concurrency import KeyedCondition
from scrapy_simdedup.crawl.exceptions import FailSafe, LinkNotFollowed
from scrapy_simdedup.crawl.link_memory import (
    CONFIDENCE_Z,
    END_BOUND,
    MAX_CHAIN,
    MAX_LINKS,
    LinkMemory,
    LinkPatterns,
    link_pattern,
)
from scrapy_simdedup.crawl.requests import handler_name, is_ordinary
from scrapy_simdedup.page.parse import parse
from scrapy_simdedup.urls.evidence import wilson_bound

logger = logging.getLogger(__name__)
META_DEFERRED = "simdedup_deferred"
"""Marks a deferred request with the priority that it had, and its chain: how many repeats in a row lead to it."""
META_TRIAL = "simdedup_trial"
"""The meta key of a trial request, with its pattern and its chain."""
STATE = "simdedup_links"
"""Where the counts of the patterns are in ``spider.state``, which Scrapy keeps in a JOBDIR."""
MAX_HEADINGS = 100_000
"""Headings of trials that are remembered; beyond, each counts as new."""
LAST_PRIORITY = -1_000_000_000
"""The priority of deferred requests; those of a pattern are spread over some thirty priorities from there down."""
WAIT_SECONDS = 1.0
"""How long a deferred request waits for the trials of its pattern that are on their way, before it is put back."""
QUEUE_HEAD = 4
"""Bytes at the head of the file in which Scrapy keeps the requests of one priority in a JOBDIR."""
NO_CONTENT_STATUSES = frozenset({404, 410})
"""Statuses that say that a link leads to nothing. Any other error may be one of the moment."""


class DeferredLinks:
    """Says which repeats bring new links, defers these, and tries them. The detector has the secret once it is open."""

    _memory: LinkMemory

    def __init__(self, crawl: Crawl) -> None:
        self._crawler, self._settings, self._detector = crawl.crawler, crawl.settings, crawl.detector
        self._stats = crawl.stats
        self._depth_priority = crawl.crawler.settings.getint("DEPTH_PRIORITY")
        self._follows = self._defers = False
        self._trial_ended = KeyedCondition()
        self._requesting: set[str] = set()
        """Handlers that made a request of some page."""
        self._silent_pages: Counter[str] = Counter()
        """Pages of each handler that made no request so far."""
        self._headings: set[int] = set()
        """Hashes of headings of pages that were near another, with their patterns."""
        self._chains: WeakKeyDictionary[Request, int] = WeakKeyDictionary()
        """Requests of repeats whose links are deferred → the chain of these links."""

    def open(self, *, tracks_delivery: bool) -> None:
        """Begin; ``tracks_delivery``: the spider middlewares are there, so that links can be deferred."""
        policy = self._settings.links if self._settings.mode == "pages" else "drop"
        self._defers = policy == "defer" and tracks_delivery
        self._follows = policy != "drop"
        if self._follows:
            self._memory = LinkMemory(self._settings.scope, self._detector.secret, MAX_LINKS)
            self._crawler.signals.connect(self._scheduled, signals.request_scheduled)
            self._crawler.signals.connect(self._filtered, signals.request_dropped)

    # ------------------------------------------------------------------ repeats

    def brings_new(self, request: Request, response: Response) -> bool:
        """Whether a repeat has a new link to its own site: not requested, and on no repeat before; or nobody knows."""
        if not self._follows:
            return False
        try:
            if self._defers and self._makes_no_requests(request):
                return False
            urls = self._memory.links_to_own_site(cast("TextResponse", response), self._settings.max_page_bytes)
            return urls is None or self._memory.has_new(urls, response.url)
        except Exception:  # a page that cannot be read must not cost the links that a callback may find
            logger.warning("The links of %s could not be read, so it is followed", response.url, exc_info=True)
            return True

    def callback_ended(self, response: Response, *, made_request: bool) -> None:
        """Note whether a callback made a request of a page: that of a spider with a list of URLs never does."""
        if not self._defers or response.request is None:
            return
        with FailSafe("Could not note what the callback of %s made", response.url):
            handler = handler_name(response.request, self._crawler.spider)
            if made_request:
                self._requesting.add(handler)
            elif handler not in self._requesting:
                self._silent_pages[handler] += 1

    def callback_failed(self, response: Response) -> None:
        """Let the next repeat be followed for the links of one whose callback failed."""
        if self._follows:
            with FailSafe("Could not forget the links of %s", response.url):
                page = cast("TextResponse", response)
                urls = self._memory.links_to_own_site(page, self._settings.max_page_bytes)
                self._memory.forget(urls or (), page.url)

    def _makes_no_requests(self, request: Request) -> bool:
        """Whether the callback of a page made no request so far, and for so many pages that it may be said of all."""
        handler = handler_name(request, self._crawler.spider)
        bound = wilson_bound(0, self._silent_pages[handler], CONFIDENCE_Z)
        return handler not in self._requesting and bound < END_BOUND

    def follow(self, request: Request) -> None:
        """Expect the requests of a repeat, whose callback is called for them."""
        if self._defers:
            _, chain = request.meta.get(META_TRIAL) or ("", 0)
            self._chains[request] = chain + 1

    def chain_of(self, response: Response) -> int | None:
        """The chain of the links of a repeat; None for a page whose requests are not deferred."""
        return None if response.request is None else self._chains.get(response.request)

    def defer(self, request: Request, response: Response, chain: int) -> Request | None:
        """The request as a repeat may pass it on: deferred, if it is one for a link of the site, or else as it is.

        None if the link was requested, or is deferred already.
        """
        with FailSafe("Could not defer the link to %s, so it is followed", request.url):
            key, own = self._memory.key(request.url), self._memory.key(response.url)
            if key is None or own is None or key[0] != own[0] or not self._is_link(request):
                return request
            if not self._memory.request(key[1]):
                return None
            if self._memory.is_full:  # it might be deferred again and again
                return request
            self._stats.increment("links/deferred")
            # Each link has about its place in a random order of its pattern, as those that were met first may all be of
            # one part of the site. Powers of two are few priorities, and all patterns have their first trials first.
            place = int(self._patterns.defer(link_pattern(request.url, chain)) * key[1] / 2**64)
            return request.replace(
                priority=LAST_PRIORITY - place.bit_length(),
                dont_filter=True,
                meta={**request.meta, META_DEFERRED: [request.priority, chain]},
            )
        return request

    def _is_link(self, request: Request) -> bool:
        """Whether a request is an ordinary one, with the priority of all others of its depth."""
        return is_ordinary(request) and request.priority == -request.meta.get("depth", 0) * self._depth_priority

    # ------------------------------------------------------------------ requests

    async def filter(self, request: Request) -> Request | None:
        """Let a request pass (None), give the one to be scheduled in its place, or raise :class:`LinkNotFollowed`."""
        if not self._defers:  # a job may be taken up with other settings
            request.meta.pop(META_TRIAL, None)
        if (trial := request.meta.get(META_TRIAL)) is not None:
            self._patterns.begin(trial[0], request)
            return None
        mark = request.meta.pop(META_DEFERRED, None)
        if mark is None:
            return None
        priority, chain = mark
        if not self._defers:
            return request.replace(priority=priority, dont_filter=False)
        pattern = link_pattern(request.url, chain)
        if self._patterns.is_undecided(pattern):
            await self._trial_ended.wait(pattern, WAIT_SECONDS)
            if self._patterns.is_undecided(pattern):  # lest it takes the place of those that it waits for
                return request.replace(meta={**request.meta, META_DEFERRED: mark})
        bound = self._patterns.bound(pattern)
        if bound < END_BOUND:
            key = self._crawler.request_fingerprinter.fingerprint(request)
            if await self._detector.was_delivered(url=request.url, key=key):  # its page may have changed since
                return request.replace(priority=priority, dont_filter=False)
            request.priority, request.dont_filter = priority, False  # as it was, for an errback
            self._stats.link_left(bound)
            raise LinkNotFollowed(request.url, pattern, bound)
        meta = {**request.meta, META_TRIAL: [pattern, chain]}
        trial = request.replace(priority=priority, dont_filter=False, meta=meta)
        self._patterns.begin(pattern, trial)
        return trial

    def answered(self, request: Request, response: Response, verdict: Mapping[str, Any] | None) -> None:
        """Count the result of a trial request, by its response and the verdict on the response, if there is one."""
        pattern, chain = request.meta[META_TRIAL]
        is_new = _is_new(response.status, verdict, chain=chain)
        if is_new and verdict is not None and verdict["kind"] == "near":
            is_new = self._has_new_heading(cast("TextResponse", response), pattern)
        if not is_new:  # it may be kept to be on the safe side; its links are those of a repeat all the same
            self.follow(request)
        self._end(request, is_new)

    def failed(self, request: Request, *, is_known: bool) -> None:
        """Note a trial without a response; ``is_known`` where a rule about URLs expects a known content."""
        self._end(request, False if is_known else None)

    def _has_new_heading(self, response: TextResponse, pattern: str) -> bool:
        """Whether the heading of a page is new among the near pages behind the pattern.

        Variants of a list or a form have one heading; twins that differ in little else have their own.
        """
        root = parse(response.text, max_bytes=self._settings.max_page_bytes, with_html_methods=False).root
        heading = None if root is None else next(root.iter("h1"), next(root.iter("title"), None))
        if heading is None or len(self._headings) >= MAX_HEADINGS:
            return True
        key = self._memory.hash(pattern, " ".join("".join(heading.itertext()).split()))
        is_new = key not in self._headings
        self._headings.add(key)
        return is_new

    def _end(self, request: Request, is_new: bool | None) -> None:
        # Where a user copies response.meta, the mark would make a trial of another request.
        trial = request.meta.pop(META_TRIAL, None)
        if trial is None:
            return
        self._patterns.end(trial[0], request, is_new=is_new)
        if is_new is not None:
            self._stats.increment("links/tried")
        if is_new:
            self._stats.increment("links/tried_new")
        self._trial_ended.notify(trial[0])

    def _scheduled(self, request: Request) -> None:
        key = self._memory.key(request.url) if request.method == "GET" else None  # a form sent there is no visit
        if key is not None:
            self._memory.request(key[1])

    def _filtered(self, request: Request) -> None:
        """A trial was requested by a kept page meanwhile; or it was redirected to a page that was."""
        if META_TRIAL in request.meta:
            self._end(request, False if request.meta.get("redirect_urls") else None)

    @cached_property
    def _patterns(self) -> LinkPatterns:
        """Asked for late, as Scrapy gives a spider its state when it is opened, as we are."""
        state = getattr(self._crawler.spider, "state", None)
        return LinkPatterns({} if state is None else state.setdefault(STATE, {}))


def remove_headless_queues(jobdir: str) -> None:
    """Remove the files of a job's queue that have no head, before Scrapy opens one.

    A process that is killed leaves them, as what is written to a file stays in memory at first, and the deferred
    requests have a file for each of their priorities. Scrapy would lose every request that it is to put into one.
    """
    for file in Path(jobdir, "requests.queue").rglob("*"):
        with suppress(OSError):
            if file.suffix != ".json" and file.is_file() and file.stat().st_size < QUEUE_HEAD:
                file.unlink()


def _is_new(status: int, verdict: Mapping[str, Any] | None, chain: int) -> bool | None:
    """Whether a trial led to new content; None where that is not known.

    What a captcha or a failing server answers says nothing about the links, nor does a page of which an earlier run had
    the content. Behind a long chain a stub is more likely the answer of a server that ignores the end of a path.
    """
    if verdict is None:
        return False if status in NO_CONTENT_STATUSES else True if 200 <= status < 300 else None
    if verdict["kind"] == "stub":
        return None if chain <= MAX_CHAIN else False
    if verdict["kind"] == "unchanged" and verdict["is_duplicate"]:
        return None
    return not verdict["is_duplicate"]
