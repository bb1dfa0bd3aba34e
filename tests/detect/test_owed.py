"""What a store could not be told is told it as soon as it is there again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from scrapy_simdedup import NearDuplicateDetector
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.store.base import FingerprintStore
from scrapy_simdedup.store.memory import MemoryStore
from scrapy_simdedup.store.sqlite import SqliteStore


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


@pytest.mark.parametrize("kind", [MemoryStore, SqliteStore])
@on_asyncio
async def test_what_a_process_delivered_itself_it_does_not_read_again(
    kind: type[FingerprintStore], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for the first page, which shows that pages give items; and its copies are dropped nevertheless."""
    seen, read = list[int](), kind.read

    async def counted(self: FingerprintStore, site: str, after: int = 0) -> Any:
        tail = await read(self, site, after)
        seen.extend(record.id for record in tail.records)
        return tail

    monkeypatch.setattr(kind, "read", counted)
    url = "memory:" if kind is MemoryStore else f"sqlite:///{tmp_path / 'pages.sqlite'}"
    async with NearDuplicateDetector(url, run="one") as detector, NearDuplicateDetector(url, run="one") as other:
        for number in range(4):
            await detector.add(page(f"page-{number}"), url=f"https://shop.example/{number}")
        assert seen == [1]
        found = [await detector.judge(page(f"page-{at}", 2), url=f"https://shop.example/copy-{at}") for at in range(4)]
        assert all(verdict.is_duplicate for verdict in found)
        if kind is SqliteStore:
            told = await other.judge(page("page-3", 3), url="https://shop.example/another")
            assert (told.is_duplicate, told.original) == (True, "https://shop.example/3")
