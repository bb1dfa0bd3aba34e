"""Making page fingerprints: from HTML, from a page that is already read, or from texts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_simdedup.fingerprint.features import BOILERPLATE, distinct_features, find_block_signatures, find_shingles
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.methods import METHODS
from scrapy_simdedup.fingerprint.methods.base import ComparableText, Digests
from scrapy_simdedup.fingerprint.structure import structure_minhash
from scrapy_simdedup.fingerprint.word_hashes import word_hasher
from scrapy_simdedup.fingerprint.words import split_words
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.page.page import Block, Page, read_page
from scrapy_simdedup.page.roles import role_words
from scrapy_simdedup.setting_checks import require_text
from scrapy_simdedup.settings import DedupSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simdedup.fingerprint.word_hashes import WordHasher

_UINT16 = 0xFFFF


def fingerprint_page(html: str, *, url: str = "", **settings: Any) -> PageFingerprint:  # noqa: ARG001
    """Fingerprint a page; never raises for any HTML.

    Args:
        html: The decoded page.
        url: The page's URL, which does not change the fingerprint.
        settings: Settings as keywords, in lower case and without their prefix: ``bits=128``.

    Raises:
        SettingError: a setting cannot be used.
        TypeError: the page is no text.
    """
    require_text(html, "html")
    checked = DedupSettings.from_keywords(**settings)
    return fingerprint(html, checked, (checked.secret or "").encode())


def fingerprint(
    html: str, settings: DedupSettings, secret: bytes = b"", *, body: bytes | None = None
) -> PageFingerprint:
    """Fingerprint a page under settings that are already checked; never raises.

    Args:
        html: The decoded page.
        settings: ``method`` and its options, ``bits``, ``shingle_size``, ``min_words``, ``extractor``,
            ``role_words``, ``max_page_bytes``, ``track_layout`` matter.
        secret: The key of the hashes; without one anyone can build a page that resembles another.
        body: The page's :func:`body_digest`, where it is known already.
    """
    body = body or body_digest(html, secret)  # first: then the page is read in the cache
    page = read_page(
        html,
        max_bytes=settings.max_page_bytes,
        words=role_words(settings.role_words),
        extractor=settings.extractor,
        layout=settings.track_layout,
    )
    return fingerprint_parsed(page, body, settings, secret)


def fingerprint_parsed(page: Page, body: bytes, settings: DedupSettings, secret: bytes = b"") -> PageFingerprint:
    """Fingerprint a page that is already read; see :func:`fingerprint`."""
    words = word_hasher(secret)
    shingles = find_shingles(page.blocks, words, settings.shingle_size)
    features = distinct_features(shingles, page.blocks)
    unjudged = page.unjudged or ("too_short" if len(features.hashes) < settings.min_words else None)
    signatures = find_block_signatures(shingles, page.blocks)
    method = METHODS[settings.method]
    text = ComparableText(page.blocks, body, features, signatures, settings.min_words)
    digests = Digests(bytes(8)) if unjudged else method.digest(text, settings, secret)
    return PageFingerprint(
        simhash=0 if unjudged else method.simhash(text, settings, secret),
        bits=settings.bits,
        exact=digests.exact,
        body=body,
        content=min(_UINT16, int(np.count_nonzero(features.block_classes > BOILERPLATE))),
        total=min(_UINT16, len(features.hashes)),
        title=_headline_digest(page.title, words),
        h1=_headline_digest(page.h1, words),
        signatures=min(_UINT16, len(signatures.blocks)),
        headings=min(_UINT16, len(signatures.headings)),
        odd_signatures=digests.odd_signatures,
        odd_headings=digests.odd_headings,
        sketch=digests.sketch,
        unjudged=unjudged,
        shingle_size=settings.shingle_size,
        extractor=settings.extractor,
        secret_id=words.secret_id,
        role_words=role_words(settings.role_words).words_id,
        method=settings.method,
        variant=method.variant(settings),
        structure=structure_minhash(page.layout_paths, secret) if page.layout_paths else b"",
    )


def fingerprint_texts(texts: Sequence[str], settings: DedupSettings, secret: bytes = b"") -> PageFingerprint:
    """Fingerprint texts that are all content, however short, such as the fields of an item; see :func:`fingerprint`."""
    page = Page(tuple(Block(text, BlockClass.CONTENT, 0) for text in texts if text.strip()), "", "", None)
    return fingerprint_parsed(page, body_digest("\0".join(texts), secret), replace(settings, min_words=1), secret)


def body_digest(html: str, secret: bytes = b"") -> bytes:
    """8 bytes that are equal for pages that are equal character for character, under one secret; no parsing."""
    return word_hasher(secret).blake2b_digest(html.encode("utf-8", "surrogatepass"))


def _headline_digest(headline: str, words: WordHasher) -> int:
    """16 bits of the words of a headline; 0 for one without words."""
    joined = b" ".join(split_words(headline))
    return int.from_bytes(words.digest(joined)[:2], "little") or 1 if joined else 0
