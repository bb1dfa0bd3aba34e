"""The log of a run's page events: it writes them into the journals of the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from scrapy_simdedup.detect.events import (
    COMPARED_JOURNAL,
    ContentLeft,
    HistoryEvent,
    PageCompared,
    RunStarted,
    SiteChangeCounts,
    SiteRedesigned,
    event_journal,
    event_key,
)
from scrapy_simdedup.detect.names import RunContext
from scrapy_simdedup.detect.site_logs import SiteLogs
from scrapy_simdedup.detect.verdict import FetchedPage, Verdict
from scrapy_simdedup.errors import FingerprintMismatch, StoreError
from scrapy_simdedup.fingerprint.unit_changes import Change
from scrapy_simdedup.store.base import FingerprintStore, Record, reporting_failures

MAX_COMPARED_PER_SITE = 256
"""Pages of a site of which the journal of compared pages has an event: so many that are near and kept for text of their
own, as many that are near for any other reason, and as many that were dropped. A run writes so many of each at most."""
MAX_COUNTED_SITES = 10_000
"""Sites whose events of compared pages are counted at a time; beyond, the counts begin anew."""


class EventLog:
    """Writes the page events of a run; where the store fails, the event is lost and nothing else."""

    def __init__(
        self,
        store: FingerprintStore,
        logs: SiteLogs,
        context: RunContext,
        *,
        on_store_error: Callable[[StoreError], None],
    ) -> None:
        self._store, self._logs = store, logs
        self._run, self._worker, self._now = context.run, context.worker, context.now
        self._on_store_error = on_store_error
        self._compared: Counter[tuple[str, str]] = Counter()
        """Events of compared pages by site and by what became of the page."""

    async def run_started(self, *, alone: bool = False) -> None:
        """Log that the run begins, or is resumed; ``alone`` if it ends with this process."""
        await self._write(RunStarted(self._run, self._now(), self._worker if alone else None), once=True)

    async def page_gone(self, site: str, key: bytes, reason: str) -> None:
        """Log that a URL answers that its page is gone, with a status for the reason, if the page was known."""
        try:
            before = (await self._logs.index(site)).previous_version(key, self._run)
        except StoreError as exc:
            self._on_store_error(exc)
        except FingerprintMismatch:
            return  # the error is reported where a page of this site is judged
        else:
            if before is not None and (before.delivered or before.state == "duplicate"):
                await self.content_left(site, before, reason)

    async def content_left(self, site: str, page: Record, reason: str) -> None:
        """Log that a content is gone from its URL: the reason is the status of the answer, or ``changed``."""
        of_page = page.url, page.key, page.fingerprint, page.original, page.last_seen
        event = ContentLeft(site, self._run, self._now(), reason, *of_page)
        await self._write(event, site, page.key.hex(), page.fingerprint.hex())

    async def site_changed(self, site: str, counts: Mapping[Change, int], part: int) -> None:
        """Log the changes that this worker has found on a site so far; another ``part`` is another count of them."""
        await self._write(SiteChangeCounts(site, self._run, self._now(), dict(counts)), site, self._worker, str(part))

    async def site_redesigned(self, site: str, pages: int, share: float) -> None:
        """Log that a site has a new template; of several workers the first counts."""
        await self._write(SiteRedesigned(site, self._run, self._now(), pages, share), site, once=True)

    async def page_compared(self, page: FetchedPage, verdict: Verdict) -> None:
        """Log what a page was compared with, if it is near and kept, or was dropped with words of its own.

        A site has :data:`MAX_COMPARED_PER_SITE` places for each of these, in all runs together; of two pages with the
        same place the newer has it. So neither the store nor the time for it grows with the number of near pages.
        """
        is_near = verdict.kind == "near" and not verdict.is_duplicate
        if not (is_near or (verdict.is_duplicate and verdict.own_words)) or verdict.original is None:
            return
        what = "dropped" if not is_near else "own_text" if verdict.reason == "own_text" else "near"
        if len(self._compared) > MAX_COUNTED_SITES:
            self._compared.clear()
        self._compared[page.site, what] += 1
        if self._compared[page.site, what] > MAX_COMPARED_PER_SITE:
            return
        found = verdict.is_duplicate, verdict.original, verdict.similarity or 0.0, verdict.reason, verdict.own_words
        event = PageCompared(page.site, self._run, page.now, page.url, page.key, *found)
        place = int.from_bytes(event_key(page.key.hex())[:4], "big") % MAX_COMPARED_PER_SITE
        await self._write(event, page.site, what, str(place), journal=COMPARED_JOURNAL)

    async def _write(self, event: HistoryEvent, *about: str, once: bool = False, journal: str | None = None) -> None:
        key = event_key(type(event).__name__, *about)
        with reporting_failures(self._on_store_error):
            await self._store.put_note(journal or event_journal(self._run), key, bytes(event), once=once)
