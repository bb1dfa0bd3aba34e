"""What a report points out: warnings, stubs, and the pages that are to be judged by eye."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simdedup.report.data import Audited, Stub
from scrapy_simdedup.report.prints import differs, print_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy_simdedup.report.clusters import Cluster
    from scrapy_simdedup.report.data import SiteRow
    from scrapy_simdedup.report.readings import Totals
    from scrapy_simdedup.settings import DedupSettings
    from scrapy_simdedup.store.base import Record

REPEATS, SHARE, SHINGLES = 20, 0.05, 150
"""A content under this many URLs or more, which are this share of its site's or more, and of fewer shingles, is
suspected to be a stub."""
MANY = 0.1
"""Share of the pages from which something that should be rare is worth a warning."""


def warnings_of(totals: Totals, settings: DedupSettings) -> Iterator[str]:
    """What should be looked at, in sentences."""
    pages = totals.kinds.total()
    if settings.mode == "observe":
        yield "SIMDEDUP_MODE is observe: nothing was dropped, all of this was only counted."
    if pages and totals.kinds["unjudged"] > MANY * pages:
        yield f"{totals.kinds['unjudged'] / pages:.0%} of the pages could not be judged and were kept; see why below."
    if pages and totals.states["released"] > MANY * pages:
        yield (
            f"The delivery of {totals.states['released']:,} pages failed: their callbacks or pipelines raised, "
            "or their items were dropped."
        )
    if totals.states["reserved"]:
        yield (
            f"The delivery of {totals.states['reserved']:,} pages has not ended: a crawl is still at work, "
            "or was stopped before it did."
        )


def stubs_of(
    sure: Sequence[tuple[str, Record]], clusters: Sequence[Cluster], sites: Sequence[SiteRow]
) -> Iterator[Stub]:
    """The contents that are stubs, and those that look like it.

    Args:
        sure: records that a crawl found to be stubs, with their sites.
        clusters: the pages with the most repeats.
        sites: the sites with the most pages.
    """
    pages = {row.site: row.pages for row in sites}
    for site, record in sure:
        fp = print_of(record)
        # Repeats of a stub are not stored, so that a wall does not fill the store.
        yield Stub(site, record.url, 1, 1 / pages.get(site, 1), fp.total if fp else 0, sure=True)
    for cluster in clusters:
        share = cluster.repeats / pages[cluster.site] if cluster.site in pages else 0.0
        if cluster.representative and cluster.repeats >= REPEATS and share >= SHARE and cluster.shingles < SHINGLES:
            yield Stub(cluster.site, cluster.representative, cluster.size, share, cluster.shingles, sure=False)


class Originals:
    """Finds what a sample of dropped pages repeats.

    Args:
        sample: dropped pages, with their sites.
    """

    def __init__(self, sample: Sequence[tuple[str, Record]]) -> None:
        self._sample = sample
        self._wanted = {(site, record.original) for site, record in sample}
        self._found: dict[tuple[str, bytes], Record] = {}

    def add(self, site: str, record: Record) -> None:
        """Look at a record."""
        if (site, record.key) in self._wanted and record.state != "released":
            self._found[site, record.key] = record

    @property
    def audited(self) -> tuple[Audited, ...]:
        """The sample, as far as a store can show it."""
        made = []
        for site, record in self._sample:
            original = self._found.get((site, record.original or b""))
            one, other = print_of(original), print_of(record)
            made.append(
                Audited(
                    original=None if original is None else original.url,
                    dropped=record.url,
                    similarity=record.similarity or 0.0,
                    distance=(one.simhash ^ other.simhash).bit_count() if one and other else None,
                    facts=differs(one, other),
                    lines=None,
                )
            )
        return tuple(made)
