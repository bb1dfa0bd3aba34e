"""``migrate``: pages that scrapy-deltafetch or scrapy-crawl-once knew are unchanged when they come by."""

from __future__ import annotations

import dbm.dumb
import hashlib
import pickle
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from scrapy import Request
from scrapy.utils.request import fingerprint
from w3lib.url import canonicalize_url

from helpers.command_line import perform_here, stored
from helpers.crawling import ADDON, Crawl, PathsSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.site_server import Site

YESTERDAY = 1_700_000_000.25


def old_fingerprint(url: str) -> str:
    """As Scrapy made them until 2.6."""
    return hashlib.sha1(b"GET" + canonicalize_url(url).encode()).hexdigest()


def deltafetch_2_1(path: Path, url: str) -> None:
    """In whatever form this Python's dbm has."""
    with dbm.open(str(path), "c") as file:
        file[fingerprint(Request(url))] = str(YESTERDAY)


def deltafetch_2_0(path: Path, url: str) -> None:
    with dbm.dumb.open(str(path), "c") as file:
        file[old_fingerprint(url).encode()] = str(YESTERDAY)


def deltafetch_on_python_3_13(path: Path, url: str) -> None:
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE Dict (key BLOB UNIQUE NOT NULL, value BLOB NOT NULL)")
        file.execute("INSERT INTO Dict VALUES (?, ?)", (fingerprint(Request(url)), str(YESTERDAY).encode()))
        file.commit()


def crawl_once(path: Path, url: str) -> None:
    with closing(sqlite3.connect(path)) as file:
        file.execute('CREATE TABLE "requests" (key TEXT PRIMARY KEY, value BLOB)')
        file.execute("INSERT INTO requests VALUES (?, ?)", (old_fingerprint(url), pickle.dumps(YESTERDAY)))
        file.commit()


class Migrated:
    """A site of two pages, the first of which another plugin knew."""

    def __init__(self, site: Site, directory: Path) -> None:
        site["/known"], site["/new"] = page("known"), page("new")
        self.site, self.directory = site, directory
        self.store = f"sqlite:///{(directory / 'pages.sqlite').as_posix()}"
        self.known = site.url("/known")

    def migrate(self, write: Callable[[Path, str], None] = deltafetch_2_1) -> dict[str, object]:
        path = self.directory / "spider.db"
        write(path, self.known)
        answer = perform_here("migrate", path, "--store", self.store, "--json")
        assert answer.code == 0, answer.err
        return dict(answer.json)

    async def crawl(self, *paths: str, **settings: object) -> Crawl:
        made = {**ADDON, "SIMDEDUP_STORE": self.store, "SIMDEDUP_UNCHANGED": "drop", **settings}
        return await crawl(PathsSpider, made, urls=self.site.urls(*(paths or ("/known", "/new"))))


@pytest.fixture
def migrated(site: Site, tmp_path: Path) -> Migrated:
    return Migrated(site, tmp_path)


@pytest.mark.parametrize("write", [deltafetch_2_1, deltafetch_2_0, deltafetch_on_python_3_13, crawl_once])
@on_asyncio
async def test_the_pages_it_knew_are_unchanged_in_the_next_crawl(
    migrated: Migrated, write: Callable[[Path, str], None]
) -> None:
    answer = migrated.migrate(write)
    assert (answer["added"], answer["known"]) == (1, 0)
    result = await migrated.crawl()
    assert result.urls == [migrated.site.url("/new")]
    assert (result.stat("pages/unchanged"), result.stat("pages/new")) == (1, 1)


@on_asyncio
async def test_by_default_they_are_kept_and_only_told_unchanged(migrated: Migrated) -> None:
    migrated.migrate()
    result = await migrated.crawl(SIMDEDUP_UNCHANGED="keep")
    assert result.urls == migrated.site.urls("/known", "/new")
    assert result.stat("pages/unchanged") == 1


