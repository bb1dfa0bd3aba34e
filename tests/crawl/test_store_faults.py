"""Whatever happens to the store, the crawl either does not start and says why, or ends with every page kept."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from helpers.crawling import ADDON, Crawl, PathsSpider, PatientSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page, prose, words
from helpers.site_server import Site
from scrapy_simdedup.crawl.requests import ImportedPages
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.store import sqlite_file
from scrapy_simdedup.store.sqlite import SqliteStore


def serve(site: Site, count: int = 6) -> list[str]:
    """Articles, each under two URLs."""
    paths = []
    for number in range(count):
        for variant in ("", "?again"):
            paths.append(f"/{number}{variant}")
            site[paths[-1]] = page(number, (number, variant))
    return site.urls(*paths)


def settings_for(path: Path) -> dict[str, Any]:
    return ADDON | {"SIMDEDUP_STORE": f"sqlite:///{path.as_posix()}"}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    if os.name != "posix" or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path) -> None:
    with suppress(OSError):  # as much as fits
        (disk / "filler").write_bytes(bytes(1 << 20))


def make_read_only(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)


async def refused(path: Path, site: Site, **settings: Any) -> str:
    """Crawl with a store that cannot be opened; what is said of it."""
    with pytest.raises(StoreError) as caught:
        await crawl(PathsSpider, settings_for(path) | settings, urls=serve(site))
    assert site.requested == []
    return str(caught.value)


async def stopped(path: Path, site: Site, caplog: pytest.LogCaptureFixture) -> str:
    """Crawl with a store that fails once it was opened; what the log says of it."""
    done = await crawl(PathsSpider, settings_for(path), urls=serve(site))
    assert done.crawler.stats.get_value("finish_reason") == "simdedup_store_error"
    assert site.requested == []
    (sentence,) = [line.getMessage() for line in caplog.records if "The crawl is stopped" in line.getMessage()]
    return sentence


def kept_all(done: Crawl, urls: list[str]) -> None:
    assert sorted(done.urls) == sorted(urls)
    assert done.stat("store/error_count") > 0
    assert done.stat("pages/unjudged_reason_count/store_error") > 0


@on_asyncio
async def test_a_disk_that_fills_up_costs_no_page(site: Site, disk: Path, caplog: pytest.LogCaptureFixture) -> None:
    urls = serve(site, 12)

    class Filling(PathsSpider):
        def parse(self, response: Any) -> Any:
            yield from super().parse(response)
            if len(self.called) == 4:
                fill(disk)

    done = await crawl(Filling, settings_for(disk / "pages.sqlite"), urls=urls)
    assert {url.partition("?")[0] for url in done.urls} == {url.partition("?")[0] for url in urls}
    assert done.stat("store/error_count") > 0
    complaints = [line for line in caplog.records if "The store failed" in line.getMessage()]
    assert len(complaints) == 1, "once a minute is enough"
    (disk / "filler").unlink()
    with closing(sqlite3.connect(disk / "pages.sqlite")) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@on_asyncio
async def test_a_full_disk_stops_the_crawl_at_its_start(site: Site, disk: Path) -> None:
    fill(disk)
    assert "free some disk space" in await refused(disk / "pages.sqlite", site)


@on_asyncio
async def test_a_store_that_fails_right_after_it_was_opened_is_closed(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stores: list[SqliteStore] = []

    async def fails(_: ImportedPages, store: SqliteStore) -> None:
        stores.append(store)
        raise StoreError("sqlite:///pages.sqlite", "is on strike")

    monkeypatch.setattr(ImportedPages, "load", fails)
    assert "is on strike" in await stopped(tmp_path / "pages.sqlite", site, caplog)
    with pytest.raises(StoreError, match="is not open"):
        await stores[0].count()


@on_asyncio
async def test_a_read_only_disk_stops_the_crawl_at_its_start(site: Site, disk: Path) -> None:
    make_read_only(disk)
    sentence = await refused(disk / "pages.sqlite", site)
    assert "pages.sqlite" in sentence
    assert "check the path and its permissions" in sentence or "writable" in sentence


@pytest.mark.parametrize("content", [b"not a database" * 100, b"SQLite format 3\x00" + bytes(4096)])
@on_asyncio
async def test_what_is_no_store_of_ours_stops_the_crawl_at_its_start(
    site: Site, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "pages.sqlite"
    path.write_bytes(content)
    await refused(path, site)
    assert path.read_bytes() == content


@on_asyncio
async def test_an_empty_file_is_a_new_store(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "pages.sqlite"
    path.touch()
    done = await crawl(PathsSpider, settings_for(path), urls=serve(site))
    assert len(done.items) == 6


@on_asyncio
async def test_a_file_that_is_deleted_in_mid_crawl_costs_no_page(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "CHECK_SECONDS", 0.0)
    path = tmp_path / "pages.sqlite"
    urls = serve(site)

    class Deleting(PathsSpider):
        def parse(self, response: Any) -> Any:
            path.unlink(missing_ok=True)
            yield from super().parse(response)

    kept_all(await crawl(Deleting, settings_for(path), urls=urls), urls)


@pytest.mark.parametrize("failing_after", [1, 4, 7])
@on_asyncio
async def test_a_store_that_fails_before_a_family_is_told_apart_costs_no_page_of_it(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing_after: int
) -> None:
    """What was dropped by then is delivered at the end: the pages that would have told are not judged any more."""
    monkeypatch.setattr(sqlite_file, "CHECK_SECONDS", 0.0)
    path = tmp_path / "pages.sqlite"
    paths = [f"/offers/{'-'.join(words(number, 2))}" for number in range(12)]
    for number, member in enumerate(paths):
        city = " ".join(words(f"city {number}", 3)).capitalize()
        site[member] = page("family", "the same frame", body=f"<p>{city}</p>{prose('event', 80)}")

    def deleting(asked: str) -> str:
        path.unlink()
        return page("another")

    site["/fails"] = deleting
    paths.insert(failing_after, "/fails")
    done = await crawl(PatientSpider, settings_for(path), urls=site.urls(*paths))
    assert done.stat("store/error_count") > 0
    assert sorted(done.urls) == sorted(site.urls(*paths))
    assert done.stat("pages/fetched_twice") == failing_after - 1


@pytest.mark.slow
@on_asyncio
async def test_a_file_that_stays_locked_costs_no_page(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "PATIENCE_SECONDS", 0.3)
    path = tmp_path / "pages.sqlite"
    urls = serve(site, 3)

    class Locking(PathsSpider):
        def parse(self, response: Any) -> Any:
            if not hasattr(self, "lock"):
                self.lock = sqlite3.connect(path, isolation_level=None)
                self.lock.execute("BEGIN IMMEDIATE")
            yield from super().parse(response)

    done = await crawl(Locking, settings_for(path), urls=urls)
    done.spider.lock.close()
    kept_all(done, urls)


async def release_once_logged(lock: sqlite3.Connection, words: str, caplog: pytest.LogCaptureFixture) -> None:
    """Release a lock once the log has these words: however long the machine takes until it writes them."""
    while words not in caplog.text:  # noqa: ASYNC110 - a log wakes nobody
        await asyncio.sleep(0.05)
    lock.rollback()


@on_asyncio
async def test_a_crawl_waits_at_its_start_for_a_file_that_somebody_holds(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "pages.sqlite"
    urls = serve(site)
    await crawl(PathsSpider, settings_for(path), urls=urls)
    monkeypatch.setattr(sqlite_file, "PATIENCE_SECONDS", 0.3)
    with closing(sqlite3.connect(path, isolation_level=None)) as lock:
        lock.execute("BEGIN IMMEDIATE")
        letting_go = asyncio.create_task(release_once_logged(lock, "the crawl waits for it", caplog))
        done = await crawl(PathsSpider, settings_for(path) | {"SIMDEDUP_MODE": "observe"}, urls=urls)
        letting_go.cancel()
    assert "the crawl waits for it" in caplog.text
    assert sorted(done.urls) == sorted(urls)
    assert done.stat("pages/judged") == len(urls)


@on_asyncio
async def test_fingerprints_made_in_another_way_stop_the_crawl_at_its_start(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "pages.sqlite"
    urls = serve(site)
    await crawl(PathsSpider, settings_for(path), urls=urls)
    site.requested.clear()
    sentence = await refused(path, site, SIMDEDUP_BITS=128)
    assert "128 bits" in sentence
    assert "name another store" in sentence


@on_asyncio
async def test_a_store_that_fails_at_the_start_of_a_crawl_is_let_go(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The last one that closes the file takes its log of changes away."""
    path = tmp_path / "pages.sqlite"
    await crawl(PathsSpider, settings_for(path), urls=serve(site))
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TRIGGER strike BEFORE INSERT ON worker BEGIN SELECT RAISE(ABORT, 'no heartbeat'); END")
    site.requested.clear()
    assert "no heartbeat" in await stopped(path, site, caplog)
    assert not path.with_name(f"{path.name}-wal").exists()
