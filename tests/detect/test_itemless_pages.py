"""Pages that gave no item, and pages of other callbacks, as the detector judges them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from helpers.methods import METHODS
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.prints import asking, log, print_of, record
from scrapy_simdedup import NearDuplicateDetector, Verdict
from scrapy_simdedup.detect.site_index import FREE_TRIES, PAGES_PER_TRY, HandlerItems, SiteIndex
from scrapy_simdedup.settings import DedupSettings


@asynccontextmanager
async def opened(store: Any = None, **settings: Any) -> AsyncIterator[NearDuplicateDetector]:
    detector = NearDuplicateDetector(store, **settings)
    await detector.open()
    try:
        yield detector
    finally:
        await detector.close()


async def judge(detector: NearDuplicateDetector, name: str, handler: str = "shop parse", seed: str = "a") -> Verdict:
    """Each name is another page with the seed's content."""
    wrapping = 0 if detector.settings.method == "exact" else name
    made = await detector.fetched(page(seed, wrapping), url=f"https://shop.example/{seed}/{name}", handler=handler)
    return await detector.judge_page(made)


async def fates(detector: NearDuplicateDetector, names: str, giving: str = "") -> str:
    """What becomes of pages that follow each other: ``k`` for each that is kept, ``d`` for each that is dropped."""
    told = ""
    for name in names:
        verdict = await judge(detector, name)
        await detector.confirm(verdict.page, items=name in giving)
        told += "d" if verdict.is_duplicate else "k"
    return told


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("names", "giving", "expected"),
    [
        ("abcd", "a", "kddd"),
        ("abcd", "", "kkdd"),
        ("abcd", "b", "kkdd"),
    ],
)
@on_asyncio
async def test_a_content_has_two_tries_to_give_an_item(method: str, names: str, giving: str, expected: str) -> None:
    async with opened(**METHODS[method]) as detector:
        assert await fates(detector, names, giving) == expected


@pytest.mark.parametrize(("giving", "expected"), [("abcdef", "kkdddd"), ("bcdef", "kkkddd"), ("", "kkkddd")])
@on_asyncio
async def test_the_first_page_without_an_item_is_none_of_the_copies(giving: str, expected: str) -> None:
    async with opened(max_copies=2) as detector:
        assert await fates(detector, "abcdef", giving) == expected


@on_asyncio
async def test_a_second_try_that_fails_leaves_its_place_to_the_next() -> None:
    async with opened() as detector:
        first = await judge(detector, "first")
        await detector.confirm(first.page, items=False)
        second, third = await judge(detector, "second"), await judge(detector, "third")
        assert (second.kind, second.reason, second.original) == (
            "identical",
            "no_item_yet",
            first.page and first.page.url,
        )
        assert third.pending == second.page
        await detector.release(second.page)
        third = await judge(detector, "third")
        assert third.reason == "no_item_yet"
        await detector.confirm(third.page)
        fourth = await judge(detector, "fourth")
        assert (fourth.is_duplicate, fourth.original) == (True, third.page and third.page.url)


@on_asyncio
async def test_workers_share_what_gave_no_item(tmp_path: Path) -> None:
    store = f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"
    async with opened(store, run="one") as detector, opened(store, run="one") as other:
        assert await fates(detector, "a") == "k"
        assert await fates(other, "b") == "k"
        assert await fates(detector, "c") == "d"
    async with opened(store, run="one") as resumed:
        assert await fates(resumed, "d") == "d"


