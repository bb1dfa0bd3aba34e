"""The method ``bits``: the textbook's simhash of the content's words, compared by the distance alone (Charikar 2002).

Words, or runs of words, vote as often as they occur, by their MD5. Its 128 bits are the widest simhash; 64 bits are the
lower half.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from hashlib import blake2b, md5

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.fingerprint.features import set_digest
from scrapy_simdedup.fingerprint.methods.base import ComparableText, Digests, Method
from scrapy_simdedup.fingerprint.similarity import COMMON_FIELDS, IDENTICAL_RESEMBLANCE, NEAR_RESEMBLANCE
from scrapy_simdedup.fingerprint.words import split_words
from scrapy_simdedup.settings import DedupSettings

IDENTICAL_BITS, NEAR_BITS = 3, 8
"""Distances up to which pages are identical (Manku, Jain, Das Sarma 2007), and near."""
_DISTANCES = 0, IDENTICAL_BITS, NEAR_BITS, NEAR_BITS + 1, 64
_RESEMBLANCES = 1.0, IDENTICAL_RESEMBLANCE, NEAR_RESEMBLANCE, NEAR_RESEMBLANCE - 0.05, 0.0
"""The resemblances of the distances, so that the thresholds of the settings lie between the classes."""
_CHUNK = 1 << 13  # 8 MB of ones and zeros for 128 bits
_LETTERS = re.compile(r"[^\W\d_]+")


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
    for start in range(0, len(rows), _CHUNK):
        ones = np.unpackbits(rows[start : start + _CHUNK], axis=1, bitorder="little")
        votes += weights[start : start + _CHUNK] @ ones.astype(weights.dtype)
    won = 2 * votes > weights.sum(dtype=np.float64)
    return int.from_bytes(np.packbits(won, bitorder="little").tobytes(), "little")


class ClassicSimhash(Method):
    """The textbook's simhash."""

    row_dtype: np.dtype[np.void] = np.dtype([*COMMON_FIELDS, ("words", "<u8", 2)])

    def simhash(self, text: ComparableText, settings: DedupSettings, secret: bytes) -> int:
        """The simhash of runs of ``shingle_size`` words or, for a size of 1, of words of three letters or more."""
        features: Counter[bytes] = Counter()
        for block in text.content_blocks:
            size = settings.shingle_size
            features.update(count_words(block.text) if size == 1 else count_ngrams(block.text, size))
        return classic_simhash(features, settings.bits, secret=secret)

    def digest(self, text: ComparableText, settings: DedupSettings, secret: bytes) -> Digests:
        """The simhash once more, in the row that is compared."""
        simhash = self.simhash(text, settings, secret)
        return Digests(set_digest(text.content_hashes), sketch=simhash.to_bytes(16, "little"))

    def resemblances(self, one: np.void, many: NDArray[np.void]) -> NDArray[np.float64]:
        """By the distance: up to 3 bits identical, up to 8 near."""
        distance = np.bitwise_count(one["words"] ^ many["words"]).sum(axis=1)
        made: NDArray[np.float64] = np.interp(distance, _DISTANCES, _RESEMBLANCES)
        return made
