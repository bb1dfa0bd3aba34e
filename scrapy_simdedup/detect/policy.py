"""What a page is, given what its site has: the only place with the policy, and pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scrapy_simdedup.detect.better import is_better
from scrapy_simdedup.detect.past import Past, past_of
from scrapy_simdedup.detect.verdict import PageRef, Verdict
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.store.base import IMPORTED, Record, State

if TYPE_CHECKING:
    from collections.abc import Hashable

    from scrapy_simdedup.detect.match import Match
    from scrapy_simdedup.detect.site_index import SiteIndex
    from scrapy_simdedup.detect.verdict import Kind
    from scrapy_simdedup.detect.visit import Visit
    from scrapy_simdedup.settings import DedupSettings


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, and what the store is to remember of it."""

    verdict: Verdict
    record: Record | None
    """None: nothing, because the page is to be judged again."""
    original: Record | None = None
    """The other page that the verdict is about."""
    replaced: Record | None = None
    """A version that was fetched earlier in this run and not delivered yet: to be released once this one is stored."""
    left: Record | None = None
    """What the page's URL gave before, if what it gives now is not even near that."""


def decide(visit: Visit, index: SiteIndex, settings: DedupSettings) -> Decision:
    """The verdict on a page.

    0. A page that repeats a stub is a stub, and nothing is remembered of it.
    1. A page that repeats a delivered page of another key is a duplicate, and becomes an alias, where as many with its
       content are kept as may be. One that is a better copy, as the settings say, is kept and takes that page's place.
    2. Where that page is still in work, nothing is decided yet.
    3. Else it is compared with its own past, and kept unless the settings drop what did not change.
    4. Else it is new, or near another page, or could not be judged: kept in each case.

    Args:
        visit: the page.
        index: its site, up to date.
        settings: those of its site.
    """
    drop = _drop(settings)
    match = index.closest(
        visit.fingerprint, visit.key, visit.url, drop=drop, near=settings.near, count=settings.cluster_budget > 1
    )
    past = past_of(visit, index, settings)
    decision = _choose(visit, match, past, index, settings, drop=drop)
    return replace(decision, left=past.record) if past is not None and past.has_left(settings.near) else decision


def _choose(
    visit: Visit, match: Match | None, past: Past | None, index: SiteIndex, settings: DedupSettings, *, drop: float
) -> Decision:
    budget = settings.cluster_budget
    copied = match if match is not None and match.similarity >= drop else None
    if copied is not None and (copied.copies >= budget or copied.record.state == "stub"):
        return _repeat(visit, copied, past, index, settings)
    if past is not None and past.kind is not None:
        return _revisit(visit, past, past.kind, index, settings, is_first=copied is None)
    if visit.fingerprint.unjudged:
        return _keep(visit, past, Verdict("unjudged", reason=visit.fingerprint.unjudged))
    if match is None:
        return _keep(visit, past, Verdict("new"))
    verdict = _like(match, _kind(match, settings))
    return _keep(visit, past, replace(verdict, reason="within_budget") if copied else verdict)


def content_of(visit: Visit, original: Record | None) -> Hashable:
    """What tells the page's content from others of its site, for those who count under how many URLs each comes."""
    fp = visit.fingerprint
    if fp.unjudged:  # too short to be compared, but a captcha may well be
        return fp.unjudged, fp.title, fp.h1, fp.total
    return visit.key if original is None else original.original or original.key


def _repeat(visit: Visit, match: Match, past: Past | None, index: SiteIndex, settings: DedupSettings) -> Decision:
    verdict = _like(match, _kind(match, settings))
    original = match.record
    if original.state == "stub":
        return Decision(replace(verdict, kind="stub", is_duplicate=settings.stubs == "drop"), None, original)
    if original.state == "confirmed":
        if not settings.better or not is_better(visit, original, settings.better):
            verdict = replace(verdict, is_duplicate=True)
            return Decision(verdict, _record(visit, past, verdict, "alias", original.key), original)
        cluster = index.cluster_of(original)
        rival = index.heir_in_work(cluster, visit.key)
        if rival is None:
            verdict = replace(verdict, reason="better", supersedes=original.url)
            return replace(_keep(visit, past, verdict, cluster), original=original)
        original = rival
    if visit.keep_pending:
        return _keep(visit, past, replace(verdict, reason="in_work"))
    pending = PageRef(visit.site, original.id, original.key, original.url)
    return Decision(replace(verdict, pending=pending), None, original)


