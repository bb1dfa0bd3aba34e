"""What the URLs of a store teach: from the notes of crawls that skipped URLs, else from a replay of the pages."""

from __future__ import annotations

from collections.abc import Iterable

from scrapy_simdedup.detect import events
from scrapy_simdedup.report import MAX_RULES, UrlSavings
from scrapy_simdedup.report.neighbours import Largest
from scrapy_simdedup.store.base import FingerprintStore, Record, whole_journal
from scrapy_simdedup.urls import GivenRule, RememberedRules, Rule, UrlLearner


class Replay:
    """Replays the pages of a store in the order of their first fetches, as if the crawl had learned from URLs.

    Add all records, site by site, then take :attr:`url_savings`. For each site:

    1. A new learner decides about each URL in turn: it is skipped, or fetched.
    2. The learner observes the content of each fetched URL, and may readmit skipped URLs, which are fetched then.
    3. Fetches that were not made are saved; contents of which no URL was fetched are lost.

    A site with which there would be more than ``max_pages`` is left out whole.
    """

    def __init__(self, max_pages: int | None = None) -> None:
        self._max_pages = max_pages
        self._rules: Largest[Rule] = Largest(MAX_RULES)
        self._site = ""
        self._site_pages: list[tuple[float, str, str | None]] | None = []
        self._pages = self._sites = self._saved = self._lost = 0

    def add(self, site: str, record: Record) -> None:
        """Keep a record for the replay of its site."""
        if site != self._site:
            self._end_site()
            self._site, self._site_pages = site, []
        if self._site_pages is not None:
            content_id = None if record.kind == "unjudged" else (record.original or record.key).hex()
            self._site_pages.append((record.first_seen, record.url, content_id))
            if self._max_pages is not None and self._pages + len(self._site_pages) > self._max_pages:
                self._site_pages = None

    @property
    def url_savings(self) -> UrlSavings:
        """What the replay saved; all records must have been added."""
        self._end_site()
        return UrlSavings(self._pages, self._sites, self._saved, self._lost, tuple(self._rules))

    def _end_site(self) -> None:
        pages, self._site_pages = sorted(self._site_pages or (), key=lambda page: page[0]), []
        if not pages:
            return
        contents = {url: content for _, url, content in pages}
        learner = UrlLearner()  # sites teach nothing about each other
        observed: set[str | None] = set()
        fetched = 0
        for _, url, _ in pages:
            to_fetch = [] if learner.decide(url).skip else [url]
            while to_fetch:
                again = to_fetch.pop()
                fetched += 1
                observed.add(contents[again])
                readmitted = learner.observe(again, contents[again])
                to_fetch += [back for back in readmitted if back in contents]
        self._pages += len(pages)
        self._sites += 1
        self._saved += len(pages) - fetched
        self._lost += len({*contents.values()} - observed - {None})
        for rule in learner.rules():
            self._rules.add((rule.skipped, rule.successes), rule)


async def remembered_rules(store: FingerprintStore) -> list[RememberedRules]:
    """The rules that the next crawl begins with, by site; sites without any are left out."""
    notes = [RememberedRules.from_bytes(raw) async for raw in whole_journal(store, events.REMEMBERED_JOURNAL)]
    return [note for note in notes if note is not None and note.rules]


async def savings_from_notes(
    store: FingerprintStore, *, run: str | None = None, site: str | None = None, given: Iterable[GivenRule] = ()
) -> UrlSavings | None:
    """What crawls saved by skipping URLs, by their notes; None if they skipped none. Unknown notes are left out.

    The notes are those of one run, or of all, on one site, or on all; ``given`` rules held from the first request
    on.
    """
    learner, seen, skipped = UrlLearner(rules=given), 0, 0
    for kept in await remembered_rules(store):  # what a crawl skipped by them, it hardly has other evidence of
        learner.recall(kept.site, kept.rules)
    async for name in store.journals():
        of_run, of_site = events.split_journal_name(name)
        if (
            not of_run
            or of_site in {events.EVENTS, events.DROPPED}
            or run not in {None, of_run}
            or site not in {None, of_site}
        ):
            continue
        async for note in events.known_events(store, name, events.decode_url_event):
            if isinstance(note, events.SeenUrl):
                seen += 1
                learner.observe(note.url, note.content)
            else:
                skipped += 1
                learner.decide(note.url)  # counts the fetch as saved by its rules
    return UrlSavings.of_crawl(learner, seen=seen, skipped=skipped) if skipped else None
