"""Simhashes: bits that differ in few places for texts that share most features (Charikar 2002).

1. That of weighted features finds the candidates of all methods without keys. A feature of boilerplate has one vote,
   any other ten.
2. That of the textbook is of the content's words, or runs of words, which vote as often as they occur, by their MD5.
   Its 128 bits are the widest simhash; 64 bits are the lower half. The method ``bits`` compares nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from hashlib import blake2b, md5

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.fingerprint.features import BOILERPLATE, BlockClasses
from scrapy_simdedup.fingerprint.hashing import Hashes, fmix64, split_words
from scrapy_simdedup.page.classify import BlockClass

VOTES = {BlockClass.BOILERPLATE: 1, BlockClass.UNMARKED: 10, BlockClass.CONTENT: 10}
"""The votes of a feature, by the class of its block."""
_SECOND_HALF = np.uint64(0x9E3779B97F4A7C15)
_BIT_SHIFTS = np.arange(8, dtype=np.uint64)[:, None]
_EACH_BYTE = np.uint64(0x0101010101010101)
_MAX_BYTE_COUNT = 255  # ones that a byte can count
_FEATURES_AT_A_TIME = 4 * _MAX_BYTE_COUNT  # 64 kB, which the allocator keeps at hand
_TEXTS_AT_A_TIME = 1 << 13  # 8 MB of ones and zeros for 128 bits
_LETTERS = re.compile(r"[^\W\d_]+")


def simhash(hashes: Hashes, block_classes: BlockClasses, bits: int = 64) -> int:
    """The simhash of features: each bit is what the majority of their votes says; a tie is 0.

    Of 128 bits the upper half comes from the hashes mixed once more.
    """
    made = majority_bits(hashes, block_classes)
    return made if bits == 64 else made | majority_bits(fmix64(hashes ^ _SECOND_HALF), block_classes) << 64


def python_majority_bits(hashes: Hashes, block_classes: BlockClasses) -> int:
    """The simhash of 64 bits."""
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
    for start in range(0, len(hashes), _FEATURES_AT_A_TIME):
        bits = hashes[start : start + _FEATURES_AT_A_TIME] >> _BIT_SHIFTS & _EACH_BYTE
        counts = np.add.reduceat(bits, np.arange(0, bits.shape[1], _MAX_BYTE_COUNT), axis=1).astype("<u8", copy=False)
        ones += counts.view(np.uint8).reshape(8, -1, 8).sum(axis=1, dtype=np.int64)
    return np.ravel(ones.T)


try:
    from scrapy_simdedup.fingerprint._features import majority_bits
except ImportError:  # installed without a compiler
    majority_bits = python_majority_bits


def count_words(text: str, letters: int = 3) -> Counter[bytes]:
    """How often each word of so many letters or more occurs, in lower case.

    >>> count_words("The tide is in, the tide is out.")
    Counter({b'the': 2, b'tide': 2, b'out': 1})
    """
    return Counter(word.encode() for word in _LETTERS.findall(text.lower()) if len(word) >= letters)


def count_ngrams(text: str, size: int) -> Counter[bytes]:
    """How often each run of ``size`` words occurs; a text of fewer words is one run."""
    words = split_words(text)
    runs = [words[start : start + size] for start in range(max(1, len(words) - size + 1))] if words else []
    return Counter(map(b" ".join, runs))


def classic_simhash(features: Mapping[bytes, float], bits: int = 128, *, secret: bytes = b"") -> int:
    """The simhash of texts: each bit is what the majority of their votes says; a tie is 0.

    The votes of a text are such as how often it occurs. With a secret the digests are those of keyed BLAKE2b.
    """
    if secret:
        key = blake2b(secret, digest_size=32).digest()
        digests = [blake2b(feature, key=key, digest_size=16).digest() for feature in features]
    else:
        digests = [md5(feature, usedforsecurity=False).digest() for feature in features]
    rows = np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 16)[:, : -1 - bits // 8 : -1]
    return weighted_majority(rows, np.fromiter(features.values(), np.float64, len(features)))


def weighted_majority(rows: NDArray[np.uint8], weights: NDArray[np.floating]) -> int:
    """The number each bit of which is what the majority of the votes of some numbers says; a tie is 0.

    The numbers are rows of bytes, the lowest first, shape (n, bytes).
    """
    votes = np.zeros(8 * rows.shape[1])
    for start in range(0, len(rows), _TEXTS_AT_A_TIME):
        ones = np.unpackbits(rows[start : start + _TEXTS_AT_A_TIME], axis=1, bitorder="little")
        votes += weights[start : start + _TEXTS_AT_A_TIME] @ ones.astype(weights.dtype)
    won = 2 * votes > weights.sum(dtype=np.float64)
    return int.from_bytes(np.packbits(won, bitorder="little").tobytes(), "little")
