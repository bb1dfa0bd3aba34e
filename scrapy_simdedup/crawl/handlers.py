"""Handlers: the spider and the callback that get a page, by a name. Pages of one handler are handled alike."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request, Spider
    from scrapy.http import Response

MAX_NAME = 200
"""Characters of a name; what would be longer ends there."""


def handler_name(request: Request, spider: Spider | None) -> str:
    """The name of a request's handler, such as ``shop parse_product``, the same in every process and run.

    A request without a callback is for ``parse``. Requests of a CrawlSpider's rules are told apart by the rules'
    callbacks, and by whether the rules follow links. Arguments are no part of a handler: neither ``cb_kwargs``, nor
    what a lambda or a ``partial`` brings along.
    """
    callback: Any = request.callback or "parse"
    rules: Any = getattr(spider, "_rules", None)
    number = request.meta.get("rule")
    is_of_rule = isinstance(rules, list) and callback == getattr(spider, "_callback", None)
    if is_of_rule and isinstance(number, int) and 0 <= number < len(rules):
        rule = rules[number]
        name = f"rule {_callback_name(rule.callback or '', spider)}{' and follow' if rule.follow else ''}"
    else:
        name = _callback_name(callback, spider)
    return f"{getattr(spider, 'name', '')} {name}"[:MAX_NAME]


def _callback_name(callback: Callable[..., Any] | str, spider: Spider | None) -> str:
    while isinstance(callback, partial):
        callback = callback.func
    if isinstance(callback, str):
        return callback
    owner, name = getattr(callback, "__self__", None), getattr(callback, "__qualname__", None)
    if owner is spider:
        return str(getattr(callback, "__name__", name))
    if name is None:  # an object that can be called
        return f"{type(callback).__module__}.{type(callback).__qualname__}"
    name = f"{getattr(callback, '__module__', '')}.{name}"
    if "<l" not in name:
        return name
    # Lambdas, and functions that a function made: of several with one name, line and annotations tell them apart.
    line = getattr(getattr(callback, "__code__", None), "co_firstlineno", 0)
    annotations = getattr(callback, "__annotations__", {}).values()
    types = " ".join(str(getattr(hint, "__qualname__", hint)) for hint in annotations)
    return f"{name}:{line} {types}".rstrip()


def passes_item_on(request: Request, response: Response) -> bool:
    """Whether a request that a callback made brings an item along, or a part of one, for another callback to finish.

    That is what ``cb_kwargs`` are for. In ``meta`` it is an item that the response did not bring itself.
    """
    if request.cb_kwargs:
        return True
    known = response.meta
    return any(
        ItemAdapter.is_item(value) and known.get(name) is not value and not str(name).startswith("simdedup")
        for name, value in request.meta.items()
    )
