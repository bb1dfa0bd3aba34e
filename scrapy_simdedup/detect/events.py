"""Events: what one run writes down about pages and URLs in its journals, for later runs and for reports."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections import Counter
from dataclasses import astuple, dataclass
from enum import Enum
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from scrapy_simdedup.errors import FingerprintMismatch, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy_simdedup.detect.names import RunContext
    from scrapy_simdedup.detect.site_logs import SiteLogs
    from scrapy_simdedup.detect.verdict import FetchedPage, Verdict
    from scrapy_simdedup.fingerprint.structure import Change
    from scrapy_simdedup.store.base import FingerprintStore, Record

Event = TypeVar("Event")

EVENTS = "history:"
"""What stands in the place of a site in the names of the journals of page events; no site is called that."""
COMPARED = "compared:"
"""What stands in the place of a run in the name of the journal of compared pages, which all runs share."""
REMEMBERED = "remembered:"
"""What stands in the place of a run in the name of the journal of remembered rules about URLs."""
MAX_COMPARED_PER_SITE = 256
"""Pages of a site of which that journal has an event: so many that are near and kept for text of their own, as many
that are near for any other reason, and as many that were dropped. A run writes so many of each at most."""
MAX_COUNTED_SITES = 10_000
"""Sites whose events of compared pages are counted at a time; beyond, the counts begin anew."""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run began."""

    run: str
    at: float
    """When, in seconds since the epoch; of a run that was resumed, the first time."""
    worker: str | None = None
    """The process with which the run ends; None where others may work on it or resume it."""


@dataclass(frozen=True, slots=True)
class ContentLeft:
    """A content is gone from its URL."""

    site: str
    run: str
    """The run that found the content gone."""
    at: float
    """When, in seconds since the epoch."""
    reason: str
    """The status with which the URL answered, or ``changed``: it shows another content."""
    url: str
    key: bytes
    """The page's request fingerprint."""
    fingerprint: bytes
    """The fingerprint of the content that is gone."""
    original: bytes | None
    """The key of the page that it repeated."""
    last_seen: float
    """When the content was last fetched from the URL."""


@dataclass(frozen=True, slots=True)
class SiteChangeCounts:
    """The changes that a worker found on the known pages of a site."""

    site: str
    run: str
    at: float
    """When this was written, in seconds since the epoch."""
    counts: dict[Change, int]
    """Pages, by what changed on them."""


@dataclass(frozen=True, slots=True)
class SiteRedesigned:
    """A site was found to have a new template."""

    site: str
    run: str
    at: float
    """When, in seconds since the epoch."""
    pages: int
    """Known pages that had been fetched again by then."""
    share: float
    """The share of them that had another template than before, 0..1."""


@dataclass(frozen=True, slots=True)
class PageCompared:
    """A page was kept though it is near another, or was dropped with words of its own: what no record of it says."""

    site: str
    run: str
    at: float
    """When the page was fetched; in seconds since the epoch."""
    url: str
    key: bytes
    """The page's request fingerprint."""
    dropped: bool
    original: str
    """The URL of the page that it was compared with."""
    similarity: float
    """Share of common content, 0..1."""
    reason: str | None
    """The reason of its verdict, such as ``own_text``."""
    own_words: int | None
    """Words of its longest text unit that the original lacks; None where that is not known."""


HistoryEvent: TypeAlias = RunStarted | ContentLeft | SiteChangeCounts | SiteRedesigned | PageCompared
_EVENT_TYPES: dict[str, type[HistoryEvent]] = {
    "began": RunStarted,
    "left": ContentLeft,
    "changes": SiteChangeCounts,
    "redesigned": SiteRedesigned,
    "compared": PageCompared,
}


@dataclass(frozen=True, slots=True)
class SeenUrl:
    """A URL led to a page that was delivered, or that repeats a delivered one."""

    url: str
    """The URL that was requested."""
    content: str
    """The name of the content: the key of its original."""
    same_as: str | None = None
    """The URL that it was redirected to, or that the page calls its own: a claim, to be verified."""
    checked: bool = False
    """Whether the URL was fetched once more to see that."""

    def __bytes__(self) -> bytes:
        return to_json_bytes(["seen", self.url, self.content, self.same_as, self.checked])


@dataclass(frozen=True, slots=True)
class SkippedUrl:
    """A URL was skipped: its request was not made."""

    url: str
    known_url: str | None
    """The fetched URL with the content that the skipped one leads to."""
    rule: str
    """The rule that skipped it, such as ``query:sid in viewtopic.php``."""
    worker: str
    """The process that skipped it, and makes the request if the rule falls."""
    request: Mapping[str, Any]
    """All that is needed to make the request: values that :func:`pack_value` takes."""

    def __bytes__(self) -> bytes:
        packed = pack_value(dict(self.request))
        return to_json_bytes(["skipped", self.url, self.known_url, self.rule, self.worker, packed])


