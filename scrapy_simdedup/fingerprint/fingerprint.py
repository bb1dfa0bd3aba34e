"""The page fingerprint: what is kept of a page, how two are compared, bytes and back."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from scrapy_simdedup.errors import FingerprintMismatch
from scrapy_simdedup.fingerprint.evidence import EVIDENCE, HEADING_BITS, UNIT_BITS, read_evidence, weigh
from scrapy_simdedup.fingerprint.features import distinct, find_shingles
from scrapy_simdedup.fingerprint.odd_sketch import odd_sketch
from scrapy_simdedup.fingerprint.simhash import simhash
from scrapy_simdedup.fingerprint.sketch import sketch
from scrapy_simdedup.fingerprint.units import find_units
from scrapy_simdedup.fingerprint.words import split_words, word_hashes
from scrapy_simdedup.notebook import bar, table_html
from scrapy_simdedup.page.kinds import Kind
from scrapy_simdedup.page.page import Page, read_page
from scrapy_simdedup.page.roles import role_words
from scrapy_simdedup.settings import DedupSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simdedup.fingerprint.words import WordHashes

ALGORITHM = 1
"""Version of the algorithm; goes up whenever the same page would give another fingerprint."""

COMPARED_BY_BODY = frozenset(
    {"cut", "too_big", "too_many_attributes", "too_many_elements", "too_many_links", "too_much_text"}
)
"""Reasons of pages that have content, but no text to trust: they are the same only if byte for byte."""

Relation = Literal["identical", "near", "different"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How alike two pages are."""

    kind: Relation
    similarity: float
    """Share of common content, 0..1."""
    distance: int
    """Bits in which the simhashes differ."""

    def __repr__(self) -> str:
        return f"<Comparison {self.kind}, similarity {self.similarity:.3f}, {self.distance} bits>"

    def _repr_html_(self) -> str:
        """For Jupyter."""
        return table_html(self.kind, (), [("similarity", bar(self.similarity)), ("differing bits", self.distance)])


