"""The history of a store: what its runs noted of known pages and of URLs, which moved, and how often pages change.

Times are in seconds since the epoch.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from scrapy_simdedup.detect import events
from scrapy_simdedup.detect.names import PageSettings
from scrapy_simdedup.fingerprint.unit_changes import Change
from scrapy_simdedup.report import RunChanges, UrlSavings
from scrapy_simdedup.report.neighbours import FingerprintTable, comparable, fingerprint_of
from scrapy_simdedup.store.base import FingerprintStore, Record, estimate_changes_per_day, whole_journal
from scrapy_simdedup.urls import GivenRule, RememberedRules, UrlLearner
from scrapy_simdedup.urls.parts import is_session, is_tracking, split_url

SESSION_WORDS = frozenset({"query:session", "query:sess"})
"""Parts of URLs that are session ids unless their values are numbers, beside those with a name of session ids."""


@dataclass(slots=True)
class RunHistory:
    """The notes of the runs in a store about the past of its pages."""

    run_starts: list[float] = field(default_factory=list)
    """When the runs began, in no order."""
    content_left: defaultdict[str, list[events.ContentLeft]] = field(default_factory=lambda: defaultdict(list))
    """The contents that left their URLs, by site, in no order."""
    _changes: dict[tuple[str, str], Counter[Change]] = field(default_factory=dict)
    """How the structures of known pages changed, by site and run."""
    _changed_at: dict[tuple[str, str], float] = field(default_factory=dict)
    _redesigns: dict[tuple[str, str], events.SiteRedesigned] = field(default_factory=dict)

    def add(self, note: events.HistoryEvent, site: str | None) -> None:
        """Take a note in if it is about the site (None: any site)."""
        if isinstance(note, events.RunStarted):
            self.run_starts.append(note.at)
            return
        if isinstance(note, events.PageCompared) or site not in {None, note.site}:
            return
        place = note.site, note.run
        if isinstance(note, events.ContentLeft):
            self.content_left[note.site].append(note)
        elif isinstance(note, events.SiteRedesigned):
            self._redesigns[place] = note
        else:
            self._changes.setdefault(place, Counter()).update(note.counts)
            self._changed_at[place] = max(note.at, self._changed_at.get(place, 0.0))

    def has_changes(self, site: str, run: str) -> bool:
        """Whether it is known how the structure of the site's pages changed in a run."""
        return (site, run) in self._changes

    def is_redesigned(self, site: str) -> bool:
        """Whether any run noted a new design of the site."""
        return any(site == redesigned for redesigned, _ in self._redesigns)

    @property
    def changes(self) -> list[RunChanges]:
        """What was new on each site in each run, the latest first."""
        rows = []
        for place in self._changes.keys() | self._redesigns.keys():
            counts, redesign = self._changes.get(place, Counter()), self._redesigns.get(place)
            at = self._changed_at.get(place, redesign.at if redesign else 0.0)
            by_change = (counts["none"], counts["content"], counts["template"], counts["both"])
            suspected = (redesign.share, redesign.at) if redesign else (None, None)
            rows.append(RunChanges(*place, at, *by_change, *suspected))
        return sorted(rows, key=lambda row: (-row.at, row.site, row.run))


async def read_run_history(store: FingerprintStore, *, run: str | None = None, site: str | None = None) -> RunHistory:
    """Read the notes of one run (None: all runs) about one site (None: all sites) from an open store."""
    history = RunHistory()
    async for name in store.journals():
        of_run, kind = events.split_journal_name(name)
        if kind != events.EVENTS or of_run in {events.COMPARED, events.REMEMBERED} or run not in {None, of_run}:
            continue
        async for note in events.known_events(store, name, events.PAGE_EVENTS):
            history.add(note, site)
    return history


async def remembered_rules(store: FingerprintStore) -> list[RememberedRules]:
    """The rules that the next crawl begins with, by site; sites without any are left out."""
    notes = [RememberedRules.from_bytes(raw) async for raw in whole_journal(store, events.REMEMBERED_JOURNAL)]
    return [note for note in notes if note is not None and note.rules]


async def savings_from_notes(
    store: FingerprintStore, *, run: str | None = None, site: str | None = None, given: Iterable[GivenRule] = ()
) -> UrlSavings | None:
    """What crawls saved by skipping URLs, by their notes; None if they skipped none. Unknown notes are left out.

    The notes are those of one run, or of all, on one site, or on all; ``given`` rules held from the first request
    on.
    """
    learner, seen, skipped = UrlLearner(rules=given), 0, 0
    for kept in await remembered_rules(store):  # what a crawl skipped by them, it hardly has other evidence of
        learner.recall(kept.site, kept.rules)
    async for name in store.journals():
        of_run, of_site = events.split_journal_name(name)
        if (
            not of_run
            or of_site in {events.EVENTS, events.DROPPED}
            or run not in {None, of_run}
            or site not in {None, of_site}
        ):
            continue
        async for note in events.known_events(store, name, events.URL_EVENTS):
            if isinstance(note, events.SeenUrl):
                seen += 1
                learner.observe(note.url, note.content)
            else:
                skipped += 1
                learner.decide(note.url)  # counts the fetch as saved by its rules
    return UrlSavings.of_crawl(learner, seen=seen, skipped=skipped) if skipped else None


