"""Transactions: what was decided from a site's log is appended unless other workers were faster; then it is redone.

What comes of them is counted to find stubs, pages that were not delivered with those that take their place.
"""

from __future__ import annotations

import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from itertools import compress
from typing import Any

import numpy as np

from scrapy_simdedup.detect.clocks import ClockBook
from scrapy_simdedup.detect.names import RunContext
from scrapy_simdedup.detect.policy import Decision, decide, is_copy_of
from scrapy_simdedup.detect.revisit import evidence_of_equal, says_again, text_differs
from scrapy_simdedup.detect.site_logs import EventLog, SiteCache, SiteLogs
from scrapy_simdedup.detect.stubs import StubDetector
from scrapy_simdedup.detect.threads import other_rows, other_titles
from scrapy_simdedup.detect.verdict import FetchedPage, PageRef, Verdict
from scrapy_simdedup.display import plural
from scrapy_simdedup.errors import FingerprintMismatch, StoreBusy, StoreError
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.signals import Wall
from scrapy_simdedup.store.base import FingerprintStore, Outcome, Record, reporting_failures

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 100
"""How often a page is judged again because others were faster, before the store counts as busy."""
SETTLING_SECONDS = 20.0
"""How long records are settled at the end, for which a store failed or was too slow before."""
STORE_FAILURES = StoreError, FingerprintMismatch
"""The errors of a store that fails, or that holds what is no fingerprint."""
MAX_WATCH_BYTES = 64_000_000
"""Bytes of the stub detectors of all sites, about; the site whose page came longest ago is forgotten first."""
STUB_JOURNAL = "stubs"
"""The journal in which each site has a note: the counts of the run that saw it last."""
MAX_IN_WORK = 1_000
"""Pages in work that are remembered; beyond, the oldest is forgotten."""
MAX_FAILED = 8
"""Failed pages of a site that are remembered: the newest."""
MAX_FAILED_SITES = 1_000
"""Sites whose failed pages are remembered; beyond, the one whose page failed first is forgotten."""
MAX_MOVED_CONTENTS = 10_000
"""Contents that are remembered to be counted with an earlier one."""


