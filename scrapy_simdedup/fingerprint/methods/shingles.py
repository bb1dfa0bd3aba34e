"""The method ``shingles``: the resemblance of the contents by 240 of their shingles, candidates by an index of 16.

A text's sample are the shingles that a modulus divides (Broder, Glassman, Manasse, Zweig 1997). The same shingle is
sampled or left out in every text, so the resemblance of two samples estimates that of the two texts. The modulus is a
power of two, higher for longer texts, so that samples are bounded; two samples are compared at the higher one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.fingerprint.features import set_digest
from scrapy_simdedup.fingerprint.hashing import Hashes
from scrapy_simdedup.fingerprint.methods.base import ComparableText, Digests, Method
from scrapy_simdedup.fingerprint.similarity import COMMON_FIELDS
from scrapy_simdedup.settings import DedupSettings

MAX_SAMPLE = 240
"""Shingles of a sample at most; by and large more than 120 where any shingle was left out."""
MAX_INDEXED = 16
"""Shingles at most by which a page is looked up: a sample of a higher level, of which similar pages share most."""
_LOWER_HALF = np.uint64(0xFFFF_FFFF)


class ShingleSample(NamedTuple):
    """The shingles of a text that 2^level divides."""

    values: NDArray[np.uint32]
    """The lower halves of the shingles, ascending, none of them 0; shape (n,)."""
    level: int
    """0 where no shingle was left out; the resemblance of two such samples is exact."""


def sample_shingles(hashes: Hashes, most: int = MAX_SAMPLE) -> ShingleSample:
    """Sample evenly spread 64-bit hashes of shingles, at the lowest level that leaves at most ``most`` of them."""
    lower = np.unique(hashes & _LOWER_HALF).astype(np.uint32)
    return reduce_sample(ShingleSample(lower[lower > 0], 0), most)


def reduce_sample(sample: ShingleSample, most: int) -> ShingleSample:
    """Raise the level of a sample until at most ``most`` shingles are left."""
    values, level = sample
    while len(values) > most:
        level += 1
        values = values[values & np.uint32((1 << level) - 1) == 0]
    return ShingleSample(values, level)


def resemblance(one: ShingleSample, many: NDArray[np.uint32], levels: NDArray[np.integer]) -> NDArray[np.float64]:
    """Estimate the resemblance of one text and each of many, 0 to 1; 0 for two texts without shingles.

    ``many`` are the values of samples of these levels, each filled up with 0; shape (n, m).
    """
    below = (np.uint32(1) << np.maximum(levels, one.level).astype(np.uint32)) - np.uint32(1)
    mine = (one.values & below[:, None] == 0).sum(axis=1)
    kept = (many > 0) & (many & below[:, None] == 0)
    theirs, shared = kept.sum(axis=1), (kept & np.isin(many, one.values)).sum(axis=1)
    both = mine + theirs - shared
    made = np.zeros(len(many))
    np.divide(shared, both, out=made, where=both > 0)
    return made


class SampledShingles(Method):
    """Samples of the content's shingles."""

    row_dtype: np.dtype[np.void] = np.dtype([*COMMON_FIELDS, ("level", "u1"), ("values", "<u4", MAX_SAMPLE)])
    has_keys = True

    def digest(self, text: ComparableText, settings: DedupSettings, secret: bytes) -> Digests:  # noqa: ARG002
        """The sample, filled up with 0."""
        hashes = text.content_hashes
        made = sample_shingles(hashes)
        values = np.zeros(MAX_SAMPLE, "<u4")
        values[: len(made.values)] = made.values
        return Digests(set_digest(hashes), sketch=bytes([made.level]) + values.tobytes())

    def resemblances(self, one: np.void, many: NDArray[np.void]) -> NDArray[np.float64]:
        """The share of common shingles."""
        return resemblance(_sample_of_row(one), many["values"], many["level"])

    def index_keys(self, one: np.void, resemblance: float) -> NDArray[np.uint32]:  # noqa: ARG002
        """The shingles of a smaller sample."""
        return reduce_sample(_sample_of_row(one), MAX_INDEXED).values


def _sample_of_row(row: np.void) -> ShingleSample:
    values = row["values"]
    return ShingleSample(values[values > 0], int(row["level"]))
