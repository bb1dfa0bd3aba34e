"""Revisits: a page compared with what its own URL gave before.

A page is unchanged if it says exactly what it said, in whatever boilerplate: the text units of its content are equal,
numbers included, but for those of clocks. Similarity would not see a price. Records of which the units were not kept
are judged by it, and so are all pages where ``SIMDEDUP_UNCHANGED_BY`` says so. Then a page has changed as well that has
a new text, for which it would be kept beside another page.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from scrapy_simdedup.detect.clocks import MAX_EDITED_SHARE, OFFER_PLACE, TITLE_PLACE, ClockEvidence
from scrapy_simdedup.detect.names import may_name_page, parameters_of
from scrapy_simdedup.detect.site_index import SiteIndex
from scrapy_simdedup.detect.verdict import FetchedPage, VerdictKind
from scrapy_simdedup.fingerprint.features import are_among
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.novelty import new_units
from scrapy_simdedup.fingerprint.text_units import COMMENTS_PLACE, NUMBER, Mask, table_rows
from scrapy_simdedup.fingerprint.unit_changes import (
    SITE_TEXT,
    Change,
    EditedText,
    UnitChanges,
    compare_units,
    what_changed,
)
from scrapy_simdedup.page.amounts import is_amount, is_counter
from scrapy_simdedup.store.base import IMPORTED, Record
from scrapy_simdedup.unjudged import OF_OWN_PAST


@dataclass(frozen=True, slots=True)
class Revisit:
    """A page compared with the newest version of itself."""

    record: Record
    kind: VerdictKind | None = None
    """None where the two fingerprints were not made in the same way, or a page could not be judged."""
    similarity: float | None = None
    distance: int | None = None
    change: Change | None = None
    """None where the structures are not known."""
    unit_changes: UnitChanges | None = None
    """None where the text units were not compared."""
    evidence: ClockEvidence | None = None
    """What the two versions say about the clocks of the site, if anything."""

    def content_left(self, near: float) -> bool:
        """Whether a delivered content is gone from its URL: the content there now is not even near."""
        was_live = self.record.state in {"confirmed", "duplicate"}
        return was_live and self.kind == "changed" and self.similarity is not None and self.similarity < near


def revisit_of_imported(page: FetchedPage, since: float) -> Revisit:
    """The comparison with a page that another tool delivered: without its content, today's counts as unchanged."""
    fp = bytes(page.fingerprint)
    return Revisit(imported_record(page.url, page.key, fp, "unchanged", since, worker=page.worker), "unchanged")


def compare_with_same_path(page: FetchedPage, index: SiteIndex, clocks: Collection[int]) -> Revisit | None:
    """The page compared with what earlier runs had under its path, with other parameters; None if nothing tells.

    A page that says just what one of them said is unchanged. Another may be any page; only where all of them have one
    content is it likely to be the same page, so that the two tell what changes by itself.
    """
    if page.fingerprint.unjudged:
        return None
    versions = index.versions_by_path(page.url, page.fingerprint)
    found = [compare_with_version(page, record, index, clocks) for record in versions]
    for revisit in found:
        if revisit.kind == "unchanged" and revisit.unit_changes is not None:
            return revisit
    is_one_content = len({index.cluster_key(revisit.record) for revisit in found}) == 1
    return replace(found[0], kind=None) if is_one_content else None


def compare_with_version(page: FetchedPage, record: Record, index: SiteIndex, clocks: Collection[int] = ()) -> Revisit:
    """The page compared with an earlier version of it."""
    settings = page.settings
    before, now = PageFingerprint.from_bytes(record.fingerprint), page.fingerprint
    if before.body == now.body and not before.identity_differs(now):
        no_change = None if before.units is None else UnitChanges()
        same: Change | None = "none" if now.structure else None
        return Revisit(record, "unchanged", 1.0, 0, same, no_change, evidence_of_equal(before))
    by_units = settings.unchanged_by == "content"  # by fields the items decide, and pages are compared as ever
    reasons = {now.unjudged, before.unjudged}
    if by_units and reasons != {None} and reasons <= OF_OWN_PAST and before.extractor == now.extractor:
        return _compare_unjudged(page, before, record, index, clocks)
    if now.unjudged or before.extractor != now.extractor:
        return Revisit(record)
    if before.unjudged:
        return Revisit(record, "changed")
    novel_words = None if by_units else settings.novel_words
    found = now.compare(before, identical=settings.identical, near=settings.near, novel_words=novel_words)
    changes = evidence = None
    if by_units and now.page_units is not None and before.units is not None and before.units.sequence:
        changes, evidence = _compare_units(now, before, clocks, partial(index.novelty.repeated, page))
        same_data = before.data == now.data and not before.identity_differs(now)
        is_same = not changes and same_data
    else:
        is_same = found.kind == "identical" and not index.copy_check.is_only_boilerplate(
            now, before, settings.identical
        )
    change = None
    if now.structure and before.structure:
        change = what_changed(same_content=is_same, one=before.structure, other=now.structure)
    kind: VerdictKind = "unchanged" if is_same else "changed"
    return Revisit(record, kind, found.similarity, found.distance, change, changes, evidence)


