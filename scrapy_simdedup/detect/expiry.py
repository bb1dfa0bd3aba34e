"""Which pages of a site have had their time: those that were not seen for long, and the oldest of too many."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scrapy_simdedup.store.base import Record

SLACK = 0.05
"""How far a site may grow beyond its cap before it is cut back, so that this happens once in many pages."""


class Ages:
    """When the pages of a site were seen last; what is still on its way has no age, and stays."""

    def __init__(self) -> None:
        self._ids, self._seen = array("Q"), array("d")

    def add(self, record: Record) -> None:
        """Look at a record."""
        if record.settled:
            self._ids.append(record.id)
            self._seen.append(record.last_seen)

    def outdated(self, now: float, ttl: float | None, cap: int | None) -> list[int]:
        """The ids of the records that are to be forgotten, those seen longest ago first.

        Args:
            now: the time, in seconds since the epoch.
            ttl: seconds after which a page that was not seen again expires; None for never.
            cap: records that a site may have; None for any number. Beyond, those seen longest ago go first.
        """
        ids, seen = np.array(self._ids), np.array(self._seen)
        expired = np.count_nonzero(seen < now - ttl) if ttl is not None else 0
        too_many = len(seen) - cap if cap is not None else 0
        found: list[int] = ids[np.lexsort((ids, seen))[: max(expired, too_many)]].tolist()
        return found
