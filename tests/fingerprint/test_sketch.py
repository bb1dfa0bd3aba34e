"""The sketch estimates the weighted resemblance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from scrapy_simdedup.fingerprint.similarity import estimate_resemblance
from scrapy_simdedup.fingerprint.sketch import BINS, WEIGHTS, cells_of, estimate_from_pairs, sketch
from scrapy_simdedup.page.classify import BlockClass

sketches = st.integers(0, 2**32 - 1).map(
    lambda seed: np.random.default_rng(seed).integers(0, 256, BINS // 2, np.uint8).tobytes()
)


def rows(*many: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(many), np.uint8).reshape(len(many), BINS // 2)


def resemblances(one: bytes, many: NDArray[np.uint8]) -> NDArray[np.float64]:
    return estimate_resemblance(rows(one)[0], many).resemblances


def page(seed: int, content: int, unmarked: int = 0, boilerplate: int = 0) -> dict[int, BlockClass]:
    """Random features of each kind."""
    numbers = np.random.default_rng(seed).integers(0, 2**64, content + unmarked + boilerplate, np.uint64).tolist()
    return dict(
        zip(
            numbers,
            [BlockClass.CONTENT] * content + [BlockClass.UNMARKED] * unmarked + [BlockClass.BOILERPLATE] * boilerplate,
            strict=True,
        )
    )


def sketch_of(features: dict[int, BlockClass]) -> bytes:
    ordered = sorted(features.items())
    return sketch(np.array([n for n, _ in ordered], np.uint64), np.array([k for _, k in ordered], np.uint8))


def exact(one: dict[int, BlockClass], other: dict[int, BlockClass]) -> float:
    """The resemblance that a sketch estimates; frames weigh a fourth of what a kept one does."""
    weight = {**WEIGHTS, BlockClass.BOILERPLATE: WEIGHTS[BlockClass.BOILERPLATE] / 4}

    def total(features: set[int]) -> float:
        return sum(max(weight[page[n]] for page in (one, other) if n in page) for n in features)

    return total(set(one) & set(other)) / total(set(one) | set(other))


@pytest.mark.parametrize("kept", [1.0, 0.95, 0.86, 0.7, 0.5])
@pytest.mark.parametrize(
    ("content", "unmarked", "boilerplate"), [(300, 0, 0), (200, 300, 400), (2_000, 0, 500), (40, 900, 0)]
)
def test_the_estimate_is_close_to_the_exact_resemblance(
    kept: float, content: int, unmarked: int, boilerplate: int
) -> None:
    """Over ten pages the mean error is below 0.03, even where half a page of frames is new."""
    errors = []
    for seed in range(10):
        shared = page(seed, int(content * kept), int(unmarked * kept), boilerplate)
        one = shared | page(100 + seed, content - int(content * kept), unmarked - int(unmarked * kept))
        other = shared | page(200 + seed, content - int(content * kept), unmarked - int(unmarked * kept), boilerplate)
        estimate = resemblances(sketch_of(one), rows(sketch_of(other)))[0]
        errors.append(estimate - exact(one, other))
    assert abs(np.mean(errors)) < 0.03
    assert np.std(errors) < 0.05


def test_text_that_is_judged_differently_on_two_pages_is_still_shared() -> None:
    """The higher kind counts for both."""
    features = page(1, 300, 300)
    judged_otherwise = dict.fromkeys(features, BlockClass.UNMARKED)
    assert resemblances(sketch_of(features), rows(sketch_of(judged_otherwise)))[0] == 1.0


@given(sketches, st.lists(sketches, min_size=1, max_size=5))
def test_one_is_compared_with_many_as_with_each(one: bytes, many: list[bytes]) -> None:
    """In either direction, and between 0 and 1."""
    together = resemblances(one, rows(*many))
    assert together.tolist() == [resemblances(one, rows(other))[0] for other in many]
    assert together.tolist() == [resemblances(other, rows(one))[0] for other in many]
    assert np.all((together >= 0) & (together <= 1))


def test_thousands_are_compared_in_steps() -> None:
    """The last row is compared like the first."""
    one, other = sketch_of(page(1, 300)), sketch_of(page(2, 300))
    found = resemblances(one, rows(*[other] * 5_000, one))
    assert found[-1] == 1.0
    assert len(set(found[:-1])) == 1


def test_pages_without_features_resemble_nothing() -> None:
    """Not even each other."""
    assert resemblances(bytes(BINS // 2), rows(bytes(BINS // 2), sketch_of(page(1, 300)))).tolist() == [0.0, 0.0]


def test_no_pages_have_no_resemblances() -> None:
    """A site without pages is nothing special."""
    assert resemblances(bytes(BINS // 2), np.zeros((0, BINS // 2), np.uint8)).shape == (0,)


@given(sketches, st.lists(sketches, min_size=1, max_size=5))
def test_an_estimate_by_all_bins_is_that_of_the_sketches(one: bytes, many: list[bytes]) -> None:
    """Cell by cell, as byte by byte."""
    pairs = cells_of(rows(one)[0]) << 4 | cells_of(rows(*many))
    assert estimate_from_pairs(pairs).resemblances[1].tolist() == resemblances(one, rows(*many)).tolist()


def test_an_estimate_by_the_bins_of_content_passes_over_the_others() -> None:
    """Pages share all their frames and a half of their content."""
    shared = page(1, 200, boilerplate=2_000)
    one, other = (cells_of(rows(sketch_of(shared | page(seed, 100)))[0]) for seed in (2, 3))
    of_content, of_all = estimate_from_pairs((one << 4 | other)[None]).resemblances[:, 0]
    assert of_content < of_all
    assert estimate_from_pairs(np.zeros((1, BINS), np.uint8)).weights.tolist() == [[0.0], [0.0]]


def test_an_estimate_knows_what_it_rests_on() -> None:
    """Equal content features weigh 1 a bin, unmarked ones 0.3, and empty bins nothing."""
    for features, weight in ((page(1, 50), 1.0), (page(1, 0, unmarked=50), 0.3)):
        one = rows(sketch_of(features))
        used = np.count_nonzero(one >> 4) + np.count_nonzero(one & 15)
        assert estimate_resemblance(one[0], one).weights[0] == pytest.approx(weight * used)
