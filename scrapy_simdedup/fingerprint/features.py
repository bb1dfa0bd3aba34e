"""Features and block signatures, the sets of hashes by which pages are compared; and simhashes of features.

Features are the distinct shingles of a page, each with the class of its block: the share of them that two pages have in
common is their resemblance. Where two pages share a long text and each has a short one of its own, the resemblance sees
the long one. Block signatures are counted by blocks, so that the short one shows.

Simhashes differ in few bits for texts that share most features (Charikar 2002). That of weighted features finds the
candidates of all methods without keys: a feature of boilerplate has one vote, any other ten. That of the textbook is of
the content's words, or runs of words, which vote as often as they occur, by their MD5. Its 128 bits are the widest
simhash; 64 bits are the lower half. The method ``bits`` compares nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b, md5, sha256
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.fingerprint.hashing import Hashes, Rows, WordHasher, fmix64, split_words
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.page.page import Block

try:
    from scrapy_simdedup.fingerprint._hashing import hash_shingles
except ImportError:  # installed without a compiler
    from scrapy_simdedup.fingerprint.hashing import hash_shingles

Numbers = TypeVar("Numbers", bound="np.integer[Any]")
BlockClasses: TypeAlias = NDArray[np.uint8]
BOILERPLATE = np.uint8(BlockClass.BOILERPLATE)
"""The class above which a feature is content; to compare an array with a member of an enumeration takes far longer."""
HASHES_PER_SIGNATURE = 2
"""Hashes of one block signature: made from the smallest and the largest shingle of a block. A block that was edited and
keeps one of the two shares half of its signature."""
MAX_SIGNATURES = 10
_SALT = np.arange(1, HASHES_PER_SIGNATURE * MAX_SIGNATURES + 1, dtype=np.uint64).reshape(
    HASHES_PER_SIGNATURE, MAX_SIGNATURES
) * np.uint64(0x9E3779B97F4A7C15)
"""The salt of each hash of a signature, by the number of the signature in its block."""
_SIGNATURES_BY_LENGTH = np.arange(MAX_SIGNATURES) < np.arange(-1, 63)[:, None]
"""The numbers of a block's signatures, by the binary digits of its number of shingles."""
_FIND_NUMBERS = re.compile(r"\d+").findall
_text_of = itemgetter(0)
"""The text of a block, found without a step of Python for each."""
VOTES = {BlockClass.BOILERPLATE: 1, BlockClass.UNMARKED: 10, BlockClass.CONTENT: 10}
"""The votes of a feature, by the class of its block."""
_SECOND_HALF = np.uint64(0x9E3779B97F4A7C15)
_TEXTS_AT_A_TIME = 1 << 10  # 1 MB of ones and zeros for 128 bits, which stays in the cache
_LETTERS = re.compile(r"[^\W\d_]+")


class Shingles(NamedTuple):
    """The shingles of a page in their order."""

    hashes: Hashes
    """The hashes of the shingles; shape (n,)."""
    blocks: Rows
    """The blocks that have shingles; shape (m,)."""
    starts: Rows
    """Where the shingles of each such block begin; shape (m,)."""
    lengths: Rows
    """How many shingles each such block has; shape (m,)."""


class Features(NamedTuple):
    """The set of a page's shingles."""

    hashes: Hashes
    """The hashes of the shingles, ascending, without repeats; shape (n,)."""
    block_classes: BlockClasses
    """The highest :class:`~scrapy_simdedup.page.classify.BlockClass` of each shingle; shape (n,)."""


class BlockSignatures(NamedTuple):
    """The block signatures of a page's content, as two sets of hashes without repeats."""

    blocks: Hashes
    """:data:`HASHES_PER_SIGNATURE` hashes for each signature of a content block."""
    headings: Hashes
    """:data:`HASHES_PER_SIGNATURE` hashes for each heading of the content."""


def find_shingles(blocks: Sequence[Block], words: WordHasher, size: int = 3) -> Shingles:
    """The shingles of blocks: every run of ``size`` words; a block of fewer words is one shingle."""
    return Shingles(*hash_shingles(*words.hash_texts(list(map(_text_of, blocks))), size))


def python_distinct_features(found: Shingles, blocks: Sequence[Block]) -> Features:
    """The set of the shingles, each with the highest class of its blocks."""
    if not len(found.hashes):
        return Features(found.hashes, np.zeros(0, np.uint8))
    classes = np.repeat(as_uint8([block.block_class for block in blocks])[found.blocks], found.lengths)
    order = np.argsort(found.hashes)
    hashes, classes = found.hashes[order], classes[order]
    first = run_starts(hashes)
    return Features(hashes[first], np.maximum.reduceat(classes, first))


def as_uint8(numbers: Iterable[int]) -> BlockClasses:
    """Small numbers as an array; ``np.array`` takes ten times as long for members of enumerations."""
    return np.frombuffer(bytes(numbers), np.uint8)


def run_starts(numbers: NDArray[Numbers]) -> Rows:
    """Where each run of equal numbers begins, given at least one number."""
    is_first = np.empty(len(numbers), np.bool_)
    is_first[0] = True
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    return is_first.nonzero()[0]


def distinct(numbers: NDArray[Numbers]) -> NDArray[Numbers]:
    """Some numbers without repeats, ascending; ``np.unique`` takes three times as long for so few."""
    ascending = np.sort(numbers)
    return ascending[run_starts(ascending)] if len(ascending) else ascending


