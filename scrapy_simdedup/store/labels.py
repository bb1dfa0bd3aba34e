"""What many records have in common, such as their run and their worker, kept once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from scrapy_simdedup.store.base import State


class Label(NamedTuple):
    """Four of a record's texts, which few records have all by themselves."""

    run: str
    worker: str
    state: State
    kind: str


class Labels:
    """A number for each label."""

    def __init__(self) -> None:
        self._labels: list[Label] = []
        self._numbers: dict[Label, int] = {}

    def __getitem__(self, number: int) -> Label:
        """The label of a number."""
        return self._labels[number]

    def number(self, label: Label) -> int:
        """The number of a label, the same whenever it is asked for."""
        found = self._numbers.setdefault(label, len(self._labels))
        if found == len(self._labels):
            self._labels.append(label)
        return found
