"""Second fetches: pages that were dropped, and would be kept now, as their original turned out to be a stub.

The forty dates of one course have one headline and one description, and each a line of its own. The first eight pages
cannot tell them from one page with a quote of the day, so all but one are dropped. Once they are told apart, their
requests are made once more, and what they answer is kept. As long as there is room the answer is what was dropped:
a server may be busy the second time.

A run that other processes work on or take up (``SIMDEDUP_RUN``, ``JOBDIR``) has its dropped pages in the store. Those
of a process that ended are fetched by the one that finds the stub; those of a process that was killed, with all that it
had counted, by the next one at its start, and so is what a process left in doubt that was stopped.

The first pages of a site cannot tell either whether its h1 names the page or the shop. What was dropped because an h1
vouched for it is judged once more when nothing else is left to fetch, and kept unless the h1 still vouches.

Where pages differ in a line and their URLs in a query, they may be records, or one article with a quote of the day.
When nothing else is left to fetch, one of them is asked of the server once more, and two others if it says what it
said, as a record does. A job that is stopped before that asks for all of them when it goes on.

Pages that could not be judged, as the store failed, are not counted. What they might have made a family of is fetched
once more at the end of the crawl.
"""

from __future__ import annotations

import logging
import weakref
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any, TypeAlias

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.request import request_from_dict

from scrapy_simdedup.crawl.exceptions import FailSafe
from scrapy_simdedup.crawl.links import META_DEFERRED, META_TRIAL
from scrapy_simdedup.crawl.requests import serialize_request
from scrapy_simdedup.crawl.stats import CrawlStats
from scrapy_simdedup.detect import events
from scrapy_simdedup.detect.names import RunContext, lead_to_one_page
from scrapy_simdedup.detect.site_logs import is_alive
from scrapy_simdedup.detect.stubs import MIN_PLACES_OF_FAMILY
from scrapy_simdedup.detect.verdict import Verdict
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.store.base import FingerprintStore, reporting_failures, whole_journal

Original: TypeAlias = tuple[str, bytes]

logger = logging.getLogger(__name__)
META_SECOND = "simdedup_second"
"""Marks the requests that are made once more: their pages are kept, but for those that say just what another one says
that is kept. The record of the stub may be lost, or another record of the cluster is more like the page. What is
dropped again would be fetched again, and so on."""
DOUBTFUL = "doubtful"
"""The mark of those that are judged again, and dropped again if they are repeats after all: they were in doubt, or may
be records, and a family was found since then of which they may be as well."""
ASKED = "asked"
"""The mark of pages that are fetched again to see whether they changed; they are dropped again."""
META_ASKED_FOR = "simdedup_asked_for"
"""The original of a page that is asked for; in the meta, as the request may wait in a queue on a disk."""
META_OF_FIRST = frozenset({META_DEFERRED, META_TRIAL, META_ASKED_FOR, "retry_times"})
"""What the first fetch may have in its meta, and the second one has not."""
MAX_REQUESTS = 5_000
"""Requests of dropped pages that are remembered, some 3 KB each; the original without a repeat for longest is forgotten
first."""
MAX_HELD_BYTES = 32_000_000
"""Bytes of dropped pages that are held, in all; what has no room is fetched from the server once more."""
FLAG = "simdedup-"
"""The beginning of the flags that the first verdict gave a response."""


