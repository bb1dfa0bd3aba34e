"""Near pages: those that were kept though much of their text is another page's, and what kept each of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TypeAlias

from scrapy_simdedup.detect.events import COMPARED_JOURNAL, PageCompared, decode_event
from scrapy_simdedup.display import plural
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.report.neighbours import fingerprint_of, push_largest
from scrapy_simdedup.store.base import FingerprintStore, Record, whole_journal

ComparedPages: TypeAlias = dict[tuple[str, bytes], PageCompared]

MAX_HELD = 50_000
"""Events of compared pages that are held at a time, the newest."""
KEPT_BY = {
    "within_budget": "SIMDEDUP_MAX_COPIES: more pages with its content may be kept",
    "better": "SIMDEDUP_PREFER: it is a better copy",
    "in_work": "its original was still in work",
    "no_item_yet": "its original gave no item",
    "for_links": "its links: it gave no item in an earlier run",
    "other_callback": "its callback: its original was got by another",
}
"""By the reason of a verdict: what kept a page that is similar enough to be dropped."""


@dataclass(frozen=True, slots=True)
class NearPage:
    """A page that was kept though much of its text is another page's."""

    url: str
    site: str
    original: str | None
    """The URL of the page that it was compared with; None where that is not known any more."""
    similarity: float
    own_words: int | None
    """Words of its longest text unit that the original lacks; None where that is not known."""
    kept_by: str | None
    """What kept it, in words; None where that is not known."""


async def read_compared_pages(store: FingerprintStore, site: str | None = None) -> ComparedPages:
    """What runs noted of the compared pages of a site (None: all sites), by site and key, the newest event of each."""
    newest: list[tuple[float, int, PageCompared]] = []
    number = count()
    async for raw in whole_journal(store, COMPARED_JOURNAL):
        try:
            event = decode_event(raw)
        except ValueError:
            continue  # of a later version
        if isinstance(event, PageCompared) and site in {None, event.site}:
            push_largest(newest, (event.at, next(number), event), MAX_HELD)
    return {(event.site, event.key): event for _, _, event in sorted(newest, key=lambda entry: entry[:2])}


def event_of(record: Record, event: PageCompared | None) -> PageCompared | None:
    """The event, if it is about the page as its record is; None if the page has changed since, or has another verdict.

    A page that did not change when it was fetched again is still near what it was near before.
    """
    if event is None or event.dropped != (record.state == "duplicate"):
        return None
    is_of_record = event.run == record.run if event.dropped else record.last_changed <= event.at
    return event if is_of_record else None


def what_kept(event: PageCompared, one: PageFingerprint | None, original: PageFingerprint | None) -> str:
    """What kept a near page, in words.

    Without the fingerprint of its original nobody knows whether the two are twins.
    """
    if event.reason == "own_text":
        return f"own text: {plural(event.own_words or 0, 'word')} in one place that its original lacks"
    if event.reason in KEPT_BY:
        return KEPT_BY[event.reason]
    return (_what_makes_twins(one, original) if one and original else None) or "its similarity, which is too low"


def _what_makes_twins(one: PageFingerprint, other: PageFingerprint) -> str | None:
    """What makes two pages of two that are nearly alike; see ``are_twins`` in ``fingerprint/similarity.py``."""
    other_title = not one.h1 and not other.h1 and 0 != one.title != other.title != 0
    facts = {
        "another identity (SIMDEDUP_IDENTITY)": one.identity_differs(other),
        "another h1": 0 != one.h1 != other.h1 != 0,
        "other data in its scripts": 0 != one.data != other.data != 0,
        "another title and other numbers": other_title and one.numbers != other.numbers,
    }
    return next((name for name, does in facts.items() if does), None)


class NearPages:
    """The near pages of a store, in two readings: which are the most similar, and what they were compared with.

    Add all records, then the records of :attr:`sites` once more by :meth:`add_original`.
    """

    def __init__(self, compared: ComparedPages, limit: int) -> None:
        self._compared, self._limit = compared, limit
        self._heap: list[tuple[float, int, str, Record, PageCompared | None]] = []
        self._number = count()
        self._originals: dict[tuple[str, str], Record | None] = {}
        self.total: int = 0

    def add(self, site: str, record: Record) -> None:
        """The first reading: count the record if its page is near, and hold it if it is among the most similar."""
        if record.state in {"duplicate", "released", "stub"}:
            return
        event = event_of(record, self._compared.get((site, record.key)))
        if event is None and record.kind != "near":
            return
        self.total += 1
        similarity = event.similarity if event else record.similarity or 0.0
        push_largest(self._heap, (similarity, next(self._number), site, record, event), self._limit)

    @property
    def sites(self) -> set[str]:
        """The sites that must be read again, for originals."""
        self._originals = {(site, event.original): None for _, _, site, _, event in self._heap if event}
        return {site for site, _ in self._originals}

    def add_original(self, site: str, record: Record) -> None:
        """The second reading: hold the record if a near page was compared with its page."""
        if (site, record.url) in self._originals and record.state != "released":
            self._originals[site, record.url] = record

    @property
    def pages(self) -> tuple[NearPage, ...]:
        """The near pages, the most similar first."""
        found = sorted(self._heap, key=lambda entry: entry[:2], reverse=True)
        return tuple(self._page(site, record, event) for *_, site, record, event in found)

    def _page(self, site: str, record: Record, event: PageCompared | None) -> NearPage:
        if event is None:
            return NearPage(record.url, site, None, record.similarity or 0.0, None, None)
        original = fingerprint_of(self._originals.get((site, event.original)))
        kept_by = what_kept(event, fingerprint_of(record), original)
        return NearPage(record.url, site, event.original, event.similarity, event.own_words, kept_by)
