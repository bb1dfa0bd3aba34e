"""Sizes, times and numbers in words, for logs, terminals and reports."""

from __future__ import annotations

from datetime import datetime, timezone


def size(count: int) -> str:
    """Bytes for people: ``size(1536)`` is ``'1.5 kB'``."""
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TB"


def at(seconds: float) -> str:
    """A time for people, in UTC.

    >>> at(0)
    '1970-01-01 00:00:00 UTC'
    """
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def plural(count: int, thing: str) -> str:
    """So many of a thing.

    >>> plural(1, "page"), plural(1200, "page")
    ('1 page', '1,200 pages')
    """
    return f"{count:,} {thing}{'s' * (count != 1)}"
