"""The reader: from a page to its fingerprint, made anew or known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from scrapy_simdedup.fingerprint.making import body_digest, fingerprint

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from scrapy_simdedup.detect.site_index import SiteIndex
    from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
    from scrapy_simdedup.settings import DedupSettings

Extract: TypeAlias = "Callable[[str, bytes, str, DedupSettings, bytes], Awaitable[PageFingerprint]]"
"""Fingerprints a page: its HTML, the digest of that, its URL for the log, the settings of its site, the key under the
hashes."""


class Reader:
    """Makes fingerprints in one way, so that they can be compared.

    Args:
        settings: those of all sites.
        secret: the key under the hashes.
        extract: makes the fingerprints; None makes them here and now.
    """

    def __init__(self, settings: DedupSettings, secret: bytes, extract: Extract | None) -> None:
        self._secret, self._extract = secret, extract or _extract_here
        self._sample = fingerprint("", settings, secret)

    async def read(
        self, html: str, *, url: str, key: bytes, known: SiteIndex | None, settings: DedupSettings
    ) -> PageFingerprint:
        """The page's fingerprint under the settings of its site; a body that the site has is not parsed again."""
        body = body_digest(html, self._secret)
        found = known.same_body(body, key) if known else None
        if found is not None and found.unjudged is None and found.extractor == settings.extractor:
            return found
        return await self._extract(html, body, url, settings, self._secret)

    def check(self, fp: PageFingerprint, settings: DedupSettings) -> None:
        """Raise :class:`~scrapy_simdedup.errors.FingerprintMismatch` unless it is as this reader makes them."""
        same_way = settings.extractor == self._sample.extractor
        fp.check_comparable(self._sample if same_way else replace(self._sample, extractor=settings.extractor))


async def _extract_here(html: str, body: bytes, _url: str, settings: DedupSettings, secret: bytes) -> PageFingerprint:
    return fingerprint(html, settings, secret, body=body)
