"""What the text of a block looks like: its characters by their kinds, and what has a form of its own, in any script."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MAX_TITLE_LENGTH = 300
"""Characters above which a block is not compared with the title."""
MAX_REPEATED_LENGTH = 100
"""Characters above which two blocks that differ in numbers only are two."""
MAX_PATTERN_LENGTH = 200
"""Characters above which a block is searched for no date and no price."""

OTHER, SPACE, STOP, COMMA, DIGIT, UPPER, SIGN, WIDE, LOWER = range(9)
_KINDS = 9


def _kinds_of_bytes() -> NDArray[np.uint8]:
    kinds = np.zeros(256, np.uint8)
    for kind, those in (
        *((SPACE, b" \t\n\r\f\v\x1e"), (STOP, b".!?"), (COMMA, b",;:"), (DIGIT, b"0123456789")),
        *((UPPER, bytes(range(65, 91))), (LOWER, bytes(range(97, 123))), (SIGN, b"|/>\\*+=<_#@$%&()[]{}~^")),
        (WIDE, bytes(range(0xC0, 256))),
    ):
        kinds[list(those)] = kind
    return kinds


KIND_OF_BYTE = _kinds_of_bytes()
STOPS = frozenset(".!?…。！？")
ENDS = STOPS | frozenset(":;\"'”»)")
WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+")
DATE = re.compile(r"\b(?:19|20)\d\d\b|\b\d{1,2}[./:-]\d{1,2}\b")
PRICE = re.compile(r"[$€£¥₹]\s?\d|\d\s?[€₽]")


def count_characters(texts: Sequence[str]) -> NDArray[np.int64]:
    """How many characters of each kind there are in each text; those that are not ASCII count once."""
    raw = [text.encode("utf-8", "replace") for text in texts]
    starts = np.repeat(np.arange(len(raw)) * _KINDS, [len(text) for text in raw])
    found = KIND_OF_BYTE[np.frombuffer(b"".join(raw), np.uint8)]
    return np.bincount(starts + found, minlength=len(raw) * _KINDS).reshape(len(raw), _KINDS)


def count_repeats(texts: Sequence[str], with_digits: Sequence[bool]) -> NDArray[np.int64]:
    """How often the page has each text; short ones may differ in numbers."""
    keys = [
        _NUMBER.sub("0", text) if digits and len(text) < MAX_REPEATED_LENGTH else text
        for text, digits in zip(texts, with_digits, strict=True)
    ]
    counts = Counter(keys)
    return np.array([counts[key] for key in keys], np.int64)


def likeness_to_title(
    title: str, texts: Sequence[str], length: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each short block, the share of its words that the title has, and of the title's words that it has."""
    share, covered = np.zeros(len(texts)), np.zeros(len(texts))
    wanted = set(WORD.findall(title.lower()))
    if wanted:
        for number in np.flatnonzero(length <= MAX_TITLE_LENGTH).tolist():
            words = WORD.findall(texts[number].lower())
            if words and not wanted.isdisjoint(words):
                share[number] = sum(map(wanted.__contains__, words)) / len(words)
                covered[number] = len(wanted.intersection(words)) / len(wanted)
    return share, covered
