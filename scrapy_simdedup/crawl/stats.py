"""Every counter, and the summary in the log at close."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from scrapy_simdedup.wording import plural, size

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

    from scrapy_simdedup.detect.verdict import Verdict

P = "simdedup/"
REPEATED_LIMIT = 10_000
"""Originals whose repeats are counted at a time; beyond, the rarest half is forgotten."""


class Tally:
    """Counts what the plugin does, in Scrapy's stats, and keeps what the summary needs beside them."""

    def __init__(self, stats: StatsCollector) -> None:
        self.stats = stats
        self.pages: Counter[str] = Counter()
        """Verdicts by kind, and ``dropped``."""
        self.unjudged: Counter[str] = Counter()
        self.repeated: Counter[str] = Counter()
        """Repeats by the URL of their original."""
        self.items_dropped = 0
        self.bytes_dropped = 0
        self.extract_seconds = 0.0
        self.confirmed = 0
        self.released = 0

    @property
    def judged_pages(self) -> int:
        """Pages that got a verdict other than unjudged."""
        return sum(count for kind, count in self.pages.items() if kind not in {"dropped", "unjudged"})

    def judged(self, verdict: Verdict) -> None:
        """A page got its verdict."""
        self.pages[verdict.kind] += 1
        if verdict.kind == "unjudged":
            self.not_judged(verdict.reason or "unknown", counted=True)
            return
        self.stats.inc_value(P + "pages/judged")
        self.stats.inc_value(f"{P}pages/{verdict.kind}")
        if verdict.similarity is not None and verdict.kind in {"identical", "near", "changed"}:
            # Buckets of 0.01, wide enough to stay few and fine enough to see both thresholds.
            self.stats.inc_value(f"{P}similarity_count/{int(verdict.similarity * 100) / 100:.2f}")
        if verdict.supersedes is not None:
            self.stats.inc_value(P + "pages/superseding")
        if verdict.kind in {"identical", "near"} and verdict.original is not None:
            self.repeated[verdict.original] += 1
            if len(self.repeated) > REPEATED_LIMIT:
                self.repeated = Counter(dict(self.repeated.most_common(REPEATED_LIMIT // 2)))

    def not_judged(self, reason: str, *, counted: bool = False) -> None:
        """A page is kept without a verdict."""
        if not counted:
            self.pages["unjudged"] += 1
        self.unjudged[reason] += 1
        self.stats.inc_value(P + "pages/unjudged")
        self.stats.inc_value(f"{P}pages/unjudged_reason_count/{reason}")

    def page_dropped(self, size: int) -> None:
        """A page of ``size`` bytes was dropped, or its items will be."""
        self.pages["dropped"] += 1
        self.bytes_dropped += size
        self.stats.inc_value(P + "pages/dropped")
        self.stats.inc_value(P + "bytes_dropped", size)

    def item_dropped(self) -> None:
        """An item was dropped because its page, or it itself, is a repeat."""
        self.items_dropped += 1
        self.stats.inc_value(P + "items/dropped")

    def extracted(self, seconds: float) -> None:
        """Reading and fingerprinting a page took ``seconds``."""
        self.extract_seconds += seconds
        self.stats.set_value(P + "extract_seconds", self.extract_seconds)
        self.stats.max_value(P + "extract_seconds_max", seconds)

    def settled(self, failure: str | None) -> None:
        """A page was confirmed (None), or released for a reason."""
        if failure is None:
            self.confirmed += 1
            self.stats.inc_value(P + "confirmed")
        else:
            self.released += 1
            self.stats.inc_value(P + "released")
            self.stats.inc_value(f"{P}released_reason_count/{failure}")

    def store_error(self) -> None:
        """The store could not be used for a page, which was kept."""
        self.stats.inc_value(P + "store/error_count")

    @property
    def mean_dropped(self) -> float:
        """Bytes of a dropped page on average."""
        return self.bytes_dropped / self.pages["dropped"] if self.pages["dropped"] else 0.0

    def summary(self, *, mode: str, seconds_per_page: float, urls: list[str], missing: list[str]) -> str:
        """The lines for the log at close.

        Args:
            mode: the setting, so that observe mode says what would have been dropped.
            seconds_per_page: what callback and pipelines took for a delivered page on average.
            urls: lines about requests that were not made.
            missing: sentences about promises that cannot be kept because a part is not enabled.
        """
        kinds = [
            f"{self.pages[kind]} {kind}"
            for kind in ("new", "identical", "near", "unchanged", "changed", "stub")
            if self.pages[kind]
        ]
        judged = self.judged_pages
        repeats = self.pages["identical"] + self.pages["near"]
        share = 100 * repeats / judged if judged else 0.0
        dropped = self.pages["dropped"]
        would = "would have been dropped" if mode == "observe" else "dropped"
        lines = [
            "Near-duplicates:",
            f"  {plural(judged, 'page')} judged: {', '.join(kinds)}",
            f"  {plural(dropped, 'page')} {would} ({share:.0f} % of the judged repeat another page)",
        ]
        if dropped or self.items_dropped:
            saved = f"  {'would have saved' if mode == 'observe' else 'saved'}: {size(self.bytes_dropped)} of pages"
            if seconds_per_page > 0:
                saved += f", about {dropped * seconds_per_page:.1f} s of callbacks and pipelines"
            if self.items_dropped:
                saved += f", {plural(self.items_dropped, 'item')}"
            lines.append(saved)
        lines += urls
        lines.append(
            f"  cost: {self.extract_seconds:.1f} s of fingerprinting"
            + (f", {1000 * self.extract_seconds / judged:.1f} ms per page" if judged else "")
        )
        if self.unjudged:
            reasons = ", ".join(f"{count} {reason}" for reason, count in self.unjudged.most_common())
            lines.append(f"  {plural(sum(self.unjudged.values()), 'page')} kept unjudged: {reasons}")
        lines.append(f"  {plural(self.confirmed, 'page')} delivered, {self.released} released")
        if self.repeated:
            lines.append("  most repeated:")
            lines += [f"    {count:>5} × {url}" for url, count in self.repeated.most_common(5)]
        lines += [f"  note: {sentence}" for sentence in missing]
        return "\n".join(lines)
