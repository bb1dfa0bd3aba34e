"""The simhash of weighted features, which finds the candidates (Charikar 2002; Manku, Jain, Das Sarma 2007)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.fingerprint.features import is_content
from scrapy_simdedup.fingerprint.hashing import mix
from scrapy_simdedup.page.kinds import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simdedup.fingerprint.features import Kinds
    from scrapy_simdedup.fingerprint.word_hashes import Hashes

RADIUS = 12
"""Bits of every 64 by which two copies of one page may differ; 99.9 % of real copies stay within."""

VOTES = {Kind.FRAME: 1, Kind.LOOSE: 10, Kind.FIRM: 10}
"""How often a feature votes, by its kind."""

_SECOND_HALF = np.uint64(0x9E3779B97F4A7C15)
_PLACES = np.arange(8, dtype=np.uint64)[:, None]
_EACH_BYTE = np.uint64(0x0101010101010101)
_MOST = 255  # ones that a byte can count
_CHUNK = 4 * _MOST  # 64 kB, which the allocator keeps at hand


def simhash(hashes: Hashes, kinds: Kinds, bits: int = 64) -> int:
    """Each bit is what the majority of the votes of the features says; a tie is 0.

    Args:
        hashes: 64-bit numbers, shape (n,).
        kinds: Their kinds, shape (n,).
        bits: 64, or 128: then the upper 64 bits come from the numbers mixed once more.
    """
    made = _majority(hashes, kinds)
    return made if bits == 64 else made | _majority(mix(hashes ^ _SECOND_HALF), kinds) << 64


def _majority(hashes: Hashes, kinds: Kinds) -> int:
    chosen = is_content(kinds)
    content, frame = hashes[chosen], hashes[~chosen]
    of_content, of_frame = VOTES[Kind.FIRM], VOTES[Kind.FRAME]
    votes = of_content * _ones(content) + of_frame * _ones(frame)
    won = 2 * votes > of_content * len(content) + of_frame * len(frame)
    return int.from_bytes(np.packbits(won, bitorder="little").tobytes(), "little")


def _ones(hashes: Hashes) -> NDArray[np.int64]:
    """How many of the numbers have each bit; shape (64,).

    Each byte of a 64-bit number counts for one bit. A matrix product is as fast, but brings threads that burn a second
    core while they wait for the next page.
    """
    ones = np.zeros((8, 8), np.int64)
    for start in range(0, len(hashes), _CHUNK):
        bits = hashes[start : start + _CHUNK] >> _PLACES & _EACH_BYTE
        counts = np.add.reduceat(bits, np.arange(0, bits.shape[1], _MOST), axis=1).astype("<u8", copy=False)
        ones += counts.view(np.uint8).reshape(8, -1, 8).sum(axis=1, dtype=np.int64)
    made: NDArray[np.int64] = ones.T.ravel()
    return made
