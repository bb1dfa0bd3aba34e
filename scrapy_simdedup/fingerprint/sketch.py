"""Sketches: what is kept of a set so that its resemblance to others, or its difference from them, can be estimated.

1. A *sketch* estimates the weighted resemblance of two pages from half a byte per bin, by one-permutation MinHash (Li,
   Owen, Zhang 2012) with b-bit values (Li, König 2010), each beside the class of its feature, which weights it.
2. An *odd sketch* tells the size of the difference of two sets (Mitzenmacher, Pagh, Pham 2014).
3. *MinHash*: the share of equal minima of two sets is their resemblance (Broder 1997); a few bits of each suffice. Sets
   with the resemblance s agree in all ``rows`` values of at least one of ``bands`` bands with the probability
   ``1 - (1 - s ** rows) ** bands``, the S-curve.
4. A *sample* are the shingles that a modulus divides (Broder, Glassman, Manasse, Zweig 1997). The same shingle is
   sampled or left out in every text, so the resemblance of two samples estimates that of the two texts. The modulus is
   a power of two, higher for longer texts, so that samples are bounded; two samples are compared at the higher one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.fingerprint.features import BOILERPLATE, BlockClasses, are_among, distinct, run_starts
from scrapy_simdedup.fingerprint.hashing import Hashes, fmix64
from scrapy_simdedup.page.classify import BlockClass

BINS = 776
"""Bins of a sketch, two of them in a byte."""
WEIGHTS = {BlockClass.BOILERPLATE: 8, BlockClass.UNMARKED: 30, BlockClass.CONTENT: 100}
"""The weight of a feature in hundredths, by the class of its block. Of boilerplate features one in four is kept, with
four times the weight of 0.02 that one has."""
DEVIATIONS_SUBTRACTED = 0.5
"""Standard deviations that are taken off the estimate of a difference, which must be certain to count."""
_BOILERPLATE_SAMPLING = np.uint64((1 << 24) // 4)
_CHUNK = 2048  # rows compared at a time: 6 MB of look-ups
_SHIFTS = np.array([0, 21, 42], np.uint64)
"""Where the three sums of a comparison stand in one 64-bit number; 21 bits hold 776 times the largest term."""
_FIELD = np.uint64((1 << 21) - 1)
UNIT_TERM = 200
"""The term of a shared bin of weight 1."""
PERMUTATIONS = 256
RECALL = 0.99
"""The probability with which bands find a pair whose resemblance is their threshold."""
_PERMUTED_AT_A_TIME = 1 << 18  # permuted numbers made at a time: 2 MB
_UPPER_HALF = np.uint64(32)
_MOST_BEFORE, _MOST_EXCEPTIONS = 63, 255
_QUARTERS = np.stack([np.arange(256, dtype=np.uint8) >> shift & 3 for shift in (0, 2, 4, 6)], axis=1)
"""The four pairs of bits of each byte."""
MAX_SAMPLE = 240
"""Shingles of a sample at most; by and large more than 120 where any shingle was left out."""
MAX_INDEXED = 16
"""Shingles at most by which a page is looked up: a sample of a higher level, of which similar pages share most."""
_LOWER_HALF = np.uint64(0xFFFF_FFFF)


def python_sketch(hashes: Hashes, block_classes: BlockClasses) -> bytes:
    """The sketch of features with ascending hashes: for each bin the class and two bits of the smallest, or 0."""
    is_sampled = (hashes * np.uint64(0xA24BAED4963EE407)) >> np.uint64(40) < _BOILERPLATE_SAMPLING
    keep = (block_classes > BOILERPLATE) | is_sampled
    hashes, block_classes = hashes[keep], block_classes[keep]
    cells = np.zeros(BINS, np.uint8)
    if len(hashes):
        bins = ((hashes >> np.uint64(40)) * np.uint64(BINS)) >> np.uint64(24)
        first = run_starts(bins)
        cells[bins[first].astype(np.intp)] = block_classes[first] << 2 | (hashes[first] & np.uint64(3)).astype(np.uint8)
    return (cells[0::2] << 4 | cells[1::2]).tobytes()


def python_pack_row(row: bytes) -> bytes:
    """A row of marks and a sketch without its empty cells, of which a real page has five in nine.

    There is a bit for each cell that says if it is there; of those that are the classes, nearly all of which are the
    same, and the two bits beside each; and then the marks. The classes are the number of bytes that follow, the most
    frequent class, and a byte for each cell of another class, which says how many come before it and its class; without
    a class these are all that can be said. A sketch that would not get smaller stays as it is.
    """
    marks, sketched = row[: -BINS // 2], np.frombuffer(row[-BINS // 2 :], np.uint8)
    cells = np.stack((sketched >> 4, sketched & 15), axis=1).ravel()
    there = cells[cells > 0]
    classes, low = there >> 2, np.append(there & 3, np.zeros(-len(there) % 4, np.uint8))
    usual = int(np.bincount(classes, minlength=4).argmax())
    exceptions = bytearray()
    end = 0
    for at in (classes != usual).nonzero()[0].tolist():
        steps, gap = divmod(at - end, _MOST_BEFORE)
        exceptions += bytes((*(steps * [_MOST_BEFORE << 2]), gap << 2 | classes[at]))
        end = at + 1
    if classes.all() and len(exceptions) <= _MOST_EXCEPTIONS:
        is_there = np.packbits(cells > 0, bitorder="little").tobytes()
        beside = low[0::4] | low[1::4] << 2 | low[2::4] << 4 | low[3::4] << 6
        packed = b"".join((is_there, bytes((len(exceptions), usual)), exceptions, beside.tobytes()))
        if len(packed) < BINS // 2:
            return packed + marks
    return sketched.tobytes() + marks


def python_unpack_row(packed: bytes, marks: int) -> bytes:
    """The row from its packed bytes, with so many bytes of marks."""
    end = len(packed) - marks
    if end >= BINS // 2:
        return packed[end:] + packed[:end]
    start = BINS // 8 + 2 + packed[BINS // 8]
    there = _QUARTERS.take(np.frombuffer(packed, np.uint8, end - start, start), axis=0).ravel()
    there |= packed[BINS // 8 + 1] << 2
    at = 0
    for exception in packed[BINS // 8 + 2 : start]:
        at += exception >> 2
        if exception & 3:
            there[at] = there[at] & 3 | (exception & 3) << 2
            at += 1
    is_there = np.unpackbits(np.frombuffer(packed, np.uint8, BINS // 8), bitorder="little").view(np.bool_)
    cells = np.zeros(BINS, np.uint8)
    cells[is_there] = there[: np.count_nonzero(is_there)]
    return packed[end:] + (cells[0::2] << 4 | cells[1::2]).tobytes()


class ResemblanceEstimates(NamedTuple):
    """Estimates from the sketches of one page and of each of many."""

    resemblances: NDArray[np.float64]
    """The share of the weight of two pages' features that is common to both; 0 to 1, shape (n,)."""
    weights: NDArray[np.float64]
    """The weight of the bins that the estimate rests on, where a bin of content weighs 1 to 2; shape (n,)."""


