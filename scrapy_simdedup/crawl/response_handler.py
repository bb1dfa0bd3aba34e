"""The handler of responses: each gets its verdict and a tag, and is let through or dropped."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from scrapy import Request
from scrapy.dupefilters import BaseDupeFilter
from scrapy.http import Response
from scrapy.utils.datatypes import LocalCache
from scrapy.utils.misc import load_object

from scrapy_simdedup.crawl import Crawl
from scrapy_simdedup.crawl.arguments import META_BEGUN, CallbackArguments, brought_along
from scrapy_simdedup.crawl.delivery import DeliverySettler, DeliveryTracker
from scrapy_simdedup.crawl.exceptions import FailSafe, NearDuplicatePage
from scrapy_simdedup.crawl.item_values import ItemValues
from scrapy_simdedup.crawl.judge import Judge
from scrapy_simdedup.crawl.links import DeferredLinks
from scrapy_simdedup.crawl.live_stats import RedesignAlerts
from scrapy_simdedup.crawl.output_files import DroppedFeed, Reporter
from scrapy_simdedup.crawl.requests import (
    ImportedPages,
    PageEndings,
    handler_name,
    is_inspection,
    is_ordinary,
    is_page,
    read_response,
)
from scrapy_simdedup.crawl.second_fetch import ASKED, DOUBTFUL, META_ASKED_FOR, META_SECOND, SecondFetches
from scrapy_simdedup.crawl.url_journal import UrlObservations
from scrapy_simdedup.detect.names import site_of
from scrapy_simdedup.detect.verdict import FetchedPage, Reason, Verdict
from scrapy_simdedup.page.metadata import declared_canonical_url
from scrapy_simdedup.signals import better_copy_found, near_duplicate_dropped, page_changed
from scrapy_simdedup.unjudged import UNJUDGED

logger = logging.getLogger(__name__)
META_VERDICT = "simdedup_verdict"
META_IDENTITY = "simdedup_identity"
META_DROPS = "simdedup_drops"
"""How often a page was dropped for which an errback asks again, under other URLs; it goes from request to request."""
MAX_DROPS = 3
"""Drops in a row after which the page is kept, lest the errback asks for ever."""
NOT_MODIFIED = 304
GONE_STATUSES = frozenset({404, 410})
"""Statuses that say that the page of a URL is gone."""
PERMANENT_REDIRECTS = frozenset({301, 308})
"""Statuses of redirects that are meant to last."""
MAX_DROPPED_KEYS = 10_000
"""Keys of dropped pages that are remembered, the newest, where an errback may ask for them again and again."""


class ResponseHandler:
    """Decides for each response, once, and remembers what is to be dropped until the spider middlewares ask."""

    def __init__(
        self,
        crawl: Crawl,
        *,
        judge: Judge,
        tracker: DeliveryTracker,
        settler: DeliverySettler,
        imported: ImportedPages,
        links: DeferredLinks,
        item_values: ItemValues,
        arguments: CallbackArguments,
        second_fetches: SecondFetches,
        reporter: Reporter | None,
        dropped_feed: DroppedFeed,
        observations: UrlObservations | None,
        redesigns: RedesignAlerts | None,
    ) -> None:
        self._crawler, self._settings, self._detector = crawl.crawler, crawl.settings, crawl.detector
        self._stats, self._judge, self._tracker, self._settler = crawl.stats, judge, tracker, settler
        self._imported, self._links, self._item_values, self._arguments = imported, links, item_values, arguments
        self._second_fetches, self._reporter, self._dropped_feed = second_fetches, reporter, dropped_feed
        self._observations, self._redesigns = observations, redesigns
        self.is_open: bool = False
        """Whether responses are judged: from the opening of the store until the spider is closed."""
        self._tracks_delivery = False
        own_settings = crawl.settings.site_settings.values()
        prefers = crawl.settings.prefer is not None or any("prefer" in own for own in own_settings)
        self._needs_canonical = prefers or observations is not None
        self._dropped: weakref.WeakKeyDictionary[Request, Verdict] = weakref.WeakKeyDictionary()
        self._followed: weakref.WeakSet[Request] = weakref.WeakSet()
        """Requests of dropped pages whose callbacks are called, for their links."""
        self._dropped_keys: LocalCache[bytes, None] = LocalCache(MAX_DROPPED_KEYS)
        self._endings = PageEndings()
        dupefilter = load_object(crawl.crawler.settings["DUPEFILTER_CLASS"])
        self._filters_requests = dupefilter is not BaseDupeFilter  # with which a callback asks again by any request

    def open(self, *, tracks_delivery: bool) -> None:
        """Judge responses from now on; ``tracks_delivery``: both spider middlewares are there to see callbacks end."""
        self.is_open, self._tracks_delivery = True, tracks_delivery

    def close(self) -> None:
        """Let every response pass from now on."""
        self.is_open = False

    async def process(self, request: Request, response: Response) -> Response:
        """Judge a response, tag it, and raise NearDuplicatePage for a repeat where no spider middleware will."""
        known_url = self._observations.checks(request) if self._observations is not None else None
        if self._observations is not None and known_url is not None:
            verdict = await self._check(self._observations, request, response, known_url)
            if verdict is not None:
                self._dropped[request] = verdict
                if self._tracks_delivery:
                    return response
                raise NearDuplicatePage(response, verdict)
        with FailSafe("Could not judge %s; it is kept", response.url):
            return await self._process(request, response)
        if META_VERDICT not in request.meta:
            self._stats.not_judged("error")
        return response

    async def _check(
        self, observations: UrlObservations, request: Request, response: Response, known_url: str
    ) -> Verdict | None:
        """Learn from a page that was fetched once more to check a rule; its verdict, or None if its content is new.

        A page that is like several is the one that is like the page of ``known_url``, if it is, else what it was
        before: that it is more like another page by now is no error of the site. What cannot be judged is not delivered
        either, as the URL was fetched before.
        """
        try:
            text, reason = read_response(request, response, self._endings) if self.is_open else ("", "opted_out")
            if reason is not None:
                return Verdict("unjudged", reason=reason)
            key = self._crawler.request_fingerprinter.fingerprint(request)
            site, handler = site_of(response.url, self._settings.scope), handler_name(request, self._crawler.spider)
            again = self._fetch(request, response, text, key, site=site, handler=handler)
            expected = [await observations.content_of(url) for url in (known_url, request.url)]
            page = await again()
            content, verdict = await self._detector.known_content(page, *expected)
            renamed = content not in {None, expected[-1]} and await self._detector.is_unchanged(page)
        except Exception:  # the question is answered by nobody, which speaks against the rule
            logger.exception("Could not judge %s once more", response.url)
            return Verdict("unjudged", reason="error")
        if content is not None and verdict.kind != "stub":
            observations.checked(request, content, renamed=renamed)
        return verdict if content is not None or verdict.kind in {"stub", "unjudged"} else None

    async def _process(self, request: Request, response: Response) -> Response:
        if not self.is_open or not is_page(request):
            return response
        is_inspected, (text, reason) = is_inspection(request), read_response(request, response, self._endings)
        # Asked once per response, as links may copy the mark.
        second = request.meta.pop(META_SECOND, None)
        key = self._crawler.request_fingerprinter.fingerprint(request)
        may_be_gone = response.status in GONE_STATUSES or "redirect_urls" in request.meta
        if response.status == NOT_MODIFIED:
            await self._detector.refresh(url=request.url, key=key)
        elif may_be_gone and reason != "opted_out" and not is_inspected:
            await self._record_gone_pages(request, response, key)
        if self._item_values.is_on and reason != "opted_out" and not is_inspected:
            self._item_values.page_fetched(request, response, key)
        if reason not in {None, "unended"}:
            if UNJUDGED[reason].counted:
                is_answer = response.status != NOT_MODIFIED  # that says only that the page is as it was
                self._stats.not_judged(reason, site_of(response.url, self._settings.scope) if is_answer else "")
            return response
        handler, site = handler_name(request, self._crawler.spider), site_of(response.url, self._settings.scope)
        self._arguments.fetched(request, handler)
        known_since = self._imported.delivered_at(request, key) if self._imported.times else None
        canonical = declared_canonical_url(response.text, response.url) if self._needs_canonical else None
        about: dict[str, Any] = {"handler": handler, "canonical": canonical, "known_since": known_since}
        is_plain = is_ordinary(request) and not any(brought_along(request))
        about["is_whole"] = reason is None
        about["is_filtered"] = self._filters_requests and is_plain
        about["asked_for"] = request.meta.get(META_ASKED_FOR, (site, None))[1]
        fetch = self._fetch(request, response, text, key, site=site, is_doubted=second == DOUBTFUL, **about)
        verdict = await self._judge.judge_page(fetch, site=site, size=len(response.body), request=request)
        request.meta[META_VERDICT] = verdict.as_dict()
        if verdict.kind not in {"new", "unjudged"}:
            response.flags.append(f"simdedup-{verdict.kind}")
        if is_inspected:
            if verdict.page is not None:
                self._settler.write_outcome(verdict.page, "inspected")
            return response
        try:
            await self._learn(request, response, verdict, site, canonical)
            await self._act(request, response, verdict, site, second=second)
        finally:  # a reserved page that nobody settles would keep its repeats waiting
            if verdict.page is not None and self._tracks_delivery:
                self._tracker.track(request, verdict.page)
            elif verdict.page is not None:
                self._settler.settle(verdict.page, None)  # no middleware will see its delivery; the summary says so
        return response

    def _fetch(
        self, request: Request, response: Response, text: str, key: bytes, **known: Any
    ) -> Callable[[], Coroutine[Any, Any, FetchedPage]]:
        """A function that makes the fingerprint of a page; ``known`` is what else the detector is to know of it."""
        identity = request.meta.get(META_IDENTITY)
        known["identity"] = None if identity is None else str(identity)
        return partial(self._detector.fetched, text, url=response.url, key=key, **known)

    def drops(self, response: Response) -> Verdict | None:
        """The verdict of a response whose items are to be dropped, or the whole page; else None."""
        return None if response.request is None else self._dropped.get(response.request)

    def dropped_page_verdict(self, response: Response) -> Verdict | None:
        """The verdict of a response that is not to reach its callback; else None."""
        return None if response.request in self._followed else self.drops(response)

    async def _act(self, request: Request, response: Response, verdict: Verdict, site: str, *, second: object) -> None:
        """Send the signals of a verdict, and drop a repeat; ``second`` is the mark of a second fetch, or None."""
        is_kept_whatever = second not in {None, DOUBTFUL, ASKED} and verdict.other_text is not False
        may_drop = verdict.is_duplicate and not is_kept_whatever
        if verdict.kind == "stub" and verdict.original_key is not None:  # maybe another process of the run found it
            self._second_fetches.stub_found(site, verdict.original_key)
            self._second_fetches.is_of_family(request)
        if self._second_fetches.new_stubs:
            await self._second_fetches.fetch_of_others()
        if verdict.reason == "store_error":
            self._second_fetches.store_failed(site)
        if verdict.kind == "changed":
            self._send(page_changed, response, verdict)
        if verdict.supersedes is not None:
            self._send(better_copy_found, response, verdict)
        if may_drop and self._has_own_arguments(request, response, verdict):
            self._keep(request, verdict, "other_arguments")
        elif may_drop and self._needs_callback(request, response):
            self._keep(request, verdict, "for_callback")
        elif may_drop:
            await self._drop(request, response, verdict, site, second=second)
        elif verdict.is_duplicate or verdict.kind == "stub":  # a repeat that is kept to be on the safe side
            self._links.follow(request)

    def _keep(self, request: Request, verdict: Verdict, reason: Reason) -> None:
        """Let a repeat reach its callback as any page."""
        request.meta.pop(META_DROPS, None)  # else requests that a callback gives this meta would all be kept
        request.meta[META_VERDICT] = verdict._replace(is_duplicate=False, reason=reason).as_dict()
        self._stats.increment("pages/kept_reason_count/<reason>", reason)

    def _needs_callback(self, request: Request, response: Response) -> bool:
        """Whether a repeat is kept, as an errback asks for it again and again, or would if it were dropped again.

        Where no spider middleware is there that could take its items alone, so is one that brings new links.
        """
        if request.meta.get(META_DROPS, 0) >= MAX_DROPS:
            return True
        if self._tracks_delivery or self._settings.mode != "pages":
            return False
        key = self._crawler.request_fingerprinter.fingerprint(request)
        if key in self._dropped_keys or self._links.brings_new(request, response):
            return True
        self._dropped_keys[key] = None
        return False

    def _has_own_arguments(self, request: Request, response: Response, verdict: Verdict) -> bool:
        """Whether the callback may make another item of a repeat than it made of others.

        What did not change is another question: an incremental crawl exports pages that did, and what it finishes.
        """
        is_news = verdict.kind != "unchanged" or request.meta.get(META_BEGUN) == [1]
        is_new = is_news and self._arguments.are_new(request, verdict.original_key or b"")
        return is_new and self._detector.settings_for(response.url).callbacks == "same"

    async def _learn(
        self, request: Request, response: Response, verdict: Verdict, site: str, canonical: str | None
    ) -> None:
        """Pass a verdict on to the comparison of items, the report, the URL learner and the redesign alerts, if on."""
        if self._item_values.is_on:
            self._item_values.page_judged(request, verdict)
        if self._reporter is not None:
            self._reporter.sample_page(response, verdict)
        if self._observations is not None:
            self._observations.judged(request, verdict, canonical)
        if self._redesigns is not None:
            await self._redesigns.count_page(site, verdict)

    async def _record_gone_pages(self, request: Request, response: Response, key: bytes) -> None:
        """Log for later runs which URLs lead to no page any more, or redirect to another for good."""
        history, scope = self._detector.history, self._settings.scope
        if response.status in GONE_STATUSES:
            await history.page_gone(site_of(request.url, scope), key, str(response.status))
        redirects = zip(request.meta.get("redirect_urls", ()), request.meta.get("redirect_reasons", ()), strict=False)
        for url, reason in redirects:
            if reason in PERMANENT_REDIRECTS:
                old = self._crawler.request_fingerprinter.fingerprint(request.replace(url=url))
                await history.page_gone(site_of(url, scope), old, str(reason))

    async def _drop(self, request: Request, response: Response, verdict: Verdict, site: str, *, second: object) -> None:
        if second is not None:  # all the rest was done the first time
            self._dropped[request] = verdict
            if second == DOUBTFUL:  # It may still be of a family, but is in doubt no more: else this would have no end.
                await self._second_fetches.page_dropped(request, response, site, verdict._replace(is_doubtful=False))
            if self._tracks_delivery:
                return
            raise NearDuplicatePage(response, verdict)
        is_observed = self._settings.mode == "observe"
        other_headline = verdict.other_headline
        self._stats.page_dropped(len(response.body), site, other_headline=other_headline, observed=is_observed)
        self._dropped_feed.write(response.url, verdict)
        if is_observed:
            return
        dropped = NearDuplicatePage(response, verdict)
        self._dropped[request] = verdict
        if self._detector.settings_for(response.url).stubs == "flag":
            await self._second_fetches.page_dropped(request, response, site, verdict)
        # Without the links of a start page that did not change the crawl would end where it began.
        is_entrance = verdict.kind == "unchanged" and request.meta.get("is_start_request")
        if is_entrance or self._settings.mode == "items":
            self._followed.add(request)
        elif self._tracks_delivery and self._links.brings_new(request, response):
            self._followed.add(request)
            self._links.follow(request)
        if request not in self._followed:
            request.meta[META_DROPS] = request.meta.get(META_DROPS, 0) + 1
        logger.debug("Dropped: %s", dropped, extra={"spider": self._crawler.spider})
        self._send(near_duplicate_dropped, response, verdict)
        if not self._tracks_delivery and request not in self._followed:
            raise dropped

    def _send(self, signal: object, response: Response, verdict: Verdict) -> None:
        spider = self._crawler.spider
        self._crawler.signals.send_catch_log(signal, response=response, verdict=verdict, spider=spider)
