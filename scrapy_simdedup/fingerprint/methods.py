"""The methods by which pages are compared: what each keeps of a page, and how it scores one page against many."""

from __future__ import annotations

import re
import struct
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.fingerprint import similarity, sketch
from scrapy_simdedup.fingerprint.features import (
    BOILERPLATE,
    BlockSignatures,
    Features,
    classic_simhash,
    count_ngrams,
    count_words,
    set_digest,
    simhash,
)
from scrapy_simdedup.fingerprint.hashing import Hashes, word_hasher
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.page.page import Block
from scrapy_simdedup.settings import DedupSettings, ExactScope, Mask

IDENTICAL_BITS, NEAR_BITS = 3, 8
"""Distances up to which pages are identical (Manku, Jain, Das Sarma 2007), and near."""
_DISTANCES = 0, IDENTICAL_BITS, NEAR_BITS, NEAR_BITS + 1, 64
_NEAR = similarity.NEAR_RESEMBLANCE
_RESEMBLANCES = 1.0, similarity.IDENTICAL_RESEMBLANCE, _NEAR, _NEAR - 0.05, 0.0
"""The resemblances of the distances, so that the thresholds of the settings lie between the classes."""
MINHASH_BITS = 16
"""Bits that are kept of each value."""
_SCOPES, _MASKS = get_args(ExactScope), get_args(Mask)  # fingerprints have their places, so new ones come last
_DIGEST_TYPES = map(similarity.COMPARISON_DTYPE.__getitem__, ("exact", "odd_signatures", "odd_headings", "cells"))
_DIGESTS = struct.Struct("".join(f"{of.itemsize}s" for of in _DIGEST_TYPES))
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DATE = re.compile(
    r"(?<!\d)(?:\d{1,4}([-/.])\d{1,2}\1\d{1,4}"
    r"|\d{1,4} ?[年년] ?\d{1,2} ?[月월](?: ?\d{1,2} ?[日일])?"
    rf"|\d{{1,2}}(?:st|nd|rd|th|\.)? {_MONTH},? \d{{4}})(?!\d)"
    rf"|(?<![^\W\d_]){_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}(?!\d)",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(?<!\d)T?\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?!\d)"
    r"(?: ?[ap]\.?m\b\.?)?(?: ?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})(?![^\W_]))?",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,' ]\d+)*")


class ComparableText(NamedTuple):
    """The text of a page as methods compare it."""

    blocks: tuple[Block, ...]
    body: bytes
    """8 bytes of a digest of the HTML."""
    features: Features
    signatures: BlockSignatures
    min_shingles: int
    """Shingles of content below which a page has too little."""

    @property
    def has_content(self) -> bool:
        """Whether there is enough content; else boilerplate counts as content."""
        return int(np.count_nonzero(self.features.block_classes > BOILERPLATE)) >= self.min_shingles

    @property
    def content_blocks(self) -> tuple[Block, ...]:
        """The blocks of the content; all blocks where there is not enough."""
        if not self.has_content:
            return self.blocks
        return tuple(block for block in self.blocks if block.block_class > BlockClass.BOILERPLATE)

    @property
    def content_hashes(self) -> Hashes:
        """The shingles of the content; those of all blocks where there is not enough."""
        hashes, classes = self.features
        return hashes[classes > BOILERPLATE] if self.has_content else hashes


class Digests(NamedTuple):
    """The bytes that a method keeps of a text; see the fields of the page fingerprint with these names."""

    exact: bytes
    odd_signatures: bytes = b""
    odd_headings: bytes = b""
    sketch: bytes = b""


