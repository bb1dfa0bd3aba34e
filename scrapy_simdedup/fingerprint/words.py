"""Text → words → 64-bit numbers, the same in every process."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from hashlib import blake2b

import mmh3

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Thai, Lao, Burmese, Khmer, kana, Han and Hangul, which write no or few spaces."""

_WORD = re.compile(f"[{_UNSPACED}]|[^\\W{_UNSPACED}]+")

_MARKS = re.compile(r"([^\w\s]{32})[^\w\s]+")
"""The rest of a long run of signs. Normalising sorts combining marks in quadratic time; as signs are no words, nothing
is lost without them."""

_MEMO = 200_000
_MEMO_LENGTH = 64


def split_words(text: str) -> list[str]:
    """The words of a text in lower case; a character is a word where scripts write no spaces.

    >>> split_words("The 3rd tide, 東京")
    ['the', '3rd', 'tide', '東', '京']
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _MARKS.sub(r"\1", text))
    return _WORD.findall(text.lower())


class WordHashes(dict[str, int]):
    """64-bit numbers of words, made on first use and kept while there is room.

    Without a secret a word's number is its MurmurHash3, which anyone can compute. With one it is a keyed BLAKE2b, since
    MurmurHash3 has collisions that hold for every seed.
    """

    def __init__(self, secret: bytes = b"") -> None:
        super().__init__()
        self._key = blake2b(secret, digest_size=32).digest() if secret else b""
        self.secret_id = int.from_bytes(blake2b(self._key, digest_size=2).digest(), "little") or 1 if secret else 0
        """16 bits that tell secrets apart without telling them; 0 without a secret."""

    def __missing__(self, word: str) -> int:
        number = self.number(word)
        if len(word) <= _MEMO_LENGTH:
            if len(self) >= _MEMO:
                self.clear()
            self[word] = number
        return number

    def number(self, text: str) -> int:
        """64 bits of any text; not kept."""
        raw = text.encode("utf-8", "surrogatepass")
        if self._key:
            return int.from_bytes(blake2b(raw, key=self._key, digest_size=8).digest(), "little")
        return mmh3.hash64(raw, signed=False)[0]


@lru_cache(maxsize=4)
def word_hashes(secret: bytes = b"") -> WordHashes:
    """The numbers under a secret; one memo for the process."""
    return WordHashes(secret)
