"""Bins: in which part of an archive each site is judged, so that no part takes much longer than its largest site."""

from __future__ import annotations

from heapq import heapify, heapreplace
from typing import TYPE_CHECKING

from scrapy_simdedup.errors import SimdedupError

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_PAGES_OF_SITE = 10_000_000
"""Pages of a site above which one process would take half a day to judge them."""
MAX_PLACED_SITES = 100_000
"""The largest sites, which are put into bins by their sizes; the others by their hashes."""
MAX_NAMED = 5
"""Sites that an error names."""


def check_sizes(sizes: Mapping[str, int], max_pages: int | None) -> None:
    """Check that each site can be judged by one process.

    Args:
        sizes: the pages of sites, the largest among them.
        max_pages: the pages of a site that are remembered; None: all.

    Raises:
        SimdedupError: a site is too large.
    """
    large = sorted(((pages, site) for site, pages in sizes.items() if pages > MAX_PAGES_OF_SITE), reverse=True)
    if large and max_pages is None:
        named = ", ".join(f"{site} ({pages:,})" for pages, site in large[:MAX_NAMED])
        raise SimdedupError(
            f"a site with more than {MAX_PAGES_OF_SITE:,} pages takes one process half a day and more, and there are "
            f"{len(large):,} of them: {named}; set SIMDEDUP_MAX_PAGES_PER_SITE, or judge the hosts of large sites "
            "apart with --by-host-above"
        )


def bins_of(sizes: Mapping[str, int], count: int, rest: int = 0) -> dict[str, int]:
    """The bin of each of the largest sites: one after the other goes where there is least.

    Args:
        sizes: the pages of sites.
        count: how many bins there are.
        rest: the pages of other sites, which are put into bins by their hashes.
    """
    loads = [(rest // count, number) for number in range(count)]
    heapify(loads)
    found = {}
    for site in sorted(sizes, key=lambda site: (-sizes[site], site))[:MAX_PLACED_SITES]:
        load, number = loads[0]
        found[site] = number
        heapreplace(loads, (load + sizes[site], number))
    return found
