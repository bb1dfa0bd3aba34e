"""Text → words → 64-bit numbers, the same in every process. Words travel as UTF-8, which is what is hashed."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

import mmh3

if TYPE_CHECKING:
    from collections.abc import Iterable

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Thai, Lao, Burmese, Khmer, kana, Han and Hangul, which write no or few spaces."""

_WORD = re.compile(f"[{_UNSPACED}]|[^\\W{_UNSPACED}]+")

_ASCII = bytes(ord(chr(code).lower()) if chr(code).isalnum() or chr(code) == "_" else 32 for code in range(128))
_ASCII += bytes(128)
"""What ``_WORD`` and ``lower()`` do, for a text of ASCII alone: anything but a word character becomes a space."""

_MARKS = re.compile(r"([^\w\s]{32})[^\w\s]+")
"""The rest of a long run of signs. Normalising sorts combining marks in quadratic time; as signs are no words, nothing
is lost without them."""

_LIGATURE = "\ufdfa"
_LIGATURES = 1_000
"""Characters by which a text may grow beyond its double: the ligature stands for 18, and a page full of it for
nothing but work."""

_PARTED = _ASCII[:128] + bytes(range(128, 256))
"""The same for a text in UTF-8: what is not ASCII stays as it came, and is no end of a word yet."""

_BETWEEN = b"\xff"
"""Parts texts in UTF-8, in which this byte never is."""

_BY_CONTEXT = ("\u03a3".encode(), _LIGATURE.encode())
"""Where the text around decides: on the lower case of a capital sigma, and on what a ligature may stand for."""

_MEMO = 200_000
_MEMO_LENGTH = 64


def split_words(text: str) -> list[bytes]:
    """The words of a text in lower case; a character is a word where scripts write no spaces.

    >>> [word.decode() for word in split_words("The 3rd tide, 東京")]
    ['the', '3rd', 'tide', '東', '京']
    """
    if text.isascii():
        return text.encode().translate(_ASCII).split()
    if 17 * text.count(_LIGATURE) < len(text) + _LIGATURES and not unicodedata.is_normalized("NFKC", text):
        normal = unicodedata.normalize("NFKC", _MARKS.sub(r"\1", text))
        text = normal if len(normal) < 2 * len(text) + _LIGATURES else text
    return " ".join(_WORD.findall(text.lower())).encode("utf-8", "surrogatepass").split()


class WordHashes(dict[bytes, bytes]):
    """Eight bytes for each word, made on first use and kept while there is room.

    Without a secret they are the word's MurmurHash3, which anyone can compute. With one they are a keyed BLAKE2b, since
    MurmurHash3 has collisions that hold for every seed.

    The keys are what stands between signs of ASCII, in UTF-8 with ASCII in lower case. That is a word in most texts; in
    others none, such as a dash, or many, such as a line of Chinese. Then the value has eight bytes for each.
    """

    def __init__(self, secret: bytes = b"") -> None:
        super().__init__()
        self._key = blake2b(secret, digest_size=32).digest() if secret else b""
        self.secret_id = int.from_bytes(blake2b(self._key, digest_size=2).digest(), "little") or 1 if secret else 0
        """16 bits that tell secrets apart without telling them; 0 without a secret."""
        self._blank = blake2b(key=self._key, digest_size=8)
        self._word = lru_cache(_MEMO)(self.digest)

    def of_texts(self, texts: Iterable[str]) -> list[bytes]:
        """Of each text, the digests of the words that :func:`split_words` finds, joined."""
        texts = list(texts)
        raw = _BETWEEN.join([text.encode("utf-8", "surrogatepass") for text in texts]).translate(_PARTED)
        join, known = b"".join, self.__getitem__
        made = [join(map(known, text.split())) for text in raw.split(_BETWEEN)] if texts else []
        if any(character[:1] in raw and character in raw for character in _BY_CONTEXT):  # one byte is found in no time
            for number, text in enumerate(texts):
                if any(character.decode() in text for character in _BY_CONTEXT):
                    made[number] = self._all(split_words(text))
        return made

    def __missing__(self, part: bytes) -> bytes:
        made = self.digest(part) if part.isascii() else self._all(split_words(part.decode("utf-8", "surrogatepass")))
        if len(part) <= _MEMO_LENGTH:
            if len(self) >= _MEMO:
                self.clear()
            self[part] = made
        return made

    def _all(self, words: list[bytes]) -> bytes:
        return b"".join([self._word(word) if len(word) <= _MEMO_LENGTH else self.digest(word) for word in words])

    def digest(self, text: bytes) -> bytes:
        """Eight bytes for any text; not kept."""
        return self.strong_digest(text) if self._key else mmh3.hash_bytes(text)[:8]

    def strong_digest(self, text: bytes) -> bytes:
        """Eight bytes of BLAKE2b for any text, keyed where there is a secret."""
        digest = self._blank.copy()  # half the time that the key takes
        digest.update(text)
        return digest.digest()


@lru_cache(maxsize=4)
def word_hashes(secret: bytes = b"") -> WordHashes:
    """The digests under a secret; one memo for the process."""
    return WordHashes(secret)
