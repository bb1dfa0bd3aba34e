"""Items: their texts and numbers, the URL of their page, its content in fields, and what is noted of their values."""

from __future__ import annotations

import logging
import re
import struct
import weakref
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from scrapy.http import HtmlResponse, Response

from scrapy_simdedup.detect.events import event_key, journal_name

if TYPE_CHECKING:
    from itemadapter import ItemAdapter

    from scrapy_simdedup.page.content import Content

logger = logging.getLogger(__name__)
IS_URL = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:)?//\S+\s*", re.IGNORECASE).fullmatch
URL_FIELDS = ("url", "link", "href")
"""Fields in which an item is likely to name its page."""
MAX_VALUES = 1_000_000
"""Values of one field of an item, also those inside of others; an item may contain itself."""
_FIND_NUMBERS = re.compile(r"\d+").findall


def item_url(item: Mapping[str, Any]) -> str:
    """The URL of the page that an item was scraped from; empty if the item does not name it."""
    return next((str(item[field]) for field in URL_FIELDS if item.get(field)), "")


def comparable_item(item: Mapping[str, Any], fields: Sequence[str], kind: str = "") -> tuple[tuple[str, ...], str]:
    """What an item is compared by: the texts and numbers of some of its fields, or of all but those that hold a URL.

    The text beside it is what copies have in common to the letter: the item's class, by its ``kind``, and in each field
    all numbers, truth values, dates and other values that are no texts. Numbers are a small part of a text and a large
    part of an item: of two sizes of a shoe all else may be equal. A ValueError says that the item has more than
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
    return tuple(texts), "\n".join([kind, *sorted(exact)]) or "no numbers"


def adapter_of(value: Any) -> ItemAdapter | None:
    """The adapter of an item of any kind; None for what is no item.

    The package of adapters brings all the kinds of items that it knows, pydantic among them: some 10,000 objects,
    through which Python's garbage collector goes again and again. So it is imported for what may be an item.
    """
    if value is None or isinstance(value, (str, bytes, int, float, list, tuple)):
        return None
    from itemadapter import ItemAdapter, is_item  # noqa: PLC0415

    return ItemAdapter(value) if is_item(value) else None


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
        elif (adapter := adapter_of(value)) is not None:
            stack.append(adapter)
        elif value is not None:
            yield value
    raise ValueError(f"an item has more than {MAX_VALUES} values in a field, or contains itself")


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
        """Fill the content fields of one item that its callback left empty."""
        if not self.parts or not isinstance(response, HtmlResponse):
            return
        from itemadapter import ItemAdapter  # noqa: PLC0415 - see adapter_of

        for field, part in self.parts.items():
            try:
                adapter = ItemAdapter(item)
                if adapter.get(field) is None and (content := await self._content_of(response)) is not None:
                    adapter[field] = getattr(content, part)
            except Exception as error:  # noqa: BLE001, PERF203 - the field is missing or takes no text: the item is fine
                if (type(item), field) not in self._warned:
                    self._warned.add((type(item), field))
                    name = type(item).__name__
                    logger.warning("The %s of pages cannot be put into %s[%r]: %r", part, name, field, error)

    async def _content_of(self, response: HtmlResponse) -> Content | None:
        if response not in self._found:
            self._found[response] = await self._read(response.text, response.url)
        return self._found[response]


JOURNAL = "item-values:"
"""What stands in the place of a run in the names of the journals of item values, which are those of all runs."""
ItemChange: TypeAlias = Literal["new", "changed", "unchanged"]
DIGEST_BYTES = 8
_HEADER, _ENTRY_BYTES = struct.Struct(">d8s8s"), 3 * DIGEST_BYTES


class Entry(NamedTuple):
    """What is remembered of an item: three digests."""

    name: bytes
    """The digest of the fields that name the item."""
    others: bytes
    """The digest of the fields that do not decide whether the item changed."""
    values: bytes
    """The digest of the fields that decide."""


class Note(NamedTuple):
    """The items of one page, or of one identity, at their last delivery."""

    at: float
    """When, in seconds since the epoch."""
    run: bytes
    """A digest of the name of the run that wrote the note."""
    page: bytes
    """A digest of the page that gave the items."""
    entries: tuple[Entry, ...] = ()

    def __bytes__(self) -> bytes:
        return _HEADER.pack(*self[:3]) + b"".join(map(b"".join, self.entries))

    @classmethod
    def from_bytes(cls, raw: bytes | None) -> Note | None:
        """The note that was written; None where there is none, or what is no note."""
        if not raw or (len(raw) - _HEADER.size) % _ENTRY_BYTES:
            return None
        digests = [raw[start : start + DIGEST_BYTES] for start in range(_HEADER.size, len(raw), DIGEST_BYTES)]
        entries = tuple(Entry(*digests[start : start + 3]) for start in range(0, len(digests), 3))
        at, run, page = _HEADER.unpack_from(raw)
        return cls(at, run, page, entries)


def item_values_journal(site: str) -> str:
    """The name of the journal with the values of a site's items."""
    return journal_name(JOURNAL, site)


def page_note_key(key: bytes, handler: str) -> bytes:
    """The key of the note about a page's items."""
    return event_key("page", handler, key.hex())


class ItemGroup:
    """The items that are compared with one another: those of one page, or those with one identity.

    ``raw`` is the note as it is in the store, ``known`` the one that counts. Where items have an identity, other pages
    may have items of the group.
    """

    def __init__(self, key: bytes, raw: bytes | None, known: Note | None, *, has_identity: bool = False) -> None:
        self.key, self.raw, self.has_identity = key, raw, has_identity
        self.is_shared = False
        """Whether several pages of this run have items of the group; then the past of an item cannot be told."""
        self.past: tuple[Entry, ...] = known.entries if known else ()
        self._by_name: defaultdict[bytes, list[Entry]] = defaultdict(list)
        for entry in self.past:
            self._by_name[entry.name].append(entry)
        self.is_void = False
        """Whether the note in the store was emptied."""
        self.seen: list[Entry] = []
        self._names: set[bytes] = set()

    def compare(self, entry: Entry, *, is_page: bool = False) -> ItemChange:
        """Compare an item with the past items of the group, and count it as seen.

        Of several items with one name all other fields tell which one it is. An item that ``is_page``, by its URL, may
        have another name than before where it was the page's only one.
        """
        past = self._by_name.get(entry.name, [])
        if is_page and not past and not self.seen and len(self.past) == 1:
            past = list(self.past)
        if len(past) == 1 and entry.name not in self._names:
            found: ItemChange = "unchanged" if past[0].values == entry.values else "changed"
        elif len(past) > 1:
            found = "unchanged" if entry in past else "changed"
        else:
            found = "new"
        self.seen.append(entry)
        self._names.add(entry.name)
        return found

    def entries(self, lost: Sequence[Entry], *, is_complete: bool) -> tuple[Entry, ...]:
        """What is to be remembered: what was seen and not lost, and the past of what an incomplete visit missed."""
        gone, kept = Counter(lost), []
        for entry in self.seen:
            if gone[entry]:
                gone[entry] -= 1
            else:
                kept.append(entry)
        missed = () if is_complete else (entry for entry in self.past if entry.name not in self._names)
        return (*kept, *missed)
