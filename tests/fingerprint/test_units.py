"""Units stand for the passages of a page's own text."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from helpers.pages import words
from scrapy_simdedup.fingerprint.features import (
    HASHES_PER_SIGNATURE,
    MAX_SIGNATURES,
    BlockSignatures,
    find_block_signatures,
    find_shingles,
)
from scrapy_simdedup.fingerprint.hashing import word_hasher
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.page.page import Block


def block(seed: object, shingles: int, kind: BlockClass = BlockClass.CONTENT, *, heading: bool = False) -> Block:
    return Block(" ".join(f"{word}{at}" for at, word in enumerate(words(seed, shingles + 2))), kind, 0, heading)


def units(*blocks: Block) -> BlockSignatures:
    return find_block_signatures(find_shingles(blocks, word_hasher()), blocks)


def shared(one: Sequence[int], other: Sequence[int]) -> float:
    return len(set(one) & set(other)) / len(one)


@pytest.mark.parametrize(
    ("shingles", "level"), [(1, 0), (2, 1), (3, 1), (4, 2), (100, 6), (1_024, 10), (5_000, MAX_SIGNATURES)]
)
def test_a_block_counts_by_the_logarithm_of_its_length(shingles: int, level: int) -> None:
    """A short text beside a long one is still seen."""
    assert len(units(block("a", shingles)).blocks) == HASHES_PER_SIGNATURE * level


def test_frames_have_no_units() -> None:
    """They are not the page's own."""
    found = units(block("menu", 50, BlockClass.BOILERPLATE, heading=True), block("text", 50, BlockClass.UNMARKED))
    assert set(found.blocks.tolist()) == set(units(block("text", 50, BlockClass.UNMARKED)).blocks.tolist())
    assert len(found.headings) == 0


def test_headings_count_once_more() -> None:
    """They are sets of their own."""
    found = units(block("tides", 4, heading=True), block("tides", 4, heading=True), block("text", 50))
    assert len(found.headings) == HASHES_PER_SIGNATURE


def test_a_block_that_was_edited_keeps_a_name_mostly() -> None:
    """Half of its units is found on both pages, and of one that was exchanged, none."""
    kept = []
    for seed in range(20):
        one = block(seed, 60)
        said = one.text.split()
        other = one._replace(text=" ".join([*said[:30], "another", *said[31:]]))
        kept.append(shared(units(one).blocks.tolist(), units(other).blocks.tolist()))
        assert shared(units(one).blocks.tolist(), units(block(f"other {seed}", 60)).blocks.tolist()) == 0
    assert sum(kept) / len(kept) > 0.8


def test_a_page_without_words_has_no_units() -> None:
    assert [len(part) for part in units(Block("...", BlockClass.CONTENT, 0))] == [0, 0]
