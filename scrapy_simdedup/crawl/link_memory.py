"""The memory of links: which ones a crawl has met, and which of them were requested, in few bytes each."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache, partial
from hashlib import blake2b
from typing import TYPE_CHECKING

from w3lib.url import canonicalize_url

from scrapy_simdedup.detect.names import site_of
from scrapy_simdedup.urls.compact import KeyedHash, SortedMap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_simdedup.settings import Scope

MAX_LINKS = 10_000_000
"""Entries of the memory, at most 20 bytes each; repeats are followed for other links at once. A link that was requested
and is on a repeat as well has two."""
MAX_CACHED = 20_000
"""URLs whose keys are kept, as most links are on many pages."""


class LinkMemory:
    """Remembers which links of its sites a crawl has met, in at most 20 bytes each.

    Args:
        scope: what a site is.
        secret: the store's; without it nobody can make two links that are taken for one.
        max_links: how many links are remembered.
    """

    _MET, _REQUESTED = 0, 1

    def __init__(self, scope: Scope, secret: bytes, max_links: int) -> None:
        self._scope, self._max_links = scope, max_links
        self.hash: KeyedHash = KeyedHash(blake2b(secret, digest_size=32, person=b"simdedup links").digest())
        self._known = SortedMap()
        self._cached_key = lru_cache(MAX_CACHED)(self._key)
        self._cached_site = lru_cache(MAX_CACHED)(partial(site_of, scope=scope))

    def __len__(self) -> int:
        return len(self._known)

    @property
    def is_full(self) -> bool:
        """Whether no further link is remembered."""
        return len(self._known) >= self._max_links

    def key(self, url: str) -> tuple[str, int] | None:
        """The site of a link, and its hash, keyed by secret and site; None for a URL that is none."""
        with suppress(ValueError):
            return self._cached_key(url)
        return None

    def site(self, url: str) -> str:
        """The site of an absolute URL."""
        return self._cached_site("/".join(url.split("/", 3)[:3]))

    def has_new(self, urls: Iterable[str], page: str) -> bool:
        """Whether one of a page's links was neither requested, nor on another page for which this was asked.

        Args:
            urls: the links to the page's own site. They are remembered as they are written: to canonicalise them takes
                ten times as long, so only those are that were met nowhere yet.
            page: the URL of the page itself, which is no new link.
        """
        site, itself = self.site(page), self.key(page)
        unmet = [url for url in urls if self._meet(self.hash(site, url))]
        keys = (self.key(url) for url in unmet)
        return any(key not in {None, itself} and self._known.get(key[1]) != self._REQUESTED for key in keys)

    def _meet(self, key: int) -> bool:
        is_new = self._known.get(key) is None
        if is_new and not self.is_full:
            self._known.put(key, self._MET)
        return is_new

    def request(self, key: int) -> bool:
        """Remember that a link was requested, or deferred; whether it was not before."""
        known = self._known.get(key)
        if known == self._REQUESTED:
            return False
        if known is not None or not self.is_full:
            self._known.put(key, self._REQUESTED)
        return True

    def _key(self, url: str) -> tuple[str, int]:
        site = site_of(url, self._scope)
        return site, self.hash(site, canonicalize_url(url))
