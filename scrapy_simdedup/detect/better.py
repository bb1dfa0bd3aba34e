"""Which of two copies is the better one, by what the user says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urldefrag

from scrapy_simdedup.detect.site import site_of
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint

if TYPE_CHECKING:
    from scrapy_simdedup.detect.visit import Visit
    from scrapy_simdedup.store.base import Record


@dataclass(frozen=True, slots=True)
class CopyFacts:
    """What is known of a copy besides its URL."""

    is_canonical: bool
    """Its URL is the one that the newer of the two copies calls its own (``rel=canonical``). A claim of the page."""
    length: int
    """Distinct shingles of its content, at most 65,535."""


BetterKey: TypeAlias = Callable[[str, CopyFacts], Any]
"""What copies are compared by: of a copy's URL and facts, a value that is greater for the better one."""

CRITERIA: dict[str, BetterKey] = {
    "canonical": lambda _, facts: facts.is_canonical,
    "https": lambda url, _: url.lower().startswith("https:"),
    "longer": lambda _, facts: facts.length,
    "shorter_url": lambda url, _: -len(url),
}
"""By what ``SIMDEDUP_BETTER`` calls them."""


def is_better(visit: Visit, original: Record, by: tuple[str, ...] | str) -> bool:
    """Whether a copy is to take the place of the one before it.

    Only of pages of one registrable domain: nobody takes the place of another's page by saying that it is better.

    Args:
        visit: the copy.
        original: what it repeats.
        by: names of :data:`CRITERIA`, the first of which that tells them apart decides; or the import path of a
            :data:`BetterKey`.
    """
    if site_of(visit.url) != site_of(original.url):
        return False
    known = PageFingerprint.from_bytes(original.fingerprint)
    key, claimed = _key(by), visit.claimed
    ours, theirs = (
        key(url, CopyFacts(claimed is not None and _same(url, claimed), fp.content))
        for url, fp in ((visit.url, visit.fingerprint), (original.url, known))
    )
    return bool(ours > theirs)


@lru_cache(8)
def _key(by: tuple[str, ...] | str) -> BetterKey:
    if isinstance(by, str):
        made: BetterKey = resolve_name(by)
        return made
    criteria = [CRITERIA[name] for name in by]
    return lambda url, facts: tuple(criterion(url, facts) for criterion in criteria)


def _same(one: str, other: str) -> bool:
    return urldefrag(one).url == urldefrag(other).url
