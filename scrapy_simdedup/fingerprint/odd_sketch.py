"""Odd sketches: the size of the difference of two sets from a few bytes of each (Mitzenmacher, Pagh, Pham 2014)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.fingerprint.hashing import mix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simdedup.fingerprint.word_hashes import Hashes

CAUTION = 0.5
"""Standard deviations that are taken off an estimate: a difference must be seen before it speaks against a page."""


def odd_sketch(elements: Hashes, bits: int) -> bytes:
    """Of each of ``bits`` places, whether an odd number of elements falls there; ``bits // 8`` bytes.

    The XOR of the sketches of two sets is the sketch of their symmetric difference.

    Args:
        elements: The set, without repeats, shape (n,).
        bits: A multiple of 64.
    """
    places = (mix(elements) >> np.uint64(40)) % np.uint64(bits)
    odd = np.bincount(places.astype(np.intp), minlength=bits) & 1
    return np.packbits(odd.astype(np.uint8), bitorder="little").tobytes()


def unlike_bits(one: NDArray[np.uint64], many: NDArray[np.uint64]) -> NDArray[np.int64]:
    """In how many bits one sketch and each of many differ, shape (n,); words in the last axis."""
    counted: NDArray[np.int64] = np.bitwise_count(one ^ many).sum(axis=-1, dtype=np.int64)
    return counted


def lacking(
    one: NDArray[np.uint64], many: NDArray[np.uint64], size: NDArray[np.integer], sizes: NDArray[np.integer]
) -> NDArray[np.float64]:
    """How many elements one set has and the other lacks, in the direction in which these are fewer.

    What one set merely adds is in no way lacking; what was exchanged is.

    Args:
        one: A sketch as words, shape (words,).
        many: Others, shape (n, words).
        size: How many elements the set has.
        sizes: How many each of the others has, shape (n,).

    Returns:
        Estimates, on the low side; shape (n,).
    """
    estimates = _estimates(64 * many.shape[-1])
    ones = np.minimum(unlike_bits(one, many), len(estimates) - 1)
    made: NDArray[np.float64] = np.maximum(0.0, estimates[ones] - np.abs(sizes.astype(np.int64) - int(size))) / 2
    return made


def _estimates(bits: int) -> NDArray[np.float64]:
    """The size of a difference, by the number of ones of its sketch; from half the bits on, nothing more is known."""
    found = _ESTIMATES.get(bits)
    if found is None:
        ones = np.arange(bits // 2)
        found = -bits / 2 * np.log1p(-2 * ones / bits) * (1 - CAUTION * np.sqrt(2 / bits))
        _ESTIMATES[bits] = found
    return found


_ESTIMATES: dict[int, NDArray[np.float64]] = {}
