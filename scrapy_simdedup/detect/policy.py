"""The policy: what a page is, given what its site has, and what the store remembers of it. No function has effects."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from scrapy_simdedup.detect.clocks import OFFER_PLACE, ClockEvidence
from scrapy_simdedup.detect.copy_check import is_preferred
from scrapy_simdedup.detect.revisit import (
    Revisit,
    beside_content,
    compare_with_same_path,
    compare_with_version,
    revisit_of_imported,
    says_the_same,
    text_differs,
)
from scrapy_simdedup.detect.site_index import SiteIndex
from scrapy_simdedup.detect.verdict import FetchedPage, Match, OwnText, PageRef, Reason, Verdict, VerdictKind
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.novelty import new_units
from scrapy_simdedup.fingerprint.text_units import keep_units
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.base import IMPORTED, Record, State


class Decision(NamedTuple):
    """A verdict, and what the store is to remember of it."""

    verdict: Verdict
    record: Record | None
    """The page's record; None where nothing is remembered, because the page is to be judged again."""
    original: Record | None = None
    """The other page that the verdict is about."""
    replaced: Record | None = None
    """A version that was fetched earlier in this run and not delivered yet: to be released once this one is stored."""
    left: Record | None = None
    """The previous page of the URL, if the new one is not even near it."""
    evidence: ClockEvidence | None = None
    """What the page and its previous version say about the clocks of the site, if anything."""


def decide(
    page: FetchedPage, index: SiteIndex, *, clocks: Collection[int] = (), keep_pending: bool = False
) -> Decision:
    """Decide about a page, in this order.

    0. A page that repeats a stub is a stub. If it does not say just what the stub says, as the pages of a family
       do not, it is remembered for its own next visit, and displaces what says the same under its URL with more
       parameters, or with fewer; else nothing is remembered of it.
    1. A page that repeats a delivered page of another key is a duplicate, where as many with its content are kept as
       may be. One that is a better copy, as the settings say, is kept and takes that page's place. So is one
       that was edited since an earlier run, if the settings drop what was not; it takes no place.
    2. Where that page is still in work, nothing is decided yet.
       A page that gave no item counts as delivered once another page with its content gave none either.
    3. Else it is compared with its own previous version, and kept unless the settings drop what did not change, or it
       was delivered in this run and is fetched again without having been asked for. One that gave no item is kept
       nevertheless, for its links. If the settings drop it, what an earlier run delivered with other parameters in its
       URL is no change either.
    4. Else it is new, or near another page, or could not be judged: kept in each case.

    The index is up to date. With ``keep_pending`` a page is kept where nothing is decided yet.
    """
    settings, fp = page.settings, page.fingerprint
    if clocks and fp.page_units is not None and fp.units is not None and fp.units.joined_by:
        fp = fp._replace(units=keep_units(fp.page_units, clocks))
        page = page._replace(fingerprint=fp)
    match = index.best_match(page, clocks)
    revisit, evidence = _compare_with_past(page, index, clocks)
    decision = _choose(page, match, revisit, index, clocks)
    if keep_pending and decision.verdict.pending is not None:
        decision = _keep(page, revisit, decision.verdict._replace(pending=None, reason="in_work"))
    if revisit is not None and revisit.content_left(settings.near):
        decision = decision._replace(left=revisit.record)
    return decision if evidence is None else decision._replace(evidence=evidence)


def _compare_with_past(
    page: FetchedPage, index: SiteIndex, clocks: Collection[int]
) -> tuple[Revisit | None, ClockEvidence | None]:
    """The page compared with what its URL gave before, if anything is known of that, and what both say about clocks."""
    before = index.previous_version(page.key, page.run)
    if before is not None and not (page.is_doubted and before.run == page.run):
        revisit = compare_with_version(page, before, index, clocks)
        if revisit.kind == "changed" and page.is_filtered and before.run == page.run:
            # What changes between two fetches of one run mostly changes with every fetch: is it a copy of itself?
            same = is_copy_of(page._replace(key=b""), before.original or before.key, index, clocks)
            revisit = replace(revisit, kind="unchanged", change=None, unit_changes=None) if same else revisit
        return revisit, revisit.evidence
    if page.known_since is not None:
        return revisit_of_imported(page, page.known_since), None
    elsewhere = compare_with_same_path(page, index, clocks) if page.settings.unchanged == "drop" else None
    if elsewhere is None:
        return None, None
    return elsewhere if elsewhere.kind == "unchanged" else None, elsewhere.evidence


