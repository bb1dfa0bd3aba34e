"""A page that came, with all that is known of it before it is compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint


@dataclass(frozen=True, slots=True)
class Visit:
    """A page that was fetched."""

    site: str
    key: bytes
    url: str
    fingerprint: PageFingerprint
    run: str
    worker: str
    now: float
    """Seconds since the epoch."""
    keep_pending: bool = False
    """Keep the page where its original is still in work, instead of waiting for that."""
    known_since: float | None = None
    """When another tool delivered the page, which remembered no content; None if none did."""
    claimed: str | None = None
    """The URL that the page calls its own."""
