"""Who comes first goes first."""

from __future__ import annotations

import asyncio

from on_asyncio import on_asyncio
from scrapy_simdedup.crawl.turns import Turns


async def take_part(turns: Turns, line: str, name: str, went: list[str], *, seconds: float = 0) -> None:
    turn = turns.take(line)
    try:
        await asyncio.sleep(seconds)
        await turn.come()
        went.append(name)
    finally:
        turn.end()


@on_asyncio
async def test_turns_come_in_the_order_in_which_they_were_taken() -> None:
    turns, went = Turns(), []
    await asyncio.gather(
        take_part(turns, "a", "slow", went, seconds=0.05),
        take_part(turns, "a", "quick", went),
        take_part(turns, "a", "slower than the one before", went, seconds=0.02),
    )
    assert went == ["slow", "quick", "slower than the one before"]


@on_asyncio
async def test_lines_do_not_wait_for_each_other() -> None:
    turns, went = Turns(), []
    await asyncio.gather(take_part(turns, "a", "slow", went, seconds=0.05), take_part(turns, "b", "quick", went))
    assert went == ["quick", "slow"]


@on_asyncio
async def test_a_turn_that_is_given_up_holds_nobody_up() -> None:
    turns, went = Turns(), []
    parts = [
        asyncio.ensure_future(take_part(turns, "a", name, went, seconds=seconds))
        for name, seconds in (("first", 0.05), ("given up", 0), ("last", 0))
    ]
    await asyncio.sleep(0.01)
    parts[1].cancel()
    await asyncio.wait(parts)
    assert went == ["first", "last"]


@on_asyncio
async def test_nothing_is_kept_of_lines_that_are_through() -> None:
    turns = Turns()
    turn = turns.take("a")
    turn.end()
    turn.end()
    assert not turns._lines
