"""Items: their texts and numbers, the URL of their page, and its content in some of their fields."""

from __future__ import annotations

import logging
import re
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy.http import HtmlResponse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from scrapy.http import Response

    from scrapy_simdedup.page.content import Content

logger = logging.getLogger(__name__)
IS_URL = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:)?//\S+\s*", re.IGNORECASE).fullmatch
URL_FIELDS = ("url", "link", "href")
"""Fields in which an item is likely to name its page."""
MAX_VALUES = 1_000_000
"""Values of one field of an item, also those inside of others; an item may contain itself."""
MAX_ITEMS_ON_THEIR_WAY = 1_000
"""Items of which it is known which page they came from, until the pipeline asks; another may replace them."""
_FIND_NUMBERS = re.compile(r"\d+").findall


class ComparableItem(NamedTuple):
    """What items are compared by."""

    texts: tuple[str, ...]
    """The texts of the fields."""
    identity: str
    """What copies have in common to the letter: the item's class, and in each field all numbers, truth values, dates
    and other values that are no texts."""


def item_url(item: Mapping[str, Any]) -> str:
    """The URL of the page that an item was scraped from; empty if the item does not name it."""
    return next((str(item[field]) for field in URL_FIELDS if item.get(field)), "")


def comparable_item(item: Mapping[str, Any], fields: Sequence[str], kind: str = "") -> ComparableItem:
    """What an item is compared by: the texts and numbers of some of its fields, or of all but those that hold a URL.

    Numbers are a small part of a text and a large part of an item: of two sizes of a shoe all else may be equal. Items
    of different classes, by their ``kind``, are no copies. A ValueError says that the item has more than
    :data:`MAX_VALUES`, or contains itself.
    """
    texts, exact = [], []
    for field in fields or [field for field in item if field not in URL_FIELDS]:
        for value in plain_values(item.get(field)):
            if not isinstance(value, str):
                texts.append(str(value))
                exact.append(f"{field} {value}")
            elif fields or not IS_URL(value):
                texts.append(value)
                exact += [f"{field} {number}" for number in _FIND_NUMBERS(value)]
    return ComparableItem(tuple(texts), "\n".join([kind, *sorted(exact)]) or "no numbers")


def plain_values(value: Any) -> Iterator[Any]:
    """The values in lists, dictionaries and items inside of a value, or the value itself; without None."""
    stack = [value]
    for _ in range(MAX_VALUES):
        if not stack:
            return
        value = stack.pop()
        if isinstance(value, (str, int, float)):
            yield value
        elif isinstance(value, bytes):
            yield value.decode("utf-8", "replace")
        elif isinstance(value, Mapping):
            stack.extend(value.values())
        elif isinstance(value, (list, tuple, set, frozenset)):
            stack.extend(value)
        elif value is not None:
            from itemadapter import ItemAdapter, is_item  # noqa: PLC0415 - see ContentFields

            if is_item(value):
                stack.append(ItemAdapter(value))
            else:
                yield value
    raise ValueError(f"an item has more than {MAX_VALUES} values in a field, or contains itself")


class ItemPages:
    """The URLs of the pages that items came from, from the callback until the pipeline asks."""

    def __init__(self) -> None:
        # Items are held, so that no other object can get the id of one that is still on its way.
        self._pages: dict[int, tuple[Any, str]] = {}

    def add(self, item: Any, url: str) -> None:
        """Remember which page an item came from."""
        self._pages[id(item)] = (item, url)
        if len(self._pages) > MAX_ITEMS_ON_THEIR_WAY:
            del self._pages[next(iter(self._pages))]

    def pop(self, item: Any) -> str:
        """The URL of an item's page; empty if that is not known, as where another pipeline made a new item of it."""
        _, url = self._pages.pop(id(item), (None, ""))
        return url


class ContentFields:
    """Puts the Markdown and the metadata of a page into fields of its items.

    A page is read once, and only where an item needs it. ``parts`` has those of the content by the fields that they go
    into; where reading took too long there is none.
    """

    def __init__(self, parts: Mapping[str, str], read: Callable[[str, str], Awaitable[Content | None]]) -> None:
        self.parts: Mapping[str, str] = parts
        self._read = read
        self._found: weakref.WeakKeyDictionary[Response, Content | None] = weakref.WeakKeyDictionary()
        self._warned: set[tuple[type, str]] = set()

    async def add(self, item: Any, response: Response) -> None:
        """Fill the fields of one item, but those that its callback filled."""
        if not self.parts or not isinstance(response, HtmlResponse):
            return
        for field, part in self.parts.items():
            await self._fill(item, field, part, response)

    async def _fill(self, item: Any, field: str, part: str, response: HtmlResponse) -> None:
        # Brings whatever kinds of items it knows, pydantic among them: some 10,000 objects, which few want.
        from itemadapter import ItemAdapter  # noqa: PLC0415

        try:
            adapter = ItemAdapter(item)
            if adapter.get(field) is None:
                content = await self._content_of(response)
                if content is not None:
                    adapter[field] = getattr(content, part)
        except Exception as error:  # noqa: BLE001 - no such field, or it takes no text: the item itself is fine
            if (type(item), field) not in self._warned:
                self._warned.add((type(item), field))
                name = type(item).__name__
                logger.warning("The %s of pages cannot be put into %s[%r]: %r", part, name, field, error)

    async def _content_of(self, response: HtmlResponse) -> Content | None:
        if response not in self._found:
            self._found[response] = await self._read(response.text, response.url)
        return self._found[response]
