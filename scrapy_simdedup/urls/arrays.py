"""Arrays as bytes that every machine reads alike."""

from __future__ import annotations

import sys
from array import array


def to_bytes(numbers: array[int]) -> bytes:
    """The numbers, little-endian."""
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
