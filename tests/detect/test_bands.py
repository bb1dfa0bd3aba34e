"""Banded search finds what a scan finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from scrapy_simdedup.detect.bands import Bands
from scrapy_simdedup.detect.key_index import KeyIndex
from scrapy_simdedup.detect.scan import nearest, words

OTHERS = np.random.default_rng(1).integers(0, 2**64, 2_000, np.uint64).tolist()
"""Among so many, few look-ups are less than a scan."""


def columns(numbers: list[int], bits: int = 64) -> NDArray[np.uint64]:
    return np.array([words(number, bits // 64) for number in numbers], np.uint64).reshape(-1, bits // 64).T


def banded(numbers: list[int], number: int, radius: int, bits: int = 64, bands: int = 4) -> list[int]:
    made = Bands(bits, bands)
    for first in range(0, len(numbers), 70):
        made.add(columns(numbers[first : first + 70], bits))
    assert len(made) == len(numbers)
    return made.within(number, radius).tolist()


def scanned(numbers: list[int], number: int, radius: int, bits: int = 64) -> list[int]:
    return nearest(columns(numbers, bits), number, radius, len(numbers)).tolist()


def test_a_search_among_8_bit_prints() -> None:
    """Within one bit of 11010110 lie 11010100 and 11011110, and not 01000111."""
    documents = [0b11010100, 0b01000111, 0b11011110]
    assert banded(documents, 0b11010110, 1) == [0, 2]
    assert scanned(documents, 0b11010110, 1) == [0, 2]


@given(st.data(), st.sampled_from([64, 128]), st.integers(4, 12), st.integers(0, 20))
def test_it_finds_what_a_scan_finds(data: st.DataObject, bits: int, bands: int, radius: int) -> None:
    """Whatever the width, the bands and the radius."""
    start = data.draw(st.integers(0, 2**bits - 1))
    flips = st.lists(st.integers(0, bits - 1), max_size=radius + 3)
    numbers = [
        start ^ sum(1 << bit for bit in set(chosen))
        for chosen in data.draw(st.lists(flips, max_size=30), label="flips")
    ]
    numbers += OTHERS[: data.draw(st.sampled_from([0, len(OTHERS)]), label="others")]
    assert banded(numbers, start, radius, bits, bands) == scanned(numbers, start, radius, bits)


@pytest.mark.parametrize("bands", [4, 9])
@pytest.mark.parametrize("skewed", [False, True])
def test_among_100_000_prints_it_finds_what_a_scan_finds(bands: int, skewed: bool) -> None:
    """Evenly spread, or within a few bits of a few centres; for radii of one look-up per band, and beyond."""
    rng = np.random.default_rng(bands)
    prints = rng.integers(0, 2**64, 100_000, np.uint64)
    if skewed:
        centres = rng.integers(0, 2**64, 20, np.uint64)
        prints = centres[rng.integers(0, 20, len(prints))]
        for _ in range(6):
            prints ^= np.uint64(1) << rng.integers(0, 64, len(prints), np.uint64)
    found = Bands(64, bands)
    found.add(prints[None])
    for row in rng.integers(0, len(prints), 20):
        number = int(prints[row]) ^ 1 << int(rng.integers(0, 64))
        for radius in {1, bands - 1, bands + 2}:
            expected = nearest(prints[None], number, radius, len(prints))
            assert found.within(number, radius).tolist() == expected.tolist()


@given(st.lists(st.lists(st.integers(0, 5), max_size=4), max_size=400), st.lists(st.integers(0, 6), max_size=4))
def test_rows_come_once_for_each_key_that_they_have(rows: list[list[int]], wanted: list[int]) -> None:
    """However many of them are sorted already."""
    index = KeyIndex()
    for row, keys in enumerate(rows):
        index.add(np.array(row), np.array(keys, np.uint32))
    assert len(index) == sum(map(len, rows))
    expected = sorted(row for row, keys in enumerate(rows) for key in keys if key in wanted)
    assert sorted(index.rows(np.array(wanted, np.uint32)).tolist()) == expected


@pytest.mark.parametrize(("bits", "bands"), [(64, 1), (128, 3), (64, 65)])
def test_bands_that_cannot_be(bits: int, bands: int) -> None:
    """More than 32 bits in one, or less than one."""
    with pytest.raises(ValueError, match="bands of 1 to 32 bits"):
        Bands(bits, bands)
