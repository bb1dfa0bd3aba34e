"""What a crawl writes beside its feeds: a report at its end, and a line for each dropped page while it runs."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from scrapy.http import Response

from helpers.crawling import ADDON, PatientSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.scrapy_project import ScrapyProject
from helpers.site_server import Site
from scrapy_simdedup import DedupSettings, SettingError
from scrapy_simdedup.crawl.exceptions import NearDuplicatePage
from scrapy_simdedup.crawl.output_files import DroppedFeed
from scrapy_simdedup.detect.verdict import Verdict

PATHS = ["/one", "/one?again", "/two", "/two?again"]


def serve(site: Site) -> list[str]:
    for path in PATHS:
        site[path] = page(path[:4], path)
    return site.urls(*PATHS)


def files(folder: Path, pattern: str) -> list[Path]:
    return list(folder.glob(pattern))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@on_asyncio
async def test_each_dropped_page_is_a_line_as_soon_as_it_is_dropped(site: Site, tmp_path: Path) -> None:
    urls, feed, table = serve(site), tmp_path / "new/dropped.jsonl", tmp_path / "dropped.csv"

    class Reading(PatientSpider):
        seen = -1

        def parse(self, response: Any) -> Any:
            Reading.seen = len(lines(feed))
            yield from super().parse(response)

    await crawl(Reading, ADDON | {"SIMDEDUP_DROPPED_FEED": [str(feed), str(table)]}, urls=urls)
    assert Reading.seen == 1, "while the crawl runs"
    found = lines(feed)
    assert [(line["url"], line["original"], line["kind"]) for line in found] == [
        (urls[1], urls[0], "identical"),
        (urls[3], urls[2], "identical"),
    ]
    assert all(0.95 <= line["similarity"] <= 1 and not line["own_words"] for line in found)
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    own = ["" if line["own_words"] is None else str(line["own_words"]) for line in found]
    assert [row.pop("own_words") for row in rows] == own
    for line in found:
        del line["own_words"]
    assert [{**row, "similarity": float(row["similarity"])} for row in rows] == found


@pytest.mark.parametrize(
    ("own_words", "column", "logged"),
    [(None, "", "0.970)"), (0, "0", "0.970, nothing of its own)"), (7, "7", "0.970, 7 words of its own)")],
)
def test_a_dropped_page_is_written_and_logged_with_what_it_had_of_its_own(
    tmp_path: Path, own_words: int | None, column: str, logged: str
) -> None:
    verdict = Verdict(
        "identical", is_duplicate=True, original="http://a.example/a", similarity=0.97, own_words=own_words
    )
    table, lines_ = tmp_path / "dropped.csv", tmp_path / "dropped.jl"
    feed = DroppedFeed((str(table), str(lines_)))
    feed.open()
    feed.write("http://a.example/b", verdict)
    feed.close()
    with table.open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["own_words"] == column
    assert lines(lines_)[0]["own_words"] == own_words
    assert str(NearDuplicatePage(Response("http://a.example/b"), verdict)).endswith(f"similarity {logged}")


@on_asyncio
async def test_observe_mode_writes_what_it_would_drop_and_counts_it_apart(site: Site, tmp_path: Path) -> None:
    urls, feed = serve(site), tmp_path / "dropped.jsonl"
    settings = {"SIMDEDUP_DROPPED_FEED": str(feed), "SIMDEDUP_MODE": "observe"}
    done = await crawl(PatientSpider, ADDON | settings, urls=urls)
    assert done.urls == urls
    assert len(lines(feed)) == 2
    assert (done.stat("pages/dropped"), done.stat("pages/would_drop")) == (0, 2)
    assert (done.stat("bytes_dropped"), done.stat("bytes_would_drop") > 0) == (0, True)


@on_asyncio
async def test_the_next_crawl_adds_to_the_file(site: Site, tmp_path: Path) -> None:
    urls, table = serve(site), tmp_path / "dropped.csv"
    for _ in range(2):
        await crawl(PatientSpider, ADDON | {"SIMDEDUP_DROPPED_FEED": str(table)}, urls=urls)
    assert len(table.read_text().splitlines()) == 1 + 2 * 2, "one head"


@on_asyncio
async def test_a_table_is_there_when_the_crawl_is_over(site: Site, tmp_path: Path) -> None:
    """The rows of the crawls before stay, and a folder that is new is made."""
    parquet = pytest.importorskip("pyarrow.parquet")
    urls, table = serve(site), tmp_path / "new/dropped.parquet"
    for crawls in (1, 2):
        await crawl(PatientSpider, ADDON | {"SIMDEDUP_DROPPED_FEED": str(table)}, urls=urls)
        rows = parquet.read_table(table).to_pylist()
        assert [(row["url"], row["original"], row["kind"]) for row in rows] == crawls * [
            (urls[1], urls[0], "identical"),
            (urls[3], urls[2], "identical"),
        ]
    assert all(0.95 <= row["similarity"] <= 1 for row in rows)
    assert files(tmp_path, "new/*") == [table]


@on_asyncio
async def test_what_is_no_table_is_left_as_it_is(site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("pyarrow")
    table = tmp_path / "dropped.parquet"
    table.write_text("something else")
    done = await crawl(PatientSpider, ADDON | {"SIMDEDUP_DROPPED_FEED": str(table)}, urls=serve(site))
    assert len(done.urls) == 2
    assert "are no longer written to" in caplog.text
    assert table.read_text() == "something else"
    assert files(tmp_path, "*") == [table]


def test_a_table_without_its_package_is_a_wrong_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrapy_simdedup.setting_checks.find_spec", lambda name: None)
    with pytest.raises(SettingError, match=r"scrapy-simdedup\[parquet\]"):
        DedupSettings.from_keywords(dropped_feed="dropped.parquet")


@on_asyncio
async def test_the_paths_take_the_placeholders_of_feeds(site: Site, tmp_path: Path) -> None:
    settings = {
        "SIMDEDUP_REPORT": f"{tmp_path}/%(name)s-%(time)s.json",
        "SIMDEDUP_DROPPED_FEED": f"{tmp_path}/%(name)s/100%%/%(time)s.jsonl",
    }
    await crawl(PatientSpider, ADDON | settings, urls=serve(site))
    (report,), (feed,) = files(tmp_path, "*.json"), files(tmp_path, "paths/100%/*.jsonl")
    assert re.fullmatch(r"paths-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\+00-00\.json", report.name)
    assert len(lines(feed)) == 2


@on_asyncio
async def test_a_feed_that_cannot_be_written_costs_no_page(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    feeds = [str(tmp_path / "file/dropped.jsonl"), "/dev/full/../full.jsonl", str(tmp_path / "dropped.jsonl")]
    done = await crawl(PatientSpider, ADDON | {"SIMDEDUP_DROPPED_FEED": feeds}, urls=serve(site))
    assert len(done.urls) == 2
    assert "SIMDEDUP_DROPPED_FEED: the dropped pages are no longer written to" in caplog.text
    assert len(lines(tmp_path / "dropped.jsonl")) == 2, "the other feeds are written"


@pytest.mark.slow
def test_looking_at_a_page_by_hand_writes_nothing(site: Site, tmp_path: Path) -> None:
    again = serve(site)[1]
    project = ScrapyProject.start(
        tmp_path / "project",
        site.urls("/one"),
        SIMDEDUP_STORE="sqlite:///pages.sqlite",
        SIMDEDUP_REPORT="report.html",
        SIMDEDUP_DROPPED_FEED="dropped.jsonl",
        SIMDEDUP_AGAINST="history",
        SIMDEDUP_URL_LEARNING="skip",
    )
    names = ["pages.sqlite", "report.html", "dropped.jsonl"]
    look = {
        "fetch": ("fetch", again),
        "parse": ("parse", "--spider", "pages", again),
        "shell": ("shell", "-c", "response.meta['simdedup_verdict']", again),
    }
    for arguments in look.values():
        made = project.call(*arguments)
        assert made.code == 0, made.log
        assert not any((project.folder / name).exists() for name in names), arguments
    assert project.call("crawl", "pages").code == 0
    before = {name: (project.folder / name).read_bytes() for name in names}
    for name, arguments in look.items():
        made = project.call(*arguments)
        assert made.code == 0, made.log
        assert {name: (project.folder / name).read_bytes() for name in names} == before, arguments
        if name == "shell":
            assert "'kind': 'identical'" in made.output, "the verdict is that of a crawl"


@pytest.mark.slow
def test_a_page_can_be_looked_at_while_the_store_is_away(site: Site, tmp_path: Path) -> None:
    project = ScrapyProject.start(tmp_path / "project", serve(site), SIMDEDUP_STORE="redis://127.0.0.1:1/0")
    made = project.call("fetch", site.url("/one"))
    assert (made.code, "Pages get no verdict" in made.log) == (0, True)
    assert "<html" in made.output.lower()