def _is_represented(record: Record, index: SiteIndex) -> bool:
    """Whether a page's content was delivered and is still known: with the page itself, or with the one it repeats."""
    if record.state == "alias" and record.original is not None:
        return index.delivered(record.original) is not None
    return record.state == "confirmed"


def _revisit(
    visit: Visit, past: Past, kind: Kind, index: SiteIndex, settings: DedupSettings, *, is_first: bool
) -> Decision:
    verdict = Verdict(
        kind,
        original=past.record.url,
        similarity=past.similarity,
        distance=past.distance,
        reason=IMPORTED if past.record.run == IMPORTED and past.similarity is None else None,
        original_first_seen=past.record.first_seen,
        original_run=past.record.run,
        original_key=past.record.original or past.record.key,
        change=past.change,
    )
    if kind == "unchanged" and settings.unchanged == "drop" and _is_represented(past.record, index):
        known = replace(PageFingerprint.from_bytes(past.record.fingerprint), structure=visit.fingerprint.structure)
        again = replace(past.record, fingerprint=bytes(known), last_seen=visit.now, visits=past.record.visits + 1)
        return Decision(replace(verdict, is_duplicate=True), again)
    return _keep(visit, past, verdict, _cluster(visit, past, index, settings) if is_first else None)


def _cluster(visit: Visit, past: Past, index: SiteIndex, settings: DedupSettings) -> bytes | None:
    """Whose cluster the page was in and is still: whichever page comes first in a run, it stays the one that it was."""
    cluster = index.cluster_of(past.record)
    if past.kind != "unchanged" or cluster == visit.key:
        return None
    first = index.delivered(cluster)
    if first is None:
        return cluster
    fp = PageFingerprint.from_bytes(first.fingerprint)
    is_like = fp.extractor == visit.fingerprint.extractor and fp.compare(visit.fingerprint).similarity >= _drop(
        settings
    )
    return cluster if is_like else None


def _drop(settings: DedupSettings) -> float:
    return settings.near if settings.drop == "near" else settings.identical


def _kind(match: Match, settings: DedupSettings) -> Kind:
    return "identical" if match.similarity >= settings.identical else "near"


def _like(match: Match, kind: Kind) -> Verdict:
    return Verdict(
        kind,
        original=match.record.url,
        similarity=match.similarity,
        distance=match.distance,
        original_first_seen=match.record.first_seen,
        original_run=match.record.run,
        original_key=match.record.original or match.record.key,
    )


def _keep(visit: Visit, past: Past | None, verdict: Verdict, cluster: bytes | None = None) -> Decision:
    replaced = past.record if past and past.record.state == "reserved" else None
    return Decision(verdict, _record(visit, past, verdict, "reserved", cluster), replaced)


def _record(visit: Visit, past: Past | None, verdict: Verdict, state: State, original: bytes | None) -> Record:
    before = past.record if past else None
    changed = past is not None and past.kind == "changed"
    return Record(
        url=visit.url,
        key=visit.key,
        fingerprint=bytes(visit.fingerprint),
        run=visit.run,
        worker=visit.worker,
        state=state,
        kind=verdict.kind,
        similarity=verdict.similarity,
        original=original,
        first_seen=before.first_seen if before else visit.now,
        last_seen=visit.now,
        last_changed=visit.now if changed or not before else before.last_changed,
        visits=1 + (before.visits if before else 0),
        changes=changed + (before.changes if before else 0),
    )
