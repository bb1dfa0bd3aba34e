"""The simhash is the textbook's, only faster."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simdedup.detect.candidate_index import SEARCH_RADIUS
from scrapy_simdedup.fingerprint.features import VOTES, simhash
from scrapy_simdedup.fingerprint.hashing import fmix64
from scrapy_simdedup.page.classify import BlockClass

features = st.lists(st.tuples(st.integers(0, 2**64 - 1), st.sampled_from(list(BlockClass))), max_size=50)


def bit_by_bit(numbers: list[int], kinds: list[BlockClass], bits: int) -> int:
    """Charikar's simhash as a loop: each feature votes for or against each bit."""
    made = 0
    for bit in range(bits):
        votes = sum(
            VOTES[kind] if number >> bit & 1 else -VOTES[kind] for number, kind in zip(numbers, kinds, strict=True)
        )
        made |= (votes > 0) << bit
    return made


@given(st.sampled_from([64, 128]), features)
def test_it_equals_the_textbook_loop(bits: int, given_features: list[tuple[int, BlockClass]]) -> None:
    """For every set of weighted features, in either width."""
    hashes = np.array([number for number, _ in given_features], np.uint64)
    kinds = [kind for _, kind in given_features]
    upper = fmix64(hashes ^ np.uint64(0x9E3779B97F4A7C15))
    wide = [int(low) | int(high) << 64 for low, high in zip(hashes, upper, strict=True)]
    assert simhash(hashes, np.array(kinds, np.uint8), bits) == bit_by_bit(wide, kinds, bits)


def test_many_features_are_counted_in_steps() -> None:
    """A page of 100,000 shingles is no exception."""
    hashes = fmix64(np.arange(100_000, dtype=np.uint64))
    ones = [int(np.count_nonzero(hashes >> np.uint64(bit) & np.uint64(1))) for bit in range(64)]
    expected = sum((2 * count > len(hashes)) << bit for bit, count in enumerate(ones))
    assert simhash(hashes, np.full(100_000, BlockClass.CONTENT, np.uint8)) == expected


def test_the_frame_moves_few_bits() -> None:
    """A new navigation leaves a page within the radius; a new text does not."""
    rng = np.random.default_rng(1)
    content, other, one_frame, other_frame = (rng.integers(0, 2**64, 300, np.uint64) for _ in range(4))
    kinds = np.repeat(np.array([BlockClass.CONTENT, BlockClass.BOILERPLATE], np.uint8), 300)

    def made(*parts: np.ndarray) -> int:
        return simhash(np.concatenate(parts), kinds)

    page = made(content, one_frame)
    assert (page ^ made(content, other_frame)).bit_count() <= SEARCH_RADIUS
    assert (page ^ made(other, one_frame)).bit_count() > SEARCH_RADIUS
