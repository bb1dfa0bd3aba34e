"""Events: what one run writes down about pages and URLs in its journals, for later runs and for reports.

They are JSON, with marks for what JSON does not know: bytes, tuples, sets.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from hashlib import blake2b
from typing import Any, TypeAlias, TypeVar, cast

from scrapy_simdedup.fingerprint.unit_changes import Change
from scrapy_simdedup.store.base import FingerprintStore, whole_journal

AnyEvent = TypeVar("AnyEvent")
EVENTS = "history:"
"""What stands in the place of a site in the names of the journals of page events; no site is called that."""
COMPARED = "compared:"
"""What stands in the place of a run in the name of the journal of compared pages, which all runs share."""
DROPPED = "dropped:"
"""What stands in the place of a site in the names of the journals of dropped pages that may be fetched once more."""
REMEMBERED = "remembered:"
"""What stands in the place of a run in the name of the journal of remembered rules about URLs."""


class Event:
    """The base of all events. Their bytes are JSON: the name of the type, and the values of the fields."""

    __slots__ = ()

    def __bytes__(self) -> bytes:
        name = next(name for types in _TYPES for name, type_ in types.items() if type(self) is type_)
        values = (getattr(self, field.name) for field in fields(cast("Any", self)))
        return json.dumps([name, *map(pack_value, values)], separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    """A run began."""

    run: str
    at: float
    """When, in seconds since the epoch; of a run that was resumed, the first time."""
    worker: str | None = None
    """The process with which the run ends; None where others may work on it or resume it."""


@dataclass(frozen=True, slots=True)
class SiteEvent(Event):
    """What a run found on a site."""

    site: str
    run: str
    at: float
    """When it was written, or the page was fetched; in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class ContentLeft(SiteEvent):
    """A content is gone from its URL."""

    reason: str
    """The status of the response, or ``changed`` where the URL has another content."""
    url: str
    key: bytes
    """The page's request fingerprint."""
    fingerprint: bytes
    original: bytes | None
    """The key of its original."""
    last_seen: float
    """When the content was last fetched from the URL."""


@dataclass(frozen=True, slots=True)
class SiteChangeCounts(SiteEvent):
    """The changes that a worker found on the known pages of a site."""

    counts: dict[Change, int]
    """Pages, by what changed on them."""


@dataclass(frozen=True, slots=True)
class SiteRedesigned(SiteEvent):
    """A site was found to have a new template."""

    pages: int
    """Known pages that had been fetched again by then."""
    share: float
    """The share of them that had another template than before, 0..1."""


@dataclass(frozen=True, slots=True)
class PageCompared(SiteEvent):
    """A page was kept though it is near another, or was dropped with words of its own: what no record of it says."""

    url: str
    key: bytes
    """The page's request fingerprint."""
    dropped: bool
    original: str
    """The URL of the page that it was compared with."""
    similarity: float
    reason: str | None
    """The reason of its verdict, such as ``own_text``."""
    own_words: int | None
    """Words of its longest text unit that the original lacks; None where that is not known."""


HistoryEvent: TypeAlias = RunStarted | ContentLeft | SiteChangeCounts | SiteRedesigned | PageCompared
PAGE_EVENTS: dict[str, type[HistoryEvent]] = {
    "began": RunStarted,
    "left": ContentLeft,
    "changes": SiteChangeCounts,
    "redesigned": SiteRedesigned,
    "compared": PageCompared,
}


@dataclass(frozen=True, slots=True)
class SeenUrl(Event):
    """A URL led to a page that was delivered, or that repeats a delivered one."""

    url: str
    content: str
    """The name of the content: the key of its original."""
    same_as: str | None = None
    """The URL that it was redirected to, or that the page calls its own: a claim, to be verified."""
    checked: bool = False
    """Whether the URL was fetched once more to see that."""
    erred: bool = False
    """Whether an earlier fetch of the URL had another content."""
    renamed: bool = False
    """Whether the page did not change, but its content got another name, which is no error of the site."""


@dataclass(frozen=True, slots=True)
class SkippedUrl(Event):
    """A URL was skipped: its request was not made."""

    url: str
    known_url: str | None
    """The fetched URL with the content that the skipped one leads to."""
    rule: str
    """The rule that skipped it, such as ``query:sid in viewtopic.php``."""
    worker: str
    """The process that skipped it, and makes the request if the rule falls."""
    request: dict[str, Any]
    """All that is needed to make the request: values that :func:`pack_value` takes."""


UrlEvent: TypeAlias = SeenUrl | SkippedUrl
URL_EVENTS: dict[str, type[UrlEvent]] = {"seen": SeenUrl, "skipped": SkippedUrl}


@dataclass(frozen=True, slots=True)
class DroppedPage(Event):
    """A page was dropped that says something else than its original: it is fetched once more if that is a stub."""

    site: str
    original: bytes
    """The key of its original."""
    worker: str
    """The process that dropped the page, and will fetch it once more if it lives that long."""
    request: dict[str, Any]
    """All that is needed to make the request: values that :func:`pack_value` takes."""
    is_doubtful: bool
    """Whether it is to be judged again once more is known of the site; see :attr:`Verdict.is_doubtful`."""


@dataclass(frozen=True, slots=True)
class WorkerEnded(Event):
    """A process ended by itself, and saved its counts."""

    worker: str


DROPPED_EVENTS: dict[str, type[DroppedPage | WorkerEnded]] = {"dropped": DroppedPage, "ended": WorkerEnded}
_TYPES: tuple[Mapping[str, type[Event]], ...] = (PAGE_EVENTS, URL_EVENTS, DROPPED_EVENTS)


def journal_name(run: str, site: str) -> str:
    """The journal of a site's URL events in a run."""
    return f"{run} {site}"


def event_journal(run: str) -> str:
    """The journal of a run's page events: one for all sites, as there are few such events."""
    return journal_name(run, EVENTS)


COMPARED_JOURNAL = journal_name(COMPARED, EVENTS)
"""The journal of compared pages: one for all sites and runs, so that it stays bounded."""
REMEMBERED_JOURNAL = journal_name(REMEMBERED, EVENTS)
"""The journal of the rules about URLs that the next crawl begins with: a note per site."""


def split_journal_name(journal: str) -> tuple[str, str]:
    """The run and the site of a journal."""
    run, _, site = journal.rpartition(" ")
    return run, site


def event_key(*about: str) -> bytes:
    """The key of an event, by what it is about; a URL has one event, so what was fetched is no longer skipped."""
    return blake2b("\0".join(about).encode("utf-8", "surrogatepass"), digest_size=16).digest()


async def known_events(
    store: FingerprintStore, journal: str, types: Mapping[str, type[AnyEvent]]
) -> AsyncIterator[AnyEvent]:
    """The events of a journal; notes that cannot be read, as they are of a later version, are left out."""
    async for raw in whole_journal(store, journal):
        try:
            event = decode_event(raw, types)
        except ValueError:
            continue
        yield event


def decode_event(raw: bytes, types: Mapping[str, type[AnyEvent]]) -> AnyEvent:
    """The event of one of some types that was encoded; a ValueError if the bytes are none."""
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
    if type(value) in _PLAIN:
        return value
    for plain, make in _SCALARS.items():
        if isinstance(value, plain) and not isinstance(value, Enum):
            return make(value)
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
_PLAIN = frozenset((type(None), bool, str, int, float))
_SCALARS: dict[type, Callable[[Any], Any]] = {
    str: str.__str__,
    bytes: lambda value: {"b64": b64encode(value).decode()},
    int: int,
    float: float,
}
"""Each with a function that makes a plain value of one of a subclass."""
