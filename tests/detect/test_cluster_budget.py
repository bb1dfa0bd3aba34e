"""The first pages of a cluster are kept, as many as the settings say."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from helpers.methods import METHODS
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.prints import edited
from scrapy_simdedup import NearDuplicateDetector, Verdict
from scrapy_simdedup.store.memory import MemoryStore


async def opened(store: MemoryStore | None = None, **settings: Any) -> NearDuplicateDetector:
    detector = NearDuplicateDetector(store, **settings)
    await detector.open()
    return detector


def kept(verdicts: list[Verdict]) -> list[bool]:
    return [not verdict.is_duplicate and verdict.pending is None for verdict in verdicts]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("budget", [1, 2, 4])
@on_asyncio
async def test_so_many_pages_with_one_content_are_kept(name: str, budget: int) -> None:
    """Of each content, by any method; the verdict says why."""
    detector = await opened(max_copies=budget, **METHODS[name])
    for seed in ("a", "b"):
        verdicts = [await detector.add(page(seed), url=f"https://shop.example/{seed}/{n}") for n in range(6)]
        assert kept(verdicts) == [number < budget for number in range(6)]
        assert [verdict.kind for verdict in verdicts] == ["new"] + 5 * ["identical"]
        assert [verdict.reason for verdict in verdicts[1:budget]] == (budget - 1) * ["within_budget"]
    await detector.close()


@on_asyncio
async def test_copies_count_that_are_equal_and_that_are_not() -> None:
    """A page that is equal to the first does not overlook the second."""
    detector = await opened(max_copies=2)
    htmls = [page("a", 1), page("a", 2), page("a", 1), page("a", 3), page("a", 2)]
    verdicts = [await detector.add(html, url=f"https://shop.example/{at}") for at, html in enumerate(htmls)]
    assert kept(verdicts) == [True, True, False, False, False]
    await detector.close()


@on_asyncio
async def test_what_was_not_delivered_leaves_its_place_to_another() -> None:
    """The budget is of delivered pages, and of those in work."""
    detector = await opened(max_copies=2)
    first, second, third = [await detector.judge(page("a"), url=f"https://shop.example/{n}") for n in range(3)]
    assert kept([first, second, third]) == [True, True, False]
    assert third.pending is not None
    await detector.confirm(first.page)
    await detector.release(second.page)
    assert kept([await detector.judge(page("a"), url="https://shop.example/2")]) == [True]
    assert (await detector.judge(page("a"), url="https://shop.example/3")).is_duplicate
    await detector.close()


@on_asyncio
async def test_in_a_recrawl_the_same_pages_are_kept() -> None:
    """They are unchanged, and the others repeats as before."""
    store = MemoryStore()
    for run, kinds in [("monday", ["new", "identical", "identical"]), ("tuesday", 2 * ["unchanged"] + ["identical"])]:
        detector = await opened(store, max_copies=2, against="history", run=run)
        verdicts = [await detector.add(page("a"), url=f"https://shop.example/{n}") for n in range(3)]
        assert [verdict.kind for verdict in verdicts] == kinds
        assert kept(verdicts) == [True, True, False]


@on_asyncio
async def test_many_workers_keep_no_more() -> None:
    """Looking and adding are one step."""
    store = MemoryStore()
    workers = [await opened(store, max_copies=3, run="monday") for _ in range(4)]
    verdicts = await asyncio.gather(
        *(
            worker.add(page("a"), url=f"https://shop.example/{w}/{n}")
            for w, worker in enumerate(workers)
            for n in range(5)
        )
    )
    assert sum(kept(verdicts)) == 3


@on_asyncio
async def test_near_pages_count_where_near_ones_are_dropped() -> None:
    """What would be dropped is what has a budget; and a site may have one of its own."""
    detector = await opened(drop="near", site_settings={"shop.example": {"max_copies": 2}})
    for host, expected in (("shop.example", [True, True, False]), ("news.example", [True, False, False])):
        htmls = [edited("a", share=share) for share in (0.02, 0.1, 0.12)]
        verdicts = [await detector.add(html, url=f"https://{host}/{at}") for at, html in enumerate(htmls)]
        assert kept(verdicts) == expected
    await detector.close()
