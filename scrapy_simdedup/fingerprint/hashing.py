"""The words of texts, and the keyed 64-bit hashes of words and shingles, unpredictable without the secret.

A run of letters and digits is a word; in scripts that write no spaces each character is one. Compatible characters are
the same (Unicode's normalisation form KC). Signs are no words, but for check marks and the like, and those that end a
name, as of C++, C# and the S10+. Marks count where they make a letter another one, or are the vowels of their script.
Other signs that say something are asked for apart from the words: see :func:`saying_signs`.

The functions work in numpy, on all words at once. Where the package was installed with its compiled part,
:mod:`scrapy_simdedup.fingerprint._hashing` does the same.
"""

from __future__ import annotations

import hmac
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from typing import TypeAlias
from zlib import crc32

import mmh3
import numpy as np
from numpy.typing import NDArray

TEXT_END = 30
"""The byte behind a text, ASCII's record separator. Bytes above it are parts of words; 0 separates words."""
_ASCII_TABLE = bytes(
    TEXT_END if code == TEXT_END else ord(chr(code).lower()) if chr(code).isalnum() or chr(code) in "_+#" else 0
    for code in range(128)
).ljust(256)
"""The byte that each ASCII character becomes."""
_WORD_RUNS = re.compile(rf"[\w{chr(TEXT_END)}]+")
_UNSPACED_SCRIPTS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)
"""Thai, Lao, Burmese, Khmer, kana, Han and Hangul, which write no or few spaces."""
_ANSWERS = re.compile("[\u25b3\u25cb-\u25cf\u2610-\u2612\u2705\u2713-\u2718\u274c]+")
"""Check marks, crosses and circles: they may be all that a cell of a table says. Stars decorate as well."""
_SIGNS = re.compile("[+#]+")
_SIGN_IN_WORDS = re.compile(
    rb"((?:(?<=[^\x00-\x1e+#])\+|(?:(?<=\A[a-z])|(?<=[\x00-\x1e+#][a-z]))#)\+*(?![^\x00-\x1e+#]))|[+#]"
)
"""Signs among words. As a group those that end a name: plus signs behind a word, and the number sign behind a single
letter, as behind a word it is a link to a heading."""
_SIGNS_ALONE = (
    "$%=\u00a2-\u00a5\u00b1\u00f7\u058f\u060b\u09f2\u09f3\u17db\u2030\u20a0-\u20cf\u221e\u2248\u2260\u2264\u2265\ufdfc\uff04"
    "\uff05\uff1d\uffe0\uffe1\uffe5\uffe6\u2605\u2606\u26aa\u26ab\u2b50\U0001f44d\U0001f44e\U0001f534\U0001f535\U0001f7e0-\U0001f7eb"
)
# One class of characters leads, as a search then skips all others: that is thrice as fast.
_SAYING_SIGNS = re.compile(
    rf"[{_SIGNS_ALONE}<>+\u2212\u2013-](?:(?<=[{_SIGNS_ALONE}])"
    r"|(?<=[\u2212\u2013-])(?:(?<![\w)].)\d|(?<=[A-Z].)(?<![\w-][A-Z].)(?![\w-]))"
    r"|(?<=\+)(?:\d|(?<!\S.)(?!\S))|(?<=[<>])(?:=|\s?\d))"
)
"""Currencies, shares, relations, marks and lights; the sign of a number, the minus of a grade, a plus between spaces.
What parts or decorates texts is none, as another template has another one: bars, dots, arrows, dashes, crosses."""
_MINUS = str.maketrans("\u2212\u2013", "--")
_VOWELS_ARE_MARKS = re.compile(
    "[\u0780-\u07bf\u0900-\u0dff\u0f00-\u0fff\u1700-\u177f\u1900-\u1aaf\u1b00-\u1bff\ua800-\uabff]"
)
"""Scripts that write vowels as marks, such as Devanagari, Bengali, Tamil and Tibetan: a word without them is another.
Hebrew and Arabic leave theirs out as a rule."""
_NON_WORD = re.compile(r"\W")
"""Signs, spaces, and marks."""
CODE_POINT_MASK = np.uint32((1 << 21) - 1)
IS_SIGN, IS_OWN_WORD, IS_MARK, FAILS_QUICK_CHECK = (np.uint32(1 << bit) for bit in (28, 29, 30, 31))
"""Flags of a character beside its code point. A text of which no character fails the quick check is in normal form."""
_JAMO = (0x1160, 0x11FF)
"""Vowels and consonants of Hangul that may be joined with the character before them."""
_ASSIGNED, _MARKED = 0x40000, 0x20000
"""Beyond these code points there are no letters, and no marks that normalising moves."""
_LONG_MARKS = re.compile(r"([^\w\s\0]{32})[^\w\s\0]+")
"""The rest of a long run of marks, which normalising would sort in quadratic time."""
LIGATURE = "\ufdfa"
MAX_NFKC_GROWTH = 1_000
"""Characters by which normalising may make a text longer than twice its length. The ligature stands for 18 characters,
and a page full of it would only cost time."""
CodePoints: TypeAlias = NDArray[np.uint32]
Hashes: TypeAlias = NDArray[np.uint64]
Rows: TypeAlias = NDArray[np.intp]
_STEP = 8
"""Bytes of a word that are taken at once: two pieces, each of which has a key."""
_LOW_BYTES = np.array([(1 << 8 * count) - 1 for count in range(_STEP + 1)], np.uint64)
"""Masks that leave so many bytes of eight, the first ones."""
_LOW, _HIGH = np.uint64(0xFFFF_FFFF), np.uint64(32)
_PIECES = 8
"""Pieces of four bytes of a word for which there are keys; few words have more."""


