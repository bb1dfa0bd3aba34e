"""The method ``exact``: pages are copies if body, text or content are equal, apart from what is ignored."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.fingerprint.hashing import word_hasher
from scrapy_simdedup.fingerprint.methods.base import ComparableText, Digests, Method
from scrapy_simdedup.fingerprint.similarity import COMMON_FIELDS, differ
from scrapy_simdedup.settings import DedupSettings, ExactScope, Mask

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


def text_digest(texts: Iterable[str], ignored: Collection[Mask] = (), secret: bytes = b"") -> bytes:
    """8 bytes that are equal for equal texts, whatever the white space in and around them."""
    whole = "\n".join(filter(None, (normalise(text, ignored) for text in texts)))
    return word_hasher(secret).blake2b_digest(whole.encode("utf-8", "surrogatepass"))


_SCOPES, _MASKS = get_args(ExactScope), get_args(Mask)  # fingerprints have their places, so new ones come last


class Exact(Method):
    """Equality of a digest."""

    row_dtype: np.dtype[np.void] = np.dtype([*COMMON_FIELDS])
    has_keys = True
    variants: int = len(_SCOPES) << len(_MASKS)

    def variant(self, settings: DedupSettings) -> int:
        """What is digested, and what is ignored in it."""
        ignored = sum(1 << bit for bit, mask in enumerate(_MASKS) if mask in settings.ignore)
        return _SCOPES.index(settings.exact) << len(_MASKS) | (ignored if settings.exact != "body" else 0)

    def digest(self, text: ComparableText, settings: DedupSettings, secret: bytes) -> Digests:
        """The digest of the body, the text or the content."""
        if settings.exact == "body":
            return Digests(text.body)
        blocks = text.blocks if settings.exact == "text" else text.content_blocks
        return Digests(text_digest((block.text for block in blocks), settings.ignore, secret))

    def are_twins(self, one: np.void, many: NDArray[np.void]) -> NDArray[np.bool_]:
        """Whether the identities differ: what headlines may differ in is said by what is digested and ignored."""
        return differ(one["identity"], many["identity"])
