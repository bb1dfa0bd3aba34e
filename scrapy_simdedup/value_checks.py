"""Checks by the kind of value, of which those of the settings are made.

Each takes a setting's name and value, and gives the value that can be used, or an error with a remedy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

from scrapy_simdedup.errors import SettingError

Check: TypeAlias = Callable[[str, Any], Any]

_FLAGS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def flag(name: str, value: Any) -> bool:
    """True or False, or a word for it."""
    if isinstance(value, bool):
        return value
    if str(value).lower() in _FLAGS:
        return _FLAGS[str(value).lower()]
    raise SettingError(name, value, "write True or False")


def one_of(*choices: str) -> Callable[[str, Any], str]:
    """One of a few words."""

    def check(name: str, value: Any) -> str:
        if value in choices:
            return cast("str", value)
        raise SettingError(name, value, f"write one of {', '.join(map(repr, choices))}")

    return check


def number(low: float, high: float, remedy: str) -> Callable[[str, Any], float]:
    """A number between two others, both included."""

    def check(name: str, value: Any) -> float:
        try:
            found = float(value)
        except (TypeError, ValueError, OverflowError):
            found = float("nan")
        if isinstance(value, bool) or not low <= found <= high:
            raise SettingError(name, value, remedy)
        return found

    return check


def similarity(name: str, value: Any) -> float:
    """A share of common words."""
    return number(0.0, 1.0, "write a similarity between 0 and 1, such as 0.95")(name, value)


def whole(low: int, high: int) -> Callable[[str, Any], int]:
    """A whole number between two others, both included."""
    remedy = f"write a whole number from {low} to {high}"

    def check(name: str, value: Any) -> int:
        found = number(low, high, remedy)(name, value)
        if found != int(found):
            raise SettingError(name, value, remedy)
        return int(found)

    return check


def text(example: str) -> Callable[[str, Any], str | None]:
    """A text that is not blank, or None."""

    def check(name: str, value: Any) -> str | None:
        if value is None or (isinstance(value, str) and value.strip()):
            return value
        raise SettingError(name, value, f"write {example}, or None")

    return check


def optional(check: Check) -> Check:
    """None, or what ``check`` lets pass."""
    return lambda name, value: None if value is None else check(name, value)


def listed(value: Any) -> Any:
    """The parts of a text with commas, as a list is written on the command line; any other value as it is."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
