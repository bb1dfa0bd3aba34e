"""Who reserved a page may be gone; then the page is free."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.prints import Clock
from scrapy_simdedup import NearDuplicateDetector
from scrapy_simdedup.detect.site_logs import LEASE_SECONDS, is_alive, worker_name
from scrapy_simdedup.store.memory import MemoryStore

A, B = (f"https://shop.example/{name}" for name in "ab")


def test_a_worker_that_was_heard_of_lately_is_alive() -> None:
    assert is_alive("elsewhere:1:x", 1000.0, 1000.0 + LEASE_SECONDS - 1)
    assert not is_alive("elsewhere:1:x", 1000.0, 1000.0 + LEASE_SECONDS)
    assert not is_alive("elsewhere:1:x", None, 1000.0)


def test_this_process_is_alive() -> None:
    assert is_alive(worker_name(), 1000.0, 1001.0)


@pytest.mark.skipif(os.name != "posix", reason="elsewhere only the beat tells")
def test_a_process_of_this_host_that_ended_is_dead_at_once() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    name = worker_name().replace(f":{os.getpid()}:", f":{ended.pid}:")
    assert not is_alive(name, 1000.0, 1000.0)


@on_asyncio
async def test_a_twin_of_what_a_dead_worker_reserved_does_not_wait() -> None:
    store, clock = MemoryStore(), Clock(1000.0)
    dead = NearDuplicateDetector(store, run="one", worker="elsewhere:1:dead", now=clock)
    await dead.open()
    assert (await dead.judge(page("kettle", 1), url=A)).kind == "new"

    alive = NearDuplicateDetector(store, run="one", worker="elsewhere:2:alive", now=clock)
    await alive.open()
    assert (await alive.judge(page("kettle", 2), url=B)).pending is not None
    clock.seconds += LEASE_SECONDS + 1
    verdict = await alive.judge(page("kettle", 2), url=B)
    assert (verdict.kind, verdict.pending) == ("new", None)


@on_asyncio
async def test_a_worker_that_beats_keeps_what_it_reserved() -> None:
    store, clock = MemoryStore(), Clock(1000.0)
    slow = NearDuplicateDetector(store, run="one", worker="elsewhere:1:slow", now=clock)
    await slow.open()
    first = await slow.judge(page("kettle", 1), url=A)
    other = NearDuplicateDetector(store, run="one", worker="elsewhere:2:other", now=clock)
    await other.open()
    clock.seconds += LEASE_SECONDS - 1
    await slow.heartbeat()
    clock.seconds += LEASE_SECONDS - 1
    assert (await other.judge(page("kettle", 2), url=B)).pending is not None
    await slow.confirm(first.page)
    assert (await other.judge(page("kettle", 2), url=B)).is_duplicate
