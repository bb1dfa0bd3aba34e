"""Banded search: every number within a Hamming radius, without looking at all of them.

A number is cut into bands. Two that differ in ``radius`` bits have a band in which they differ in no more than
``radius // bands`` (the pigeonhole principle); so up to ``bands - 1`` bits one band is equal, and one look-up per band
finds everything (Manku, Jain, Das Sarma 2007). Beyond, each band is looked up with every few of its bits flipped, one
fewer in most bands (Norouzi, Punjani, Fleet 2012). What is found is checked.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.detect.key_index import KeyIndex
from scrapy_simdedup.detect.scan import words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simdedup.detect.scan import Rows


class Bands:
    """Numbers, found by their bands; 8 bytes per band and number, and the number itself.

    Args:
        bits: width of the numbers, 64 or 128.
        bands: with 4, one look-up per band finds everything within 3 bits; with 9, within 8. A million numbers want
            bands of 16 bits or more, for narrow ones let too many through.
    """

    def __init__(self, bits: int = 64, bands: int = 4) -> None:
        if not bits / 32 <= bands <= bits:
            raise ValueError(f"{bits} bits cannot be cut into {bands} bands of 1 to 32 bits")
        edges = [bits * band // bands for band in range(bands + 1)]
        self._spans = list(pairwise(edges))
        self._indexes = [KeyIndex() for _ in self._spans]
        self._numbers = np.zeros((bits // 64, 0), np.uint64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def size(self) -> int:
        """Bytes of the arrays."""
        return self._numbers.nbytes + sum(index.size for index in self._indexes)

    def add(self, numbers: NDArray[np.uint64]) -> None:
        """Take numbers in, which become the next rows; as 64-bit words, the lowest first, shape (words, n)."""
        end = self._count + numbers.shape[1]
        if end > self._numbers.shape[1]:
            more = np.zeros((len(numbers), max(end, self._count * 9 // 8) - self._count), np.uint64)
            self._numbers = np.concatenate((self._numbers[:, : self._count], more), axis=1)
        self._numbers[:, self._count : end] = numbers
        rows = np.arange(self._count, end)
        self._count = end
        for index, (low, high) in zip(self._indexes, self._spans, strict=True):
            index.add(rows, _cut(numbers, low, high))

    def within(self, number: int, radius: int) -> Rows:
        """The rows of all numbers that differ in at most ``radius`` bits, ascending."""
        wanted = words(number, len(self._numbers))[:, None]
        rows = self._candidates(wanted, radius)
        unlike = np.bitwise_count(self._numbers[:, rows] ^ wanted).sum(axis=0)
        within: Rows = rows[unlike <= radius]
        return within

    def _candidates(self, wanted: NDArray[np.uint64], radius: int) -> Rows:
        fewest, rest = divmod(radius, len(self._spans))
        # Were the first bands off by more than the fewest bits, and the others by no less, it would be too many in all.
        flips = [fewest - (band > rest) for band in range(len(self._spans))]
        look_ups = sum(
            comb(high - low, n) for (low, high), most in zip(self._spans, flips, strict=True) for n in range(most + 1)
        )
        if look_ups > len(self):
            return np.arange(len(self))
        found = [np.zeros(0, np.intp)]
        for index, (low, high), most in zip(self._indexes, self._spans, flips, strict=True):
            if most >= 0:
                found.append(index.rows(_flipped(_cut(wanted, low, high), high - low, most)))
        return np.unique(np.concatenate(found))


def _cut(numbers: NDArray[np.uint64], low: int, high: int) -> NDArray[np.uint32]:
    """The bits from ``low`` up to ``high`` of numbers given as words."""
    word, shift = divmod(low, 64)
    cut = numbers[word] >> np.uint64(shift)
    if high > 64 * (word + 1):
        cut = cut | numbers[word + 1] << np.uint64(64 - shift)
    made: NDArray[np.uint32] = (cut & np.uint64((1 << high - low) - 1)).astype(np.uint32)
    return made


def _flipped(values: NDArray[np.uint32], width: int, flips: int) -> NDArray[np.uint32]:
    """A value with every set of up to ``flips`` of its bits turned."""
    masks = [
        sum(1 << bit for bit in chosen)
        for count in range(min(flips, width) + 1)
        for chosen in combinations(range(width), count)
    ]
    return values ^ np.array(masks, np.uint32)
