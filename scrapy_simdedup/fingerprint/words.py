"""Texts → words, in UTF-8 and in lower case.

A run of letters and digits is a word; in scripts that write no spaces each character is one. Compatible characters are
the same (Unicode's normalisation form KC), signs are no words, and marks count where they make a letter another one.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Codes: TypeAlias = NDArray[np.uint32]
    Rows: TypeAlias = NDArray[np.intp]

END = 30
"""The byte behind a text, ASCII's separator of records. Of what is above it words consist; below it, 0 parts them."""

_ASCII = bytes(
    END if code == END else ord(chr(code).lower()) if chr(code).isalnum() or chr(code) == "_" else 0
    for code in range(128)
).ljust(256)
"""What becomes of each character of ASCII."""

_LETTERS = re.compile(rf"[\w{chr(END)}]+")
_ALONE = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)
"""Thai, Lao, Burmese, Khmer, kana, Han and Hangul, which write no or few spaces."""

_OTHER = re.compile(r"\W")
"""Signs, spaces, and marks."""

CODE = np.uint32((1 << 21) - 1)
IS_ALONE, IS_MARK, IS_UNSURE = (np.uint32(1 << bit) for bit in (29, 30, 31))
"""What is told of a character beside its code point; a text without any that is unsure is in normal form."""

_JAMO = (0x1160, 0x11FF)
"""Vowels and consonants of Hangul that may become one character with what is before them."""

_ASSIGNED, _MARKED = 0x40000, 0x20000
"""Beyond these code points there are no letters, and no marks that normalising moves."""

_LONG_MARKS = re.compile(r"([^\w\s\0]{32})[^\w\s\0]+")
"""The rest of a long run of marks, which normalising would sort in quadratic time."""

_LIGATURE = "\ufdfa"
_GROWTH = 1_000
"""Characters by which normalising may make a text longer than its double: the ligature stands for 18, and a page full
of it for nothing but work."""
FEW_UNSURE = _GROWTH // 18
"""So many characters cannot do so, even if each is the ligature."""


def join_words(texts: Sequence[str]) -> bytes:
    """The words of all texts, parted by any number of zeros; behind each text is one :data:`END`."""
    joined = chr(END).join((*texts, ""))
    if joined.count(chr(END)) != len(texts):
        joined = chr(END).join((*(text.replace(chr(END), " ") for text in texts), ""))
    if joined.isascii():
        return joined.encode().translate(_ASCII)
    return plain(joined).encode()


def split_words(text: str) -> list[bytes]:
    """The words of a text.

    >>> [word.decode() for word in split_words("The 3rd tide, 東京")]
    ['the', '3rd', 'tide', '東', '京']
    """
    return join_words([text])[:-1].replace(b"\0", b" ").split()


def plain(text: str) -> str:
    """A text of nothing but letters and digits in lower case and in normal form, zeros and ends."""
    codes = _folded(text)
    found = np.bitwise_or.reduce(codes)
    letters = _text(codes)
    if found & IS_UNSURE and (found & IS_MARK or not unicodedata.is_normalized("NFKC", letters)):
        codes = _folded(_normal(_LONG_MARKS.sub(r"\1", letters)))
        codes = codes[codes & (IS_MARK | IS_ALONE) != IS_MARK]
    elif not found & IS_ALONE:
        return letters
    is_alone = codes & IS_ALONE > 0
    width = np.where(is_alone, 3, 1)
    middle = (np.cumsum(width) - 2)[is_alone]
    codes = np.repeat(codes, width)
    codes[middle - 1] = codes[middle + 1] = 0
    return _text(codes)


def _normal(text: str) -> str:
    if 17 * text.count(_LIGATURE) > len(text) + _GROWTH:
        return text
    normal = unicodedata.normalize("NFKC", text)
    return normal if len(normal) < 2 * len(text) + _GROWTH else text


def _folded(text: str) -> Codes:
    """Of each character the code point of its lower case, and what is told of it; 0 for spaces and signs."""
    folded: Codes = folding()[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")]
    return folded


def _text(codes: Codes) -> str:
    points = (codes & CODE).astype("<u4", copy=False)
    return str(points.tobytes(), "utf-32-le")


@cache
def folding() -> Codes:
    """What becomes of each character; made when it is first asked for, in some 0.03 seconds."""
    table = np.zeros(0x110000, np.uint32)
    characters = np.arange(_ASSIGNED, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    # Of one character each, and whatever is next to it: the dotted I would become two, and a sigma's form depend.
    lower = characters.replace("\u0130", "i").lower().replace("\u03c2", "\u03c3")
    codes = np.frombuffer(lower.encode("utf-32-le", "surrogatepass"), "<u4")
    for runs, told in ((_LETTERS, 0), (_ALONE, IS_ALONE)):
        for run in runs.finditer(characters):
            here = slice(*run.span())
            table[here] = codes[here] | told
    others = (other.start() for other in _OTHER.finditer(characters, 0, _MARKED))
    marks = [code for code in others if unicodedata.category(chr(code)) in {"Mn", "Mc"}]
    table[marks] |= codes[marks] | IS_MARK | IS_UNSURE
    table[_not_normal(table & CODE)] |= IS_UNSURE
    return table


def _not_normal(codes: Codes) -> Rows:
    """The characters that become one which is not in normal form, or might not be behind another."""
    letters = (codes > END).nonzero()[0]
    found = [letters[(codes[letters] >= _JAMO[0]) & (codes[letters] <= _JAMO[1])]]
    for start in range(0, len(letters), 64):
        some = letters[start : start + 64]
        characters = list(map(chr, codes[some].tolist()))
        if not unicodedata.is_normalized("NFKC", "\0".join(characters)):
            found.append(some[[not unicodedata.is_normalized("NFKC", character) for character in characters]])
    return np.concatenate(found)
