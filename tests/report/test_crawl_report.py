"""The report that a crawl writes says what the crawl did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.crawling import ADDON, PathsSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.report_records import Reported
from helpers.site_server import Site
from scrapy_simdedup.errors import SettingError
from scrapy_simdedup.settings import DedupSettings


def test_its_numbers_are_those_of_the_stats(reported: Reported) -> None:
    stat = reported.crawl.stat
    assert reported.json["dropped"] == stat("pages/dropped") == 11
    assert reported.json["kinds"]["new"] == stat("pages/new")
    assert reported.json["unjudged"] == {"too_short": 1}
    assert reported.json["savings"]["bytes"] == stat("bytes_dropped")
    assert reported.json["savings"]["cost_seconds"] == pytest.approx(stat("extract_seconds"))
    assert sum(map(sum, reported.json["timeline"]["counts"].values())) == reported.json["pages"]


def test_it_names_the_page_with_the_most_repeats_and_how_they_differ(reported: Reported) -> None:
    biggest = reported.json["clusters"][0]
    assert (biggest["original"], biggest["repeats"]) == (reported.site.url("/0?v=0"), 5)
    assert [member["url"] for member in biggest["members"]] == reported.site.urls(*(f"/0?v={n}" for n in range(1, 6)))


def test_it_shows_dropped_pages_beside_their_originals_line_by_line(reported: Reported) -> None:
    assert len(reported.json["audit"]) == 11
    for pair in reported.json["audit"]:
        assert pair["original"] == pair["dropped"].partition("?")[0] + "?v=0"
        roles = [role for role, *_ in pair["lines"]]
        assert roles[-1] == "footer", "what differs is the frame: the time at which the page was served"
        assert "content" not in roles


@on_asyncio
async def test_it_is_about_this_run_alone(site: Site, tmp_path: Path) -> None:
    settings = {**ADDON, "SIMDEDUP_STORE": f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"}
    site["/one"], site["/two"] = page("one"), page("two")
    await crawl(PathsSpider, settings, urls=site.urls("/one"))
    file = tmp_path / "new directory" / "report.json"
    await crawl(PathsSpider, {**settings, "SIMDEDUP_REPORT": str(file)}, urls=site.urls("/two"))
    report = json.loads(file.read_text())
    assert report["kinds"] == {"new": 1}
    assert [row["pages"] for row in report["sites"]] == [1]
    assert len(report["runs"]) == 2, "the others are named"


@on_asyncio
async def test_in_observe_mode_it_says_what_would_have_been_dropped(site: Site, tmp_path: Path) -> None:
    site["/one"], site["/again"] = page("one", 1), page("one", 2)
    file = tmp_path / "report.html"
    settings = {**ADDON, "SIMDEDUP_MODE": "observe", "SIMDEDUP_REPORT": str(file)}
    done = await crawl(PathsSpider, settings, urls=site.urls("/one", "/again"))
    assert len(done.items) == 2
    assert "Repeats would be dropped" in file.read_text()
    assert "nothing was dropped" in file.read_text()


@on_asyncio
async def test_a_report_that_cannot_be_written_is_said_and_costs_nothing(
    site: Site, tmp_path: Path, caplog: Any
) -> None:
    site["/one"] = page("one")
    (tmp_path / "file").touch()
    paths = [str(tmp_path / "file" / "report.html"), str(tmp_path / "report.json")]
    settings = {**ADDON, "SIMDEDUP_REPORT": paths}
    done = await crawl(PathsSpider, settings, urls=site.urls("/one"))
    assert len(done.items) == 1
    assert done.crawler.stats.get_value("finish_reason") == "finished"
    assert "SIMDEDUP_REPORT: the report could not be written" in caplog.text
    assert (tmp_path / "report.json").exists(), "the others are"


@on_asyncio
async def test_without_the_setting_no_text_is_kept(site: Site) -> None:
    site["/one"] = page("one")
    done = await crawl(PathsSpider, urls=site.urls("/one"))
    from scrapy_simdedup.crawl.runtime import Runtime

    assert not list(Runtime.of(done.crawler).reporter._originals.values())


@pytest.mark.parametrize("value", ["report.pdf", 7, ["report.html", "report"]])
def test_a_path_of_another_kind_is_refused(value: object) -> None:
    with pytest.raises(SettingError, match=r"write a path that ends with .html or .json"):
        DedupSettings.from_keywords(report=value)


def test_one_path_or_several_can_be_given() -> None:
    assert DedupSettings.from_keywords(report="a.html").report == ("a.html",)
    assert DedupSettings.from_keywords(report=["a.html", "b.json"]).report == ("a.html", "b.json")
    assert DedupSettings.from_keywords(report=None).report == ()
