"""Which responses are judged at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse
from scrapy.http.request import NO_CALLBACK

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

META_OPT_OUT = "simdedup"
"""``Request.meta["simdedup"] = False`` opts a request out."""

_INCOMPLETE = frozenset({"partial", "dataloss", "download_stopped"})


def is_page(request: Request) -> bool:
    """Whether a response to this request can be a page at all; what robots.txt and media pipelines fetch is none."""
    return request.callback is not NO_CALLBACK and request.method != "HEAD"


def is_judged(request: Request) -> bool:
    """Whether the user has not opted the request out."""
    return request.meta.get(META_OPT_OUT) is not False


def why_not(request: Request, response: Response) -> str | None:
    """The reason why this response is kept unjudged, or None if it is to be judged."""
    if not is_judged(request):
        return "opted_out"
    if not 200 <= response.status < 300:
        return "status"
    if not isinstance(response, HtmlResponse):
        return "not_html"
    if _INCOMPLETE.intersection(response.flags):
        return "cut"
    try:
        response.text  # noqa: B018 - decodes it, once
    except (LookupError, ValueError):  # the server names one of Python's codecs that decodes no text, such as base64
        return "undecodable"
    return None


def is_inspection(request: Request) -> bool:
    """Whether a person looks at this page with ``scrapy shell``, ``fetch``, ``view``, ``parse`` or ``check``.

    Scrapy has no name for these; their callbacks tell: the shell passes a Deferred's method, the others functions of
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
