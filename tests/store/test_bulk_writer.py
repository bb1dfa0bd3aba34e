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


@on_asyncio
async def test_pages_of_a_site_that_the_store_has_are_added_many_at_a_time_too() -> None:
    store = CountedStore()
    await store.open()
    for numbers in (range(100), range(50, 150)):
        writer = BulkWriter(store)
        for number in numbers:
            await writer.add("site.example", record(b"%d" % number, state="confirmed"))
        await writer.flush()
    assert store.loads == [100, 50]
    assert (writer.added, writer.known) == (50, 50)
    assert await store.count() == 150
    await store.close()


@on_asyncio
async def test_a_log_to_which_somebody_else_wrote_meanwhile_gets_what_it_lacks() -> None:
    store = CountedStore()
    await store.open()
    writer = BulkWriter(store)
    for key in (b"one", b"two"):
        await writer.add("site.example", record(key, state="confirmed"))
    assert await store.append("site.example", record(b"one", state="confirmed"), 0)
    await writer.flush()
    await writer.add("site.example", record(b"three", state="confirmed"))
    await writer.flush()
    assert (writer.added, writer.known) == (2, 1)
    assert await store.count() == 3
    await store.close()
