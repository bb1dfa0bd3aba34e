"""Pages that another plugin delivered before: all that is known of them is how it called their requests."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING

from w3lib.url import canonicalize_url

from scrapy_simdedup.store.whole import whole_log

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request

    from scrapy_simdedup.store.base import FingerprintStore

LOG = "imported:"
"""The log of their keys, beside those of the sites: a key does not tell its site."""
META_KEYS = ("deltafetch_key", "crawl_once_key")
"""Where users of other plugins name a page themselves."""


class Imported:
    """When each page was delivered, by the key that the other plugin gave it."""

    def __init__(self) -> None:
        self._times: dict[bytes, float] = {}

    async def read(self, store: FingerprintStore) -> None:
        """Take in what ``scrapy simdedup migrate`` wrote.

        Raises:
            StoreError: the store failed.
        """
        async for record in whole_log(store, LOG):
            if not record.forgotten:
                self._times[record.key] = record.first_seen

    def since(self, request: Request, key: bytes) -> float | None:
        """When the page was delivered, in seconds since the epoch; None if nobody told.

        Args:
            request: asks for the page.
            key: its fingerprint in this crawl.
        """
        if not self._times:
            return None
        with suppress(ValueError):  # a URL that cannot be taken apart
            return next((self._times[name] for name in _names(request, key) if name in self._times), None)
        return None


def _names(request: Request, key: bytes) -> Iterator[bytes]:
    """How other plugins may have called the request."""
    for name in META_KEYS:
        if given := request.meta.get(name):
            yield given if isinstance(given, bytes) else str(given).encode()
    yield key
    # Scrapy's fingerprints until 2.6, and those of its function request_fingerprint() until that went.
    parts = request.method.encode(), canonicalize_url(request.url).encode(), request.body
    old = hashlib.sha1(b"".join(parts), usedforsecurity=False)
    yield old.digest()
    yield old.hexdigest().encode()