@on_asyncio
async def test_from_the_first_visit_on_their_content_counts(migrated: Migrated) -> None:
    """Dropped once on the plugin's word; then kept as soon as it changes, and dropped again when it does not."""
    migrated.migrate()
    await migrated.crawl()
    migrated.site["/known"] = page("other content")
    changed = await migrated.crawl()
    again = await migrated.crawl()
    assert (changed.urls, changed.stat("pages/changed")) == ([migrated.known], 1)
    assert (again.urls, again.stat("pages/unchanged")) == ([], 2)


@on_asyncio
async def test_what_was_dropped_on_the_word_of_a_plugin_displaces_nobody(migrated: Migrated) -> None:
    """It may have changed since the plugin saw it, so whoever else has its content is kept."""
    migrated.migrate()
    migrated.site["/copy"] = page("known", 2)
    result = await migrated.crawl("/known", "/copy", SIMDEDUP_AGAINST="history")
    assert result.urls == [migrated.site.url("/copy")]
    for action in (["explain", migrated.known], ["clusters"], ["report"], ["drift"], ["moved"]):
        assert perform_here(*action, "--store", migrated.store).code < 2


@on_asyncio
async def test_pages_are_found_by_the_names_that_users_gave_them(migrated: Migrated) -> None:
    def named(path: Path, _url: str) -> None:
        with dbm.dumb.open(str(path), "c") as file:
            file["article 17"] = str(YESTERDAY)

    class NamingSpider(PathsSpider):
        async def start(self):  # noqa: ANN202
            async for request in super().start():
                yield request.replace(meta={"deltafetch_key": "article 17"})

    migrated.migrate(named)
    made = {**ADDON, "SIMDEDUP_STORE": migrated.store, "SIMDEDUP_UNCHANGED": "drop"}
    assert (await crawl(NamingSpider, made, urls=[migrated.known])).urls == []


@on_asyncio
async def test_a_migration_can_be_taken_back(migrated: Migrated) -> None:
    migrated.migrate()
    assert perform_here("rollback", "imported", "--store", migrated.store).code == 0
    assert len((await migrated.crawl()).urls) == 2


def test_a_second_time_adds_nothing_and_the_time_of_delivery_is_kept(migrated: Migrated) -> None:
    assert migrated.migrate()["added"] == 1
    again = perform_here("migrate", migrated.directory / "spider.db", "--store", migrated.store, "--json")
    assert (again.json["added"], again.json["known"]) == (0, 1)
    [(_, record)] = stored(migrated.store)
    assert record.first_seen == YESTERDAY
    assert perform_here("check", "--store", migrated.store).code == 0


def test_any_of_the_files_of_a_database_names_it(migrated: Migrated) -> None:
    deltafetch_2_0(migrated.directory / "spider.db", migrated.known)
    for part, counts in {"spider.db.dat": (1, 0), "spider.db.dir": (0, 1), "spider.db": (0, 1)}.items():
        answer = perform_here("migrate", migrated.directory / part, "--store", migrated.store)
        assert answer.code == 0
        assert answer.out == "{} pages of scrapy-deltafetch were added; {} were there already\n".format(*counts)


def other_sqlite(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE other (key)")


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda path: None, "there is no such file"),
        (lambda path: path.write_bytes(b"\0" * 12 + bytes.fromhex("61150600") + b"\0" * 100), "guide to migration"),
        (lambda path: path.write_text("a text"), "guide to migration"),
        (other_sqlite, "of another program"),
        (lambda path: path.write_bytes(b"SQLite format 3\0 and no more"), "cannot be read"),
    ],
)
def test_what_is_no_such_database_is_refused_in_a_sentence(
    tmp_path: Path, write: Callable[[Path], object], said: str
) -> None:
    write(tmp_path / "spider.db")
    answer = perform_here(
        "migrate", tmp_path / "spider.db", "--store", f"sqlite:///{(tmp_path / 'p.sqlite').as_posix()}"
    )
    assert answer.code == 2
    assert said in answer.err
    assert not (tmp_path / "p.sqlite").exists()
