"""Sites whose pages are mostly unjudged for one reason, so that the summary can warn of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from scrapy_simdedup.display import plural
from scrapy_simdedup.unjudged import UNJUDGED

if TYPE_CHECKING:
    from scrapy_simdedup.unjudged import UnjudgedReason

MIN_PAGES, MIN_SHARE = 10, 0.5
"""How many pages of a site must be unjudged for one reason, and the share of its pages that they must exceed."""
MAX_SITES = 10_000
"""Sites whose pages are counted at a time; beyond, the one whose page came longest ago is forgotten."""
MAX_SHOWN = 5
"""Sites that the summary names."""


class UnjudgedSites:
    """Counts the pages of each site by the reason why they are unjudged."""

    def __init__(self) -> None:
        self._sites: dict[str, Counter[UnjudgedReason | None]] = {}
        """By site, the one whose page came last at the end; None counts the pages that got a verdict."""

    def count(self, site: str, reason: UnjudgedReason | None) -> None:
        """Count a page of a site; None for one that got a verdict."""
        counts = self._sites.pop(site, None) or Counter()
        counts[reason] += 1
        self._sites[site] = counts
        if len(self._sites) > MAX_SITES:
            del self._sites[next(iter(self._sites))]

    def warnings(self) -> list[str]:
        """A sentence on each site of whose pages most are unjudged for one reason, those with the most pages first."""
        found: list[tuple[int, str]] = []
        for site, counts in self._sites.items():
            total = counts.total()
            for reason, count in counts.items():
                if reason is not None and count >= MIN_PAGES and count > MIN_SHARE * total:
                    found.append((count, _warning(site, reason, count, total)))
        found.sort(key=lambda warning: -warning[0])
        more = [f"so are most pages of {plural(len(found) - MAX_SHOWN, 'more site')}"] if len(found) > MAX_SHOWN else []
        return [sentence for _, sentence in found[:MAX_SHOWN]] + more


def _warning(site: str, reason: UnjudgedReason, count: int, total: int) -> str:
    implied = UNJUDGED[reason]
    remedy = f"; {implied.remedy}" if implied.remedy else ""
    return f"{count:,} of {plural(total, 'page')} of {site} are unjudged ({reason}): each {implied.meaning}{remedy}"