def is_copy_of(page: FetchedPage, original: bytes, index: SiteIndex, clocks: Collection[int]) -> bool:
    """Whether a page would be dropped for the original with this key, if there were no other, or is that one still."""
    if original == page.key:
        before, _ = _compare_with_past(page, index, clocks)
        return before is not None and before.kind == "unchanged"
    alone = page._replace(settings=replace(page.settings, near=page.settings.drop_threshold))
    match = index.best_match(alone, clocks, only=original)
    return match is not None and match.record.delivered and handled_alike(page, match.record)


def _choose(
    page: FetchedPage, match: Match | None, revisit: Revisit | None, index: SiteIndex, clocks: Collection[int]
) -> Decision:
    settings = page.settings
    copied = match if match is not None and match.similarity >= settings.drop_threshold else None
    if copied is not None and copied.record.state == "stub":
        return _decide_stub(page, copied, revisit, index, clocks)
    if copied is not None and (
        _is_edit(page, copied.record, revisit, index, clocks) or _stands_for_itself(page, copied.record, revisit)
    ):
        copied = None
    if copied is not None and copied.copies >= settings.max_copies:
        return _decide_copy(page, copied, revisit, index)
    reason = None if copied is None else _reason_to_keep(page, copied.record)
    cluster = index.cluster_key(copied.record) if copied is not None and reason == "no_item_yet" else None
    cluster = None if cluster == page.key else cluster
    if revisit is not None and revisit.kind is not None:
        if copied is None:
            cluster = _cluster_key(page, revisit, index)
        if reason != "no_item_yet":  # else the page is compared with its own past alone
            reason = None
        return _decide_revisit(page, revisit, revisit.kind, index, cluster=cluster, reason=reason)
    if unjudged := page.fingerprint.unjudged:
        kept = _keep(page, revisit, Verdict("unjudged", reason=unjudged))
        # What may be half of it does not take the place of what is known to be a whole page.
        was_whole = revisit is not None and PageFingerprint.from_bytes(revisit.record.fingerprint).unjudged is None
        return kept._replace(record=None, replaced=None) if was_whole and unjudged == "unended" else kept
    if match is None:
        return _keep(page, revisit, Verdict("new"))
    verdict = _verdict_about(match, settings)
    decision = _keep(page, revisit, verdict if reason is None else verdict._replace(reason=reason), cluster)
    return decision if copied is None else decision._replace(original=copied.record)


def _is_edit(
    page: FetchedPage, original: Record, revisit: Revisit | None, index: SiteIndex, clocks: Collection[int]
) -> bool:
    """Whether a page says something else than in an earlier run, and edits are what is wanted.

    For a recrawl each edit is news, also one that leaves the page like its print view or revision. The same edit is
    made in a page and in its copies, and the first of them that comes tells of it. A page that was a copy says nothing
    new if each of its units is its original's or was there before, and so are its title, comments and offer: the
    original may be fetched no more. One that was the original says nothing new if it says just what another page says
    that was edited, too, and came first.
    """
    if revisit is None or page.settings.unchanged != "drop" or revisit.kind != "changed" or not revisit.unit_changes:
        return False
    original_fp = PageFingerprint.from_bytes(original.fingerprint)
    # A similarity of 1 is an estimate, and a long page has edits; one that says just what its original says has none.
    beside = beside_content(page.fingerprint, original_fp)
    if original_fp.exact == page.fingerprint.exact and (not beside or beside[OFFER_PLACE][1]):
        return False
    if revisit.record.state != "duplicate":
        was_edited = original.run == page.run and original.kind == "changed"
        is_told = was_edited and compare_with_version(page, original, index, clocks).kind == "unchanged"
        return revisit.record.delivered and not is_told
    units = page.fingerprint.page_units
    before = PageFingerprint.from_bytes(revisit.record.fingerprint)
    tables = [of.units for of in (before, original_fp) if of.units is not None and of.units.sequence]
    if units is None or len(tables) != 2:
        return False
    was_beside = beside_content(page.fingerprint, before)
    is_new_beside = any(not beside[place][1] and not was_beside[place][1] for place in beside.keys() - set(clocks))
    return is_new_beside or bool(new_units(units, tables, clocks).any())


def _stands_for_itself(page: FetchedPage, original: Record, revisit: Revisit | None) -> bool:
    """Whether a page that did not change is unchanged, and no copy of an original that this run did not deliver either.

    Where neither is wanted any more, a page that gave items beside what it seems to repeat, and of which each text is
    what it was, is that page.
    """
    if revisit is None or revisit.kind != "unchanged":
        return False
    before, settings = revisit.record, page.settings
    is_same = revisit.unit_changes is not None and before.key == page.key
    if settings.unchanged == "drop" and is_same and before.state == "confirmed" and handled_alike(page, before):
        return True
    return settings.against == "run" and original.run != page.run


