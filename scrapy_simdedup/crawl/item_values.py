"""Item values: which items have the values that an earlier run exported, by ``SIMDEDUP_UNCHANGED_BY``.

The values are compared where a callback's items leave the spider, before any pipeline sees them. They are remembered
once the items are delivered. While changed ones are on their way the store has none, so a crash costs no change.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.http import Response

from scrapy_simdedup.crawl import Crawl
from scrapy_simdedup.crawl.delivery import DeliverySettler
from scrapy_simdedup.crawl.exceptions import FailSafe, NearDuplicateItem
from scrapy_simdedup.crawl.items import (
    DIGEST_BYTES,
    MAX_VALUES,
    URL_FIELDS,
    Entry,
    ItemChange,
    ItemGroup,
    Note,
    adapter_of,
    item_values_journal,
    page_note_key,
)
from scrapy_simdedup.crawl.requests import handler_name
from scrapy_simdedup.detect.events import event_key
from scrapy_simdedup.detect.names import site_of
from scrapy_simdedup.detect.verdict import Verdict
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.base import reporting_failures

if TYPE_CHECKING:
    from itemadapter import ItemAdapter

logger = logging.getLogger(__name__)
NAMING_FIELDS = (*URL_FIELDS, "id", "sku", "gtin", "ean", "isbn", "asin", "mpn", "name", "title")
"""Fields that are likely to tell the items of one page apart."""
MAX_ITEMS = 5_000
"""Items of a page whose values are remembered; the others count as new each time."""


class PageItems:
    """The items of one response on their way; the page's own URLs do not tell them apart."""

    def __init__(self, key: bytes, handler: str, site: str, urls: Sequence[str], settings: DedupSettings) -> None:
        self.key, self.handler, self.site, self.urls, self.settings = key, handler, site, urls, settings
        self.verdict: Verdict | None = None
        """What the page was found to be; None for a response that is not compared."""
        by = settings.unchanged_by
        self.fields: tuple[str, ...] = by if isinstance(by, tuple) else ()
        self.digest: bytes = event_key(handler, key.hex())[:DIGEST_BYTES]
        self.groups: dict[bytes, ItemGroup] = {}
        self.own: Note | None = None
        self.has_copy = False
        """Whether the store has items of the page's former original."""
        self.pending = 0
        self.has_ended = self.is_settled = False
        self.is_complete = self.is_delivered = True
        # Items are held, so that no other object can get the id of one that is still on its way.
        self.items: dict[int, tuple[Any, list[tuple[ItemGroup, Entry]]]] = {}
        self.lost: list[tuple[ItemGroup, Entry]] = []


