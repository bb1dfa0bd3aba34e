"""Workers of a run learn from one journal, and answer for what they skipped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import pytest

from helpers.on_asyncio import on_asyncio
from scrapy_simdedup.crawl.url_skipping.journal import UrlJournal
from scrapy_simdedup.detect.events import SeenUrl, SkippedUrl, decode_url_event, round_trips
from scrapy_simdedup.detect.names import RunContext
from scrapy_simdedup.store.base import FingerprintStore
from scrapy_simdedup.store.memory import MemoryStore
from scrapy_simdedup.urls import UrlLearner

SITE = "http://shop.example"


class Worker:
    """A journal, its learner, and the URLs that it readmitted."""

    def __init__(self, store: FingerprintStore, name: str, *, run: str = "monday", shared: bool = True) -> None:
        self.learner = UrlLearner(seed=1)
        self.back: list[str] = []
        self.journal = UrlJournal(
            store,
            self.learner,
            RunContext(run, name, time.time, asyncio.sleep),
            shared=shared,
            skips=True,
            readmit=self.give_back,
        )
        self.name = name

    def give_back(self, urls: Sequence[str]) -> None:
        self.back += urls

    async def fetch(self, path: str, content: object) -> None:
        await self.journal.record_seen(SeenUrl(SITE + path, str(content)))

    async def teach(self, numbers: range, *, same: bool = True) -> None:
        """Fetch pages with and without ``ref``."""
        for number in numbers:
            await self.fetch(f"/story?id={number}", number)
            await self.fetch(f"/story?id={number}&ref=home", number if same else f"{number} {same}")

    async def skip(self, path: str, **request: Any) -> bool:
        url = SITE + path
        return await self.journal.record_skipped(
            SkippedUrl(url, None, "query:ref in story", self.name, {"url": url, **request})
        )


@on_asyncio
async def test_what_one_worker_saw_all_know() -> None:
    """Another run does not."""
    store = MemoryStore()
    one, other = Worker(store, "one"), Worker(store, "other")
    await one.teach(range(40))
    assert await other.journal.open() == 80
    assert (
        [rule.parts for rule in other.learner.rules() if rule.in_force]
        == [rule.parts for rule in one.learner.rules() if rule.in_force]
        != []
    )
    assert await Worker(store, "third", run="tuesday").journal.open() == 0


@on_asyncio
async def test_a_url_is_skipped_once() -> None:
    """Another request for it is made, as only one of them could be made later; what was seen needs none."""
    store = MemoryStore()
    one = Worker(store, "one")
    assert await one.skip("/story?id=1")
    assert await one.skip("/story?id=1")
    assert not await one.skip("/story?id=1", callback="other")
    await one.fetch("/story?id=1", 1)
    assert await one.skip("/story?id=1", callback="other")
    assert await one.journal.skipped_request(SITE + "/story?id=1") is None


@on_asyncio
async def test_what_a_living_worker_skipped_is_its_own_to_make() -> None:
    """When it is gone, the others make it."""
    store = MemoryStore()
    one, other = Worker(store, "one"), Worker(store, "other")
    url = f"{SITE}/story?id=99&ref=home"
    await one.skip("/story?id=99&ref=home", callback="parse")
    await store.heartbeat("one", time.time())
    await other.journal.open()
    assert other.back == [url]  # it has learned nothing that speaks for the skip
    assert await other.journal.skipped_request(url) is None
    note = await one.journal.skipped_request(url)
    assert note is not None
    assert note.request["callback"] == "parse"

    await one.journal.close()
    await other.journal.catch_up()
    assert other.back == [url, url]
    assert await other.journal.skipped_request(url) == note


@on_asyncio
async def test_a_rule_that_falls_gives_back_what_a_dead_worker_skipped_by_it() -> None:
    store = MemoryStore()
    dead, heir = Worker(store, "dead"), Worker(store, "heir", shared=False)
    await dead.teach(range(40))
    paths = [f"/story?id={number}&ref=home" for number in range(100, 130)]
    for number, path in enumerate(paths, 100):
        await dead.fetch(f"/story?id={number}", number)
        await dead.skip(path)
    await heir.journal.open()
    kept = [path for path in paths if SITE + path not in heir.back]
    assert len(kept) > 20
    await heir.teach(range(200, 240), same=False)
    heir.back += heir.learner.remaining()
    assert {SITE + path for path in paths} <= set(heir.back)


@on_asyncio
async def test_a_note_that_cannot_be_read_costs_no_other(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()
    await store.put_note("monday shop.example", b"x", b"no note")
    await Worker(store, "one").fetch("/story?id=1", 1)
    late = Worker(store, "late")
    assert await late.journal.open() == 2
    assert late.learner.sites == ["shop.example"]
    assert "teaches nothing" in caplog.text


@pytest.mark.parametrize(
    "request_",
    [
        {"url": "http://a/", "meta": {"depth": 1, "x": [1.5, None, True, "\u00e9\ud800"]}, "body": b"\x00\xff"},
        {"cb_kwargs": {"deep": [{"b": b"1"}]}},
    ],
)
def test_plain_values_come_back_as_they_were(request_: dict[str, Any]) -> None:
    assert round_trips(request_)
    note = SkippedUrl("http://a/", "http://b/", "query:x in a", "worker", request_)
    assert decode_url_event(bytes(note)) == note


@pytest.mark.parametrize("value", [(1,), {1: 2}, {3}, object(), float("nan"), {"b64": "eA=="}, [(1, [])], 1j])
def test_what_would_come_back_as_something_else_does_not_pass(value: object) -> None:
    assert not round_trips({"meta": {"x": value}})


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b'["seen"]', b'["other", 1]', b"\xff", b"1"])
def test_bytes_that_are_no_note_are_an_error(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"no event|Expecting|not enough"):
        decode_url_event(raw)