UrlEvent: TypeAlias = SeenUrl | SkippedUrl
_URL_EVENT_TYPES: dict[str, type[UrlEvent]] = {"seen": SeenUrl, "skipped": SkippedUrl}


class EventLog:
    """Writes the page events of a run; where the store fails, the event is lost and nothing else.

    Args:
        store: an open store, once the first method is called.
        logs: the logs of the sites in the store.
        context: the run.
        on_store_error: called with each failure of the store.
    """

    def __init__(
        self,
        store: FingerprintStore,
        logs: SiteLogs,
        context: RunContext,
        *,
        on_store_error: Callable[[StoreError], None],
    ) -> None:
        self._store, self._logs = store, logs
        self._run, self._worker, self._now = context.run, context.worker, context.now
        self._on_store_error = on_store_error
        self._compared: Counter[tuple[str, str]] = Counter()
        """Events of compared pages by site and by what became of the page."""

    async def run_started(self, *, alone: bool = False) -> None:
        """Log that the run begins, or is resumed; ``alone`` if it ends with this process."""
        await self._write(RunStarted(self._run, self._now(), self._worker if alone else None), once=True)

    async def page_gone(self, site: str, key: bytes, reason: str) -> None:
        """Log that a URL answers that its page is gone, if the page was known.

        Args:
            site: the page's site.
            key: the page's request fingerprint.
            reason: the status.
        """
        try:
            before = (await self._logs.index(site)).previous_version(key, self._run)
        except StoreError as exc:
            self._on_store_error(exc)
        except FingerprintMismatch:
            return  # the error is reported where a page of this site is judged
        else:
            if before is not None and (before.delivered or before.state == "duplicate"):
                await self.content_left(site, before, reason)

    async def content_left(self, site: str, page: Record, reason: str) -> None:
        """Log that a content is gone from its URL.

        Args:
            site: the page's site.
            page: the page as it was.
            reason: the status with which the URL answers, or ``changed``.
        """
        event = ContentLeft(
            site=site,
            run=self._run,
            at=self._now(),
            reason=reason,
            url=page.url,
            key=page.key,
            fingerprint=page.fingerprint,
            original=page.original,
            last_seen=page.last_seen,
        )
        await self._write(event, site, page.key.hex(), page.fingerprint.hex())

    async def site_changed(self, site: str, counts: Mapping[Change, int], part: int) -> None:
        """Log the changes that this worker has found on a site so far.

        Args:
            site: the site.
            counts: known pages, by what changed on them.
            part: tells this count from other counts of the same worker, which it does not contain.
        """
        await self._write(SiteChangeCounts(site, self._run, self._now(), dict(counts)), site, self._worker, str(part))

    async def site_redesigned(self, site: str, pages: int, share: float) -> None:
        """Log that a site has a new template; of several workers the first counts."""
        await self._write(SiteRedesigned(site, self._run, self._now(), pages, share), site, once=True)

    async def page_compared(self, page: FetchedPage, verdict: Verdict) -> None:
        """Log what a page was compared with, if it is near and kept, or was dropped with words of its own.

        A site has :data:`MAX_COMPARED_PER_SITE` places for each of these, in all runs together; of two pages with the
        same place the newer has it. So neither the store nor the time for it grows with the number of near pages.

        Args:
            page: the page.
            verdict: its verdict, which is not pending.
        """
        is_near = verdict.kind == "near" and not verdict.is_duplicate
        if not (is_near or (verdict.is_duplicate and verdict.own_words)) or verdict.original is None:
            return
        what = "dropped" if not is_near else "own_text" if verdict.reason == "own_text" else "near"
        if len(self._compared) > MAX_COUNTED_SITES:
            self._compared.clear()
        self._compared[page.site, what] += 1
        if self._compared[page.site, what] > MAX_COMPARED_PER_SITE:
            return
        event = PageCompared(
            site=page.site,
            run=self._run,
            at=page.now,
            url=page.url,
            key=page.key,
            dropped=verdict.is_duplicate,
            original=verdict.original,
            similarity=verdict.similarity or 0.0,
            reason=verdict.reason,
            own_words=verdict.own_words,
        )
        place = int.from_bytes(event_key(page.key.hex())[:4], "big") % MAX_COMPARED_PER_SITE
        await self._write(event, page.site, what, str(place), journal=compared_journal())

    async def _write(self, event: HistoryEvent, *about: str, once: bool = False, journal: str | None = None) -> None:
        key = event_key(type(event).__name__, *about)
        try:
            await self._store.put_note(journal or event_journal(self._run), key, encode_event(event), once=once)
        except StoreError as exc:
            self._on_store_error(exc)


