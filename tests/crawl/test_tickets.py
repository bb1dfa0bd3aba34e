"""The lock that is acquired in the order of its tickets."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable

from helpers.on_asyncio import on_asyncio
from scrapy_simdedup.crawl.judge import Ticket


async def take_part(
    queues: dict[Hashable, deque[Ticket]], key: str, name: str, went: list[str], *, seconds: float = 0
) -> None:
    ticket = Ticket(queues, key)
    try:
        await asyncio.sleep(seconds)
        await ticket.acquire()
        went.append(name)
    finally:
        ticket.release()


@on_asyncio
async def test_the_lock_is_acquired_in_the_order_of_the_tickets() -> None:
    queues, went = {}, []
    await asyncio.gather(
        take_part(queues, "a", "slow", went, seconds=0.05),
        take_part(queues, "a", "quick", went),
        take_part(queues, "a", "slower than the one before", went, seconds=0.02),
    )
    assert went == ["slow", "quick", "slower than the one before"]


@on_asyncio
async def test_keys_do_not_wait_for_each_other() -> None:
    queues, went = {}, []
    await asyncio.gather(take_part(queues, "a", "slow", went, seconds=0.05), take_part(queues, "b", "quick", went))
    assert went == ["quick", "slow"]


@on_asyncio
async def test_a_ticket_that_is_given_up_holds_no_other_up() -> None:
    queues, went = {}, []
    parts = [
        asyncio.ensure_future(take_part(queues, "a", name, went, seconds=seconds))
        for name, seconds in (("first", 0.05), ("given up", 0), ("last", 0))
    ]
    await asyncio.sleep(0.01)
    parts[1].cancel()
    await asyncio.wait(parts)
    assert went == ["first", "last"]


@on_asyncio
async def test_nothing_is_kept_of_keys_without_tickets() -> None:
    queues = {}
    ticket = Ticket(queues, "a")
    ticket.release()
    ticket.release()
    assert not queues
