"""The indexes of the sites that are being crawled; the one not asked for longest goes first."""

from __future__ import annotations

from scrapy_simdedup.detect.site import ALL
from scrapy_simdedup.detect.site_index import SiteIndex

MAX_PAGES = 250_000
"""Pages of all indexes together, at about 1 KB each. A site that was forgotten is read from the store again."""
EMPTY_SITE = 4
"""What an index counts for before it has pages, so that many small sites are bounded too."""


class SiteIndexes:
    """One index per site.

    Args:
        bits: width of the simhashes.
        run: the only run whose pages are searched; None searches those of all.
        bounded: whether sites may be forgotten; where the store is in memory that would free little.
    """

    def __init__(self, bits: int, run: str | None, *, bounded: bool) -> None:
        self._bits, self._run, self._bounded = bits, run, bounded
        self._indexes: dict[str, tuple[SiteIndex, int]] = {}
        """By site, the one asked for last at the end, with the pages it was counted for."""
        self._pages = 0

    def known(self, site: str) -> SiteIndex | None:
        """The site's index, if there is one."""
        index, _ = self._indexes.get(site, (None, 0))
        return index

    def of(self, site: str) -> SiteIndex:
        """The site's index; an empty one if there was none."""
        if site not in self._indexes:
            self._indexes[site] = SiteIndex(self._bits, self._run, of_all=site == ALL), 0
        index, counted = self._indexes.pop(site)
        size = EMPTY_SITE + len(index)
        self._indexes[site] = index, size
        self._pages += size - counted
        while self._bounded and self._pages > MAX_PAGES and len(self._indexes) > 1:
            _, counted = self._indexes.pop(next(iter(self._indexes)))
            self._pages -= counted
        return index
