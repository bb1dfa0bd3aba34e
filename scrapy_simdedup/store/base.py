"""What every store promises: an append-only log per site, with compare-and-append.

A site's log has a counter. Each change (a page appended, a page confirmed or released) raises it and gives the
record that changed the counter's new value as its position. Whoever has read up to the counter knows the site; whoever
appends says up to where they had read, and is refused if that is no longer all. So looking for a similar page and
adding one is atomic on any database, and none of them needs to search.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypeAlias, TypeVar, cast

from scrapy_simdedup.display import plural, redact_password, shorten
from scrapy_simdedup.errors import StoreError

Result = TypeVar("Result")
State = Literal["reserved", "confirmed", "released", "duplicate", "stub", "itemless"]
Outcome = Literal["confirmed", "released", "stub", "itemless"]
STEPS: dict[Outcome, frozenset[State]] = {
    "confirmed": frozenset({"reserved", "released"}),
    "itemless": frozenset({"reserved", "released"}),
    "released": frozenset({"reserved"}),
    "stub": frozenset({"reserved", "released", "confirmed", "itemless"}),
}
"""From which states a record can be settled to each outcome."""
SETTLED: frozenset[State] = frozenset({"confirmed", "itemless", "duplicate", "stub"})
"""The states of a record that is final, and has taken the place of all older versions of its page."""
DEFAULTS, HEARTBEATS = ".defaults", ".heartbeats"
"""The journals of a store that keeps its defaults and heartbeats as notes."""
MIN_DAYS_OF_RATE = 1 / 24
"""Days between the first and the last visit from which they tell how often a page changes."""
TOMBSTONE_SECONDS = 86_400.0
"""How long the tombstone of a released or forgotten record stays; every worker reads it much sooner."""
IMPORTED: Final = "imported"
"""The run of pages that another tool delivered. As their content was fetched later, and may differ from the delivered
one, they displace no other page."""
MAX_HANDLERS: Final = 8
"""Spiders and callbacks that a record remembers to have got what its page says."""
Sleep: TypeAlias = Callable[[float], Awaitable[None]]
"""A function that lets other work go on for some seconds, on whatever loop runs."""


class Record(NamedTuple):
    """One version of one page of a site.

    A tuple, as each page takes some of them: to make or to change a dataclass takes four times as long.
    """

    url: str
    key: bytes
    """The fingerprint of the page's request. Versions of one page share it."""
    fingerprint: bytes
    """The page's :class:`~scrapy_simdedup.fingerprint.fingerprint.PageFingerprint` as bytes."""
    run: str
    """The run that fetched the page."""
    worker: str
    """The process that fetched the page."""
    state: State
    """``reserved`` until it is delivered, then ``confirmed``, or ``itemless`` if the crawl got no item out of it, or
    ``released`` if its delivery failed; or a ``duplicate``: dropped, because it repeats another page; or a ``stub``:
    delivered once, and then fetched under so many unrelated URLs that it is no content and displaces no page."""
    kind: str
    """The kind of the page's verdict, such as ``new``."""
    similarity: float | None
    """Similarity (0..1) to the page that the verdict compared it with; None if there was none."""
    original: bytes | None
    """The key of the page that a duplicate repeats; for a page that was kept in place of the first page of its cluster,
    as a better copy or because that gave no item, the key of that first page; else None. A key stays true when the page
    is fetched again."""
    first_seen: float
    """When any version of the page was first fetched; seconds since the epoch, as all times here."""
    last_seen: float
    """When the page was last fetched, or the record settled."""
    last_changed: float
    """When the page's content last differed from the content before; the first visit if it never did."""
    visits: int
    """How often the page was fetched, this time included."""
    changes: int
    """How often the page's content differed from the content before."""
    handler: str = ""
    """The spider and the callback that got the page; empty where none is known, or where it does not matter. Then, a
    line each, others that got just what it says before, with the run behind a tab."""
    id: int = 0
    """The counter of the site's log when the record was appended; unique in its site, and 0 until then."""
    position: int = 0
    """The counter of the site's log at the record's last change; 0 until it is stored."""

    @property
    def handlers(self) -> list[str]:
        """Those of :attr:`handler`, the latest first."""
        return [line.partition("\t")[0] for line in self.handler.split("\n")]

    @property
    def runs(self) -> set[str]:
        """The runs of :attr:`handlers`."""
        return {self.run, *(line.partition("\t")[2] for line in self.handler.split("\n")[1:])}

    def handled_again(self, handler: str) -> str:
        """The :attr:`handler` of a newer version that says just the same, of at most :data:`MAX_HANDLERS` handlers."""
        own, *others = self.handler.split("\n")
        lines = zip(self.handlers, [f"{own}\t{self.run}", *others], strict=True)
        return "\n".join([handler, *[line for name, line in lines if name != handler][: MAX_HANDLERS - 1]])

    def __repr__(self) -> str:
        return f"<Record {self.id} {self.state} {self.kind} in {shorten(self.run, 30)}: {shorten(self.url)}>"

    @property
    def settled(self) -> bool:
        """Whether the record is final; see :data:`SETTLED`."""
        return self.state in SETTLED

    @property
    def delivered(self) -> bool:
        """Whether the page was delivered, with items or without, and is no stub."""
        return self.state in {"confirmed", "itemless"}

    @property
    def forgotten(self) -> bool:
        """Whether only a tombstone is left of the record."""
        return not self.fingerprint

    def settled_as(self, outcome: Outcome, now: float) -> Record | None:
        """The record once it is settled; None where its state does not allow that outcome."""
        return self._replace(state=outcome, last_seen=now) if self.state in STEPS[outcome] else None

    def tombstone(self, now: float) -> Record:
        """The remains of a deleted record, by which workers that have read the record learn of its end."""
        return self._replace(state="released", fingerprint=b"", last_seen=now)

    @property
    def changes_per_day(self) -> float | None:
        """How often the page changes (:func:`estimate_changes_per_day`); None before a second visit an hour later."""
        days = (self.last_seen - self.first_seen) / 86_400
        is_known = self.visits > 1 and days >= MIN_DAYS_OF_RATE
        return estimate_changes_per_day(self.visits - 1, self.changes, days) if is_known else None


