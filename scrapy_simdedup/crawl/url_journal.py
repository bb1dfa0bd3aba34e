"""The journal of URLs: what the workers of a run observe of URLs, written to the store and learned from there."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from weakref import WeakSet

from scrapy import Request

from scrapy_simdedup.crawl import Crawl
from scrapy_simdedup.crawl.concurrency import BackgroundTasks
from scrapy_simdedup.detect import events
from scrapy_simdedup.detect.names import RunContext, site_of, spider_of
from scrapy_simdedup.detect.site_logs import is_alive
from scrapy_simdedup.detect.verdict import PageRef, Verdict
from scrapy_simdedup.store.base import FingerprintStore, reporting_failures
from scrapy_simdedup.urls import RememberedRules, UrlLearner
from scrapy_simdedup.urls.parts import MAX_URL_LENGTH

logger = logging.getLogger(__name__)
NOTES_PER_STEP = 100
"""Notes that are learned from in one step: some milliseconds in which nothing else runs in this process."""
MAX_DECISIONS = 8
"""How often the learner is asked whether it agrees with a skip, as it would rather verify some of them."""


class UrlJournal:
    """The notes of a run about URLs. The learner learns only what is read back from the store, in the store's order.

    So all workers of a run learn the same, and each watches over the skips of all. A process that resumes a run is
    where the one before it was when it died: what it would skip now stays skipped, every other URL that was skipped and
    never seen is readmitted.

    Where other processes may be at work on the same run, it is ``shared``; else all others are dead. Only where it
    ``skips`` may URLs that other processes skipped stay skipped; ``readmit`` is called with those that have to be
    fetched after all. Where it ``remembers``, the rules are left to the next run, and those of the last one begin as
    candidates.
    """

    def __init__(
        self,
        store: FingerprintStore,
        learner: UrlLearner,
        context: RunContext,
        *,
        shared: bool,
        skips: bool,
        readmit: Callable[[Sequence[str]], None],
        remembers: bool = False,
    ) -> None:
        self._store, self._learner = store, learner
        self.run: str = context.run
        self.worker: str = context.worker
        self._sleep = context.sleep
        self._shared, self._skips, self._readmit = shared, skips, readmit
        self._remembers = remembers
        self._recalled: dict[str, bool] = {}
        """Site → whether rules about its URLs were remembered."""
        self._is_open = False
        self._notes_read = 0
        self._cursors: dict[str, int] = {}
        self._reading: dict[str, bool] = {}
        """Sites whose notes are being read, and whether there is more to read since that began."""
        self._left_to_others: dict[str, None] = {}
        """Readmitted URLs that another worker, alive at that time, has to fetch."""

    async def open(self) -> int:
        """Learn from the run's notes so far; how many they are."""
        async for name in self._store.journals():
            run, site = events.split_journal_name(name)
            if run == self.run and site not in {events.EVENTS, events.DROPPED}:
                await self._read(site)
        self._is_open = True
        return self._notes_read

    async def record_seen(self, note: events.SeenUrl) -> None:
        """Note what a URL led to; if it was skipped before, it no longer is."""
        before = await self._note_of(note.url) if note.checked else None
        if isinstance(before, events.SeenUrl):
            note = replace(note, erred=before.erred or (before.content != note.content and not note.renamed))
        site = site_of(note.url)
        await self._store.put_note(events.journal_name(self.run, site), events.event_key(note.url), bytes(note))
        await self._read(site)

    async def record_skipped(self, note: events.SkippedUrl) -> bool:
        """Note that a request is not made; False if it has to be, as another one for its URL was skipped."""
        journal, key = events.journal_name(self.run, site_of(note.url)), events.event_key(note.url)
        raw = await self._store.put_note(journal, key, bytes(note), once=True)
        there = events.decode_event(raw, events.URL_EVENTS)
        return isinstance(there, events.SeenUrl) or there.request == note.request

    async def content_id_of(self, url: str) -> str | None:
        """What a URL led to; None if it was not seen."""
        note = await self._note_of(url)
        return note.content if isinstance(note, events.SeenUrl) else None

    async def skipped_request(self, url: str) -> events.SkippedUrl | None:
        """The request to be made for a readmitted URL; None if this worker need not make it.

        The note stays until the URL was seen, so that the request is made again if this process dies before. A
        LookupError says that it is gone from the store, as on a server that is short of memory.
        """
        note = await self._note_of(url)
        if note is None:
            raise LookupError(url)
        if not isinstance(note, events.SkippedUrl):
            return None
        if self._shared and note.worker != self.worker:
            beat = (await self._store.heartbeats()).get(note.worker)
            if is_alive(note.worker, beat, time.time()):
                self._left_to_others[url] = None
                return None
        return note

    async def catch_up(self) -> None:
        """Learn from notes that were not read yet, and readmit URLs that were left to workers which are gone by now."""
        if not self._is_open:  # the store failed
            await self.open()
        for site in list(self._cursors):
            await self._read(site)
        left, self._left_to_others = list(self._left_to_others), {}
        if left:
            self._readmit(left)

    async def remember_rules(self) -> None:
        """Leave the rules to the next run; of one that fell nothing is left."""
        for site, was_remembered in self._recalled.items():
            rules = self._learner.lasting_rules(site)
            if rules or was_remembered:
                note = RememberedRules(site, self.run, rules)
                await self._store.put_note(events.REMEMBERED_JOURNAL, events.event_key(site), bytes(note))

    async def close(self) -> None:
        """Write that this worker has ended; other workers then make its skipped requests, once they are readmitted."""
        await self._store.heartbeat(self.worker, 0.0)

    async def _note_of(self, url: str) -> events.UrlEvent | None:
        raw = await self._store.get_note(events.journal_name(self.run, site_of(url)), events.event_key(url))
        return None if raw is None else events.decode_event(raw, events.URL_EVENTS)

    async def _read(self, site: str) -> None:
        is_being_read = site in self._reading
        self._reading[site] = True
        if is_being_read:
            return
        try:
            if self._remembers and site not in self._recalled:
                await self._recall(site)
            while self._reading[site]:
                self._reading[site] = False
                tail = await self._store.read_notes(events.journal_name(self.run, site), self._cursors.get(site, 0))
                self._cursors[site] = tail.cursor
                for start in range(0, len(tail.values), NOTES_PER_STEP):
                    self._learn(tail.values[start : start + NOTES_PER_STEP])
                    if start + NOTES_PER_STEP < len(tail.values):
                        await self._sleep(0)
                self._reading[site] |= not tail.complete
        finally:
            del self._reading[site]

    async def _recall(self, site: str) -> None:
        """Have the learner begin with what the last run left of a site."""
        raw = await self._store.get_note(events.REMEMBERED_JOURNAL, events.event_key(site))
        found = RememberedRules.from_bytes(raw) if raw is not None else None
        self._recalled[site] = found is not None
        if found is not None:
            self._learner.recall(site, found.rules)

    def _learn(self, values: Sequence[bytes]) -> None:
        readmitted: list[str] = []
        for raw in values:
            self._notes_read += 1
            try:
                readmitted += self._apply_note(events.decode_event(raw, events.URL_EVENTS))
            except Exception:  # the other notes are worth no less for it
                logger.exception("A note about a URL teaches nothing")
        if readmitted:
            self._readmit(readmitted)

    def _apply_note(self, note: events.UrlEvent) -> list[str]:
        """Teach the learner one note; the URLs that are readmitted for it."""
        if isinstance(note, events.SeenUrl):
            if note.same_as is not None:
                self._learner.hint(note.url, note.same_as)
            known = {"checked": note.checked, "erred": note.erred, "renamed": note.renamed}
            return self._learner.observe(note.url, note.content, **known)
        stays = note.worker == self.worker or (self._skips and self._would_skip(note.url))
        return [] if stays else [note.url]

    def _would_skip(self, url: str) -> bool:
        """Have the learner watch over a URL that another process skipped; False if it would not skip it."""
        for _ in range(MAX_DECISIONS):
            decision = self._learner.decide(url)
            if decision.skip or not decision.rules or decision.action != "go":
                return decision.skip
        return False