def join_words(texts: Sequence[str]) -> bytes:
    """The words of all texts, separated by zeros, with one :data:`TEXT_END` behind each text."""
    joined = chr(TEXT_END).join((*texts, ""))
    if joined.count(chr(TEXT_END)) != len(texts):
        joined = chr(TEXT_END).join((*(text.replace(chr(TEXT_END), " ") for text in texts), ""))
    words = joined.encode().translate(_ASCII_TABLE) if joined.isascii() else normalised_words(joined).encode()
    return _SIGN_IN_WORDS.sub(lambda found: found[1] or b"\0", words) if b"+" in words or b"#" in words else words


def split_words(text: str) -> list[bytes]:
    """The words of a text.

    >>> [word.decode() for word in split_words("The 3rd tide, 東京")]
    ['the', '3rd', 'tide', '東', '京']
    >>> [word.decode() for word in split_words("C++, C# and the S10+: #1 + #2")]
    ['c++', 'c#', 'and', 'the', 's10+', '1', '2']
    """
    return join_words([text])[:-1].replace(b"\0", b" ").split()


def saying_signs(text: str) -> str:
    """The signs of a text that say something and are no words, a minus with its number.

    >>> saying_signs("5 $ < 6 €, -7 °C"), saying_signs("Ann | a well-known page (2)")
    ('$< 6€-7', '')
    """
    return "".join(_SAYING_SIGNS.findall(text))


def sign_digest(signs: str) -> int:
    """32 bits of :func:`saying_signs`; 0 for none.

    >>> sign_digest("$") == sign_digest("€"), sign_digest("-5★★") == sign_digest("\u22125★★"), sign_digest("")
    (False, True, 0)
    """
    if not signs:
        return 0
    if not signs.isascii():
        signs = unicodedata.normalize("NFKC", signs).translate(_MINUS)
    return crc32(signs.encode("utf-8", "surrogatepass"))


def normalised_words(text: str) -> str:
    """The letters, digits, + and # of a text in lower case and normal form, with zeros and text ends between words."""
    codes = _fold(text)
    found = np.bitwise_or.reduce(codes)
    letters = _decode(codes)
    normal = normal_form(letters) if found & FAILS_QUICK_CHECK else letters
    if found & IS_MARK or normal != letters:
        codes = _fold(normal)
        codes = codes[codes & (IS_MARK | IS_OWN_WORD) != IS_MARK]
    elif not found & IS_OWN_WORD:
        return letters
    is_alone = codes & IS_OWN_WORD > 0
    width = np.where(is_alone, 3, 1)
    middle = (np.cumsum(width) - 2)[is_alone]
    codes = np.repeat(codes, width)
    codes[middle - 1] = codes[middle + 1] = 0
    return _decode(codes)


