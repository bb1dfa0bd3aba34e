"""The method ``minhash``: the resemblance of the contents by 256 values of 16 bits, candidates by bands of them.

The share of equal minima of two sets is their resemblance (Broder 1997); a few bits of each suffice (Li, König 2010).
Sets with the resemblance s agree in all ``rows`` values of at least one of ``bands`` bands with the probability
``1 - (1 - s ** rows) ** bands``, the S-curve.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.fingerprint.features import set_digest
from scrapy_simdedup.fingerprint.hashing import Hashes, fmix64
from scrapy_simdedup.fingerprint.methods.base import ComparableText, Digests, Method
from scrapy_simdedup.fingerprint.similarity import COMMON_FIELDS
from scrapy_simdedup.settings import DedupSettings

PERMUTATIONS = 256
RECALL = 0.99
"""The probability with which bands find a pair whose resemblance is their threshold."""
_CHUNK = 1 << 18  # permuted numbers made at a time: 2 MB
_BITS = 16
_UPPER_HALF = np.uint64(32)


class BandLayout(NamedTuple):
    """How many bands there are, and how many values a band has."""

    bands: int
    rows: int


def minhash(hashes: Hashes, permutations: int = PERMUTATIONS) -> NDArray[np.uint32]:
    """The minimum of a set under each of some permutations of all 64-bit numbers, of which the upper half is kept.

    A permutation is ``x * factor + offset`` modulo 2^64 with an odd factor.

    The set is evenly spread 64-bit numbers; an empty one has the largest value throughout.
    """
    factors, offsets = _permutations(permutations)
    smallest = np.full(permutations, np.iinfo(np.uint64).max, np.uint64)
    step = max(1, _CHUNK // permutations)
    for start in range(0, len(hashes), step):
        permuted = hashes[start : start + step, None] * factors + offsets
        np.minimum(smallest, permuted.min(axis=0), out=smallest)
    made: NDArray[np.uint32] = (smallest >> _UPPER_HALF).astype(np.uint32)
    return made


def b_bit_values(values: NDArray[np.uint32], bits: int) -> NDArray[np.unsignedinteger]:
    """The lowest 8 or 16 bits of each value, which are all that need be kept."""
    return values.astype({8: np.uint8, 16: np.uint16}[bits])  # casting cuts off what lies above


def resemblance(one: NDArray[np.unsignedinteger], many: NDArray[np.unsignedinteger]) -> NDArray[np.float64]:
    """Estimate the resemblance of one set and each of many; 0 to 1, without bias above 0."""
    chance = 0.5 ** (8 * one.itemsize)  # with which values are equal though the minima are not
    made: NDArray[np.float64] = np.maximum(0.0, ((many == one).mean(axis=1) - chance) / (1 - chance))
    return made


def detection_probability(resemblance: float, bands: int, rows: int) -> float:
    """The S-curve: the probability with which bands find a pair of a resemblance.

    >>> round(detection_probability(0.8, bands=32, rows=4), 6)
    1.0
    """
    return 1.0 - (1.0 - resemblance**rows) ** bands


@lru_cache(maxsize=64)
def choose_bands(threshold: float, permutations: int = PERMUTATIONS) -> BandLayout:
    """The bands that let the fewest other pairs through, of those that find a pair on the threshold, a resemblance.

    They find it with the probability :data:`RECALL`. Where no bands reach that, they have one value each.
    """
    fitting = [
        BandLayout(permutations // rows, rows)
        for rows in range(1, permutations + 1)
        if detection_probability(threshold, permutations // rows, rows) >= RECALL
    ]
    return fitting[-1] if fitting else BandLayout(permutations, 1)


def band_keys(values: NDArray[np.unsignedinteger], bands: BandLayout) -> NDArray[np.uint32]:
    """A key for each band, the same for sets that agree in the band; shape (bands,)."""
    table = values[: bands.bands * bands.rows].astype(np.uint64).reshape(bands)
    keys = np.arange(bands.bands, dtype=np.uint64)  # a band is looked for in its own place only
    for column in table.T:
        keys = fmix64(fmix64(keys) + column)
    made: NDArray[np.uint32] = (keys >> _UPPER_HALF).astype(np.uint32)
    return made


@lru_cache(maxsize=8)
def _permutations(count: int) -> tuple[Hashes, Hashes]:
    numbers = fmix64(np.arange(1, 2 * count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    return numbers[:count] | np.uint64(1), numbers[count:]


class MinHash(Method):
    """The MinHash of the content's shingles."""

    row_dtype: np.dtype[np.void] = np.dtype([*COMMON_FIELDS, ("values", f"<u{_BITS // 8}", PERMUTATIONS)])
    has_keys = True

    def digest(self, text: ComparableText, settings: DedupSettings, secret: bytes) -> Digests:  # noqa: ARG002
        """The 256 values."""
        hashes = text.content_hashes
        values = b_bit_values(minhash(hashes), _BITS)
        return Digests(set_digest(hashes), sketch=values.astype(self.row_dtype["values"].base).tobytes())

    def resemblances(self, one: np.void, many: NDArray[np.void]) -> NDArray[np.float64]:
        """The share of equal values."""
        return resemblance(one["values"], many["values"])

    def index_keys(self, one: np.void, resemblance: float) -> NDArray[np.uint32]:
        """A key for each band."""
        return band_keys(one["values"], choose_bands(resemblance))
