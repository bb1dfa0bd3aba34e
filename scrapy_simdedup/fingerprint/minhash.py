"""MinHash: the share of equal minima of two sets is their resemblance (Broder 1997).

A few bits of each are enough (Li, König 2010).

Bands find who is worth comparing: sets that resemble each other by s agree in all ``rows`` values of at least one of
``bands`` bands with probability ``1 - (1 - s ** rows) ** bands``, the S-curve.
"""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simdedup.fingerprint.hashing import mix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simdedup.fingerprint.word_hashes import Hashes

PERMUTATIONS = 256
RECALL = 0.99
"""The probability with which bands find a pair that lies on their threshold."""

_CHUNK = 1 << 18
"""Permuted numbers made at a time: 2 MB."""
_UPPER = np.uint64(32)


class Bands(NamedTuple):
    """How many bands there are, and how many values make one."""

    bands: int
    rows: int


def minhash(hashes: Hashes, permutations: int = PERMUTATIONS) -> NDArray[np.uint32]:
    """Under each of some permutations of all 64-bit numbers, the upper half of the smallest one of a set.

    A permutation is ``x * factor + offset`` modulo 2^64 with an odd factor.

    Args:
        hashes: The set: evenly spread 64-bit numbers, shape (n,). An empty one has the largest value throughout.
        permutations: How many; shape of the result.
    """
    factors, offsets = _permutations(permutations)
    smallest = np.full(permutations, np.iinfo(np.uint64).max, np.uint64)
    step = max(1, _CHUNK // permutations)
    for start in range(0, len(hashes), step):
        permuted = hashes[start : start + step, None] * factors + offsets
        np.minimum(smallest, permuted.min(axis=0), out=smallest)
    made: NDArray[np.uint32] = (smallest >> _UPPER).astype(np.uint32)
    return made


def low_bits(values: NDArray[np.uint32], bits: int) -> NDArray[np.unsignedinteger]:
    """The lowest 8 or 16 bits of each value, which are all that need be kept."""
    return values.astype({8: np.uint8, 16: np.uint16}[bits])  # casting cuts off what lies above


def resemblance(one: NDArray[np.unsignedinteger], many: NDArray[np.unsignedinteger]) -> NDArray[np.float64]:
    """Estimate how much of a set and of each of many is common to both; 0 to 1, without bias above 0.

    Args:
        one: Its values, shape (permutations,).
        many: Values of the others, of as many bits, shape (n, permutations).
    """
    chance = _chance(8 * one.itemsize)
    made: NDArray[np.float64] = np.maximum(0.0, ((many == one).mean(axis=1) - chance) / (1 - chance))
    return made


def standard_error(resemblance: float, permutations: int = PERMUTATIONS, bits: int = 32) -> float:
    """That of an estimate: ``sqrt(s (1 - s) / k)``, and a little more for fewer bits.

    >>> round(standard_error(0.8, 128), 4), round(standard_error(0.8, 128, bits=1), 4)
    (0.0354, 0.053)
    """
    chance = _chance(bits)
    agreeing = chance + (1 - chance) * resemblance
    return sqrt(agreeing * (1 - agreeing) / permutations) / (1 - chance)


def found(resemblance: float, bands: int, rows: int) -> float:
    """The S-curve: with which probability bands find a pair.

    >>> round(found(0.8, bands=32, rows=4), 6)
    1.0
    """
    return 1.0 - (1.0 - resemblance**rows) ** bands


@lru_cache(maxsize=64)
def choose_bands(threshold: float, permutations: int = PERMUTATIONS, recall: float = RECALL) -> Bands:
    """The bands that let the fewest other pairs through, of those that find a pair on the threshold.

    Args:
        threshold: A resemblance above 0, up to 1.
        permutations: Values that there are for all bands.
        recall: The probability with which such a pair is to be found. Where not even bands of one value reach it,
            it is these.
    """
    fitting = [
        Bands(permutations // rows, rows)
        for rows in range(1, permutations + 1)
        if found(threshold, permutations // rows, rows) >= recall
    ]
    return fitting[-1] if fitting else Bands(permutations, 1)


def band_keys(values: NDArray[np.unsignedinteger], bands: Bands) -> NDArray[np.uint32]:
    """A number for each band, the same for sets that agree in it; shape (bands,)."""
    table = values[: bands.bands * bands.rows].astype(np.uint64).reshape(bands)
    keys = np.arange(bands.bands, dtype=np.uint64)  # a band is looked for in its own place only
    for column in table.T:
        keys = mix(mix(keys) + column)
    made: NDArray[np.uint32] = (keys >> _UPPER).astype(np.uint32)
    return made


def _chance(bits: int) -> float:
    """The share of the values that are equal though the minima are not."""
    return 0.5**bits


@lru_cache(maxsize=8)
def _permutations(count: int) -> tuple[Hashes, Hashes]:
    numbers = mix(np.arange(1, 2 * count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    return numbers[:count] | np.uint64(1), numbers[count:]
