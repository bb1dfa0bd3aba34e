"""Notes about URLs do not pile up, crawl by crawl."""

from __future__ import annotations

import os
import socket
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from helpers.crawling import ADDON, Crawl, crawl
from helpers.on_asyncio import on_asyncio
from helpers.site_server import Site
from helpers.url_site import Magazine, Reader
from scrapy_simdedup.crawl.url_journal import delete_stale_journals
from scrapy_simdedup.detect.events import (
    EVENTS,
    RunStarted,
    event_journal,
    event_key,
    journal_name,
    split_journal_name,
)
from scrapy_simdedup.store.memory import MemoryStore

pytestmark = pytest.mark.slow

GONE = f"{socket.gethostname()}:{2**22 + 1}:aa"
"""A process of this host that is not there: Linux gives no such number."""
ON_POSIX = pytest.mark.skipif(os.name != "posix", reason="elsewhere only its silence tells that a process is gone")
HERE = f"{socket.gethostname()}:{os.getpid()}:bb"


class OtherReader(Reader):
    name = "other-reader"


async def read(site: Site, store: Path, spider: type[Reader] = Reader, **settings: Any) -> Crawl:
    learning = {"SIMDEDUP_STORE": f"sqlite:///{store.as_posix()}", "SIMDEDUP_URL_LEARNING": "observe"}
    return await crawl(spider, {**ADDON, **learning, **settings}, root=site.root)


def runs_with_notes(store: Path) -> set[str]:
    """The runs that have notes about URLs."""
    with closing(sqlite3.connect(store)) as db:
        named = [
            split_journal_name(name)
            for (name,) in db.execute("SELECT DISTINCT name FROM journal JOIN note ON journal = number")
        ]
    return {run for run, of_site in named if run and of_site != EVENTS}  # that of stubs is of no run


@on_asyncio
async def test_a_store_keeps_what_the_last_crawl_of_each_spider_noted(site: Site, tmp_path: Path) -> None:
    Magazine(site, 5)
    store = tmp_path / "pages.sqlite"
    await read(site, store, OtherReader)
    (others,) = runs_with_notes(store)
    await read(site, store)
    (first,) = runs_with_notes(store) - {others}
    await read(site, store)
    assert len(runs_with_notes(store)) == 2
    assert others in runs_with_notes(store)
    assert first not in runs_with_notes(store)


@on_asyncio
@pytest.mark.parametrize("resumable", ["JOBDIR", "SIMDEDUP_RUN"])
async def test_what_a_run_noted_that_can_be_taken_up_stays(site: Site, tmp_path: Path, resumable: str) -> None:
    Magazine(site, 5)
    store = tmp_path / "pages.sqlite"
    await read(site, store, **{resumable: str(tmp_path / "reader-1-1")})
    (paused,) = runs_with_notes(store)
    await read(site, store)
    assert paused in runs_with_notes(store)


@on_asyncio
@pytest.mark.parametrize(
    ("worker", "beats", "stays"),
    [pytest.param(GONE, True, False, marks=ON_POSIX), (HERE, True, True), (HERE, False, False)],
    ids=["gone", "here", "silent"],
)
async def test_notes_of_a_crawl_that_is_under_way_stay(worker: str, *, beats: bool, stays: bool) -> None:
    """Two crawls of a spider may share a store; one that was killed needs its notes no more."""
    store = MemoryStore()
    await store.open()
    earlier, now = "reader-1-1", "reader-2-2"
    began = bytes(RunStarted(earlier, time.time(), worker))
    await store.put_note(event_journal(earlier), event_key("RunStarted"), began)
    await store.put_note(journal_name(earlier, "a.example"), b"key", b"{}")
    await store.put_note(journal_name(now, "a.example"), b"key", b"{}")
    if beats:
        await store.heartbeat(worker, time.time())
    await delete_stale_journals(store, now)
    journals = {name async for name in store.journals()}
    assert (journal_name(earlier, "a.example") in journals) is stays
    assert {journal_name(now, "a.example"), event_journal(earlier)} <= journals
    await store.close()
