"""What a page takes in memory: each sketch once, and no Python object per page."""

from __future__ import annotations

from prints import print_of, record

from on_asyncio import on_asyncio
from scrapy_simdedup.detect.detector import NearDuplicateDetector
from scrapy_simdedup.store.memory import MemoryStore

PAGES = 2_000
SITE = "shop.example"


@on_asyncio
async def test_a_page_takes_700_bytes_of_which_40_are_searched() -> None:
    store = MemoryStore()
    detector = NearDuplicateDetector(store)
    await detector.open()
    for number in range(PAGES):
        made = record(print_of(number % 50, number // 50), b"%020d" % number, "reserved")
        id_ = await store.append(SITE, made, 2 * number)
        assert id_ is not None
        await store.settle(SITE, id_, "confirmed", 2.0)
    index = await detector._logs.index(SITE)
    log = store._logs[SITE]
    searched, kept = index._originals.size, log.size + len(log.changed) * log.changed.itemsize
    assert len(index) == PAGES
    assert searched <= 40 * PAGES
    assert searched + kept <= 700 * PAGES
    await detector.close()


@on_asyncio
async def test_many_small_sites_take_little_more_than_their_pages() -> None:
    store = MemoryStore()
    for number in range(100):
        for page in range(3):
            made = record(print_of(number, page), b"%010d%010d" % (number, page), "confirmed")
            await store.append(f"site{number}.example", made, page)
    kept = sum(log.size + len(log.changed) * log.changed.itemsize for log in store._logs.values())
    assert kept <= 700 * 300
