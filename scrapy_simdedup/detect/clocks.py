"""Clocks: places of a site whose text changes by itself, learned from pages that are fetched again.

"3 hours ago", "in stock: 7", a rotating quote: where a place differs on most revisits of the site's pages, its text is
not what changed about a page. A price that changes on 3 % of the pages is.

1. A place is watched from the first time that its text differs between two visits of a page. Of the last
   :data:`MAX_RECENT` pages of the run it is known as well whether they were equal there.
2. Each page counts once per run: its text is equal there, or it differs. A page that comes to the byte as it was is
   equal at all places that its record keeps. What a page says anew under several URLs counts once. Where more than a
   quarter of the content differs, but for clocks and long texts that stand on other pages, too, places other than
   counters say nothing: the page was rewritten.
3. From :data:`MIN_PAGES` pages on, a place that differs on :data:`CLOCK_SHARE` of them is a clock, if they are enough
   to tell that it does on more than :data:`STILL_SHARE` of all; until it differs on less. The newest articles come
   first, and are edited most.
4. An amount, a number alone or with a currency, is believed to be a clock after :data:`SLOW_RUNS` runs only, and so is
   the offer: all prices of a shop may rise on one day. So is the title, as a site may give all its pages better ones,
   and an advertisement that is a good part of its page: a shop may write the same notice on all pages.
5. An advertisement may come and go. A long text that stands on several pages is watched by itself, from the first time
   that it comes; each page that is fetched again counts, and gets it or loses it, or not. From :data:`TEXT_SHARE` of
   the pages on in :data:`SLOW_RUNS` runs it is a clock.

A site watches up to :data:`MAX_PLACES` places, in some 80 bytes each. A place that is met late takes the seat of one
that does not come to be a clock. A line takes one seat: it is known by its words, or by what stands around it.
"""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import astuple, dataclass, field
from itertools import islice
from zlib import crc32

from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.fingerprint.text_units import TextUnits, kept_places
from scrapy_simdedup.fingerprint.unit_changes import ORDER, PAGE_PLACE, SITE_TEXT, EditedText
from scrapy_simdedup.page.amounts import is_amount, is_counter
from scrapy_simdedup.store.base import FingerprintStore, reporting_failures
from scrapy_simdedup.urls.evidence import wilson_bound

MIN_PAGES = 5
"""Pages on which a place must have been seen twice before it can be a clock."""
CLOCK_SHARE, STILL_SHARE = 0.6, 0.4
"""Shares of these pages on which its text must differ: to become a clock, and to stay one."""
TEXT_SHARE, STILL_TEXT_SHARE = 0.3, 0.2
"""The same for a text of the site: what is there on half of the visits came or went on half of the pages."""
QUANTILE = 1.96
"""How sure it must be that the share on all pages is not less than the latter: in 39 of 40 cases."""
SLOW_RUNS = 3
"""Runs in which an amount, a title, or a text that several pages share must have differed like that."""
MAX_EDITED_SHARE = 0.25
"""Share of a page's content above which differing units are an edit of the page."""
MAX_PLACES, MAX_TEXTS = 32, 8
"""Places of a site that are watched, and how many of them are for texts that come and go: of more, those that differ
least are forgotten."""
MAX_WITNESSES = 4_096
"""Texts of a site at a place of a content that are remembered to have been seen in this run."""
MAX_RECENT, MAX_EQUAL = 32, 256
"""Pages of a site that are remembered to have been seen in this run, and of each the places with an equal text."""
MAX_SEEN = 200
"""Pages that a place remembers; beyond, both counts are halved, so that a site may change."""
MAX_SITES = 10_000
"""Sites whose clocks are kept in memory; of more, those asked for longest ago are read again."""
SAVE_EVERY = 50
"""Observations of a site after which they are saved, besides those that make or end a clock."""
JOURNAL = "clocks"
TITLE_PLACE, OFFER_PLACE = PAGE_PLACE, 3
"""The places of the title and of the offer."""
SAMPLE_LENGTH = 40
"""Characters of a text that tell people which place is meant."""


@dataclass(frozen=True, slots=True)
class ClockEvidence:
    """What two versions of a page say about the clocks of its site."""

    edited: dict[int, EditedText]
    """The places at which the text differs."""
    equal: frozenset[int]
    edited_share: float = 0.0
    """The share of the words of the content that are in units without an equal one, and on no other pages, 0..1."""
    content: int = 0
    """A digest of the page's content; 0 where none is known. What its URLs say anew counts once."""
    beside: dict[int, int] = field(default_factory=dict)
    """Of an edited place that no unit table keeps, a place beside it."""
    kept: frozenset[int] = frozenset()
    """The places with an equal text as unit tables keep them, of a page of which no more is known."""
    before: TextUnits | None = None
    """What was kept of the earlier version."""
    has_repeated: bool = False
    """Whether what differs would be an edit of the page, did it not stand on other pages."""
    gone: frozenset[int] = frozenset()
    """The places of texts of the site, whether known as such or not, that the earlier version had alone."""