class Transactions:
    """The transactions of one worker. None raises because the store fails.

    Another process may go on with the run if it ``keeps_counts`` of stubs in the store.
    """

    def __init__(
        self,
        store: FingerprintStore,
        settings: DedupSettings,
        context: RunContext,
        *,
        store_name: str,
        on_store_error: Callable[[StoreError], None],
        on_wall: Callable[[Wall], None] | None = None,
        on_stub: Callable[[str, bytes], None] | None = None,
        on_records: Callable[[str, bytes, int], None] | None = None,
        keeps_counts: bool = True,
    ) -> None:
        self._context, self._store_name, self._on_store_error = context, store_name, on_store_error
        self._on_wall, self._on_stub, self._on_records = on_wall, on_stub, on_records
        self.logs: SiteLogs = SiteLogs(store, settings, context)
        self.history: EventLog = EventLog(store, self.logs, context, on_store_error=on_store_error)
        """The log of events of this run, for later runs."""
        self._clocks: ClockBook | None = None
        """The places of each site whose text changes by itself; None where nobody learns them."""
        if settings.clocks and settings.compares_versions:
            self._clocks = ClockBook(store, context.run, on_store_error)
        self._failed = FailedPages()
        self._stubs = StubWatch(store if keeps_counts else None, context.run, on_store_error)

    async def save(self) -> None:
        """Save what was learned of the sites beside the records of their pages."""
        if self._clocks is not None:
            await self._clocks.save()
        await self._stubs.save()

    async def judge(self, page: FetchedPage, *, keep_pending: bool = False) -> Verdict:
        """Decide about a page, and store the decision; the verdict names the page's record if the page is kept.

        If the store fails, or other pages of the site were faster :data:`MAX_ATTEMPTS` times, the page is unjudged.
        With ``keep_pending`` the page is kept if its original is still in work.
        """
        try:
            decision, verdict = await self._decide(page, keep_pending=keep_pending)
            if decision.replaced is not None:
                await self.settle(page.site, decision.replaced.id, "released")
            if decision.left is not None and verdict.pending is None:
                await self.history.content_left(page.site, decision.left, "changed")
            if decision.evidence is not None and verdict.pending is None and self._clocks is not None:
                await self._clocks.observe(page.site, decision.evidence)
            if verdict.pending is None and verdict.original is not None:
                await self.history.page_compared(page, verdict)
            if verdict.pending is None and page.settings.stubs != "keep":
                await self._detect_stub(page, decision, verdict.page)
        except STORE_FAILURES as exc:
            self._report_failure(exc)
            return Verdict("unjudged", reason="store_error")
        return verdict

    async def known_content(self, page: FetchedPage, *expected: bytes | None) -> tuple[bytes | None, Verdict]:
        """What a page would be found to be, and the key of a delivered page with its content; nothing is stored.

        A page can be like several. The key is the first expected one of which the page is a copy as well.
        """
        page = page._replace(is_filtered=True)  # what changed since it was fetched in this run is no news
        try:
            clocks = await self._clocks_of(page.site)
            index = await self.logs.index(page.site)
            verdict = decide(page, index, clocks=clocks).verdict
        except STORE_FAILURES as exc:
            self._report_failure(exc)
            return None, Verdict("unjudged", reason="store_error")
        is_known = verdict.pending is None and (verdict.is_duplicate or verdict.kind in {"unchanged", "stub"})
        key = verdict.original_key if is_known else None
        if verdict.is_duplicate and verdict.pending is None:
            wanted = (one for one in expected if one is not None)
            key = next((one for one in wanted if one == key or is_copy_of(page, one, index, clocks)), key)
        return (key if key is not None and index.delivered_version(key) is not None else None), verdict

    async def is_unchanged(self, page: FetchedPage) -> bool:
        """Whether a page says what its URL gave before; False if the store fails."""
        try:
            index = await self.logs.index(page.site)
            return is_copy_of(page, page.key, index, await self._clocks_of(page.site))
        except STORE_FAILURES as exc:
            self._report_failure(exc)
            return False

    async def settle(self, site: str, id_: int, outcome: Outcome) -> bool:
        """Settle a page's record; False if the store failed, and it is tried again later.

        A start page is fetched for the start of each crawl, and for the links that lead to it. What the one callback
        makes nothing of does not take the place of what the other one has: that was seen again.
        """
        self._failed.settled(site, id_, outcome)
        key = self.logs.key_with_other_items(site, id_) if outcome == "itemless" else None
        try:
            await self.logs.settle(site, id_, outcome if key is None else "released")
            if key is not None:
                await self._seen_again(site, key)
        except STORE_FAILURES as exc:
            self._report_failure(exc)
            return False
        return True

    async def retry_settlements(self) -> None:
        """Settle the records for which the store failed before, as far as that is done soon."""
        try:
            await self.logs.retry_settlements(SETTLING_SECONDS)
        except STORE_FAILURES as exc:
            self._report_failure(exc)
        if self.logs.unsettled:
            message = "The store was not told what became of %s, so their contents may be delivered once more"
            logger.warning(message, plural(len(self.logs.unsettled), "page"))

    async def refresh(self, site: str, key: bytes) -> None:
        """Store that a settled page was seen again without being sent, unless the store is too busy for that."""
        try:
            seen = await self._seen_again(site, key)
            evidence = None if seen is None else evidence_of_equal(PageFingerprint.from_bytes(seen.fingerprint))
            if evidence is not None and self._clocks is not None:
                await self._clocks.observe(site, evidence)
        except STORE_FAILURES as exc:
            self._report_failure(exc)

    async def _seen_again(self, site: str, key: bytes) -> Record | None:
        for _ in range(MAX_ATTEMPTS):
            index = await self.logs.index(site)
            before = index.previous_version(key, self._context.run)
            if before is None or not before.settled:
                return None
            seen = before._replace(last_seen=self._context.now(), visits=before.visits + 1)
            if await self.logs.append(site, seen, index, index.cursor) is not None:
                return seen
        return None

    async def was_delivered(self, site: str, key: bytes) -> bool:
        """Whether a page was delivered, in whichever run, or may have been, as the store fails."""
        try:
            index = self.logs.indexes.known(site)
            index = await self.logs.index(site) if index is None else index
            return index.delivered_version(key) is not None
        except STORE_FAILURES as exc:
            self._report_failure(exc)
            return True

    def _report_failure(self, exc: StoreError | FingerprintMismatch) -> None:
        if isinstance(exc, FingerprintMismatch):
            exc = StoreError(self._store_name, f"holds what is no fingerprint of ours: {exc}")
        self._on_store_error(exc)

    async def _clocks_of(self, site: str) -> frozenset[int]:
        return frozenset() if self._clocks is None else (await self._clocks.of(site)).clocks

    async def _decide(self, page: FetchedPage, *, keep_pending: bool) -> tuple[Decision, Verdict]:
        clocks = await self._clocks_of(page.site)
        for _ in range(MAX_ATTEMPTS):
            index = await self.logs.index(page.site)
            # No await from here to the append: what is decided holds for this cursor.
            expected = index.cursor
            decision = decide(page, index, clocks=clocks, keep_pending=keep_pending)
            is_repeat = decision.verdict.kind in {"identical", "stub"}
            if page.read is not None and is_repeat and decision.verdict.own_words is None:
                page = page._replace(fingerprint=await page.read(), read=None)
                continue
            if decision.record is None:
                awaited = decision.original if decision.verdict.pending else None
                if awaited is not None and await self.logs.release_if_dead(page.site, awaited):
                    continue
                return decision, decision.verdict
            # The record of a page that is kept has the page's own fingerprint.
            fp = page.fingerprint if decision.record.state == "reserved" else None
            id_ = await self.logs.append(page.site, decision.record, index, expected, fp)
            if id_ is None:
                continue
            if decision.verdict.kind == "unchanged" and decision.verdict.is_duplicate:
                index.seen_unchanged(decision.record._replace(id=id_, position=id_))
            if page.settings.prefer is not None:
                index.canonical_claims.remember(page.key, page.canonical)
            if decision.record.state != "reserved":
                return decision, decision.verdict
            return decision, decision.verdict._replace(page=PageRef(page.site, id_, page.key, page.url))
        raise StoreBusy(self._store_name, f"{page.site} changed {MAX_ATTEMPTS} times while one of its pages was judged")

    async def _detect_stub(self, page: FetchedPage, decision: Decision, ref: PageRef | None) -> None:
        """Detect whether the page's content is a stub, which from now on displaces no page, or a wall.

        A view of a thing that is known is no place of a stub: another delivered page says all that it says beside it.
        """
        if decision.verdict.is_duplicate and decision.verdict.reason == "known_view":
            return
        original, other_text = decision.original, bool(decision.verdict.other_text)
        is_copy = decision.verdict.kind == "identical"  # near pages are dropped where the settings say so
        said_before = decision.evidence is not None and says_again(page, original, decision.evidence)
        if page.asked_for is not None and decision.evidence is not None:  # whatever it is most like by now
            asked = (await self.logs.index(page.site)).delivered_version(page.asked_for)
            if asked is not None and says_again(page, asked, decision.evidence):
                original, other_text, is_copy, said_before = asked, True, True, True
        await self._stubs.restore(page.site)
        content = _content_of(page, original)
        if original is None and ref is not None and decision.record is not None:
            content, other_text = self._failed.take_place(page, content)
            self._failed.kept(ref, content, decision.record.fingerprint)
        else:
            content = self._failed.content(content)
        detector, rows = self._stubs.detector(page.site), None
        # In a run that goes on after a kill all bytes are known.
        fp = await page.read() if other_text and page.read is not None else page.fingerprint
        units, kept = fp.page_units, fp.units
        if original is not None and units is not None and kept is not None:
            others = PageFingerprint.from_bytes(original.fingerprint).units
            if others is not None:
                rows = other_titles(kept, others) if others.sequence == kept.sequence else other_rows(units, others)
        text = 0 if kept is None else kept.sequence + kept.title
        is_stub = detector.observe(
            page.url, content, other_text=other_text, text=text, other_rows=rows, said_before=is_copy and said_before
        )
        wall = detector.wall()
        if original is not None and (is_stub or wall) and original.delivered:
            await self.settle(page.site, original.id, "stub")  # later, if the store fails
            if self._on_stub is not None:
                self._on_stub(page.site, original.original or original.key)
        elif is_copy and original is not None and self._on_records and (count := detector.to_ask(content)):
            self._on_records(page.site, original.original or original.key, count)
        if wall and self._on_wall is not None:
            self._on_wall(wall)


