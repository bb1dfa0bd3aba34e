"""However many judge at a time, of each document one page is kept."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.warm_python import start_python
from scrapy_simdedup import NearDuplicateDetector
from scrapy_simdedup.detect.verdict import Verdict
from scrapy_simdedup.store.memory import MemoryStore

WORKER = Path(__file__).parents[1] / "helpers" / "race_worker.py"


DOCUMENTS_OF_EIGHT = int(os.environ.get("SIMDEDUP_TEST_DOCUMENTS", "40"))
"""Documents that eight processes race for; 400 in the long form of this test."""


@pytest.mark.slow
def test_eight_processes_keep_each_document_once(shared_url: str, tmp_path: Path) -> None:
    """On one store, in orders of their own; what one of them fails to deliver, another one delivers."""
    names = ["failing", *(f"worker {number}" for number in range(7))]
    said = [(tmp_path / f"{name}.out", tmp_path / f"{name}.err") for name in names]
    started = [
        start_python([WORKER, shared_url, name, DOCUMENTS_OF_EIGHT], streams=[Path(os.devnull), *streams])
        for name, streams in zip(names, said, strict=True)
    ]
    for process in started:
        process.join(300)
    assert [process.exitcode for process in started] == [0] * 8
    assert [errors.read_text() for _, errors in said] == [""] * 8
    delivered = chain.from_iterable(json.loads(out.read_text()) for out, _ in said)
    assert Counter(delivered) == Counter(range(DOCUMENTS_OF_EIGHT))


class Distant(MemoryStore):
    """A store whose answers take their time, each another, so that calls overlap as over a network."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._rng = random.Random(seed)

    async def _travel(self) -> None:
        for _ in range(self._rng.randrange(4)):
            await asyncio.sleep(0)

    async def read(self, *args: Any) -> Any:
        await self._travel()
        found = await super().read(*args)
        await self._travel()
        return found

    async def append(self, *args: Any) -> Any:
        await self._travel()
        made = await super().append(*args)
        await self._travel()
        return made

    async def settle(self, *args: Any) -> None:
        await self._travel()
        await super().settle(*args)
        await self._travel()


@pytest.mark.parametrize("seed", range(10))
@on_asyncio
async def test_calls_that_overlap_in_one_process_keep_each_document_once(seed: int) -> None:
    """Forty pages of eight documents at once, through two detectors, a fourth of the deliveries failing."""
    store, rng = Distant(seed), random.Random(seed)
    detectors = [NearDuplicateDetector(store, run="shared") for _ in range(2)]
    for detector in detectors:
        await detector.open()
    prints = {
        (number, copy): await detectors[0].fingerprint(page(number, copy), url="https://shop.example/")
        for number in range(8)
        for copy in range(5)
    }

    async def crawl(number: int, copy: int) -> int | None:
        detector, url = rng.choice(detectors), f"https://shop.example/{number}?copy={copy}"
        fails = copy == 0
        for _ in range(1000):
            verdict = await detector.judge_page(detector.page_of(prints[number, copy], url=url))
            if verdict.is_duplicate:
                return None
            if verdict.page is not None:
                await asyncio.sleep(0)
                await (detector.release if fails else detector.confirm)(verdict.page)
                return None if fails else number
            await asyncio.sleep(0)
        pytest.fail(f"{url} waits for ever")

    delivered = await asyncio.gather(*(crawl(*which) for which in rng.sample(sorted(prints), len(prints))))
    assert sorted(number for number in delivered if number is not None) == list(range(8))


DOCUMENTS, COPIES = 4, 4


@given(st.permutations([(number, copy) for number in range(DOCUMENTS) for copy in range(COPIES)]), st.data())
@settings(max_examples=30)
def test_in_any_order_one_page_of_each_document_is_kept(order: list[tuple[int, int]], data: st.DataObject) -> None:
    """Delivered at once or much later, fetched once or twice; and every duplicate names the page that was kept."""
    late = data.draw(st.sets(st.sampled_from(order)))
    twice = data.draw(st.sets(st.sampled_from(order)))

    async def crawl() -> dict[int, list[Verdict]]:
        detector = NearDuplicateDetector(run="shared")
        await detector.open()
        kept: dict[int, list[Verdict]] = {number: [] for number in range(DOCUMENTS)}
        waiting = []
        for number, copy in [*order, *(which for which in order if which in twice)]:
            verdict = await detector.judge(PAGES[number, copy], url=f"https://shop.example/{number}/{copy}")
            if verdict.pending:
                waiting.append((number, copy))
            elif verdict.is_duplicate:
                assert verdict.original == kept[number][-1].page.url
            elif not kept[number]:
                kept[number].append(verdict)
            else:
                assert verdict.kind == "unchanged", "only its own past"
            if verdict.page and (number, copy) not in late:
                await detector.confirm(verdict.page)
        for verdicts in kept.values():
            await detector.confirm(verdicts[0].page)
        for number, copy in waiting:
            again = await detector.judge(PAGES[number, copy], url=f"https://shop.example/{number}/{copy}")
            assert (again.is_duplicate, again.original) == (True, kept[number][0].page.url)
        return kept

    kept = finish(crawl())
    assert [len(verdicts) for verdicts in kept.values()] == [1] * DOCUMENTS


PAGES = {(number, copy): page(number, copy) for number in range(DOCUMENTS) for copy in range(COPIES)}


def finish(work: Any) -> Any:
    """The result of a coroutine that never has to wait."""
    with pytest.raises(StopIteration) as done:
        work.send(None)
    return done.value.value
