"""The page fingerprint: its fields, the comparison of two, and its bytes."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.display import bar_html, plural, table_html
from scrapy_simdedup.errors import FingerprintMismatch
from scrapy_simdedup.fingerprint.methods import METHODS, Digests
from scrapy_simdedup.fingerprint.novelty import longest_own_text, own_word_limit
from scrapy_simdedup.fingerprint.similarity import BELOW_THRESHOLD_FACTOR, Scores
from scrapy_simdedup.fingerprint.text_units import PageUnits, TextUnits
from scrapy_simdedup.fingerprint.unit_changes import STRUCTURE_SIZE
from scrapy_simdedup.unjudged import COMPARED_BY_BODY, OF_OWN_PAST, UnjudgedReason

ALGORITHM = 8
"""Version of the algorithm, raised whenever the same page would give another fingerprint."""
LATEST_UNPACKED = 256
"""Fingerprints that are kept after they were read from bytes: those of originals are read for each of their repeats."""
NOVEL_WORDS = 20
"""The default of ``SIMDEDUP_NOVEL_WORDS``."""
Relation = Literal["identical", "near", "different"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of two pages by their fingerprints."""

    kind: Relation
    similarity: float
    """Share of common content, 0 to 1."""
    distance: int
    """Bits in which the simhashes differ."""
    own_words: int | None = None
    """Words of the page's longest text unit that the other page lacks, if more than six; else 0. None where that was
    not looked for, because the pages are not alike or their text units are not known."""

    def __repr__(self) -> str:
        return f"<Comparison {self.kind}, similarity {self.similarity:.3f}, {self.distance} bits>"

    def _repr_html_(self) -> str:
        return table_html(self.kind, (), [("similarity", bar_html(self.similarity)), ("differing bits", self.distance)])