def _content_of(page: FetchedPage, original: Record | None) -> str:
    """The name of a page's content, under which its URLs are counted."""
    fp = page.fingerprint
    if fp.unjudged in {"empty", "too_short"}:  # to be compared, but a captcha may well be
        return f"{fp.unjudged} {fp.title} {fp.h1} {fp.total} {fp.data}"
    if fp.unjudged:  # its text is not known
        return f"{fp.unjudged} {fp.body.hex()}"
    return (page.key if original is None else original.original or original.key).hex()


class StubWatch:
    """The stub detectors of all sites; together they take at most about :data:`MAX_WATCH_BYTES`.

    A run that goes on in another process, as a crawl with a ``JOBDIR`` does, goes on counting. Another run begins anew:
    pages that are fetched each night are no more places each night. Of several processes that work on one run, that
    which ends last leaves its counts. Without a store none are kept.
    """

    def __init__(self, store: FingerprintStore | None, run: str, on_store_error: Callable[[StoreError], None]) -> None:
        self._store, self._run, self._on_store_error = store, run, on_store_error
        self._detectors = SiteCache(MAX_WATCH_BYTES, StubDetector)

    def detector(self, site: str) -> StubDetector:
        """The detector of a site; a new one if there was none, or it was forgotten."""
        return self._detectors.get(site)

    async def restore(self, site: str) -> None:
        """Take up the counts of a site that another process of this run has saved, unless the site is known here."""
        if self._store is None or self._detectors.known(site) is not None:
            return
        raw = None
        with reporting_failures(self._on_store_error):
            raw = await self._store.get_note(STUB_JOURNAL, site.encode())
        found = None if raw is None else StubDetector.from_note(site, raw, self._run)
        if found is not None:
            self._detectors.set_default(site, found)  # another page may have come while the store was asked

    async def save(self) -> None:
        """Save what was not saved yet."""
        if self._store is None:
            return
        for site, detector in self._detectors.items():
            if not detector.unsaved:
                continue
            detector.unsaved = 0
            try:
                await self._store.put_note(STUB_JOURNAL, site.encode(), detector.to_note(self._run))
            except StoreError as exc:
                self._on_store_error(exc)
                return  # a store that fails is not asked once for each site


