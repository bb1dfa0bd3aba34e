"""The store in memory."""

from __future__ import annotations

import pytest

from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from scrapy_simdedup import NearDuplicateDetector
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.store.memory import MemoryStore


async def fill(store: MemoryStore) -> None:
    for number in range(1000):
        await store.put_note("run site.example", b"%d" % number, bytes(100))


@on_asyncio
async def test_a_full_disk_for_temporary_files_is_an_error_of_the_store() -> None:
    """Journals go there; what cannot be noted of a page costs nothing else."""
    store, failures = MemoryStore(), []
    async with NearDuplicateDetector(store, against="history", on_store_error=failures.append) as detector:
        assert (await detector.add(page(1), url="https://shop.example/1")).kind == "new"
        store._notes.execute("PRAGMA max_page_count = 1")
        with pytest.raises(StoreError, match=r"memory: the file for what does not fit .* full"):
            await fill(store)
        changed = await detector.judge(page(2), url="https://shop.example/1")
        assert (changed.kind, changed.page is not None) == ("changed", True)
        assert failures, "that the content left its URL could not be noted"
