"""What the URLs of a store teach: its pages are met once more in their order, by one who learns from URLs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simdedup.detect.history_notes import HISTORY
from scrapy_simdedup.detect.url_notes import SeenUrl, read_note, run_and_site
from scrapy_simdedup.report.lesson import MOST_RULES, Lesson
from scrapy_simdedup.report.readings import push
from scrapy_simdedup.store.whole import whole_journal
from scrapy_simdedup.urls import UrlLearner

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_simdedup.detect.url_notes import UrlNote
    from scrapy_simdedup.store.base import FingerprintStore, Record
    from scrapy_simdedup.urls import GivenRule, Rule


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


def _note(raw: bytes) -> UrlNote | None:
    try:
        return read_note(raw)
    except ValueError:
        return None


async def lesson_of_notes(
    store: FingerprintStore, *, run: str | None = None, site: str | None = None, given: Iterable[GivenRule] = ()
) -> Lesson | None:
    """What crawls have noted about URLs; None if none of them skipped any. What is no such note is passed over.

    Args:
        store: an open store.
        run: only what this run noted.
        site: only what is about this site.
        given: rules that held from the first request on.
    """
    learner, seen, skipped = UrlLearner(rules=given), 0, 0
    async for name in store.journals():
        of_run, of_site = run_and_site(name)
        if of_site == HISTORY or run not in {None, of_run} or site not in {None, of_site}:
            continue
        async for raw in whole_journal(store, name):
            note = _note(raw)
            if isinstance(note, SeenUrl):
                seen += 1
                learner.observe(note.url, note.content)
            elif note is not None:
                skipped += 1
                learner.decide(note.url)  # so that the rules know what they saved
    return Lesson.of_crawl(learner, seen=seen, skipped=skipped) if skipped else None