def evidence_of_equal(before: PageFingerprint) -> ClockEvidence | None:
    """The evidence about clocks from a page with the same bytes: the text is equal at each place of its record."""
    units = before.units
    if units is None or not units.sequence:
        return None
    places = frozenset([TITLE_PLACE, COMMENTS_PLACE, OFFER_PLACE])
    return ClockEvidence(
        {}, places, content=units.sequence, kept=frozenset([TITLE_PLACE, *units.rows["place"].tolist()])
    )


def _compare_unjudged(
    page: FetchedPage, before: PageFingerprint, record: Record, index: SiteIndex, clocks: Collection[int]
) -> Revisit:
    """A page that is compared with its own past alone: it is unchanged where its units are, whatever its code says.

    One that is too short may have been longer, or be so now, by a notice or a menu that only some answers have. One
    that is short beside its menu may have another menu; a shell, which says no more than a headline, may have data.
    """
    now = page.fingerprint
    other_kind: VerdictKind | None = None if now.unjudged else "changed"
    if now.page_units is None or before.units is None or not before.units.sequence:
        return Revisit(record, other_kind)
    evidence: ClockEvidence | None
    changes, evidence = _compare_units(now, before, clocks, partial(index.novelty.repeated, page))
    if "unended" in {now.unjudged, before.unjudged}:  # what differs may be where it ends
        evidence = None
    same = not changes and (now.data, now.h1) == (before.data, before.h1)
    if "empty" in {now.unjudged, before.unjudged}:
        texts = int(np.count_nonzero(now.page_units.of_content))
        same = same and now.content == before.content and texts > 1
    elif now.unjudged == before.unjudged:
        same = same and now.total == before.total
    if not same or before.identity_differs(now):
        return Revisit(record, other_kind, unit_changes=changes if other_kind else None, evidence=evidence)
    return Revisit(record, "unchanged", unit_changes=changes, evidence=evidence)


def _compare_units(
    now: PageFingerprint, before: PageFingerprint, clocks: Collection[int], repeated: Callable[[], Mask] | None = None
) -> tuple[UnitChanges, ClockEvidence]:
    """The changes of the text units, the title and the offer among them, and what they say about clocks.

    A page of which much differs may show other advertisements and teasers. These stand on other pages, too.
    """
    assert now.page_units is not None
    assert before.units is not None
    found = compare_units(now.page_units, before.units, clocks)
    are_repeated = repeated() if repeated is not None and found.came else np.zeros(len(now.page_units.places), np.bool_)
    has_repeated = found.edited_share > MAX_EDITED_SHARE and bool(are_repeated.any())
    if are_repeated.any():
        found = compare_units(now.page_units, before.units, clocks, are_repeated)
    edited, equal = dict(found.edited_places), set(found.equal_places)
    for digest, at in found.came.items():
        if are_repeated[at]:
            edited[digest ^ SITE_TEXT] = EditedText(now.page_units.samples[at], digest)
    if found.edited_share <= MAX_EDITED_SHARE:
        edited |= found.edited_spots
    changes = found.changes
    beside = found.beside_spots
    for place, (name, is_equal) in beside_content(now, before).items():
        if is_equal:
            equal.add(place)
            continue
        edited[place] = EditedText(name, place)
        if place not in clocks:
            changes = UnitChanges(changes.added, changes.removed, changes.edited + 1, changes.reordered)
    about = found.edited_share, _witness(now, edited), beside
    gone = frozenset(digest ^ SITE_TEXT for digest in found.gone)
    evidence = ClockEvidence(
        edited, frozenset(equal), *about, before=before.units, has_repeated=has_repeated, gone=gone
    )
    return changes, evidence


