"""A scan of simhashes finds all that is near, and an index of keys all rows that have one."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from scrapy_simdedup.detect.candidate_index import hamming_search, to_words
from scrapy_simdedup.detect.inverted_index import InvertedIndex


def columns(numbers: list[int], bits: int) -> NDArray[np.uint64]:
    return np.array([to_words(number, bits // 64) for number in numbers], np.uint64).reshape(-1, bits // 64).T


def scanned(numbers: list[int], number: int, radius: int, bits: int = 64) -> list[int]:
    return hamming_search(columns(numbers, bits), number, radius, len(numbers)).tolist()


def test_a_search_among_8_bit_prints() -> None:
    """Within one bit of 11010110 lie 11010100 and 11011110, and not 01000111."""
    assert scanned([0b11010100, 0b01000111, 0b11011110], 0b11010110, 1) == [0, 2]


@given(st.data(), st.sampled_from([64, 128]), st.integers(0, 20))
def test_a_scan_finds_whatever_is_within_the_radius(data: st.DataObject, bits: int, radius: int) -> None:
    """In either width."""
    start = data.draw(st.integers(0, 2**bits - 1))
    flips = st.lists(st.integers(0, bits - 1), max_size=radius + 3)
    numbers = [start ^ sum(1 << bit for bit in set(chosen)) for chosen in data.draw(st.lists(flips, max_size=30))]
    expected = [row for row, number in enumerate(numbers) if (number ^ start).bit_count() <= radius]
    assert scanned(numbers, start, radius, bits) == expected


@given(st.lists(st.lists(st.integers(0, 5), max_size=4), max_size=400), st.lists(st.integers(0, 6), max_size=4))
def test_rows_come_once_for_each_key_that_they_have(rows: list[list[int]], wanted: list[int]) -> None:
    """However many of them are sorted already."""
    method: Any = SimpleNamespace(index_keys=lambda keys, _: keys)
    index = InvertedIndex(method, 0.5, lambda: np.arange(len(rows)), lambda rows: rows)
    for row, keys in enumerate(rows):
        index.add(row, np.array(keys, np.uint32))
    found, counts = index.lookup(np.array(wanted, np.uint32))
    expected = Counter(row for row, keys in enumerate(rows) for key in keys if key in wanted)
    assert dict(zip(found.tolist(), counts.tolist(), strict=True)) == expected
