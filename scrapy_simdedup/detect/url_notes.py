"""What a crawl notes about URLs in its store: what they led to, and which were skipped."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias

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
    try:
        kind, *values = json.loads(raw, object_hook=unpacked)
        return _KINDS[kind](*values)
    except (TypeError, KeyError, UnicodeDecodeError) as exc:
        raise ValueError("these bytes are no note about a URL") from exc


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


def survives(request: Mapping[str, Any]) -> bool:
    """Whether a request that was noted can be read back as it was, types included."""
    try:
        return _exactly(json.loads(packed(request), object_hook=unpacked), request)
    except (TypeError, ValueError, RecursionError):
        return False


def packed(value: Any) -> bytes:
    """A note of plain values and bytes."""
    return json.dumps(value, separators=(",", ":"), default=_bytes).encode()


def _bytes(value: Any) -> dict[str, str]:
    if isinstance(value, bytes):
        return {"b64": b64encode(value).decode()}
    raise TypeError(f"a note cannot hold {type(value).__name__}")


def unpacked(found: dict[str, Any]) -> Any:
    """What :func:`packed` made of bytes, as bytes again; an ``object_hook`` for JSON."""
    return b64decode(found["b64"]) if found.keys() == {"b64"} and isinstance(found["b64"], str) else found


def _exactly(one: Any, other: Any) -> bool:
    """Whether two values are equal, and of the same types all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(_exactly(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_exactly, one, other))
    return bool(one == other)