def beside_content(now: PageFingerprint, before: PageFingerprint) -> dict[int, tuple[str, bool]]:
    """Place → a text beside the content, for people, and whether it is equal in the other version."""
    if now.page_units is None or before.units is None:
        return {}
    same_title = now.title == before.title or now.page_units.title == before.units.title
    other_comments = now.units is not None and now.units.has_other_comments(before.units)
    return {
        TITLE_PLACE: ("(the title)", same_title),
        COMMENTS_PLACE: ("(the comments)", not other_comments),
        OFFER_PLACE: ("(the offer)", now.page_units.offer == before.units.offer),
    }


def _witness(page: PageFingerprint, edited: Collection[int]) -> int:
    """A digest of the page's content for :class:`~scrapy_simdedup.detect.clocks.ClockEvidence`; 0 where none is known.

    What was edited on a page is edited under each of its URLs, of which each may have a line of its own, such as
    "Reply to Ann". So the page is known by its headlines and the longest unit that it had before; without an h1, as
    products of one description may be, by the amounts that it had before, too.
    """
    assert page.page_units is not None
    if page.units is None or not edited:
        return 0 if page.units is None else page.units.sequence
    units = page.page_units
    is_old = units.without(edited)
    known = [int(np.where(is_old, units.lengths, 0).argmax())] if is_old.any() else []
    if not page.h1:
        known += [at for at in is_old.nonzero()[0].tolist() if is_amount(units.samples[at])]
    return hash((page.h1, page.title, *units.digests[known].tolist())) or 1


def text_differs(one: PageFingerprint, other: PageFingerprint) -> bool | None:
    """Whether contents, titles or offers of two pages do not say the same; None where that is not known."""
    mine, theirs = (None if of is None else (of.sequence, of.title, of.offer) for of in (one.units, other.units))
    return None if mine is None or theirs is None else mine != theirs


def says_the_same(page: FetchedPage, other: Record, clocks: Collection[int]) -> bool:
    """Whether a page says just what another one says, but for clocks, and one URL has all parameters of the other.

    Sessions do not count. A captcha with a few questions asks the same one at several URLs, and each is to be fetched
    once more. One line may count to another number, where no parameter has two values, or says the number.
    """
    fp, theirs = page.fingerprint, PageFingerprint.from_bytes(other.fingerprint)
    if page.key == other.key or fp.units is None or theirs.units is None or fp.identity_differs(theirs):
        return False
    one, two = set(parameters_of(page.url)), set(parameters_of(other.url))
    mine, others = ({(name, value) for name, value in of if may_name_page(name)} for of in (one, two))
    only_one = one ^ two
    if not (mine <= others or others <= mine):
        return False
    if text_differs(fp, theirs) is False and not fp.units.has_other_comments(theirs.units):
        return True
    if fp.page_units is None or not theirs.units.sequence:
        return False
    changes, evidence = _compare_units(fp, theirs, clocks)
    if changes != UnitChanges(edited=1) or len(only_one) > len(dict(only_one)):
        return not changes
    lines = {edited.text for place, edited in evidence.edited.items() if place not in clocks}
    named = {number for _, value in only_one for number in NUMBER.findall(value)}
    return bool(lines) and all(is_counter(line) and named.isdisjoint(NUMBER.findall(line)) for line in lines)


def says_again(page: FetchedPage, original: Record | None, evidence: ClockEvidence) -> bool:
    """Whether a page says what it said before; or else at least one line that the original lacks, at the same place.

    A clock at its foot says something else each time, and of some random teasers one may be there again elsewhere.
    """
    units, before = page.fingerprint.page_units, evidence.before
    if not evidence.edited and not evidence.edited_share:
        return True
    kept = None if original is None else PageFingerprint.from_bytes(original.fingerprint).units
    if units is None or kept is None or before is None:
        return False
    if units.title == before.title != kept.title:
        return True
    table, said = table_rows(units, before.joined_by), np.zeros(len(units.lengths), np.bool_)
    said[table.blocks] = np.repeat(are_among(table.rows.view(np.uint32), before.rows.view(np.uint32)), table.counts)
    return bool((said & new_units(units, [kept])).any())


def imported_record(
    url: str, key: bytes, fingerprint: bytes, kind: VerdictKind, since: float, *, worker: str = ""
) -> Record:
    """The record of a page that another tool delivered, and when; it displaces none (see ``IMPORTED`` of a store)."""
    return Record(
        url=url,
        key=key,
        fingerprint=fingerprint,
        run=IMPORTED,
        worker=worker,
        state="confirmed",
        kind=kind,
        similarity=None,
        original=None,
        first_seen=since,
        last_seen=since,
        last_changed=since,
        visits=1,
        changes=0,
    )
