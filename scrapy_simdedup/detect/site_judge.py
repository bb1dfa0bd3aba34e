"""A judge of pages that are there already: the verdicts of a crawl, in memory, without a store and without a loop.

A verdict depends on nothing outside of its site. So an archive of any size can be judged one site after the other,
each in the order in which its pages were fetched, on as many machines as there are.

The transactions of a crawl are coroutines, as databases let them wait. The memory never does; so they are run here as
they are, instead of being written a second time, and the verdicts cannot part from those of a crawl.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from scrapy_simdedup.detect import clocks
from scrapy_simdedup.detect.names import PageSettings, RunContext, without_surrogates
from scrapy_simdedup.detect.transactions import STUB_JOURNAL, Transactions
from scrapy_simdedup.detect.verdict import FetchedPage, Verdict
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.make import fingerprint
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.base import Record, run_at_once
from scrapy_simdedup.store.memory import MemoryStore

WORKER = "batch"
"""The worker that the records name; no process is called that, so equal pages give equal records."""
SITE_JOURNALS = (clocks.JOURNAL, STUB_JOURNAL)
"""The journals with what a crawl learned of its sites, beside the records: verdicts depend on their notes."""


@dataclass(frozen=True, slots=True)
class SiteNote:
    """What a crawl learned of a site beside the records of its pages: a note whose key is the site."""

    journal: str
    value: bytes


class SiteJudge:
    """Judges the pages of one site after the other, with the verdicts of a crawl in the same order.

    Every page that is kept counts as delivered at once. Only the pages of the current site are held: 0.3 to 0.8 KB for
    each. A page with the same URL and the same content as one of this run is ``unchanged``, as in a crawl.

    >>> from scrapy_simdedup import DedupSettings
    >>> judge = SiteJudge(DedupSettings(), b"secret", "march")
    >>> judge.begin("site.example")
    >>> text = " ".join(f"word{number}" for number in range(60))
    >>> page = judge.fingerprint(f"<p>{text}", url="http://site.example/a")
    >>> [judge.judge(page, url=f"http://site.example/{name}", key=name.encode(), time=0.0).kind for name in "ab"]
    ['new', 'identical']

    Args:
        settings: all settings; ``store``, ``secret`` and ``run`` do not matter.
        secret: the key of the hashes, under which the fingerprints were made.
        run: the run's name.
    """

    def __init__(self, settings: DedupSettings, secret: bytes, run: str) -> None:
        self.settings = settings
        self.secret: bytes = secret
        self.run: str = run
        self._page_settings = PageSettings(settings)
        self._time = 0.0
        self._context = RunContext(run, WORKER, lambda: self._time, _go_on)
        self._site = ""
        self._forget()

    def begin(self, site: str, *, forget: bool = True) -> None:
        """Judge the pages of a site from now on, and ``forget`` all that came before, unless sites take turns."""
        if forget:
            self._forget()
        self._site = site

    def remember(self, known: Record | SiteNote) -> None:
        """Take in what a store knows of the current site before the first page; records in the order of an export."""
        if isinstance(known, SiteNote):
            self._store.notes[known.journal, self._site.encode()] = known.value
        else:
            self._store.log(self._site).append(known)

    def fingerprint(self, html: str, *, url: str) -> PageFingerprint:
        """The fingerprint of a page under the settings for its URL; never raises for any HTML."""
        return fingerprint(html, self._page_settings.of(url), self.secret)

    def settings_for(self, url: str) -> DedupSettings:
        """The settings of the page with this URL, with the overrides of its site and of its pattern."""
        return self._page_settings.of(url)

    def known_fingerprint(self, body: bytes, *, url: str, key: bytes) -> PageFingerprint | None:
        """The fingerprint of a page of the current site with the same bytes, if one is at hand: it saves the parsing.

        ``body`` is the :func:`~scrapy_simdedup.fingerprint.make.body_digest` of the page.
        """
        index = self._transactions.logs.indexes.known(self._site)
        if index is None or self.settings.looks_for_identity:
            return None
        return index.same_body(body, key, self._page_settings.of(url).extractor)

    def judge(self, fp: PageFingerprint, *, url: str, key: bytes, time: float, canonical: str | None = None) -> Verdict:
        """The verdict on a page of the current site, which is delivered if it is kept.

        Its fingerprint has the text units (``page_units``) where own texts or edits matter. Pages with the same key are
        versions of one page. ``time`` is when it was fetched, no earlier than the page before; ``canonical`` the
        canonical URL that it declares, for ``SIMDEDUP_PREFER``.

        Raises:
            StoreError: a record of the site holds what is no fingerprint of this version.
        """
        self._time, url = time, without_surrogates(url)
        read, known = None, self.known_fingerprint(fp.body, url=url, key=key)
        if known is not None:
            # As in a crawl, where such a page is read only once its text units are asked for.
            read, fp = None if known.units is None else partial(_given, fp), known._replace(identity=fp.identity)
        about = self.run, WORKER, time, self._page_settings.of(url)
        page = FetchedPage(self._site, key, url, fp, *about, canonical=canonical, read=read)
        verdict = run_at_once(self._transactions.judge(page, keep_pending=True))
        if verdict.page is not None:
            run_at_once(self._transactions.settle(self._site, verdict.page.id, "confirmed"))
        return verdict

    def records(self) -> Iterator[Record]:
        """What a store would hold of the current site now, in the order of its log."""
        complete, cursor = False, 0
        while not complete:
            tail = run_at_once(self._store.read(self._site, cursor))
            complete, cursor = tail.complete, tail.cursor
            yield from (record for record in tail.records if not record.forgotten)

    def notes(self) -> Iterator[SiteNote]:
        """What was learned of the current site beside the records of its pages."""
        run_at_once(self._transactions.save())
        for journal in SITE_JOURNALS:
            value = self._store.notes.get((journal, self._site.encode()))
            if value is not None:
                yield SiteNote(journal, value)

    def _forget(self) -> None:
        self._store = _StoreOfArchive()
        self._transactions = Transactions(
            self._store, self.settings, self._context, store_name="the history", on_store_error=_fail
        )


class _StoreOfArchive(MemoryStore):
    """Of the journals it has those of sites; the others are for the reports of crawls."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: dict[tuple[str, bytes], bytes] = {}
        """By their journals and keys."""

    async def put_note(self, journal: str, key: bytes, value: bytes, *, once: bool = False) -> bytes:  # noqa: ARG002
        if journal in SITE_JOURNALS:
            self.notes[journal, key] = value
        return value

    async def get_note(self, journal: str, key: bytes) -> bytes | None:
        return self.notes.get((journal, key))


async def _given(made: PageFingerprint) -> PageFingerprint:
    """A fingerprint that was made already, where one would be read; see :attr:`FetchedPage.read`."""
    return made


async def _go_on(_: float) -> None:
    """Sleep for no time, as no other work could go on meanwhile."""


def _fail(error: StoreError) -> None:
    """Raise what a crawl would only count: pages that are there already can be judged again."""
    raise error
