"""Making page fingerprints: from HTML, from a page that is already read, or from texts; one by one, or for a run."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from scrapy_simdedup.fingerprint.features import (
    BOILERPLATE,
    distinct_features,
    find_block_signatures,
    find_shingles,
    numbers_of,
)
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.hashing import TEXT_END, WordHasher, fold_table, join_words, word_hasher
from scrapy_simdedup.fingerprint.methods import METHODS, ComparableText, Digests, normalise
from scrapy_simdedup.fingerprint.text_units import keep_units, page_units
from scrapy_simdedup.fingerprint.unit_changes import structure_minhash
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.page.page import Block, Page, read_page
from scrapy_simdedup.page.parse import utf8
from scrapy_simdedup.page.roles import role_words
from scrapy_simdedup.setting_checks import require_text
from scrapy_simdedup.settings import DedupSettings, Extractor
from scrapy_simdedup.unjudged import OF_OWN_PAST

try:
    from scrapy_simdedup.fingerprint._hashing import split_words
except ImportError:  # installed without a compiler
    from scrapy_simdedup.fingerprint.hashing import split_words

MAX_EMPTY_SHARE = 0.05
"""Share of a page's distinct shingles up to which too little content is none: what is left is the site's own, and all
pages of the site whose content did not come have it."""
_UINT16 = 0xFFFF


def fingerprint_page(html: str, *, url: str = "", **settings: Any) -> PageFingerprint:  # noqa: ARG001
    """Fingerprint a page; never raises for any HTML.

    Args:
        html: The decoded page.
        url: The page's URL, which does not change the fingerprint.
        settings: Settings as keywords, in lower case and without their prefix: ``bits=128``, ``identity="sku"``.

    Raises:
        SettingError: a setting cannot be used.
        TypeError: the page is no text.
    """
    require_text(html, "html")
    checked = DedupSettings.from_keywords(**settings)
    return fingerprint(html, checked, (checked.secret or "").encode())


def fingerprint(
    html: str, settings: DedupSettings, secret: bytes = b"", *, body: bytes | None = None, identity: str | None = None
) -> PageFingerprint:
    """Fingerprint a page under settings that are already checked; never raises.

    The method and its options, ``bits``, ``shingle_size``, ``min_words``, ``extractor``, ``role_words``,
    ``max_page_bytes``, ``track_layout`` and ``identity`` matter. Without a secret anyone can build a page that
    resembles another. The digest of the body and the identity are given where they are known.
    """
    body = body or body_digest(html, secret)  # first: then the page is read in the cache
    # The blocks of a page are some hundred objects that live for a millisecond, and none refers back to another. Their
    # number alone would set the garbage collector off, which then looks at all that the crawl has in memory. When it
    # goes on they are gone, as nothing here refers to them.
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        return fingerprint_parsed(_read(html, settings, identity), body, settings, secret)
    finally:
        if is_enabled:
            gc.enable()


def _read(html: str, settings: DedupSettings, identity: str | None) -> Page:
    page = read_page(
        html,
        max_bytes=settings.max_page_bytes,
        words=role_words(settings.role_words),
        extractor=settings.extractor,
        layout=settings.track_layout,
        identity=settings.identity if identity is None else (),
    )
    return page if identity is None else page._replace(identity=identity)


def fingerprint_parsed(page: Page, body: bytes, settings: DedupSettings, secret: bytes = b"") -> PageFingerprint:
    """Fingerprint a page that is already read; see :func:`fingerprint`."""
    words = word_hasher(secret)
    shingles = find_shingles(page.blocks, words, settings.shingle_size)
    features = distinct_features(shingles, page.blocks)
    total, content = len(features.hashes), int(np.count_nonzero(features.block_classes > BOILERPLATE))
    unjudged, least = page.unjudged, settings.min_words
    if unjudged is None and total < least:
        unjudged = "too_short"
    elif unjudged is None and content < least and content <= MAX_EMPTY_SHARE * total:
        unjudged = "empty"
    signatures = find_block_signatures(shingles, page.blocks)
    method = METHODS[settings.method]
    text = ComparableText(page.blocks, body, features, signatures, settings.min_words)
    digests = Digests(bytes(8)) if unjudged else method.digest(text, settings, secret)
    data = _data_digest(page.shell_texts, words)
    if data and not unjudged:  # then equal texts are no equal pages
        digests = digests._replace(exact=words.digest(digests.exact + data.to_bytes(4, "little")))
    units = None
    if settings.keeps_units and unjudged in OF_OWN_PAST and page.blocks:
        units = page_units(shingles, page.blocks, settings.shingle_size, page.h1)
        title, offer = page.own_title, page.offer
        if settings.ignore:
            title, offer = normalise(title, settings.ignore), normalise(offer, settings.ignore)
            texts = (normalise(page.blocks[number].text, settings.ignore) for number in shingles.blocks.tolist())
            masked = b"".join(words.digest(b" ".join(split_words(text))) for text in texts)
            units = units._replace(digests=np.frombuffer(masked, "<u8") >> np.uint64(32))
        units = units._replace(
            title=words.number(b" ".join(split_words(title)), 2),
            offer=words.number(b" ".join(split_words(offer)), 2),
            title_words=page.title_words,
            is_unlisted=page.is_unlisted,
        )
    return PageFingerprint(
        simhash=0 if unjudged else method.simhash(text, settings, secret),
        bits=settings.bits,
        exact=digests.exact,
        body=body,
        content=min(_UINT16, content),
        total=min(_UINT16, total),
        title=words.number(b" ".join(split_words(page.title)), 2),
        h1=words.number(b" ".join(split_words(page.h1)), 4),
        signatures=min(_UINT16, len(signatures.blocks)),
        headings=min(_UINT16, len(signatures.headings)),
        data=data,
        odd_signatures=digests.odd_signatures,
        odd_headings=digests.odd_headings,
        sketch=digests.sketch,
        unjudged=unjudged,
        shingle_size=settings.shingle_size,
        extractor=settings.extractor,
        model=model_of(settings.extractor),
        secret_id=words.secret_id,
        role_words=role_words(settings.role_words).words_id,
        method=settings.method,
        variant=method.variant(settings),
        structure=structure_minhash(page.layout_paths, secret) if page.layout_paths else b"",
        # Nobody asks for the numbers of a page with an h1.
        numbers=0 if page.h1 else words.number(" ".join(sorted(numbers_of(page.blocks))).encode(), 2),
        identity=identity_digest(page.identity, secret),
        units=None if units is None else keep_units(units),
        page_units=units,
    )


def model_of(extractor: Extractor) -> int:
    """16 bits of the content model, where the extractor asks it; else 0."""
    if extractor != "content":
        return 0
    from scrapy_simdedup.page.content_model import MODEL_DIGEST  # noqa: PLC0415 - few fingerprints need the model

    return int(MODEL_DIGEST[:4] or "0", 16)


def _data_digest(texts: Collection[str], words: WordHasher) -> int:
    """32 bits of the words of texts in any order; 0 for none."""
    if not texts:
        return 0
    joined = join_words(list(texts)).split(bytes([TEXT_END]))
    lines = sorted({b" ".join(line.replace(b"\0", b" ").split()) for line in joined})
    return int.from_bytes(words.digest(b"\n".join(lines))[:4], "little") or 1


def fingerprint_texts(
    texts: Sequence[str], settings: DedupSettings, secret: bytes = b"", *, identity: str = ""
) -> PageFingerprint:
    """Fingerprint texts that are all content, however short, such as the fields of an item; see :func:`fingerprint`."""
    blocks = tuple(Block(text, BlockClass.CONTENT, 0) for text in texts if text.strip())
    page = Page(blocks, "", "", None, identity=identity)
    return fingerprint_parsed(page, body_digest("\0".join(texts), secret), replace(settings, min_words=1), secret)


def body_digest(html: str, secret: bytes = b"") -> bytes:
    """8 bytes that are equal for pages that are equal character for character, under one secret; no parsing."""
    return word_hasher(secret).long_digest(utf8(html, "surrogatepass"))


def identity_digest(identity: str, secret: bytes = b"") -> int:
    """32 bits of an identity, under one secret; 0 for a blank one."""
    return word_hasher(secret).number(" ".join(identity.split()).encode("utf-8", "surrogatepass"), 4)


class Fingerprinter(Protocol):
    """Makes the fingerprints of a run, all under the same settings, in this process or in others."""

    def open(self, secret: bytes) -> None:
        """Take over the key of the hashes, once it is known to agree with the store."""

    async def fingerprint(
        self, html: str, url: str, settings: DedupSettings, *, body: bytes | None = None, identity: str | None = None
    ) -> PageFingerprint:
        """The fingerprint of a page; never raises for any HTML. The URL is for messages."""


class LocalFingerprinter:
    """Makes fingerprints in this process; ``on_extracted`` is called with the seconds that each page took."""

    def __init__(self, on_extracted: Callable[[float], None] | None = None) -> None:
        self._on_extracted = on_extracted
        self._secret = b""

    def open(self, secret: bytes) -> None:
        """Take over the key of the hashes."""
        self._secret = secret
        fold_table()  # it takes as long as some dozens of pages, which would wait for the first one

    async def fingerprint(
        self,
        html: str,
        url: str,  # noqa: ARG002 - no message needs it here
        settings: DedupSettings,
        *,
        body: bytes | None = None,
        identity: str | None = None,
    ) -> PageFingerprint:
        """The fingerprint of a page, made while all other work of the process waits."""
        start = time.perf_counter()
        made = fingerprint(html, settings, self._secret, body=body, identity=identity)
        if self._on_extracted is not None:
            self._on_extracted(time.perf_counter() - start)
        return made
