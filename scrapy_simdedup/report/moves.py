"""Pages that went to another address: a content that is at its URL no more, under a URL that was met later."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.errors import FingerprintMismatch
from scrapy_simdedup.report.closest import Prints
from scrapy_simdedup.report.prints import print_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy_simdedup.detect.history_notes import Left
    from scrapy_simdedup.store.base import Record


@dataclass(frozen=True, slots=True)
class Move:
    """A page that went from one URL to another."""

    site: str
    old: str
    new: str
    similarity: float
    """Share of common content, 0..1."""
    last_seen: float
    """When the content was last met at the old URL; seconds since the epoch."""
    run: str
    """The run that found the old URL without it."""
    at: float
    """When; seconds since the epoch. Where the old URL was only not met, when the new one first was."""
    why: str
    """The status that the old URL answered with, ``changed`` if it shows another content, or ``not met``."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def moves(
    site: str, records: Sequence[Record], identical: float, left: Sequence[Left] = (), began: Sequence[float] = ()
) -> Iterator[Move]:
    """The moves on one site: those from where runs noted that a content left, then those of the latest run.

    Args:
        site: its name.
        records: all of its records.
        identical: similarity from which two pages are the same.
        left: the contents that were noted.
        began: when each run did; seconds since the epoch.
    """
    pages = [record for record in records if record.state in {"confirmed", "alias"}]
    told = set()
    for move in _noted(site, pages, identical, left, began):
        told.add(move.old)
        yield move
    for move in _not_met(site, pages, identical):
        if move.old not in told:
            yield move


def _noted(
    site: str, pages: Sequence[Record], identical: float, left: Sequence[Left], began: Sequence[float]
) -> Iterator[Move]:
    """From URLs that were asked and gave no such content, in whatever run, to URLs that no earlier run had met."""
    known = {record.key: record for record in pages}
    lost: dict[tuple[bytes, bytes], Left] = {}
    for one in sorted(left, key=lambda one: one.at):  # the first to find it gone is told
        page = known.get(one.key)
        if page is None or page.last_seen <= one.at or not _alike(one, page, identical):  # else it came back
            lost.setdefault((one.key, one.fingerprint), one)
    if not lost:
        return
    gone, oldest = {key for key, _ in lost}, min(one.last_seen for one in lost.values())
    prints = Prints(page for page in pages if page.first_seen > oldest and (page.key, page.fingerprint) not in lost)
    for one in lost.values():
        if one.original is not None and one.original not in gone:
            continue  # a repeat went, and what it repeated is where it was
        # What was under two URLs in one run did not go from one to the other.
        since = min((at for at in began if at > one.last_seen), default=math.inf)
        found = prints.closest(one, since=since)
        if found is not None and found.similarity >= identical:
            yield Move(site, one.url, found.record.url, found.similarity, one.last_seen, one.run, one.at, one.why)


def _alike(one: Left, other: Record, identical: float) -> bool:
    before, now = print_of(one), print_of(other)
    try:
        return before is not None and now is not None and now.compare(before).similarity >= identical
    except FingerprintMismatch:
        return False


def _not_met(site: str, pages: Sequence[Record], identical: float) -> Iterator[Move]:
    """From URLs that the latest run that met new pages did not meet."""
    if not pages:
        return
    latest = max(pages, key=lambda record: record.first_seen).run
    gone = {record.key: record for record in pages if record.state == "confirmed" and record.run != latest}
    fresh = [record for record in pages if record.run == latest and record.visits == 1]
    prints = Prints(gone.values())
    for record in fresh:
        # Where the past displaces pages, a page that moved is a repeat of what it was.
        old = gone.get(record.original or b"")
        similarity = record.similarity or 0.0
        if old is None and record.state == "confirmed":
            found = prints.closest(record)
            old, similarity = (found.record, found.similarity) if found else (None, 0.0)
        if old is not None and similarity >= identical and old.key in gone:
            del gone[old.key]
            yield Move(site, old.url, record.url, similarity, old.last_seen, record.run, record.first_seen, "not met")