def normal_form(letters: str) -> str:
    """Letters in normal form KC, without the rest of long runs of marks; as they are where that would grow too much."""
    text = without_long_marks(letters)
    if 17 * text.count(LIGATURE) > len(text) + MAX_NFKC_GROWTH:
        return text
    normal = unicodedata.normalize("NFKC", text)
    return normal if len(normal) < 2 * len(text) + MAX_NFKC_GROWTH else text


def without_long_marks(letters: str) -> str:
    """Letters without the rest of long runs of marks, which would take quadratic time to normalise."""
    return _LONG_MARKS.sub(r"\1", letters)


def _fold(text: str) -> CodePoints:
    """For each character the code point of its lower case, and its flags; 0 for spaces and signs."""
    folded: CodePoints = fold_table()[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")]
    return folded


def _decode(codes: CodePoints) -> str:
    points = (codes & CODE_POINT_MASK).astype("<u4", copy=False)
    return str(points.tobytes(), "utf-32-le")


@cache
def fold_table() -> CodePoints:
    """What each character becomes, by its code point; made at the first call, in some 0.03 seconds."""
    table = np.zeros(0x110000, np.uint32)
    characters = np.arange(_ASSIGNED, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    # Of one character each, and whatever is next to it: the dotted I would become two, and a sigma's form depend.
    lower = characters.replace("\u0130", "i").lower().replace("\u03c2", "\u03c3")
    codes = np.frombuffer(lower.encode("utf-32-le", "surrogatepass"), "<u4")
    for runs, flag in ((_WORD_RUNS, 0), (_SIGNS, IS_SIGN), (_UNSPACED_SCRIPTS, IS_OWN_WORD), (_ANSWERS, IS_OWN_WORD)):
        for run in runs.finditer(characters):
            here = slice(*run.span())
            table[here] = codes[here] | flag
    others = (other.start() for other in _NON_WORD.finditer(characters, 0, _MARKED))
    marks = [code for code in others if unicodedata.category(chr(code)) in {"Mn", "Mc"}]
    table[marks] |= codes[marks] | FAILS_QUICK_CHECK
    table[[code for code in marks if not _VOWELS_ARE_MARKS.match(chr(code))]] |= IS_MARK
    table[_failing_quick_check(table & CODE_POINT_MASK)] |= FAILS_QUICK_CHECK
    return table


def _failing_quick_check(codes: CodePoints) -> NDArray[np.intp]:
    """The characters that become one that is not in normal form, or may not be behind another."""
    letters = (codes > TEXT_END).nonzero()[0]
    found = [letters[(codes[letters] >= _JAMO[0]) & (codes[letters] <= _JAMO[1])]]
    for start in range(0, len(letters), 64):
        some = letters[start : start + 64]
        characters = list(map(chr, codes[some].tolist()))
        if not unicodedata.is_normalized("NFKC", "\0".join(characters)):
            found.append(some[[not unicodedata.is_normalized("NFKC", character) for character in characters]])
    return np.concatenate(found)


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


def inverse_fmix64(mixed: int) -> int:
    """The inverse of :func:`fmix64`: the number whose hash is given.

    >>> inverse_fmix64(int(fmix64(np.array([2026], np.uint64))[0]))
    2026
    """
    half, one, other = map(int, _FMIX64)
    for factor in (other, one):
        mixed = (mixed ^ mixed >> half) * pow(factor, -1, 1 << 64) % (1 << 64)
    return mixed ^ mixed >> half


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
        if not self._key:
            return mmh3.hash_bytes(text)[:8]
        digest = self._keyed_blake2b.copy()  # half the time that the key takes
        digest.update(text)
        return digest.digest()

    def number(self, text: bytes, size: int) -> int:
        """``size`` bytes of the digest of a text, as a number that is not 0; 0 for no text."""
        return int.from_bytes(self.digest(text)[:size], "little") or 1 if text else 0

    def long_digest(self, text: bytes) -> bytes:
        """Eight bytes of SHA-256 for a text of any length, keyed where there is a secret.

        Processors have instructions for it: a page takes a third of the time of BLAKE2b, though a title takes more.
        """
        return hmac.digest(self._key, text, "sha256")[:8]


@lru_cache(maxsize=4)
def word_hasher(secret: bytes = b"") -> WordHasher:
    """The word hasher of a secret, made once."""
    return WordHasher(secret)
