"""The sketch, which confirms: an estimate of the weighted resemblance of two pages from half a byte per bin.

One-permutation MinHash (Li, Owen, Zhang 2012) with b-bit values (Li, König 2010), which here remember the kind of their
feature too, so that it weighs by kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simdedup.fingerprint.features import is_content, starts_of_runs
from scrapy_simdedup.page.kinds import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simdedup.fingerprint.features import Kinds
    from scrapy_simdedup.fingerprint.word_hashes import Hashes

BINS = 776
"""Bins of a sketch, two of them in a byte."""

WEIGHTS = {Kind.FRAME: 8, Kind.LOOSE: 30, Kind.FIRM: 100}
"""What a feature weighs, by its kind, in hundredths. A frame feature weighs 0.02, of which one in four is kept."""

_KEPT_FRAMES = np.uint64((1 << 24) // 4)

_CHUNK = 2048
"""Rows compared at a time: 6 MB of look-ups."""


def sketch(hashes: Hashes, kinds: Kinds) -> bytes:
    """``BINS // 2`` bytes; of each bin the smallest feature's kind and two bits, 0 where the bin is empty.

    Args:
        hashes: Ascending 64-bit numbers, shape (n,).
        kinds: Their kinds, shape (n,).
    """
    thinned = (hashes * np.uint64(0xA24BAED4963EE407)) >> np.uint64(40) < _KEPT_FRAMES
    keep = is_content(kinds) | thinned
    hashes, kinds = hashes[keep], kinds[keep]
    cells = np.zeros(BINS, np.uint8)
    if len(hashes):
        bins = ((hashes >> np.uint64(40)) * np.uint64(BINS)) >> np.uint64(24)
        first = starts_of_runs(bins)
        cells[bins[first].astype(np.intp)] = kinds[first] << 2 | (hashes[first] & np.uint64(3)).astype(np.uint8)
    return (cells[0::2] << 4 | cells[1::2]).tobytes()


class Estimates(NamedTuple):
    """What sketches say about one page and each of many."""

    resemblances: NDArray[np.float64]
    """The weight of the features that two pages share, of all that they have; 0 to 1, shape (n,)."""
    weights: NDArray[np.float64]
    """The weight of the bins that this rests on, where a bin of firm features weighs 1 to 2; shape (n,)."""


def estimate(one: NDArray[np.uint8], many: NDArray[np.uint8]) -> Estimates:
    """Estimate how alike one page is to each of many; on real pages the standard error is 0.015.

    A feature of both pages weighs by the higher of its kinds there, so that a block judged differently does not count
    against them.

    Args:
        one: A sketch, shape (``BINS // 2``,), or one for each of the many, shape (n, ``BINS // 2``).
        many: Sketches, shape (n, ``BINS // 2``).
    """
    rows = np.broadcast_to(one.astype(np.uint16) << 8, many.shape)
    sums = np.empty(len(many), np.uint64)
    for start in range(0, len(many), _CHUNK):
        part = slice(start, start + _CHUNK)
        sums[part] = _TERMS[rows[part] | many[part]].sum(axis=1)
    shared, unlike, alone = ((sums >> shift & _FIELD).astype(np.float64) for shift in _SHIFTS)
    chance = np.minimum(unlike / 3, shared)  # a fourth of the unlike bins agrees in two bits by chance
    shared, everything = shared - chance, shared + unlike + alone
    made = np.zeros(len(many))
    np.divide(shared, everything, out=made, where=everything > 0)
    return Estimates(made, everything / _UNIT)


_SHIFTS = (np.uint64(0), np.uint64(21), np.uint64(42))
"""Where the three sums of a comparison stand in one 64-bit number; 21 bits hold 776 times the largest term."""

_FIELD = np.uint64((1 << 21) - 1)

_UNIT = 200
"""What a term is for a shared bin of weight 1."""


def _terms() -> NDArray[np.uint64]:
    """What two bytes of two sketches add to the sums shared, unlike, alone; index ``one << 8 | other``."""
    weights = np.array([0, *(WEIGHTS[kind] for kind in sorted(Kind))], np.uint64)
    cell = np.arange(16)
    weight = weights[cell >> 2]
    both = (cell[:, None] > 3) & (cell > 3)
    equal = both & ((cell[:, None] ^ cell) & 3 == 0)
    total = weight[:, None] + weight
    shared = np.where(equal, 2 * np.maximum(weight[:, None], weight), 0)
    unlike = np.where(both & ~equal, total, 0)  # half of both: either may be the smallest of the two pages together
    alone = np.where(both, 0, 2 * total)
    pair = shared << _SHIFTS[0] | unlike << _SHIFTS[1] | alone << _SHIFTS[2]
    high, low = np.arange(256) >> 4, np.arange(256) & 15
    terms: NDArray[np.uint64] = (pair[high[:, None], high] + pair[low[:, None], low]).ravel()
    return terms


_TERMS = _terms()
