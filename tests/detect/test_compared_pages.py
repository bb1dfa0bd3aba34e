"""What a run notes of near pages, and of dropped ones with words of their own."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from helpers.on_asyncio import on_asyncio
from helpers.report_records import record
from scrapy_simdedup.detect.events import COMPARED_JOURNAL, PAGE_EVENTS, PageCompared, decode_event
from scrapy_simdedup.detect.names import RunContext
from scrapy_simdedup.detect.site_logs import MAX_COMPARED_PER_SITE, EventLog
from scrapy_simdedup.detect.verdict import FetchedPage, Verdict
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.fingerprint.make import fingerprint_page
from scrapy_simdedup.report.clusters import event_of, read_compared_pages
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.base import whole_journal
from scrapy_simdedup.store.memory import MemoryStore

FP = fingerprint_page("<p>Any page</p>")
NEAR = Verdict("near", original="http://a.example/a", similarity=0.97, reason="own_text", own_words=23)
DROPPED = Verdict("identical", is_duplicate=True, original="http://a.example/a", similarity=0.97, own_words=5)


def fetched(name: str, run: str = "monday", site: str = "a.example", at: float = 1_000.0) -> FetchedPage:
    return FetchedPage(site, name.encode(), f"http://{site}/{name}", FP, run, "w", at, DedupSettings())


class Logged:
    """The log of a run on a store in memory."""

    def __init__(self, store: MemoryStore, run: str = "monday") -> None:
        self.errors: list[StoreError] = []
        context: Any = RunContext(run, "w", lambda: 1_000.0, asyncio.sleep)
        logs: Any = None
        self.log = EventLog(store, logs, context, on_store_error=self.errors.append)


async def opened() -> MemoryStore:
    store = MemoryStore()
    await store.open()
    return store


@on_asyncio
async def test_near_pages_are_noted_and_dropped_ones_if_they_had_words_of_their_own() -> None:
    store = await opened()
    log = Logged(store).log
    await log.page_compared(fetched("near"), NEAR)
    await log.page_compared(fetched("dropped"), DROPPED)
    await log.page_compared(fetched("copy"), DROPPED._replace(own_words=0))
    await log.page_compared(fetched("unknown"), DROPPED._replace(own_words=None))
    await log.page_compared(fetched("new"), Verdict("new"))
    await log.page_compared(fetched("kept"), Verdict("identical", original="http://a.example/a", reason="in_work"))
    found = await read_compared_pages(store)
    assert {key for _, key in found} == {b"near", b"dropped"}
    event = found["a.example", b"near"]
    assert (event.original, event.similarity, event.reason) == ("http://a.example/a", 0.97, "own_text")
    assert (event.own_words, event.dropped, event.run, event.at) == (23, False, "monday", 1_000.0)
    assert decode_event(bytes(event), PAGE_EVENTS) == event


@on_asyncio
async def test_a_site_has_so_many_places_in_all_its_runs() -> None:
    """So that a crawl a day of a site with ever new near pages does not fill the store."""
    store = await opened()
    for run in ("monday", "tuesday"):
        log = Logged(store, run).log
        for number in range(2 * MAX_COMPARED_PER_SITE):
            await log.page_compared(fetched(f"{run} {number}", run), NEAR._replace(reason=None))
            await log.page_compared(fetched(f"{run} dropped {number}", run), DROPPED)
        await log.page_compared(fetched(f"{run} own", run), NEAR)
        await log.page_compared(fetched("one", run, "b.example"), NEAR)
    events = [decode_event(raw, PAGE_EVENTS) async for raw in whole_journal(store, COMPARED_JOURNAL)]
    near = [event for event in events if isinstance(event, PageCompared) and event.site == "a.example"]
    assert MAX_COMPARED_PER_SITE < len(near) <= 2 * MAX_COMPARED_PER_SITE + 2
    assert {event.run for event in near if not event.dropped} == {"monday", "tuesday"}
    own = {event.key for event in near if event.reason == "own_text"}
    assert own == {b"monday own", b"tuesday own"}, "the many others do not take their places"
    assert set(await read_compared_pages(store, "b.example")) == {("b.example", b"one")}


@on_asyncio
async def test_the_newest_event_of_a_page_counts() -> None:
    store = await opened()
    await Logged(store, "tuesday").log.page_compared(fetched("a", "tuesday", at=2_000.0), NEAR)
    await Logged(store, "monday").log.page_compared(fetched("a", at=1_000.0), DROPPED)
    assert (await read_compared_pages(store))["a.example", b"a"].own_words == 23


@on_asyncio
async def test_a_store_that_fails_costs_the_event_alone() -> None:
    class Failing(MemoryStore):
        async def put_note(self, *arguments: Any, **options: Any) -> bytes:
            raise StoreError("memory:", "it fails")

    logged = Logged(Failing())
    await logged.log.page_compared(fetched("near"), NEAR)
    assert len(logged.errors) == 1


def compared(**values: Any) -> PageCompared:
    made = PageCompared(
        "a.example", "monday", 1_000.0, "http://a.example/b", b"b", False, "http://a.example/a", 0.97, "own_text", 23
    )
    return replace(made, **values)


@pytest.mark.parametrize(
    ("values", "event", "counts"),
    [
        ({"kind": "near"}, {}, True),
        ({"kind": "unchanged", "run": "tuesday", "last_seen": 2_000.0}, {}, True),
        ({"kind": "changed", "run": "tuesday", "last_changed": 2_000.0}, {}, False),
        ({"kind": "identical", "state": "duplicate"}, {}, False),
        ({"kind": "identical", "state": "duplicate"}, {"dropped": True}, True),
        ({"kind": "identical", "state": "duplicate", "run": "tuesday"}, {"dropped": True}, False),
    ],
    ids=["near", "near and unchanged since", "changed since", "dropped since", "dropped", "dropped once more"],
)
def test_an_event_counts_as_long_as_the_page_is_what_it_was(
    values: dict[str, Any], event: dict[str, Any], counts: bool
) -> None:
    assert (event_of(record("b", **values), compared(**event)) is not None) is counts
