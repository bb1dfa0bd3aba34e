"""The stats of the plugin, which are all counted in one place."""

from __future__ import annotations

import re
from pathlib import Path

from scrapy.statscollectors import StatsCollector
from scrapy.utils.test import get_crawler

import scrapy_simdedup
from scrapy_simdedup.crawl.stats import CrawlStats
from scrapy_simdedup.crawl.summary import summarize
from scrapy_simdedup.detect.verdict import Verdict

PACKAGE = Path(scrapy_simdedup.__file__).parent


def test_no_other_module_counts_in_the_stats_of_scrapy() -> None:
    """So that the list of stats in the reference, which is tested against that module, is whole."""
    counting = re.compile(r"\b(?:inc|set|max|min)_value\b")
    found = [path for path in PACKAGE.rglob("*.py") if counting.search(path.read_text(encoding="utf-8"))]
    assert [path.relative_to(PACKAGE).as_posix() for path in found] == ["crawl/stats.py"]


def test_what_is_counted_is_in_the_stats_of_scrapy_as_well() -> None:
    crawler = get_crawler()
    stats = CrawlStats(crawler.stats)
    for verdict in (Verdict("new"), Verdict("near", similarity=0.876), Verdict("unjudged", reason="empty")):
        stats.judged(verdict)
    stats.page_dropped(300)
    assert crawler.stats.get_stats() == {
        "simdedup/pages/judged": 2,
        "simdedup/pages/new": 1,
        "simdedup/pages/near": 1,
        "simdedup/similarity_count/0.87": 1,
        "simdedup/pages/unjudged": 1,
        "simdedup/pages/unjudged_reason_count/empty": 1,
        "simdedup/pages/dropped": 1,
        "simdedup/bytes_dropped": 300,
    }
    assert stats["bytes_dropped"] == 300
    assert stats.kinds == {"new": 1, "near": 1, "unjudged": 1}
    assert stats.unjudged == {"empty": 1}


class Reporting(StatsCollector):
    """A collector that somebody wrote, for a service of their own."""

    def inc_value(self, key: str, count: int = 1, start: int = 0, spider: object = None) -> None:
        super().inc_value(f"service/{key}", count, start)


class Around:
    """One that only stands in front of another."""

    def __init__(self, stats: StatsCollector) -> None:
        self.stats = stats

    def __getattr__(self, name: str) -> object:
        return getattr(self.stats, name)


def test_collectors_of_others_are_told_as_well() -> None:
    """Whether they have methods of their own, pass all calls on, or had a method replaced."""
    own, other, replaced = (Reporting(get_crawler()) for _ in range(3))
    told: list[str] = []
    replaced.inc_value = lambda key, *_: told.append(key)  # type: ignore[method-assign]
    for stats in (own, Around(other), replaced):
        CrawlStats(stats).increment("pages/fetched_twice")  # type: ignore[arg-type]
    assert own.get_stats() == other.get_stats() == {"service/simdedup/pages/fetched_twice": 1}
    assert told == ["simdedup/pages/fetched_twice"]


def test_stats_that_somebody_replaced_are_counted_in() -> None:
    collector = get_crawler().stats
    stats = CrawlStats(collector)
    stats.increment("pages/dropped")
    collector.set_stats({"own": 1})
    stats.increment("pages/dropped")
    stats.extracted(0.5)
    counted = {"simdedup/pages/dropped": 1, "simdedup/extract_seconds": 0.5, "simdedup/extract_seconds_max": 0.5}
    assert collector.get_stats() == {"own": 1} | counted


def test_near_pages_that_are_kept_for_their_own_text_are_counted_and_in_the_summary() -> None:
    crawler = get_crawler()
    stats = CrawlStats(crawler.stats)
    for words in (23, 40):
        stats.judged(Verdict("near", original="a", similarity=0.97, reason="own_text", own_words=words))
    stats.judged(Verdict("near", original="a", similarity=0.9))
    dropped = Verdict("near", is_duplicate=True, original="a", similarity=0.97, reason="own_text", own_words=30)
    stats.judged(dropped)  # SIMDEDUP_DROP = "near" says so
    assert crawler.stats.get_stats()["simdedup/pages/kept_reason_count/own_text"] == 2
    summary = summarize(stats, mode="drop", seconds_per_page=0.0, url_mode="off", rules=(), missing=())
    assert "  2 near pages kept for text of their own\n" in summary
