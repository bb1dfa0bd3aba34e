"""Values of Python as JSON, with marks for what JSON does not know: bytes, tuples, sets."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Event = TypeVar("Event")


def to_json_bytes(value: Any) -> bytes:
    """An event of plain values as JSON, in which bytes have a form of their own."""
    return json.dumps(value, separators=(",", ":"), default=_bytes).encode()


def from_json_bytes(raw: bytes, types: Mapping[str, type[Event]]) -> Event:
    """The event that was packed as a list: the name of its type, and the values of its fields.

    Raises:
        ValueError: there is no such event.
    """
    try:
        name, *values = json.loads(raw, object_hook=_unpack)
        return types[name](*values)
    except (TypeError, KeyError, UnicodeDecodeError, RecursionError) as exc:
        raise ValueError(f"these bytes are no event; known are {', '.join(types)}") from exc


def pack_value(value: Any) -> Any:
    """A value as JSON can hold it, with marks for what JSON does not know; reading it back gives an equal value.

    A text, number or bytes of a subclass, such as the texts of lxml, is read back as one of the plain type. Members of
    enumerations are not taken, as they are looked at by their names, nor are containers of a subclass.

    Raises:
        TypeError: it is, or holds, what has no such form; the message names the type.
    """
    kind = type(value)
    if kind is list:
        return [pack_value(part) for part in value]
    if kind in _CONTAINERS:
        return {_CONTAINERS[kind]: [pack_value(part) for part in value]}
    return _pack_dict(value) if kind is dict else _pack_scalar(value)


def _pack_dict(values: dict[Any, Any]) -> dict[str, Any]:
    if all(isinstance(name, str) for name in values) and not (len(values) == 1 and _MARKS.issuperset(values)):
        return {_pack_scalar(name): pack_value(part) for name, part in values.items()}
    return {"dict": [[pack_value(name), pack_value(part)] for name, part in values.items()]}


def _pack_scalar(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    for plain, make in _SCALARS.items():
        if isinstance(value, plain) and not isinstance(value, Enum):
            return make(value)
    raise TypeError(f"an event cannot hold {type(value).__name__}")


def _bytes(value: Any) -> dict[str, str]:
    if isinstance(value, bytes):
        return {"b64": b64encode(value).decode()}
    raise TypeError(f"an event cannot hold {type(value).__name__}")


def _unpack(found: dict[str, Any]) -> Any:
    """What an object of JSON stands for: itself, unless it is marked."""
    mark, value = next(iter(found.items()), ("", None))
    if len(found) != 1 or mark not in _MARKS or not isinstance(value, str if mark == "b64" else list):
        return found
    return _UNPACKED[mark](value)


_CONTAINERS: dict[type, str] = {tuple: "tuple", set: "set", frozenset: "frozenset"}
_UNPACKED: dict[str, Callable[[Any], Any]] = {
    "b64": b64decode,
    "dict": dict,
    **{name: kind for kind, name in _CONTAINERS.items()},
}
_MARKS = frozenset(_UNPACKED)
_SCALARS: dict[type, Callable[[Any], Any]] = {str: str.__str__, bytes: _bytes, int: int, float: float}
"""Each with a function that makes a plain value of one of a subclass."""