@dataclass(slots=True)
class PlaceCounts:
    """How often a place of a site was seen again."""

    place: int
    seen: int = 0
    """Pages that were fetched again, once per run."""
    differed: int = 0
    runs: int = 0
    """Runs in which it differed."""
    last_run: int = 0
    """32 bits of the name of the last one."""
    is_clock: bool = False
    is_slow: bool = False
    """Whether it is believed after several runs only: once for one of its texts, and then for all."""
    sample: str = ""
    """The beginning of a text from this place."""
    beside: int = 0
    """The clock's place in unit tables, where that differs."""

    @property
    def in_table(self) -> int:
        """By what a unit table keeps, the place is found in it."""
        return kept_places([self.beside or self.place])[0]

    @property
    def is_text(self) -> bool:
        """Whether it is no place, but a text that stands on several pages of the site, and comes and goes there."""
        return self.place >> 16 == SITE_TEXT >> 16

    @property
    def is_order(self) -> bool:
        """Whether it is the order of the units with some tags around them."""
        return self.place == self.beside ^ ORDER

    def observe(self, run: int, *, differs: bool) -> bool:
        """Count one page; whether the place became a clock, or is none any more."""
        self.seen += 1
        if differs:
            self.differed += 1
            if run != self.last_run:
                self.runs, self.last_run = self.runs + 1, run
        if self.seen > MAX_SEEN:
            self.seen, self.differed = self.seen // 2, self.differed // 2
        was_clock = self.is_clock
        share = self.differed / self.seen
        has_runs = not self.is_slow or self.runs >= SLOW_RUNS
        enough = self.seen >= MIN_PAGES and has_runs
        least = share if was_clock else wilson_bound(self.differed, self.seen - self.differed, -QUANTILE)
        most, still = (TEXT_SHARE, STILL_TEXT_SHARE) if self.is_text else (CLOCK_SHARE, STILL_SHARE)
        self.is_clock = enough and least >= still and (was_clock or share >= most)
        return self.is_clock != was_clock


def _packed(places: Iterable[int]) -> str:
    """What a unit table keeps of places, a character of 16 bits for each: it is found at once there."""
    return "".join(map(chr, kept_places(islice(places, MAX_EQUAL))))


