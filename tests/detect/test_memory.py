"""What a page takes in memory: each sketch once, and no Python object per page."""

from __future__ import annotations

import tracemalloc

import pytest

from helpers.on_asyncio import on_asyncio
from helpers.prints import log, print_of, record
from scrapy_simdedup.detect.detector import NearDuplicateDetector
from scrapy_simdedup.detect.site_index import SiteIndex
from scrapy_simdedup.fingerprint.sketch import BINS
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store import memory
from scrapy_simdedup.store.base import Tail
from scrapy_simdedup.store.memory import MemoryLog, MemoryStore
from scrapy_simdedup.store.packed_records import FEW, InternTable

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
    searched, kept = index._originals.size, store.log(SITE).size
    assert len(index) == PAGES
    assert searched <= 40 * PAGES
    assert searched + kept <= 700 * PAGES
    await detector.close()


@on_asyncio
async def test_many_small_sites_take_little_more_than_their_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the fingerprints, URLs and keys of these, which have much in common, once others are worked with."""
    monkeypatch.setattr(memory, "RECENT_SITES", 8)
    store = MemoryStore()
    made = [record(print_of(at // 3, at % 3), b"%020d" % at, "reserved") for at in range(600)]
    pages = sum(len(one.fingerprint) + len(one.url) + len(one.key) for one in made)
    tracemalloc.start()
    for number, one in enumerate(made):
        site, page = divmod(number, 3)
        id_ = await store.append(f"site{site}.example", one, 2 * page)
        assert id_ is not None
        await store.settle(f"site{site}.example", id_, "confirmed", 2.0)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 2 * taken <= pages


def test_an_index_counts_the_records_that_it_holds_of_a_site_that_the_store_compresses() -> None:
    """Nobody else holds them then. Those of a larger site the store holds itself."""
    empty, counted = SiteIndex("site.example", DedupSettings(), records=MemoryLog(InternTable())).size, []
    for pages in (FEW, FEW + 1):
        lent = MemoryLog(InternTable())
        index = SiteIndex("site.example", DedupSettings(), records=lent)
        for number in range(pages):
            lent.append(record(print_of(number), b"%020d" % number))
        counted.append((index.size - empty) / lent.size)
    assert counted == [1, 0]


def test_what_a_site_repeats_takes_a_bounded_number_of_bytes() -> None:
    """Twenty-three thousand: 256 pages that may vote, and a table of the cells that are the site's."""
    index, sizes = SiteIndex("site.example", DedupSettings()), []
    records = [record(print_of(number), b"%d" % number) for number in range(1_000)]
    for start in range(0, len(records), 100):
        part = log(*records).records[start : start + 100]
        index.apply(Tail(part, part[-1].position))
        index.copy_check.is_only_boilerplate(print_of(1), print_of(2), 0.95)
        sizes.append(index.copy_check.size)
    assert max(sizes) <= 16 * BINS + 256 * 40
    assert sizes[-1] <= 200 * len(records), "and few for each page"
