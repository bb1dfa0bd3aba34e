"""Words → 64-bit numbers, the same in every process, and none that can be foreseen without the secret."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeAlias

import mmh3
import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.fingerprint.words import END, join_words

if TYPE_CHECKING:
    from collections.abc import Sequence

Hashes: TypeAlias = NDArray[np.uint64]
Rows: TypeAlias = NDArray[np.intp]

_STEP = 8
"""Bytes of a word that are taken at once: two pieces, each of which has a key."""
_LONGEST = 32
"""Bytes of a word that is hashed in numpy; few are longer."""

_FIRST = np.array([(1 << 8 * count) - 1 for count in range(_STEP + 1)], np.uint64)
"""Leaves the first so many bytes of eight."""
_LOW, _HIGH = np.uint64(0xFFFF_FFFF), np.uint64(32)


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
        keys = blake2b(key=self._key, digest_size=2 * _LONGEST, person=b"words").digest()
        self._keys = np.frombuffer(keys, "<u8").astype(np.uint64).reshape(-1, 2)

    def of_texts(self, texts: Sequence[str]) -> tuple[Hashes, Rows]:
        """The numbers of all words in their order, shape (n,), and how many each text has, shape (len(texts),)."""
        raw = b"\0%b%b" % (join_words(texts), bytes(_STEP))
        codes = np.frombuffer(raw, np.uint8)
        is_word = codes > END
        edges = (is_word[1:] != is_word[:-1]).nonzero()[0] + 1
        starts = edges[::2]
        hashes = self._hash(raw, starts, edges[1::2] - starts)
        before = np.searchsorted(starts, (codes == END).nonzero()[0])
        return hashes, np.diff(before, prepend=0)

    def _hash(self, raw: bytes, starts: Rows, lengths: Rows) -> Hashes:
        eight = np.ndarray((len(raw) - _STEP + 1,), "<u8", raw, strides=(1,))  # from each byte on
        low, high = self._keys[0]
        part = eight[starts] & _FIRST[np.minimum(lengths, _STEP)]
        hashes: Hashes = (part & _LOW) * low + (part >> _HIGH) * high
        longer = (lengths > _STEP).nonzero()[0]
        for done, (low, high) in zip(range(_STEP, _LONGEST, _STEP), self._keys[1:], strict=True):
            part = eight[starts[longer] + done] & _FIRST[np.minimum(lengths[longer] - done, _STEP)]
            hashes[longer] += (part & _LOW) * low + (part >> _HIGH) * high
            longer = longer[lengths[longer] > done + _STEP]
        for row in longer.tolist():
            word = raw[starts[row] : starts[row] + lengths[row]]
            hashes[row] = int.from_bytes(self.digest(word), "little")
        return hashes

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
