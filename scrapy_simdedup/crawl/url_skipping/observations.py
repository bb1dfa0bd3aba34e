"""What the pages of a crawl teach about URLs, once it is sure that they were delivered."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakSet

from scrapy.http import TextResponse

from scrapy_simdedup.detect.url_notes import SeenUrl
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.page.claims import claimed_url
from scrapy_simdedup.urls.canonical import MAX_URL

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_simdedup.crawl.url_journal import UrlJournal
    from scrapy_simdedup.crawl.url_tally import UrlTally
    from scrapy_simdedup.crawl.waiting import Tasks
    from scrapy_simdedup.detect.verdict import PageRef, Verdict

META_ASKED = "simdedup_asked"
"""The URL that was asked for first, while a request is on its way."""
MOST_EXPECTED = 100_000
"""Pages, and targets of redirects, that are awaited to learn from them; those beyond teach nothing."""


class UrlExamples:
    """Notes what each URL led to: for a repeat, its original; for any other page, itself, when it was delivered.

    Args:
        tally: counts them.
        tasks: in which they are noted.
        on_store_error: called with each failure of the store.
    """

    def __init__(self, tally: UrlTally, tasks: Tasks, on_store_error: Callable[[StoreError], None]) -> None:
        self._tally, self._tasks, self._on_store_error = tally, tasks, on_store_error
        self._journal: UrlJournal | None = None
        self._expected: dict[tuple[str, int], SeenUrl] = {}
        """Pages on their way through callback and pipelines, and what is to be noted of them."""
        self._redirects: dict[str, list[str]] = {}
        """URLs that were redirected, by the URL that they led to, which was not seen yet."""
        self._verifying: WeakSet[Request] = WeakSet()

    def open(self, journal: UrlJournal) -> None:
        """From now on there is something to learn."""
        self._journal = journal

    def verify(self, request: Request) -> None:
        """A request is made only to see whether its URL leads to known content, as some rules say."""
        self._verifying.add(request)

    def judged(self, request: Request, response: Response, verdict: Verdict) -> None:
        """A page got its verdict."""
        if self._journal is None or verdict.reason is not None or verdict.pending is not None:
            return
        original = verdict.original_key if verdict.is_duplicate else None
        page = verdict.page if verdict.kind not in {"stub", "unjudged"} else None
        if original is None and page is None:
            return
        if request in self._verifying:
            self._verifying.discard(request)
            self._tally.count("verified")
            if original is None:
                self._tally.count("verified_wrong")
        if request.method != "GET" or len(request.url) > MAX_URL:
            return
        claimed = claimed_url(response.text, response.url) if isinstance(response, TextResponse) else None
        if original is not None:
            self._tasks.start(self._note(SeenUrl(request.url, original.hex(), claimed)))
        elif page is not None and len(self._expected) < MOST_EXPECTED:
            self._expected[page.site, page.id] = SeenUrl(request.url, page.key.hex(), claimed)

    def settled(self, page: PageRef, delivered: bool) -> None:
        """A page was confirmed or released."""
        note = self._expected.pop((page.site, page.id), None)
        if note is not None and delivered:
            self._tasks.start(self._note(note))

    def sent(self, request: Request) -> None:
        """A request is on its way. If it is redirected, the mark tells what was asked for first."""
        if self._journal is not None and request.method == "GET" and not request.body and len(request.url) <= MAX_URL:
            request.meta.setdefault(META_ASKED, request.url)

    def answered(self, request: Request) -> None:
        """A response came that is no redirect.

        Scrapy's own marks go along where a user copies ``response.meta``, and would make links look like redirects.
        """
        request.meta.pop(META_ASKED, None)

    def scheduled(self, request: Request) -> None:
        """A request goes to the scheduler. One that another was redirected to is dropped there if it is known."""
        first = request.meta.get(META_ASKED)
        if first and first != request.url and request.meta.get("redirect_urls"):
            self._tasks.start(self._redirected(first, request.url))

    async def _redirected(self, first: str, target: str) -> None:
        try:
            content = await self._journal.content_of(target) if self._journal is not None else None
        except StoreError as exc:
            self._on_store_error(exc)
            return
        if content is not None:
            await self._note(SeenUrl(first, content, target))
        elif len(self._redirects) < MOST_EXPECTED:
            self._redirects.setdefault(target, []).append(first)

    async def _note(self, note: SeenUrl) -> None:
        notes = [note, *(SeenUrl(first, note.content, note.url) for first in self._redirects.pop(note.url, ()))]
        try:
            for seen in notes:
                if self._journal is not None:
                    await self._journal.seen(seen)
                    self._tally.count("seen")
        except StoreError as exc:  # the page's other URLs are fetched, too
            self._on_store_error(exc)
