"""Figures by site: what became of the pages of each site in a crawl, in bounded memory."""

from __future__ import annotations

import heapq
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_simdedup.detect.verdict import VerdictKind

MAX_SITES = 10_000
"""Sites that are counted at a time; beyond, the half with the fewest pages is forgotten."""
MAX_SHOWN = 20
"""Sites whose figures are given at the end, those with the most pages."""


@dataclass(slots=True)
class SiteFigures:
    """The pages of one site."""

    judged: int = 0
    near: int = 0
    stub: int = 0
    dropped: int = 0
    bytes_dropped: int = 0
    unjudged: int = 0
    released: int = 0

    @property
    def pages(self) -> int:
        """Pages with and without a verdict."""
        return self.judged + self.unjudged


class FiguresBySite:
    """Counts the pages of each site. Every method ignores a site that is empty, which is one that nobody named."""

    def __init__(self) -> None:
        self._sites: dict[str, SiteFigures] = {}

    def page_judged(self, site: str, kind: VerdictKind) -> None:
        """A page got a verdict other than ``unjudged``."""
        if site:
            figures = self._figures(site)
            figures.judged += 1
            figures.near += kind == "near"
            figures.stub += kind == "stub"

    def page_unjudged(self, site: str) -> None:
        """A page was kept without a verdict."""
        if site:
            self._figures(site).unjudged += 1

    def page_dropped(self, site: str, size: int) -> None:
        """A page of ``size`` bytes was dropped; it was judged before."""
        if site in self._sites:
            self._sites[site].dropped += 1
            self._sites[site].bytes_dropped += size

    def page_released(self, site: str) -> None:
        """A page was not delivered; it was judged before. Items have sites of their own, which are not known here."""
        if site in self._sites:
            self._sites[site].released += 1

    def largest(self) -> dict[str, dict[str, int]]:
        """The figures of the sites with the most pages, these first, as plain values."""
        sites = heapq.nlargest(MAX_SHOWN, self._sites.items(), key=lambda item: item[1].pages)
        return {site: {"pages": figures.pages, **asdict(figures)} for site, figures in sites}

    def _figures(self, site: str) -> SiteFigures:
        if len(self._sites) >= MAX_SITES and site not in self._sites:
            most = heapq.nlargest(MAX_SITES // 2, self._sites.items(), key=lambda item: item[1].pages)
            self._sites = dict(most)
        return self._sites.setdefault(site, SiteFigures())