class Method(ABC):
    """A way to compare pages. It has no state."""

    row_dtype: np.dtype[np.void]
    """The row that is compared: the last bytes of a judged fingerprint. It begins with
    :data:`~scrapy_simdedup.fingerprint.similarity.COMMON_FIELDS`."""
    has_keys = False
    """Whether :meth:`index_keys` tell which pages to compare; else their simhashes do."""
    learns_boilerplate = False
    """Whether the method takes part in :mod:`scrapy_simdedup.detect.site_boilerplate`."""
    variants = 1
    """The number of values of :meth:`variant`, at most 64."""

    def variant(self, settings: DedupSettings) -> int:  # noqa: ARG002
        """A number that differs between the options of the method; 0 for a method without options."""
        return 0

    def simhash(self, text: ComparableText, settings: DedupSettings, secret: bytes) -> int:  # noqa: ARG002
        """The simhash of a text, which finds candidates for methods without keys."""
        return simhash(*text.features, settings.bits)

    @abstractmethod
    def digest(self, text: ComparableText, settings: DedupSettings, secret: bytes) -> Digests:
        """The digests of a text."""

    def unpack(self, raw: bytes) -> Digests:
        """The digests from their joined bytes."""
        return Digests(raw[:8], sketch=raw[8:])

    def score(
        self, one: np.void, many: NDArray[np.void], resemblances: NDArray[np.float64] | None = None
    ) -> similarity.Scores:
        """The scores of one page against each of many, with their :meth:`resemblances` if these are known; symmetric.

        Here the resemblances are final, but for twins, which are near at most.
        """
        equal, twins = many["exact"] == one["exact"], self.are_twins(one, many)
        headline_differs = similarity.differ(one["title"], many["title"]) | similarity.differ(one["h1"], many["h1"])
        alike = np.where(equal, 1.0, self.resemblances(one, many) if resemblances is None else resemblances)
        adjusted = np.where(twins, np.minimum(alike, similarity.BELOW_IDENTICAL), alike)
        none = np.zeros(len(many), np.bool_)
        return similarity.Scores(alike, adjusted, equal, headline_differs, none, np.zeros(len(many)), twins)

    def resemblances(self, one: np.void, many: NDArray[np.void]) -> NDArray[np.float64]:  # noqa: ARG002
        """How alike one page is to each of many that are not equal to it, 0 to 1; not at all by default."""
        return np.zeros(len(many))

    def are_twins(self, one: np.void, many: NDArray[np.void]) -> NDArray[np.bool_]:
        """Whether a page and each of many are near at most: see ``are_twins`` in ``similarity``."""
        return similarity.are_twins(one, many)

    def index_keys(self, one: np.void, resemblance: float) -> NDArray[np.uint32]:  # noqa: ARG002
        """Keys of which pages with a resemblance share some; none where only equal pages are alike."""
        return np.zeros(0, np.uint32)


class WeightedSimhash(Method):
    """The method ``simhash``: candidates by the simhash of weighted features, confirmed by their sketches.

    See :mod:`scrapy_simdedup.fingerprint.similarity`.
    """

    row_dtype: np.dtype[np.void] = similarity.COMPARISON_DTYPE
    learns_boilerplate = True

    def digest(self, text: ComparableText, settings: DedupSettings, secret: bytes) -> Digests:  # noqa: ARG002
        """The sketch of the features, and the odd sketches of block signatures and headings."""
        return Digests(
            sketch=sketch.sketch(*text.features),
            exact=set_digest(text.features.hashes),
            odd_signatures=sketch.odd_sketch(text.signatures.blocks, similarity.SIGNATURE_BITS),
            odd_headings=sketch.odd_sketch(text.signatures.headings, similarity.HEADING_BITS),
        )

    def unpack(self, raw: bytes) -> Digests:
        """The digests in the order of the row that is compared."""
        return Digests(*_DIGESTS.unpack(raw))

    def resemblances(self, one: np.void, many: NDArray[np.void]) -> NDArray[np.float64]:
        """The resemblances by the sketches."""
        return similarity.estimate_resemblance(one["cells"], many["cells"]).resemblances

    def score(
        self, one: np.void, many: NDArray[np.void], resemblances: NDArray[np.float64] | None = None
    ) -> similarity.Scores:
        """See :func:`~scrapy_simdedup.fingerprint.similarity.score`."""
        return similarity.score(one, many, resemblances)


def normalise(text: str, ignored: Collection[Mask] = ()) -> str:
    r"""The text in one line with single spaces, and with one placeholder for all that is ignored.

    Ignored are ``"case"``; ``"dates"`` in digits, and in English words; ``"times"`` of day; ``"numbers"``, also those
    of dates and times that are not ignored themselves.

    >>> normalise("Posted  on 5 May 2024,\n 12:30 pm: 1,204 views", ["dates", "times", "numbers"])
    'Posted on <date>, <time>: <number> views'
    """
    text = " ".join(text.split())
    if "case" in ignored:
        text = text.casefold()
    if "dates" in ignored:
        text = _DATE.sub("<date>", text)
    if "times" in ignored:
        text = _TIME.sub("<time>", text)
    if "numbers" in ignored:
        text = _NUMBER.sub("<number>", text)
    return text


def text_digest(texts: Iterable[str], ignored: Collection[Mask] = (), secret: bytes = b"") -> bytes:
    """8 bytes that are equal for equal texts, whatever the white space in and around them."""
    whole = "\n".join(filter(None, (normalise(text, ignored) for text in texts)))
    return word_hasher(secret).long_digest(whole.encode("utf-8", "surrogatepass"))


class Exact(Method):
    """The method ``exact``: pages are copies if body, text or content are equal, apart from what is ignored."""

    row_dtype: np.dtype[np.void] = np.dtype([*similarity.COMMON_FIELDS])
    has_keys = True
    variants: int = len(_SCOPES) << len(_MASKS)

    def variant(self, settings: DedupSettings) -> int:
        """The number of a combination of ``SIMDEDUP_EXACT`` and ``SIMDEDUP_IGNORE``."""
        ignored = sum(1 << bit for bit, mask in enumerate(_MASKS) if mask in settings.ignore)
        return _SCOPES.index(settings.exact) << len(_MASKS) | (ignored if settings.exact != "body" else 0)

    def digest(self, text: ComparableText, settings: DedupSettings, secret: bytes) -> Digests:
        """The digest of the body, the text or the content."""
        if settings.exact == "body":
            return Digests(text.body)
        blocks = text.blocks if settings.exact == "text" else text.content_blocks
        return Digests(text_digest((block.text for block in blocks), settings.ignore, secret))

    def are_twins(self, one: np.void, many: NDArray[np.void]) -> NDArray[np.bool_]:
        """Whether the identities differ: what headlines may differ in is said by what is digested and ignored."""
        return similarity.differ(one["identity"], many["identity"])


