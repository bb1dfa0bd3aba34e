"""Items: their texts, the URL of their page, and its cleaned Markdown as one of their fields."""

from __future__ import annotations

import logging
import re
import weakref
from typing import TYPE_CHECKING, Any

from scrapy.http import HtmlResponse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, MutableMapping, Sequence

    from scrapy.http import Response

logger = logging.getLogger(__name__)

IS_URL = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:)?//\S+\s*", re.IGNORECASE).fullmatch
URL_FIELDS = ("url", "link", "href")
"""Fields in which an item is likely to name its page."""


def item_url(item: MutableMapping[str, Any]) -> str:
    """The URL of the page that an item was scraped from; empty if the item does not name it."""
    return next((str(item[field]) for field in URL_FIELDS if item.get(field)), "")


def item_texts(item: MutableMapping[str, Any], fields: Sequence[str]) -> Iterator[str]:
    """The texts of the item's ``fields``; where none are named, of all text fields that hold no URL."""
    for field in fields or item:
        value = item.get(field)
        if isinstance(value, str):
            if fields or not IS_URL(value):
                yield value
        elif fields and value is not None:
            yield str(value)


class MarkdownField:
    """Adds the page's cleaned Markdown to its items in the field ``name``, unless that is None.

    The Markdown is made once per page, and only where an item needs it.

    Args:
        name: the field.
        make: makes the Markdown of a page with some HTML and a URL; None where it took too long.
    """

    def __init__(self, name: str | None, make: Callable[[str, str], Awaitable[str | None]]) -> None:
        self.name: str | None = name
        self._make = make
        self._made: weakref.WeakKeyDictionary[Response, str | None] = weakref.WeakKeyDictionary()
        self._warned_types: set[type] = set()

    async def add(self, item: Any, response: Response) -> None:
        """Fill the field of one item, unless its callback did."""
        if self.name is None or not isinstance(response, HtmlResponse):
            return
        # Brings whatever kinds of items it knows, pydantic among them: some 10,000 objects, which few want.
        from itemadapter import ItemAdapter  # noqa: PLC0415

        try:
            adapter = ItemAdapter(item)
            if adapter.get(self.name) is None:
                text = await self._markdown_of(response)
                if text is not None:
                    adapter[self.name] = text
        except Exception as error:  # noqa: BLE001 - no such field, or it takes no text: the item itself is fine
            if type(item) not in self._warned_types:
                self._warned_types.add(type(item))
                logger.warning(
                    "The Markdown of pages cannot be put into %s[%r]: %r", type(item).__name__, self.name, error
                )

    async def _markdown_of(self, response: HtmlResponse) -> str | None:
        if response not in self._made:
            self._made[response] = await self._make(response.text, response.url)
        return self._made[response]
