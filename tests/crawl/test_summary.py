"""The summary at the close says what became of every page, in the words and numbers of people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.utils.test import get_crawler

from helpers.crawling import ADDON, PathsSpider, PatientSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page, prose
from helpers.site_server import Site
from scrapy_simdedup.crawl.stats import CrawlStats
from scrapy_simdedup.crawl.summary import summarize
from scrapy_simdedup.detect.verdict import Verdict


def summary(stats: CrawlStats, *, mode: str = "pages", url_mode: str = "off") -> str:
    return summarize(stats, mode=mode, seconds_per_page=0, url_mode=url_mode, rules=(), missing=())


@pytest.fixture
def stats() -> CrawlStats:
    return CrawlStats(get_crawler().stats)


def near_page(number: int) -> str:
    return page("frame", number, body=prose("common", 200) + prose(f"own {number}", 20))


@on_asyncio
async def test_near_pages_are_named_with_what_they_are_like(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    paths = [f"/near/{number}" for number in range(5)]
    for number, path in enumerate(paths):
        site[path] = near_page(number)
    await crawl(PatientSpider, ADDON, urls=site.urls(*paths))
    start = "4 near pages kept; clusters --near lists those in a store, compare shows what differs"
    head, *named = caplog.text.partition(start)[2].split("\n")
    assert head == ", such as between"
    shown = [line.split() for line in named[:4]]
    assert [len(line) for line in shown[:3]] == [3, 3, 3]
    for similarity, *urls in shown[:3]:
        assert 0.85 <= float(similarity) <= 0.95  # one just below may be shown as 0.950
        assert set(urls) < set(site.urls(*paths))
    assert shown[3][0] == "cost:", "the three that are most alike are named"


@on_asyncio
async def test_near_pages_that_are_dropped_are_not_kept(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    paths = [f"/near/{number}" for number in range(3)]
    for number, path in enumerate(paths):
        site[path] = near_page(number)
    await crawl(PatientSpider, ADDON | {"SIMDEDUP_DROP": "near"}, urls=site.urls(*paths))
    assert "2 pages dropped (67 % of the judged)" in caplog.text
    assert "kept; clusters --near lists" not in caplog.text


@on_asyncio
async def test_every_repeat_that_is_kept_is_accounted_for(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    """So that nobody has to ask why fewer pages were dropped than were identical."""

    class Again(PatientSpider):
        async def start(self) -> Any:
            for number, url in enumerate(self.urls):
                yield Request(url, priority=-number, dont_filter=True)

    paths = ["/long?print=1", "/long?v=2", "/long?v=3", "/long"]
    for path in paths:
        site[path] = page("one", path)
    urls = site.urls(*paths, "/long")
    settings = {"SIMDEDUP_MAX_COPIES": 2, "SIMDEDUP_PREFER": ["shorter_url"]}
    done = await crawl(Again, ADDON | settings, urls=urls)
    assert done.stat("pages/identical") == 4
    assert "1 page dropped (20 % of the judged)" in caplog.text or done.stat("pages/dropped") == 0
    counted = {name: done.stat(f"pages/kept_reason_count/{name}") for name in ("within_budget", "own_url")}
    assert counted == {"within_budget": 1, "own_url": 1}
    assert done.stat("pages/identical") == sum(counted.values()) + done.stat("pages/preferred") + done.stat(
        "pages/dropped"
    )
    assert "1 repeat kept within SIMDEDUP_MAX_COPIES" in caplog.text
    assert "1 repeat kept, of a URL that was fetched before in this run" in caplog.text
    assert "kept as better cop" in caplog.text


@on_asyncio
async def test_a_first_run_has_no_unchanged_pages(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    class Twice(PatientSpider):
        async def start(self) -> Any:
            for number, url in enumerate(self.urls):
                yield Request(url, priority=-number, dont_filter=True)

    site["/one"] = page("one")
    done = await crawl(Twice, ADDON, urls=site.urls("/one", "/one"))
    assert (done.stat("pages/identical"), done.stat("pages/unchanged")) == (1, 0)
    assert "unchanged" not in caplog.text.partition("Near-duplicates:")[2].partition("Near-duplicates by site")[0]


@pytest.mark.parametrize(
    ("dropped", "judged", "text"),
    [
        (0, 9, "  0 pages dropped\n"),
        (1, 1_000, "  1 page dropped (under 1 % of the judged)\n"),
        (1, 3, "  1 page dropped (33 % of the judged)\n"),
        (999, 1_000, "  999 pages dropped (over 99 % of the judged)\n"),
    ],
)
def test_a_share_says_of_what_and_is_not_rounded_to_all_or_nothing(
    stats: CrawlStats, dropped: int, judged: int, text: str
) -> None:
    for _ in range(judged):
        stats.judged(Verdict("new"))
    for _ in range(dropped):
        stats.page_dropped(100)
    assert text in summary(stats)


def test_one_is_no_plural(stats: CrawlStats) -> None:
    stats.judged(Verdict("new"))
    stats.page_dropped(100, other_headline=True)
    stats.increment("pages/in_work_reason_count/<reason>", "timeout")
    stats.settled(None, gave_item=False)
    stats.settled("callback_error")
    stats.increment("urls/skipped")
    stats.not_judged("status")
    text = summary(stats, url_mode="skip")
    assert "1 page judged: 1 new" in text
    assert "1 of 1 dropped page has another headline than its original" in text
    assert "1 repeat kept, as its original was still in work: 1 after SIMDEDUP_PENDING_TIMEOUT" in text
    assert "1 page delivered, 1 released: 1 callback_error" in text
    assert "1 delivered page gave no item" in text
    assert "1 fetch saved (about 100 B): 1 skipped" in text
    assert "1 page kept unjudged: 1 status" in text


def test_two_are(stats: CrawlStats) -> None:
    for _ in range(2):
        stats.page_dropped(100, other_headline=True)
        stats.increment("pages/in_work_reason_count/<reason>", "no_room")
    stats.increment("pages/in_work_reason_count/<reason>", "closing")
    text = summary(stats)
    assert "warning: 2 of 2 dropped pages have another headline than their original; if these are other pages" in text
    reasons = "2 with no room to wait, 1 as the crawl ended"
    assert f"3 repeats kept, as their originals were still in work: {reasons}" in text


def test_few_drops_with_another_headline_are_told_without_a_warning(stats: CrawlStats) -> None:
    for number in range(20):
        stats.page_dropped(100, other_headline=number == 0)
    assert "\n  1 of 20 dropped pages has another headline than its original\n" in summary(stats)


def test_what_is_observed_would_be_dropped(stats: CrawlStats) -> None:
    for _ in range(3):
        stats.page_dropped(100, other_headline=True, observed=True)
    text = summary(stats, mode="observe")
    assert "3 pages would have been dropped" in text
    assert "3 of 3 pages that would be dropped have another headline than their original" in text


class TestSites:
    def test_a_site_whose_pages_are_unjudged_is_named_with_the_reason_and_the_remedy(self, stats: CrawlStats) -> None:
        for _ in range(12):
            stats.not_judged("empty", "app.example")
        assert (
            "  12 pages kept unjudged: 12 empty\n"
            "  warning: 12 of 12 pages of app.example are unjudged (empty): each has no text of its own; "
            "where scripts make the text, render the page\n"
        ) in summary(stats)


@pytest.mark.parametrize(
    ("bound", "wrong", "said"),
    [
        (0.04, 0, "a sample; at most 4.0% of the skipped lead to content that was not fetched (95 % sure)"),
        (0.9, 0, "a sample; none of 66 requests that verified rules led to new content, which is too few to bound"),
        (0.9, 2, "a sample; 2 of 66 requests that verified rules led to new content, which is too few to bound"),
    ],
)
def test_what_the_skipped_lead_to_is_bounded_where_many_were_and_else_the_checks_are_counted(
    stats: CrawlStats, bound: float, wrong: int, said: str
) -> None:
    counts = {"urls/asked": 2, "urls/sampled": 11, "urls/verified": 66, "urls/verified_wrong": wrong}
    for name, count in counts.items():
        stats.increment(name, amount=count)
    stats.urls_closed(7, bound)
    assert said in summary(stats, url_mode="skip")


@pytest.mark.parametrize(("mode", "acts"), [("off", False), ("observe", True), ("skip", True)])
@on_asyncio
async def test_rules_about_urls_that_cannot_act_are_named(
    site: Site, mode: str, acts: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text('[{"order": 1, "urlPattern": {"include": []}, "processor": "queryRemoval", "args": ["ref"]}]')
    site["/one"] = page("one")
    settings = {"SIMDEDUP_URL_RULES": str(rules), "SIMDEDUP_URL_LEARNING": mode}
    await crawl(PathsSpider, ADDON | settings, urls=site.urls("/one"))
    note = "  note: SIMDEDUP_URL_RULES has no effect while SIMDEDUP_URL_LEARNING is off; set it to 'skip'"
    assert (note in caplog.text) is not acts


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"SIMDEDUP_UNCHANGED": "drop"}, "SIMDEDUP_UNCHANGED = 'drop'"),
        ({"SIMDEDUP_SITE_SETTINGS": {"127.0.0.1": {"unchanged": "drop"}}}, "SIMDEDUP_UNCHANGED = 'drop'"),
        ({"SIMDEDUP_UNCHANGED_BY": ["url"]}, "SIMDEDUP_UNCHANGED_BY"),
        ({"SIMDEDUP_AGAINST": "history"}, "SIMDEDUP_AGAINST = 'history'"),
    ],
)
@on_asyncio
async def test_settings_about_earlier_runs_that_no_store_remembers_are_named(
    site: Site, caplog: pytest.LogCaptureFixture, tmp_path: Path, settings: dict[str, Any], named: str
) -> None:
    site["/a"] = page("a")
    await crawl(PathsSpider, ADDON | settings, urls=site.urls("/a"))
    assert f"note: {named} knows of no earlier run" in caplog.text
    assert "set SIMDEDUP_STORE, such as 'sqlite:///pages.sqlite'" in caplog.text
    caplog.clear()
    store = {"SIMDEDUP_STORE": f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"}
    await crawl(PathsSpider, ADDON | settings | store, urls=site.urls("/a"))
    assert "note:" not in caplog.text


@on_asyncio
async def test_a_crawl_of_nothing_has_a_summary(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    await crawl(PathsSpider, ADDON, urls=[])
    assert "Near-duplicates:\n  0 pages judged\n  0 pages dropped\n  cost: 0.0 s" in caplog.text