def are_among(numbers: NDArray[np.integer], others: NDArray[np.integer] | list[int]) -> NDArray[np.bool_]:
    """Which of some numbers are among others; ``np.isin`` imports ``numpy.ma`` for it, in the midst of a crawl."""
    ascending = np.sort(others)
    return ascending.searchsorted(numbers, "right") > ascending.searchsorted(numbers)


def set_digest(hashes: Hashes) -> bytes:
    """8 bytes for a set of ascending hashes, equal for equal sets."""
    return sha256(hashes.astype("<u8", copy=False).tobytes()).digest()[:8]


def python_find_block_signatures(found: Shingles, blocks: Sequence[Block]) -> BlockSignatures:
    """The block signatures of the blocks that are not boilerplate.

    1. A block is known by its smallest and its largest shingle.
    2. A block of n shingles has log2(n) signatures, at most ten, so that long blocks count for more and one shingle for
       nothing. Each signature is the two shingles under another salt.
    3. A heading has one signature in the set of headings.
    """
    if not len(found.hashes):
        return BlockSignatures(found.hashes, found.hashes)
    content = (as_uint8([block.block_class for block in blocks]) > BOILERPLATE)[found.blocks]
    heading = as_uint8([block.heading for block in blocks])[found.blocks][content] > 0
    low = np.minimum.reduceat(found.hashes, found.starts)[content]
    high = np.maximum.reduceat(found.hashes, found.starts)[content]
    block, number = _SIGNATURES_BY_LENGTH[np.frexp(found.lengths[content])[1]].nonzero()
    texts = np.concatenate((low[block] ^ _SALT[0][number], high[block] ^ _SALT[1][number]))
    headings = np.concatenate((low[heading] ^ _SALT[0, 0], high[heading] ^ _SALT[1, 0]))
    return BlockSignatures(distinct(texts), distinct(headings))


def python_numbers_of(blocks: Sequence[Block]) -> set[str]:
    """The runs of digits in the blocks of the content."""
    return {number for block in blocks if block.block_class > BOILERPLATE for number in _FIND_NUMBERS(block.text)}


def simhash(hashes: Hashes, block_classes: BlockClasses, bits: int = 64) -> int:
    """The simhash of features: each bit is what the majority of their votes says; a tie is 0.

    Of 128 bits the upper half comes from the hashes mixed once more.
    """
    made = majority_bits(hashes, block_classes)
    return made if bits == 64 else made | majority_bits(fmix64(hashes ^ _SECOND_HALF), block_classes) << 64


def python_majority_bits(hashes: Hashes, block_classes: BlockClasses) -> int:
    """The simhash of 64 bits."""
    votes = np.array([0, *(VOTES[block_class] for block_class in BlockClass)])[block_classes]
    return weighted_majority(hashes.astype("<u8", copy=False).view(np.uint8).reshape(-1, 8), votes)


def count_words(text: str, letters: int = 3) -> Counter[bytes]:
    """How often each word of so many letters or more occurs, in lower case.

    >>> count_words("The tide is in, the tide is out.")
    Counter({b'the': 2, b'tide': 2, b'out': 1})
    """
    return Counter(word.encode() for word in _LETTERS.findall(text.lower()) if len(word) >= letters)


def count_ngrams(text: str, size: int) -> Counter[bytes]:
    """How often each run of ``size`` words occurs; a text of fewer words is one run."""
    words = split_words(text)
    runs = [words[start : start + size] for start in range(max(1, len(words) - size + 1))] if words else []
    return Counter(map(b" ".join, runs))


def classic_simhash(features: Mapping[bytes, float], bits: int = 128, *, secret: bytes = b"") -> int:
    """The simhash of texts: each bit is what the majority of their votes says; a tie is 0.

    The votes of a text are such as how often it occurs. With a secret the digests are those of keyed BLAKE2b.
    """
    if secret:
        key = blake2b(secret, digest_size=32).digest()
        digests = [blake2b(feature, key=key, digest_size=16).digest() for feature in features]
    else:
        digests = [md5(feature, usedforsecurity=False).digest() for feature in features]
    rows = np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 16)[:, : -1 - bits // 8 : -1]
    return weighted_majority(rows, np.fromiter(features.values(), np.float64, len(features)))


def weighted_majority(rows: NDArray[np.uint8], weights: NDArray[np.floating | np.integer]) -> int:
    """The number each bit of which is what the majority of the votes of some numbers says; a tie is 0.

    The numbers are rows of bytes, the lowest first, shape (n, bytes). Whole votes are added up without BLAS, whose
    threads would burn a second core while they wait for the next page.
    """
    votes = np.zeros(8 * rows.shape[1])
    for start in range(0, len(rows), _TEXTS_AT_A_TIME):
        ones = np.unpackbits(rows[start : start + _TEXTS_AT_A_TIME], axis=1, bitorder="little")
        votes += weights[start : start + _TEXTS_AT_A_TIME] @ ones.astype(weights.dtype)
    won = 2 * votes > weights.sum(dtype=np.float64)
    return int.from_bytes(np.packbits(won, bitorder="little").tobytes(), "little")


try:
    from scrapy_simdedup.fingerprint._features import (
        distinct_features,
        find_block_signatures,
        majority_bits,
        numbers_of,
    )
except ImportError:  # installed without a compiler
    distinct_features, find_block_signatures = python_distinct_features, python_find_block_signatures
    majority_bits, numbers_of = python_majority_bits, python_numbers_of
