"""A store that a user brings is named by its class, and what is wrong with the class is said at once."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from helpers.command_line import perform_here
from helpers.crawling import ADDON, PathsSpider, crawl
from helpers.documents import OWN_STORE, blocks_of
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.site_server import Site
from scrapy_simdedup import SettingError
from scrapy_simdedup.store import store_by_url
from scrapy_simdedup.store.memory import MemoryStore
from scrapy_simdedup.stores import FingerprintStore, StoreError


class Unfinished(MemoryStore):
    read = FingerprintStore.read  # type: ignore[assignment]
    append = FingerprintStore.append  # type: ignore[assignment]


class Picky(MemoryStore):
    def __init__(self, options: str) -> None:
        raise ValueError(f"{options} is no database")


@pytest.fixture(autouse=True)
def module(monkeypatch: pytest.MonkeyPatch) -> None:
    made = ModuleType("project_stores")
    vars(made).update(Unfinished=Unfinished, Picky=Picky, NoStore=dict, text="a text")
    monkeypatch.setitem(sys.modules, "project_stores", made)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("no_such_module.Store", "no_such_module.Store cannot be imported"),
        ("project_stores.Missing", "project_stores.Missing cannot be imported"),
        ("project_stores.NoStore", "subclass of scrapy_simdedup.stores.FingerprintStore"),
        ("project_stores.text", "subclass of scrapy_simdedup.stores.FingerprintStore"),
        ("project_stores.Unfinished", "the verbs that it lacks: append, read"),
        ("project_stores.Picky:db://u:geheim@host", "ValueError: db://u:***@host is no database"),
        ("pages.sqlite", "sqlite:///pages.sqlite"),
        ("two words.Store", "'myproject.stores.MyStore'"),
    ],
)
@on_asyncio
async def test_a_class_that_cannot_be_used_stops_the_crawl_at_its_start(site: Site, name: str, remedy: str) -> None:
    with pytest.raises(SettingError, match="SIMDEDUP_STORE = ") as caught:
        await crawl(PathsSpider, ADDON | {"SIMDEDUP_STORE": name}, urls=site.urls("/"))
    assert remedy in str(caught.value)
    assert "geheim" not in str(caught.value)
    assert site.requested == []


@on_asyncio
async def test_a_crawl_and_the_commands_take_the_class(site: Site, own_store: str) -> None:
    site["/a"], site["/b"] = page("a", 1), page("a", 2)
    settings = ADDON | {"SIMDEDUP_STORE": own_store, "CONCURRENT_REQUESTS": 1}
    crawled = await crawl(PathsSpider, settings, urls=site.urls("/a", "/b"))
    assert crawled.stat("pages/identical") == 1
    answer = perform_here("check", "--store", own_store, "--json")
    assert answer.json["states"] == {"confirmed": 1, "duplicate": 1}


def test_the_store_of_the_guide_has_80_lines_at_most() -> None:
    """As the guide says; blank lines are not counted."""
    (code,) = [block.text for block in blocks_of(OWN_STORE) if block.file == "line_store.py"]
    assert len([line for line in code.splitlines() if line.strip()]) <= 80


def append(store: str, raw: bytes) -> None:
    with Path(store.partition(":")[2]).open("ab") as file:
        file.write(raw)


@on_asyncio
async def test_a_line_that_was_cut_off_was_never_written(own_store: str) -> None:
    store = store_by_url(own_store)
    await store.open()
    await store.put_note("j", b"a", b"one")
    await store.close()
    append(own_store, b"(('journal', 'j', b'b'")
    for number in range(2):
        await store.open()
        assert (await store.read_notes("j")).values == (b"one", b"two")[: number + 1]
        await store.put_note("j", b"b", b"two")
        await store.close()
    append(own_store, b"something else\n")
    with pytest.raises(StoreError, match="cannot be read"):
        await store.open()
