"""Sampled shingles: exact for short texts, bounded for long ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from scrapy_simdedup.fingerprint.sampled import (
    MOST,
    Sample,
    clusters,
    containment,
    overlap,
    resemblance,
    sample,
    super_shingles,
    thin,
    w_shingles,
)

HAMLET = "To be or not to be, that is the question"
SETS = st.sets(st.integers(1, 2**32 - 1), max_size=40)


def of(elements: set[int], most: int = MOST) -> Sample:
    return sample(np.array(sorted(elements), np.uint64), most)


def drawn(seed: int, count: int) -> NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(0, 2**64, count, np.uint64)


# ------------------------------------------------------------------ shingles


def test_the_4_shingles_of_a_sentence() -> None:
    """Ten words make seven runs of four, all of them different."""
    runs = [
        *("to be or not", "be or not to", "or not to be", "not to be that"),
        *("to be that is", "be that is the", "that is the question"),
    ]
    assert w_shingles(HAMLET, 4).tolist() == sorted(int(w_shingles(run, 4)[0]) for run in runs)


def test_a_sentence_of_repeated_words_has_few_shingles() -> None:
    """A shingle counts once: of a rose is a rose is a rose, three of 4 words are left."""
    runs = ["a rose is a", "rose is a rose", "is a rose is"]
    assert w_shingles("a rose is a rose is a rose", 4).tolist() == sorted(int(w_shingles(run, 4)[0]) for run in runs)


def test_a_text_of_few_words_is_one_shingle() -> None:
    """And a text without words has none."""
    assert len(w_shingles("two words", 4)) == 1
    assert len(w_shingles("...", 4)) == 0


def test_shingles_under_a_secret_are_others() -> None:
    """Nobody can tell them without it."""
    assert not set(w_shingles(HAMLET, 4).tolist()) & set(w_shingles(HAMLET, 4, b"secret").tolist())


# ------------------------------------------------------------------ samples


@given(SETS, SETS)
def test_nothing_left_out_is_exact(one: set[int], other: set[int]) -> None:
    """Resemblance and containment are those of the sets."""
    assert resemblance(of(one), of(other)) == (len(one & other) / len(one | other) if one | other else 0)
    assert containment(of(one), of(other)) == (len(one & other) / len(one) if one else 0)


@given(SETS, SETS, st.integers(1, 40), st.integers(1, 40))
def test_samples_of_any_levels_are_compared_alike_from_both_sides(
    one: set[int], other: set[int], most: int, other_most: int
) -> None:
    """At the higher level, as if both had been taken there."""
    a, b = of(one, most), of(other, other_most)
    assert len(a.values) <= most
    assert resemblance(a, b) == resemblance(b, a)
    level = max(a.level, b.level)
    thinned = [{value for value in elements if value % 2**level == 0} for elements in (one, other)]
    union = thinned[0] | thinned[1]
    assert resemblance(a, b) == (len(thinned[0] & thinned[1]) / len(union) if union else 0)


@given(SETS, st.integers(1, 40), st.integers(1, 40))
def test_a_sample_of_a_sample_is_the_sample(elements: set[int], most: int, fewer: int) -> None:
    """So a stored one can be thinned further."""
    most, fewer = max(most, fewer), min(most, fewer)
    again, at_once = thin(of(elements, most), fewer), of(elements, fewer)
    assert again.level == at_once.level
    assert again.values.tolist() == at_once.values.tolist()


@given(st.lists(SETS, min_size=1, max_size=6), SETS, st.integers(1, 40))
def test_many_are_compared_like_each(others: list[set[int]], one: set[int], most: int) -> None:
    """Whatever fills their rows up."""
    samples = [of(other, most) for other in others]
    rows = np.zeros((len(samples), 40), np.uint32)
    for row, made in zip(rows, samples, strict=True):
        row[: len(made.values)] = made.values
    found = overlap(of(one, most), rows, np.array([made.level for made in samples]))
    assert found.resemblance.tolist() == [resemblance(of(one, most), made) for made in samples]
    assert found.containment.tolist() == [containment(of(one, most), made) for made in samples]


@pytest.mark.parametrize("true", [0.2, 0.5, 0.9])
def test_samples_of_long_texts_estimate_without_bias(true: float) -> None:
    """As far off as the number of shingles that are left allows."""
    shared = round(3_000 * true)
    errors = []
    for seed in range(100):
        numbers = drawn(seed, 3_000)
        own = (3_000 - shared) // 2
        errors.append(resemblance(sample(numbers[: shared + own]), sample(numbers[own:][-shared - own :])) - true)
    error = (true * (1 - true) / 100) ** 0.5  # some 100 to 240 of the union are left
    assert abs(np.mean(errors)) < 4 * error / 10
    assert np.std(errors) < 1.2 * error


def test_a_quotation_is_contained_and_resembles_little() -> None:
    """Which is what containment is for."""
    text = drawn(1, 4_000)
    whole, quoted = sample(text), sample(text[:400])
    assert containment(quoted, whole) == 1
    assert resemblance(quoted, whole) < 0.3


# ------------------------------------------------------------------ super-shingles and clusters


def test_texts_share_super_shingles_if_they_are_much_alike() -> None:
    """A few words of 200 leave some runs whole; half of the words leave none."""
    text = drawn(2, 200)
    one = super_shingles(sample(text))
    edited = super_shingles(sample(np.concatenate((text[4:], drawn(3, 4)))))
    other = super_shingles(sample(np.concatenate((text[100:], drawn(4, 100)))))
    assert len(one) == 200 - 14 + 1
    assert len(np.intersect1d(one, edited)) > 50
    assert len(np.intersect1d(one, other)) == 0


def test_super_shingles_of_little_text() -> None:
    """Few shingles make one run, none make none."""
    assert len(super_shingles(of({1, 2, 3}))) == 1
    assert len(super_shingles(of(set()))) == 0


def linked(sets: list[set[int]], threshold: float) -> list[list[int]]:
    """Clusters by comparing everything with everything, until nothing moves any more."""
    label = list(range(len(sets)))
    for _ in sets:
        for a, one in enumerate(sets):
            for b, other in enumerate(sets):
                if one & other and len(one & other) / len(one | other) >= threshold:
                    label[a] = label[b] = min(label[a], label[b])
    return [[n for n in range(len(sets)) if label[n] == first] for first in sorted(set(label))]


@given(st.lists(st.sets(st.integers(1, 12), max_size=6), max_size=10), st.sampled_from([0.2, 0.5, 1.0]))
def test_clusters_are_those_of_all_pairs(sets: list[set[int]], threshold: float) -> None:
    """Though only texts that share a shingle are compared."""
    assert clusters([of(elements) for elements in sets], threshold) == linked(sets, threshold)
