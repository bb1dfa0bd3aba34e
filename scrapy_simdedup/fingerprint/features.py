"""Page → features: the distinct shingles of its blocks, each with the kind of text it stands in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.fingerprint.words import split_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simdedup.fingerprint.words import WordHashes
    from scrapy_simdedup.page.page import Block

Hashes: TypeAlias = NDArray[np.uint64]
Kinds: TypeAlias = NDArray[np.uint8]


class Features(NamedTuple):
    """The set of a page's shingles."""

    hashes: Hashes
    """Their numbers, ascending, without repeats; shape (n,)."""
    kinds: Kinds
    """The highest :class:`~scrapy_simdedup.page.kinds.Kind` of each; shape (n,)."""


def shingle(blocks: Sequence[Block], words: WordHashes, size: int = 3) -> Features:
    """Take every run of ``size`` words inside a block; a block of fewer words is one feature.

    Args:
        blocks: Texts with their kinds.
        words: Digests of words.
        size: Words per shingle.
    """
    digests: list[bytes] = []
    lengths: list[int] = []
    for block in blocks:
        found = split_words(block.text)
        digests += map(words.__getitem__, found)
        lengths.append(len(found))
    if not digests:
        return Features(np.zeros(0, np.uint64), np.zeros(0, np.uint8))
    hashes = np.frombuffer(b"".join(digests), "<u8").astype(np.uint64, copy=False)
    count = np.array(lengths)
    ends = np.cumsum(count)
    left = np.repeat(ends, count) - np.arange(len(hashes))  # words from here to the end of the block
    made = mix(hashes)
    for ahead in range(1, size):
        following = mix(made[:-ahead] + hashes[ahead:])
        made[:-ahead] = np.where(left[:-ahead] > ahead, following, made[:-ahead])
    whole = left >= size
    whole[(ends - count)[count > 0]] = True
    kinds = np.repeat(np.array([block.kind for block in blocks], np.uint8), count)
    return _distinct(made[whole], kinds[whole])


def _distinct(hashes: Hashes, kinds: Kinds) -> Features:
    order = np.argsort(hashes)
    hashes, kinds = hashes[order], kinds[order]
    first = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1])))
    return Features(hashes[first], np.maximum.reduceat(kinds, first))


def mix(numbers: Hashes) -> Hashes:
    """Spread 64-bit numbers evenly; a bijection of the kind of SplitMix64's finaliser (Steele, Lea, Flood 2014)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Hashes = numbers ^ (numbers >> np.uint64(31))
    return mixed