class SecondFetches:
    """Remembers pages that may have been dropped wrongly, and makes their requests once more where they were.

    Pages whose content says just what that of their original says are none of them, and neither are answers to anything
    but GET.
    """

    def __init__(self, crawler: Crawler, stats: CrawlStats, on_store_error: Callable[[StoreError], None]) -> None:
        self._crawler, self._stats, self._on_store_error = crawler, stats, on_store_error
        self._dropped: OrderedDict[Original, list[tuple[Request, Response | None]]] = OrderedDict()
        """By the site and the key of the original, its dropped pages; without the response where there was no room."""
        self._doubtful: weakref.WeakSet[Request] = weakref.WeakSet()
        """Of these, the requests whose verdicts were doubtful."""
        self._views: weakref.WeakSet[Request] = weakref.WeakSet()
        """Of these, the requests whose URLs seem to be those of their original: they are the last to be asked for."""
        self._count = self._held_bytes = 0
        self._answers: weakref.WeakKeyDictionary[Request, Response] = weakref.WeakKeyDictionary()
        """What the second requests are answered with, as far as they are still in memory."""
        self._stubs: set[Original] = set()
        self._notes: DroppedPages | None = None
        """The dropped pages of the run in the store; None where no other process can have some, or take them up."""
        self.new_stubs: set[Original] = set()
        """Stubs for which other processes may have dropped pages; see :meth:`fetch_of_others`."""
        self._families: set[Original] = set()
        """Originals of which a page that was asked for again is of a family, maybe of that of another original."""
        self._questions: dict[Original, int] = {}
        """By the original of pages that may be records, how many of them are to be asked for again, in all."""
        self._asked: Counter[Original] = Counter()
        self._uncounted: Counter[str] = Counter()
        """By site, the pages that could not be judged, as the store failed."""
        crawler.signals.connect(self._spider_idle, signals.spider_idle)

    async def open(self, store: FingerprintStore, context: RunContext, *, shared: bool) -> None:
        """Note what is dropped in the store from now on, and fetch what a process had dropped that was killed.

        Where other processes may be at work on the same run, it is ``shared``; else all others are dead.
        """
        self._notes = DroppedPages(self._crawler, store, context, shared=shared)
        with reporting_failures(self._on_store_error):
            for request in await self._notes.of_killed():
                self._schedule(request, request.meta)

    async def close(self) -> None:
        """Note that what was made once more is done with, and that the process ended by itself."""
        with reporting_failures(self._on_store_error):
            if self._notes is None:
                return
            for key, count in self._questions.items():
                for request, _ in self._dropped.get(key, ()) if self._asked[key] < count else ():
                    await self._notes.add(request, key, is_doubtful=True)
            await self._notes.close()

    def answer(self, request: Request) -> Response | None:
        """The page that was dropped, for a request that is made once more; None where it has to be fetched."""
        response = self._answers.pop(request, None)
        return None if response is None else response.replace(request=request)

    async def page_dropped(self, request: Request, response: Response, site: str, verdict: Verdict) -> None:
        """Remember a dropped page whose content differs from its original, however little."""
        if not verdict.other_text or verdict.original_key is None or request.method != "GET":
            return
        key = (site, verdict.original_key)
        with reporting_failures(self._on_store_error):
            if self._notes is not None:
                await self._notes.add(request, key, is_doubtful=verdict.is_doubtful)
        has_room = self._held_bytes + len(response.body) <= MAX_HELD_BYTES
        self._dropped.setdefault(key, []).append((request, response.replace(request=None) if has_room else None))
        if verdict.is_doubtful:
            self._doubtful.add(request)
        if verdict.original is not None and lead_to_one_page(response.url, verdict.original):
            self._views.add(request)
        self._dropped.move_to_end(key)
        self._count += 1
        self._held_bytes += len(response.body) * has_room
        if key in self._stubs:  # it is the page by which the stub was found, or was judged before
            self._fetch(key)
        while self._count > MAX_REQUESTS:
            self._take(next(iter(self._dropped)))

    def stub_found(self, site: str, original: bytes) -> None:
        """Make the requests once more whose pages this process dropped for an original that is a stub."""
        key = (site, original)
        if key not in self._stubs and self._notes is not None:
            self.new_stubs.add(key)
        self._stubs.add(key)
        self._fetch(key)

    def may_be_records(self, site: str, original: bytes, count: int) -> None:
        """Ask for so many of the pages that were dropped here for an original, once nothing else is left to fetch."""
        self._questions[site, original] = max(count, self._questions.get((site, original), 0))

    def is_of_family(self, request: Request) -> None:
        """Judge once more what was dropped for the original of a page that was asked for again, and is of a family."""
        key = request.meta.pop(META_ASKED_FOR, None)
        if key is not None:
            self._families.add(key)

    def store_failed(self, site: str) -> None:
        """Count a page of a site that could not be judged: it may be the one by which a stub would have been found."""
        self._uncounted[site] += 1

    async def fetch_of_others(self) -> None:
        """Make the requests of other processes, which ended, for the stubs that were found since the last call."""
        stubs, self.new_stubs = self.new_stubs, set()
        try:
            for request in await self._notes.of_ended(stubs) if self._notes is not None else ():
                self._ask(request, None)
        except StoreError as exc:
            self.new_stubs |= stubs
            self._on_store_error(exc)

    def _spider_idle(self) -> None:
        """Make the requests once more whose pages may be those of a family, had all been counted, or are doubtful."""
        for key in list(self._dropped):
            dropped, uncounted = len(self._dropped[key]), self._uncounted[key[0]]
            may_be_family = uncounted and 1 + dropped + uncounted >= MIN_PLACES_OF_FAMILY
            are_all = may_be_family or key in self._families
            self._fetch(key, mark=True if may_be_family else DOUBTFUL, doubtful=not are_all)
        self._uncounted.clear()
        self._families.clear()
        for key, count in self._questions.items():
            pages = sorted(self._dropped.get(key, []), key=lambda page: page[0] in self._views)
            if len(pages) < count:  # most of them, while they are judged once more
                continue
            for request, _ in pages[self._asked[key] : count]:
                self._schedule(request, self._meta_of(request, ASKED) | {"dont_cache": True, META_ASKED_FOR: key})
            self._asked[key] = count

    def _take(self, key: Original, *, doubtful: bool = False) -> list[tuple[Request, Response | None]]:
        dropped = self._dropped.pop(key, [])
        taken = [page for page in dropped if not doubtful or page[0] in self._doubtful]
        if len(taken) < len(dropped):
            self._dropped[key] = [page for page in dropped if page[0] not in self._doubtful]
        self._count -= len(taken)
        self._held_bytes -= sum(len(response.body) for _, response in taken if response is not None)
        return taken

    def _fetch(self, key: Original, *, mark: object = True, doubtful: bool = False) -> None:
        for request, response in self._take(key, doubtful=doubtful):
            self._ask(request, response, mark)
            if self._notes is not None:
                self._notes.taken(request)

    def _ask(self, request: Request, response: Response | None, mark: object = True) -> None:
        again = self._schedule(request, self._meta_of(request, mark))
        if again is not None and response is not None:
            flags = [flag for flag in response.flags if not flag.startswith(FLAG)]
            self._answers[again] = response.replace(flags=flags)  # without its request, which may die in a queue

    def _meta_of(self, request: Request, mark: object) -> dict[str, Any]:
        """The meta of a request that is made once more."""
        return {name: value for name, value in request.meta.items() if name not in META_OF_FIRST} | {META_SECOND: mark}

    def _schedule(self, request: Request, meta: dict[str, Any]) -> Request | None:
        # It may not: the crawl is closing, or the request is of a class that cannot be copied.
        with FailSafe("%s was dropped for a stub, and could not be fetched once more", request.url):
            again = request.replace(dont_filter=True, meta=meta)  # the dupefilter knows the request already
            self._crawler.engine.crawl(again)
            self._stats.increment("pages/fetched_twice")
            return again
        return None


