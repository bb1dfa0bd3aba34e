"""The store in memory."""

from __future__ import annotations

import pytest

from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.store_records import put, record
from scrapy_simdedup import NearDuplicateDetector
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.store import memory
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


@on_asyncio
async def test_small_sites_that_are_left_alone_are_compressed_and_stay_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also for a detector that still looks at the records of one of them."""
    monkeypatch.setattr(memory, "RECENT_SITES", 2)
    store, sites = MemoryStore(), [f"site{number}.example" for number in range(9)]
    looked_at = store.log(sites[0])
    for site in (*sites, *sites):
        for number in range(3):
            await put(store, record(b"%s %d" % (site.encode(), number), fingerprint=bytes(900)), site)
    assert len(store._recent) == len([log for log in store._logs.values() if not isinstance(log, bytes)]) == 2
    assert [site async for site in store.sites()] == sites
    assert await store.count() == 9 * 6
    assert len(looked_at) == 6
    for site in sites:
        tail = await store.read(site)
        assert [found.id for found in tail.records] == [1, 2, 3, 4, 5, 6]
        assert {found.key for found in tail.records} == {b"%s %d" % (site.encode(), number) for number in range(3)}
        await store.settle(site, 6, "confirmed", 5.0)
        assert await store.append(site, tail.records[0]._replace(id=0), tail.cursor) is None
    assert (await store.read(sites[0], 6)).records[0].state == "confirmed"
    assert [found.state for found in looked_at if found.position > 6] == ["confirmed"]