async def delete_stale_journals(store: FingerprintStore, run: str) -> None:
    """Delete the journals of earlier crawls of a run's spider, so that a crawl a day does not fill the store.

    Each run learns anew, so a journal matters only to people who look at the last crawl, and to a process that resumes
    its run. The journals of runs that had a JOBDIR or a name of their own are kept for that; any other run ended with
    its process.
    """
    beats = await store.heartbeats()
    for name in [name async for name in store.journals()]:
        of_run, site = events.split_journal_name(name)
        if site == events.EVENTS or of_run == run or spider_of(of_run) != spider_of(run):
            continue
        raw = await store.get_note(events.event_journal(of_run), events.event_key(events.RunStarted.__name__))
        note = None
        with suppress(ValueError):  # what cannot be read does not tell that the run is over
            note = events.decode_event(raw, events.PAGE_EVENTS) if raw is not None else None
        worker = note.worker if isinstance(note, events.RunStarted) else None
        if worker and not is_alive(worker, beats.get(worker), time.time()):
            await store.delete_journal(name)


META_REQUESTED_URL = "simdedup_asked"
"""Holds the URL that was requested first, while a request and its redirects are on their way."""
META_CHECK = "simdedup_check"
"""Marks a request that asks for a URL once more; holds the URL of the page that it should be like."""
MAX_AWAITED = 100_000
"""Pages, and targets of redirects, that are awaited to learn from them; others teach nothing."""
_PLAIN_REASONS = frozenset({None, "own_text", "known_view"})
"""Reasons of verdicts that tell what a URL leads to: a page of its own if it is kept, else its original."""


