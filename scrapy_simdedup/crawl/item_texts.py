"""What makes an item: its texts, and where it says what page it is of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping, Sequence

IS_URL = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:)?//\S+\s*", re.IGNORECASE).fullmatch
URL_FIELDS = ("url", "link", "href")
"""Where an item is likely to say what page it is of."""


def item_url(item: MutableMapping[str, Any]) -> str:
    """The URL of the page that an item is of; empty if it does not say."""
    return next((str(item[field]) for field in URL_FIELDS if item.get(field)), "")


def item_texts(item: MutableMapping[str, Any], fields: Sequence[str]) -> Iterator[str]:
    """The texts of the fields; where none are named, of all text fields that hold no URL."""
    for field in fields or item:
        value = item.get(field)
        if isinstance(value, str):
            if fields or not IS_URL(value):
                yield value
        elif fields and value is not None:
            yield str(value)
