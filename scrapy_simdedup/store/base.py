"""What every store promises: an append-only log per site, with compare-and-append.

A site's log has a counter. Each change (a page appended, a page confirmed or released) raises it and gives the
record that changed the counter's new value as its position. Whoever has read up to the counter knows the site; whoever
appends says up to where they had read, and is refused if that is no longer all. So looking for a similar page and
adding one is atomic on any database, and none of them needs to search.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

State = Literal["reserved", "confirmed", "released", "alias", "stub"]
Outcome = Literal["confirmed", "released", "stub"]
STEPS: dict[Outcome, frozenset[State]] = {
    "confirmed": frozenset({"reserved", "released"}),
    "released": frozenset({"reserved"}),
    "stub": frozenset({"reserved", "released", "confirmed"}),
}
"""From which states a record can be settled to each outcome."""
TOMBSTONE_SECONDS = 86_400.0
"""How long the tombstone of a released or forgotten record stays; every worker reads on much sooner."""
IMPORTED = "imported"
"""The run of pages that another tool delivered. Their content is that of a later visit, and whether it was the same
when they were delivered nobody knows, so they displace no other page."""
Sleep: TypeAlias = Callable[[float], Awaitable[None]]
"""Lets other work go on for some seconds, on whatever loop runs."""


@dataclass(frozen=True, slots=True)
class Record:
    """One version of one page of a site."""

    url: str
    key: bytes
    """Who the page is: the fingerprint of its request. Versions of one page share it."""
    fingerprint: bytes
    """Its :class:`~scrapy_simdedup.fingerprint.fingerprint.PageFingerprint` as bytes."""
    run: str
    """The run that fetched it."""
    worker: str
    """The process that fetched it."""
    state: State
    """``reserved`` until it is delivered, then ``confirmed``, or ``released`` if its delivery failed; or an ``alias``:
    dropped, because it repeats another page; or a ``stub``: delivered once, and then met under so many unrelated URLs
    that it is no content and displaces nobody."""
    kind: str
    """The verdict it got, such as ``new``."""
    similarity: float | None
    """Similarity (0..1) to what that verdict compared it with; None if there was nothing to compare."""
    original: bytes | None
    """The key of the page that an alias repeats; of a page that stands for its cluster without being its first one, the
    key of that; else None. A key, because it stays true when that page is fetched again."""
    first_seen: float
    """When this page, in whatever version, was first fetched; seconds since the epoch, as all times here."""
    last_seen: float
    """When it was last fetched, or settled."""
    last_changed: float
    """When its content last differed from that of the visit before; its first visit if it never did."""
    visits: int
    """How often it was fetched, this time included."""
    changes: int
    """How often its content differed from that of the visit before."""
    id: int = 0
    """The counter of the site's log when it was appended; unique in its site, and 0 until it is stored."""
    position: int = 0
    """The counter of the site's log at its last change; 0 until it is stored."""

    @property
    def settled(self) -> bool:
        """Whether it stands for good, and has taken the place of all older versions of its page."""
        return self.state in {"confirmed", "alias", "stub"}

    @property
    def forgotten(self) -> bool:
        """Whether it is only the tombstone of a record that was taken out."""
        return not self.fingerprint

    @property
    def changes_per_day(self) -> float | None:
        """How often the page changes, estimated from its visits; None before the second.

        The estimator of Cho and Garcia-Molina, Estimating frequency of change (2003), which allows for changes that
        happened between two visits and were not seen one by one.
        """
        accesses = self.visits - 1
        days = (self.last_seen - self.first_seen) / 86_400
        if accesses < 1 or days <= 0:
            return None
        return -math.log((accesses - min(self.changes, accesses) + 0.5) / (accesses + 0.5)) * accesses / days


@dataclass(frozen=True, slots=True)
class Tail:
    """What happened to a site since a cursor."""

    records: tuple[Record, ...]
    """Every record that changed, as it is now, oldest change first."""
    cursor: int
    """Where to read on; the site's counter, and so what to expect when appending, if the tail is ``complete``."""
    complete: bool = True
    """Whether that is all. A store gives a long log in parts, so that other work can go on in between."""


@dataclass(frozen=True, slots=True)
class Notes:
    """What was noted in a journal since a cursor."""

    values: tuple[bytes, ...]
    """The oldest first."""
    cursor: int
    """Where to read on."""
    complete: bool = True
    """Whether that is all."""


class FingerprintStore(Protocol):
    """A store. Every verb is atomic, and safe from many processes at a time.

    A verb raises :class:`~scrapy_simdedup.errors.StoreError` if the database fails, and has then changed nothing.
    """

    async def open(self) -> None:
        """Connect, check what is there, and create what is missing."""

    async def close(self) -> None:
        """Let go of the database; the store can be opened again."""

    async def remember(self, name: str, value: str) -> str:
        """Keep ``value`` under ``name`` unless something is there already; what is there then."""

    async def read(self, site: str, after: int = 0) -> Tail:
        """What happened to the site since the counter was ``after``, or the first part of it.

        A version that a settled one took the place of is gone without a trace: whoever applies a settled record drops
        the older versions with its key.
        """

    async def append(self, site: str, record: Record, expected: int) -> int | None:
        """Add a record; its id, which is the new counter, or None if the counter is beyond ``expected``.

        A settled record takes the place of all older versions of its page.
        """

    async def settle(self, site: str, id: int, state: Outcome, now: float) -> None:  # noqa: A002 - the field's name
        """Confirm or release a reserved record, or make a delivered one a stub.

        Confirmed, it takes the place of all older versions of its page. Released, it stays as a tombstone, so that
        others see it; one that turns out to be delivered after all can still be confirmed. A record for which ``state``
        is no step from where it is (see :data:`STEPS`), or that is gone, is left as it is.
        """

    async def forget(self, site: str, ids: Sequence[int], now: float) -> None:
        """Take records out, in whatever state; tombstones tell others, and go another day."""

    async def beat(self, worker: str, now: float) -> None:
        """The worker is alive; the first beat also clears what is left of long ago."""

    async def beats(self) -> dict[str, float]:
        """When each worker was last heard of, in seconds since the epoch."""

    async def count(self) -> int:
        """How many records there are, tombstones included."""

    def sites(self) -> AsyncIterator[str]:
        """The sites that have pages."""

    def records(self) -> AsyncIterator[tuple[str, Record]]:
        """All records with their sites, site by site, oldest change first."""

    async def note(self, journal: str, key: bytes, value: bytes, *, once: bool = False) -> bytes:
        """Write a note at the end of a journal, in the place of the one with its key; what is there then.

        A note that says what is there already stays where it is. With ``once`` whatever is there stays.
        """

    async def noted(self, journal: str, key: bytes) -> bytes | None:
        """The note with a key, if there is one."""

    async def notes(self, journal: str, after: int = 0) -> Notes:
        """What was noted since the cursor was ``after``, or the first part of it."""

    def journals(self) -> AsyncIterator[str]:
        """The names of all journals."""

    async def tear(self, journal: str) -> None:
        """Take a journal out, a long one in parts: where this fails, some of it may be gone."""
