"""Trees kept as lists of parents."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scrapy_simdedup.page.block_tree import mark_ancestors, mark_descendants, subtree_totals


@st.composite
def trees(draw: st.DrawFn) -> list[int]:
    """Parents, each before its children."""
    size = draw(st.integers(1, 30))
    return [-1, *(draw(st.integers(0, place - 1)) for place in range(1, size))]


def line_up(parents: list[int], place: int) -> list[int]:
    """The place and all around it."""
    return [place] if place <= 0 else [place, *line_up(parents, parents[place])]


@given(st.data(), trees())
def test_a_total_is_the_sum_of_all_that_lies_inside(data: st.DataObject, parents: list[int]) -> None:
    """However deep it lies."""
    at = st.tuples(st.integers(0, len(parents) - 1), st.integers(0, 99))
    items = data.draw(st.lists(at, max_size=30))
    sums = subtree_totals(parents, [place for place, _ in items], [value for _, value in items])
    for place, total in enumerate(sums):
        assert total == sum(value for inner, value in items if place in line_up(parents, inner))


@given(st.data(), trees())
def test_what_is_inside_of_a_mark_is_marked(data: st.DataObject, parents: list[int]) -> None:
    """And nothing else is."""
    marks = data.draw(st.lists(st.booleans(), min_size=len(parents), max_size=len(parents)))
    for place, inside in enumerate(mark_descendants(parents, marks)):
        assert inside == any(marks[around] for around in line_up(parents, place))


@given(st.data(), trees())
def test_what_is_around_a_place_is_marked(data: st.DataObject, parents: list[int]) -> None:
    """And so is the place, but nothing else."""
    places = data.draw(st.lists(st.integers(0, len(parents) - 1), max_size=5))
    for place, around in enumerate(mark_ancestors(parents, places)):
        assert around == any(place in line_up(parents, inner) for inner in places)
