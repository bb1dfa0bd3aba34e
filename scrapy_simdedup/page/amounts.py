"""Short texts: amounts and counters, such as a price and "12 people are looking at this", and names."""

from __future__ import annotations

import re

MAX_LENGTH = 100
"""Characters of a short text at most."""

_DIGIT, _LETTER = re.compile(r"\d"), re.compile(r"[^\W\d_]")
_CURRENCY = re.compile(
    r"[$%\u00a3\u00a5\u20a0-\u20cf\uffe1\uffe5\u5186\u5143\uc6d0]"
    r"|(?<![^\W\d_])(?:[A-Z]{2}[DRFNKLY]|GBP|EUR|CHF|z\u0142|K\u010d|kr|Ft|lei|\u0440\u0443\u0431|\u0440)(?![^\W\d_])"
)
"""Signs and codes of currencies, and the percent sign."""


def is_short(text: str) -> bool:
    """Whether a text with a number is known by its other words, wherever it stands."""
    return len(text) <= MAX_LENGTH


def has_number(text: str) -> bool:
    """Whether a text has a digit."""
    return _DIGIT.search(text) is not None


def is_price(text: str) -> bool:
    """Whether a short text has a number and a currency."""
    return is_short(text) and has_number(text) and _CURRENCY.search(text) is not None


def is_amount(text: str) -> bool:
    """Whether a short text is a number alone, or with a currency."""
    return is_short(text) and has_number(text) and (not _LETTER.search(text) or is_price(text))


def is_counter(text: str) -> bool:
    """Whether a short text is a number among words."""
    return is_short(text) and has_number(text) and not is_amount(text)


def is_name(text: str) -> bool:
    """Whether a short text has letters beside its numbers and currency: it may name what the page is about."""
    return is_short(text) and _LETTER.search(_CURRENCY.sub("", text)) is not None
