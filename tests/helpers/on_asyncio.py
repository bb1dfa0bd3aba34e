"""Tests that await what only asyncio can wait for, on the loop of the reactor that pytest-twisted runs."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from pytest_twisted import blockon
from twisted.internet.defer import Deferred

Result = TypeVar("Result")


def wait_for(work: Coroutine[Any, Any, Result]) -> Result:
    """Its result, for a fixture that cannot await."""
    return blockon(Deferred.fromFuture(asyncio.ensure_future(work)))


def on_asyncio(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., Deferred[None]]:
    """Make an ``async def`` test one that pytest-twisted can run."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> Deferred[None]:
        return Deferred.fromFuture(asyncio.ensure_future(test(*args, **kwargs)))

    return run