class FailedPages:
    """The pages that this process kept and could not deliver, and the contents that are counted with theirs.

    They leave no record that tells what comes after them. A pipeline that drops a third of the items takes the first
    pages of a family away, one after the other. The next page with their content is compared with none of them, and
    would be counted as another content. So the page that takes their place is counted with them, for a while.
    """

    def __init__(self) -> None:
        self._in_work: OrderedDict[tuple[str, int], tuple[str, bytes]] = OrderedDict()
        """By site and id, the content and the fingerprint of a page that was kept."""
        self._failed: OrderedDict[str, deque[tuple[str, bytes]]] = OrderedDict()
        """By site, the contents and fingerprints of its pages that failed."""
        self._contents: OrderedDict[str, str] = OrderedDict()
        """Content → the content with which it is counted."""

    def kept(self, ref: PageRef, content: str, fingerprint: bytes) -> None:
        """Expect the outcome of a page that is kept."""
        self._in_work[ref.site, ref.id] = content, fingerprint
        _forget_oldest(self._in_work, MAX_IN_WORK)

    def settled(self, site: str, id_: int, outcome: Outcome) -> None:
        """Take in what became of a page."""
        page = self._in_work.pop((site, id_), None)
        if page is not None and outcome == "released":
            self._failed.setdefault(site, deque(maxlen=MAX_FAILED)).append(page)
            _forget_oldest(self._failed, MAX_FAILED_SITES)

    def content(self, content: str) -> str:
        """The content that a content is counted with: mostly itself."""
        return self._contents.get(content, content)

    def take_place(self, page: FetchedPage, content: str) -> tuple[str, bool]:
        """The content that a kept page is counted with, and whether its text is another one than the failed page's."""
        fp, failed = page.fingerprint, self._failed.get(page.site)
        for earlier, other in self._alike(page, content, failed) if failed else ():
            if fp.compare(other, identical=page.settings.identical).kind == "identical":
                self._contents[content] = earlier
                _forget_oldest(self._contents, MAX_MOVED_CONTENTS)
                return earlier, bool(text_differs(fp, other))
        return self.content(content), False

    @staticmethod
    def _alike(
        page: FetchedPage, content: str, failed: Iterable[tuple[str, bytes]]
    ) -> Iterator[tuple[str, PageFingerprint]]:
        """The failed pages with other contents that a page may be a copy of; all are scored at once."""
        fp, identical = page.fingerprint, page.settings.identical
        pages = [(earlier, PageFingerprint.from_bytes(raw)) for earlier, raw in failed]
        pages = [(earlier, of) for earlier, of in pages if earlier != content and not of.unjudged]
        pages = [(earlier, of) for earlier, of in pages if of.extractor == fp.extractor]
        if pages and not fp.unjudged:
            scores = fp.score(np.concatenate([of.comparison_row for _, of in pages]))
            yield from compress(pages, scores.similarity_under(identical) >= identical)


def _forget_oldest(known: OrderedDict[Any, Any], most: int) -> None:
    while len(known) > most:
        known.popitem(last=False)