def estimate_resemblance(one: NDArray[np.uint8], many: NDArray[np.uint8]) -> ResemblanceEstimates:
    """Estimate how alike one page is to each of many; on real pages the standard error is 0.015.

    A feature of both pages has the weight of the higher of its two classes, so that a block that was classified
    differently does not count against them.
    """
    row = one.astype(np.uint16) << 8
    sums = np.empty(len(many), np.uint64)
    for start in range(0, len(many), _CHUNK):
        part = slice(start, start + _CHUNK)
        sums[part] = _BYTE_TERMS.take(row | many[part]).sum(axis=1)
    return _estimates(sums)


def cells_of(sketches: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The cells of sketches, one of them or many: of all bins, in one order; shape (..., ``BINS``)."""
    return np.concatenate((sketches >> 4, sketches & 15), axis=-1)


def estimate_from_pairs(pairs: NDArray[np.integer]) -> ResemblanceEstimates:
    """Estimate how alike one page is to each of many by some bins: by those with content, and by all; shape (2, n).

    A pair is ``one << 4 | other`` of the cells that two pages have in one bin, or 0 where the bin does not count.
    """
    return _estimates(PAIR_TERMS.take(pairs, axis=1).sum(axis=-1))


def estimate_own_resemblance(
    one: NDArray[np.uint8], many: NDArray[np.uint8], sample: NDArray[np.uint8], least: int
) -> ResemblanceEstimates:
    """Estimate how alike one page is to each of many beside what their site repeats: by content, and by all; (2, n).

    Site text are the cells that both pages share, and that ``least`` pages of a ``sample`` of at most 255 have.
    """
    mine, theirs, sampled = cells_of(one), cells_of(many), cells_of(sample)
    pairs = mine << 4 | theirs
    are_common = _count_cells(mine, sampled) >= least
    are_common = are_common | (_count_cells(theirs, sampled) >= least)
    pairs[are_common & ARE_SHARED.take(pairs)] = 0
    return estimate_from_pairs(pairs)


def _count_cells(cells: NDArray[np.uint8], sample: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """How many pages of a sample have each cell in the same bin; the same shape."""
    counted: NDArray[np.uint8] = np.add.reduce(cells[..., None, :] == sample, axis=-2, dtype=np.uint8)
    return counted


def _estimates(sums: NDArray[np.uint64]) -> ResemblanceEstimates:
    """The estimates from the sums of the terms of all bins."""
    terms = (sums[..., None] >> _SHIFTS & _FIELD).astype(np.float64)
    shared, unlike, alone = terms[..., 0], terms[..., 1], terms[..., 2]
    chance = np.minimum(unlike / 3, shared)  # a fourth of the unlike bins agrees in two bits by chance
    shared, everything = shared - chance, shared + unlike + alone
    made = np.zeros(sums.shape)
    np.divide(shared, everything, out=made, where=everything > 0)
    return ResemblanceEstimates(made, everything / UNIT_TERM)


_ONE, _OTHER = np.divmod(np.arange(256), 16)
_HAVE_BOTH = (_ONE > 3) & (_OTHER > 3)
ARE_SHARED: NDArray[np.bool_] = _HAVE_BOTH & ((_ONE ^ _OTHER) & 3 == 0)
"""Of each pair of cells, whether both pages have the feature of the bin."""


def _make_pair_terms() -> NDArray[np.uint64]:
    weights = np.array([0, *(WEIGHTS[block_class] for block_class in sorted(BlockClass))], np.uint64)
    one, other = weights[_ONE >> 2], weights[_OTHER >> 2]
    shared = np.where(ARE_SHARED, 2 * np.maximum(one, other), 0)
    total = one + other
    unlike = np.where(_HAVE_BOTH & ~ARE_SHARED, total, 0)  # half of both: either may be the smallest of both
    alone = np.where(_HAVE_BOTH, 0, 2 * total)
    terms = shared << _SHIFTS[0] | unlike << _SHIFTS[1] | alone << _SHIFTS[2]
    has_content = np.maximum(_ONE, _OTHER) >= BlockClass.UNMARKED << 2
    return np.array([np.where(has_content, terms, 0), terms])


PAIR_TERMS: NDArray[np.uint64] = _make_pair_terms()
"""The terms of pairs of cells in the sums shared, unlike and alone: of those with content, of all; shape (2, 256)."""
_BYTES, _OTHERS = np.arange(256)[:, None], np.arange(256)
_BYTE_TERMS: NDArray[np.uint64] = (
    PAIR_TERMS[1, (_BYTES & 0xF0) | _OTHERS >> 4] + PAIR_TERMS[1, (_BYTES & 15) << 4 | _OTHERS & 15]
).ravel()
"""The terms of two bytes of two sketches; index ``one << 8 | other``."""


def python_odd_sketch(elements: Hashes, bits: int) -> bytes:
    """The odd sketch of a set: for each of ``bits`` places, whether an odd number of elements falls there.

    The XOR of the sketches of two sets is the sketch of their symmetric difference. ``elements`` has no repeats, and
    ``bits`` is a multiple of 64.
    """
    places = (fmix64(elements) >> np.uint64(40)) % np.uint64(bits)
    odd = np.bincount(places.astype(np.intp), minlength=bits) & 1
    return np.packbits(odd.astype(np.uint8), bitorder="little").tobytes()


def hamming_distances(one: NDArray[np.uint64], many: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The number of bits in which one row of 64-bit words and each of many differ, shape (n,)."""
    counted: NDArray[np.int64] = np.bitwise_count(one ^ many).sum(axis=-1, dtype=np.int64)
    return counted


def estimate_unshared(
    one: NDArray[np.uint64], many: NDArray[np.uint64], size: NDArray[np.integer], sizes: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Estimate how many elements one set has and another lacks, or the reverse: the smaller number, on the low side.

    What one set merely adds does not count; what was exchanged does. The sketches are of 64-bit words, shapes (words,)
    and (n, words); the sizes are those of the sets.
    """
    estimates = difference_sizes(64 * many.shape[-1])
    ones = np.minimum(hamming_distances(one, many), len(estimates) - 1)
    return np.maximum(0.0, estimates[ones] - np.abs(sizes.astype(np.int64) - int(size))) / 2


@lru_cache(maxsize=8)
def difference_sizes(bits: int) -> NDArray[np.float64]:
    """The size of a difference by the ones of its odd sketch; half the bits or more tell nothing."""
    ones = np.arange(bits // 2)
    caution = 1 - DEVIATIONS_SUBTRACTED * np.sqrt(2 / bits)
    sizes: NDArray[np.float64] = -bits / 2 * np.log1p(-2 * ones / bits) * caution
    return sizes


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
    step = max(1, _PERMUTED_AT_A_TIME // permutations)
    for start in range(0, len(hashes), step):
        permuted = hashes[start : start + step, None] * factors + offsets
        np.minimum(smallest, permuted.min(axis=0), out=smallest)
    made: NDArray[np.uint32] = (smallest >> _UPPER_HALF).astype(np.uint32)
    return made


def b_bit_values(values: NDArray[np.uint32], bits: int) -> NDArray[np.unsignedinteger]:
    """The lowest 8 or 16 bits of each value, which are all that need be kept."""
    return values.astype({8: np.uint8, 16: np.uint16}[bits])  # casting cuts off what lies above


def minhash_resemblance(one: NDArray[np.unsignedinteger], many: NDArray[np.unsignedinteger]) -> NDArray[np.float64]:
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


class ShingleSample(NamedTuple):
    """The shingles of a text that 2^level divides."""

    values: NDArray[np.uint32]
    """The lower halves of the shingles, ascending, none of them 0; shape (n,)."""
    level: int
    """0 where no shingle was left out; the resemblance of two such samples is exact."""


def sample_shingles(hashes: Hashes, most: int = MAX_SAMPLE) -> ShingleSample:
    """Sample evenly spread 64-bit hashes of shingles, at the lowest level that leaves at most ``most`` of them."""
    lower = distinct(hashes & _LOWER_HALF).astype(np.uint32)
    return reduce_sample(ShingleSample(lower[lower > 0], 0), most)


def reduce_sample(sample: ShingleSample, most: int) -> ShingleSample:
    """Raise the level of a sample until at most ``most`` shingles are left."""
    values, level = sample
    while len(values) > most:
        level += 1
        values = values[values & np.uint32((1 << level) - 1) == 0]
    return ShingleSample(values, level)


def sample_resemblance(
    one: ShingleSample, many: NDArray[np.uint32], levels: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Estimate the resemblance of one text and each of many, 0 to 1; 0 for two texts without shingles.

    ``many`` are the values of samples of these levels, each filled up with 0; shape (n, m).
    """
    below = (np.uint32(1) << np.maximum(levels, one.level).astype(np.uint32)) - np.uint32(1)
    mine = (one.values & below[:, None] == 0).sum(axis=1)
    kept = (many > 0) & (many & below[:, None] == 0)
    theirs, shared = kept.sum(axis=1), (kept & are_among(many, one.values)).sum(axis=1)
    both = mine + theirs - shared
    made = np.zeros(len(many))
    np.divide(shared, both, out=made, where=both > 0)
    return made


try:
    from scrapy_simdedup.fingerprint._features import odd_sketch, pack_row, sketch, unpack_row
except ImportError:  # installed without a compiler
    odd_sketch, sketch = python_odd_sketch, python_sketch
    pack_row, unpack_row = python_pack_row, python_unpack_row
