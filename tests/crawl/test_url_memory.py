"""A crawl begins with what the one before learned about URLs, and takes none of it for granted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.command_line import perform_here
from helpers.crawling import ADDON, ONE_BY_ONE, Crawl, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.site_server import Site
from helpers.url_site import Magazine, Reader, times
from scrapy_simdedup.detect.events import REMEMBERED_JOURNAL, event_key
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.report.history import remembered_rules
from scrapy_simdedup.store import store_by_url
from scrapy_simdedup.store.sqlite import SqliteStore
from scrapy_simdedup.urls import RememberedRules

SKIP = {"SIMDEDUP_URL_LEARNING": "skip", "SIMDEDUP_SECRET": "so that chance is the same each time"}
VARIANTS = ("", "&ref={token}", "&from={token}", "&view={token}")

pytestmark = [pytest.mark.usefixtures("awake"), pytest.mark.slow]


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"


async def read(site: Site, store: str, **settings: Any) -> Crawl:
    site.requested.clear()
    options = {**ADDON, **ONE_BY_ONE, **SKIP, "SIMDEDUP_STORE": store, **settings}
    return await crawl(Reader, options, root=site.root)


def first_skip(caplog: Any) -> int:
    """How many requests were made before one was skipped."""
    made = 0
    for record in caplog.records:
        text = record.getMessage()
        made += text.startswith("Crawled (")
        if text.startswith("Skipped: "):
            caplog.clear()
            return made
    raise AssertionError("none was skipped")


async def remembered(store: str) -> list[RememberedRules]:
    opened = store_by_url(store)
    await opened.open()
    try:
        return await remembered_rules(opened)
    finally:
        await opened.close()


@on_asyncio
async def test_the_second_crawl_skips_sooner_and_delivers_the_same(site: Site, store: str, caplog: Any) -> None:
    magazine = Magazine(site, 80, VARIANTS)
    caplog.set_level("DEBUG")
    first = await read(site, store)
    before, made = first_skip(caplog), len(site.requested)
    second = await read(site, store)
    assert first_skip(caplog) < 0.7 * before
    assert len(site.requested) < made
    assert times(second.items) == times(first.items) == dict.fromkeys(magazine.contents, 1)


class Own(Magazine):
    """The index links to the articles, and each article to another URL of itself."""

    def __init__(self, site: Site, articles: int, *, relevant: int | None = None) -> None:
        super().__init__(site, articles, ("", "&view=full"), relevant=relevant)
        site["/"] = page("/", 0, count=120, links=tuple(self.path(number, "") for number in range(articles)))

    def answer(self, path: str) -> str:
        link = f'<a href="{path}&view=full">All of it</a>' if "view" not in path else ""
        return super().answer(path).replace("</main>", f"{link}</main>")


@on_asyncio
async def test_some_links_that_test_remembered_rules_are_followed_before_others(site: Site, store: str) -> None:
    magazine = Own(site, 60)
    first = await read(site, store)
    before = next(number for number, path in enumerate(site.requested) if "view" in path)
    second = await read(site, store)
    tests = [number for number, path in enumerate(site.requested[:before]) if "view" in path]
    assert before > 60
    assert 4 <= len(tests) <= 11
    assert tests[0] < 10
    assert times(second.items) == times(first.items) == dict.fromkeys(magazine.contents, 1)


@on_asyncio
async def test_tests_of_a_rule_that_became_wrong_lose_nothing(site: Site, store: str) -> None:
    for relevant in (0, 20):
        Own(site, 40)
        await read(site, store)
        magazine = Own(site, 40, relevant=relevant)
        found = await read(site, store)
        assert magazine.contents <= set(times(found.items))


@on_asyncio
async def test_no_page_is_lost_by_a_rule_that_became_wrong_between_two_crawls(site: Site, store: str) -> None:
    """``view`` leads to other pages in the second crawl: to all of them, or from the thirtieth article on."""
    for relevant in (0, 30):
        Magazine(site, 50, VARIANTS)
        await read(site, store)
        magazine = Magazine(site, 50, VARIANTS, relevant=relevant)
        found = await read(site, store)
        assert magazine.contents <= set(times(found.items))


@on_asyncio
async def test_pages_that_are_what_they_were_are_no_exceptions_where_others_come_first(site: Site, store: str) -> None:
    """The first URL of an article is unchanged, and the others repeat it: all of them have one content."""
    Magazine(site, 40, VARIANTS)
    await read(site, store)
    magazine = Magazine(site, 40, (*VARIANTS[1:], VARIANTS[0]))
    second = await read(site, store)
    assert magazine.contents <= set(times(second.items))
    assert second.stat("urls/asked") == second.stat("urls/verified_wrong") == 0
    assert second.stat("urls/skipped") > 40


@on_asyncio
async def test_a_rule_that_fell_is_not_remembered(site: Site, store: str) -> None:
    Magazine(site, 40, VARIANTS)
    await read(site, store)
    (note,) = await remembered(store)
    assert "query:view" in {part for rule in note.rules for part in rule.parts}
    Magazine(site, 40, VARIANTS, relevant=0)
    await read(site, store)
    (note,) = await remembered(store)
    assert "query:view" not in {part for rule in note.rules for part in rule.parts}
    assert "query:ref" in {part for rule in note.rules for part in rule.parts}


@on_asyncio
async def test_a_setting_switches_it_off(site: Site, store: str, caplog: Any) -> None:
    Magazine(site, 40, VARIANTS)
    await read(site, store, SIMDEDUP_URL_REMEMBER=False)
    assert await remembered(store) == []
    await read(site, store)
    caplog.set_level("DEBUG")
    await read(site, store, SIMDEDUP_URL_REMEMBER=False)
    off = first_skip(caplog)
    await read(site, store)
    assert first_skip(caplog) < off


@on_asyncio
async def test_notes_of_another_version_are_ignored_and_replaced(site: Site, store: str) -> None:
    Magazine(site, 40, VARIANTS)
    opened = store_by_url(store)
    await opened.open()
    await opened.put_note(REMEMBERED_JOURNAL, event_key("127.0.0.1"), b'["of the future"]')
    await opened.close()
    found = await read(site, store)
    assert found.stat("urls/skipped") > 0
    assert len(await remembered(store)) == 1


@on_asyncio
async def test_where_the_store_fails_to_tell_them_all_pages_are_delivered(
    site: Site, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = SqliteStore.get_note

    async def fails(self: SqliteStore, journal: str, key: bytes) -> bytes | None:
        if journal == REMEMBERED_JOURNAL:
            raise StoreError(store, "cannot be read")
        return await real(self, journal, key)

    monkeypatch.setattr(SqliteStore, "get_note", fails)
    magazine = Magazine(site, 40, VARIANTS)
    found = await read(site, store)
    assert times(found.items) == dict.fromkeys(magazine.contents, 1)
    assert found.stat("urls/skipped") == 0


@on_asyncio
async def test_forgetting_the_site_or_the_run_forgets_them(site: Site, store: str) -> None:
    Magazine(site, 40, VARIANTS)
    await read(site, store)
    (note,) = await remembered(store)
    shown = perform_here("rules", "--store", store, "--json").json
    assert shown["remembered"] == sum(rule.holds for rule in note.rules) > 0
    perform_here("forget", "--site", "other.example", "--store", store)
    perform_here("forget", "--site", note.site, "--dry-run", "--store", store)
    assert await remembered(store) == [note]
    perform_here("forget", "--site", note.site, "--store", store)
    assert await remembered(store) == []
    await read(site, store)
    (note,) = await remembered(store)
    perform_here("rollback", note.run, "--store", store)
    assert await remembered(store) == []