class UrlObservations:
    """Notes what each URL led to: for a repeat, its original; for any other page, itself, when it was delivered.

    It is opened before the first request, where URLs are learned from.
    """

    _journal: UrlJournal

    def __init__(self, crawl: Crawl, tasks: BackgroundTasks) -> None:
        self._stats, self._tasks, self._on_store_error = crawl.stats, tasks, crawl.store_failed
        self._awaiting_delivery: dict[tuple[str, int], events.SeenUrl] = {}
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
        is_plain = verdict.reason in _PLAIN_REASONS or (verdict.kind, verdict.reason) == ("unchanged", "for_links")
        if not (is_plain or is_second_try) or verdict.pending is not None:
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
        about = canonical, request in self._checking
        if original is not None:
            self._tasks.start(self._note(events.SeenUrl(request.url, original.hex(), *about)))
        elif page is not None and len(self._awaiting_delivery) < MAX_AWAITED:
            content = verdict.original_key if is_second_try and verdict.original_key else page.key
            was_copy = verdict.kind == "unchanged" and verdict.original_key != page.key
            if was_copy and len(self._former_copies) < MAX_AWAITED:
                self._former_copies[page.url] = page.key
            self._awaiting_delivery[page.site, page.id] = events.SeenUrl(request.url, content.hex(), *about)

    def checks(self, request: Request) -> str | None:
        """The URL whose page a second look, which delivers no known content, should show; None if a request is none."""
        url: str | None = request.meta.pop(META_CHECK, None)
        if url is not None:
            request.meta.pop("dont_redirect", None)  # links may copy it
            self._checking.add(request)
        return url

    async def content_of(self, url: str) -> bytes | None:
        """The name of the content that a URL led to; None if it was not seen."""
        content = await self._journal.content_id_of(url)
        return None if content is None else bytes.fromhex(content)

    def checked(self, request: Request, content: bytes, *, renamed: bool) -> None:
        """Learn from a page that was fetched once more, and has a known content."""
        note = events.SeenUrl(request.url, content.hex(), None, checked=True, renamed=renamed)
        self._tasks.start(self._note(note))

    def settled(self, page: PageRef, delivered: bool) -> None:
        """Note what was observed of a page that was confirmed; forget it if the page was released."""
        note = self._awaiting_delivery.pop((page.site, page.id), None)
        if note is not None and delivered:
            self._tasks.start(self._note(note))

    def sent(self, request: Request) -> None:
        """Mark a request on its way with its URL, which tells, after a redirect, what was requested first."""
        if request.method == "GET" and not request.body and len(request.url) <= MAX_URL_LENGTH:
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
        with reporting_failures(self._on_store_error):
            content = await self._journal.content_id_of(target)
            if content is not None:
                await self._note(events.SeenUrl(first, content, target))
            elif len(self._redirects) < MAX_AWAITED:
                self._redirects.setdefault(target, []).append(first)

    async def _note(self, note: events.SeenUrl) -> None:
        """Write a note of a page, and one of each URL that was redirected to it."""
        notes = [note, *(events.SeenUrl(first, note.content, note.url) for first in self._redirects.pop(note.url, ()))]
        with reporting_failures(self._on_store_error):  # nothing is learned then, so its other URLs are fetched, too
            for seen in notes:
                await self._journal.record_seen(seen)
                self._stats.increment("urls/seen")
            self.noted()
