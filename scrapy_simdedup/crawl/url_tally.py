"""What learning from URLs saved: counters, and their lines of the summary."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from scrapy_simdedup.wording import size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.statscollectors import StatsCollector

    from scrapy_simdedup.urls import Rule

P = "simdedup/urls/"


class UrlTally:
    """Counts in Scrapy's stats, and beside them for the summary."""

    def __init__(self, stats: StatsCollector) -> None:
        self._stats = stats
        self.counts: Counter[str] = Counter()
        self.bytes_saved = 0

    def count(self, what: str) -> None:
        """One more of what Scrapy's stats have under that name, such as ``skipped``."""
        self.counts[what] += 1
        self._stats.inc_value(P + what)

    def kept(self, reason: str) -> None:
        """A request that could have been skipped was made, for a reason."""
        self._stats.inc_value(f"{P}kept_reason_count/{reason}")

    @property
    def saved(self) -> int:
        """Fetches that were not made."""
        return max(0, self.counts["skipped"] - self.counts["readmitted"])

    def close(self, rules: Sequence[Rule], page_size: float) -> None:
        """The crawl is over.

        Args:
            rules: those in force.
            page_size: bytes of a repeat on average.
        """
        self.bytes_saved = round(self.saved * page_size)
        self._stats.set_value(P + "rules", len(rules))
        if self.counts["skipped"]:
            self._stats.set_value(P + "bytes_saved", self.bytes_saved)

    def lines(self, mode: str, rules: Sequence[Rule]) -> list[str]:
        """Lines for the summary in the log.

        Args:
            mode: how URLs are dealt with; ``off`` has no lines.
            rules: those in force, the best first.
        """
        if mode == "off":
            return []
        counts = self.counts
        if mode == "skip":
            about = f" (about {size(self.bytes_saved)})" if self.bytes_saved else ""
            said = f"{self.saved} fetches saved{about}: {counts['skipped']} skipped, {counts['readmitted']} given back"
        elif mode == "deprioritize":
            said = f"{counts['deprioritized']} fetches put off"
        else:
            said = f"{counts['would_skip']} fetches would have been saved"
        if counts["verified"]:
            said += f"; {counts['verified']} verified, {counts['verified_wrong']} of them wrong"
        best = ", ".join(dict.fromkeys(str(rule) for rule in rules if rule.skipped))
        return [f"  URLs: {said}", f"  {len(rules)} rules about URLs" + (f", such as {best[:200]}" if best else "")]
