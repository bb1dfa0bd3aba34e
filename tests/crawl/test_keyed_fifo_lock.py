"""The lock that is acquired in the order of its tickets."""

from __future__ import annotations

import asyncio

from helpers.on_asyncio import on_asyncio
from scrapy_simdedup.crawl.judge import KeyedFifoLock


async def take_part(lock: KeyedFifoLock, key: str, name: str, went: list[str], *, seconds: float = 0) -> None:
    ticket = lock.enqueue(key)
    try:
        await asyncio.sleep(seconds)
        await ticket.acquire()
        went.append(name)
    finally:
        ticket.release()


@on_asyncio
async def test_the_lock_is_acquired_in_the_order_of_the_tickets() -> None:
    lock, went = KeyedFifoLock(), []
    await asyncio.gather(
        take_part(lock, "a", "slow", went, seconds=0.05),
        take_part(lock, "a", "quick", went),
        take_part(lock, "a", "slower than the one before", went, seconds=0.02),
    )
    assert went == ["slow", "quick", "slower than the one before"]


@on_asyncio
async def test_keys_do_not_wait_for_each_other() -> None:
    lock, went = KeyedFifoLock(), []
    await asyncio.gather(take_part(lock, "a", "slow", went, seconds=0.05), take_part(lock, "b", "quick", went))
    assert went == ["quick", "slow"]


@on_asyncio
async def test_a_ticket_that_is_given_up_holds_no_other_up() -> None:
    lock, went = KeyedFifoLock(), []
    parts = [
        asyncio.ensure_future(take_part(lock, "a", name, went, seconds=seconds))
        for name, seconds in (("first", 0.05), ("given up", 0), ("last", 0))
    ]
    await asyncio.sleep(0.01)
    parts[1].cancel()
    await asyncio.wait(parts)
    assert went == ["first", "last"]


@on_asyncio
async def test_nothing_is_kept_of_keys_without_tickets() -> None:
    lock = KeyedFifoLock()
    ticket = lock.enqueue("a")
    ticket.release()
    ticket.release()
    assert not lock._queues
