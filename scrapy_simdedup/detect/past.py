"""A page against its own past."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.structure import what_changed
from scrapy_simdedup.store.base import IMPORTED, Record

if TYPE_CHECKING:
    from scrapy_simdedup.detect.site_index import SiteIndex
    from scrapy_simdedup.detect.verdict import Kind
    from scrapy_simdedup.detect.visit import Visit
    from scrapy_simdedup.fingerprint.structure import Change
    from scrapy_simdedup.settings import DedupSettings


@dataclass(frozen=True, slots=True)
class Past:
    """A page against the newest version of itself."""

    record: Record
    kind: Kind | None = None
    """None where the two were not made in the same way."""
    similarity: float | None = None
    distance: int | None = None
    change: Change | None = None
    """None where the structures are not known."""

    def has_left(self, near: float) -> bool:
        """Whether a content that was delivered is at its URL no more: what is there now is not even near it."""
        stood = self.record.state in {"confirmed", "alias"}
        return stood and self.kind == "changed" and self.similarity is not None and self.similarity < near


def past_of(visit: Visit, index: SiteIndex, settings: DedupSettings) -> Past | None:
    """What a page's URL gave before, compared with the page; None if nothing is known of it.

    Args:
        visit: the page.
        index: its site, up to date.
        settings: those of its site.
    """
    record = index.past(visit.key, visit.run)
    if record is None:
        return None if visit.known_since is None else Past(_told(visit, visit.known_since), "unchanged")
    before, now = PageFingerprint.from_bytes(record.fingerprint), visit.fingerprint
    if before.body == now.body:
        return Past(record, "unchanged", 1.0, 0, "none" if now.structure else None)
    if now.unjudged or before.extractor != now.extractor:
        return Past(record)
    if before.unjudged:
        return Past(record, "changed")
    found = now.compare(before, identical=settings.identical, near=settings.near)
    same = found.kind == "identical" and not index.explains(now, before, settings.identical)
    known = bool(now.structure and before.structure)
    change = what_changed(same_content=same, one=before.structure, other=now.structure) if known else None
    return Past(record, "unchanged" if same else "changed", found.similarity, found.distance, change)


def _told(visit: Visit, since: float) -> Record:
    """What another tool knew of the page, with the content of today."""
    print_ = bytes(visit.fingerprint)
    return imported_record(visit.url, visit.key, print_, "unchanged", since, worker=visit.worker)


def imported_record(url: str, key: bytes, fingerprint: bytes, kind: Kind, since: float, *, worker: str = "") -> Record:
    """A page of which another tool knows that it was delivered, and when.

    It displaces nobody (see :data:`~scrapy_simdedup.store.base.IMPORTED`).
    """
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
