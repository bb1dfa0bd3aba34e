"""The links of pages: whether a repeat brings any that no page brought before."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, cast
from urllib.parse import urljoin

import mmh3
from scrapy.utils.response import get_base_url
from w3lib.url import canonicalize_url

from scrapy_simdedup.detect.site import site_of
from scrapy_simdedup.page.parse import parse

if TYPE_CHECKING:
    from scrapy.http import Response, TextResponse

    from scrapy_simdedup.settings import SiteScope

logger = logging.getLogger(__name__)

MOST = 500_000
"""Links of a crawl that are remembered, some 70 bytes each; pages that bring others are followed from then on."""


class Links:
    """Remembers which links to their own sites the pages of a crawl brought.

    Args:
        scope: what a site is.
        max_bytes: characters above which a page is not read.
    """

    def __init__(self, scope: SiteScope, max_bytes: int) -> None:
        self._scope, self._max_bytes = scope, max_bytes
        self._seen: set[int] = set()

    def see(self, response: Response) -> bool:
        """Remember the links of a page of HTML; whether any of them is new, or could not be read."""
        try:
            links = self._of(cast("TextResponse", response))
        except Exception:  # a page that cannot be read must not cost the links that a callback may find
            logger.warning("The links of %s could not be read, so it is followed", response.url, exc_info=True)
            return True
        if links is None:
            return True
        new = links - self._seen
        if len(self._seen) < MOST:
            self._seen |= new
        return bool(new)

    def _of(self, response: TextResponse) -> set[int] | None:
        """Those of one page; None if it is too much to be read: a hostile one takes Scrapy's own extractor seconds."""
        root = parse(response.text, max_bytes=self._max_bytes, rich=False).root
        if root is None:
            return None
        base, itself = get_base_url(response), canonicalize_url(response.url)
        site = site_of(response.url, self._scope)
        urls = (_absolute(base, element.get("href", "")) for element in root.iter("a", "area"))
        there = {canonicalize_url(url) for url in set(urls) if url and site_of(url, self._scope) == site}
        return {mmh3.hash64(url, signed=False)[0] for url in there if url != itself}


def _absolute(base: str, href: str) -> str:
    """The URL of a link; empty for one that leads to no page."""
    with suppress(ValueError):
        url = urljoin(base, href.strip())
        if url.startswith(("http://", "https://")):
            return url
    return ""
