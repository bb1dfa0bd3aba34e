"""Requests whose URLs lead to known content: counted, put off, or not made."""

from __future__ import annotations

import logging
import time
from hashlib import blake2b
from typing import TYPE_CHECKING

from scrapy import signals

from scrapy_simdedup.crawl.exceptions import SkippedRequest
from scrapy_simdedup.crawl.readmission import META_AGAIN, Readmission
from scrapy_simdedup.crawl.rule_files import given_rules
from scrapy_simdedup.crawl.skippable import as_values, may_be_skipped
from scrapy_simdedup.crawl.spent_notes import take_out_spent_notes
from scrapy_simdedup.crawl.url_examples import UrlExamples
from scrapy_simdedup.crawl.url_journal import UrlJournal
from scrapy_simdedup.crawl.url_tally import UrlTally
from scrapy_simdedup.crawl.waiting import Tasks, sleep
from scrapy_simdedup.detect.url_notes import SkippedUrl
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.report.lesson import Lesson
from scrapy_simdedup.urls import UrlLearner

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_simdedup.detect.detector import NearDuplicateDetector
    from scrapy_simdedup.settings import DedupSettings
    from scrapy_simdedup.urls import Decision, Rule

logger = logging.getLogger(__name__)

META_SCHEDULED = "simdedup_scheduled"
"""Marks a request that came through the scheduler. What a callback downloads and awaits did not, and is its own."""
PUT_OFF = 1000
"""How much the priority of a request falls that probably leads to known content."""
COMPLAIN_SECONDS = 60.0