def _reason_to_keep(page: FetchedPage, original: Record) -> Reason:
    """Why a page is kept, of which there is an original, and not enough copies."""
    if not handled_alike(page, original):
        return "other_callback"
    if original.state == "itemless":
        return "no_item_yet" if original.run == page.run else "for_links"
    return "within_budget"


def handled_alike(page: FetchedPage, other: Record) -> bool:
    """Whether two pages were got by the same callback for the same spider, or may have been."""
    return page.handler in other.handlers or not (page.handler and other.handler)


def _decide_copy(page: FetchedPage, match: Match, revisit: Revisit | None, index: SiteIndex) -> Decision:
    verdict, settings = _verdict_about(match, page.settings), page.settings
    original = match.record
    if original.delivered:
        if not settings.prefer or not is_preferred(page, original, settings.prefer, index.canonical_claims):
            known = PageFingerprint.from_bytes(original.fingerprint)
            verdict = verdict._replace(
                is_duplicate=True,
                other_headline=_headline_differs(page, original),
                other_text=False if match.is_known_view else text_differs(page.fingerprint, known),
            )
            page = page._replace(handler=_handlers(page, revisit, index))
            return Decision(verdict, _new_record(page, revisit, verdict, "duplicate", original.key), original)
        cluster = index.cluster_key(original)
        rival = index.replacements.pending(cluster, page.key)
        if rival is None:
            verdict = verdict._replace(reason="better", supersedes=original.url)
            return _keep(page, revisit, verdict, cluster)._replace(original=original)
        original = rival
    pending = PageRef(page.site, original.id, original.key, original.url)
    return Decision(verdict._replace(pending=pending), None, original)


def _decide_stub(
    page: FetchedPage, match: Match, revisit: Revisit | None, index: SiteIndex, clocks: Collection[int]
) -> Decision:
    stub = match.record
    verdict = _verdict_about(match, page.settings)
    verdict = verdict._replace(kind="stub", is_duplicate=page.settings.stubs == "drop")
    if verdict.is_duplicate:
        return Decision(verdict, None, stub)
    past = revisit if revisit is not None and revisit.kind == "unchanged" else None
    if past is not None and (past.record.kind == "stub" or past.record.state == "duplicate"):
        decision = _decide_revisit(page, past, "unchanged", index, cluster=None, reason=None)
        if decision.verdict.is_duplicate:
            return decision._replace(original=stub)
    if not text_differs(page.fingerprint, PageFingerprint.from_bytes(stub.fingerprint)):
        return Decision(verdict, None, stub)
    members = index.family_members(page.url, page.fingerprint)
    member = next((one for one in members if handled_alike(page, one) and says_the_same(page, one, clocks)), None)
    if member is not None and not page.settings.prefer and page.settings.max_copies == 1:
        distance = (page.fingerprint.simhash ^ PageFingerprint.from_bytes(member.fingerprint).simhash).bit_count()
        decision = _decide_copy(page, Match(member, 1.0, distance, OwnText(0), is_known_view=False), revisit, index)
        return decision._replace(verdict=decision.verdict._replace(other_text=False))
    return _keep(page, revisit, verdict)._replace(original=stub)


def _decide_revisit(
    page: FetchedPage,
    revisit: Revisit,
    kind: VerdictKind,
    index: SiteIndex,
    *,
    cluster: bytes | None,
    reason: Reason | None,
) -> Decision:
    before = revisit.record
    if before.run == IMPORTED and revisit.similarity is None:
        reason = IMPORTED
    verdict = Verdict(
        kind,
        original=before.url,
        similarity=revisit.similarity,
        distance=revisit.distance,
        reason=reason,
        original_first_seen=before.first_seen,
        original_run=before.run,
        original_key=before.original or before.key,
        change=revisit.change,
        unit_changes=None if revisit.unit_changes is None else revisit.unit_changes.as_dict(),
    )
    # By fields the items decide, which the callback may get elsewhere, even where the bytes are the same.
    settings = page.settings
    is_unwanted = settings.unchanged == "drop" or (page.is_filtered and before.run == page.run)
    if kind == "unchanged" and is_unwanted and not isinstance(settings.unchanged_by, tuple):
        delivered = _delivered_content(before, index)
        known = PageFingerprint.from_bytes(before.fingerprint)._replace(structure=page.fingerprint.structure)
        if revisit.unit_changes is not None and _has_other_template(page.fingerprint, known):
            known = page.fingerprint  # else no comment would be told from the old template's lines any more
        again = before._replace(fingerprint=bytes(known), last_seen=page.now, visits=before.visits + 1)
        if before.state == "stub":  # kept, as it may have given no item; and still a stub, so that its repeats are kept
            return Decision(verdict, again)
        if delivered is None:
            pass
        elif not handled_alike(page, before):
            reason = "other_callback"
        elif delivered.state == "itemless":
            reason = "for_links"
        else:
            return Decision(verdict._replace(is_duplicate=True), again)
    page = page._replace(handler=_handlers(page, revisit, index))
    return _keep(page, revisit, verdict._replace(reason=reason), cluster)


