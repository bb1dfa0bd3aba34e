"""Which domain came first. Where all sites are compared with each other, none displaces pages of an older one.

Else whoever copies a page and has the copy crawled before the page would have it dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simdedup.detect.site import site_of

if TYPE_CHECKING:
    from scrapy_simdedup.store.base import Record

_NEVER = (float("inf"), 0)


class Seniority:
    """When each registrable domain was first seen in a store."""

    def __init__(self) -> None:
        self._since: dict[str, tuple[float, int]] = {}

    def see(self, record: Record) -> None:
        """A page of the store, whatever became of it. Of two domains first seen in one instant, its id decides."""
        domain = site_of(record.url)
        self._since[domain] = min(self._since.get(domain, _NEVER), (record.first_seen, record.id))

    def may_displace(self, original: str, page: str) -> bool:
        """Whether the page of one URL may displace that of another: it is of the same domain, or of an older one.

        Args:
            original: URL of a page that was seen.
            page: URL of the page that repeats it.
        """
        theirs, ours = site_of(original), site_of(page)
        return theirs == ours or self._since.get(theirs, _NEVER) < self._since.get(ours, _NEVER)
