"""Which pages of a site have had their time: those that were not seen for long, and the oldest of too many."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_simdedup.store.base import Record

SLACK = 0.05
"""How far a site may grow beyond its cap before it is cut back, so that this happens once in many pages."""


def outdated(records: Iterable[Record], now: float, ttl: float | None, cap: int | None) -> list[int]:
    """The ids of the settled records that are to be forgotten; what is still on its way stays.

    Args:
        records: all of a site.
        now: the time, in seconds since the epoch.
        ttl: seconds after which a page that was not seen again expires; None for never.
        cap: records that a site may have; None for any number. Beyond, those seen longest ago go first.
    """
    if ttl is None and cap is None:
        return []
    settled = sorted((record.last_seen, record.id) for record in records if record.settled)
    expired = sum(last_seen < now - ttl for last_seen, _ in settled) if ttl is not None else 0
    too_many = len(settled) - cap if cap is not None else 0
    return [id_ for _, id_ in settled[: max(expired, too_many)]]
