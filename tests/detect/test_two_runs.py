"""Two runs that are at work on one site and one store at the same time each deliver each content once."""

from __future__ import annotations

from collections import Counter

import pytest

from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from scrapy_simdedup import NearDuplicateDetector

PAGE, PRINT_VIEW = "https://a.example/story", "https://a.example/story?print=1"


@pytest.mark.parametrize("first", ["delivered", "in work"])
@on_asyncio
async def test_a_page_that_another_run_fetched_later_displaces_its_repeats_all_the_same(
    shared_url: str, first: str
) -> None:
    """In the log the other run's record takes its place, be it delivered or in work by then."""
    async with (
        NearDuplicateDetector(store=shared_url, run="one") as one,
        NearDuplicateDetector(store=shared_url, run="other") as other,
    ):
        ours = await one.judge(page(1), url=PAGE)
        if first == "delivered":
            assert await one.confirm(ours.page)
        await other.add(page(1), url=PAGE)
        if first == "in work":
            assert await one.confirm(ours.page)
        await one.add(page(2), url="https://a.example/another")
        for run in (one, other):
            repeat = await run.judge(page(1, "print"), url=PRINT_VIEW)
            assert (repeat.kind, repeat.is_duplicate, repeat.pending) == ("identical", True, None)


@on_asyncio
async def test_a_page_that_failed_displaces_nothing_whatever_another_run_delivered(shared_url: str) -> None:
    async with (
        NearDuplicateDetector(store=shared_url, run="one") as one,
        NearDuplicateDetector(store=shared_url, run="other") as other,
    ):
        ours = await one.judge(page(1), url=PAGE)
        await other.add(page(1), url=PAGE)
        assert await one.release(ours.page)
        assert not (await one.judge(page(1, "print"), url=PRINT_VIEW)).is_duplicate


@on_asyncio
async def test_of_many_pages_each_run_delivers_each_once(shared_url: str) -> None:
    """In turns, and each in its own order."""
    urls = [(number, f"https://a.example/{number}?view={view}") for number in range(8) for view in range(4)]
    delivered = Counter[tuple[str, int]]()
    async with (
        NearDuplicateDetector(store=shared_url, run="one") as one,
        NearDuplicateDetector(store=shared_url, run="other") as other,
    ):
        for pages in zip(urls, urls[5:] + urls[:5], strict=True):
            for run, (number, url) in zip((one, other), pages, strict=True):
                verdict = await run.add(page(number, url), url=url)
                delivered[run.run, number] += not verdict.is_duplicate
    assert delivered == dict.fromkeys(delivered, 1)
    assert len(delivered) == 16
