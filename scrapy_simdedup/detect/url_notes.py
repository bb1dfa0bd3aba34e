"""What a crawl notes about URLs in its store: what they led to, and which were skipped."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias

from scrapy_simdedup.detect.packing import packed, unpacked

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class SeenUrl:
    """A URL led to a page that was delivered, or repeats one."""

    url: str
    """What was asked for."""
    content: str
    """Names the content: the key of its original."""
    same_as: str | None = None
    """The URL that it was redirected to, or that the page calls its own: a claim, to be verified."""

    def __bytes__(self) -> bytes:
        return packed(["seen", self.url, self.content, self.same_as])


@dataclass(frozen=True, slots=True)
class SkippedUrl:
    """A request was not made."""

    url: str
    known_url: str | None
    """The fetched URL that it leads to the content of."""
    rule: str
    """Why, such as ``query:sid in viewtopic.php``."""
    worker: str
    """The process that skipped it, and makes the request if the rule falls."""
    request: Mapping[str, Any]
    """All that is needed to make it: texts, numbers, bytes, lists and dictionaries."""

    def __bytes__(self) -> bytes:
        return packed(["skipped", self.url, self.known_url, self.rule, self.worker, self.request])


UrlNote: TypeAlias = SeenUrl | SkippedUrl
_KINDS: dict[str, type[UrlNote]] = {"seen": SeenUrl, "skipped": SkippedUrl}


def read_note(raw: bytes) -> UrlNote:
    """The note of these bytes.

    Raises:
        ValueError: they are none.
    """
    return unpacked(raw, _KINDS)


def key_of_note(url: str) -> bytes:
    """The key of a URL's note: each has one, so what was fetched is no longer skipped."""
    return blake2b(url.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def journal_name(run: str, site: str) -> str:
    """The journal of a site in a run."""
    return f"{run} {site}"


def run_and_site(journal: str) -> tuple[str, str]:
    """Whose journal it is."""
    run, _, site = journal.rpartition(" ")
    return run, site
