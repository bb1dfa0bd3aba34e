"""Page → features: the distinct shingles of its blocks, each with the kind of text it stands in."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.page.kinds import Kind

try:
    from scrapy_simdedup.fingerprint._hashing import join_shingles
except ImportError:  # installed without a compiler
    from scrapy_simdedup.fingerprint.hashing import join_shingles

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_simdedup.fingerprint.word_hashes import Hashes, Rows, WordHashes
    from scrapy_simdedup.page.page import Block

Kinds: TypeAlias = NDArray[np.uint8]


class Shingles(NamedTuple):
    """The shingles of a page in their order."""

    hashes: Hashes
    """Their numbers; shape (n,)."""
    blocks: Rows
    """The blocks that have any; shape (m,)."""
    starts: Rows
    """Where the shingles of each of them begin; shape (m,)."""
    lengths: Rows
    """How many shingles each of them has; shape (m,)."""


class Features(NamedTuple):
    """The set of a page's shingles."""

    hashes: Hashes
    """Their numbers, ascending, without repeats; shape (n,)."""
    kinds: Kinds
    """The highest :class:`~scrapy_simdedup.page.kinds.Kind` of each; shape (n,)."""


def find_shingles(blocks: Sequence[Block], words: WordHashes, size: int = 3) -> Shingles:
    """Take every run of ``size`` words inside a block; a block of fewer words is one shingle.

    Args:
        blocks: Texts.
        words: Numbers of words.
        size: Words per shingle.
    """
    hashes, counts = words.of_texts([block.text for block in blocks])
    said = counts.nonzero()[0]
    kept = np.maximum(counts[said] - size + 1, 1)
    return Shingles(join_shingles(hashes, counts, size), said, np.cumsum(kept) - kept, kept)


def distinct(found: Shingles, blocks: Sequence[Block]) -> Features:
    """The set of the shingles, each of the highest kind of its blocks."""
    if not len(found.hashes):
        return Features(found.hashes, np.zeros(0, np.uint8))
    kinds = np.repeat(of_blocks([block.kind for block in blocks])[found.blocks], found.lengths)
    order = np.argsort(found.hashes)
    hashes, kinds = found.hashes[order], kinds[order]
    first = starts_of_runs(hashes)
    return Features(hashes[first], np.maximum.reduceat(kinds, first))


def of_blocks(numbers: Iterable[int]) -> Kinds:
    """Small numbers of the blocks, as an array; ``np.array`` takes ten times as long for members of enumerations."""
    return np.frombuffer(bytes(numbers), np.uint8)


def is_content(kinds: Kinds) -> NDArray[np.bool_]:
    """Of each feature or block, whether it is no frame; comparing with a member of an enumeration takes far longer."""
    above: NDArray[np.bool_] = kinds > _FRAME
    return above


_FRAME = np.uint8(Kind.FRAME)


def starts_of_runs(numbers: Hashes) -> Rows:
    """Where each run of equal numbers begins, given at least one number."""
    is_first = np.empty(len(numbers), np.bool_)
    is_first[0] = True
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    return is_first.nonzero()[0]


def shingle(blocks: Sequence[Block], words: WordHashes, size: int = 3) -> Features:
    """The features of a page: see :func:`find_shingles` and :func:`distinct`."""
    return distinct(find_shingles(blocks, words, size), blocks)


def set_digest(hashes: Hashes) -> bytes:
    """8 bytes for a set of ascending hashes, equal for equal sets."""
    return blake2b(hashes.astype("<u8").tobytes(), digest_size=8).digest()
