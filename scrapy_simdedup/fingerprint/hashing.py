"""Hashing the words of a page and its shingles: keyed 64-bit hashes, unpredictable without the secret.

The functions work in numpy, on all words at once. Where the package was installed with its compiled part,
:mod:`scrapy_simdedup.fingerprint._hashing` does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeAlias

import mmh3
import numpy as np

from scrapy_simdedup.fingerprint.words import TEXT_END, join_words

if TYPE_CHECKING:
    from numpy.typing import NDArray


Hashes: TypeAlias = "NDArray[np.uint64]"
Rows: TypeAlias = "NDArray[np.intp]"
_STEP = 8
"""Bytes of a word that are taken at once: two pieces, each of which has a key."""
_LOW_BYTES = np.array([(1 << 8 * count) - 1 for count in range(_STEP + 1)], np.uint64)
"""Masks that leave so many bytes of eight, the first ones."""
_LOW, _HIGH = np.uint64(0xFFFF_FFFF), np.uint64(32)
_PIECES = 8
"""Pieces of four bytes of a word for which there are keys; few words have more."""


def hash_words(texts: Sequence[str], keys: Hashes, digest: Callable[[bytes], bytes]) -> tuple[Hashes, Rows]:
    """The hashes of all words in their order, shape (n,), and how many words each text has, shape (len(texts),).

    Each piece of four bytes has a key. A word that has more pieces than there are keys is hashed by ``digest``.
    """
    raw = b"\0%b%b" % (join_words(texts), bytes(_STEP))
    codes = np.frombuffer(raw, np.uint8)
    is_word = codes > TEXT_END
    edges = (is_word[1:] != is_word[:-1]).nonzero()[0] + 1
    starts = edges[::2]
    hashes = _multilinear(raw, starts, edges[1::2] - starts, keys.reshape(-1, 2), digest)
    before = np.searchsorted(starts, (codes == TEXT_END).nonzero()[0])
    return hashes, np.diff(before, prepend=0)


def _multilinear(raw: bytes, starts: Rows, lengths: Rows, keys: Hashes, digest: Callable[[bytes], bytes]) -> Hashes:
    eight = np.ndarray((len(raw) - _STEP + 1,), "<u8", raw, strides=(1,))  # from each byte on
    low, high = keys[0]
    part = eight[starts] & _LOW_BYTES[np.minimum(lengths, _STEP)]
    hashes: Hashes = (part & _LOW) * low + (part >> _HIGH) * high
    longer = (lengths > _STEP).nonzero()[0]
    for step, (low, high) in enumerate(keys[1:], 1):
        done = _STEP * step
        part = eight[starts[longer] + done] & _LOW_BYTES[np.minimum(lengths[longer] - done, _STEP)]
        hashes[longer] += (part & _LOW) * low + (part >> _HIGH) * high
        longer = longer[lengths[longer] > done + _STEP]
    for row in longer.tolist():
        word = raw[starts[row] : starts[row] + lengths[row]]
        hashes[row] = int.from_bytes(digest(word), "little")
    return hashes


def hash_shingles(words: Hashes, counts: Rows, size: int) -> tuple[Hashes, Rows, Rows, Rows]:
    """The hashes of all runs of ``size`` words inside a text; fewer words are one run.

    Returns:
        The hashes, shape (n,); the texts that have words, where the runs of each of these begin, and how many it has,
        shapes (m,).
    """
    left = np.repeat(np.cumsum(counts), counts) - np.arange(len(words))  # words from here to the end of the text
    made = fmix64(words)
    for ahead in range(1, size):
        following = fmix64(made[:-ahead] + words[ahead:])
        np.copyto(made[:-ahead], following, where=left[:-ahead] > ahead)
    is_first = np.ones(len(left), np.bool_)
    np.greater_equal(left[1:], left[:-1], out=is_first[1:])
    texts = counts.nonzero()[0]
    lengths = np.maximum(counts[texts] - size + 1, 1)
    return made[(left >= size) | is_first], texts, np.cumsum(lengths) - lengths, lengths


def fmix64(numbers: Hashes) -> Hashes:
    """Spread 64-bit numbers evenly: MurmurHash3's finaliser (Appleby 2011), a bijection."""
    half, one, other = _FMIX64
    numbers = (numbers ^ (numbers >> half)) * one
    numbers = (numbers ^ (numbers >> half)) * other
    mixed: Hashes = numbers ^ (numbers >> half)
    return mixed


_FMIX64 = tuple(map(np.uint64, (33, 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53)))
"""Constants of the finaliser as numpy numbers; making them takes a fourth of the time for a short array."""


class WordHasher:
    """Hashes of words, and digests of other texts, under one secret.

    A word is hashed by the multilinear family: the sum of its pieces of four bytes, each times a key of its own. Two
    different words have one hash under one in 2^32 secrets at most, whoever chose them (Lemire and Kaser, "Strongly
    universal string hashing is fast", 2014). MurmurHash3 has collisions that hold for every seed; its finaliser alone
    is used, to spread these hashes. The keys are made of the secret; without one anyone can make them.
    """

    def __init__(self, secret: bytes = b"") -> None:
        self._key = blake2b(secret, digest_size=32).digest() if secret else b""
        self.secret_id: int = int.from_bytes(blake2b(self._key, digest_size=2).digest(), "little") or 1 if secret else 0
        """16 bits that differ between secrets and do not reveal them; 0 without a secret."""
        self._keyed_blake2b = blake2b(key=self._key, digest_size=8)
        keys = blake2b(key=self._key, digest_size=8 * _PIECES, person=b"words").digest()
        self.keys: NDArray[np.uint64] = np.frombuffer(keys, "<u8").astype(np.uint64)
        """A key for each piece of a word, shape (pieces,); as confidential as the secret."""
        try:
            from scrapy_simdedup.fingerprint import _hashing  # noqa: PLC0415 - it imports this module itself
        except ImportError:  # installed without a compiler
            self._hash_words = hash_words
        else:
            self._hash_words = _hashing.hash_words

    def hash_texts(self, texts: Sequence[str]) -> tuple[Hashes, Rows]:
        """See :func:`hash_words`."""
        return self._hash_words(texts, self.keys, self.digest)

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