@on_asyncio
async def test_what_gave_no_item_in_an_earlier_run_is_fetched_for_its_links(tmp_path: Path) -> None:
    store = f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"
    settings = {"against": "history", "unchanged": "drop"}
    async with opened(store, run="monday", **settings) as detector:
        assert await fates(detector, "abc") == "kkd"
        kept = await judge(detector, "x", seed="with an item")
        await detector.confirm(kept.page)
    async with opened(store, run="tuesday", **settings) as detector:
        again = await judge(detector, "a")
        assert (again.kind, again.is_duplicate, again.reason) == ("unchanged", False, "for_links")
        await detector.release(again.page)
        moved = await judge(detector, "new address")
        assert (moved.kind, moved.is_duplicate, moved.reason) == ("identical", False, "for_links")
        await detector.release(moved.page)
        dropped_before = await judge(detector, "c")
        assert (dropped_before.kind, dropped_before.reason) == ("unchanged", "for_links")
        assert (await judge(detector, "x", seed="with an item")).is_duplicate


@on_asyncio
async def test_a_page_displaces_none_of_another_callback() -> None:
    async with opened() as detector:
        await detector.confirm((await judge(detector, "a", "shop parse")).page)
        other = await judge(detector, "b", "shop parse_item")
        assert (other.kind, other.is_duplicate, other.reason) == ("identical", False, "other_callback")
        await detector.confirm(other.page)
        for handler in ("shop parse", "shop parse_item", ""):
            assert (await judge(detector, f"again {handler}", handler)).is_duplicate
    async with opened(callbacks="any") as detector:
        await detector.confirm((await judge(detector, "a", "shop parse")).page)
        assert (await judge(detector, "b", "shop parse_item")).is_duplicate


@pytest.mark.parametrize("method", METHODS)
def test_many_pages_of_another_callback_do_not_hide_a_page(method: str) -> None:
    """However many are as near to the page, or nearer."""
    many = [record(print_of(1, 3), b"%d" % at, handler="shop parse") for at in range(700)]
    own = record(print_of(1, 6), b"own", handler="shop parse_item")
    index = SiteIndex("site.example", DedupSettings())
    index.apply(log(*many[:350], own, *many[350:]))
    match = index.best_match(asking(print_of(1, 5), drop=0.5, near=0.4, handler="shop parse_item"))
    assert match is not None
    assert (match.record.key, match.copies) == (b"own", 1)


@on_asyncio
async def test_a_stub_is_one_for_every_callback() -> None:
    async with opened() as detector:
        names = ["storm", "goal", "vote", "harvest", "bridge", "sonata", "strike", "comet", "ferry", "market", "trial"]
        verdicts = []
        for number in range(66):
            url = f"https://shop.example/{names[number % 11]}{number * 7919}"
            made = await detector.fetched(page("captcha", number), url=url, handler=f"shop parse_{number % 2}")
            verdicts.append(await detector.judge_page(made))
            await detector.confirm(verdicts[-1].page, items=False)
        assert [verdict.kind for verdict in verdicts[-10:]] == 10 * ["stub"]


def test_handlers_that_never_gave_an_item_are_not_tried_for_ever() -> None:
    """But now and then, in case that changes."""
    items, fp = HandlerItems(), print_of(1)
    tried = record(fp, b"a", "itemless", handler="shop parse", original=b"first")
    for _ in range(FREE_TRIES):
        assert items.may_give("shop parse")
        items.observe(tried)
    assert not items.may_give("shop parse")
    assert items.may_give("shop parse_item")
    for at in range(PAGES_PER_TRY):
        items.observe(record(fp, b"%d" % at, "itemless", handler="shop parse"))
    assert items.may_give("shop parse")
    items.observe(tried)
    assert not items.may_give("shop parse")
    items.observe(record(fp, b"b", "confirmed", handler="shop parse"))
    assert items.may_give("shop parse")


@on_asyncio
async def test_handlers_that_pass_items_on_are_tried_for_each_content() -> None:
    async with opened() as detector:
        detector.passes_items_on("shop parse", url="https://shop.example/")
        for seed in range(3 * FREE_TRIES):
            told = []
            for name in "abc":
                verdict = await judge(detector, name, seed=str(seed))
                await detector.confirm(verdict.page, items=False)
                told.append(verdict.is_duplicate)
            assert told == [False, False, True]
