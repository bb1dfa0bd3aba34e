"""What had its time is forgotten, oldest first, and what is on its way never is."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.prints import Clock, print_of, record
from scrapy_simdedup import NearDuplicateDetector
from scrapy_simdedup.fingerprint.hashing import word_hasher
from scrapy_simdedup.fingerprint.make import fingerprint
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.base import FingerprintStore
from scrapy_simdedup.store.memory import MemoryStore

HOUR = 3600.0


def url(number: int) -> str:
    return f"https://shop.example/{number}"


async def opened(
    store: FingerprintStore | str, clock: Clock, run: str = "one", **settings: object
) -> NearDuplicateDetector:
    detector = NearDuplicateDetector(store, run=run, now=clock, against="history", **settings)
    await detector.open()
    return detector


async def known(store: MemoryStore) -> set[str]:
    return {record.url async for _, record in store.records() if record.state != "released"}


@on_asyncio
async def test_pages_that_were_not_seen_again_in_time_are_forgotten() -> None:
    store, clock = MemoryStore(), Clock(0.0)
    first = await opened(store, clock)
    await first.add(page(1), url=url(1))
    clock.seconds = 2 * HOUR
    await first.add(page(2), url=url(2))
    clock.seconds = 4 * HOUR
    later = await opened(store, clock, "two", ttl=3 * HOUR)
    assert (await later.add(page(1, 9), url=url(9))).kind == "new"
    assert await known(store) == {url(2), url(9)}


@on_asyncio
async def test_of_too_many_pages_those_seen_longest_ago_go() -> None:
    store, clock = MemoryStore(), Clock(0.0)
    detector = await opened(store, clock, max_pages_per_site=20)
    for number in range(40):
        clock.seconds += 1
        await detector.add(page(number), url=url(number))
    left = await known(store)
    assert 20 <= len(left) <= 22
    assert url(39) in left
    assert url(0) not in left


class Watched(MemoryStore):
    """Takes down how many records it is told to forget at a time, and which."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []
        self.gone: Counter[int] = Counter()

    async def forget(self, site: str, ids: Sequence[int], now: float) -> None:
        self.sizes.append(len(ids))
        self.gone.update(ids)
        await super().forget(site, ids, now)


@on_asyncio
async def test_however_many_pages_go_they_go_in_parts_between_which_other_work_goes_on() -> None:
    """Each once, also if other pages of the site come meanwhile."""
    store, clock = Watched(), Clock(5000.0)
    pauses = 0

    async def sleep(seconds: float) -> None:
        nonlocal pauses
        pauses += 1
        await asyncio.sleep(seconds)

    fp = fingerprint("", DedupSettings())
    for number in range(5000):
        made = record(fp, b"%d" % number, last_seen=float(number))
        await store.append("shop.example", made, number)
    detector = NearDuplicateDetector(store, now=clock, sleep=sleep, max_pages_per_site=100)
    await detector.open()
    pauses = 0
    verdicts = await asyncio.gather(*(detector.judge(page(number), url=url(number)) for number in range(3)))
    assert [verdict.kind for verdict in verdicts] == ["new"] * 3
    assert sum(store.sizes) == len(store.gone) >= 4900
    assert max(store.sizes) <= 1000
    # Five parts of the log are read, looked through and forgotten each, and what comes of that is read again.
    assert pauses >= 4 + 5 + 5 + 4
    assert len(await known(store)) <= 105


@on_asyncio
async def test_what_is_still_on_its_way_is_not_forgotten() -> None:
    store, clock = MemoryStore(), Clock(0.0)
    first = await opened(store, clock)
    await first.judge(page(1), url=url(1))
    clock.seconds = 100 * HOUR
    later = await opened(store, clock, "two", ttl=HOUR)
    await later.add(page(2), url=url(2))
    assert url(1) in await known(store)


@on_asyncio
async def test_the_oldest_of_too_many_pages_leave_what_workers_hold(store_url: str) -> None:
    """However many pages a site had, the arrays stay as small as its cap, in the workers that only read of it too."""
    clock, store = Clock(0.0), MemoryStore() if store_url == "memory:" else store_url
    workers = [await opened(store, clock, worker=name, max_pages_per_site=20) for name in ("w1", "w2")]
    prints = [print_of(number)._replace(secret_id=word_hasher(workers[0].secret).secret_id) for number in range(200)]
    for number, fp in enumerate(prints):
        clock.seconds += 1
        worker = workers[number // 5 % 2]
        verdict = await worker.judge_page(worker.page_of(fp, url=url(number)))
        assert (verdict.kind, await worker.confirm(verdict.page)) == ("new", True)
    for worker in workers:
        assert (await worker.judge_page(worker.page_of(prints[199], url=url(1000)))).original == url(199)
        index = worker._logs.indexes.known("shop.example")
        assert len(index) < 30
        assert len(index._originals._stamps) < 60
    assert (await workers[1].judge_page(workers[1].page_of(prints[0], url=url(1001)))).kind == "new"
    for worker in workers:
        await worker.close()


@on_asyncio
async def test_an_unchanged_page_is_kept_once_the_page_that_it_repeats_is_forgotten() -> None:
    """It was dropped in favour of a page that was delivered, of which nothing is known any more."""
    store, clock = MemoryStore(), Clock(0.0)
    first = await opened(store, clock)
    await first.add(page("a"), url=url(1))
    assert (await first.add(page("a", 2), url=url(2))).is_duplicate
    later = await opened(store, clock, "two", unchanged="drop")
    verdict = await later.add(page("a", 2), url=url(2))
    assert verdict.is_duplicate
    ids = [record.id async for _, record in store.records() if record.url == url(1)]
    await store.forget("shop.example", ids, clock())
    last = await opened(store, clock, "three", unchanged="drop")
    verdict = await last.add(page("a", 2), url=url(2))
    assert (verdict.kind, verdict.is_duplicate) == ("unchanged", False)
    assert (await last.add(page("a", 3), url=url(3))).original == url(2), "it stands for its content now"
