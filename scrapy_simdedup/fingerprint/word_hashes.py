"""Keyed 64-bit hashes of words: the same in every process, and unpredictable without the secret."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

import mmh3
import numpy as np

try:
    from scrapy_simdedup.fingerprint._hashing import hash_words
except ImportError:  # installed without a compiler
    from scrapy_simdedup.fingerprint.hashing import hash_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from scrapy_simdedup.fingerprint.hashing import Hashes, Rows

_PIECES = 8
"""Pieces of four bytes of a word for which there are keys; few words have more."""


class WordHasher:
    """Hashes of words, and digests of other texts, under one secret.

    A word is hashed by the multilinear family: the sum of its pieces of four bytes, each times a key of its own. Two
    different words have one hash under one in 2^32 secrets at most, whoever chose them (Lemire and Kaser, "Strongly
    universal string hashing is fast", 2014). MurmurHash3 has collisions that hold for every seed; its finaliser alone
    is used, to spread these hashes.

    Args:
        secret: The keys are made of it; without one anyone can make them.
    """

    def __init__(self, secret: bytes = b"") -> None:
        self._key = blake2b(secret, digest_size=32).digest() if secret else b""
        self.secret_id: int = int.from_bytes(blake2b(self._key, digest_size=2).digest(), "little") or 1 if secret else 0
        """16 bits that differ between secrets and do not reveal them; 0 without a secret."""
        self._keyed_blake2b = blake2b(key=self._key, digest_size=8)
        keys = blake2b(key=self._key, digest_size=8 * _PIECES, person=b"words").digest()
        self.keys: NDArray[np.uint64] = np.frombuffer(keys, "<u8").astype(np.uint64)
        """A key for each piece of a word, shape (pieces,); as confidential as the secret."""

    def hash_texts(self, texts: Sequence[str]) -> tuple[Hashes, Rows]:
        """See :func:`~scrapy_simdedup.fingerprint.hashing.hash_words`."""
        return hash_words(texts, self.keys, self.digest)

    def digest(self, text: bytes) -> bytes:
        """Eight bytes for any text: of keyed BLAKE2b or, without a secret, of MurmurHash3."""
        return self.blake2b_digest(text) if self._key else mmh3.hash_bytes(text)[:8]

    def blake2b_digest(self, text: bytes) -> bytes:
        """Eight bytes of BLAKE2b for any text, keyed where there is a secret."""
        digest = self._keyed_blake2b.copy()  # half the time that the key takes
        digest.update(text)
        return digest.digest()


@lru_cache(maxsize=4)
def word_hasher(secret: bytes = b"") -> WordHasher:
    """The word hasher of a secret, made once."""
    return WordHasher(secret)
