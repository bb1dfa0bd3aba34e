"""Observations of a crawl about URLs: to which content each led, noted once the page was delivered."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakSet

from scrapy import Request

from scrapy_simdedup.crawl.concurrency import BackgroundTasks
from scrapy_simdedup.crawl.stats import CrawlStats
from scrapy_simdedup.crawl.url_skipping.journal import UrlJournal
from scrapy_simdedup.detect.events import SeenUrl
from scrapy_simdedup.detect.verdict import PageRef, Verdict
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.store.base import reporting_failures
from scrapy_simdedup.urls.parts import MAX_URL_LENGTH

META_REQUESTED_URL = "simdedup_asked"
"""Holds the URL that was requested first, while a request and its redirects are on their way."""
META_CHECK = "simdedup_check"
"""Marks a request that asks for a URL once more; holds the URL of the page that it should be like."""
MAX_AWAITED = 100_000
"""Pages, and targets of redirects, that are awaited to learn from them; others teach nothing."""


class UrlObservations:
    """Notes what each URL led to: for a repeat, its original; for any other page, itself, when it was delivered."""

    def __init__(self, stats: CrawlStats, tasks: BackgroundTasks, on_store_error: Callable[[StoreError], None]) -> None:
        self._stats, self._tasks, self._on_store_error = stats, tasks, on_store_error
        self._journal: UrlJournal | None = None
        self._awaiting_delivery: dict[tuple[str, int], SeenUrl] = {}
        """What is to be noted of pages that are on their way through callback and pipelines."""
        self._former_copies: dict[str, bytes] = {}
        """URL → key of the pages that are what they were, as a copy of another page, which may be another by now. Their
        repeats are named after them, not after the cluster that they were in."""
        self._redirects: dict[str, list[str]] = {}
        """URLs that were redirected, by a target that was not seen yet."""
        self._verifying: WeakSet[Request] = WeakSet()
        self._checking: WeakSet[Request] = WeakSet()
        """Requests that ask for a URL once more, and gave a content that was not known."""
        self.noted: Callable[[], object] = lambda: None
        """Called after an observation was noted."""

    def open(self, journal: UrlJournal) -> None:
        """Note observations in this journal from now on."""
        self._journal = journal

    def verify(self, request: Request) -> None:
        """Watch a request that is made only to see whether its URL leads to known content, as some rules say."""
        self._verifying.add(request)

    def judged(self, request: Request, verdict: Verdict, canonical: str | None) -> None:
        """Learn from the verdict of a page, whose declared canonical URL is ``canonical``."""
        is_second_try = verdict.reason == "no_item_yet"
        is_plain = verdict.reason is None or (verdict.kind, verdict.reason) == ("unchanged", "for_links")
        if self._journal is None or not (is_plain or is_second_try) or verdict.pending is not None:
            return
        original = verdict.original_key if verdict.is_duplicate else None
        original = self._former_copies.get(verdict.original or "", original) if original is not None else None
        page = verdict.page if verdict.kind not in {"stub", "unjudged"} else None
        if original is None and page is None:
            return
        if request in self._verifying:
            self._verifying.discard(request)
            self._stats.increment("urls/verified")
            if original is None and not is_second_try:
                self._stats.increment("urls/verified_wrong")
        if request.method != "GET" or len(request.url) > MAX_URL_LENGTH:
            return
        is_check = request in self._checking
        if original is not None:
            self._tasks.start(self._note(SeenUrl(request.url, original.hex(), canonical, is_check)))
        elif page is not None and len(self._awaiting_delivery) < MAX_AWAITED:
            content = verdict.original_key if is_second_try and verdict.original_key else page.key
            if (
                verdict.kind == "unchanged"
                and verdict.original_key != page.key
                and len(self._former_copies) < MAX_AWAITED
            ):
                self._former_copies[page.url] = page.key
            self._awaiting_delivery[page.site, page.id] = SeenUrl(request.url, content.hex(), canonical, is_check)

    def checks(self, request: Request) -> str | None:
        """The URL whose page a second look, which delivers no known content, should show; None if a request is none."""
        url: str | None = request.meta.pop(META_CHECK, None)
        if url is not None:
            request.meta.pop("dont_redirect", None)  # links may copy it
            self._checking.add(request)
        return url

    async def content_of(self, url: str) -> bytes | None:
        """The name of the content that a URL led to; None if it was not seen."""
        content = await self._journal.content_id_of(url) if self._journal is not None else None
        return None if content is None else bytes.fromhex(content)

    def checked(self, request: Request, content: bytes) -> None:
        """Learn from a page that was fetched once more, and has a known content."""
        self._tasks.start(self._note(SeenUrl(request.url, content.hex(), None, checked=True)))

    def settled(self, page: PageRef, delivered: bool) -> None:
        """Note what was observed of a page that was confirmed; forget it if the page was released."""
        note = self._awaiting_delivery.pop((page.site, page.id), None)
        if note is not None and delivered:
            self._tasks.start(self._note(note))

    def sent(self, request: Request) -> None:
        """Mark a request on its way with its URL, which tells, after a redirect, what was requested first."""
        is_plain = request.method == "GET" and not request.body and len(request.url) <= MAX_URL_LENGTH
        if self._journal is not None and is_plain:
            request.meta.setdefault(META_REQUESTED_URL, request.url)

    def answered(self, request: Request) -> None:
        """Remove the mark of a request whose response is no redirect.

        Where a user copies ``response.meta``, it would make links look like redirects, as Scrapy's own marks go along.
        """
        request.meta.pop(META_REQUESTED_URL, None)

    def scheduled(self, request: Request) -> None:
        """Learn from the target of a redirect when it is scheduled: if it is known, Scrapy's scheduler filters it."""
        first = request.meta.get(META_REQUESTED_URL)
        if first and first != request.url and request.meta.get("redirect_urls"):
            self._tasks.start(self._redirected(first, request.url))

    async def _redirected(self, first: str, target: str) -> None:
        if self._journal is None:
            return
        with reporting_failures(self._on_store_error):
            content = await self._journal.content_id_of(target)
            if content is not None:
                await self._note(SeenUrl(first, content, target))
            elif len(self._redirects) < MAX_AWAITED:
                self._redirects.setdefault(target, []).append(first)

    async def _note(self, note: SeenUrl) -> None:
        """Write a note of a page, and one of each URL that was redirected to it."""
        if self._journal is None:
            return
        notes = [note, *(SeenUrl(first, note.content, note.url) for first in self._redirects.pop(note.url, ()))]
        with reporting_failures(self._on_store_error):  # nothing is learned then, so its other URLs are fetched, too
            for seen in notes:
                await self._journal.record_seen(seen)
                self._stats.increment("urls/seen")
            self.noted()