class SiteClocks:
    """The watched places of one site; ``raw`` is the ``bytes()`` of its clocks as they were saved."""

    def __init__(self, raw: bytes = b"") -> None:
        self.places: dict[int, PlaceCounts] = {}
        self.unsaved: int = 0
        """Observations since they were saved."""
        self._witnesses: set[int] = set()
        self._recent: deque[tuple[str, str]] = deque(maxlen=MAX_RECENT)
        """Of each of the last pages what is ``equal`` and ``kept`` in its evidence."""
        with suppress(ValueError, TypeError):  # what cannot be read is learned again
            self.places = {counts.place: counts for counts in (PlaceCounts(*row) for row in json.loads(raw or "[]"))}

    @property
    def clocks(self) -> frozenset[int]:
        """The places that are clocks."""
        return frozenset(place for place, counts in self.places.items() if counts.is_clock)

    def equal_places(self, evidence: ClockEvidence) -> set[int]:
        """The watched places at which the text of a page is equal."""
        kept = (place for place, counts in self.places.items() if counts.in_table in evidence.kept)
        others = {at for at, of in self.places.items() if of.is_text or (of.is_order and of.beside in evidence.equal)}
        return {*(evidence.equal & self.places.keys()), *kept, *(others - evidence.edited.keys() - evidence.gone)}

    def observe(self, evidence: ClockEvidence, run: str) -> bool:
        """Take in two versions of a page; whether a place became a clock, or is none any more.

        A thread that got a reply, and stands under the URL of each of its posts, has changed once.
        """
        gone = {at: EditedText(self.places[at].sample, 0) for at in evidence.gone & self.places.keys()}
        edited = gone | evidence.edited
        news = self._news(evidence.content, edited)
        if not news:
            return False
        is_rewritten = evidence.edited_share > MAX_EDITED_SHARE
        run_number, is_news = crc32(run.encode("utf-8", "surrogatepass")), False
        by_words, by_spot = dict[int, int](), dict[int, int]()
        for place, (_, digest) in edited.items():
            if counts := self.places.get(place):  # how often the words of a line differed, or what stands at its spot
                (by_spot if counts.beside > 0 else by_words)[digest] = counts.differed
        for place, (sample, digest) in edited.items():
            # A line is known by its words or by what stands around it: by what has differed on more pages.
            words, spot = by_words.get(digest, 0), by_spot.get(digest, 0)
            if place not in news or (words >= max(1, spot) if place in evidence.beside else spot > words):
                continue
            if not is_rewritten or is_counter(sample):
                counts = self.places.get(place) or self._watch(place, evidence.beside.get(place, 0))
                counts.sample = sample[:SAMPLE_LENGTH]
                is_notice = evidence.has_repeated and not is_counter(sample)
                is_late = is_notice or counts.is_text or place in (TITLE_PLACE, OFFER_PLACE)
                counts.is_slow |= is_late or is_amount(sample)
                is_news |= counts.observe(run_number, differs=True)
        equal = self.equal_places(evidence)
        for place in equal:
            is_news |= self.places[place].observe(run_number, differs=False)
        self._recent.append((_packed(evidence.equal), _packed(evidence.kept)))
        if len(self.places) > MAX_PLACES:
            # By how likely they are to become clocks: a place that was seen once stays behind each that nearly is one,
            # and goes for another one that was.
            newest = reversed(self.places.values())
            most = sorted(newest, key=lambda of: (of.is_clock, of.differed / (of.seen + 1)), reverse=True)
            texts = [counts for counts in most if counts.is_text][:MAX_TEXTS]
            places = [counts for counts in most if not counts.is_text][: MAX_PLACES - MAX_TEXTS]
            self.places = {counts.place: counts for counts in (*places, *texts)}
        self.unsaved += bool(edited or equal)
        return is_news

    def _watch(self, place: int, beside: int) -> PlaceCounts:
        """Watch a place from now on, with what the last pages said about it."""
        counts = self.places[place] = PlaceCounts(place, beside=beside)
        at, beside_it = _packed([beside if counts.is_order else place]), chr(counts.in_table)
        was_there = (counts.is_text or at in equal or beside_it in kept for equal, kept in self._recent)
        counts.seen = sum(was_there)
        return counts

    def _news(self, content: int, edited: dict[int, EditedText]) -> set[int]:
        """The places whose texts no page with this content has shown in this run, 0 for a page that is equal at all."""
        if not content:
            return {0, *edited}
        texts = [(place, digest) for place, (_, digest) in edited.items()] or [(0, 0)]
        told = {hash((content, *one)): one[0] for one in texts}
        new = told.keys() - self._witnesses
        if len(self._witnesses) >= MAX_WITNESSES:
            self._witnesses.clear()
        self._witnesses |= new
        return {told[witness] for witness in new}

    def __bytes__(self) -> bytes:
        return json.dumps([astuple(counts) for counts in self.places.values()], separators=(",", ":")).encode()


async def saved_clocks(store: FingerprintStore, site: str) -> SiteClocks:
    """The clocks of a site as an open store has them."""
    return SiteClocks(await store.get_note(JOURNAL, site.encode()) or b"")


class ClockBook:
    """The clocks of all sites, as far as they are in memory, and their notes in the store.

    Where the store fails nothing is passed over, or what is known already is.
    """

    def __init__(self, store: FingerprintStore, run: str, on_store_error: Callable[[StoreError], None]) -> None:
        self._store, self._run, self._on_store_error = store, run, on_store_error
        self._sites: OrderedDict[str, SiteClocks] = OrderedDict()

    async def of(self, site: str) -> SiteClocks:
        """The clocks of a site."""
        if site not in self._sites:
            clocks = SiteClocks()
            with reporting_failures(self._on_store_error):
                clocks = await saved_clocks(self._store, site)
            self._sites.setdefault(site, clocks)  # another page may have come while the store was asked
            if len(self._sites) > MAX_SITES:
                self._sites.popitem(last=False)
        self._sites.move_to_end(site)
        return self._sites[site]

    async def observe(self, site: str, evidence: ClockEvidence) -> None:
        """Take in two versions of a page."""
        clocks = await self.of(site)
        if clocks.observe(evidence, self._run) or clocks.unsaved >= SAVE_EVERY:
            await self._save(site, clocks)

    async def save(self) -> None:
        """Save what was not saved yet."""
        for site, clocks in list(self._sites.items()):
            if clocks.unsaved and clocks.places:
                await self._save(site, clocks)

    async def _save(self, site: str, clocks: SiteClocks) -> None:
        clocks.unsaved = 0
        with reporting_failures(self._on_store_error):
            await self._store.put_note(JOURNAL, site.encode(), bytes(clocks))
