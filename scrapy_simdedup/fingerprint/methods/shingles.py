"""Sampled shingles: the resemblance of the contents by 240 of their shingles, candidates by an index of 16."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.fingerprint.evidence import COMMON
from scrapy_simdedup.fingerprint.features import set_digest
from scrapy_simdedup.fingerprint.methods.base import Kept, Method, Text, plain
from scrapy_simdedup.fingerprint.sampled import MOST, Sample, overlap, sample, thin

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simdedup.fingerprint.evidence import Evidence
    from scrapy_simdedup.settings import DedupSettings

INDEXED = 16
"""Shingles of a page at most that are looked up: those of a higher level, of which pages that are alike share most."""


class SampledShingles(Method):
    """See :mod:`scrapy_simdedup.fingerprint.sampled`."""

    evidence = np.dtype([*COMMON, ("level", "u1"), ("values", "<u4", MOST)])

    def keep(self, text: Text, settings: DedupSettings, secret: bytes) -> Kept:  # noqa: ARG002
        """A sample of the content's shingles, filled up with 0."""
        hashes = text.own_hashes
        made = sample(hashes)
        values = np.zeros(MOST, "<u4")
        values[: len(made.values)] = made.values
        return Kept(set_digest(hashes), sketch=bytes([made.level]) + values.tobytes())

    def weigh(self, one: np.void, many: NDArray[np.void]) -> Evidence:
        """The share of common shingles."""
        return plain(overlap(_sample(one), many["values"], many["level"]).resemblance, one, many)

    def keys(self, one: np.void, resemblance: float) -> NDArray[np.uint32]:  # noqa: ARG002
        """Those that are indexed."""
        return thin(_sample(one), INDEXED).values


def _sample(row: np.void) -> Sample:
    values = row["values"]
    return Sample(values[values > 0], int(row["level"]))
