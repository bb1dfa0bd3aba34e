"""MinHash estimates resemblance within its error, and its bands find what the S-curve says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from scrapy_simdedup.fingerprint.features import find_shingles
from scrapy_simdedup.fingerprint.hashing import word_hasher
from scrapy_simdedup.fingerprint.sketch import (
    RECALL,
    BandLayout,
    b_bit_values,
    band_keys,
    choose_bands,
    detection_probability,
    minhash,
    minhash_resemblance,
)
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.page.page import Block

SETS = st.sets(st.integers(0, 2**64 - 1), max_size=60)
FOX = "The quick brown fox jumps over the lazy dog"


def numbers(elements: set[int]) -> NDArray[np.uint64]:
    return np.array(sorted(elements), np.uint64)


def pair(seed: int, shared: int, own: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Two sets whose resemblance is ``shared / (shared + 2 * own)``."""
    drawn = np.random.default_rng(seed).integers(0, 2**64, shared + 2 * own, np.uint64)
    return drawn[: shared + own], np.concatenate((drawn[:shared], drawn[shared + own :]))


def estimate(one: NDArray[np.uint64], other: NDArray[np.uint64], permutations: int = 256, bits: int = 32) -> float:
    values = [minhash(hashes, permutations) for hashes in (one, other)]
    kept = [value if bits == 32 else b_bit_values(value, bits) for value in values]
    return float(minhash_resemblance(kept[0], kept[1][None])[0])


def standard_error(resemblance: float, permutations: int = 256, bits: int = 32) -> float:
    """Of an estimate: ``sqrt(s (1 - s) / k)``, and a little more for fewer bits, which agree by chance."""
    chance = 0.5**bits
    agreeing: float = chance + (1 - chance) * resemblance
    return (agreeing * (1 - agreeing) / permutations) ** 0.5 / (1 - chance)


# ------------------------------------------------------------------ values


@given(SETS, SETS)
def test_the_values_of_a_union_are_the_smaller_ones(one: set[int], other: set[int]) -> None:
    """So a set may be taken in by parts, in any order."""
    parts = np.minimum(minhash(numbers(one)), minhash(numbers(other)))
    assert parts.tolist() == minhash(numbers(one | other)).tolist()
    assert minhash(np.flip(numbers(one))).tolist() == minhash(numbers(one)).tolist()


@given(SETS.filter(bool), SETS)
def test_estimates_are_symmetric_and_a_set_is_itself(one: set[int], other: set[int]) -> None:
    """Between 0 and 1, in any number of bits."""
    for bits in (8, 16, 32):
        there, back = (estimate(numbers(a), numbers(b), 64, bits) for a, b in ((one, other), (other, one)))
        assert there == back
        assert 0 <= there <= 1
        assert estimate(numbers(one), numbers(one), 64, bits) == 1


def test_a_set_of_nothing_resembles_no_other() -> None:
    """Its values are the largest there are."""
    assert estimate(numbers(set()), numbers({1, 2, 3})) == 0


def test_large_sets_are_taken_in_by_steps() -> None:
    """As if they were taken at once."""
    one, _ = pair(1, 5_000, 0)
    parts = [minhash(one[start : start + 700], 64) for start in range(0, 5_000, 700)]
    assert np.min(parts, axis=0).tolist() == minhash(one, 64).tolist()


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize(("shared", "own"), [(50, 100), (100, 50), (150, 20), (180, 5)])
def test_estimates_have_the_standard_error_that_is_stated(shared: int, own: int, bits: int) -> None:
    """Over many sets they are right on the whole, and as far off as they should be."""
    true = shared / (shared + 2 * own)
    errors = [estimate(*pair(seed, shared, own), 128, bits) - true for seed in range(300)]
    expected = standard_error(true, 128, bits)
    assert abs(np.mean(errors)) < 4 * expected / 300**0.5
    assert 0.85 * expected < np.std(errors) < 1.15 * expected


@pytest.mark.parametrize(("shared", "own"), [(20, 100), (100, 50), (180, 20)])
@pytest.mark.parametrize("seed", range(5))
def test_an_estimate_is_within_three_standard_errors(shared: int, own: int, seed: int) -> None:
    true = shared / (shared + 2 * own)
    assert abs(estimate(*pair(seed, shared, own)) - true) < 3 * standard_error(true)


def test_a_word_changed_in_a_short_sentence() -> None:
    """Of seven 3-shingles each, four are common: 0.4 of all ten."""
    one, other = (
        find_shingles([Block(text, BlockClass.CONTENT, 0)], word_hasher(), 3).hashes
        for text in (FOX, FOX.replace("jumps", "leaps"))
    )
    exact = len(np.intersect1d(one, other)) / len(np.union1d(one, other))
    assert exact == 0.4
    assert abs(estimate(one, other) - exact) < 3 * standard_error(exact)


# ------------------------------------------------------------------ bands


@pytest.mark.parametrize(
    ("bands", "rows", "at_80", "at_30"),
    [(32, 4, 100.0, 22.9), (16, 8, 94.7, 0.1), (64, 2, 100.0, 99.8), (8, 16, 20.4, 0.0)],
)
def test_the_s_curve_in_percent(bands: int, rows: int, at_80: float, at_30: float) -> None:
    """1 - (1 - s^r)^b for pairs of a resemblance of 0.8, and of 0.3."""
    assert [round(100 * detection_probability(s, bands, rows), 1) for s in (0.8, 0.3)] == [at_80, at_30]


@pytest.mark.parametrize(("shared", "own"), [(80, 60), (120, 40), (160, 20)])
def test_bands_find_as_many_pairs_as_the_s_curve_says(shared: int, own: int) -> None:
    """Within four standard errors of a count over 400 pairs."""
    bands = BandLayout(16, 8)
    hits = 0
    for seed in range(400):
        one, other = (band_keys(minhash(hashes, 128), bands) for hashes in pair(seed, shared, own))
        hits += bool(np.any(one == other))
    expected = detection_probability(shared / (shared + 2 * own), *bands)
    assert abs(hits / 400 - expected) <= 4 * (expected * (1 - expected) / 400) ** 0.5 + 0.001


@given(st.floats(0.01, 1.0), st.sampled_from([16, 128, 256]))
def test_chosen_bands_find_pairs_on_the_threshold(threshold: float, permutations: int) -> None:
    """With one more row in each, they would not; and there are values enough for them."""
    bands, rows = choose_bands(threshold, permutations)
    assert bands * rows <= permutations
    if rows > 1:
        assert detection_probability(threshold, bands, rows) >= RECALL
    assert rows == permutations or detection_probability(threshold, permutations // (rows + 1), rows + 1) < RECALL


def test_equal_values_in_other_bands_are_no_match() -> None:
    """A band is looked for in its own place only."""
    keys = band_keys(np.full(64, 7, np.uint16), BandLayout(16, 4))
    assert len(set(keys.tolist())) == 16
