"""Events: what one run writes down about pages and URLs in its journals, for later runs and for reports."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias

from scrapy_simdedup.detect.json_values import from_json_bytes, pack_value, to_json_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_simdedup.fingerprint.structure import Change

EVENTS = "history:"
"""What stands in the place of a site in the names of the journals of page events; no site is called that."""
COMPARED = "compared:"
"""What stands in the place of a run in the name of the journal of compared pages, which all runs share."""
REMEMBERED = "remembered:"
"""What stands in the place of a run in the name of the journal of remembered rules about URLs."""


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
