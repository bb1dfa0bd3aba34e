"""Beside Spidermon, whose monitors look at the stats of this package."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest
from scrapy.utils.misc import load_object

from helpers.crawling import ADDON, PathsSpider, crawl
from helpers.documents import ROOT
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.site_server import Site

pytest.importorskip("spidermon")

pytestmark = pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning")  # of its own

SUITE = "scrapy_simdedup.spidermon.SimdedupMonitorSuite"
MONITORS = {
    "dropped": "dropped pages",
    "other_headline": "dropped pages with another headline",
    "stub": "stubs",
    "unjudged": "unjudged pages",
    "released": "released pages",
}


class FaultySpider(PathsSpider):
    def parse(self, response: Any) -> Any:
        if "/faulty" in response.url:
            raise ValueError("the page broke")
        yield from super().parse(response)


@pytest.fixture
def urls(site: Site) -> list[str]:
    """Two pages, two repeats of one, a page that breaks its callback, and one that is no HTML."""
    for path, seed in {"/a": "a", "/a?v=1": "a", "/a?v=2": "a", "/b": "b", "/faulty": "faulty"}.items():
        site[path] = page(seed, path)
    site["/list.json"] = (200, {"Content-Type": "application/json"}, b"[]")
    return site.urls(*site.answers)


async def monitored(urls: list[str], caplog: pytest.LogCaptureFixture, **settings: Any) -> dict[str, str]:
    """What the monitors said, by the settings' own part: ``OK``, or a status with its reason."""
    caplog.clear()
    own = {f"SPIDERMON_SIMDEDUP_{name}": value for name, value in settings.items() if name.isupper()}
    spidermon = {
        "SPIDERMON_ENABLED": True,
        "EXTENSIONS": {"spidermon.contrib.scrapy.extensions.Spidermon": 500},
        "SPIDERMON_ENGINE_STOP_MONITORS": [SUITE],
        "SPIDERMON_SIMDEDUP_MIN_PAGES": 1,
    }
    mode = {"SIMDEDUP_MODE": settings.get("mode", "pages")}
    with caplog.at_level(logging.INFO):
        await crawl(FaultySpider, {**ADDON, **spidermon, **own, **mode}, urls=urls)
    said = {}
    for name, title in MONITORS.items():
        start = f"[Spidermon] Near-duplicates: {title}/test_share... "
        (line,) = [message for message in caplog.messages if message.startswith(start)]
        said[name] = line.removeprefix(start)
        fails = f"\nFAIL: Near-duplicates: {title}/test_share\n"
        said |= {f"{name}_log": text for text in caplog.messages if fails in text}
    return said


@on_asyncio
async def test_a_share_above_its_setting_fails(urls: list[str], caplog: pytest.LogCaptureFixture) -> None:
    said = await monitored(
        urls, caplog, MAX_DROPPED_SHARE=0.3, MAX_STUB_SHARE=0, MAX_UNJUDGED_SHARE="0.1", MAX_RELEASED_SHARE=0.2
    )
    assert (said["dropped"], said["unjudged"], said["released"], said["stub"]) == ("FAIL", "FAIL", "FAIL", "OK")
    assert "2 of 5 pages (40.0%); SPIDERMON_SIMDEDUP_MAX_DROPPED_SHARE allows 0.3" in said["dropped_log"]
    assert "1 of 6 pages (16.7%)" in said["unjudged_log"]
    assert "1 of 3 pages (33.3%)" in said["released_log"]


@on_asyncio
async def test_a_share_within_its_setting_passes(urls: list[str], caplog: pytest.LogCaptureFixture) -> None:
    shares = {f"MAX_{name.upper()}_SHARE": "0.4" for name in MONITORS}
    assert set((await monitored(urls, caplog, **shares)).values()) == {"OK"}


@on_asyncio
async def test_what_would_be_dropped_counts_in_observe_mode(urls: list[str], caplog: pytest.LogCaptureFixture) -> None:
    said = await monitored(urls, caplog, mode="observe", MAX_DROPPED_SHARE=0.3)
    assert said["dropped"] == "FAIL"


@on_asyncio
async def test_drops_with_another_headline_are_a_share_of_the_drops(
    urls: list[str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(spider: FaultySpider, reason: str) -> None:
        spider.crawler.stats.set_value("simdedup/pages/dropped_other_headline", 1)

    monkeypatch.setattr(FaultySpider, "closed", closed, raising=False)
    said = await monitored(urls, caplog, MAX_OTHER_HEADLINE_SHARE=0.3)
    assert "1 of 2 pages (50.0%)" in said["other_headline_log"]


def test_the_guide_has_every_setting() -> None:
    text = (ROOT / "docs" / "guides" / "monitoring.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(SPIDERMON_SIMDEDUP_\w+)` \|", text, re.MULTILINE)
    monitors = load_object(SUITE).monitors
    assert rows == [monitor.threshold_setting for monitor in monitors]
    assert rows == [f"SPIDERMON_SIMDEDUP_MAX_{name.upper()}_SHARE" for name in MONITORS]


@on_asyncio
async def test_a_share_without_a_setting_is_skipped_and_says_which_it_is(
    urls: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    for name, text in (await monitored(urls, caplog)).items():
        assert text == f"SKIPPED (set SPIDERMON_SIMDEDUP_MAX_{name.upper()}_SHARE to a share from 0 to 1)"


@on_asyncio
async def test_a_share_of_few_pages_is_skipped(urls: list[str], caplog: pytest.LogCaptureFixture) -> None:
    said = await monitored(urls, caplog, MAX_DROPPED_SHARE=0.1, MIN_PAGES=6)
    assert said["dropped"] == "SKIPPED (5 pages are too few for a share (SPIDERMON_SIMDEDUP_MIN_PAGES))"


@pytest.mark.parametrize("wrong", [30, "many", -0.1, float("nan")])
@on_asyncio
async def test_a_setting_that_is_no_share_fails(wrong: Any, urls: list[str], caplog: pytest.LogCaptureFixture) -> None:
    """So that a monitor which can never fail is seen."""
    said = await monitored(urls, caplog, MAX_DROPPED_SHARE=wrong)
    assert said["dropped"] == "FAIL"
    assert "write a share from 0 to 1" in said["dropped_log"]
