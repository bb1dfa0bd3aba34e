"""Figures by site: what became of the pages of each site in a crawl, in bounded memory."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrapy_simdedup.display import plural
from scrapy_simdedup.unjudged import UNJUDGED

if TYPE_CHECKING:
    from scrapy_simdedup.detect.verdict import VerdictKind
    from scrapy_simdedup.unjudged import UnjudgedReason

MAX_SITES = 10_000
"""Sites that are counted at a time; beyond, the half with the fewest pages is forgotten."""
MAX_SHOWN = 20
"""Sites whose figures are given at the end, those with the most pages."""
MIN_UNJUDGED, MIN_UNJUDGED_SHARE = 10, 0.5
"""How many pages of a site must be unjudged for one reason, and the share of its pages that these must exceed, before
the summary warns."""
MAX_WARNINGS = 5
"""Sites that the summary warns of by their names."""


@dataclass(slots=True)
class SiteFigures:
    """The pages of one site."""

    judged: int = 0
    near: int = 0
    stub: int = 0
    dropped: int = 0
    bytes_dropped: int = 0
    released: int = 0
    unjudged: Counter[UnjudgedReason] = field(default_factory=Counter)
    """Pages without a verdict, by the reason."""

    @property
    def pages(self) -> int:
        """Pages with and without a verdict."""
        return self.judged + self.unjudged.total()

    def as_dict(self) -> dict[str, int]:
        """The figures as plain values."""
        names = ("pages", "judged", "near", "stub", "dropped", "bytes_dropped", "released")
        return {name: getattr(self, name) for name in names} | {"unjudged": self.unjudged.total()}


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

    def page_unjudged(self, site: str, reason: UnjudgedReason) -> None:
        """A page was kept without a verdict."""
        if site:
            self._figures(site).unjudged[reason] += 1

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
        return {site: figures.as_dict() for site, figures in sites}

    def warnings(self) -> list[str]:
        """A sentence on each site of whose pages most are unjudged for one reason, those with the most pages first."""
        found: list[tuple[int, str]] = []
        for site, figures in self._sites.items():
            for reason, count in figures.unjudged.items():
                if count >= MIN_UNJUDGED and count > MIN_UNJUDGED_SHARE * figures.pages:
                    found.append((count, _warning(site, reason, count, figures.pages)))
        found.sort(key=lambda warning: -warning[0])
        more = len(found) - MAX_WARNINGS
        rest = [f"so are most pages of {plural(more, 'more site')}"] if more > 0 else []
        return [sentence for _, sentence in found[:MAX_WARNINGS]] + rest

    def _figures(self, site: str) -> SiteFigures:
        if len(self._sites) >= MAX_SITES and site not in self._sites:
            most = heapq.nlargest(MAX_SITES // 2, self._sites.items(), key=lambda item: item[1].pages)
            self._sites = dict(most)
        return self._sites.setdefault(site, SiteFigures())


def _warning(site: str, reason: UnjudgedReason, count: int, pages: int) -> str:
    implied = UNJUDGED[reason]
    remedy = f"; {implied.remedy}" if implied.remedy else ""
    return f"{count:,} of {plural(pages, 'page')} of {site} are unjudged ({reason}): each {implied.meaning}{remedy}"
