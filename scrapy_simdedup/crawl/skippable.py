"""Which requests may be skipped at all, and as what they are written down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_simdedup.crawl.eligibility import META_OPT_OUT, is_inspection, is_page
from scrapy_simdedup.detect.packing import survives

if TYPE_CHECKING:
    from scrapy import Request, Spider

_ON_ITS_WAY = ("is_start_request", "redirect_times", "redirect_urls", "retry_times", "verbatim_url")
"""Entries in a request's meta that say that it stands for something that was begun, or for that exact URL."""


def may_be_skipped(request: Request) -> bool:
    """Whether a request is an ordinary one, which a callback yielded for a page that it has seen a link to."""
    return (
        request.method == "GET"
        and not request.body
        and not request.dont_filter
        and is_page(request)
        and request.meta.get(META_OPT_OUT) is not False
        and not any(request.meta.get(name) for name in _ON_ITS_WAY)
        and not is_inspection(request)
    )


def as_values(request: Request, spider: Spider | None) -> dict[str, Any] | None:
    """All that is needed to make a request later; None if it is more than plain values."""
    try:
        values = {name: value for name, value in request.to_dict(spider=spider).items() if value}
        values["headers"] = {
            name.decode("ascii"): [value.decode("ascii") for value in found]
            for name, found in values.get("headers", {}).items()
        }
    except ValueError:  # a callback that is no method of the spider; a header that is no ASCII
        return None
    return values if survives(values) else None
