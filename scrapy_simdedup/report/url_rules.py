"""What the URLs of a store teach: its pages are met once more in their order, by one who learns from URLs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simdedup.report.readings import push
from scrapy_simdedup.urls import UrlLearner

if TYPE_CHECKING:
    from scrapy_simdedup.store.base import Record
    from scrapy_simdedup.urls import Rule

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


class Replay:
    """Meets the pages of a store in the order in which a crawl did, as if it had learned URLs.

    Give it all records, site by site, then take :attr:`lesson`.

    Args:
        most: pages that are met; a site that would be too much is passed over whole. None meets all.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._rules: list[tuple[int, int, int, Rule]] = []
        self._site = ""
        self._visits: list[tuple[float, str, str | None]] | None = []
        self._pages = self._sites = self._saved = self._lost = 0

    def add(self, site: str, record: Record) -> None:
        """Meet a page later, with the others of its site."""
        if site != self._site:
            self._end_site()
            self._site, self._visits = site, []
        if self._visits is not None:
            content = None if record.kind == "unjudged" else (record.original or record.key).hex()
            self._visits.append((record.first_seen, record.url, content))
            if self._most is not None and self._pages + len(self._visits) > self._most:
                self._visits = None

    @property
    def lesson(self) -> Lesson:
        """What came of it; all records must have been given."""
        self._end_site()
        rules = tuple(rule for *_, rule in sorted(self._rules, reverse=True))
        return Lesson(self._pages, self._sites, self._saved, self._lost, rules)

    def _end_site(self) -> None:
        visits, self._visits = sorted(self._visits or (), key=lambda visit: visit[0]), []
        if not visits:
            return
        contents = {url: content for _, url, content in visits}
        learner = UrlLearner()  # sites teach nothing about each other
        met: set[str | None] = set()
        fetched = 0
        for _, url, _ in visits:
            to_fetch = [] if learner.decide(url).skip else [url]
            while to_fetch:
                again = to_fetch.pop()
                fetched += 1
                met.add(contents[again])
                to_fetch += [back for back in learner.observe(again, contents[again]) if back in contents]
        self._pages += len(visits)
        self._sites += 1
        self._saved += len(visits) - fetched
        self._lost += len({*contents.values()} - met - {None})
        for number, rule in enumerate(learner.rules()):
            push(self._rules, (rule.skipped, rule.successes, self._pages + number, rule), MOST_RULES)
