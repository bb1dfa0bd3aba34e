"""Parameters that never change a page: they tell a third party which link or advertisement was clicked."""

from __future__ import annotations

_REGISTRY = "https://github.com/mpchadwick/tracking-query-params-registry"
_CLICK_IDS = "https://support.google.com/searchads/answer/7342044"
_META = "https://developers.facebook.com/docs/marketing-api/conversions-api/parameters/fbp-and-fbc/"
_MATOMO = "https://matomo.org/faq/how-to/faq_120"

TRACKING: dict[str, str] = {
    "utm_*": "https://support.google.com/analytics/answer/10917952",
    "gclid": _CLICK_IDS,
    "gclsrc": _CLICK_IDS,
    "dclid": "https://bugzilla.mozilla.org/show_bug.cgi?id=1836737",
    "gbraid": _REGISTRY,
    "wbraid": _REGISTRY,
    "_ga": _REGISTRY,
    "_gl": _REGISTRY,
    "fbclid": _META,
    "msclkid": _REGISTRY,
    "yclid": _REGISTRY,
    "twclid": _REGISTRY,
    "epik": _REGISTRY,
    "mc_cid": _REGISTRY,
    "mc_eid": _REGISTRY,
    "mtm_campaign": _MATOMO,
    "mtm_keyword": _MATOMO,
    "mtm_kwd": _MATOMO,
    "pk_campaign": _MATOMO,
    "pk_keyword": _MATOMO,
    "pk_kwd": _MATOMO,
}
"""Parameter → where it is documented. Rules from the first request on, verified and revocable like any other."""


def is_tracking(part: str) -> bool:
    """Whether a part of a URL is a parameter of the list.

    >>> is_tracking("query:gclid"), is_tracking("query:ref")
    (True, False)
    """
    kind, _, name = part.partition(":")
    return kind == "query" and name in TRACKING
