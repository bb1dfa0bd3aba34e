"""A map from 64-bit to 64-bit numbers that costs 16-18 bytes per entry and never pauses to grow."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right

_CHUNK = 512


class SortedMap:
    """Sorted chunks of at most 512 keys with their values beside them; a full chunk is split in two.

    A dictionary would take five times the memory, a hash table in one array would stop the crawl whenever it doubles.
    """

    __slots__ = ("_heads", "_keys", "_size", "_values")

    def __init__(self) -> None:
        self._heads = [0]
        self._keys = [array("Q")]
        self._values = [array("Q")]
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def get(self, key: int) -> int | None:
        """The value at a key."""
        chunk = bisect_right(self._heads, key) - 1
        keys = self._keys[chunk]
        place = bisect_left(keys, key)
        return self._values[chunk][place] if place < len(keys) and keys[place] == key else None

    def put(self, key: int, value: int) -> None:
        """Set the value at a key."""
        chunk = bisect_right(self._heads, key) - 1
        keys, values = self._keys[chunk], self._values[chunk]
        place = bisect_left(keys, key)
        if place < len(keys) and keys[place] == key:
            values[place] = value
            return
        keys.insert(place, key)
        values.insert(place, value)
        self._size += 1
        if len(keys) > _CHUNK:
            half = _CHUNK // 2
            self._heads.insert(chunk + 1, keys[half])
            self._keys[chunk : chunk + 1] = [keys[:half], keys[half:]]
            self._values[chunk : chunk + 1] = [values[:half], values[half:]]

    def __bytes__(self) -> bytes:
        return b"".join(map(to_bytes, (*self._keys, *self._values)))

    @classmethod
    def from_bytes(cls, raw: bytes) -> SortedMap:
        """What :func:`bytes` made."""
        numbers = from_bytes("Q", raw)
        made = cls()
        made._size = size = len(numbers) // 2
        starts = range(0, size, _CHUNK // 2)
        if size:
            made._keys = [numbers[i : min(i + _CHUNK // 2, size)] for i in starts]
            made._values = [numbers[size + i : size + min(i + _CHUNK // 2, size)] for i in starts]
            made._heads = [0, *(keys[0] for keys in made._keys[1:])]
        return made


def to_bytes(numbers: array[int]) -> bytes:
    """The numbers, little-endian, so that every machine reads them alike."""
    if sys.byteorder == "big":
        numbers = array(numbers.typecode, numbers)
        numbers.byteswap()
    return numbers.tobytes()


def from_bytes(typecode: str, raw: bytes) -> array[int]:
    """What :func:`to_bytes` made."""
    numbers = array(typecode)
    numbers.frombytes(raw)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
