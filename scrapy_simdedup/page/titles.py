"""Titles: what a ``<title>`` says of its page, without what the site adds to it.

Most sites add their name, a slogan or a version to the headline of a page, as in "Merger (tools 3.4 API)" and
"Acme | Privacy policy". A site that changes what it adds has edited none of its pages. The headline tells what is what:

1. A title is taken apart at what stands between its parts: lines, dashes between spaces, colons, a bracket at the end.
2. Where one part is found in the headline, word for word, the title repeats the headline. Else all of it counts.
3. Then those parts count that share a word with the headline, not only a number, that are a heading of the page
   themselves, or that name a price.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_simdedup.page.amounts import is_price

if TYPE_CHECKING:
    from collections.abc import Collection

MAX_LENGTH = 500
"""Characters from which a title is not taken apart."""

_BETWEEN_PARTS = re.compile(
    r"\s[-–—~:/\\<>]+\s|:\s|\s*[|•·»«→›｜—]+\s*"
    r"|(?<=[^\x00-\x7f])_|_(?=[^\x00-\x7f])"  # a site without spaces; elsewhere it is part of a name
    r"|\s?\((?=[^()]*\)$)|\)$"
)
_WORD = re.compile(r"\w+")


def own_title(title: str, headline: str, headings: Collection[str]) -> str:
    """What a title says of its page.

    Args:
        title: The text of ``<title>``, without blanks at its ends.
        headline: The h1 of the page, or its first heading; may be empty.
        headings: The texts of all headings of the page.

    >>> own_title("Blue chair | Acme - all for your home", "Blue chair", [])
    'Blue chair'
    >>> own_title("Merger (tools 3.4 API)", "Interface Merger<K, V>", [])
    'Merger'
    >>> own_title("Blue chair - 29 EUR | Acme", "Blue chair", []), own_title("Acme | Offers", "Blue chair", [])
    ('Blue chair|29 EUR', 'Acme | Offers')
    """
    parts = [part for part in _BETWEEN_PARTS.split(title) if part.strip()] if len(title) <= MAX_LENGTH else []
    if len(parts) < 2 or not headline:
        return title
    of_headline, words = _words(headline), [_words(part) for part in parts]
    if not any(found in of_headline for found in words):
        return title
    of_headings = set(map(_words, headings))
    own = (
        part
        for part, found in zip(parts, words, strict=True)
        if found in of_headline or found in of_headings or is_price(part) or _shares_word(found, of_headline)
    )
    return "|".join(own)


def _shares_word(one: str, other: str) -> bool:
    return any(f" {word} " in other for word in one.split() if not word.isdigit())


def _words(text: str) -> str:
    """The words of a text in lower case, with one blank before and behind each; a line for a text without any."""
    return f" {' '.join(_WORD.findall(text.casefold())) or '|'} "