def estimate_changes_per_day(revisits: int, changes: int, days: float) -> float:
    """How often a page changes, by the bias-corrected estimator of Junghoo Cho and Hector Garcia-Molina.

    It is that of "Estimating frequency of change", ACM Transactions on Internet Technology 3 (2003), and allows for
    changes that happened between two visits and were seen as one. There was one revisit at least, and ``changes`` of
    them found another content than the visit before; ``days`` passed from the first visit to the last, more than 0.
    """
    return -math.log((revisits - min(changes, revisits) + 0.5) / (revisits + 0.5)) * revisits / days


@dataclass(frozen=True, slots=True)
class Tail:
    """The records of a site that changed since a cursor."""

    records: tuple[Record, ...]
    """The records as they are now, oldest change first."""
    cursor: int
    """Where to read on; the site's counter, and so what to expect when appending, if the tail is ``complete``."""
    complete: bool = True
    """Whether the log has no more records. A store gives a long log in parts, so that other work can go on."""

    def __repr__(self) -> str:
        return f"<Tail of {plural(len(self.records), 'record')} up to {self.cursor}{', complete' * self.complete}>"


@dataclass(frozen=True, slots=True)
class LogPart:
    """Records that come next in the log of a site; see :meth:`FingerprintStore.load`."""

    site: str
    expected: int
    """The counter of the log behind which they come."""
    records: list[Record]

    def numbered(self) -> list[Record]:
        """The records with the ids and positions that follow the counter."""
        return [record._replace(id=at, position=at) for at, record in enumerate(self.records, self.expected + 1)]

    @property
    def counter(self) -> int:
        """The counter behind them."""
        return self.expected + len(self.records)


