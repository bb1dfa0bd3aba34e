"""What a crawl notes about the past of pages: contents that left their URLs, what changed on a site, new designs."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeAlias

from scrapy_simdedup.detect.packing import packed, unpacked
from scrapy_simdedup.detect.url_notes import journal_name

if TYPE_CHECKING:
    from scrapy_simdedup.fingerprint.structure import Change

HISTORY = "history:"
"""What stands in the place of a site in the names of these journals; no site is called that."""


@dataclass(frozen=True, slots=True)
class Began:
    """A run began."""

    run: str
    at: float
    """When, in seconds since the epoch; where it was taken up again, the first time."""
    worker: str | None = None
    """The process with which the run ends; None where others may work on it or take it up."""


@dataclass(frozen=True, slots=True)
class Left:
    """A content is at its URL no more."""

    site: str
    run: str
    """The run that found it gone."""
    at: float
    """When, in seconds since the epoch."""
    why: str
    """The status with which the URL answered, or ``changed``: it shows another content."""
    url: str
    key: bytes
    """Who the page is."""
    fingerprint: bytes
    """What was there."""
    original: bytes | None
    """The key of the page that it repeated."""
    last_seen: float
    """When the content was last met at the URL."""


@dataclass(frozen=True, slots=True)
class SiteChanges:
    """What a worker found new on the known pages of a site."""

    site: str
    run: str
    at: float
    """When this was written; seconds since the epoch."""
    counts: dict[Change, int]
    """Pages, by what is new about them."""


@dataclass(frozen=True, slots=True)
class Redesigned:
    """A site was found to have a new template."""

    site: str
    run: str
    at: float
    """When, in seconds since the epoch."""
    pages: int
    """Known pages that had been fetched again by then."""
    share: float
    """Those of them that had another template than before, 0..1."""


HistoryNote: TypeAlias = Began | Left | SiteChanges | Redesigned
_KINDS: dict[str, type[HistoryNote]] = {
    "began": Began,
    "left": Left,
    "changes": SiteChanges,
    "redesigned": Redesigned,
}


def write_history(note: HistoryNote) -> bytes:
    """The note as bytes."""
    kind = next(name for name, type_ in _KINDS.items() if isinstance(note, type_))
    return packed([kind, *astuple(note)])


def read_history(raw: bytes) -> HistoryNote:
    """The note of these bytes.

    Raises:
        ValueError: they are none.
    """
    return unpacked(raw, _KINDS)


def key_of_history(*parts: str) -> bytes:
    """The key of a note, by what it is about."""
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def history_journal(run: str) -> str:
    """The journal of a run: one for all sites, as there are few such notes."""
    return journal_name(run, HISTORY)
