"""A hash table with linear probing, from keys to slots: it keeps no key itself, so it takes 8 to 16 bytes for each."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class KeyTable:
    """Finds the slots that may be a key's; among them some of keys that went. The hash never leaves this process.

    Args:
        count: keys that it has room for, and for a third more.
    """

    __slots__ = ("_cells", "_taken")

    def __init__(self, count: int) -> None:
        self._cells = array("I", bytes(4 << (2 * count).bit_length()))
        """Slots plus one; 0 is none."""
        self._taken = 0

    @property
    def is_full(self) -> bool:
        """Whether another one should be made; cells of keys that went count."""
        return 3 * self._taken >= 2 * len(self._cells)

    @property
    def size(self) -> int:
        """Bytes."""
        return 4 * len(self._cells)

    def enter(self, key: bytes, slot: int) -> None:
        """A slot is a key's now."""
        mask = len(self._cells) - 1
        cell = hash(key) & mask
        while self._cells[cell] not in {0, slot + 1}:
            cell = (cell + 1) & mask
        self._taken += not self._cells[cell]
        self._cells[cell] = slot + 1

    def probe(self, key: bytes) -> Iterator[int]:
        """Slots that may be the key's; one may come up twice."""
        mask = len(self._cells) - 1
        cell = hash(key) & mask
        while self._cells[cell]:
            yield self._cells[cell] - 1
            cell = (cell + 1) & mask
