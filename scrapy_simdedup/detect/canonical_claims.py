"""The canonical URLs that the pages of a site declare, as far as this process judged them; none is stored."""

from __future__ import annotations

from urllib.parse import urldefrag

MAX_PAGES = 50_000
"""Pages of a site whose claims are remembered; beyond, the one that was kept longest ago is forgotten."""
BYTES_PER_PAGE = 250
"""Bytes that the claim of a page takes, about."""


class CanonicalClaims:
    """Tells whether a page would agree that another URL than its own is the canonical one."""

    def __init__(self) -> None:
        self._claims: dict[bytes, int] = {}
        """By the page's key, a hash of the URL that it declares; 0 where it declares none."""

    @property
    def size(self) -> int:
        """Bytes that the claims take, about."""
        return BYTES_PER_PAGE * len(self._claims)

    def remember(self, key: bytes, canonical: str | None) -> None:
        """Remember what a page declares, None for nothing."""
        self._claims.pop(key, None)
        self._claims[key] = _hash(canonical)
        if len(self._claims) > MAX_PAGES:
            del self._claims[next(iter(self._claims))]

    def agrees(self, key: bytes, canonical: str) -> bool:
        """Whether a page declares this URL, or none; False where nobody knows what it declares."""
        return self._claims.get(key) in {0, _hash(canonical)}


def _hash(canonical: str | None) -> int:
    return hash(urldefrag(canonical).url) or 1 if canonical else 0
