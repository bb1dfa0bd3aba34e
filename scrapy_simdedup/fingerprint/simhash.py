"""The simhash of weighted features, which finds the candidates (Charikar 2002; Manku, Jain, Das Sarma 2007)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.fingerprint.features import mix
from scrapy_simdedup.page.kinds import Kind

if TYPE_CHECKING:
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
    made = _majority(hashes, kinds)
    return made if bits == 64 else made | _majority(mix(hashes ^ _SECOND_HALF), kinds) << 64


def _majority(hashes: Hashes, kinds: Kinds) -> int:
    weights = _WEIGHTS[kinds]
    votes = np.zeros(64)
    for start in range(0, len(hashes), _CHUNK):
        raw = hashes[start : start + _CHUNK].astype("<u8", copy=False).view(np.uint8).reshape(-1, 8)
        votes += weights[start : start + _CHUNK] @ np.unpackbits(raw, axis=1, bitorder="little").astype(np.float32)
    won = 2 * votes > weights.sum(dtype=np.float64)
    return int.from_bytes(np.packbits(won, bitorder="little").tobytes(), "little")
