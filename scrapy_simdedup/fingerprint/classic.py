"""The textbook's simhash: words or runs of words, each voting as often as it occurs, by its MD5 (Charikar 2002).

The digest's 128 bits are the widest that it makes; 64 bits are its lower half.
"""

from __future__ import annotations

import re
from collections import Counter
from hashlib import blake2b, md5
from typing import TYPE_CHECKING, Literal

import numpy as np

from scrapy_simdedup.fingerprint.words import split_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

SAME_BITS, NEAR_BITS = 3, 8
"""Bits up to which pages are identical (Manku, Jain, Das Sarma 2007), and near, by the distance alone."""

_CHUNK = 1 << 13  # 8 MB of ones and zeros for 128 bits
_LETTERS = re.compile(r"[^\W\d_]+")


def count_words(text: str, letters: int = 3) -> Counter[bytes]:
    """How often each word occurs that has so many letters or more, in lower case.

    >>> count_words("The tide is in, the tide is out.")
    Counter({b'the': 2, b'tide': 2, b'out': 1})
    """
    return Counter(word.encode() for word in _LETTERS.findall(text.lower()) if len(word) >= letters)


def count_ngrams(text: str, size: int) -> Counter[bytes]:
    """How often each run of ``size`` words occurs; a text of fewer words is one run."""
    words = split_words(text)
    runs = [words[start : start + size] for start in range(max(1, len(words) - size + 1))] if words else []
    return Counter(map(b" ".join, runs))


def classic_simhash(
    features: Mapping[bytes, float], bits: int = 128, *, ties: bool = False, secret: bytes = b""
) -> int:
    """Each bit is what the majority of the votes says.

    Args:
        features: Texts with their weights, such as how often each occurs.
        bits: 64 or 128.
        ties: What a tie is: 0, as where a bit is set if v > 0; or 1, as where it is set if v >= 0.
        secret: With one, the digests are keyed ones, of BLAKE2b.
    """
    if secret:
        key = blake2b(secret, digest_size=32).digest()
        digests = b"".join(blake2b(feature, key=key, digest_size=16).digest()[-bits // 8 :] for feature in features)
    else:
        digests = b"".join(md5(feature, usedforsecurity=False).digest()[-bits // 8 :] for feature in features)
    rows = np.frombuffer(digests, np.uint8).reshape(-1, bits // 8)[:, ::-1]
    return majority(rows, np.fromiter(features.values(), np.float64, len(features)), ties=ties)


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


def class_of(distance: int) -> Literal["identical", "near", "different"]:
    """What a distance alone says, for those who want bits and no confirmation: 0 to 3, 4 to 8, 9 and more."""
    return "identical" if distance <= SAME_BITS else "near" if distance <= NEAR_BITS else "different"
