"""The words of texts, in UTF-8 and in lower case; and texts in one line, without what is ignored.

A run of letters and digits is a word; in scripts that write no spaces each character is one. Compatible characters are
the same (Unicode's normalisation form KC), signs are no words, and marks count where they make a letter another one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from scrapy_simdedup.settings import Mask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    CodePoints: TypeAlias = NDArray[np.uint32]

TEXT_END = 30
"""The byte behind a text, ASCII's record separator. Bytes above it are parts of words; 0 separates words."""
_ASCII_TABLE = bytes(
    TEXT_END if code == TEXT_END else ord(chr(code).lower()) if chr(code).isalnum() or chr(code) == "_" else 0
    for code in range(128)
).ljust(256)
"""The byte that each ASCII character becomes."""
_WORD_RUNS = re.compile(rf"[\w{chr(TEXT_END)}]+")
_UNSPACED_SCRIPTS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)
"""Thai, Lao, Burmese, Khmer, kana, Han and Hangul, which write no or few spaces."""
_NON_WORD = re.compile(r"\W")
"""Signs, spaces, and marks."""
CODE_POINT_MASK = np.uint32((1 << 21) - 1)
IS_OWN_WORD, IS_MARK, FAILS_QUICK_CHECK = (np.uint32(1 << bit) for bit in (29, 30, 31))
"""Flags of a character beside its code point. A text of which no character fails the quick check is in normal form."""
_JAMO = (0x1160, 0x11FF)
"""Vowels and consonants of Hangul that may be joined with the character before them."""
_ASSIGNED, _MARKED = 0x40000, 0x20000
"""Beyond these code points there are no letters, and no marks that normalising moves."""
_LONG_MARKS = re.compile(r"([^\w\s\0]{32})[^\w\s\0]+")
"""The rest of a long run of marks, which normalising would sort in quadratic time."""
_LIGATURE = "\ufdfa"
_MAX_NFKC_GROWTH = 1_000
"""Characters by which normalising may make a text longer than twice its length. The ligature stands for 18 characters,
and a page full of it would only cost time."""
MAX_QUICK_CHECK_FAILURES = _MAX_NFKC_GROWTH // 18
"""Characters that cannot make a text so long, even if each is the ligature."""
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DATE = re.compile(
    r"(?<!\d)(?:\d{1,4}([-/.])\d{1,2}\1\d{1,4}"
    r"|\d{1,4} ?[年년] ?\d{1,2} ?[月월](?: ?\d{1,2} ?[日일])?"
    rf"|\d{{1,2}}(?:st|nd|rd|th|\.)? {_MONTH},? \d{{4}})(?!\d)"
    rf"|(?<![^\W\d_]){_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}(?!\d)",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(?<!\d)T?\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?!\d)"
    r"(?: ?[ap]\.?m\b\.?)?(?: ?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})(?![^\W_]))?",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,' ]\d+)*")


def join_words(texts: Sequence[str]) -> bytes:
    """The words of all texts, separated by zeros, with one :data:`TEXT_END` behind each text."""
    joined = chr(TEXT_END).join((*texts, ""))
    if joined.count(chr(TEXT_END)) != len(texts):
        joined = chr(TEXT_END).join((*(text.replace(chr(TEXT_END), " ") for text in texts), ""))
    if joined.isascii():
        return joined.encode().translate(_ASCII_TABLE)
    return normalised_words(joined).encode()


def split_words(text: str) -> list[bytes]:
    """The words of a text.

    >>> [word.decode() for word in split_words("The 3rd tide, 東京")]
    ['the', '3rd', 'tide', '東', '京']
    """
    return join_words([text])[:-1].replace(b"\0", b" ").split()


def normalised_words(text: str) -> str:
    """The letters and digits of a text in lower case and in normal form, with zeros and text ends between words."""
    codes = _fold(text)
    found = np.bitwise_or.reduce(codes)
    letters = _decode(codes)
    if found & FAILS_QUICK_CHECK and (found & IS_MARK or not unicodedata.is_normalized("NFKC", letters)):
        codes = _fold(normal_form(letters))
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
    text = _LONG_MARKS.sub(r"\1", letters)
    if 17 * text.count(_LIGATURE) > len(text) + _MAX_NFKC_GROWTH:
        return text
    normal = unicodedata.normalize("NFKC", text)
    return normal if len(normal) < 2 * len(text) + _MAX_NFKC_GROWTH else text


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
    for runs, flag in ((_WORD_RUNS, 0), (_UNSPACED_SCRIPTS, IS_OWN_WORD)):
        for run in runs.finditer(characters):
            here = slice(*run.span())
            table[here] = codes[here] | flag
    others = (other.start() for other in _NON_WORD.finditer(characters, 0, _MARKED))
    marks = [code for code in others if unicodedata.category(chr(code)) in {"Mn", "Mc"}]
    table[marks] |= codes[marks] | IS_MARK | FAILS_QUICK_CHECK
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


def normalise(text: str, ignored: Collection[Mask] = ()) -> str:
    r"""The text in one line with single spaces, and with one placeholder for all that is ignored.

    Ignored are ``"case"``; ``"dates"`` in digits, and in English words; ``"times"`` of day; ``"numbers"``, also those
    of dates and times that are not ignored themselves.

    >>> normalise("Posted  on 5 May 2024,\n 12:30 pm: 1,204 views", ["dates", "times", "numbers"])
    'Posted on <date>, <time>: <number> views'
    """
    text = " ".join(text.split())
    if "case" in ignored:
        text = text.casefold()
    if "dates" in ignored:
        text = _DATE.sub("<date>", text)
    if "times" in ignored:
        text = _TIME.sub("<time>", text)
    if "numbers" in ignored:
        text = _NUMBER.sub("<number>", text)
    return text
