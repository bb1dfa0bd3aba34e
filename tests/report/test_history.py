"""Notes about the past are written by many workers, and read as one."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.on_asyncio import on_asyncio
from scrapy_simdedup.detect.detector import NearDuplicateDetector
from scrapy_simdedup.detect.events import PAGE_EVENTS, ContentLeft, SiteChangeCounts, SiteRedesigned, decode_event
from scrapy_simdedup.detect.site_logs import EventLog
from scrapy_simdedup.report.history import read_run_history
from scrapy_simdedup.store.base import FingerprintStore
from scrapy_simdedup.store.memory import MemoryStore

SITE = "a.example"


def history(store: FingerprintStore, worker: str, *, run: str = "monday", at: float = 100.0) -> EventLog:
    return NearDuplicateDetector(store, run=run, worker=worker, now=lambda: at).history


@on_asyncio
async def test_counts_of_workers_and_of_their_parts_add_up() -> None:
    """A count that grows takes the place of what it was."""
    store = MemoryStore()
    await store.open()
    await history(store, "one").site_changed(SITE, {"none": 3}, 0)
    await history(store, "one").site_changed(SITE, {"none": 5, "content": 1}, 0)
    await history(store, "one").site_changed(SITE, {"none": 2}, 1)
    await history(store, "two", at=200.0).site_changed(SITE, {"both": 4}, 0)
    await history(store, "one").site_changed("b.example", {"none": 1}, 2)
    await history(store, "one", run="sunday", at=50.0).site_changed(SITE, {"template": 9}, 0)
    found = [
        (row.run, row.at, row.none, row.content, row.template, row.both)
        for row in (await read_run_history(store, site=SITE)).changes
    ]
    assert found == [("monday", 200.0, 7, 1, 0, 4), ("sunday", 50.0, 0, 0, 9, 0)]
    assert [row.run for row in (await read_run_history(store, run="sunday")).changes] == ["sunday"]


@on_asyncio
async def test_the_first_worker_that_finds_a_redesign_is_believed() -> None:
    """And a run that is taken up began when it first did."""
    store = MemoryStore()
    await store.open()
    for worker, at in (("one", 100.0), ("two", 200.0)):
        await history(store, worker, at=at).run_started()
        await history(store, worker, at=at).site_redesigned(SITE, 10, at / 200)
    past = await read_run_history(store)
    assert past.run_starts == [100.0]
    assert [(row.redesign, row.redesigned_at) for row in past.changes] == [(0.5, 100.0)]


@pytest.mark.parametrize(
    "note",
    [
        ContentLeft(SITE, "monday", 1.5, "404", "http://a.example/ü", b"\0key", b"\xffprint", None, 1.0),
        SiteChangeCounts(SITE, "monday", 1.5, {"none": 3, "both": 1}),
        SiteRedesigned(SITE, "monday", 1.5, 10, 0.5),
    ],
    ids=lambda note: type(note).__name__,
)
def test_a_note_is_read_as_it_was_written(note: Any) -> None:
    assert decode_event(bytes(note), PAGE_EVENTS) == note


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b'["later",1]', b'["left"]', b'["began",1,2,3]', b"\xff"])
@on_asyncio
async def test_what_is_no_note_is_passed_over(raw: bytes) -> None:
    """As a later version of the package may write others."""
    store = MemoryStore()
    await store.open()
    await store.put_note("monday history:", b"key", raw)
    assert (await read_run_history(store)).changes == []