class ItemValues:
    """Compares the values of items with those of earlier runs, where ``SIMDEDUP_UNCHANGED_BY`` names fields."""

    def __init__(self, crawl: Crawl, settler: DeliverySettler) -> None:
        self._crawler, self._detector, self._stats = crawl.crawler, crawl.detector, crawl.stats
        self._settings, self._settler, self._on_store_error = crawl.settings, settler, crawl.store_failed
        self._items_count = crawl.settings.confirm != "callback"
        own_settings = crawl.settings.site_settings.values()
        every = [crawl.settings.unchanged_by, *(own.get("unchanged_by") for own in own_settings)]
        self._unseen = dict.fromkeys(field for by in every if isinstance(by, tuple) for field in by)
        """Fields in ``SIMDEDUP_UNCHANGED_BY`` that no item had so far."""
        self.is_on: bool = bool(self._unseen)
        self._has_items = False
        self._pages: weakref.WeakKeyDictionary[Request, PageItems] = weakref.WeakKeyDictionary()
        if self.is_on:
            connect = crawl.crawler.signals.connect
            for signal in (signals.item_scraped, signals.item_dropped, signals.item_error):
                connect(self._item_ended, signal)
            connect(self._spider_error, signals.spider_error)
            connect(self._closed, signals.spider_closed)

    def page_fetched(self, request: Request, response: Response, key: bytes) -> None:
        """Watch the items of a response, whether it is a page or JSON; ``key`` is the request's fingerprint."""
        settings = self._detector.settings_for(response.url)
        if not isinstance(settings.unchanged_by, tuple):
            return
        handler = "" if settings.callbacks == "any" else handler_name(request, self._crawler.spider)
        site = site_of(response.url, settings.scope)
        self._pages[request] = PageItems(key, handler, site, (request.url, response.url), settings)

    def page_judged(self, request: Request, verdict: Verdict) -> None:
        """Say what a page was found to be."""
        if (page := self._pages.get(request)) is not None:
            page.verdict = verdict

    async def drops(self, item: Any, response: Response) -> bool:
        """Whether an item is dropped, as its values are what an earlier run exported; if not, it is on its way now."""
        page = self._page_of(response)
        if page is None:
            return False
        change = None
        with FailSafe("Could not compare an item of %s; it is kept", response.url):
            change = await self._compare(page, item)
        is_dropped = change == "unchanged" and page.settings.unchanged == "drop" and self._settings.mode != "observe"
        if not is_dropped:
            page.pending += 1
        return is_dropped

    def callback_failed(self, response: Response) -> None:
        """The callback raised, so some of the page's items may be missing."""
        if (page := self._page_of(response)) is not None:
            page.is_complete = False

    def output_ended(self, response: Response | None, *, failed: bool = False, refused: bool = False) -> None:
        """The callback's output came to its end; it ``failed``, or says itself that it did not deliver."""
        page = self._page_of(response)
        if page is not None:
            page.has_ended = True
            page.is_complete &= not (failed or refused)
            page.is_delivered &= not refused
            self._settle_if_done(page)

    def _page_of(self, response: Any) -> PageItems | None:
        request = getattr(response, "request", None) if self.is_on else None
        return None if request is None else self._pages.get(request)

    async def _compare(self, page: PageItems, item: Any) -> ItemChange | None:
        adapter = adapter_of(item)
        if adapter is None:
            return None
        self._has_items = True
        for field in [field for field in self._unseen if field in adapter]:
            del self._unseen[field]
        if not any(_has_value(adapter.get(field)) for field in page.fields):
            self._stats.increment("items/without_fields")
            return None
        entry, identity = self._entry(page, adapter)
        group = await self._group(page, identity)
        if len(group.seen) >= MAX_ITEMS:
            return "new"
        change = group.compare(entry, is_page=any(adapter.get(field) in page.urls for field in URL_FIELDS))
        self._stats.increment("items/<change>", change)
        if change != "unchanged":
            await self._void(page, group)
        page.items.setdefault(id(item), (item, []))[1].append((group, entry))
        return change

    def _entry(self, page: PageItems, item: ItemAdapter) -> tuple[Entry, bytes | None]:
        """The digests of an item, and of its identity, if the item has the fields of ``SIMDEDUP_IDENTITY``."""
        values = dict(item)

        def digest(fields: Iterable[str], *about: str) -> bytes:
            parts = _parts({"": about} | {field: values[field] for field in fields if field in values})
            key = self._detector.secret[:64]
            return blake2b(b"".join(parts), digest_size=DIGEST_BYTES, key=key, person=b"simdedup item").digest()

        kind, decisive = type(item.item).__qualname__, set(page.fields)
        declared = [
            field for field in page.settings.identity or () if _has_value(values.get(field)) and field not in decisive
        ]
        names = [field for field in NAMING_FIELDS if field not in decisive and values.get(field) not in page.urls]
        others = [field for field in values if field not in decisive and field not in page.settings.item_content]
        entry = Entry(digest(declared or names, kind), digest(others, kind), digest(page.fields, kind))
        return entry, digest(declared, kind, page.handler) if declared else None

    async def _group(self, page: PageItems, identity: bytes | None) -> ItemGroup:
        own_key = page_note_key(page.key, page.handler)
        key = own_key if identity is None else event_key("identity", page.handler, identity.hex())
        if key not in page.groups:
            raw = await self._read(page, key)
            known = self._valid(page, raw)
            if identity is None:
                page.groups[key] = ItemGroup(key, raw, await self._of_copies(page, known))
            else:
                if page.own is None:
                    page.own = Note.from_bytes(await self._read(page, own_key))
                is_shared = self._is_of_other_page(page, known)
                is_forgotten = known and page.own and not any(page.own.run) and known.at < page.own.at
                counts = known is not None and not is_shared and not is_forgotten
                group = page.groups[key] = ItemGroup(key, raw, known if counts else None, has_identity=True)
                group.is_shared = is_shared
        return page.groups[key]

    async def _of_copies(self, page: PageItems, own: Note | None) -> Note | None:
        """The newest note of a page and of that whose copy it was: in each run another of them may come first."""
        verdict = page.verdict
        original = None if verdict is None or verdict.kind not in {"unchanged", "changed"} else verdict.original_key
        if verdict is None or original is None or original == page.key:
            return own
        other = self._valid(page, await self._read(page, page_note_key(original, page.handler)))
        page.has_copy = other is not None
        if other is None or (own is not None and own.at >= other.at):
            return own
        return other if verdict.kind == "unchanged" else None

    def _valid(self, page: PageItems, raw: bytes | None) -> Note | None:
        note, ttl = Note.from_bytes(raw), page.settings.ttl
        return None if note is None or (ttl is not None and note.at < self._now() - ttl) else note

    def _is_of_other_page(self, page: PageItems, note: Note | None) -> bool:
        return note is not None and note.run == self._run and note.page != page.digest

    @property
    def _run(self) -> bytes:
        return event_key(self._detector.run)[:DIGEST_BYTES]

    def _now(self) -> float:
        return self._detector.context.now()

    async def _read(self, page: PageItems, key: bytes) -> bytes | None:
        try:
            return await self._detector.store.get_note(item_values_journal(page.site), key)
        except StoreError as exc:
            self._on_store_error(exc)
            return None

    async def _write(self, page: PageItems, group: ItemGroup, raw: bytes) -> None:
        with reporting_failures(self._on_store_error):
            await self._detector.store.put_note(item_values_journal(page.site), group.key, raw)
            group.raw = raw

    async def _void(self, page: PageItems, group: ItemGroup) -> None:
        """Forget what was delivered before, as another value is on its way now and may arrive in a crash or not."""
        if (group.raw or page.has_copy) and not group.is_void:
            group.is_void = True
            await self._write(page, group, bytes(Note(self._now(), self._run, page.digest)))

    def _spider_error(self, response: Any) -> None:
        self.output_ended(response, failed=True)

    def _item_ended(
        self, item: Any, response: Any, exception: BaseException | None = None, failure: object = None
    ) -> None:
        """An item left the pipelines: with an exception if it was dropped, with a failure if a pipeline raised."""
        page = self._page_of(response)
        if page is None:
            return
        is_lost = bool(failure) or not (exception is None or isinstance(exception, NearDuplicateItem))
        page.pending -= 1
        # A scraped item may be another object, which a pipeline made; one that was lost is that of the callback.
        _, entries = page.items.get(id(item), (None, []))
        if is_lost and self._items_count:
            page.lost += entries
        if is_lost or len(entries) == 1:  # a callback may yield one object with one item after the other in it
            page.items.pop(id(item), None)
        self._settle_if_done(page)

    def _settle_if_done(self, page: PageItems) -> None:
        if page.has_ended and not page.is_settled and (page.pending <= 0 or not self._items_count):
            page.is_settled = True
            page.items.clear()
            if page.groups:
                self._settler.items_delivered(lambda: self._remember(page))

    async def _remember(self, page: PageItems) -> None:
        for group in page.groups.values():
            lost = [entry for of, entry in page.lost if of is group] if page.is_delivered else group.seen
            entries = group.entries(lost, is_complete=page.is_complete)
            if group.has_identity:
                there = Note.from_bytes(await self._read(page, group.key))
                if group.is_shared or self._is_of_other_page(page, there):
                    entries = ()
            note = Note(self._now(), self._run, page.digest, entries)
            before = Note.from_bytes(group.raw)
            if before is None or before.entries != entries or page.settings.ttl is not None:
                await self._write(page, group, bytes(note))

    def _closed(self) -> None:
        """Say which fields no item had: most likely they are misspelt, or a pipeline adds them."""
        if self._has_items and self._unseen:
            logger.warning(
                "No item had the fields %s of SIMDEDUP_UNCHANGED_BY when it left its callback, so they decided nothing",
                ", ".join(map(repr, self._unseen)),
            )


