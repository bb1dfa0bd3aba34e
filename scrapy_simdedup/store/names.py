"""Texts that many records have in common, such as the names of runs, kept once."""

from __future__ import annotations


class Names:
    """A number for each of the few texts that many records have in common."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text, the same whenever it is asked for."""
        found = self._numbers.setdefault(text, len(self._texts))
        if found == len(self._texts):
            self._texts.append(text)
        return found

    def text(self, number: int) -> str:
        """The text of a number."""
        return self._texts[number]
