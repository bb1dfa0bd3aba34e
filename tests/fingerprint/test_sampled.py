"""Sampled shingles: exact for short texts, bounded for long ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from scrapy_simdedup.fingerprint.sketch import (
    MAX_SAMPLE,
    ShingleSample,
    reduce_sample,
    sample_resemblance,
    sample_shingles,
)

SETS = st.sets(st.integers(1, 2**32 - 1), max_size=40)


def of(elements: set[int], most: int = MAX_SAMPLE) -> ShingleSample:
    return sample_shingles(np.array(sorted(elements), np.uint64), most)


def compared(one: ShingleSample, other: ShingleSample) -> float:
    return float(sample_resemblance(one, other.values[None], np.array([other.level]))[0])


def drawn(seed: int, count: int) -> NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(0, 2**64, count, np.uint64)


@given(SETS, SETS)
def test_nothing_left_out_is_exact(one: set[int], other: set[int]) -> None:
    """The resemblance is that of the sets."""
    assert compared(of(one), of(other)) == (len(one & other) / len(one | other) if one | other else 0)


@given(SETS, SETS, st.integers(1, 40), st.integers(1, 40))
def test_samples_of_any_levels_are_compared_alike_from_both_sides(
    one: set[int], other: set[int], most: int, other_most: int
) -> None:
    """At the higher level, as if both had been taken there."""
    a, b = of(one, most), of(other, other_most)
    assert len(a.values) <= most
    assert compared(a, b) == compared(b, a)
    level = max(a.level, b.level)
    thinned = [{value for value in elements if value % 2**level == 0} for elements in (one, other)]
    union = thinned[0] | thinned[1]
    assert compared(a, b) == (len(thinned[0] & thinned[1]) / len(union) if union else 0)


@given(SETS, st.integers(1, 40), st.integers(1, 40))
def test_a_sample_of_a_sample_is_the_sample(elements: set[int], most: int, fewer: int) -> None:
    """So a stored one can be thinned further."""
    most, fewer = max(most, fewer), min(most, fewer)
    again, at_once = reduce_sample(of(elements, most), fewer), of(elements, fewer)
    assert again.level == at_once.level
    assert again.values.tolist() == at_once.values.tolist()


@given(st.lists(SETS, min_size=1, max_size=6), SETS, st.integers(1, 40))
def test_many_are_compared_like_each(others: list[set[int]], one: set[int], most: int) -> None:
    """Whatever fills their rows up."""
    samples = [of(other, most) for other in others]
    rows = np.zeros((len(samples), 40), np.uint32)
    for row, made in zip(rows, samples, strict=True):
        row[: len(made.values)] = made.values
    found = sample_resemblance(of(one, most), rows, np.array([made.level for made in samples]))
    assert found.tolist() == [compared(of(one, most), made) for made in samples]


@pytest.mark.parametrize("true", [0.2, 0.5, 0.9])
def test_samples_of_long_texts_estimate_without_bias(true: float) -> None:
    """As far off as the number of shingles that are left allows."""
    shared = round(3_000 * true)
    errors = []
    for seed in range(100):
        numbers = drawn(seed, 3_000)
        own = (3_000 - shared) // 2
        errors.append(
            compared(sample_shingles(numbers[: shared + own]), sample_shingles(numbers[own:][-shared - own :])) - true
        )
    error = (true * (1 - true) / 100) ** 0.5  # some 100 to 240 of the union are left
    assert abs(np.mean(errors)) < 4 * error / 10
    assert np.std(errors) < 1.2 * error
