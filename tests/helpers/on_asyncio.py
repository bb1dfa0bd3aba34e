"""Tests that await what only asyncio can wait for, on the loop of the reactor that pytest-twisted runs."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest
from pytest_twisted import blockon
from twisted.internet.defer import Deferred

from helpers.servers import START_SECONDS

Result = TypeVar("Result")


def wait_for(work: Coroutine[Any, Any, Result]) -> Result:
    """Its result, for a fixture that cannot await."""
    return blockon(Deferred.fromFuture(asyncio.ensure_future(work)))


async def until(is_so: Callable[[], object]) -> None:
    """Let other work go on until something is so."""
    give_up = time.monotonic() + START_SECONDS
    while not is_so():
        if time.monotonic() > give_up:
            pytest.fail(f"nothing came of it in {START_SECONDS:g} seconds")
        await asyncio.sleep(0.01)


def on_asyncio(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., Deferred[None]]:
    """Make an ``async def`` test one that pytest-twisted can run."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> Deferred[None]:
        return Deferred.fromFuture(asyncio.ensure_future(test(*args, **kwargs)))

    return run
