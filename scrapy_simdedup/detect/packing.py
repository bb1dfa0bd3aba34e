"""Notes as bytes: JSON of plain values, in which bytes have a form of their own."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

Note = TypeVar("Note")


def packed(value: Any) -> bytes:
    """A note of plain values and bytes."""
    return json.dumps(value, separators=(",", ":"), default=_bytes).encode()


def unpacked(raw: bytes, kinds: Mapping[str, type[Note]]) -> Note:
    """The note that was packed as a list: the name of its kind, and the values of that.

    Raises:
        ValueError: there is no such note.
    """
    try:
        kind, *values = json.loads(raw, object_hook=_as_bytes)
        return kinds[kind](*values)
    except (TypeError, KeyError, UnicodeDecodeError) as exc:
        raise ValueError(f"these bytes are no note; known are {', '.join(kinds)}") from exc


def survives(value: Mapping[str, Any]) -> bool:
    """Whether what was packed can be read back as it was, types included."""
    try:
        return _exactly(json.loads(packed(value), object_hook=_as_bytes), value)
    except (TypeError, ValueError, RecursionError):
        return False


def _bytes(value: Any) -> dict[str, str]:
    if isinstance(value, bytes):
        return {"b64": b64encode(value).decode()}
    raise TypeError(f"a note cannot hold {type(value).__name__}")


def _as_bytes(found: dict[str, Any]) -> Any:
    return b64decode(found["b64"]) if found.keys() == {"b64"} and isinstance(found["b64"], str) else found


def _exactly(one: Any, other: Any) -> bool:
    """Whether two values are equal, and of the same types all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(_exactly(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_exactly, one, other))
    return bool(one == other)
