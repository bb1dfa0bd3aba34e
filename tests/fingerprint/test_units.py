"""Units stand for the passages of a page's own text."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pages import words
from scrapy_simdedup.fingerprint.features import find_shingles
from scrapy_simdedup.fingerprint.units import MOST, NAMES, Units, find_units
from scrapy_simdedup.fingerprint.word_hashes import word_hashes
from scrapy_simdedup.page.kinds import Kind
from scrapy_simdedup.page.page import Block


def block(seed: object, shingles: int, kind: Kind = Kind.FIRM, *, heading: bool = False) -> Block:
    return Block(" ".join(f"{word}{at}" for at, word in enumerate(words(seed, shingles + 2))), kind, 0, heading)


def units(*blocks: Block) -> Units:
    return find_units(find_shingles(blocks, word_hashes()), blocks)


def shared(one: Sequence[int], other: Sequence[int]) -> float:
    return len(set(one) & set(other)) / len(one)


@pytest.mark.parametrize(("shingles", "level"), [(1, 0), (2, 1), (3, 1), (4, 2), (100, 6), (1_024, 10), (5_000, MOST)])
def test_a_block_counts_by_the_logarithm_of_its_length(shingles: int, level: int) -> None:
    """A short text beside a long one is still seen."""
    assert len(units(block("a", shingles)).texts) == NAMES * level


def test_frames_have_no_units() -> None:
    """They are not the page's own."""
    found = units(block("menu", 50, Kind.FRAME, heading=True), block("text", 50, Kind.LOOSE))
    assert set(found.texts.tolist()) == set(units(block("text", 50, Kind.LOOSE)).texts.tolist())
    assert len(found.headings) == 0


def test_headings_count_once_more() -> None:
    """They are sets of their own."""
    found = units(block("tides", 4, heading=True), block("tides", 4, heading=True), block("text", 50))
    assert len(found.headings) == NAMES


def test_a_block_that_was_edited_keeps_a_name_mostly() -> None:
    """Half of its units is found on both pages, and of one that was exchanged, none."""
    kept = []
    for seed in range(20):
        one = block(seed, 60)
        said = one.text.split()
        other = one._replace(text=" ".join([*said[:30], "another", *said[31:]]))
        kept.append(shared(units(one).texts.tolist(), units(other).texts.tolist()))
        assert shared(units(one).texts.tolist(), units(block(f"other {seed}", 60)).texts.tolist()) == 0
    assert sum(kept) / len(kept) > 0.8


def test_a_page_without_words_has_no_units() -> None:
    assert [len(part) for part in units(Block("...", Kind.FIRM, 0))] == [0, 0]
