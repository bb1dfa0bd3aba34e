"""Site novelty: the text of a page that is new on its site, given what is known of the site.

1. *Own text* keeps a page that would be dropped (:mod:`~scrapy_simdedup.detect.own_text`).
2. *Views of one thing*, such as the history, the files and the backlinks of an article, say the thing's name at one
   place, and share the rest with the same views of other things. So a page near a view of another thing, with the h1 of
   that view and another title, is a copy of it if all lines that the view lacks stand at their places on one delivered
   page of the page's title. That page is the thing's own: the page's URL has all names of its URL, among them those by
   which the page's URL differs from the view's. A job in one town with the text of a job in another is no view: its
   title says the town alone, and its URL has a number or a name that no other page of the town has. A page of links
   that asks search engines to leave it out may have the title of the view, as the sitemap of a wiki has wherever one
   came from; its links must stand on those pages, too, and the view says no more than it.
3. *A part of a page*, such as its print view, says nothing but what a page with items said, in the same order, under
   the same title and h1. So it is a copy, however small a part it is. The URLs must be those of one page, as a record
   with a fact less may be a record of its own; and it has next to no links, as each page of a list has others.
4. *Variants* are pages whose URLs differ in one place alone, such as the language (:class:`UrlVariants`). Where the
   site tells contents apart by that place, own text is looked for more strictly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.detect.candidate_index import DELIVERED, CandidateIndex
from scrapy_simdedup.detect.copy_check import CopyCheck
from scrapy_simdedup.detect.names import lead_to_one_page, names_in
from scrapy_simdedup.detect.own_text import OwnTextSearch
from scrapy_simdedup.detect.site_boilerplate import MIN_PAGES, SAMPLE_SIZE, OtherPages
from scrapy_simdedup.detect.verdict import FetchedPage, OwnText
from scrapy_simdedup.fingerprint import novelty
from scrapy_simdedup.fingerprint.features import are_among
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.hashing import Rows, inverse_fmix64
from scrapy_simdedup.fingerprint.novelty import FilterBank
from scrapy_simdedup.fingerprint.text_units import Mask, PageUnits, TextUnits, rows_of, sequence_digest, table_rows
from scrapy_simdedup.store.packed_records import PackedRecords
from scrapy_simdedup.urls.parts import query_parameters

MIN_RESTS, MIN_KEPT_SHARE = 8, 0.5
"""Rests with variants that were kept, from which a place tells contents apart; and their share of all variants."""
MIN_RECURRENCE = 2
"""Variants for each value of a place, on an average, from which its values recur at other rests."""
MAX_VALUES, MAX_RESTS, MAX_PLACES = 64, 256, 24
"""Values, rests and places that are looked at: those that came first."""
MAX_SEGMENTS, MAX_URL_LENGTH = 12, 1000
"""Segments and parameters of a URL that are looked at, and characters of a URL; of a longer one nothing is."""
BYTES_PER_PLACE, BYTES_PER_ENTRY = 650, 90
"""Bytes that a place takes, and each of its values and rests, about."""
Place = tuple[str, int]
"""The name of a parameter, or "" with the number of segments and the segment as one number."""
RECENT_SLOTS = 4 * SAMPLE_SIZE
"""Records of a site among which the newest pages of earlier runs are looked for: the last ones, however many it has."""
MAX_NAMESAKES = 16
"""Namesakes of a page that are looked at."""
MAX_VIEWS = 64
"""Pages with one title from which on the title does not name the page."""


@dataclass(slots=True)
class _PlaceCounts:
    values: set[int] = field(default_factory=set)
    rests: dict[int, int] = field(default_factory=dict)
    """By rest, the value of the page that came first."""
    told_apart: dict[int, None] = field(default_factory=dict)
    """The rests of which another page was kept as well; an empty set would take thrice as much."""
    kept: int = 0
    dropped: int = 0

    @property
    def tells_apart(self) -> bool:
        variants = self.kept + self.dropped
        recur = MIN_RECURRENCE * len(self.values) <= variants and len(self.values) <= MAX_VALUES
        return recur and len(self.told_apart) >= MIN_RESTS and self.kept >= MIN_KEPT_SHARE * variants


class UrlVariants:
    """Whether pages of one site whose URLs differ in one place are other contents, as far as the site has shown it.

    A language, a version, the page of a thread: many URLs of a site differ from another in one segment of the path or
    one parameter alone. On one site such pages mostly say different things, on another they are print views and
    sessions.

    1. A *place* is a segment of the path, counted from its beginning, the host among them, or a parameter. What is left
       of a URL without it is the *rest*. Pages with one rest are *variants* in that place.
    2. Each page that comes is compared with the variants that came before: it was kept as another content, or dropped
       for one of them.
    3. A place tells contents apart if most of the variants were kept, at :data:`MIN_RESTS` rests or more.
    4. A place where nearly every page has a value of its own, such as a slug, an id or a session, tells nothing: its
       values must recur at other rests. Beyond :data:`MAX_VALUES` values nobody looks at it any more.

    Nothing of this is stored: it follows from the URLs and the states of the site's records.

    >>> variants = UrlVariants()
    >>> for page in range(10):
    ...     for language in "de", "en", "fr":
    ...         variants.kept(f"http://site.example/{language}/page-{page}")
    >>> variants.tell_apart("http://site.example/de/page-3", ["http://site.example/fr/page-3"])
    True
    """

    def __init__(self) -> None:
        self._places: dict[Place, _PlaceCounts] = {}

    @property
    def size(self) -> int:
        """Bytes that the counts take, about."""
        sets = ((counts.values, counts.rests, counts.told_apart) for counts in self._places.values())
        entries = sum(len(entry) for of_place in sets for entry in of_place)
        return BYTES_PER_PLACE * len(self._places) + BYTES_PER_ENTRY * entries

    def kept(self, url: str) -> None:
        """Take in a page that was kept as another content than those before."""
        for place, value, rest in _places(url):
            counts = self._counts(place, value)
            if counts is None:
                continue
            if counts.rests.get(rest, value) != value:
                counts.kept += 1
                counts.told_apart[rest] = None
            elif len(counts.rests) < MAX_RESTS:
                counts.rests[rest] = value

    def dropped(self, url: str, original: str) -> None:
        """Take in a page that was dropped for another."""
        ours = {place: (value, rest) for place, value, rest in _places(url) if place in self._places}
        place = _differing_place(ours, original)
        if place is not None and ours[place][1] in self._places[place].rests:
            self._places[place].dropped += 1

    def tell_apart(self, url: str, others: Iterable[str]) -> bool:
        """Whether a URL differs from one of others in one place alone, and that place tells contents apart."""
        told = [place for place, counts in self._places.items() if counts.tells_apart]
        ours = {place: (value, rest) for place, value, rest in _places(url) if place in told} if told else {}
        return bool(ours) and any(_differing_place(ours, other) is not None for other in others)

    def _counts(self, place: Place, value: int) -> _PlaceCounts | None:
        counts = self._places.get(place)
        if counts is None:
            if len(self._places) >= MAX_PLACES:
                return None
            counts = self._places[place] = _PlaceCounts()
        if len(counts.values) > MAX_VALUES:
            return None
        counts.values.add(value)
        if len(counts.values) > MAX_VALUES:
            counts.rests.clear()
            counts.told_apart.clear()
        return counts


def _differing_place(ours: Mapping[Place, tuple[int, int]], other: str) -> Place | None:
    """The place in which another URL differs from ours, of which places are given with values and rests."""
    for place, value, rest in _places(other):
        known = ours.get(place)
        if known is not None and known[1] == rest and known[0] != value:
            return place
    return None


def _places(url: str) -> Iterator[tuple[Place, int, int]]:
    """The places of a URL, each with digests of its value and of the rest."""
    if len(url) > MAX_URL_LENGTH:
        return
    path, _, query = url.partition("://")[2].partition("#")[0].partition("?")
    segments, parameters = path.split("/"), query_parameters(query) if query else []
    if len(segments) > MAX_SEGMENTS or len(parameters) > MAX_SEGMENTS:
        return
    whole = [*segments, *(f"{name}={value}" for name, value in parameters)]
    digests = [hash((at, part)) for at, part in enumerate(whole)]
    total = sum(digests)
    for at, digest in enumerate(digests[: len(segments)]):
        yield ("", MAX_SEGMENTS * len(segments) + at), digest, hash((len(whole), total - digest))
    for (name, _), digest in zip(parameters, digests[len(segments) :], strict=True):
        yield (name, 0), digest, hash((len(whole), total - digest))


class SiteNovelty:
    """The novelty of pages of one site."""

    def __init__(self, records: PackedRecords, originals: CandidateIndex, copy_check: CopyCheck) -> None:
        self._records, self._originals, self._copy_check = records, originals, copy_check
        self._units: dict[int, tuple[int, TextUnits | None]] = {}
        """By the slot of a page that stands for the site, the id of its record and the text units."""
        self._texts = FilterBank([])
        self.variants: UrlVariants = UrlVariants()

    def own_text(
        self, page: FetchedPage, rows: Rows, are_copied: NDArray[np.bool_], clocks: Collection[int]
    ) -> OwnText:
        """What a page says that the originals it is near lack; nothing is known where it is a copy of none.

        ``are_copied`` says of which it is a copy, as far as texts are alike.
        """
        copied = rows[are_copied]
        if not len(copied):
            return OwnText()
        states = self._originals.delivered(copied)
        beside = partial(self._beside, page, rows, copied, clocks)
        delivered = copied[states == 2]  # others may be released, and their text with them
        own = beside(delivered if len(delivered) else copied)
        if own.counts and len(delivered) and (states == 0).any():
            own = own._replace(is_in_work=not beside(copied).counts)
        return own

    def _beside(self, page: FetchedPage, near: Rows, copied: Rows, clocks: Collection[int], asked: Rows) -> OwnText:
        """What a page says that some of the originals lack it is a copy of.

        An original that has another line than it seems to have is none; where that is true of all, nobody knows which
        line it is, but the page says something of its own.
        """
        fp = page.fingerprint
        asked = asked[[self._records.key(row) != page.key for row in asked.tolist()]]
        records = [self._records[row] for row in asked.tolist()]
        originals = [PageFingerprint.from_bytes(record.fingerprint) for record in records]
        if not fp.unjudged and any(of.exact == fp.exact and _have_one_order(fp, of) for of in originals):
            return OwnText(0)
        is_variant = self.variants.tell_apart(page.url, (self._records[row].url for row in copied.tolist()))
        others, urls = self._other_pages(fp, near), [record.url for record in records]
        namesakes = partial(self._namesakes, fp, near)
        search = OwnTextSearch(page, originals, others, urls, clocks=clocks, is_variant=is_variant, namesakes=namesakes)
        own, units = search.result(), fp.page_units
        if own.counts:
            return own
        kept = [original.units for original in originals]
        are_alike = [units is None or of is None or not differs_unseen(units, of) for of in kept]
        if all(are_alike):
            return own
        return self._beside(page, near, copied, clocks, asked[are_alike]) if any(are_alike) else OwnText(1, counts=True)

    def _namesakes(self, fp: PageFingerprint, near: Rows, by_title: bool) -> list[TextUnits]:
        """The text units of some of the kept pages that a page is near, and that have its h1, and maybe its title."""
        rows = self._originals.comparison_rows(near)
        are_namesakes = (rows["h1"] == fp.h1) & ((rows["title"] == fp.title) | (not by_title))
        chosen = near[are_namesakes][-MAX_NAMESAKES:]
        return [units for row in chosen.tolist() if (units := self._text_units(row)) is not None]

    def _other_pages(self, fp: PageFingerprint, near: Rows) -> OtherPages:
        sample, like_it = self._copy_check.sampled_pages(fp), set(near.tolist())
        others = [row for row in sample if row not in like_it]
        headlines = partial(self._originals.comparison_rows, np.array(others, np.intp))
        return OtherPages(len(sample), len(others), headlines, partial(self._texts_of, others))

    def repeated(self, page: FetchedPage) -> Mask:
        """Which long texts of a page stand on :data:`MIN_PAGES` other pages of the site or more, at whatever place."""
        units = page.fingerprint.page_units
        assert units is not None
        digests = rows_of(units.digests, units.places)["digest"]
        is_long = units.in_table & (units.lengths > novelty.MIN_OWN_WORDS)
        rare, found = dict.fromkeys(digests[is_long].tolist(), 0), list[int]()
        sample = self._pages_of_any_run(page.fingerprint)
        for row, of in zip(sample, self._units_of_all(sample), strict=True):
            shared = set() if of is None else rare.keys() & of.rows["digest"].tolist()
            for digest in () if shared and lead_to_one_page(page.url, self._records[row].url) else shared:
                rare[digest] += 1
                if rare[digest] == MIN_PAGES:
                    found.append(digest)
                    del rare[digest]
        return is_long & are_among(digests, found)

    def _pages_of_any_run(self, fp: PageFingerprint) -> list[int]:
        """The pages that stand for the site. Where the run has few yet, earlier runs complete them: newest first."""
        sample = self._copy_check.sampled_pages(fp)
        if len(sample) < SAMPLE_SIZE:
            ids = self._records.ids
            newest = sorted(range(max(0, len(ids) - RECENT_SLOTS), len(ids)), key=ids.__getitem__, reverse=True)
            delivered = (slot for slot in newest if ids[slot] and self._records.state(slot) == "confirmed")
            by_key = {self._records.key(slot): slot for slot in chain(sample, islice(delivered, SAMPLE_SIZE))}
            sample = list(by_key.values())
        return sample

    def is_known_view(self, page: FetchedPage, near: Rows, clocks: Collection[int]) -> Mask:
        """Of which of some originals a page is the same view, of a thing that is known from another page.

        Where a unit table joins its rows, nobody knows which lines a page has.
        """
        fp, units = page.fingerprint, page.fingerprint.page_units
        found = np.zeros(len(near), np.bool_)
        if units is None or not (fp.h1 and fp.title):
            return found
        rows = self._originals.comparison_rows(near)
        has_title, is_unlisted = rows["title"] == fp.title, units.is_unlisted and units.is_index
        is_alike = (rows["h1"] == fp.h1) & (~has_title | is_unlisted)
        titled = self._originals.delivered_with_title(fp) if (is_alike & ~has_title).any() else near[:0]
        titled = titled if len(titled) <= MAX_VIEWS else titled[:0]
        names, things = names_in(page.url), dict[frozenset[str], list[TextUnits]]()
        for at in is_alike.nonzero()[0].tolist():
            original, others = self._text_units(near[at]), names - names_in(self._records[near[at]].url)
            if not others or original is None or (original.joined_by and not is_unlisted):
                continue
            lacked, key = novelty.lines_in_place_of(units, original, clocks), frozenset(others)
            if not lacked.any():
                continue
            if key not in things:
                things[key] = self._things(page, titled, names, others)
            found[at] = any(
                novelty.have_rows(units, [of])[lacked].all()
                and not novelty.longest_own_text(units, [original, of], ~units.pass_over)
                for of in things[key]
            )
        return found

    def _things(self, page: FetchedPage, titled: Rows, names: Counter[str], others: Counter[str]) -> list[TextUnits]:
        """The delivered pages whose URLs have no names but those of a page's URL, and all that a view's URL lacks.

        They are looked for among those with the page's title, and for a page that is not listed by their own names.
        """
        units, rows, found = page.fingerprint.page_units, titled, list[TextUnits]()
        is_unlisted = units is not None and units.is_unlisted and units.is_index
        if is_unlisted:
            rows = np.append(rows, self._originals.delivered_with_name(page.fingerprint, others)[:MAX_VIEWS])
        for row in rows.tolist():
            is_thing = others <= names_in(self._records[row].url) <= names and self._records.key(row) != page.key
            of = self._text_units(row) if is_thing else None
            if of is not None and (is_unlisted or not of.joined_by):
                found.append(of)
        return found

    def wholes(self, page: FetchedPage, rows: Rows) -> Rows:
        """Those of some originals that a page is a part of. Of joined rows nobody knows the order of the texts."""
        fp, units = page.fingerprint, page.fingerprint.page_units
        if units is None or fp.unjudged or not (fp.h1 or fp.title):
            return rows[:0]
        known, found = self._originals.comparison_rows(rows), list[int]()
        has_headline = (known["title"] == fp.title) & (known["h1"] == fp.h1)
        rows = rows[has_headline & (known["data"] == fp.data) & (known["identity"] == fp.identity)]
        if not len(rows) or novelty.words_of_units(units)[units.pass_over].sum() > novelty.MIN_OWN_WORDS:
            return rows[:0]  # nothing is asked of pages with links
        rows = rows[self._originals.handled_alike(rows, page.handler)]
        rows = rows[are_among(self._originals.delivered(rows), [0, DELIVERED["confirmed"]])]
        for row in rows.tolist():
            is_other = self._records.key(row) != page.key and lead_to_one_page(page.url, self._records[row].url)
            of = self._text_units(row) if is_other else None
            if of is not None and units.offer in {0, of.offer} and _is_part(units, of):
                found.append(row)
        return np.array(found, np.intp)

    def count_lacking(self, page: FetchedPage, rows: Rows, clocks: Collection[int]) -> Rows:
        """How many rows of the unit table of a page each of several originals lacks; 0 where nothing is known."""
        units, lacking = page.fingerprint.page_units, np.zeros(len(rows), np.intp)
        if units is None or len(rows) < 2:
            return lacking
        for at, of in enumerate(map(self._text_units, rows.tolist())):
            if of is not None:
                ours = novelty.without_clocks(table_rows(units, of.joined_by, clocks).rows, clocks)
                lacking[at] = np.count_nonzero(~are_among(ours["digest"], of.rows["digest"]))
        return lacking

    def _text_units(self, row: int) -> TextUnits | None:
        return PageFingerprint.from_bytes(self._records.fingerprint(row)).units

    def _texts_of(self, sample: Sequence[int]) -> FilterBank:
        units = [of for of in self._units_of_all(sample) if of is not None]
        if units != self._texts.units:
            self._texts = FilterBank(units)
        return self._texts

    def _units_of_all(self, sample: Sequence[int]) -> list[TextUnits | None]:
        self._units = {row: self._units_of(row) for row in sample}
        return [of for _, of in self._units.values()]

    def _units_of(self, row: int) -> tuple[int, TextUnits | None]:
        """The id of a record and the text units of its page; to read the fingerprint takes most of the time."""
        id_, known = self._records.ids[row], self._units.get(row)
        if known is not None and known[0] == id_:
            return known
        return id_, self._text_units(row)


def _have_one_order(one: PageFingerprint, other: PageFingerprint) -> bool:
    """Whether pages with one set of texts have them in one order, and equally often, as far as that is known."""
    return one.units is None or other.units is None or one.units.sequence == other.units.sequence


def differs_unseen(units: PageUnits, other: TextUnits) -> bool:
    """Whether a row of a page has the 16 bits of a unit table, but is another text, as far as that can be told.

    Of hundreds of pages with one description and a name each, some have a name with the bits of another's. But the
    digest of the sequence is a sum to which all 32 bits of each text add a share, odd multiples of a bijection of them.
    Where the page lacks one row of the table at most, the texts of all others are those of the page, or else they only
    look like them: then what is left of the sum is no share of a text with the bits of the one row.
    """
    table, theirs = table_rows(units, 0), other.rows["digest"].tolist()
    digests = units.digests[table.blocks].tolist()
    texts = dict(zip(table.rows["digest"].tolist(), digests, strict=True))
    lacked = [at for at, row in enumerate(theirs) if row not in texts]
    if other.joined_by or len(lacked) > 1 or len(texts) < len(set(digests)):
        return False
    supposed = np.array([texts.get(row, 0) for row in theirs], np.uint64)
    share = other.sequence - sequence_digest(supposed)  # the digest 0 adds nothing
    if not lacked:
        return share != 0
    text = inverse_fmix64(share * pow(2 * lacked[0] + 1, -1, 1 << 64) % (1 << 64))
    return text >= 1 << 32 or text % (1 << 16) != theirs[lacked[0]]


def _is_part(units: PageUnits, other: TextUnits) -> bool:
    """Whether another page has all texts of a page, those of its content in their order."""
    if other.joined_by or novelty.look_up(units, [other], ~units.pass_over).missing.any():
        return False
    theirs = iter(other.rows["digest"].tolist())
    return all(digest in theirs for digest in table_rows(units, 0).rows["digest"].tolist())