@dataclass(frozen=True, slots=True)
class Notes:
    """The notes that were written to a journal since a cursor."""

    values: tuple[bytes, ...]
    """The notes, oldest first."""
    cursor: int
    """Where to read on."""
    complete: bool = True
    """Whether the journal has no more notes."""

    def __repr__(self) -> str:
        return f"<Notes of {plural(len(self.values), 'value')} up to {self.cursor}{', complete' * self.complete}>"


class FingerprintStore(ABC):
    """A store of records and journals. Every verb is atomic, and safe from as many processes as it is made for.

    A verb raises :class:`~scrapy_simdedup.errors.StoreError` if the database fails, and has then changed nothing.
    Verbs whose docstring says what they do by default need not be written; a store may have a faster way.
    A class that ``SIMDEDUP_STORE`` names is called with the text behind the first colon there, which may be empty.
    """

    lasts: ClassVar[bool] = True
    """Whether the records outlive the process."""
    waits: ClassVar[bool] = True
    """Whether what is asked of it may have to wait for a file or for a server."""

    def exists(self) -> bool:
        """Whether there is a store to open, as far as that can be told without opening it; by default there is."""
        return True

    def bytes_on_disk(self) -> int | None:
        """How large the store's files on this host are; None, which is the default, where there are none."""
        return None

    async def open(self) -> None:  # noqa: B027 - a store may have nothing to open
        """Connect, check what is there, and create what is missing; by default there is nothing to do."""

    async def close(self) -> None:  # noqa: B027 - as above
        """Disconnect; the store can be closed twice, and opened again. By default there is nothing to do."""

    def hurry(self) -> None:  # noqa: B027 - as above
        """Fail, rather than keep a crawl waiting, while the database takes too long; by default nothing is too long."""

    def take_time(self) -> None:  # noqa: B027 - as above
        """Wait for a database that takes long, also for one that is left alone: the crawl is over."""

    # ------------------------------------------------------------------ the logs of sites

    @abstractmethod
    async def read(self, site: str, after: int = 0) -> Tail:
        """The records of the site that changed since its counter was ``after``, or the first part of them.

        A version that a settled record took the place of is gone without a trace: whoever applies a settled record
        drops the older versions with its key.
        """

    @abstractmethod
    async def append(self, site: str, record: Record, expected: int) -> int | None:
        """Add a record; its id, which is the new counter, or None if the counter is beyond ``expected``.

        A settled record takes the place of all older versions of its page.
        """

    async def load(self, parts: Sequence[LogPart]) -> list[int | None]:
        """Append many settled records; for each part the new counter, or None if its log was beyond what it expects.

        No two of the records of a site have the same key, and none has that of a record in the log. By default they are
        appended one by one; a store with transactions writes a part as a whole or not at all.
        """
        counters: list[int | None] = []
        for part in parts:
            counter: int | None = part.expected
            for record in part.records:
                counter = None if counter is None else await self.append(part.site, record, counter)
            counters.append(counter)
        return counters

    @abstractmethod
    async def settle(self, site: str, id: int, state: Outcome, now: float) -> int | None:  # noqa: A002 - the field's name
        """Confirm or release a reserved record, or make a delivered one a stub; see :meth:`Record.settled_as`.

        It gives the record's new position, or None where that is not at hand: then who asked reads it from the log.

        A record that is settled takes the place of all older versions of its page. A released one stays as a tombstone,
        so that other workers see it, and can still be confirmed if its page is delivered after all. A record whose
        state does not allow ``state``, or that is gone, is left as it is.
        """

    @abstractmethod
    async def forget(self, site: str, ids: Sequence[int], now: float) -> None:
        """Delete records, in whatever state, and leave a tombstone of each. Ids that are not there do not matter.

        Tombstones, those of released records too, can go once they are older than :data:`TOMBSTONE_SECONDS`.
        """

    @abstractmethod
    def sites(self) -> AsyncIterator[str]:
        """The sites that have pages."""

    async def records(self) -> AsyncIterator[tuple[str, Record]]:
        """All records with their sites, site by site, oldest change first; one that changes meanwhile may come twice.

        By default each site is read from the beginning.
        """
        async for site in self.sites():
            async for record in whole_log(self, site):
                yield site, record

    async def count(self) -> int:
        """How many records there are, tombstones included; by default all are read."""
        count = 0
        async for _ in self.records():
            count += 1
        return count

    # ------------------------------------------------------------------ journals

    @abstractmethod
    async def put_note(self, journal: str, key: bytes, value: bytes, *, once: bool = False) -> bytes:
        """Write a note at the end of a journal, and delete the older one with its key; the note that is there then.

        A note with the same value stays where it is. With ``once`` a note with the key stays, whatever its value.
        """

    @abstractmethod
    async def get_note(self, journal: str, key: bytes) -> bytes | None:
        """The note with a key; None if there is none."""

    @abstractmethod
    async def read_notes(self, journal: str, after: int = 0) -> Notes:
        """The notes that were written since the cursor was ``after``, or the first part of them: 2000 at most."""

    @abstractmethod
    def journals(self) -> AsyncIterator[str]:
        """The names of all journals, in their order, but for names that begin with a dot: those are the store's own."""

    @abstractmethod
    async def delete_journal(self, journal: str) -> None:
        """Delete a journal, a long one in parts: where this fails, some of it may be gone."""

    # ------------------------------------------------------------------ what all workers know

    async def set_default(self, name: str, value: str) -> str:
        """Keep ``value`` under ``name`` unless there is a value; the value that is there then. By default a note."""
        return (await self.put_note(DEFAULTS, name.encode(), value.encode(), once=True)).decode()

    async def heartbeat(self, worker: str, now: float) -> None:
        """Note that the worker is alive; by default in a journal. The first one may also delete old tombstones."""
        await self.put_note(HEARTBEATS, worker.encode(), json.dumps([worker, now]).encode())

    async def heartbeats(self) -> dict[str, float]:
        """The time of each worker's last heartbeat, in seconds since the epoch."""
        return dict([json.loads(note) async for note in whole_journal(self, HEARTBEATS)])


