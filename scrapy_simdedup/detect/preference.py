"""The preference among copies: which of two is the better one, and what their pages claim about that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pkgutil import resolve_name
from typing import Any, TypeAlias
from urllib.parse import urldefrag

from scrapy_simdedup.detect.names import host_of, site_of
from scrapy_simdedup.detect.verdict import FetchedPage
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.settings import Criterion
from scrapy_simdedup.store.base import Record

MAX_PAGES = 50_000
"""Pages of a site whose claims are remembered; beyond, the one that was kept longest ago is forgotten."""
BYTES_PER_PAGE = 250
"""Bytes that the claim of a page takes, about."""


@dataclass(frozen=True, slots=True)
class CopyFacts:
    """What is known of a copy besides its URL."""

    is_canonical: bool
    """Its URL is the one that the newer of the two copies calls its own (``rel=canonical``). A claim of the page."""
    length: int
    """Distinct shingles of its content, at most 65,535."""


PreferenceKey: TypeAlias = Callable[[str, CopyFacts], Any]
"""What copies are compared by: of a copy's URL and facts, a value that is greater for the better one."""
PREFERENCES: dict[Criterion, PreferenceKey] = {
    "canonical": lambda _, facts: facts.is_canonical,
    "https": lambda url, _: url.lower().startswith("https:"),
    "longer": lambda _, facts: facts.length,
    "shorter_url": lambda url, _: -len(url),
}
"""The criteria of ``SIMDEDUP_PREFER`` by their names."""


def is_preferred(page: FetchedPage, original: Record, by: tuple[Criterion, ...] | str, claims: CanonicalClaims) -> bool:
    """Whether a copy is to take the place of its original.

    Only among pages of one registrable domain: no page takes another domain's place by the claim that it is better. A
    copy on another host is not believed that it is the canonical one, unless its original agrees or claims nothing.

    The first of the :data:`PREFERENCES` that tells the two apart decides. One can be the import path of a
    :data:`PreferenceKey`. ``claims`` are what the pages of the site declare.
    """
    if site_of(page.url) != site_of(original.url):
        return False
    known = PageFingerprint.from_bytes(original.fingerprint)
    key, canonical = _preference_key(by), page.canonical and urldefrag(page.canonical).url
    if canonical == urldefrag(page.url).url and host_of(page.url) != host_of(original.url):
        canonical = canonical if claims.agrees(original.key, canonical) else None
    ours, theirs = (
        key(url, CopyFacts(canonical is not None and urldefrag(url).url == canonical, fp.content))
        for url, fp in ((page.url, page.fingerprint), (original.url, known))
    )
    return bool(ours > theirs)


@lru_cache(8)
def _preference_key(by: tuple[Criterion, ...] | str) -> PreferenceKey:
    if isinstance(by, str):
        made: PreferenceKey = resolve_name(by)
        return made
    criteria = [PREFERENCES[name] for name in by]
    return lambda url, facts: tuple(criterion(url, facts) for criterion in criteria)


class CanonicalClaims:
    """The canonical URLs that the pages of a site declare, as far as this process judged them; none is stored."""

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
        self._claims[key] = _url_hash(canonical)
        if len(self._claims) > MAX_PAGES:
            del self._claims[next(iter(self._claims))]

    def agrees(self, key: bytes, canonical: str) -> bool:
        """Whether a page declares this URL, or none; False where nobody knows what it declares."""
        return self._claims.get(key) in {0, _url_hash(canonical)}


def _url_hash(canonical: str | None) -> int:
    return hash(urldefrag(canonical).url) or 1 if canonical else 0