def _has_value(value: Any) -> bool:
    """Whether a value says something; a selector that finds nothing gives None, an empty text or an empty list."""
    return bool(value.strip()) if isinstance(value, str) else value is not None and value not in ([], (), {}, b"")


def _parts(value: Any) -> Iterator[bytes]:
    """What two equal values have in common, and no two others; a ValueError where they have no end.

    White space, the order of names, and names without a value do not count.
    """
    stack: list[Any] = [value]
    for _ in range(MAX_VALUES):
        if not stack:
            return
        value = stack.pop()
        if isinstance(value, str):
            text = " ".join(value.split()).encode("utf-8", "surrogatepass")
            yield b"text %d %b" % (len(text), text)
        elif isinstance(value, Mapping):
            present = sorted(((str(name), part) for name, part in value.items() if part is not None), key=itemgetter(0))
            yield b"{%d " % len(present)
            stack += [part for pair in present for part in pair]
        elif isinstance(value, (set, frozenset)):
            stack += sorted(value, key=repr)
            yield b"<%d " % len(value)
        elif isinstance(value, (list, tuple)):
            stack += value
            yield b"[%d " % len(value)
        elif (adapter := adapter_of(value)) is not None:
            stack.append(adapter)
        else:
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            text = f"{type(value).__name__} {value}".encode("utf-8", "surrogatepass")
            yield b"%d %b" % (len(text), text)
    raise ValueError(f"an item has more than {MAX_VALUES} values, or contains itself")
