"""Sums up and marks down a tree that is kept as a list of parents, each of them before its children."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def totals(parents: Sequence[int], places: Sequence[int], values: Iterable[int]) -> list[int]:
    """Of each place of the tree, the sum of the values of all that lies inside.

    Args:
        parents: Of each place, the one around it; -1 for the root, which comes first.
        places: Where each value lies.
        values: As many numbers.
    """
    sums = [0] * len(parents)
    for place, value in zip(places, values, strict=True):
        sums[place] += value
    for place in range(len(sums) - 1, 0, -1):
        sums[parents[place]] += sums[place]
    return sums


def mark_around(parents: Sequence[int], places: Iterable[int]) -> list[bool]:
    """Of each place, whether any of some places is it or lies inside."""
    around = [False] * len(parents)
    for place in places:
        while place >= 0 and not around[place]:
            around[place] = True
            place = parents[place]  # noqa: PLW2901 - one step up
    return around


def mark_inside(parents: Sequence[int], marked: Iterable[bool]) -> list[bool]:
    """Of each place, whether it or anything around it is marked."""
    inside: list[bool] = []
    for parent, mark in zip(parents, marked, strict=True):
        inside.append(mark or (parent >= 0 and inside[parent]))
    return inside
