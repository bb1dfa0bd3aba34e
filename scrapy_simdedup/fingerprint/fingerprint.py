"""The page fingerprint: what is kept of a page, how two are compared, bytes and back."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from scrapy_simdedup.errors import FingerprintMismatch
from scrapy_simdedup.fingerprint.methods import METHODS
from scrapy_simdedup.fingerprint.methods.base import Kept
from scrapy_simdedup.fingerprint.structure import SIZE
from scrapy_simdedup.notebook import bar, table_html

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simdedup.fingerprint.evidence import Evidence

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
    """A page in few bytes, by default at most 512; the same for the same HTML in every process, platform and Python."""

    simhash: int
    """``bits`` bits; 0 if unjudged."""
    bits: int
    """64 or 128."""
    exact: bytes
    """8 bytes of a digest of the set of shingles, or of what the method compares instead; zeros if unjudged."""
    body: bytes
    """8 bytes of a digest of the HTML as it came; see :func:`~scrapy_simdedup.fingerprint.making.body_digest`."""
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
    """Their odd sketch, 64 bytes; empty if unjudged, and where the method has no use for it. See
    :mod:`scrapy_simdedup.fingerprint.odd_sketch`."""
    odd_headings: bytes
    """That of the headings, 8 bytes; empty if unjudged, and where the method has no use for it."""
    sketch: bytes
    """See :mod:`scrapy_simdedup.fingerprint.sketch`, or what the method keeps instead; empty if unjudged."""
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
    method: str = "simhash"
    """How it is compared; see :mod:`scrapy_simdedup.fingerprint.methods`."""
    variant: int = 0
    """6 bits that tell apart what the method was told."""
    structure: bytes = b""
    """See :mod:`scrapy_simdedup.fingerprint.structure`; empty if it was not asked for, or is not known."""
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
        alike = float(self.weigh(other.evidence).similarity[0])
        kind: Relation = "identical" if alike >= identical else "near" if alike >= near else "different"
        return Comparison(kind, alike, distance)

    def check_comparable(self, other: PageFingerprint) -> None:
        """Raise :class:`FingerprintMismatch` unless the two were made the same way."""
        for name in ("algorithm", "method", "variant", "bits", "shingle_size", "extractor", "secret_id", "role_words"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                raise FingerprintMismatch(
                    f"fingerprints with {name.replace('_', ' ')} {mine} and {theirs} cannot be compared; "
                    "make both with the same settings and the same version of scrapy-simdedup"
                )

    @property
    def evidence(self) -> NDArray[np.void]:
        """What is compared, one row of what the method calls its evidence; none if unjudged."""
        return np.frombuffer(self._tail() if self.unjudged is None else b"", METHODS[self.method].evidence)

    def weigh(self, many: NDArray[np.void]) -> Evidence:
        """Weigh what speaks for this page, which is judged, being each of many.

        Args:
            many: Their :attr:`evidence`, shape (n,).
        """
        return METHODS[self.method].weigh(self.evidence[0], many)

    def _tail(self) -> bytes:
        counts = _COUNTS.pack(self.content, self.title, self.h1, self.units, self.headings)
        return b"".join((counts, self.exact, self.odd_units, self.odd_headings, self.sketch))

    def __bytes__(self) -> bytes:
        made_by = self.shingle_size | _METHODS.index(self.method) << _METHOD
        made_by |= _READABILITY if self.extractor == "readability" else 0
        judged = (self.unjudged is None) | self.variant << 1 | (_STRUCTURE if self.structure else 0)
        head = _HEAD.pack(
            self.algorithm, self.bits, made_by, judged, self.secret_id, self.role_words, self.body, self.total
        )
        tail = self._tail() if self.unjudged is None else self._tail()[: _COUNTS.size] + self.unjudged.encode()
        return b"".join((head, self.simhash.to_bytes(self.bits // 8, "little"), self.structure, tail))

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
        end = _HEAD.size + bits // 8
        start = end + (SIZE if judged & _STRUCTURE else 0)
        tail, reason = raw[start:], raw[start + _COUNTS.size :]
        number, variant, judged = (made_by & ~_READABILITY) >> _METHOD, (judged & ~_STRUCTURE) >> 1, judged & 1
        name = _METHODS[min(number, len(_METHODS) - 1)]
        method = METHODS[name]
        fits = len(tail) == method.evidence.itemsize if judged else 0 < len(reason) <= _REASON and reason.isascii()
        if bits not in {64, 128} or number >= len(_METHODS) or variant >= method.variants or not fits:
            raise FingerprintMismatch(f"{len(raw)} bytes that begin with {raw[:4].hex()} are no page fingerprint")
        content, title, h1, units, headings = _COUNTS.unpack_from(tail)
        kept = method.read(tail[_COUNTS.size :]) if judged else Kept(bytes(8))
        return cls(
            simhash=int.from_bytes(raw[_HEAD.size : end], "little"),
            bits=bits,
            exact=kept.exact,
            body=body,
            content=content,
            total=total,
            title=title,
            h1=h1,
            units=units,
            headings=headings,
            odd_units=kept.odd_units,
            odd_headings=kept.odd_headings,
            sketch=kept.sketch,
            unjudged=None if judged else reason.decode("ascii"),
            shingle_size=made_by & (1 << _METHOD) - 1,
            extractor="readability" if made_by & _READABILITY else "roles",
            secret_id=secret_id,
            role_words=words_id,
            method=name,
            variant=variant,
            structure=raw[end:start],
        )


_HEAD = struct.Struct("<BBBBHH8sH")
_COUNTS = struct.Struct("<5H")
_READABILITY = 0x80
_METHODS = list(METHODS)
_METHOD = 4
"""The bit at which the number of the method begins, above the words per shingle."""
_STRUCTURE = 0x80
_REASON = 64
