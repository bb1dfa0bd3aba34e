"""Waiting works the same with and without asyncio."""

from __future__ import annotations

from typing import Any

from scrapy.utils.asyncio import call_later

from helpers.on_asyncio import on_asyncio
from scrapy_simdedup.crawl.concurrency import BackgroundTasks, KeyedCondition, sleep


@on_asyncio
async def test_all_who_wait_for_the_same_thing_go_on_together() -> None:
    waiters, woken = KeyedCondition(), []

    async def wait(name: str) -> None:
        woken.append((name, await waiters.wait("page", 5)))

    tasks = BackgroundTasks()
    tasks.start(wait("one"))
    tasks.start(wait("two"))
    call_later(0.01, waiters.notify, "page")
    await tasks.drain()
    assert sorted(woken) == [("one", True), ("two", True)]
    assert len(waiters) == 0


@on_asyncio
async def test_a_wait_ends_when_its_time_is_up() -> None:
    waiters = KeyedCondition()
    assert await waiters.wait("page", 0.01) is False
    assert len(waiters) == 0


@on_asyncio
async def test_waking_what_nobody_waits_for_does_nothing() -> None:
    waiters = KeyedCondition()
    waiters.notify("page")
    await sleep(0)
    assert len(waiters) == 0


@on_asyncio
async def test_background_work_that_fails_is_logged_and_does_not_stop_the_rest(caplog: Any) -> None:
    done: list[str] = []

    async def fail() -> None:
        raise ValueError("no luck")

    async def work() -> None:
        await sleep(0.01)
        done.append("work")

    tasks = BackgroundTasks()
    tasks.start(fail())
    tasks.start(work())
    await tasks.drain()
    assert done == ["work"]
    assert "no luck" in caplog.text
