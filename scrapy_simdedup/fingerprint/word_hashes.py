"""Words → 64-bit numbers, the same in every process, and none that can be foreseen without the secret."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeAlias

import mmh3
import numpy as np
from numpy.typing import NDArray

try:
    from scrapy_simdedup.fingerprint._hashing import hash_words
except ImportError:  # installed without a compiler
    from scrapy_simdedup.fingerprint.hashing import hash_words

if TYPE_CHECKING:
    from collections.abc import Sequence

Hashes: TypeAlias = NDArray[np.uint64]
Rows: TypeAlias = NDArray[np.intp]

_PIECES = 8
"""Pieces of a word, of four bytes each, for which there are keys; few words have more."""


class WordHashes:
    """Numbers of words, and digests of other texts.

    A word is hashed by the multilinear family: the sum of its pieces of four bytes, each times a key of its own. Two
    different words get one number under one in 2^32 secrets at most, whoever chose them (Lemire and Kaser, "Strongly
    universal string hashing is fast", 2014). MurmurHash3 has collisions that hold for every seed; its finaliser alone
    is used, to spread these numbers.

    Args:
        secret: what the keys are made of; without it anyone can make them.
    """

    def __init__(self, secret: bytes = b"") -> None:
        self._key = blake2b(secret, digest_size=32).digest() if secret else b""
        self.secret_id = int.from_bytes(blake2b(self._key, digest_size=2).digest(), "little") or 1 if secret else 0
        """16 bits that tell secrets apart without telling them; 0 without a secret."""
        self._blank = blake2b(key=self._key, digest_size=8)
        keys = blake2b(key=self._key, digest_size=8 * _PIECES, person=b"words").digest()
        self.keys = np.frombuffer(keys, "<u8").astype(np.uint64)
        """One for each piece of a word, shape (pieces,); as secret as the secret."""

    def of_texts(self, texts: Sequence[str]) -> tuple[Hashes, Rows]:
        """The numbers of all words in their order, shape (n,), and how many each text has, shape (len(texts),)."""
        return hash_words(texts, self.keys, self.digest)

    def digest(self, text: bytes) -> bytes:
        """Eight bytes for any text: of a keyed BLAKE2b or, without a secret, of MurmurHash3."""
        return self.strong_digest(text) if self._key else mmh3.hash_bytes(text)[:8]

    def strong_digest(self, text: bytes) -> bytes:
        """Eight bytes of BLAKE2b for any text, keyed where there is a secret."""
        digest = self._blank.copy()  # half the time that the key takes
        digest.update(text)
        return digest.digest()


@lru_cache(maxsize=4)
def word_hashes(secret: bytes = b"") -> WordHashes:
    """The hashes under a secret."""
    return WordHashes(secret)
