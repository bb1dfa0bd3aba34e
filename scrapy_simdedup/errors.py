"""The errors of the package, each with its data as attributes."""

from __future__ import annotations

from typing import Any


class SimdedupError(Exception):
    """The base of all errors that this package raises on purpose."""

    is_logged: bool = False
    """Whether the sentence of the error is in the log already; its traceback would only repeat it."""


class SettingError(SimdedupError, ValueError):
    """A setting cannot be used; the message names the setting, the value and the remedy."""

    def __init__(self, name: str, value: Any, remedy: str) -> None:
        self.name = name
        """The setting's full name, such as ``SIMDEDUP_MODE``."""
        self.value = value
        """What it was set to; passwords are already masked."""
        self.remedy = remedy
        """What to write or install instead."""
        super().__init__(f"{name} = {value!r} cannot be used: {remedy}")

    def __reduce__(self) -> tuple[type[SettingError], tuple[str, Any, str]]:
        return type(self), (self.name, self.value, self.remedy)


class StoreError(SimdedupError):
    """The store could not do what it was asked; nothing was dropped because of it."""

    def __init__(self, store: str, problem: str, remedy: str = "") -> None:
        self.store = store
        """The store's URL without its password."""
        self.problem = problem
        """What went wrong, as one clause."""
        self.remedy = remedy
        """The remedy; empty if waiting is all that helps."""
        super().__init__(f"{store}: {problem}" + (f"; {remedy}" if remedy else ""))

    def __reduce__(self) -> tuple[type[StoreError], tuple[str, str, str]]:
        return type(self), (self.store, self.problem, self.remedy)


class StoreBusy(StoreError):
    """Another process holds the store for longer than the wait; trying again later may succeed."""


class FingerprintMismatch(SimdedupError, ValueError):
    """Two fingerprints that were not made the same way were about to be compared, or bytes are no fingerprint."""
