"""The arguments of callbacks: what requests bring along, and which of it goes into items.

A callback makes its items of a page and of what the request brings: an item that another callback began, ``cb_kwargs``,
values in ``meta``, arguments of a ``partial``. "No reviews yet" is one page at a thousand URLs, and finishes another
product at each. So a repeat is kept whose arguments go into items, and with which nothing was delivered so far:

1. Of a callback that gave an item in this process, those arguments count that were found in its items: a name, a price,
   a category; not the number of the page in a list.
2. Of any other callback only items count: it may hand them on, as one that asks for the reviews does for the stock.
3. An item counts together with the page. Plain values count by themselves: a category was delivered once one of its
   pages was.
4. A page that did not change since an earlier run is no news, unless it finishes the one item of a page that is.
5. URLs do not count, such as that of the list, except in an item that has nothing else so far.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Literal
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.http import Response

from scrapy_simdedup.crawl.items import IS_URL, adapter_of, plain_values
from scrapy_simdedup.detect.events import event_key

logger = logging.getLogger(__name__)

FOR_TOOLS = tuple(
    (
        "_ allow_offsite autothrottle_ bindaddress cookiejar crawlera depth dont_ download_ ftp_ handle_httpstatus_"
        " http_ inject is_start_request link_text max_retry_times playwright priority_adjust proxy redirect_"
        " referrer_policy retry_times rule simdedup splash verbatim_url zyte_api"
    ).split()
)
"""How the names of entries in meta begin that are for Scrapy, its middlewares and other plugins, not for callbacks."""
META_BEGUN = "simdedup_begun"
"""Marks a request that brings an item of a page that is new or changed: how many such requests its callback made."""
MAX_VALUES = 1_000
"""Plain values of one argument, or of an item, that are looked at."""
MAX_DELIVERED = 500_000
"""Sets of arguments that are remembered as delivered, in some 120 bytes each. One that was forgotten is new again."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of one request, as they were before its callback was called."""

    handler: str
    values: Mapping[str, frozenset[str]]
    """By name, the plain values that an argument is, or has in it."""
    items: frozenset[str]
    """Names of arguments that are items, or may become one."""


class CallbackArguments:
    """Remembers which arguments go into items, and with which of them something was delivered."""

    def __init__(self) -> None:
        self._of_request: WeakKeyDictionary[Request, Arguments] = WeakKeyDictionary()
        self._used: dict[str, set[str]] = {}
        """By handler that gave an item, the names of the arguments that were found in its items."""
        self._delivered: dict[bytes, None] = {}
        """Digests of handlers with their arguments, the oldest first."""

    def fetched(self, request: Request, handler: str) -> None:
        """Look at the arguments of a request, before its callback may change them."""
        brought = {name: value for name, value in brought_along(request) if value is not None}
        if brought:
            of_items = {name for name, value in brought.items() if _is_item(value)}
            found = {name: _texts(value, urls="else" if name in of_items else "no") for name, value in brought.items()}
            values = {name: texts for name, texts in found.items() if texts}
            items = frozenset(of_items.intersection(values))
            self._of_request[request] = Arguments(handler, values, items)

    def request_made(self, request: Request, begun: list[int]) -> None:
        """If a request is to finish an item, mark it with the count of such requests of its callback.

        A list begins many items, of which few are new when it changes. Requests share the count.
        """
        if any(_is_item(value) for _, value in brought_along(request)):
            begun[0] += 1
            request.meta[META_BEGUN] = begun

    def item_given(self, item: Any, response: Response) -> None:
        """Find out which arguments are in an item that a callback gave."""
        arguments = self._arguments_of(response.request)
        if arguments is None:
            return
        used = self._used.setdefault(arguments.handler, set())
        if not used.issuperset(arguments.values):
            texts = _texts(item, urls="too")
            used.update(name for name, values in arguments.values.items() if not values.isdisjoint(texts))

    def output_ended(self, response: Response, *keys: bytes) -> None:
        """Remember that a callback ended with these arguments, for these keys: the page's, its original's."""
        arguments = self._arguments_of(response.request)
        if arguments is not None and (names := self._names(arguments)):
            for key in (b"", *keys):
                self._delivered[_digest(arguments, names, key)] = None
            while len(self._delivered) > MAX_DELIVERED:
                del self._delivered[next(iter(self._delivered))]

    def are_new(self, request: Request, original: bytes = b"") -> bool:
        """Whether the callback may make an item of a page that it made of none; ``original`` is what it repeats."""
        arguments = self._arguments_of(request)
        if arguments is None or not (names := self._names(arguments)):
            return False
        return _digest(arguments, names, original if names & arguments.items else b"") not in self._delivered

    def _arguments_of(self, request: Request | None) -> Arguments | None:
        return None if request is None else self._of_request.get(request)

    def _names(self, arguments: Arguments) -> frozenset[str]:
        """The names of the arguments that count."""
        used = self._used.get(arguments.handler)
        return arguments.items if used is None else frozenset(used.intersection(arguments.values))


def brought_along(request: Request) -> Iterator[tuple[str, Any]]:
    """The arguments that a request brings for its callback, with their names."""
    if request.cb_kwargs:
        yield from request.cb_kwargs.items()
    for name, value in request.meta.items():
        if not str(name).startswith(FOR_TOOLS):
            yield f"meta {name}", value
    callback: Any = request.callback
    while isinstance(callback, partial):
        yield from callback.keywords.items()
        yield from ((f"argument {number}", value) for number, value in enumerate(callback.args))
        callback = callback.func
    if getattr(callback, "__name__", "") == "<lambda>":
        cells = [cell.cell_contents for cell in callback.__closure__ or ()]
        yield from ((f"default {number}", value) for number, value in enumerate(callback.__defaults__ or ()))
        yield from ((f"variable {number}", value) for number, value in enumerate(cells))


def _is_item(value: Any) -> bool:
    """Whether an argument is an item, or makes one, as a loader does."""
    return adapter_of(value) is not None or hasattr(value, "load_item")


def _texts(value: Any, *, urls: Literal["no", "else", "too"]) -> frozenset[str]:
    """The plain values that something is, or has in it, as texts.

    URLs say where a page was found, so they are left out, but where there is nothing ``else``: an item that another
    callback began may have no more yet than the URL of its page.
    """
    if hasattr(value, "load_item"):
        value = [dict(getattr(value, "_values", {})), value.item]
    found = islice(plain_values(value), MAX_VALUES)
    texts = {str(part).strip() for part in found if isinstance(part, (str, int, float)) and not isinstance(part, bool)}
    texts.discard("")
    others = {text for text in texts if not IS_URL(text)}
    return frozenset(texts if urls == "too" or (urls == "else" and not others) else others)


def _digest(arguments: Arguments, names: frozenset[str], key: bytes) -> bytes:
    values = "\0".join(f"{name}\0{sorted(arguments.values[name])}" for name in sorted(names))
    return event_key(arguments.handler, key.hex(), values)
