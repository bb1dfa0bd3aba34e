"""The skipper of URLs: requests whose URLs lead to known content are counted, deprioritized, or skipped."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

from scrapy import Request, signals

from scrapy_simdedup.crawl import Crawl
from scrapy_simdedup.crawl.arguments import CallbackArguments
from scrapy_simdedup.crawl.concurrency import BackgroundTasks
from scrapy_simdedup.crawl.exceptions import FailSafe, SkippedRequest
from scrapy_simdedup.crawl.requests import handler_name, is_skippable, serialize_request
from scrapy_simdedup.crawl.url_journal import UrlJournal, UrlObservations, delete_stale_journals
from scrapy_simdedup.crawl.url_readmission import META_RESCHEDULED, Readmission, UrlChecks
from scrapy_simdedup.detect.events import SkippedUrl
from scrapy_simdedup.errors import SettingError, StoreError
from scrapy_simdedup.report import UrlSavings
from scrapy_simdedup.settings import PREFIX
from scrapy_simdedup.store.base import reporting_failures
from scrapy_simdedup.urls import GivenRule, Rule, UrlDecision, UrlLearner, load_rules

logger = logging.getLogger(__name__)
META_SCHEDULED = "simdedup_scheduled"
"""Marks a request that came through the scheduler; one that a callback downloads and awaits did not."""
PRIORITY_STEP = 1000
"""How much the priority of a request falls that probably leads to known content, and rises of one that tests that."""
URL_ERROR_LOG_SECONDS = 60.0
"""How often a failure of the learner is logged; the stats count every time."""


def load_rule_files(paths: Iterable[str]) -> list[GivenRule]:
    """The rules of files in the JSON of duplicate-url-discarder; a SettingError if one cannot be read."""
    rules: list[GivenRule] = []
    for path in paths:
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as exc:
            raise SettingError(f"{PREFIX}URL_RULES", path, f"name a JSON file that can be read ({exc})") from exc
        rules += load_rules(text)
    return rules


class UrlSkipper:
    """Asks the learner about each request; whatever goes wrong, the request is made."""

    def __init__(self, crawl: Crawl, arguments: CallbackArguments, *, settling_tasks: BackgroundTasks) -> None:
        self._crawler, self._settings, self._detector = crawl.crawler, crawl.settings, crawl.detector
        self._stats, self._arguments, self._on_store_error = crawl.stats, arguments, crawl.store_failed
        # Where nothing is to be dropped, nothing is to be skipped.
        is_observing = crawl.settings.mode == "observe" and crawl.settings.url_learning != "off"
        self.mode = "observe" if is_observing else crawl.settings.url_learning
        self._given = load_rule_files(crawl.settings.url_rules)
        self._learner: UrlLearner | None = None
        self._journal: UrlJournal | None = None
        self._tasks = BackgroundTasks()
        self.observations: UrlObservations = UrlObservations(crawl, self._tasks)
        self._checks = UrlChecks(crawl)
        self.observations.noted = self._checks.ask
        self._readmission = Readmission(crawl, self._checks, tasks=self._tasks, settling_tasks=settling_tasks)
        self._last_error_log = -URL_ERROR_LOG_SECONDS
        if self.mode != "off":
            crawl.crawler.signals.connect(self._scheduled, signals.request_scheduled)

    async def open(self) -> None:
        """Learn from the journal of the run, and filter requests from now on."""
        if self.mode == "off":
            return
        key = blake2b(self._detector.secret, digest_size=32, person=b"simdedup urls").digest()
        self._learner = UrlLearner(
            key=key, rules=self._given, checks=self._settings.url_checks if self.mode == "skip" else 0.0
        )
        self._journal = UrlJournal(
            self._detector.store,
            self._learner,
            self._detector.context,
            shared=self._settings.run is not None,
            skips=self.mode == "skip",
            readmit=self._readmission.readmit,
            remembers=self._settings.url_remember,
        )
        self._checks.open(self._learner)
        self._readmission.open(self._learner, self._journal)
        self.observations.open(self._journal)
        with reporting_failures(self._on_store_error):
            known = await self._journal.open()
            if known:
                logger.info("Learned from %d notes about URLs that the run had made", known)

    async def filter(self, request: Request) -> Request | None:
        """Let a request pass (None), give the one to be scheduled in its place, or raise :class:`SkippedRequest`."""
        rescheduled = request.meta.pop(META_RESCHEDULED, None)
        scheduled = request.meta.pop(META_SCHEDULED, False)
        if rescheduled is not None:
            request.dont_filter = False  # as it was before the scheduler had to take it once more
            self._readmission.left_scheduler(request.url)
        if self._learner is None or not scheduled or not is_skippable(request) or self._has_own_arguments(request):
            return None
        try:
            decision = self._decide(self._learner, request, is_sample=rescheduled == "sampled")
            if decision.action == "go":
                if decision.rules:
                    self.observations.verify(request)
                return None
            if self.mode == "observe":
                if decision.skip:
                    self._stats.increment("urls/would_skip")
                return None
            if decision.skip and self.mode == "skip":
                await self._skip(request, decision)
                return None
            return None if rescheduled == "deprioritized" else self._deprioritize(request)
        except SkippedRequest:
            raise
        except StoreError as exc:
            self._on_store_error(exc)
            self._stats.url_kept("store_error")
        except Exception:  # whatever it was, the request is made
            self._stats.url_kept("error")
            if time.monotonic() - self._last_error_log >= URL_ERROR_LOG_SECONDS:
                self._last_error_log = time.monotonic()
                logger.exception("URLs cannot be judged, so all are fetched")
        return None

    def _has_own_arguments(self, request: Request) -> bool:
        with FailSafe("Could not look at what the request of %s brings along", request.url):
            self._arguments.fetched(request, handler_name(request, self._crawler.spider))
            return self._arguments.are_new(request) and self._detector.settings_for(request.url).callbacks == "same"
        return True

    def _decide(self, learner: UrlLearner, request: Request, *, is_sample: bool) -> UrlDecision:
        if self.mode == "skip":
            self._checks.remember(request)
        decision = learner.decide(request.url, dry=is_sample or self.mode != "skip")
        return replace(decision, action="go") if is_sample else decision

    async def _skip(self, request: Request, decision: UrlDecision) -> None:
        """Raise :class:`SkippedRequest`, unless the request has to be made after all."""
        url, rule = request.url, f"{' and '.join(decision.rules)} in {decision.pattern}"
        try:
            values = serialize_request(request, self._crawler.spider)
        except ValueError as exc:
            self._stats.url_kept("unserializable", f"{url}: {exc}")
            return
        if self._learner is None or self._journal is None:
            return
        known_url = self._learner.known_url(decision)
        note = SkippedUrl(url, known_url, rule, self._detector.context.worker, values)
        # The request has left the scheduler's queue, so its note must be in the store before it is let go. A process
        # that is killed before loses it as it loses every request that is being downloaded; after that, a process that
        # resumes the run finds it. If the rule falls while the note is being written, a readmission cannot find it yet.
        if not self._readmission.begin_skip_write(url):
            return
        try:
            is_noted = await self._journal.record_skipped(note)
        finally:
            readmitted = self._readmission.end_skip_write(url)
        if not is_noted or readmitted:
            self._stats.url_kept("readmitted" if readmitted else "another_request")
            return
        self._stats.increment("urls/skipped")
        skipped = SkippedRequest(url, known_url, rule)
        logger.debug("Skipped: %s", skipped, extra={"spider": self._crawler.spider})
        raise skipped

    def _deprioritize(self, request: Request) -> Request:
        self._stats.increment("urls/deprioritized")
        return request.replace(
            priority=request.priority - PRIORITY_STEP,
            dont_filter=True,  # the dupefilter knows it already
            meta={**request.meta, META_RESCHEDULED: "deprioritized"},
        )

    async def close(self) -> None:
        """Count the rules, leave them to the next run, leave this one, and delete the journals of earlier runs."""
        await self._readmission.close()
        if self._learner is None or self._journal is None:
            return
        self._stats.urls_closed(len(self.rules()), self._learner.unseen_bound if self.mode == "skip" else None)
        with reporting_failures(self._on_store_error):
            await self._journal.remember_rules()
            await self._journal.close()
            await delete_stale_journals(self._detector.store, self._detector.run)

    def rules(self) -> list[Rule]:
        """The rules that are in force, the one that skipped most first."""
        found = self._learner.rules() if self._learner is not None else ()
        chosen = [rule for rule in found if rule.in_force and (not rule.given or rule.skipped)]
        return sorted(chosen, key=lambda rule: -rule.skipped)

    @property
    def url_savings(self) -> UrlSavings | None:
        """The savings of the learned rules, for the report; None where nothing was to be skipped."""
        if self._learner is None or self.mode != "skip":
            return None
        return UrlSavings.of_crawl(self._learner, seen=self._stats["urls/seen"], skipped=self._stats.fetches_saved)

    def _scheduled(self, request: Request) -> None:
        request.meta[META_SCHEDULED] = True
        self.observations.scheduled(request)
        if self.mode == "skip" and META_RESCHEDULED not in request.meta and is_skippable(request):
            self._hasten(request)

    def _hasten(self, request: Request) -> None:
        """Have a request made before others that tells whether rules of an earlier crawl are right still."""
        page = request.headers.get("Referer")
        found_on = page.decode("latin-1") if page is not None else None
        if self._learner is not None and self._learner.is_early_test(request.url, found_on):
            request.priority += PRIORITY_STEP
