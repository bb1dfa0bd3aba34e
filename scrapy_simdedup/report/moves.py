"""Pages that went to another address: the content of a page that the latest run did not meet, under a new URL."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.report.closest import Prints

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    """When the old URL was last met; seconds since the epoch."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def moves(site: str, records: Sequence[Record], identical: float) -> Iterator[Move]:
    """The moves on one site, by the latest run that met new pages there.

    Args:
        site: its name.
        records: all of its records.
        identical: similarity from which two pages are the same.
    """
    pages = [record for record in records if record.state in {"confirmed", "alias"}]
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
            yield Move(site, old.url, record.url, similarity, old.last_seen)
