"""Making fingerprints: from HTML, or from a page that is already read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_simdedup.fingerprint.features import distinct, find_shingles, is_content
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.methods import METHODS
from scrapy_simdedup.fingerprint.methods.base import Kept, Text
from scrapy_simdedup.fingerprint.structure import structure
from scrapy_simdedup.fingerprint.units import find_units
from scrapy_simdedup.fingerprint.word_hashes import word_hashes
from scrapy_simdedup.fingerprint.words import split_words
from scrapy_simdedup.page.kinds import Kind
from scrapy_simdedup.page.page import Block, Page, read_page
from scrapy_simdedup.page.roles import role_words
from scrapy_simdedup.settings import DedupSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simdedup.fingerprint.word_hashes import WordHashes

_UINT16 = 0xFFFF


def fingerprint_page(html: str, *, url: str = "", **settings: Any) -> PageFingerprint:  # noqa: ARG001
    """Fingerprint a page; never raises for any HTML.

    Args:
        html: The decoded page.
        url: The page's address, which does not change the fingerprint.
        settings: Any setting that fits as a keyword, in lower case without its prefix: ``bits=128``.

    Raises:
        SettingError: a setting cannot be used.
    """
    checked = DedupSettings.from_keywords(**settings)
    return fingerprint(html, checked, (checked.secret or "").encode())


def fingerprint(
    html: str, settings: DedupSettings, secret: bytes = b"", *, body: bytes | None = None
) -> PageFingerprint:
    """Fingerprint a page under settings that are already checked; never raises.

    Args:
        html: The decoded page.
        settings: ``method`` and what it is told, ``bits``, ``shingle_size``, ``min_words``, ``extractor``,
            ``role_words``, ``max_page_bytes``, ``structure`` matter.
        secret: Key under the hashes; without it anyone can build a page that resembles another.
        body: Its :func:`body_digest`, where that is known already.
    """
    body = body or body_digest(html, secret)  # first: then the page is read in the cache
    page = read_page(
        html,
        max_bytes=settings.max_page_bytes,
        words=role_words(settings.role_words),
        extractor=settings.extractor,
        layout=settings.structure,
    )
    return fingerprint_read(page, body, settings, secret)


def fingerprint_read(page: Page, body: bytes, settings: DedupSettings, secret: bytes = b"") -> PageFingerprint:
    """Fingerprint a page that is already read; see :func:`fingerprint`."""
    words = word_hashes(secret)
    shingles = find_shingles(page.blocks, words, settings.shingle_size)
    features = distinct(shingles, page.blocks)
    unjudged = page.unjudged or ("too_short" if len(features.hashes) < settings.min_words else None)
    units = find_units(shingles, page.blocks)
    method = METHODS[settings.method]
    text = Text(page.blocks, body, features, units, settings.min_words)
    kept = Kept(bytes(8)) if unjudged else method.keep(text, settings, secret)
    return PageFingerprint(
        simhash=0 if unjudged else method.simhash(text, settings, secret),
        bits=settings.bits,
        exact=kept.exact,
        body=body,
        content=min(_UINT16, int(np.count_nonzero(is_content(features.kinds)))),
        total=min(_UINT16, len(features.hashes)),
        title=_headline(page.title, words),
        h1=_headline(page.h1, words),
        units=min(_UINT16, len(units.texts)),
        headings=min(_UINT16, len(units.headings)),
        odd_units=kept.odd_units,
        odd_headings=kept.odd_headings,
        sketch=kept.sketch,
        unjudged=unjudged,
        shingle_size=settings.shingle_size,
        extractor=settings.extractor,
        secret_id=words.secret_id,
        role_words=role_words(settings.role_words).words_id,
        method=settings.method,
        variant=method.variant(settings),
        structure=structure(page.paths, secret) if page.paths else b"",
    )


def fingerprint_texts(texts: Sequence[str], settings: DedupSettings, secret: bytes = b"") -> PageFingerprint:
    """Fingerprint texts that are all content, however short, such as the fields of an item; see :func:`fingerprint`."""
    page = Page(tuple(Block(text, Kind.FIRM, 0) for text in texts if text.strip()), "", "", None)
    return fingerprint_read(page, body_digest("\0".join(texts), secret), replace(settings, min_words=1), secret)


def body_digest(html: str, secret: bytes = b"") -> bytes:
    """8 bytes that are equal for pages that are equal character for character, under one secret; no parsing."""
    return word_hashes(secret).strong_digest(html.encode("utf-8", "surrogatepass"))


def _headline(text: str, words: WordHashes) -> int:
    found = split_words(text)
    return int.from_bytes(words.digest(b" ".join(found))[:2], "little") or 1 if found else 0
