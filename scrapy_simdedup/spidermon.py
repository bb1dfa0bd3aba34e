"""Spidermon monitors: they fail where too many pages of a crawl were dropped, stubs, released or unjudged.

Install ``scrapy-simdedup[spidermon]``. Run the suite when the engine stops: at the close of the spider the last pages
are not settled yet::

    SPIDERMON_ENGINE_STOP_MONITORS = ["scrapy_simdedup.spidermon.SimdedupMonitorSuite"]
"""

from __future__ import annotations

from typing import ClassVar

from spidermon import MonitorSuite, monitors
from spidermon.contrib.scrapy.monitors import BaseScrapyMonitor

from scrapy_simdedup.crawl.stats import PREFIX

MIN_PAGES_SETTING, MIN_PAGES = "SPIDERMON_SIMDEDUP_MIN_PAGES", 20
"""Of fewer pages no share is checked; and the default."""


class ShareMonitor(BaseScrapyMonitor):  # type: ignore[misc]  # Spidermon ships no types
    """A share of pages is at most what a setting allows.

    Without the setting the check is skipped, and the log of Spidermon says so. Shares of few pages are skipped as well.
    """

    threshold_setting: ClassVar[str]
    """The setting, from 0 to 1."""
    counted: ClassVar[tuple[str, ...]]
    """Stats whose sum is compared, without the prefix."""
    among: ClassVar[tuple[str, ...]]
    """Stats whose sum is the whole, without the prefix."""

    def test_share(self) -> None:
        """Compare the share with the setting.

        Raises:
            AssertionError: the share is greater, or the setting is no share.
            unittest.SkipTest: the setting is not there, or there were too few pages.
        """
        allowed = self.crawler.settings.get(self.threshold_setting)
        if allowed is None:
            self.skipTest(f"set {self.threshold_setting} to a share from 0 to 1")
        if not _is_share(allowed):
            self.fail(f"{self.threshold_setting} is {allowed!r}: write a share from 0 to 1")
        count, total = self._sum(self.counted), self._sum(self.among)
        if total < max(1, self.crawler.settings.getint(MIN_PAGES_SETTING, MIN_PAGES)):
            self.skipTest(f"{total} pages are too few for a share ({MIN_PAGES_SETTING})")
        if count > float(allowed) * total:
            self.fail(f"{count} of {total} pages ({count / total:.1%}); {self.threshold_setting} allows {allowed}")

    def _sum(self, names: tuple[str, ...]) -> int:
        return sum(int(self.stats.get(PREFIX + name, 0)) for name in names)


@monitors.name("Near-duplicates: dropped pages")
class DroppedShareMonitor(ShareMonitor):
    """Of the judged pages, not too many are dropped; in observe mode, would be dropped."""

    threshold_setting = "SPIDERMON_SIMDEDUP_MAX_DROPPED_SHARE"
    counted, among = ("pages/dropped", "pages/would_drop"), ("pages/judged",)


@monitors.name("Near-duplicates: dropped pages with another headline")
class OtherHeadlineShareMonitor(ShareMonitor):
    """Of the dropped pages, not too many have another headline than the page that they repeat."""

    threshold_setting = "SPIDERMON_SIMDEDUP_MAX_OTHER_HEADLINE_SHARE"
    counted, among = ("pages/dropped_other_headline",), ("pages/dropped", "pages/would_drop")


@monitors.name("Near-duplicates: stubs")
class StubShareMonitor(ShareMonitor):
    """Of the judged pages, not too many have the one content that a site gives under many unrelated URLs."""

    threshold_setting = "SPIDERMON_SIMDEDUP_MAX_STUB_SHARE"
    counted, among = ("pages/stub",), ("pages/judged",)


@monitors.name("Near-duplicates: unjudged pages")
class UnjudgedShareMonitor(ShareMonitor):
    """Of all pages, not too many are kept without a verdict."""

    threshold_setting = "SPIDERMON_SIMDEDUP_MAX_UNJUDGED_SHARE"
    counted, among = ("pages/unjudged",), ("pages/judged", "pages/unjudged")


@monitors.name("Near-duplicates: released pages")
class ReleasedShareMonitor(ShareMonitor):
    """Of the pages that were on their way, not too many are released, as their delivery failed."""

    threshold_setting = "SPIDERMON_SIMDEDUP_MAX_RELEASED_SHARE"
    counted, among = ("released",), ("confirmed", "released")


class SimdedupMonitorSuite(MonitorSuite):  # type: ignore[misc]  # Spidermon ships no types
    """All monitors of this module."""

    monitors: ClassVar[list[type]] = [
        DroppedShareMonitor,
        OtherHeadlineShareMonitor,
        StubShareMonitor,
        UnjudgedShareMonitor,
        ReleasedShareMonitor,
    ]


def _is_share(value: object) -> bool:
    try:
        return 0 <= float(str(value)) <= 1
    except ValueError:
        return False