class DroppedPages:
    """The dropped pages of a run in its store, each under its request's fingerprint.

    A note stays until the process that made its request once more ended by itself: a queue does not outlive a kill.
    """

    def __init__(self, crawler: Crawler, store: FingerprintStore, context: RunContext, *, shared: bool) -> None:
        self._crawler, self._store, self._context, self._shared = crawler, store, context, shared
        self._journal = events.journal_name(context.run, events.DROPPED)
        self._taken: set[bytes] = set()
        """Fingerprints of requests that this process made once more."""
        self._has_notes = False

    async def add(self, request: Request, key: Original, *, is_doubtful: bool) -> None:
        """Note a dropped page, unless its request has values that cannot be written down."""
        try:
            values = serialize_request(request, self._crawler.spider)
        except ValueError as exc:
            logger.debug("%s cannot be fetched once more by another process: %s", request.url, exc)
            return
        name, (site, original) = self._name(request), key
        self._taken.discard(name)
        self._has_notes = True
        note = events.DroppedPage(site, original, self._context.worker, values, is_doubtful)
        await self._store.put_note(self._journal, name, bytes(note))

    def taken(self, request: Request) -> None:
        """Expect that a page is done with once this process ended by itself."""
        self._taken.add(self._name(request))

    async def of_killed(self) -> list[Request]:
        """Requests of killed processes, and doubtful ones of processes that ended by themselves."""
        return await self._requests(lambda page, ended: page.worker not in ended or page.is_doubtful)

    async def of_ended(self, originals: set[Original]) -> list[Request]:
        """Requests of ended processes, for pages that were dropped for one of these originals."""
        return await self._requests(lambda page, _: (page.site, page.original) in originals)

    async def close(self) -> None:
        """Write which pages were fetched again, and that this process has ended."""
        for name in self._taken:
            await self._store.put_note(self._journal, name, b"")
        if self._has_notes:
            worker = self._context.worker
            await self._store.put_note(
                self._journal, events.event_key("ended", worker), bytes(events.WorkerEnded(worker))
            )

    async def _read(self) -> tuple[list[events.DroppedPage], set[str]]:
        """The pages of processes that are not at work, and the processes that ended by themselves."""
        pages: list[events.DroppedPage] = []
        ended: set[str] = set()
        async for raw in whole_journal(self._store, self._journal):
            try:
                note = events.decode_event(raw, events.DROPPED_EVENTS) if raw else None
            except ValueError:  # the other notes are worth no less for it
                logger.warning("A note about a dropped page cannot be read")
                continue
            if isinstance(note, events.WorkerEnded):
                ended.add(note.worker)
            elif note is not None:
                pages.append(note)
        beats = await self._store.heartbeats() if self._shared and pages else {}
        now, ours = self._context.now(), self._context.worker
        at_work = {ours} | {worker for worker, beat in beats.items() if is_alive(worker, beat, now)} - ended
        return [page for page in pages if page.worker not in at_work], ended

    async def _requests(self, are_wanted: Callable[[events.DroppedPage, set[str]], bool]) -> list[Request]:
        pages, ended = await self._read()
        made: list[Request] = []
        for page in [page for page in pages if are_wanted(page, ended)][-MAX_REQUESTS:]:
            try:
                request = request_from_dict(dict(page.request), spider=self._crawler.spider)
            except (ValueError, TypeError):
                logger.warning("A dropped page cannot be fetched once more: the spider lacks its callback by now")
                continue
            if (name := self._name(request)) not in self._taken:
                self._taken.add(name)
                made.append(request)
        return made

    def _name(self, request: Request) -> bytes:
        return self._crawler.request_fingerprinter.fingerprint(request)
