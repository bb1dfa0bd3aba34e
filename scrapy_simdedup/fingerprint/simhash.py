"""The simhash of weighted features, which finds the candidates (Charikar 2002; Manku, Jain, Das Sarma 2007)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.fingerprint.features import mix
from scrapy_simdedup.page.kinds import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simdedup.fingerprint.features import Hashes, Kinds

RADIUS = 12
"""Bits of every 64 by which two copies of one page may differ; 99.9 % of real copies stay within."""

VOTES = {Kind.FRAME: 1, Kind.LOOSE: 10, Kind.FIRM: 10}
"""How often a feature votes, by its kind."""

_WEIGHTS = np.array([0, *(VOTES[kind] for kind in sorted(Kind))], np.float32)
_CHUNK = 1 << 13  # 2 MB of ones and zeros; sums of whole numbers, as exact as with integers
_SECOND_HALF = np.uint64(0x9E3779B97F4A7C15)


def simhash(hashes: Hashes, kinds: Kinds, bits: int = 64) -> int:
    """Each bit is what the majority of the votes of the features says; a tie is 0.

    Args:
        hashes: 64-bit numbers, shape (n,).
        kinds: Their kinds, shape (n,).
        bits: 64, or 128: then the upper 64 bits come from the numbers mixed once more.
    """
    weights = _WEIGHTS[kinds]
    made = majority(_bytes(hashes), weights)
    return made if bits == 64 else made | majority(_bytes(mix(hashes ^ _SECOND_HALF)), weights) << 64


def majority(rows: NDArray[np.uint8], weights: NDArray[np.floating], *, ties: bool = False) -> int:
    """Each bit is what the majority of the votes of some numbers says.

    Args:
        rows: Their bytes, the lowest first, shape (n, bytes).
        weights: How often each of them votes, shape (n,).
        ties: What a bit is for which as many votes speak as against it.
    """
    votes = np.zeros(8 * rows.shape[1])
    for start in range(0, len(rows), _CHUNK):
        ones = np.unpackbits(rows[start : start + _CHUNK], axis=1, bitorder="little")
        votes += weights[start : start + _CHUNK] @ ones.astype(weights.dtype)
    everything = weights.sum(dtype=np.float64)
    won = 2 * votes >= everything if ties else 2 * votes > everything
    return int.from_bytes(np.packbits(won, bitorder="little").tobytes(), "little")


def _bytes(hashes: Hashes) -> NDArray[np.uint8]:
    return hashes.astype("<u8", copy=False).view(np.uint8).reshape(-1, 8)