@dataclass(frozen=True, slots=True)
class Move:
    """A content that moved from one URL to another."""

    site: str
    old: str
    new: str
    similarity: float
    last_seen: float
    """When the content was last observed at the old URL."""
    run: str
    """The run that observed the old URL without the content."""
    at: float
    """When the run observed that, or fetched the new URL if the old one was ``not met``."""
    why: str
    """The status of the old URL's answer, ``changed`` if it has another content, ``not met`` if it was not fetched."""
    is_session: bool = field(init=False)
    """Whether the two URLs differ in session ids alone, so that the page did not move."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_session", differ_in_session_ids(self.old, self.new))


def differ_in_session_ids(one: str, other: str) -> bool:
    """Whether two URLs are the same but for session ids, and for parameters that track people.

    >>> differ_in_session_ids("http://a.example/p?id=1&sid=9f3a", "http://a.example/p?id=1&sid=77b1")
    True
    >>> differ_in_session_ids("http://a.example/p?session=9f3a", "http://a.example/p?session=77b1")
    True
    >>> differ_in_session_ids("http://a.example/p?id=1", "http://a.example/p?id=2")
    False
    """
    left, right = split_url(one), split_url(other)
    if left is None or right is None:
        return False
    if (left.host, left.segments, left.rest) != (right.host, right.segments, right.rest):
        return False
    parts = set(left.parts) ^ set(right.parts)
    return bool(parts) and all(
        is_session(name)
        or (name in SESSION_WORDS and not value.isdigit())  # a number may be that of a talk
        or is_tracking(name)
        or name.startswith("segment:")
        or name == "spelling"
        for name, value in parts
    )


def find_moves(
    site: str,
    records: Sequence[Record],
    settings: PageSettings,
    content_left: Sequence[events.ContentLeft] = (),
    run_starts: Sequence[float] = (),
) -> Iterator[Move]:
    """The moves on one site: first of contents that a run noted to have left, then of pages that the latest run missed.

    The ``identical`` threshold of a new URL decides whether the content is there.
    """
    pages = [record for record in records if record.delivered or record.state == "duplicate"]
    found = set()
    for move in _moves_in_notes(site, pages, settings, content_left, run_starts):
        found.add(move.old)
        yield move
    for move in _moves_in_latest_run(site, pages, settings):
        if move.old not in found:
            yield move


def _moves_in_notes(
    site: str,
    pages: Sequence[Record],
    settings: PageSettings,
    content_left: Sequence[events.ContentLeft],
    run_starts: Sequence[float],
) -> Iterator[Move]:
    """The moves of contents that a run noted to have left.

    1. Leave out contents that are back at their URLs. Of several notes about one content, the oldest counts.
    2. Leave out repeats whose original has not left.
    3. Take the most similar of the pages that were first fetched since the next run began. From the ``identical``
       threshold on, the content moved there.
    """
    known = {record.key: record for record in pages}
    lost: dict[tuple[bytes, bytes], events.ContentLeft] = {}
    for one in sorted(content_left, key=lambda one: one.at):
        page = known.get(one.key)
        is_back = page is not None and page.last_seen > one.at and _alike(one, page, settings.of(page.url).identical)
        if not is_back:
            lost.setdefault((one.key, one.fingerprint), one)
    if not lost:
        return
    gone, oldest = {key for key, _ in lost}, min(one.last_seen for one in lost.values())
    table = FingerprintTable(
        page for page in pages if page.first_seen > oldest and (page.key, page.fingerprint) not in lost
    )
    for one in lost.values():
        if one.original is not None and one.original not in gone:
            continue
        # A content that one run observed under two URLs did not move from one to the other.
        since = min((at for at in run_starts if at > one.last_seen), default=math.inf)
        found = table.closest(one, since=since)
        if found is not None and found.similarity >= settings.of(found.record.url).identical:
            yield Move(site, one.url, found.record.url, found.similarity, one.last_seen, one.run, one.at, one.reason)


def _alike(one: events.ContentLeft, other: Record, identical: float) -> bool:
    before, now = fingerprint_of(one), fingerprint_of(other)
    if before is None or now is None or not comparable(before, now):
        return False
    return now.compare(before).similarity >= identical


def _moves_in_latest_run(site: str, pages: Sequence[Record], settings: PageSettings) -> Iterator[Move]:
    """The moves from pages that the latest run with new pages did not fetch, to its new pages."""
    if not pages:
        return
    latest = max(pages, key=lambda record: record.first_seen).run
    gone = {record.key: record for record in pages if record.delivered and record.run != latest}
    fresh = [record for record in pages if record.run == latest and record.visits == 1]
    table = FingerprintTable(gone.values())
    for record in fresh:
        # With SIMDEDUP_AGAINST="history", a page that moved is a repeat of its old self.
        old = gone.get(record.original or b"")
        similarity = record.similarity or 0.0
        if old is None and record.delivered:
            found = table.closest(record)
            old, similarity = (found.record, found.similarity) if found else (None, 0.0)
        if old is not None and old.key in gone and similarity >= settings.of(record.url).identical:
            del gone[old.key]
            yield Move(site, old.url, record.url, similarity, old.last_seen, record.run, record.first_seen, "not met")


@dataclass(frozen=True, slots=True)
class DueUrl:
    """A URL whose page has probably changed by the time that was asked for."""

    url: str
    site: str
    chance: float
    """The chance that the page has changed by then, 0..1."""
    changes_per_day: float
    """The rate that the chance is made of."""
    visits: int
    changes: int
    last_seen: float
    last_changed: float


@dataclass(slots=True)
class _Visits:
    """The revisits of many pages, added up."""

    revisits: int = 0
    changes: int = 0
    days: float = 0.0

    def add(self, revisits: int, changes: int, days: float) -> None:
        self.revisits += revisits
        self.changes += changes
        self.days += days


class ChangeRates:
    """How often pages change, estimated from the visits that a store counts.

    The estimator is :func:`~scrapy_simdedup.store.base.estimate_changes_per_day`. If changes are a Poisson process, a
    page of that rate has changed after ``t`` days with the chance ``1 - exp(-rate * t)``.

    A page that was fetched once has no rate of its own, and one that did not change yet has the rate 0, with which it
    would never be visited again. So each page has a prior, which weighs as much as one revisit: the rate of its
    site, whose own prior, in the same way, is the rate of all sites. A page that was fetched once has just its prior.
    After nineteen revisits without a change its rate is a twentieth of that.

    Add all records, then ask.
    """

    def __init__(self) -> None:
        self._sites: defaultdict[str, _Visits] = defaultdict(_Visits)
        self._all = _Visits()

    def add(self, site: str, record: Record) -> None:
        """Count the visits of one page, if its changes are known."""
        if record.changes_per_day is not None and is_planned(record):
            visits = record.visits - 1, record.changes, (record.last_seen - record.first_seen) / 86_400
            self._sites[site].add(*visits)
            self._all.add(*visits)

    @property
    def knows_any(self) -> bool:
        """Whether any page was visited twice, so that anything is known of how often pages change."""
        return self._all.revisits > 0

    def per_day(self, site: str, record: Record) -> float | None:
        """How often the page changes per day; None where no page was visited twice."""
        if not self.knows_any:
            return None
        prior = _rate(self._all)
        if site in self._sites:
            visits = self._sites[site]
            prior = _with_prior(_rate(visits), visits.revisits, prior)
        own = record.changes_per_day
        return prior if own is None else _with_prior(own, record.visits - 1, prior)

    def due(self, site: str, record: Record, at: float) -> DueUrl | None:
        """The page with its chance to have changed by a time, in seconds since the epoch; None if it is never due."""
        rate = self.per_day(site, record) if is_planned(record) else None
        if rate is None:
            return None
        chance = -math.expm1(-rate * max(0.0, at - record.last_seen) / 86_400)
        seen = record.last_seen, record.last_changed
        return DueUrl(record.url, site, chance, rate, record.visits, record.changes, *seen)


def is_planned(record: Record) -> bool:
    """Whether it makes sense to ask when a page has changed: it was delivered and judged, and has a URL to fetch.

    A repeat is not planned, as its content is delivered under another URL, nor is a stub, which has none. Of a page
    that could not be judged, or only byte for byte, no changes are counted.
    """
    if not record.delivered or record.kind == "unjudged" or not record.url.startswith(("http://", "https://")):
        return False
    fp = fingerprint_of(record)
    return fp is not None and not fp.unjudged


def _rate(visits: _Visits) -> float:
    return estimate_changes_per_day(visits.revisits, visits.changes, visits.days)


def _with_prior(own: float, revisits: int, prior: float) -> float:
    return (revisits * own + prior) / (revisits + 1)
