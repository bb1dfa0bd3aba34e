"""For a sample of a site's pages, the page of the site that each is most like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.errors import FingerprintMismatch
from scrapy_simdedup.fingerprint.evidence import weigh
from scrapy_simdedup.report.clusters import print_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
    from scrapy_simdedup.report.sample import Reservoir
    from scrapy_simdedup.store.base import Record

POOL = 50_000
"""Pages of a site that a page is compared with at most, chosen at random."""
CANDIDATES = 50
"""Pages whose simhashes are closest, of which the most similar is looked for."""


@dataclass(frozen=True, slots=True)
class ClosePair:
    """A page, and the page of its site that it is most like."""

    site: str
    one: str
    other: str
    similarity: float
    """Share of common content, 0..1."""
    renamed: bool
    """Whether the two have different headlines, as different pages mostly do and copies mostly do not."""


def pairs_of(site: str, pages: Reservoir[Record], sample: int) -> Iterator[ClosePair]:
    """The closest pages of some of a site's pages.

    Args:
        site: its name.
        pages: its pages.
        sample: how many are looked at.
    """
    prints = list(_comparable(pages))
    if len(prints) < 2:
        return
    simhashes = np.array([_words(fp) for _, fp in prints], np.uint64)
    evidence = np.concatenate([fp.evidence for _, fp in prints])
    for at, (record, _) in enumerate(prints[:sample]):
        distance = np.bitwise_count(simhashes ^ simhashes[at]).sum(axis=1, dtype=np.intp)
        distance[at] = simhashes.shape[1] * 64 + 1  # it is not compared with itself
        count = min(CANDIDATES, len(prints) - 1)
        near = np.argpartition(distance, count - 1)[:count]
        found = weigh(evidence[at], evidence[near])
        best = int(np.argmax(found.similarity))
        other, _ = prints[int(near[best])]
        yield ClosePair(site, record.url, other.url, float(found.similarity[best]), bool(found.renamed[best]))


def _comparable(pages: Reservoir[Record]) -> Iterator[tuple[Record, PageFingerprint]]:
    """The pages that can be judged by their text, as far as they were made in the same way as the first."""
    first = None
    for record in pages.values():
        fp = print_of(record)
        if fp is None or fp.unjudged:
            continue
        first = first or fp
        try:
            first.check_comparable(fp)
        except FingerprintMismatch:
            continue
        yield record, fp


def _words(fp: PageFingerprint) -> list[int]:
    return [fp.simhash >> 64 * word & 0xFFFF_FFFF_FFFF_FFFF for word in range(fp.bits // 64)]
