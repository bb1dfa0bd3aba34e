"""Workers of a run learn from one journal, and answer for what they skipped."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

import pytest
from lxml.html import fromstring

from helpers.on_asyncio import on_asyncio
from scrapy_simdedup.crawl.url_journal import UrlJournal
from scrapy_simdedup.detect.events import URL_EVENTS, SeenUrl, SkippedUrl, decode_event, pack_value
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
    "value",
    [
        [1.5, None, True, "\u00e9\ud800"],
        b"\x00\xff",
        [{"b": b"1"}],
        (1, [], (2,)),
        {1: 2, (3, None): "4"},
        {3},
        frozenset({"a"}),
        {"b64": "eA=="},
        {"tuple": [1]},
        {"dict": {"set": [{"b64": 1}]}},
        {},
        float("inf"),
    ],
)
def test_what_a_request_holds_comes_back_as_it_was(value: object) -> None:
    note = SkippedUrl("http://a/", "http://b/", "query:x in a", "worker", {"url": "http://a/", "meta": {"x": value}})
    back = decode_event(bytes(note), URL_EVENTS)
    assert back == note
    assert isinstance(back, SkippedUrl)
    assert type(back.request["meta"]["x"]) is type(value)
    assert repr(back) == repr(note)


class Price(float):
    """As numpy has them."""


@pytest.mark.parametrize(("value", "plain"), [(fromstring("<p>text").xpath("string()"), "text"), (Price(1.5), 1.5)])
def test_texts_and_numbers_of_a_subclass_come_back_as_plain_ones(value: object, plain: object) -> None:
    assert type(value) is not type(plain)
    back = json.loads(json.dumps(pack_value({"x": [value]})))["x"][0]
    assert back == plain
    assert type(back) is type(plain)


class Colour(str, Enum):
    """Callbacks ask it for its name."""

    RED = "red"


class Point(NamedTuple):
    x: int


@pytest.mark.parametrize(
    "value", [object(), 1j, Colour.RED, Point(1), Counter("a"), [(1, [object()])], {"a": {object()}}]
)
def test_what_would_come_back_as_something_else_does_not_pass(value: object) -> None:
    with pytest.raises(TypeError, match="cannot hold"):
        pack_value({"meta": {"x": value}})


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b'["seen"]', b'["other", 1]', b"\xff", b"1"])
def test_bytes_that_are_no_note_are_an_error(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"no event|Expecting|not enough"):
        decode_event(raw, URL_EVENTS)


@pytest.mark.parametrize("renamed", [False, True])
@on_asyncio
async def test_a_process_that_takes_the_run_up_knows_whether_a_page_had_erred(renamed: bool) -> None:
    """One page in doubt is one that was fetched once, whose other URL was skipped in favour of it."""
    store, ref, bare = MemoryStore(), SITE + "/story?id=99&ref=home", SITE + "/story?id=99"
    one = Worker(store, "one")
    await one.teach(range(40))
    again = SeenUrl(bare, "99", checked=True, renamed=renamed)
    for note in (SeenUrl(bare, "half a page"), again, again):
        await one.journal.record_seen(note)
    for number in range(100, 140):
        await one.fetch(f"/story?id={number}", number)
    other = Worker(store, "other")
    other.learner = other.journal._learner = UrlLearner(seed=1, checks=0.001)
    await other.journal.open()
    skipped = {url for n in range(100, 140) if other.learner.decide(url := f"{SITE}/story?id={n}&ref=home").skip}
    assert ref not in skipped
    assert len(skipped) > 10
    assert set(other.learner.sample()) == (set() if renamed else skipped)


@on_asyncio
async def test_what_was_fetched_twice_is_not_asked_for_again_by_a_process_that_takes_the_run_up() -> None:
    store, ref = MemoryStore(), SITE + "/story?id=99&ref=home"
    one = Worker(store, "one")
    one.learner = UrlLearner(seed=1, checks=1.0)
    one.journal._learner = one.learner
    await one.teach(range(40))
    await one.fetch("/story?id=99", "99")
    await one.fetch("/story?id=99&ref=home", "another page")
    assert [question.url for question in one.learner.questions()] == [ref]
    for note in (SeenUrl(ref, "another page", checked=True), SeenUrl(SITE + "/story?id=99", "99", checked=True)):
        await one.journal.record_seen(note)
    assert not any(rule.in_force and rule.parts == ("query:ref",) for rule in one.learner.rules())
    other = Worker(store, "other")
    other.learner = other.journal._learner = UrlLearner(seed=1, checks=1.0)
    await other.journal.open()
    assert other.learner.questions() == []
    assert not any(rule.in_force and rule.parts == ("query:ref",) for rule in other.learner.rules())