class MinHash(Method):
    """The method ``minhash``: the resemblance of the contents by 256 values of 16 bits, candidates by bands of them."""

    row_dtype: np.dtype[np.void] = np.dtype(
        [*similarity.COMMON_FIELDS, ("values", f"<u{MINHASH_BITS // 8}", sketch.PERMUTATIONS)]
    )
    has_keys = True

    def digest(self, text: ComparableText, settings: DedupSettings, secret: bytes) -> Digests:  # noqa: ARG002
        """The 256 values."""
        hashes = text.content_hashes
        values = sketch.b_bit_values(sketch.minhash(hashes), MINHASH_BITS)
        return Digests(set_digest(hashes), sketch=values.astype(self.row_dtype["values"].base).tobytes())

    def resemblances(self, one: np.void, many: NDArray[np.void]) -> NDArray[np.float64]:
        """The share of equal values."""
        return sketch.minhash_resemblance(one["values"], many["values"])

    def index_keys(self, one: np.void, resemblance: float) -> NDArray[np.uint32]:
        """A key for each band."""
        return sketch.band_keys(one["values"], sketch.choose_bands(resemblance))


class SampledShingles(Method):
    """The method ``shingles``: the resemblance by 240 of the contents' shingles, candidates by an index of 16."""

    row_dtype: np.dtype[np.void] = np.dtype(
        [*similarity.COMMON_FIELDS, ("level", "u1"), ("values", "<u4", sketch.MAX_SAMPLE)]
    )
    has_keys = True

    def digest(self, text: ComparableText, settings: DedupSettings, secret: bytes) -> Digests:  # noqa: ARG002
        """The sample, filled up with 0."""
        hashes = text.content_hashes
        made = sketch.sample_shingles(hashes)
        values = np.zeros(sketch.MAX_SAMPLE, "<u4")
        values[: len(made.values)] = made.values
        return Digests(set_digest(hashes), sketch=bytes([made.level]) + values.tobytes())

    def resemblances(self, one: np.void, many: NDArray[np.void]) -> NDArray[np.float64]:
        """The share of common shingles."""
        return sketch.sample_resemblance(_sample_of_row(one), many["values"], many["level"])

    def index_keys(self, one: np.void, resemblance: float) -> NDArray[np.uint32]:  # noqa: ARG002
        """The shingles of a smaller sample."""
        return sketch.reduce_sample(_sample_of_row(one), sketch.MAX_INDEXED).values


def _sample_of_row(row: np.void) -> sketch.ShingleSample:
    values = row["values"]
    return sketch.ShingleSample(values[values > 0], int(row["level"]))


class ClassicSimhash(Method):
    """The method ``bits``: the textbook's simhash of the content's words, compared by the distance alone."""

    row_dtype: np.dtype[np.void] = np.dtype([*similarity.COMMON_FIELDS, ("words", "<u8", 2)])

    def simhash(self, text: ComparableText, settings: DedupSettings, secret: bytes) -> int:
        """The simhash of runs of ``shingle_size`` words or, for a size of 1, of words of three letters or more."""
        features: Counter[bytes] = Counter()
        for block in text.content_blocks:
            size = settings.shingle_size
            features.update(count_words(block.text) if size == 1 else count_ngrams(block.text, size))
        return classic_simhash(features, settings.bits, secret=secret)

    def digest(self, text: ComparableText, settings: DedupSettings, secret: bytes) -> Digests:
        """The simhash once more, in the row that is compared."""
        simhash = self.simhash(text, settings, secret)
        return Digests(set_digest(text.content_hashes), sketch=simhash.to_bytes(16, "little"))

    def resemblances(self, one: np.void, many: NDArray[np.void]) -> NDArray[np.float64]:
        """By the distance: up to 3 bits identical, up to 8 near."""
        distance = np.bitwise_count(one["words"] ^ many["words"]).sum(axis=1)
        made: NDArray[np.float64] = np.interp(distance, _DISTANCES, _RESEMBLANCES)
        return made


METHODS: dict[str, Method] = {
    "simhash": WeightedSimhash(),
    "exact": Exact(),
    "minhash": MinHash(),
    "shingles": SampledShingles(),
    "bits": ClassicSimhash(),
}
"""The methods by name. Fingerprints contain a method's place in this table, so new methods come last."""
