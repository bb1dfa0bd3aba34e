"""The simhash of weighted features, which finds the candidates (Charikar 2002; Manku, Jain, Das Sarma 2007)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.fingerprint.features import BOILERPLATE
from scrapy_simdedup.fingerprint.hashing import fmix64
from scrapy_simdedup.page.classify import BlockClass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simdedup.fingerprint.features import BlockClasses
    from scrapy_simdedup.fingerprint.hashing import Hashes

VOTES = {BlockClass.BOILERPLATE: 1, BlockClass.UNMARKED: 10, BlockClass.CONTENT: 10}
"""The votes of a feature, by the class of its block."""

_SECOND_HALF = np.uint64(0x9E3779B97F4A7C15)
_BIT_SHIFTS = np.arange(8, dtype=np.uint64)[:, None]
_EACH_BYTE = np.uint64(0x0101010101010101)
_MAX_BYTE_COUNT = 255  # ones that a byte can count
_CHUNK = 4 * _MAX_BYTE_COUNT  # 64 kB, which the allocator keeps at hand


def simhash(hashes: Hashes, block_classes: BlockClasses, bits: int = 64) -> int:
    """The simhash of features: each bit is what the majority of their votes says; a tie is 0.

    Args:
        hashes: 64-bit hashes, shape (n,).
        block_classes: The class of each, shape (n,).
        bits: 64, or 128: then the upper 64 bits come from the hashes mixed once more.
    """
    made = _majority_bits(hashes, block_classes)
    return made if bits == 64 else made | _majority_bits(fmix64(hashes ^ _SECOND_HALF), block_classes) << 64


def _majority_bits(hashes: Hashes, block_classes: BlockClasses) -> int:
    chosen = block_classes > BOILERPLATE
    content, boilerplate = hashes[chosen], hashes[~chosen]
    of_content, of_boilerplate = VOTES[BlockClass.CONTENT], VOTES[BlockClass.BOILERPLATE]
    votes = of_content * _bit_counts(content) + of_boilerplate * _bit_counts(boilerplate)
    won = 2 * votes > of_content * len(content) + of_boilerplate * len(boilerplate)
    return int.from_bytes(np.packbits(won, bitorder="little").tobytes(), "little")


def _bit_counts(hashes: Hashes) -> NDArray[np.int64]:
    """How many hashes have each bit; shape (64,).

    Each byte of a 64-bit number counts for one bit. A matrix product is as fast, but brings threads that burn a second
    core while they wait for the next page.
    """
    ones = np.zeros((8, 8), np.int64)
    for start in range(0, len(hashes), _CHUNK):
        bits = hashes[start : start + _CHUNK] >> _BIT_SHIFTS & _EACH_BYTE
        counts = np.add.reduceat(bits, np.arange(0, bits.shape[1], _MAX_BYTE_COUNT), axis=1).astype("<u8", copy=False)
        ones += counts.view(np.uint8).reshape(8, -1, 8).sum(axis=1, dtype=np.int64)
    return np.ravel(ones.T)
