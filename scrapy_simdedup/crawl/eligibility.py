"""The eligibility of responses and requests: which are judged, and which may be skipped."""

from __future__ import annotations

import codecs
import os
from typing import TYPE_CHECKING, Any

from scrapy.http import HtmlResponse
from scrapy.http.request import NO_CALLBACK

from scrapy_simdedup.detect.events import round_trips

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.http import Response

    from scrapy_simdedup.unjudged import UnjudgedReason

META_OPT_OUT = "simdedup"
"""``Request.meta["simdedup"] = False`` opts a request out."""

_INCOMPLETE = frozenset({"partial", "dataloss", "download_stopped"})
_WEB_CODECS = frozenset(
    (
        "utf-8 utf-8-sig utf-16 utf-16-be utf-16-le ascii cp866 koi8-r koi8-u mac-roman mac-cyrillic cp874 tis-620"
        " gb2312 gbk gb18030 big5 big5hkscs euc-jp iso2022-jp shift-jis cp932 euc-kr cp949"
    ).split()
) | {
    *(f"iso8859-{part}" for part in range(1, 17) if part != 12),
    *(f"cp{page}" for page in range(1250, 1259)),
}
"""Python's names of the encodings of the web, which are those of WHATWG's Encoding Standard. The other codecs that a
server may name, such as punycode, make of a page what no browser shows, or a part of it."""
_SPECIAL_META_KEYS = ("is_start_request", "redirect_times", "redirect_urls", "retry_times", "verbatim_url")
"""Entries in the meta of requests that stand for something that was begun, or for that exact URL."""


def is_page(request: Request) -> bool:
    """Whether a response to this request can be a page at all; what robots.txt and media pipelines fetch is none."""
    return request.callback is not NO_CALLBACK and request.method != "HEAD"


def is_opted_in(request: Request) -> bool:
    """Whether the user has not opted the request out."""
    return request.meta.get(META_OPT_OUT) is not False


def unjudged_reason(request: Request, response: Response) -> UnjudgedReason | None:
    """The reason why this response is kept unjudged, or None if it is to be judged."""
    if not is_opted_in(request):
        return "opted_out"
    if not 200 <= response.status < 300:
        return "status"
    if not isinstance(response, HtmlResponse):
        return "not_html"
    if _INCOMPLETE.intersection(response.flags):
        return "cut"
    return None if _is_decodable(response) else "undecodable"


def _is_decodable(response: HtmlResponse) -> bool:
    try:
        if codecs.lookup(response.encoding).name.replace("_", "-") not in _WEB_CODECS:
            return False  # first: some of these codecs take quadratic time
        response.text  # noqa: B018 - decodes it, once
    except (LookupError, ValueError):
        return False
    return True


def is_inspection(request: Request) -> bool:
    """Whether a person looks at this page with ``scrapy shell``, ``fetch``, ``view``, ``parse`` or ``check``.

    Scrapy has no name for these; their callbacks differ: the shell passes a Deferred's method, the others functions of
    their own modules. Such pages are tagged, never dropped and never recorded.
    """
    callback = request.callback
    if callback is None:
        return False
    owner = type(getattr(callback, "__self__", None)).__module__
    home = getattr(callback, "__globals__", {}).get("__name__", "")
    return (
        owner.startswith(("twisted.internet.defer", "_asyncio", "asyncio.", "scrapy.commands.", "scrapy.shell"))
        or home.startswith(("scrapy.commands.", "scrapy.shell", "scrapy.contracts"))
        or "SCRAPY_CHECK" in os.environ
    )


def is_skippable(request: Request) -> bool:
    """Whether a request is an ordinary one, which a callback yielded for a link."""
    return (
        request.method == "GET"
        and not request.body
        and not request.dont_filter
        and is_page(request)
        and is_opted_in(request)
        and not any(request.meta.get(name) for name in _SPECIAL_META_KEYS)
        and not is_inspection(request)
    )


def serialize_request(request: Request, spider: Spider | None) -> dict[str, Any] | None:
    """The request as plain values from which it can be made later; None if it holds others."""
    try:
        values = {name: value for name, value in request.to_dict(spider=spider).items() if value}
        values["headers"] = {
            name.decode("ascii"): [value.decode("ascii") for value in found]
            for name, found in values.get("headers", {}).items()
        }
    except ValueError:  # a callback that is no method of the spider; a header that is no ASCII
        return None
    return values if round_trips(values) else None