class UrlGuide:
    """Asks the learner about each request.

    Whatever goes wrong here, the request is made.

    Args:
        crawler: the crawl.
        settings: ``mode``, ``urls``, ``url_rules`` and ``run`` matter.
        detector: its store is where the notes are, once it is open.
        deliveries: the work of settling pages.
        on_store_error: called with each failure of the store.
    """

    def __init__(
        self,
        crawler: Crawler,
        settings: DedupSettings,
        detector: NearDuplicateDetector,
        *,
        deliveries: Tasks,
        on_store_error: Callable[[StoreError], None],
    ) -> None:
        self._crawler, self._settings, self._detector, self._store_failed = crawler, settings, detector, on_store_error
        # Where nothing is to be dropped, nothing is to be skipped.
        self.mode = "observe" if settings.mode == "observe" and settings.urls != "off" else settings.urls
        self.tally = UrlTally(crawler.stats)
        self._given = given_rules(settings.url_rules)
        self._learner: UrlLearner | None = None
        self._journal: UrlJournal | None = None
        self._tasks = Tasks()
        self.examples = UrlExamples(self.tally, self._tasks, on_store_error)
        self._back = Readmission(
            crawler,
            self.tally,
            tasks=self._tasks,
            deliveries=deliveries,
            run=detector.run,
            on_store_error=on_store_error,
        )
        self._complained = -COMPLAIN_SECONDS
        if self.mode != "off":
            crawler.signals.connect(self._scheduled, signals.request_scheduled)

    async def open(self) -> None:
        """Begin, or go on where the run is."""
        if self.mode == "off":
            return
        key = blake2b(self._detector.secret, digest_size=32, person=b"simdedup urls").digest()
        self._learner = UrlLearner(key=key, rules=self._given)
        self._journal = UrlJournal(
            self._detector.store,
            self._learner,
            run=self._detector.run,
            worker=self._detector.worker,
            shared=self._settings.run is not None,
            skips=self.mode == "skip",
            sleep=sleep,
            give_back=self._back.add,
        )
        self._back.open(self._learner, self._journal)
        self.examples.open(self._journal)
        try:
            known = await self._journal.open()
            if known:
                logger.info("Learned from %d notes about URLs that the run had made", known)
        except StoreError as exc:
            self._store_failed(exc)

    # ------------------------------------------------------------------ before a request is made

    async def advise(self, request: Request) -> Request | None:
        """Let a request pass (None), or give the request that is to be scheduled in its place.

        Raises:
            SkippedRequest: it is not to be made.
        """
        again = request.meta.pop(META_AGAIN, None)
        scheduled = request.meta.pop(META_SCHEDULED, False)
        if again is not None:
            request.dont_filter = False  # as it was before the scheduler had to take it once more
            self._back.arrived(request.url)
        if self._learner is None or not scheduled or not may_be_skipped(request):
            return None
        try:
            decision = self._learner.decide(request.url, dry=self.mode != "skip")
            if decision.action == "go":
                if decision.rules:
                    self.examples.verify(request)
                return None
            if self.mode == "observe":
                if decision.skip:
                    self.tally.count("would_skip")
                return None
            if decision.skip and self.mode == "skip":
                skipped = await self._skip(request, decision)
            else:
                return None if again == "put off" else self._put_off(request)
        except Exception as exc:  # noqa: BLE001 - whatever it was, the request is made
            self._failed(exc)
            return None
        if skipped is not None:
            raise skipped
        return None

    async def _skip(self, request: Request, decision: Decision) -> SkippedRequest | None:
        url, rule = request.url, f"{' and '.join(decision.rules)} in {decision.pattern}"
        values = as_values(request, self._crawler.spider)
        if values is None:
            self.tally.kept("unserializable")
            return None
        if self._learner is None or self._journal is None or self._back.is_noting(url):
            return None
        known_url = self._learner.known_url(decision)
        note = SkippedUrl(url, known_url, rule, self._detector.worker, values)
        # The request has left the scheduler's queue, so its note must be in the store before it is let go. A process
        # that is killed before loses it as it loses every request that is being downloaded; after that, whoever takes
        # up the run finds it. And where the rule falls while the note is being written, nobody could find it yet.
        self._back.begin_note(url)
        try:
            is_noted = await self._journal.skipped(note)
        finally:
            given_back = self._back.end_note(url)
        if not is_noted or given_back:
            self.tally.kept("given_back" if given_back else "another_request")
            return None
        self.tally.count("skipped")
        skipped = SkippedRequest(url, known_url, rule)
        logger.debug("Skipped: %s", skipped, extra={"spider": self._crawler.spider})
        return skipped

    def _put_off(self, request: Request) -> Request:
        self.tally.count("deprioritized")
        return request.replace(
            priority=request.priority - PUT_OFF,
            dont_filter=True,  # the dupefilter knows it already
            meta={**request.meta, META_AGAIN: "put off"},
        )

    async def close(self, page_size: float) -> None:
        """The crawl is over; ``page_size`` is that of a repeat on average."""
        await self._back.close()
        if self._learner is None or self._journal is None:
            return
        self.tally.close(self.rules(), page_size)
        try:
            await self._journal.close()
            await take_out_spent_notes(self._detector.store, self._detector.run)
        except StoreError as exc:
            self._store_failed(exc)

    def rules(self) -> list[Rule]:
        """The rules that are in force, those that saved most first."""
        found = self._learner.rules() if self._learner is not None else ()
        chosen = [rule for rule in found if rule.in_force and (not rule.given or rule.skipped)]
        return sorted(chosen, key=lambda rule: -rule.skipped)

    @property
    def lesson(self) -> Lesson | None:
        """What the report says about it; None where nothing was to be skipped."""
        if self._learner is None or self.mode != "skip":
            return None
        return Lesson.of_crawl(self._learner, seen=self.tally.counts["seen"], skipped=self.tally.saved)

    def _scheduled(self, request: Request) -> None:
        request.meta[META_SCHEDULED] = True
        self.examples.scheduled(request)

    def _failed(self, exc: Exception) -> None:
        if isinstance(exc, StoreError):
            self._store_failed(exc)
            self.tally.kept("store_error")
            return
        self.tally.kept("error")
        if time.monotonic() - self._complained >= COMPLAIN_SECONDS:
            self._complained = time.monotonic()
            logger.error("URLs cannot be judged, so all are fetched", exc_info=exc)
