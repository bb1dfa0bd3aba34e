"""Records are loaded many at a time, and never so many that a busy server cannot take them in one call."""

from __future__ import annotations

from collections.abc import Sequence

from helpers.on_asyncio import on_asyncio
from helpers.store_records import record
from scrapy_simdedup.commands.transfer import BulkWriter
from scrapy_simdedup.store.base import LogPart
from scrapy_simdedup.store.memory import MemoryStore


class CountedStore(MemoryStore):
    """Notes how many records each call brings."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[int] = []

    async def load(self, parts: Sequence[LogPart]) -> list[int | None]:
        self.loads.append(sum(len(part.records) for part in parts))
        return await super().load(parts)


@on_asyncio
async def test_a_call_has_seconds_worth_of_records() -> None:
    store = CountedStore()
    await store.open()
    writer = BulkWriter(store)
    for number in range(4_100):
        await writer.add(f"site-{number // 1_500}.example", record(b"%d" % number, state="confirmed"))
    await writer.flush()
    assert store.loads == [2_000, 2_000, 100]
    assert await store.count() == 4_100
    await store.close()