def _handlers(page: FetchedPage, revisit: Revisit | None, index: SiteIndex) -> str:
    """The handler of a page, and the earlier handlers that made items of the same text under the same URL.

    So spiders that fetch the same pages in turn each know what they had. Where little words may have changed unseen,
    nobody had just this; and who had no items may come for the links.
    """
    if revisit is None or revisit.kind != "unchanged" or revisit.unit_changes is None or not page.handler:
        return page.handler
    before = revisit.record
    delivered = _delivered_content(before, index)
    if not before.handler or delivered is None or delivered.state != "confirmed":
        return page.handler
    return before.handled_again(page.handler)


def _has_other_template(now: PageFingerprint, before: PageFingerprint) -> bool:
    """Whether a page came in another template, in which no text is boilerplate that was content."""
    if now.units is None or before.units is None or now.units.has_template_of(before.units):
        return False
    return len(now.units.rows) >= len(before.units.rows)


def _delivered_content(record: Record, index: SiteIndex) -> Record | None:
    """The page with which a page's content was delivered, if that is still known.

    It is the page itself, or its original, or the original of that, where a later run found this one to be a repeat.
    """
    passed = set()
    while record.state == "duplicate" and record.original is not None and record.key not in passed:
        passed.add(record.key)
        known = index.previous_version(record.original)
        if known is None:
            return None
        record = known
    return record if record.delivered else None


def _cluster_key(page: FetchedPage, revisit: Revisit, index: SiteIndex) -> bytes | None:
    """The cluster of the page's previous version, if the page still belongs to it: in whichever order pages come."""
    cluster = index.cluster_key(revisit.record)
    if revisit.kind != "unchanged" or cluster == page.key:
        return None
    first = index.delivered_version(cluster)
    if first is None:
        return cluster
    fp = PageFingerprint.from_bytes(first.fingerprint)
    if fp.extractor != page.fingerprint.extractor:
        return None
    found = fp.compare(page.fingerprint, identical=page.settings.identical)
    return cluster if found.similarity >= page.settings.drop_threshold else None


def _verdict_about(match: Match, settings: DedupSettings) -> Verdict:
    original = match.record
    return Verdict(
        "identical" if match.similarity >= settings.identical else "near",
        original=original.url,
        similarity=match.similarity,
        distance=match.distance,
        original_first_seen=original.first_seen,
        original_run=original.run,
        original_key=original.original or original.key,
        reason="known_view" if match.is_known_view else "own_text" if match.own.counts else None,
        own_words=match.own.words,
        is_doubtful=match.own.is_doubtful,
    )


def _headline_differs(page: FetchedPage, original: Record) -> bool:
    """Whether two pages have different h1s, or different titles where not both have an h1."""
    one, other = page.fingerprint, PageFingerprint.from_bytes(original.fingerprint)
    if one.h1 and other.h1:
        return one.h1 != other.h1
    return 0 != one.title != other.title != 0


def _keep(page: FetchedPage, revisit: Revisit | None, verdict: Verdict, cluster: bytes | None = None) -> Decision:
    replaced = revisit.record if revisit and revisit.record.state == "reserved" else None
    return Decision(verdict, _new_record(page, revisit, verdict, "reserved", cluster), replaced)


def _new_record(
    page: FetchedPage, revisit: Revisit | None, verdict: Verdict, state: State, original: bytes | None
) -> Record:
    before = revisit.record if revisit else None
    changed = revisit is not None and revisit.kind == "changed"
    again = verdict.kind == "unchanged" and before is not None and before.run == page.run
    return Record(
        url=page.url,
        key=page.key,
        fingerprint=bytes(page.fingerprint),
        run=page.run,
        worker=page.worker,
        state=state,
        kind="identical" if again else verdict.kind,  # to people, unchanged is what it is since an earlier run
        similarity=verdict.similarity,
        original=original,
        first_seen=before.first_seen if before else page.now,
        last_seen=page.now,
        last_changed=page.now if changed or not before else before.last_changed,
        visits=1 + (before.visits if before else 0),
        changes=changed + (before.changes if before else 0),
        handler=page.handler,
    )
