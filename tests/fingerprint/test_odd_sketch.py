"""Odd sketches tell what each of two sets has and the other lacks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from scrapy_simdedup.fingerprint.sketch import estimate_unshared, hamming_distances, odd_sketch

SETS = st.sets(st.integers(0, 2**64 - 1), max_size=60)


def words(elements: set[int], bits: int = 512) -> NDArray[np.uint64]:
    return np.frombuffer(odd_sketch(np.array(sorted(elements), np.uint64), bits), "<u8")


def random_set(seed: int, size: int) -> set[int]:
    return set(np.random.default_rng(seed).integers(0, 2**64, size, np.uint64).tolist())


def lack(one: set[int], other: set[int], bits: int = 512) -> float:
    sizes = np.array([len(one)]), np.array([len(other)])
    return float(estimate_unshared(words(one, bits), words(other, bits)[None], sizes[0][0], sizes[1])[0])


@given(SETS, SETS)
def test_the_xor_of_two_sketches_is_the_sketch_of_their_difference(one: set[int], other: set[int]) -> None:
    """What both have goes, whatever it is."""
    assert (words(one) ^ words(other)).tolist() == words(one ^ other).tolist()
    assert hamming_distances(words(one), words(other)[None])[0] == np.bitwise_count(words(one ^ other)).sum()


@given(SETS, SETS)
def test_what_is_lacking_is_the_same_from_either_side(one: set[int], other: set[int]) -> None:
    """And never less than nothing."""
    assert lack(one, other) == lack(other, one) >= 0


@pytest.mark.parametrize("exchanged", [0, 5, 20, 60, 100])
@pytest.mark.parametrize("added", [0, 40])
def test_exchanged_elements_are_counted_and_added_ones_are_not(exchanged: int, added: int) -> None:
    """A little below their number, over many sets."""
    found = []
    for seed in range(40):
        common = random_set(seed, 100)
        one = common | random_set(1_000 + seed, exchanged)
        other = common | random_set(2_000 + seed, exchanged + added)
        found.append(lack(one, other))
    assert 0.75 * exchanged - 4 <= np.mean(found) <= exchanged + 1


def test_sets_of_which_nothing_is_known_any_more_differ_in_much() -> None:
    """Beyond half of the bits the estimate stays finite."""
    assert 20 < lack(random_set(1, 5_000), random_set(2, 5_000), 64) < 100
