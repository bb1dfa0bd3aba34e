"""The indexes of the sites that are being crawled; the one not asked for longest goes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simdedup.detect.site import ALL
from scrapy_simdedup.detect.site_index import SiteIndex
from scrapy_simdedup.fingerprint.evidence import resemblance_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simdedup.settings import DedupSettings
    from scrapy_simdedup.store.shelf import Shelf

MAX_BYTES = 128_000_000
"""Of all indexes together, with the records that were read. A site that was forgotten is read from the store again."""


class SiteIndexes:
    """One index per site.

    Args:
        settings: ``method``, ``near`` and ``bits`` matter.
        run: the only run whose pages are searched; None searches those of all.
        lend: gives the records of a site, if the store has them in this process.
    """

    def __init__(self, settings: DedupSettings, run: str | None, lend: Callable[[str], Shelf] | None) -> None:
        self._settings, self._run, self._lend = settings, run, lend
        self._resemblance = resemblance_at(settings.lowest_near)
        self._indexes: dict[str, tuple[SiteIndex, int]] = {}
        """By site, the one asked for last at the end, with the bytes it was counted for."""
        self._bytes = 0

    def known(self, site: str) -> SiteIndex | None:
        """The site's index, if there is one."""
        index, _ = self._indexes.get(site, (None, 0))
        return index

    def of(self, site: str) -> SiteIndex:
        """The site's index; an empty one if there was none."""
        if site not in self._indexes:
            shelf = self._lend(site) if self._lend else None
            made = SiteIndex(
                self._settings.bits,
                self._run,
                shelf,
                of_all=site.endswith(ALL),
                method=self._settings.method,
                resemblance=self._resemblance,
            )
            self._indexes[site] = made, 0
        index, counted = self._indexes.pop(site)
        size = index.size
        self._indexes[site] = index, size
        self._bytes += size - counted
        while self._bytes > MAX_BYTES and len(self._indexes) > 1:
            _, counted = self._indexes.pop(next(iter(self._indexes)))
            self._bytes -= counted
        return index