def journal_name(run: str, site: str) -> str:
    """The journal of a site's URL events in a run."""
    return f"{run} {site}"


def event_journal(run: str) -> str:
    """The journal of a run's page events: one for all sites, as there are few such events."""
    return journal_name(run, EVENTS)


def compared_journal() -> str:
    """The journal of compared pages: one for all sites and runs, so that it stays bounded."""
    return journal_name(COMPARED, EVENTS)


def remembered_journal() -> str:
    """The journal of the rules about URLs that the next crawl begins with: a note per site."""
    return journal_name(REMEMBERED, EVENTS)


def split_journal_name(journal: str) -> tuple[str, str]:
    """The run and the site of a journal."""
    run, _, site = journal.rpartition(" ")
    return run, site


def event_key(*about: str) -> bytes:
    """The key of an event, by what it is about."""
    return blake2b("\0".join(about).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def url_event_key(url: str) -> bytes:
    """The key of a URL's event: each URL has one, so what was fetched is no longer skipped."""
    return event_key(url)


def encode_event(event: HistoryEvent) -> bytes:
    """A page event as bytes."""
    name = next(name for name, type_ in _EVENT_TYPES.items() if isinstance(event, type_))
    return to_json_bytes([name, *astuple(event)])


def decode_event(raw: bytes) -> HistoryEvent:
    """The page event that was encoded; a ValueError if the bytes are none."""
    return from_json_bytes(raw, _EVENT_TYPES)


def decode_url_event(raw: bytes) -> UrlEvent:
    """The URL event that was encoded; a ValueError if the bytes are none."""
    return from_json_bytes(raw, _URL_EVENT_TYPES)


def to_json_bytes(value: Any) -> bytes:
    """An event of plain values as JSON, in which bytes have a form of their own."""
    return json.dumps(value, separators=(",", ":"), default=_bytes).encode()


def from_json_bytes(raw: bytes, types: Mapping[str, type[Event]]) -> Event:
    """The event that was packed as a list: the name of its type, and the values of its fields.

    Raises:
        ValueError: there is no such event.
    """
    try:
        name, *values = json.loads(raw, object_hook=_unpack)
        return types[name](*values)
    except (TypeError, KeyError, UnicodeDecodeError, RecursionError) as exc:
        raise ValueError(f"these bytes are no event; known are {', '.join(types)}") from exc


def pack_value(value: Any) -> Any:
    """A value as JSON can hold it, with marks for what JSON does not know; reading it back gives an equal value.

    A text, number or bytes of a subclass, such as the texts of lxml, is read back as one of the plain type. Members of
    enumerations are not taken, as they are looked at by their names, nor are containers of a subclass.

    Raises:
        TypeError: it is, or holds, what has no such form; the message names the type.
    """
    kind = type(value)
    if kind is list:
        return [pack_value(part) for part in value]
    if kind in _CONTAINERS:
        return {_CONTAINERS[kind]: [pack_value(part) for part in value]}
    return _pack_dict(value) if kind is dict else _pack_scalar(value)


def _pack_dict(values: dict[Any, Any]) -> dict[str, Any]:
    if all(isinstance(name, str) for name in values) and not (len(values) == 1 and _MARKS.issuperset(values)):
        return {_pack_scalar(name): pack_value(part) for name, part in values.items()}
    return {"dict": [[pack_value(name), pack_value(part)] for name, part in values.items()]}


def _pack_scalar(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    for plain, make in _SCALARS.items():
        if isinstance(value, plain) and not isinstance(value, Enum):
            return make(value)
    raise TypeError(f"an event cannot hold {type(value).__name__}")


def _bytes(value: Any) -> dict[str, str]:
    if isinstance(value, bytes):
        return {"b64": b64encode(value).decode()}
    raise TypeError(f"an event cannot hold {type(value).__name__}")


def _unpack(found: dict[str, Any]) -> Any:
    """What an object of JSON stands for: itself, unless it is marked."""
    mark, value = next(iter(found.items()), ("", None))
    if len(found) != 1 or mark not in _MARKS or not isinstance(value, str if mark == "b64" else list):
        return found
    return _UNPACKED[mark](value)


_CONTAINERS: dict[type, str] = {tuple: "tuple", set: "set", frozenset: "frozenset"}
_UNPACKED: dict[str, Callable[[Any], Any]] = {
    "b64": b64decode,
    "dict": dict,
    **{name: kind for kind, name in _CONTAINERS.items()},
}
_MARKS = frozenset(_UNPACKED)
_SCALARS: dict[type, Callable[[Any], Any]] = {str: str.__str__, bytes: _bytes, int: int, float: float}
"""Each with a function that makes a plain value of one of a subclass."""