class PageFingerprint(NamedTuple):
    """A page in few bytes, by the default method at most 930; the same in every process, platform and Python.

    What :func:`~scrapy_simdedup.fingerprint_page` made also knows the text units of the page that it was made of, so it
    can tell what the page says that another does not. What was read from bytes cannot.
    """

    simhash: int
    """The simhash; 0 if unjudged."""
    bits: int
    """Bits of the simhash: 64 or 128."""
    exact: bytes
    """8 bytes of a digest of the set of shingles, or of what the method compares instead; zeros if unjudged."""
    body: bytes
    """8 bytes of a digest of the HTML; see :func:`~scrapy_simdedup.fingerprint.make.body_digest`."""
    content: int
    """Distinct shingles that are not boilerplate, at most 65,535."""
    total: int
    """Distinct shingles, at most 65,535."""
    title: int
    """16 bits of the words of the title; 0 for none."""
    h1: int
    """32 bits of the words of the first h1 of the content; 0 for none."""
    signatures: int
    """Hashes of the block signatures of the content (:mod:`scrapy_simdedup.fingerprint.features`), at most 65,535."""
    headings: int
    """Hashes of the block signatures of the content's headings, at most 65,535."""
    data: int
    """32 bits of the data around which the page is a shell (:mod:`scrapy_simdedup.page.hidden_texts`); 0 for none."""
    odd_signatures: bytes
    """The odd sketch of the block signatures, 64 bytes; empty if unjudged, and where the method does not use it."""
    odd_headings: bytes
    """The odd sketch of the headings, 8 bytes; empty if unjudged, and where the method does not use it."""
    sketch: bytes
    """The sketch (:mod:`scrapy_simdedup.fingerprint.sketch`), or what the method keeps instead; empty if unjudged."""
    unjudged: UnjudgedReason | None = None
    """Why the page must not be compared by its text, such as ``"too_short"`` or ``"cut"``."""
    shingle_size: int = 3
    """Words per shingle."""
    extractor: str = "roles"
    """The setting ``SIMDEDUP_EXTRACTOR``."""
    model: int = 0
    """16 bits of the content model, where the extractor is ``content``; else 0."""
    secret_id: int = 0
    """16 bits that differ between secrets; 0 without a secret."""
    role_words: int = 0
    """16 bits that differ between values of ``SIMDEDUP_ROLE_WORDS``; 0 without any."""
    method: str = "simhash"
    """The method by which it is compared; see :mod:`scrapy_simdedup.fingerprint.methods`."""
    variant: int = 0
    """6 bits that differ between the options of the method."""
    structure: bytes = b""
    """See :mod:`scrapy_simdedup.fingerprint.unit_changes`; empty if it was not asked for, or is unknown."""
    algorithm: int = ALGORITHM
    """Version of the algorithm that made the fingerprint."""
    numbers: int = 0
    """16 bits of the set of numbers in the content of a page without an h1; 0 for none."""
    identity: int = 0
    """32 bits of what the page is about, as ``SIMDEDUP_IDENTITY`` says; 0 where that is not known."""
    units: TextUnits | None = None
    """The text units (:mod:`scrapy_simdedup.fingerprint.text_units`); None if nobody asked for them, or if unjudged."""
    page_units: PageUnits | None = None
    """The text units of the page at hand; neither compared nor in the bytes, so None in what was read from these."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PageFingerprint) and self[:-1] == other[:-1]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[:-1])

    def __repr__(self) -> str:
        found = self.unjudged or f"simhash {self.simhash:0{self.bits // 4}x}"
        return f"<PageFingerprint {found}, {plural(self.content, 'shingle')} of content>"

    def compare(
        self,
        other: PageFingerprint,
        *,
        identical: float = 0.95,
        near: float = 0.85,
        novel_words: int | None = NOVEL_WORDS,
    ) -> Comparison:
        """Compare a page with an earlier one: may it be dropped as a copy?

        A page without enough text is no copy of anything, not even of itself. The comparison is symmetric, but that a
        page that says what the earlier one does not is near at most, as far as its text units are at hand.

        Args:
            other: The fingerprint of the other page.
            identical: Similarity from which pages are identical.
            near: Similarity from which pages are near-duplicates.
            novel_words: Words of the content from which a unit that the other page lacks is a text of the page's own;
                None passes over such texts. In a short page fewer do; see ``SIMDEDUP_NOVEL_WORDS``.

        Raises:
            FingerprintMismatch: the fingerprints were not made the same way.
            TypeError: ``other`` is no fingerprint.
        """
        if not isinstance(other, PageFingerprint):
            raise TypeError(f"compare with a PageFingerprint, not {type(other).__name__}; fingerprint_page makes one")
        self.check_comparable(other)
        distance = (self.simhash ^ other.simhash).bit_count()
        if self.unjudged or other.unjudged:
            copies = {self.unjudged, other.unjudged} <= COMPARED_BY_BODY and self.body == other.body
            copies = copies and not self.identity_differs(other)
            return Comparison("identical", 1.0, distance) if copies else Comparison("different", 0.0, distance)
        alike = float(self.score(other.comparison_row).similarity_under(identical)[0])
        kind: Relation = "identical" if alike >= identical else "near" if alike >= near else "different"
        own = None
        units = self.page_units
        if kind == "identical" and novel_words is not None and units is not None and other.units is not None:
            own = longest_own_text(units, [other.units], units.of_content) if self.exact != other.exact else 0
            if own > own_word_limit(units, novel_words):
                kind, alike = "near", min(alike, BELOW_THRESHOLD_FACTOR * identical)
        return Comparison(kind, alike, distance, own)

    def identity_differs(self, other: PageFingerprint) -> bool:
        """Whether the identities of two pages are known and differ: then they are no copies, whatever they share."""
        return 0 != self.identity != other.identity != 0

    def check_comparable(self, other: PageFingerprint) -> None:
        """Raise :class:`FingerprintMismatch` unless the two fingerprints were made the same way."""
        for name in _MADE_BY:
            one, another = getattr(self, name), getattr(other, name)
            if one != another:
                raise FingerprintMismatch(
                    f"fingerprints with {name.replace('_', ' ')} {one} and {another} cannot be compared; "
                    "make both with the same settings and the same version of scrapy-simdedup"
                )

    @property
    def comparison_row(self) -> NDArray[np.void]:
        """The row that the method compares; none if unjudged."""
        return np.frombuffer(self._comparison_bytes() if self.unjudged is None else b"", METHODS[self.method].row_dtype)

    def score(self, many: NDArray[np.void]) -> Scores:
        """The scores of this page, which is judged, against many given as their :attr:`comparison_row`, shape (n,)."""
        return METHODS[self.method].score(self.comparison_row[0], many)

    def as_unended(self) -> PageFingerprint:
        """The fingerprint where nothing shows that the page has come to its end."""
        if self.unjudged == "empty" or self.unjudged not in OF_OWN_PAST | COMPARED_BY_BODY:
            return self
        return self._replace(unjudged="unended", simhash=0, **Digests(bytes(8))._asdict())

    def _comparison_bytes(self) -> bytes:
        counts = _COUNTS.pack(
            self.content, self.title, self.signatures, self.headings, self.numbers, self.h1, self.identity, self.data
        )
        return b"".join((counts, self.exact, self.odd_signatures, self.odd_headings, self.sketch))

    def __bytes__(self) -> bytes:
        made_by = self.shingle_size | _METHOD_NAMES.index(self.method) << _METHOD_SHIFT
        made_by |= _READABILITY_FLAG if self.extractor == "readability" else 0
        judged = (self.unjudged is None) | self.variant << 1 | (_STRUCTURE_FLAG if self.structure else 0)
        units = b"" if self.units is None else bytes(self.units)
        model = _MODEL.pack(self.model) if self.extractor == "content" else b""
        flags = self.bits | (_CONTENT_FLAG if model else 0), made_by, judged, self.secret_id, self.role_words
        head = _HEAD.pack(self.algorithm, *flags, self.body, self.total, len(units))
        tail = self._comparison_bytes()
        if self.unjudged is not None:
            tail = tail[: _COUNTS.size] + self.unjudged.encode()
        return b"".join((head, self.simhash.to_bytes(self.bits // 8, "little"), model, self.structure, units, tail))

    @classmethod
    def from_bytes(cls, raw: bytes) -> PageFingerprint:
        """The fingerprint whose ``bytes()`` these are.

        Raises:
            FingerprintMismatch: the bytes are no fingerprint, or one of another version.
            TypeError: these are no bytes.
        """
        if not isinstance(raw, bytes):
            raise TypeError(f"raw must be bytes, not {type(raw).__name__}; give what bytes(fingerprint) gave")
        return _latest_unpacked(raw)


def unpack_fingerprint(raw: bytes, page_units: PageUnits | None = None) -> PageFingerprint:
    """The fingerprint from its bytes, with the text units of its page where they are at hand."""
    if len(raw) < _HEAD.size:
        raise FingerprintMismatch(f"{len(raw)} bytes are no page fingerprint")
    algorithm, bits, made_by, judged, secret_id, words_id, body, total, units_size = _HEAD.unpack_from(raw)
    if algorithm != ALGORITHM:
        raise FingerprintMismatch(
            f"a fingerprint of version {algorithm} cannot be read by version {ALGORITHM}; "
            "fingerprint the pages again, or use the scrapy-simdedup that made it"
        )
    has_model, bits = bits & _CONTENT_FLAG, bits & ~_CONTENT_FLAG
    end = _HEAD.size + bits // 8
    structure_start = end + (_MODEL.size if has_model else 0)
    units_start = structure_start + (STRUCTURE_SIZE if judged & _STRUCTURE_FLAG else 0)
    start = units_start + units_size
    tail, reason = raw[start:], raw[start + _COUNTS.size :]
    try:
        units = TextUnits.from_bytes(raw[units_start:start]) if units_size else None
    except ValueError as exc:
        raise FingerprintMismatch(f"{len(raw)} bytes that begin with {raw[:4].hex()} are no page fingerprint") from exc
    number = (made_by & ~_READABILITY_FLAG) >> _METHOD_SHIFT
    variant, judged = (judged & ~_STRUCTURE_FLAG) >> 1, judged & 1
    name = _METHOD_NAMES[min(number, len(_METHOD_NAMES) - 1)]
    method = METHODS[name]
    is_reason = 0 < len(reason) <= _MAX_REASON_LENGTH and reason.isascii()
    fits = len(tail) == method.row_dtype.itemsize if judged else is_reason
    if bits not in {64, 128} or number >= len(_METHOD_NAMES) or variant >= method.variants or not fits:
        raise FingerprintMismatch(f"{len(raw)} bytes that begin with {raw[:4].hex()} are no page fingerprint")
    content, title, signatures, headings, numbers, h1, identity, data = _COUNTS.unpack_from(tail)
    digests = method.unpack(tail[_COUNTS.size :]) if judged else Digests(bytes(8))
    return PageFingerprint(  # in the order of its fields, as to give them by their names takes four times as long
        int.from_bytes(raw[_HEAD.size : end], "little"),
        bits,
        digests.exact,
        body,
        content,
        total,
        title,
        h1,
        signatures,
        headings,
        data,
        digests.odd_signatures,
        digests.odd_headings,
        digests.sketch,
        None if judged else cast("UnjudgedReason", reason.decode("ascii")),
        made_by & (1 << _METHOD_SHIFT) - 1,
        "readability" if made_by & _READABILITY_FLAG else "content" if has_model else "roles",
        _MODEL.unpack_from(raw, end)[0] if has_model else 0,
        secret_id,
        words_id,
        name,
        variant,
        raw[structure_start:units_start],
        algorithm,
        numbers,
        identity,
        units,
        page_units,
    )


_latest_unpacked = lru_cache(LATEST_UNPACKED)(unpack_fingerprint)
BODY_BYTES = slice(8, 16)
"""Where :attr:`PageFingerprint.body` stands in the bytes of a fingerprint."""
_HEAD = struct.Struct("<BBBBHH8s2H")
_COUNTS = struct.Struct("<5H3I")
_MODEL = struct.Struct("<H")
_MADE_BY = "algorithm", "method", "variant", "bits", "shingle_size", "extractor", "model", "secret_id", "role_words"
"""What two fingerprints have in common that can be compared."""
_READABILITY_FLAG = 0x80
_CONTENT_FLAG = 1
"""The bit in the byte of the width, which is 64 or 128, that says that the extractor is ``content``."""
_METHOD_NAMES = list(METHODS)
_METHOD_SHIFT = 4
"""The bit at which the number of the method begins, above the words per shingle."""
_STRUCTURE_FLAG = 0x80
_MAX_REASON_LENGTH = 64
