"""What the runs of a store have noted about the past of its pages."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrapy_simdedup.detect.history_notes import HISTORY, Began, Left, Redesigned, read_history
from scrapy_simdedup.detect.url_notes import run_and_site
from scrapy_simdedup.report.data import RunChanges
from scrapy_simdedup.store.whole import whole_journal

if TYPE_CHECKING:
    from scrapy_simdedup.fingerprint.structure import Change
    from scrapy_simdedup.store.base import FingerprintStore


@dataclass(slots=True)
class Past:
    """All notes."""

    began: list[float] = field(default_factory=list)
    """When each run began, in no order; seconds since the epoch."""
    left: defaultdict[str, list[Left]] = field(default_factory=lambda: defaultdict(list))
    """By site, the contents that left their URLs, in no order."""
    _changes: dict[tuple[str, str], Counter[Change]] = field(default_factory=dict)
    """By site and run, as the two below."""
    _times: dict[tuple[str, str], float] = field(default_factory=dict)
    _redesigns: dict[tuple[str, str], Redesigned] = field(default_factory=dict)
    _redesigned: set[str] = field(default_factory=set)

    def add(self, raw: bytes, site: str | None) -> None:
        """Take in a note, if it is about the site; what a later version of this package wrote is passed over."""
        try:
            note = read_history(raw)
        except ValueError:
            return
        if isinstance(note, Began):
            self.began.append(note.at)
            return
        if site not in {None, note.site}:
            return
        place = note.site, note.run
        if isinstance(note, Left):
            self.left[note.site].append(note)
        elif isinstance(note, Redesigned):
            self._redesigns[place] = note
            self._redesigned.add(note.site)
        else:
            self._changes.setdefault(place, Counter()).update(note.counts)
            self._times[place] = max(note.at, self._times.get(place, 0.0))

    def knows(self, site: str, run: str) -> bool:
        """Whether it is known how the structure of the site's pages changed in a run."""
        return (site, run) in self._changes

    def is_redesigned(self, site: str) -> bool:
        """Whether a new design was noted in any run."""
        return site in self._redesigned

    @property
    def changes(self) -> list[RunChanges]:
        """What was new on each site in each run, the latest first."""
        found = [self._row(*place) for place in self._changes.keys() | self._redesigns.keys()]
        return sorted(found, key=lambda row: (-row.at, row.site, row.run))

    def _row(self, site: str, run: str) -> RunChanges:
        counts, redesign = self._changes.get((site, run), Counter()), self._redesigns.get((site, run))
        return RunChanges(
            site=site,
            run=run,
            at=self._times.get((site, run), redesign.at if redesign else 0.0),
            none=counts["none"],
            content=counts["content"],
            template=counts["template"],
            both=counts["both"],
            redesign=redesign.share if redesign else None,
            redesigned_at=redesign.at if redesign else None,
        )


async def past_of(store: FingerprintStore, *, run: str | None = None, site: str | None = None) -> Past:
    """Read the notes of a store.

    Args:
        store: an open store.
        run: only what this run noted; None reads those of all.
        site: only what is about this site.

    Raises:
        StoreError: the store cannot be read.
    """
    past = Past()
    async for name in store.journals():
        of_run, kind = run_and_site(name)
        if kind != HISTORY or run not in {None, of_run}:
            continue
        async for raw in whole_journal(store, name):
            past.add(raw, site)
    return past
