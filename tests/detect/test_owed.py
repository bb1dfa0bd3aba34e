"""What a store could not be told is told it as soon as it is there again."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from scrapy_simdedup import NearDuplicateDetector
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.store.memory import MemoryStore


class Unsteady(MemoryStore):
    """Cannot settle while it is down."""

    down = False

    async def settle(self, *args: Any) -> None:
        if self.down:
            raise StoreError("memory:", "is down")
        await super().settle(*args)


@pytest.mark.parametrize("closing", [False, True])
@on_asyncio
async def test_a_delivery_that_the_store_missed_is_written_down_later(closing: bool) -> None:
    """With the next page, or at the latest when the detector is closed."""
    store = Unsteady()
    detector = NearDuplicateDetector(store, run="one")
    await detector.open()
    verdict = await detector.judge(page("one"), url="https://shop.example/1")
    store.down = True
    assert not await detector.confirm(verdict.page)
    assert (await detector.judge(page("one", 2), url="https://shop.example/2")).reason == "store_error"
    store.down = False
    if closing:
        await detector.close()
    else:
        assert (await detector.judge(page("one", 3), url="https://shop.example/3")).is_duplicate
    (found,) = [record async for _, record in store.records() if record.original is None]
    assert found.state == "confirmed"
