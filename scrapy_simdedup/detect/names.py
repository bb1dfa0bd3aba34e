"""Whose pages are compared, and who a page is: the site and the key of a URL."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from w3lib.url import canonicalize_url

from scrapy_simdedup.urls.site_names import registrable_domain

if TYPE_CHECKING:
    from scrapy_simdedup.settings import SiteScope

ALL = "*"
"""The one site of the scope ``all``."""


def site_of(url: str, scope: SiteScope = "domain") -> str:
    """The site of a URL: its registrable domain, its host, or one for all.

    >>> site_of("https://shop.example.co.uk/a"), site_of("https://alice.github.io/")
    ('example.co.uk', 'alice.github.io')
    >>> site_of("http://localhost:8000/"), site_of("http://127.0.0.1:8000/"), site_of("http://[::1]/")
    ('localhost', '127.0.0.1', '::1')
    >>> site_of("https://shop.example.co.uk/a", "host"), site_of("https://shop.example.co.uk/a", "all")
    ('shop.example.co.uk', '*')
    """
    if scope == "all":
        return ALL
    host = host_of(url)
    return registrable_domain(host) if scope == "domain" else host


def host_of(url: str) -> str:
    """The URL's host in lower case, without port and final dot; empty where there is none."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def key_of(url: str) -> bytes:
    """Who a page is if nobody says: its URL, canonicalised."""
    with suppress(ValueError):  # what cannot be taken apart stays as it is
        url = canonicalize_url(url)
    return hashlib.blake2b(url.encode("utf-8", "surrogatepass"), digest_size=16).digest()