@dataclass(frozen=True, slots=True)
class PageFingerprint:
    """A page in at most 512 bytes; the same for the same HTML in every process, platform and Python."""

    simhash: int
    """``bits`` bits; 0 if unjudged."""
    bits: int
    """64 or 128."""
    exact: bytes
    """8 bytes of a digest of the set of shingles; zeros if unjudged."""
    body: bytes
    """8 bytes of a digest of the HTML as it came; see :func:`body_digest`."""
    content: int
    """Distinct shingles that are no frame, at most 65,535."""
    total: int
    """Distinct shingles, at most 65,535."""
    title: int
    """16 bits of the words of the title; 0 for none."""
    h1: int
    """16 bits of the words of the first h1 of the content; 0 for none."""
    units: int
    """Elements that stand for the text of the content blocks, at most 65,535; see
    :mod:`scrapy_simdedup.fingerprint.units`."""
    headings: int
    """Elements that stand for the headings of the content, at most 65,535."""
    odd_units: bytes
    """Their odd sketch, 64 bytes; empty if unjudged. See :mod:`scrapy_simdedup.fingerprint.odd_sketch`."""
    odd_headings: bytes
    """That of the headings, 8 bytes; empty if unjudged."""
    sketch: bytes
    """See :mod:`scrapy_simdedup.fingerprint.sketch`; empty if unjudged."""
    unjudged: str | None = None
    """Why the page must not be compared by its text, such as ``"too_short"`` or ``"cut"``."""
    shingle_size: int = 3
    """Words per shingle."""
    extractor: str = "roles"
    """What decided which text is the page's own."""
    secret_id: int = 0
    """16 bits that tell secrets apart; 0 without a secret."""
    role_words: int = 0
    """16 bits that tell apart what names of classes and ids mean; 0 for what the package knows by itself."""
    algorithm: int = ALGORITHM
    """Version of the algorithm that made it."""

    def compare(self, other: PageFingerprint, *, identical: float = 0.95, near: float = 0.85) -> Comparison:
        """Tell how alike two pages are; symmetric.

        Pages without enough text are no copies of anything, not even of themselves.

        Args:
            other: The fingerprint of the other page.
            identical: Similarity from which pages are identical.
            near: Similarity from which pages are near-duplicates.

        Raises:
            FingerprintMismatch: the two were not made the same way.
        """
        self.check_comparable(other)
        distance = (self.simhash ^ other.simhash).bit_count()
        if self.unjudged or other.unjudged:
            copies = {self.unjudged, other.unjudged} <= COMPARED_BY_BODY and self.body == other.body
            return Comparison("identical", 1.0, distance) if copies else Comparison("different", 0.0, distance)
        alike = float(weigh(self.evidence[0], other.evidence).similarity[0])
        kind: Relation = "identical" if alike >= identical else "near" if alike >= near else "different"
        return Comparison(kind, alike, distance)

    def check_comparable(self, other: PageFingerprint) -> None:
        """Raise :class:`FingerprintMismatch` unless the two were made the same way."""
        for name in ("algorithm", "bits", "shingle_size", "extractor", "secret_id", "role_words"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                raise FingerprintMismatch(
                    f"fingerprints with {name.replace('_', ' ')} {mine} and {theirs} cannot be compared; "
                    "make both with the same settings and the same version of scrapy-simdedup"
                )

    @property
    def evidence(self) -> NDArray[np.void]:
        """What is compared, one row of :data:`~scrapy_simdedup.fingerprint.evidence.EVIDENCE`; none if unjudged."""
        return read_evidence(self._tail() if self.unjudged is None else b"")

    def _tail(self) -> bytes:
        counts = _COUNTS.pack(self.content, self.title, self.h1, self.units, self.headings)
        return b"".join((counts, self.exact, self.odd_units, self.odd_headings, self.sketch))

    def __bytes__(self) -> bytes:
        made_by = self.shingle_size | (_READABILITY if self.extractor == "readability" else 0)
        judged = self.unjudged is None
        head = _HEAD.pack(
            self.algorithm, self.bits, made_by, judged, self.secret_id, self.role_words, self.body, self.total
        )
        tail = self._tail() if self.unjudged is None else self._tail()[: _COUNTS.size] + self.unjudged.encode()
        return head + self.simhash.to_bytes(self.bits // 8, "little") + tail

    @classmethod
    def from_bytes(cls, raw: bytes) -> PageFingerprint:
        """Read what ``bytes(fingerprint)`` gave.

        Raises:
            FingerprintMismatch: the bytes are no fingerprint, or one of another version.
        """
        if len(raw) < _HEAD.size:
            raise FingerprintMismatch(f"{len(raw)} bytes are no page fingerprint")
        algorithm, bits, made_by, judged, secret_id, words_id, body, total = _HEAD.unpack_from(raw)
        if algorithm != ALGORITHM:
            raise FingerprintMismatch(
                f"a fingerprint of version {algorithm} cannot be read by version {ALGORITHM}; "
                "fingerprint the pages again, or use the scrapy-simdedup that made it"
            )
        start = _HEAD.size + bits // 8
        tail, reason = raw[start:], raw[start + _COUNTS.size :]
        fits = len(tail) == EVIDENCE.itemsize if judged == 1 else 0 < len(reason) <= _REASON and reason.isascii()
        if bits not in {64, 128} or judged > 1 or not fits:
            raise FingerprintMismatch(f"{len(raw)} bytes that begin with {raw[:4].hex()} are no page fingerprint")
        content, title, h1, units, headings = _COUNTS.unpack_from(tail)
        exact, odd_units, odd_headings, cells = _TEXTS.unpack_from(tail, _COUNTS.size) if judged else _NO_TEXTS
        return cls(
            simhash=int.from_bytes(raw[_HEAD.size : start], "little"),
            bits=bits,
            exact=exact,
            body=body,
            content=content,
            total=total,
            title=title,
            h1=h1,
            units=units,
            headings=headings,
            odd_units=odd_units,
            odd_headings=odd_headings,
            sketch=cells,
            unjudged=None if judged else reason.decode("ascii"),
            shingle_size=made_by & ~_READABILITY,
            extractor="readability" if made_by & _READABILITY else "roles",
            secret_id=secret_id,
            role_words=words_id,
        )


_HEAD = struct.Struct("<BBBBHH8sH")
_COUNTS = struct.Struct("<5H")
_TEXTS = struct.Struct(f"8s{UNIT_BITS // 8}s{HEADING_BITS // 8}s{EVIDENCE['cells'].itemsize}s")
_NO_TEXTS = (bytes(8), b"", b"", b"")
_READABILITY = 0x80
_REASON = 64
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


def fingerprint(html: str, settings: DedupSettings, secret: bytes = b"") -> PageFingerprint:
    """Fingerprint a page under settings that are already checked; never raises.

    Args:
        html: The decoded page.
        settings: ``bits``, ``shingle_size``, ``min_words``, ``extractor``, ``role_words``, ``max_page_bytes`` matter.
        secret: Key under the hashes; without it anyone can build a page that resembles another.
    """
    page = read_page(
        html,
        max_bytes=settings.max_page_bytes,
        words=role_words(settings.role_words),
        extractor=settings.extractor,
    )
    return fingerprint_read(page, body_digest(html, secret), settings, secret)


def fingerprint_read(page: Page, body: bytes, settings: DedupSettings, secret: bytes = b"") -> PageFingerprint:
    """Fingerprint a page that is already read; see :func:`fingerprint`."""
    words = word_hashes(secret)
    shingles = find_shingles(page.blocks, words, settings.shingle_size)
    hashes, kinds = distinct(shingles, page.blocks)
    unjudged = page.unjudged or ("too_short" if len(hashes) < settings.min_words else None)
    units, headings = find_units(shingles, page.blocks)
    return PageFingerprint(
        simhash=0 if unjudged else simhash(hashes, kinds, settings.bits),
        bits=settings.bits,
        exact=bytes(8) if unjudged else blake2b(hashes.astype("<u8").tobytes(), digest_size=8).digest(),
        body=body,
        content=min(_UINT16, int(np.count_nonzero(kinds > Kind.FRAME))),
        total=min(_UINT16, len(hashes)),
        title=_headline(page.title, words),
        h1=_headline(page.h1, words),
        units=min(_UINT16, len(units)),
        headings=min(_UINT16, len(headings)),
        odd_units=b"" if unjudged else odd_sketch(units, UNIT_BITS),
        odd_headings=b"" if unjudged else odd_sketch(headings, HEADING_BITS),
        sketch=b"" if unjudged else sketch(hashes, kinds),
        unjudged=unjudged,
        shingle_size=settings.shingle_size,
        extractor=settings.extractor,
        secret_id=words.secret_id,
        role_words=role_words(settings.role_words).words_id,
    )


def body_digest(html: str, secret: bytes = b"") -> bytes:
    """8 bytes that are equal for pages that are equal character for character, under one secret; no parsing."""
    return word_hashes(secret).strong_digest(html.encode("utf-8", "surrogatepass"))


def _headline(text: str, words: WordHashes) -> int:
    found = split_words(text)
    return int.from_bytes(words.digest(b" ".join(found))[:2], "little") or 1 if found else 0
