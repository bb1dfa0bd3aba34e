"""Exact digests: pages are the same if, after some normalising, they are the same character for character."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_simdedup.fingerprint.word_hashes import word_hashes
from scrapy_simdedup.page.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from scrapy_simdedup.page.page import Block
    from scrapy_simdedup.settings import Mask

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


def normalise(text: str, masked: Collection[Mask] = ()) -> str:
    r"""The text in one line with single spaces, and what is masked made equal.

    >>> normalise("Posted  on 5 May 2024,\n 12:30 pm: 1,204 views", ["dates", "times", "numbers"])
    'Posted on <date>, <time>: <number> views'

    Args:
        text: Any text.
        masked: ``"case"``; ``"dates"`` in digits, and in English words; ``"times"`` of day; ``"numbers"``, also those
            of dates and times that are not masked themselves.
    """
    text = " ".join(text.split())
    if "case" in masked:
        text = text.casefold()
    if "dates" in masked:
        text = _DATE.sub("<date>", text)
    if "times" in masked:
        text = _TIME.sub("<time>", text)
    if "numbers" in masked:
        text = _NUMBER.sub("<number>", text)
    return text


def text_digest(texts: Iterable[str], masked: Collection[Mask] = (), secret: bytes = b"") -> bytes:
    """8 bytes that are equal for equal texts, whatever the white space in and around them."""
    whole = "\n".join(filter(None, (normalise(text, masked) for text in texts)))
    return word_hashes(secret).strong_digest(whole.encode("utf-8", "surrogatepass"))


def content_digest(blocks: Sequence[Block], masked: Collection[Mask] = (), secret: bytes = b"") -> bytes:
    """The same of a page's main content: its blocks that are no frame."""
    return text_digest((block.text for block in blocks if block.kind > Kind.FRAME), masked, secret)
