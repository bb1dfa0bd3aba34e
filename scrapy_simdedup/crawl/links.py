"""The links of pages: whether a repeat brings any that no page brought before."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, cast

import mmh3
from scrapy.linkextractors import LinkExtractor
from w3lib.url import canonicalize_url

from scrapy_simdedup.detect.site import site_of

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
    """

    def __init__(self, scope: SiteScope) -> None:
        self._scope = scope
        self._extractor = LinkExtractor(canonicalize=True, deny_extensions=())
        self._seen: set[int] = set()

    def see(self, response: Response) -> bool:
        """Remember the links of a page of HTML; whether any of them is new, or could not be read."""
        try:
            links = self._of(response)
        except Exception:  # a page that cannot be read must not cost the links that a callback may find
            logger.warning("The links of %s could not be read, so it is followed", response.url, exc_info=True)
            return True
        new = links - self._seen
        if len(self._seen) < MOST:
            self._seen |= new
        return bool(new)

    def _of(self, response: Response) -> set[int]:
        site, itself = site_of(response.url, self._scope), canonicalize_url(response.url)
        urls = (link.url for link in self._extractor.extract_links(cast("TextResponse", response)))
        return {
            mmh3.hash64(url, signed=False)[0] for url in urls if url != itself and site_of(url, self._scope) == site
        }
