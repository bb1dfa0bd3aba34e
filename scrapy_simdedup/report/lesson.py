"""What learning from URLs came to, in a crawl or in one that is met once more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_simdedup.urls import Rule, UrlLearner

MOST_RULES = 200
"""Rules that are kept: those that saved the most."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What would have come of learning URLs."""

    pages: int
    """Pages that were met once more."""
    sites: int
    saved: int
    """Fetches that would not have been made."""
    lost: int
    """Contents that would have been missed: all their URLs would have been skipped."""
    rules: tuple[Rule, ...]
    """Those that saved the most first."""
    by_crawl: bool = False
    """Whether a crawl has learned this and saved these fetches, rather than one that would have."""

    @classmethod
    def of_crawl(cls, learner: UrlLearner, *, seen: int, skipped: int) -> Lesson:
        """What a crawl learned, and the requests that it did not make for it."""
        rules = sorted(learner.rules(), key=lambda rule: (-rule.skipped, -rule.successes))[:MOST_RULES]
        return cls(seen + skipped, len(learner.sites), skipped, 0, tuple(rules), by_crawl=True)
