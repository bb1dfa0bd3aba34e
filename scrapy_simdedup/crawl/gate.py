"""What becomes of a response: it gets its verdict and a tag, and is let through or dropped."""

from __future__ import annotations

import logging
import weakref
from typing import TYPE_CHECKING

from scrapy_simdedup.crawl.eligibility import is_inspection, is_judged, is_page, why_not
from scrapy_simdedup.crawl.exceptions import NearDuplicatePage
from scrapy_simdedup.crawl.links import Links
from scrapy_simdedup.crawl.signals import better_copy_found, near_duplicate_dropped, page_changed
from scrapy_simdedup.detect.site import site_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from scrapy_simdedup.crawl.runtime import Runtime
    from scrapy_simdedup.detect.verdict import PageRef, Verdict

logger = logging.getLogger(__name__)

META_VERDICT = "simdedup_verdict"
GONE = frozenset({404, 410})
"""Statuses that say that a page is at its URL no more."""
MOVED = frozenset({301, 308})
"""Redirects that are meant to last."""


class Gate:
    """Decides for each response, once, and remembers what is to be dropped until the spider middlewares ask."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime, self._settings = runtime, runtime.settings
        self._dropped: weakref.WeakKeyDictionary[Request, Verdict] = weakref.WeakKeyDictionary()
        self._followed: weakref.WeakSet[Request] = weakref.WeakSet()
        """Those of the dropped whose callbacks are called, for their links."""
        settings = runtime.settings
        self._links = Links(settings.site, settings.max_page_bytes) if settings.links == "follow_new" else None

    async def process(self, request: Request, response: Response) -> Response:
        """Judge a response, tag it, and drop it where no spider middleware will.

        Raises:
            NearDuplicatePage: it is a repeat, and this is the last place where it can be dropped.
        """
        try:
            return await self._process(request, response)
        except NearDuplicatePage:
            raise
        except Exception:  # whatever went wrong in us must not cost the user a page
            logger.exception("Could not judge %s; it is kept", response.url)
            if META_VERDICT not in request.meta:
                self._runtime.tally.not_judged("error")
            return response

    async def _process(self, request: Request, response: Response) -> Response:
        runtime = self._runtime
        if not runtime.ready or not is_page(request):
            return response
        key = runtime.crawler.request_fingerprinter.fingerprint(request)
        if response.status == 304:
            await runtime.detector.refresh(url=request.url, key=key)
        elif is_judged(request) and not is_inspection(request):
            await self._note_gone(request, response, key)
        reason = why_not(request, response)
        if reason is not None:
            if reason != "opted_out":
                runtime.tally.not_judged(reason)
            return response
        verdict = await runtime.judge.page(response, key, runtime.imported.since(request, key))
        request.meta[META_VERDICT] = verdict.as_dict()
        if verdict.kind not in {"new", "unjudged"}:
            response.flags.append(f"simdedup-{verdict.kind}")
        if is_inspection(request):
            if verdict.page is not None:
                runtime.settlement.write(verdict.page, "inspected")
            return response
        await self._act(request, response, verdict)
        return response

    def drops(self, response: Response) -> Verdict | None:
        """The verdict of a response that is to be dropped, the page or its items; else None."""
        return None if response.request is None else self._dropped.get(response.request)

    def drops_page(self, response: Response) -> Verdict | None:
        """As :meth:`drops`, where the callback is not to be called either."""
        return None if response.request in self._followed else self.drops(response)

    async def _act(self, request: Request, response: Response, verdict: Verdict) -> None:
        """Do what follows from a verdict."""
        try:
            await self._learn(request, response, verdict)
        finally:  # what nobody settled would keep its repeats waiting
            if verdict.page is not None:
                self._reserve(request, verdict.page)
        if verdict.kind == "changed":
            self._send(page_changed, response, verdict)
        if verdict.supersedes is not None:
            self._send(better_copy_found, response, verdict)
        has_new_links = self._links is not None and self._links.see(response)
        if verdict.is_duplicate:
            self._drop(request, response, verdict, has_new_links=has_new_links)

    async def _learn(self, request: Request, response: Response, verdict: Verdict) -> None:
        """Let those look at a verdict whom it teaches something."""
        runtime = self._runtime
        runtime.reporter.judged(response, verdict)
        runtime.guide.examples.judged(request, response, verdict)
        await runtime.redesigns.judged(site_of(response.url, self._settings.site), verdict)

    async def _note_gone(self, request: Request, response: Response, key: bytes) -> None:
        """Tell later runs of URLs that say that their page is at another, or at none."""
        history, scope = self._runtime.detector.history, self._settings.site
        if response.status in GONE:
            await history.gone(site_of(request.url, scope), key, str(response.status))
        came_by = zip(request.meta.get("redirect_urls", ()), request.meta.get("redirect_reasons", ()), strict=False)
        for url, reason in came_by:
            if reason in MOVED:
                old = self._runtime.crawler.request_fingerprinter.fingerprint(request.replace(url=url))
                await history.gone(site_of(url, scope), old, str(reason))

    def _wants_links(self, verdict: Verdict, request: Request) -> bool:
        # Without the links of a start page that did not change the crawl would end where it began.
        entrance = verdict.kind == "unchanged" and bool(request.meta.get("is_start_request"))
        return self._settings.mode == "items" or self._settings.links == "follow" or entrance

    def _drop(self, request: Request, response: Response, verdict: Verdict, *, has_new_links: bool) -> None:
        self._runtime.tally.page_dropped(len(response.body))
        if self._settings.mode == "observe":
            return
        self._dropped[request] = verdict
        if has_new_links or self._wants_links(verdict, request):
            self._followed.add(request)
        dropped = NearDuplicatePage(response, verdict)
        logger.debug("Dropped: %s", dropped, extra={"spider": self._runtime.crawler.spider})
        self._send(near_duplicate_dropped, response, verdict)
        if not self._runtime.sees_delivery and request not in self._followed:
            raise dropped

    def _reserve(self, request: Request, page: PageRef) -> None:
        if self._runtime.sees_delivery:
            self._runtime.ledger.open(request, page)
        else:
            self._runtime.settlement.settle(page, None)  # nobody will ever tell; the summary says so

    def _send(self, signal: object, response: Response, verdict: Verdict) -> None:
        crawler = self._runtime.crawler
        crawler.signals.send_catch_log(signal, response=response, verdict=verdict, spider=crawler.spider)
