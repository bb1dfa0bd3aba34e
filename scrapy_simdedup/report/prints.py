"""The fingerprints of records: read where they can be, and what two of them tell of a difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simdedup.errors import FingerprintMismatch
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint

if TYPE_CHECKING:
    from scrapy_simdedup.detect.history_notes import Left
    from scrapy_simdedup.store.base import Record


def print_of(record: Record | Left | None) -> PageFingerprint | None:
    """The record's fingerprint, or None if there is none that this version can read."""
    try:
        return None if record is None else PageFingerprint.from_bytes(record.fingerprint)
    except FingerprintMismatch:
        return None


def differs(one: PageFingerprint | None, other: PageFingerprint | None) -> tuple[str, ...]:
    """What is not the same on two pages, as far as their fingerprints tell."""
    if one is None or other is None:
        return ()
    if one.body == other.body:
        return ("nothing",)
    if one.exact == other.exact and not one.unjudged:
        return ("markup",)
    more = other.content - one.content
    facts = {
        "title": one.title != other.title,
        "h1": one.h1 != other.h1,
        f"{abs(more)} shingles {'more' if more > 0 else 'fewer'}": more != 0,
        "frame": one.total - one.content != other.total - other.content,
    }
    return tuple(name for name, does in facts.items() if does) or ("some words",)
