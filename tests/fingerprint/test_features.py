"""Shingles stay inside their block and carry the kind of text they stand in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from scrapy_simdedup.fingerprint.features import Features, are_among, distinct, distinct_features, find_shingles
from scrapy_simdedup.fingerprint.hashing import fmix64, split_words, word_hasher
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.page.page import Block

Numbers = NDArray[np.uint16]
kinds = st.sampled_from(list(BlockClass))
texts = st.lists(st.sampled_from("a b c d é 東".split()), max_size=8).map(" ".join)
pages = st.lists(st.builds(Block, texts, kinds, st.just(0)), max_size=8)


def page_features(blocks: list[Block], size: int = 3) -> Features:
    return distinct_features(find_shingles(blocks, word_hasher(), size), blocks)


def shingles(*texts: str, size: int = 3, kind: BlockClass = BlockClass.CONTENT) -> Features:
    return page_features([Block(text, kind, 0) for text in texts], size)


def slowly(blocks: list[Block], size: int) -> dict[tuple[bytes, ...], BlockClass]:
    """What the module does, in the obvious way: the shingles of words with their highest kinds."""
    found: dict[tuple[bytes, ...], BlockClass] = {}
    for block in blocks:
        words = split_words(block.text)
        runs = [words[start : start + size] for start in range(len(words) - size + 1)] or [words]
        for run in filter(None, runs):
            found[tuple(run)] = max(block.block_class, found.get(tuple(run), block.block_class))
    return found


@given(pages, st.integers(1, 5))
def test_every_run_of_words_inside_a_block_is_one_feature(blocks: list[Block], size: int) -> None:
    """Repeats count once, with the highest kind; a short block is one feature."""
    expected = slowly(blocks, size)
    made = page_features(blocks, size)
    assert len(made.hashes) == len(expected)
    assert sorted(made.block_classes) == sorted(expected.values())
    assert np.all(made.hashes[1:] > made.hashes[:-1])


@given(pages, st.randoms())
def test_the_order_of_blocks_does_not_matter(blocks: list[Block], random: object) -> None:
    """Features are a set."""
    shuffled = sorted(blocks, key=lambda block: (random.random(), block))  # type: ignore[attr-defined]
    one, other = (page_features(given) for given in (blocks, shuffled))
    assert np.array_equal(one.hashes, other.hashes)
    assert np.array_equal(one.block_classes, other.block_classes)


@pytest.mark.parametrize(
    ("one", "other"),
    [("a b c", "c b a"), ("a b c", "a b d"), ("a b", "b a"), ("a", "a a a"), ("a b c", "ab c"), ("1 2 3", "1 2 4")],
)
def test_other_words_or_another_order_is_another_feature(one: str, other: str) -> None:
    """Numbers are words."""
    assert not set(shingles(one).hashes) & set(shingles(other).hashes)


def test_case_and_punctuation_make_no_difference() -> None:
    """Words are what is compared."""
    assert np.array_equal(shingles("The tide, at 5!").hashes, shingles("the TIDE at 5").hashes)


@given(st.lists(st.integers(0, 2**64 - 1), max_size=100))
def test_mixing_keeps_different_numbers_different(numbers: list[int]) -> None:
    """It is a bijection."""
    assert len(set(fmix64(np.array(numbers, np.uint64)).tolist())) == len(set(numbers))


numbers = st.lists(st.integers(0, 9), max_size=12).map(lambda drawn: np.array(drawn, np.uint16))


@given(numbers, numbers)
def test_numbers_without_repeats_and_among_others_are_those_that_sets_have(some: Numbers, others: Numbers) -> None:
    assert distinct(some).tolist() == sorted(set(some.tolist()))
    assert are_among(some, others).tolist() == [number in others.tolist() for number in some.tolist()]
    assert are_among(some, others.tolist()).tolist() == are_among(some, others).tolist()
