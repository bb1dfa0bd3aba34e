"""Pages that another plugin delivered before; only the keys that it gave their requests are known."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING

from w3lib.url import canonicalize_url

from scrapy_simdedup.store.base import whole_log

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request

    from scrapy_simdedup.store.base import FingerprintStore

IMPORTED_LOG = "imported:"
"""The log of the imported keys, beside those of the sites: the site of a key is not known."""
PLUGIN_META_KEYS = ("deltafetch_key", "crawl_once_key")
"""Entries of a request's meta in which users of other plugins name a page themselves."""


class ImportedPages:
    """When each page was delivered, by the key that the other plugin gave it."""

    def __init__(self) -> None:
        self.times: dict[bytes, float] = {}
        """Seconds since the epoch by key; empty where nothing was imported."""

    async def load(self, store: FingerprintStore) -> None:
        """Read what ``scrapy simdedup migrate`` wrote.

        Raises:
            StoreError: the store failed.
        """
        async for record in whole_log(store, IMPORTED_LOG):
            if not record.forgotten:
                self.times[record.key] = record.first_seen

    def delivered_at(self, request: Request, key: bytes) -> float | None:
        """When the request's page was delivered; None if no other plugin delivered it."""
        with suppress(ValueError):  # a URL that cannot be taken apart
            return next((self.times[name] for name in _possible_keys(request, key) if name in self.times), None)
        return None


def _possible_keys(request: Request, key: bytes) -> Iterator[bytes]:
    """How other plugins may have called the request."""
    for name in PLUGIN_META_KEYS:
        if given := request.meta.get(name):
            yield given if isinstance(given, bytes) else str(given).encode()
    yield key
    # Scrapy's fingerprints until 2.6, and those of its function request_fingerprint() until that went.
    parts = request.method.encode(), canonicalize_url(request.url).encode(), request.body
    old = hashlib.sha1(b"".join(parts), usedforsecurity=False)
    yield old.digest()
    yield old.hexdigest().encode()