@contextmanager
def store_errors(name: str, problem: str, *failures: type[Exception]) -> Iterator[None]:
    """Raise a database's failures as a :class:`~scrapy_simdedup.errors.StoreError`, with the failure as its cause.

    Args:
        name: what the error calls the store, such as its path or URL; a password in it is not shown.
        problem: what could not be done, such as ``cannot be read``.
        failures: the exceptions of the database's driver.
    """
    try:
        yield
    except failures as exc:
        raise StoreError(redact_password(name), f"{problem}: {exc}") from exc


@contextmanager
def reporting_failures(on_store_error: Callable[[StoreError], None]) -> Iterator[None]:
    """Report a failure of the store, and go on without what it was asked for."""
    try:
        yield
    except StoreError as exc:
        on_store_error(exc)


def run_at_once(work: Coroutine[Any, Any, Result]) -> Result:
    """What a coroutine gives that waits for nothing, as those of a store do that does not wait; else a RuntimeError."""
    try:
        work.send(None)
    except StopIteration as done:
        return cast("Result", done.value)
    work.close()
    raise RuntimeError("work that waits for nothing has waited")


async def whole_log(store: FingerprintStore, site: str) -> AsyncIterator[Record]:
    """All records of a site, which the store gives in parts; one that changes meanwhile may come twice."""
    tail = Tail((), 0, complete=False)
    while not tail.complete:
        tail = await store.read(site, tail.cursor)
        for record in tail.records:
            yield record


async def live_records(store: FingerprintStore, site: str | None) -> AsyncIterator[tuple[str, Record]]:
    """The records of one site or of all, with their sites, without tombstones of forgotten records."""
    found = store.records() if site is None else ((site, record) async for record in whole_log(store, site))
    async for home, record in found:
        if not record.forgotten:
            yield home, record


async def whole_journal(store: FingerprintStore, journal: str) -> AsyncIterator[bytes]:
    """All notes of a journal, which the store gives in parts; one that changes meanwhile may come twice."""
    notes = Notes((), 0, complete=False)
    while not notes.complete:
        notes = await store.read_notes(journal, notes.cursor)
        for value in notes.values:
            yield value
