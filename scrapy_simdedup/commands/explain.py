"""``explain`` and ``similar``: why a page was dropped or kept, and which stored pages are most like it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from os.path import commonprefix
from shlex import quote
from typing import Any

from scrapy_simdedup.commands.compare import is_url, read_pages
from scrapy_simdedup.commands.console import (
    NO,
    YES,
    Action,
    Bad,
    Context,
    Good,
    StyledLine,
    format_table,
    option,
    positive_int,
)
from scrapy_simdedup.detect.clocks import saved_clocks
from scrapy_simdedup.detect.detector import NearDuplicateDetector
from scrapy_simdedup.detect.events import PageCompared
from scrapy_simdedup.detect.names import PageSettings, site_of
from scrapy_simdedup.display import did_you_mean, format_time, plural
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.fingerprint.fingerprint import Comparison, PageFingerprint
from scrapy_simdedup.report.clusters import event_of, read_compared_pages, what_kept
from scrapy_simdedup.report.neighbours import Largest, Nearest, comparable, fingerprint_of
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.base import FingerprintStore, Record, live_records
from scrapy_simdedup.unjudged import COMPARED_BY_BODY, UNJUDGED, UnjudgedReason

MAX_SUGGESTED = 3
STATE_MEANINGS = {
    "confirmed": "it was delivered",
    "itemless": "it was delivered, and gave no item",
    "reserved": "its delivery has not ended, or the crawl was stopped before it did",
    "released": "its delivery failed, so it displaces no other page",
    "stub": "it was found under so many unrelated URLs that it is no content, and displaces no other page",
}
"""By state: what became of a page that was kept."""
KEPT_BECAUSE = {
    "new": "nothing on its site was like it",
    "near": "it is merely similar to another page",
    "changed": "it differs from what its URL gave before",
    "unchanged": "it is what its URL gave before",
    "identical": "what it repeats was not delivered at that time, or only got by another callback",
    "stub": "it repeats what its site gives under many unrelated URLs",
    "unjudged": "it could not be judged",
    "preferred": "it is a better copy of another page, whose place it took",
    "second try": "the page before it with its content gave no item",
    "own text": "it says what the page that it is like does not",
}
"""By verdict, or ``preferred``, ``second try`` or ``own text``: why a page was kept."""


async def run_explain(context: Context) -> int:
    """Explain the page; the answer is no if the store does not have it."""
    url = context.options.url
    async with context.open_store() as store:
        pages = await _find_pages(store, url, site_of(url, context.settings.scope))
        found = [await _explain(context, store, site, record) for site, record in pages]
        alike = [] if found else await _urls_that_begin_alike(store, url)
    if not found:
        why = "it was not fetched, was no HTML page with status 2xx, opted out, or went to another store"
        context.console.print_error(f"{url} is not in the store: {why}{did_you_mean(alike)}")
        return NO
    settings = PageSettings(context.settings).of(url)
    data = [explanation.as_dict(settings) for explanation in found]
    context.console.print_answer(data, _lines(found, settings))
    return YES


EXPLAIN = Action(
    "tell why a page was dropped or kept, and what it repeats",
    run_explain,
    (option("url", metavar="URL", help="a page that a crawl came by"),),
)


async def _find_pages(store: FingerprintStore, url: str, site: str | None) -> list[tuple[str, Record]]:
    """The newest record of each page with this URL, of this site or else of any, with its site; the latest is last."""
    newest: dict[tuple[str, bytes], tuple[str, Record]] = {}
    async for home, record in live_records(store, site):
        if record.url == url:
            newest[home, record.key] = home, record
    if not newest and site is not None:
        return await _find_pages(store, url, None)
    return sorted(newest.values(), key=lambda page: page[1].last_seen)


async def _urls_that_begin_alike(store: FingerprintStore, url: str) -> list[str]:
    """Stored URLs that have the longest beginning in common with a URL, whatever the scheme: the host at least."""
    nearest: Largest[tuple[int, str]] = Largest(MAX_SUGGESTED)
    asked = _without_scheme(url)
    host = len(re.sub(r"([^/]*/?).*", r"\1", asked))
    async for _, record in live_records(store, None):
        known = _without_scheme(record.url)
        shared = len(commonprefix((asked, known)))  # noqa: RUF071 - of texts, not of paths
        found = shared, record.url
        if (shared > host or known.startswith(asked)) and found not in nearest:
            nearest.add((shared, -len(record.url), record.url), found)
    most, _ = next(iter(nearest), (0, ""))
    # One that shares much less than the best does not begin alike.
    return [found for shared, found in nearest if 2 * shared > most + host]


def _without_scheme(url: str) -> str:
    return re.sub(r"^\w+://", "", url)


async def _explain(context: Context, store: FingerprintStore, site: str, page: Record) -> Explanation:
    events = await read_compared_pages(store, site)
    compared = event_of(page, events.get((site, page.key)))
    known = (await saved_clocks(store, site)).places.values()
    clocks = tuple(counts.sample for counts in known if counts.is_clock)
    return Explanation(page, await _deciding_page(context, store, site, page, compared), compared, clocks)


async def _deciding_page(
    context: Context, store: FingerprintStore, site: str, page: Record, compared: PageCompared | None
) -> Record | None:
    """The original of a repeat, or the page that a near-duplicate was compared with, or else is most like."""
    original = page.original or (None if compared is None else compared.original)
    if original is not None:
        versions = [record async for _, record in live_records(store, site) if original in (record.key, record.url)]
        if versions or page.original is not None:
            return max(versions, key=lambda record: (record.delivered, record.id), default=None)
    if page.kind != "near":
        return None
    nearest = Nearest(PageFingerprint.from_bytes(page.fingerprint), page.key, 1)
    async for _, record in context.records(store, site, "pages compared"):
        if record.delivered or record.state == "reserved":
            nearest.add(record)
    return next((neighbour.record for neighbour in nearest.found), None)


def _lines(found: list[Explanation], settings: DedupSettings) -> Iterator[str]:
    for place, explanation in enumerate(found):
        if place:
            yield ""
        name, why, *more = explanation.text(settings)
        yield StyledLine(name)
        yield (Bad if explanation.dropped else Good)(why)
        yield from more


def run_similar(context: Context) -> int:
    """List the most similar pages; the answer is yes if one is a near-duplicate at least."""
    name = context.options.page
    stored = asyncio.run(_stored(context, name)) if is_url(name) else None
    if stored is None:
        fp, key, site = _fingerprint(context, name), b"", context.options.site
    else:
        home, record = stored
        fp, key, site = PageFingerprint.from_bytes(record.fingerprint), record.key, context.options.site or home
    nearest = asyncio.run(_search(context, site, Nearest(fp, key, context.options.limit)))
    near, found = PageSettings(context.settings).of(name).near, nearest.found
    rows = [(one.similarity, one.distance, one.record.state, one.record.url) for one in found if one.similarity > 0]
    context.console.print_answer(
        [dict(zip(("similarity", "distance", "state", "url"), row, strict=True)) for row in rows],
        format_table(("#similarity", "#bits", "state", f"of {nearest.compared:,} pages"), rows, context.console.width),
    )
    return YES if any(one.similarity >= near for one in found) else NO


SIMILAR = Action(
    "list the pages of the store that are most like one",
    run_similar,
    (
        option("page", metavar="URL|FILE", help="a page of the store; any other URL is fetched, a file is read"),
        option("--site", help="compare with the pages of this site; default: that of a stored page, else all"),
        option("-n", "--limit", type=positive_int, default=10, metavar="N", help="default: 10"),
    ),
)


async def _stored(context: Context, page: str) -> tuple[str, Record] | None:
    """The newest record of a page, with its site."""
    async with context.open_store() as store:
        found = await _find_pages(store, page, context.options.site or site_of(page, context.settings.scope))
    return found[-1] if found else None


def _fingerprint(context: Context, name: str) -> PageFingerprint:
    """The fingerprint of a file, or of a page that is fetched now, made as those of the store."""
    (page,) = read_pages([name], context.scrapy)

    async def fingerprint() -> PageFingerprint:
        async with NearDuplicateDetector(context.existing_store_url, settings=context.settings) as detector:
            return await detector.fingerprint(page.html, url=page.url)

    fp = asyncio.run(fingerprint())
    if fp.unjudged and fp.unjudged not in COMPARED_BY_BODY:
        raise SimdedupError(f"{name} is like no other page: it is unjudged ({fp.unjudged})")
    return fp


async def _search(context: Context, site: str | None, nearest: Nearest) -> Nearest:
    async with context.open_store() as store:
        async for _, record in context.records(store, site, "pages compared"):
            nearest.add(record)
    return nearest


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a page of a store was dropped or kept: its record, and the record of the page that decided about it."""

    record: Record
    other: Record | None
    """The original that the page repeats, or the page that it is most like; None if the store has no such page."""
    compared: PageCompared | None = None
    """What was noted when the page was compared with its original; None if nothing was."""
    clocks: tuple[str, ...] = ()
    """Of each clock of the site, a place whose text changes by itself, how a text of it begins."""

    @property
    def kept_by(self) -> str | None:
        """What kept a near page, in words; None of any other page, and where that is not known."""
        if self.compared is None or self.dropped:
            return None
        return what_kept(self.compared, fingerprint_of(self.record), fingerprint_of(self.other))

    @property
    def dropped(self) -> bool:
        """Whether the page was dropped as a repeat."""
        return self.record.state == "duplicate"

    @property
    def comparison(self) -> Comparison | None:
        """The comparison of the two fingerprints; None without another page, or if they cannot be compared."""
        mine, theirs = fingerprint_of(self.record), fingerprint_of(self.other)
        return mine.compare(theirs) if mine and theirs and comparable(mine, theirs) else None

    def why(self, settings: DedupSettings) -> str:
        """The answer in one sentence; ``settings`` has the thresholds and the mode that apply to the page."""
        record = self.record
        if not self.dropped:
            reason = PageFingerprint.from_bytes(record.fingerprint).unjudged if record.kind == "unjudged" else None
            reason_of_cluster = "preferred" if self.other is None or self.other.state != "itemless" else "second try"
            is_in_cluster = record.original is not None and record.kind in {"identical", "near"}
            has_own_text = self.compared is not None and self.compared.reason == "own_text" and record.kind == "near"
            kind = "own text" if has_own_text else reason_of_cluster if is_in_cluster else record.kind
            why = KEPT_BECAUSE.get(kind, kind)
            why += _because(reason) if reason else ""
            return f"kept: {why}; {STATE_MEANINGS.get(record.state, record.state)}"
        kept = "would be dropped, and was only counted" if settings.mode == "observe" else "dropped"
        other = "a page that is not in the store any more" if self.other is None else self.other.url
        if self.compared is not None and self.compared.reason == "known_view":
            return f"{kept}: it repeats {other}, and what it says beside that stands on one other page with its title"
        line = "IDENTICAL" if record.kind == "identical" else "NEAR"
        bound = settings.identical if record.kind == "identical" else settings.near
        return (
            f"{kept}: it repeats {other}, with a similarity of {record.similarity:.3f}, "
            f"from SIMDEDUP_{line} = {bound:g} on"
        )

    def as_dict(self, settings: DedupSettings) -> dict[str, Any]:
        """The explanation as plain values; times in seconds since the epoch."""
        record, found = self.record, self.comparison
        names = ("url", "state", "kind", "similarity", "run", "first_seen", "last_seen", "last_changed")
        return {
            **{name: getattr(record, name) for name in names},
            "visits": record.visits,
            "changes": record.changes,
            "dropped": self.dropped,
            "why": self.why(settings),
            "other": self.other and {name: getattr(self.other, name) for name in names},
            "distance": found and found.distance,
            "own_words": None if self.compared is None else self.compared.own_words,
            "kept_by": self.kept_by,
            "clocks": list(self.clocks),
        }

    def text(self, settings: DedupSettings) -> Iterator[str]:
        """The explanation in lines of text."""
        record, found = self.record, self.comparison
        yield record.url
        yield f"  {self.why(settings)}"
        first, last = format_time(record.first_seen), format_time(record.last_seen)
        yield f"  run {record.run}; first seen {first}, last seen {last}"
        changed = f"changed {_times(record.changes)}, last on {format_time(record.last_changed)}"
        yield f"  fetched {_times(record.visits)}, its content {changed if record.changes else 'never changed'}"
        if self.clocks:
            shown = ", ".join(f"{text!r}" for text in self.clocks)
            yield f"  not counted, as it changes by itself on the pages of this site: {shown}"
        if self.other is not None:
            role = "original" if self.dropped else "most like"
            bits = f"; {found.distance} differing bits" if found else ""
            if self.dropped:
                words = self.compared.own_words if self.compared else None
                yield f"  of its own it had {plural(words, 'word') if words else 'nothing that was noted'}"
            elif self.kept_by:
                yield f"  kept by {self.kept_by}"
            other = self.other
            yield f"  {role}: {other.url}"
            yield f"    {other.state}, run {other.run}; first seen {format_time(other.first_seen)}{bits}"
            yield f"  see what differs: scrapy simdedup compare {quote(other.url)} {quote(record.url)}"


def _because(reason: UnjudgedReason) -> str:
    implied = UNJUDGED.get(reason)  # another version may know other reasons
    if implied is None:
        return f" ({reason})"
    remedy = f" ({implied.remedy})" if implied.remedy else ""
    return f" ({reason}): it {implied.meaning}{remedy}"


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")
