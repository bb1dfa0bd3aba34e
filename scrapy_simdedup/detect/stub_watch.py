"""The watch on stubs: the stub detectors of all sites, in bounded memory, and their counts in the store.

Pages that were kept and not delivered leave no record that tells what comes after them. A pipeline that drops a third
of the items takes the first pages of a family away, one after the other. The next page with their content is compared
with none of them, and would be counted as another content. So the failed pages of this process are remembered for a
while, and the page that takes their place is counted with them.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from scrapy_simdedup.detect.stubs import StubDetector
from scrapy_simdedup.detect.verdict import FetchedPage, OtherLine, PageRef
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.fingerprint import novelty
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.store.base import FingerprintStore, Outcome, reporting_failures

MAX_BYTES = 64_000_000
"""Bytes of the watch on all sites, about; the site whose page came longest ago is forgotten first."""
COUNT_EVERY = 64
"""Pages of a site between two counts of its bytes, once it has that many."""
JOURNAL = "stubs"
"""The journal in which each site has a note: the counts of the run that saw it last."""
MAX_IN_WORK = 1_000
"""Pages in work that are remembered; beyond, the oldest is forgotten."""
MAX_FAILED = 8
"""Failed pages of a site that are remembered: the newest."""
MAX_SITES = 1_000
"""Sites whose failed pages are remembered; beyond, the one whose page failed first is forgotten."""
MAX_CONTENTS = 10_000
"""Contents that are remembered to be counted with an earlier one."""


class StubWatch:
    """The stub detectors of all sites; together they take at most about :data:`MAX_BYTES`.

    A run that goes on in another process, as a crawl with a ``JOBDIR`` does, goes on counting. Another run begins anew:
    pages that are fetched each night are no more places each night. Of several processes that work on one run, that
    which ends last leaves its counts. Without a store none are kept.
    """

    def __init__(
        self,
        store: FingerprintStore | None = None,
        run: str = "",
        on_store_error: Callable[[StoreError], None] | None = None,
    ) -> None:
        self._store, self._run, self._on_store_error = store, run, on_store_error
        self._detectors: dict[str, tuple[StubDetector, int, int]] = {}
        """By site, the one asked for last at the end: the detector, how often that was, and its counted bytes."""
        self._bytes = 0

    def detector(self, site: str) -> StubDetector:
        """The detector of a site, for its next page; a new one if there was none, or it was forgotten."""
        known = self._detectors.pop(site, None)
        detector, pages, counted = (StubDetector(site), 0, 0) if known is None else known
        # Young sites are counted whenever they have twice as many pages, so that many of them are no surprise.
        if pages % COUNT_EVERY == 0 or pages & (pages - 1) == 0:
            self._bytes -= counted
            counted = detector.size
            self._bytes += counted
        self._detectors[site] = detector, pages + 1, counted
        while self._bytes > MAX_BYTES and len(self._detectors) > 1:
            *_, forgotten = self._detectors.pop(next(iter(self._detectors)))
            self._bytes -= forgotten
        return detector

    async def restore(self, site: str) -> None:
        """Take up the counts of a site that another process of this run has saved, unless the site is known here."""
        if self._store is None or site in self._detectors:
            return
        raw = None
        with reporting_failures(self._report):
            raw = await self._store.get_note(JOURNAL, site.encode())
        found = None if raw is None else StubDetector.from_note(site, raw, self._run)
        if found is not None:
            self._detectors.setdefault(site, (found, 0, 0))  # another page may have come while the store was asked

    async def save(self) -> None:
        """Save what was not saved yet."""
        if self._store is None:
            return
        for site, (detector, *_) in list(self._detectors.items()):
            if not detector.unsaved:
                continue
            detector.unsaved = 0
            try:
                await self._store.put_note(JOURNAL, site.encode(), detector.to_note(self._run))
            except StoreError as exc:
                self._report(exc)
                return  # a store that fails is not asked once for each site

    def _report(self, exc: StoreError) -> None:
        if self._on_store_error is not None:
            self._on_store_error(exc)


class FailedPages:
    """The pages that this process kept and could not deliver, and the contents that are counted with theirs."""

    def __init__(self) -> None:
        self._in_work: OrderedDict[tuple[str, int], tuple[str, PageFingerprint]] = OrderedDict()
        """By site and id, the content and the fingerprint of a page that was kept."""
        self._failed: OrderedDict[str, deque[tuple[str, PageFingerprint]]] = OrderedDict()
        """The same by site of those that failed."""
        self._contents: OrderedDict[str, str] = OrderedDict()
        """By content, the one that it is counted with."""

    def kept(self, ref: PageRef, content: str, fp: PageFingerprint) -> None:
        """Expect the outcome of a page that is kept."""
        self._in_work[ref.site, ref.id] = content, replace(fp, page_units=None)
        _forget_oldest(self._in_work, MAX_IN_WORK)

    def settled(self, site: str, id_: int, outcome: Outcome) -> None:
        """Take in what became of a page."""
        page = self._in_work.pop((site, id_), None)
        if page is not None and outcome == "released":
            self._failed.setdefault(site, deque(maxlen=MAX_FAILED)).append(page)
            _forget_oldest(self._failed, MAX_SITES)

    def content(self, content: str) -> str:
        """The content that a content is counted with: mostly itself."""
        return self._contents.get(content, content)

    def take_place(self, page: FetchedPage, content: str, clocks: Collection[int]) -> tuple[str, OtherLine | None]:
        """The content that a kept page is counted with, and in what a line differs from that of the failed page."""
        fp = page.fingerprint
        for earlier, other in self._failed.get(page.site, ()):
            if earlier == content or fp.unjudged or other.unjudged or fp.extractor != other.extractor:
                continue
            if fp.compare(other, identical=page.settings.identical).kind == "identical":
                self._contents[content] = earlier
                _forget_oldest(self._contents, MAX_CONTENTS)
                if fp.page_units is None or other.units is None:
                    return earlier, None
                lines = novelty.replaced_lines(fp.page_units, [other.units], clocks)
                return earlier, lines.difference(fp.page_units)
        return self.content(content), None


def _forget_oldest(known: OrderedDict[Any, Any], most: int) -> None:
    while len(known) > most:
        known.popitem(last=False)
