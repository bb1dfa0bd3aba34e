"""The base of all methods with the simhash that each keeps of a page, and the default method, which is named after it.

The simhash of weighted features finds the candidates (Charikar 2002; Manku, Jain, Das Sarma 2007). The default method
confirms them by their sketches.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.fingerprint.features import BOILERPLATE, BlockClasses, BlockSignatures, Features, set_digest
from scrapy_simdedup.fingerprint.hashing import Hashes, fmix64
from scrapy_simdedup.fingerprint.similarity import (
    BELOW_IDENTICAL,
    COMPARISON_DTYPE,
    HEADING_BITS,
    SIGNATURE_BITS,
    Scores,
    are_twins,
    differ,
    score,
)
from scrapy_simdedup.fingerprint.sketch import odd_sketch, sketch
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.settings import DedupSettings

if TYPE_CHECKING:
    from scrapy_simdedup.page.page import Block

VOTES = {BlockClass.BOILERPLATE: 1, BlockClass.UNMARKED: 10, BlockClass.CONTENT: 10}
"""The votes of a feature, by the class of its block."""
_SECOND_HALF = np.uint64(0x9E3779B97F4A7C15)
_BIT_SHIFTS = np.arange(8, dtype=np.uint64)[:, None]
_EACH_BYTE = np.uint64(0x0101010101010101)
_MAX_BYTE_COUNT = 255  # ones that a byte can count
_CHUNK = 4 * _MAX_BYTE_COUNT  # 64 kB, which the allocator keeps at hand
_DIGESTS = struct.Struct(
    "".join(f"{COMPARISON_DTYPE[name].itemsize}s" for name in ("exact", "odd_signatures", "odd_headings", "cells"))
)


@dataclass(frozen=True, slots=True)
class ComparableText:
    """The text of a page as methods compare it."""

    blocks: tuple[Block, ...]
    body: bytes
    """8 bytes of a digest of the HTML."""
    features: Features
    signatures: BlockSignatures
    min_shingles: int
    """Shingles from which there is enough content."""

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

    def score(self, one: np.void, many: NDArray[np.void]) -> Scores:
        """The scores of one page against each of many; symmetric.

        Here the resemblances are final, but for twins, which are near at most.
        """
        equal, twins = many["exact"] == one["exact"], self.are_twins(one, many)
        headline_differs = differ(one["title"], many["title"]) | differ(one["h1"], many["h1"])
        alike = np.where(equal, 1.0, self.resemblances(one, many))
        adjusted = np.where(twins, np.minimum(alike, BELOW_IDENTICAL), alike)
        none = np.zeros(len(many), np.bool_)
        return Scores(alike, adjusted, equal, headline_differs, none, np.zeros(len(many)), twins)

    def resemblances(self, one: np.void, many: NDArray[np.void]) -> NDArray[np.float64]:  # noqa: ARG002
        """How alike one page is to each of many that are not equal to it, 0 to 1; not at all by default."""
        return np.zeros(len(many))

    def are_twins(self, one: np.void, many: NDArray[np.void]) -> NDArray[np.bool_]:
        """Whether a page and each of many are near at most: see ``are_twins`` in ``similarity``."""
        return are_twins(one, many)

    def index_keys(self, one: np.void, resemblance: float) -> NDArray[np.uint32]:  # noqa: ARG002
        """Keys of which pages with a resemblance share some; none where only equal pages are alike."""
        return np.zeros(0, np.uint32)


def simhash(hashes: Hashes, block_classes: BlockClasses, bits: int = 64) -> int:
    """The simhash of features: each bit is what the majority of their votes says; a tie is 0.

    Of 128 bits the upper half comes from the hashes mixed once more.
    """
    made = majority_bits(hashes, block_classes)
    return made if bits == 64 else made | majority_bits(fmix64(hashes ^ _SECOND_HALF), block_classes) << 64


def python_majority_bits(hashes: Hashes, block_classes: BlockClasses) -> int:
    """The simhash of 64 bits."""
    chosen = block_classes > BOILERPLATE
    content, boilerplate = hashes[chosen], hashes[~chosen]
    of_content, of_boilerplate = VOTES[BlockClass.CONTENT], VOTES[BlockClass.BOILERPLATE]
    votes = of_content * _bit_counts(content) + of_boilerplate * _bit_counts(boilerplate)
    won = 2 * votes > of_content * len(content) + of_boilerplate * len(boilerplate)
    return int.from_bytes(np.packbits(won, bitorder="little").tobytes(), "little")


def _bit_counts(hashes: Hashes) -> NDArray[np.int64]:
    """How many hashes have each bit; shape (64,).

    Each byte of a 64-bit number counts for one bit. A matrix product is as fast, but brings threads that burn a second
    core while they wait for the next page.
    """
    ones = np.zeros((8, 8), np.int64)
    for start in range(0, len(hashes), _CHUNK):
        bits = hashes[start : start + _CHUNK] >> _BIT_SHIFTS & _EACH_BYTE
        counts = np.add.reduceat(bits, np.arange(0, bits.shape[1], _MAX_BYTE_COUNT), axis=1).astype("<u8", copy=False)
        ones += counts.view(np.uint8).reshape(8, -1, 8).sum(axis=1, dtype=np.int64)
    return np.ravel(ones.T)


try:
    from scrapy_simdedup.fingerprint._features import majority_bits
except ImportError:  # installed without a compiler
    majority_bits = python_majority_bits


class WeightedSimhash(Method):
    """The method ``simhash``: weighted features; see :mod:`scrapy_simdedup.fingerprint.similarity`."""

    row_dtype: np.dtype[np.void] = COMPARISON_DTYPE
    learns_boilerplate = True

    def digest(self, text: ComparableText, settings: DedupSettings, secret: bytes) -> Digests:  # noqa: ARG002
        """The sketch of the features, and the odd sketches of block signatures and headings."""
        return Digests(
            sketch=sketch(*text.features),
            exact=set_digest(text.features.hashes),
            odd_signatures=odd_sketch(text.signatures.blocks, SIGNATURE_BITS),
            odd_headings=odd_sketch(text.signatures.headings, HEADING_BITS),
        )

    def unpack(self, raw: bytes) -> Digests:
        """The digests in the order of the row that is compared."""
        return Digests(*_DIGESTS.unpack(raw))

    def score(self, one: np.void, many: NDArray[np.void]) -> Scores:
        """See :func:`~scrapy_simdedup.fingerprint.similarity.score`."""
        return score(one, many)
