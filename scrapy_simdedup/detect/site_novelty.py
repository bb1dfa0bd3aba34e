"""Site novelty: whether a page that would be dropped says something that its site did not say before.

1. *Ask* only for pages that would be dropped, and only for those of their text units that the kept copies of their
   content lack, all copies together (:mod:`scrapy_simdedup.fingerprint.novelty`).
2. *While the site is unknown*, only units of the content count: a pair of pages cannot tell an advertisement from a
   comment.
3. *Once it is known*, a unit counts in boilerplate as well, unless pages with other contents have it, too: a teaser
   stands on other pages, a comment does not. What is called an advertisement is no unit, however new it is. On short
   pages fewer words count, but of the content alone: an advertisement of a dozen words may well be new.
4. *A few words of a text*, or *a short line in place of another*, count where neither title nor h1 vouches that the
   pages are one: a name above a description that twenty products share. No original may lack one: the name of one of
   them and the town of another are a page of their own together. A headline vouches if both pages have it, and few
   others of the site do; a title only once the site is known, and not where such a line is the first heading, or the
   first line of a content without headings: the title may be that of an album, the line the name of a picture. Where
   one vouches, such a line is a clock, a greeting or an advertisement. A line that differs in its numbers alone may be
   either, so where none vouches it counts as such a heading or first line, as "Decision 7 K 345" is, or if there are
   three of them; another title, below an h1 that all pages have, is one of the three.
5. *Two lines, one of them with other words*, are facts, whatever the headline says: the place and the salary of a job,
   or a town and a price. Lists of links have none.
6. *Of a variant*, whose URL differs from an original's in a place that tells contents of the site apart
   (:class:`UrlVariants`), two lines count as well, or one of more than ten words, wherever they stand: the headings
   that were translated. What stands at the same place of pages with other contents does not.
7. *The views of one thing*, as of an article its history, its files and what links to it, say its name at one place,
   and share the rest with the same views of other things. So a page that is near another thing's view, with its h1 and
   another title, is a copy of it as well, if all lines that it lacks of the page stand at their places on one page that
   was delivered under the page's title.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.detect.candidate_index import CandidateIndex
from scrapy_simdedup.detect.copy_check import CopyCheck
from scrapy_simdedup.detect.site_boilerplate import MIN_PAGES, MIN_SAMPLE, MIN_SHARE
from scrapy_simdedup.detect.verdict import FetchedPage, OwnText
from scrapy_simdedup.fingerprint import novelty
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.hashing import Rows
from scrapy_simdedup.fingerprint.text_units import Mask, PageUnits, TextUnits
from scrapy_simdedup.page.amounts import has_plain_number, is_name, is_short
from scrapy_simdedup.store.packed_records import PackedRecords
from scrapy_simdedup.urls.parts import query_parameters

MIN_FIELDS = 2
"""Lines of the content in place of others from which they may be facts: a page has a greeting, a clock or an
advertisement among its texts, but seldom two of them."""
MIN_NUMBERS = 3
"""Lines in place of others from which they may be facts though they differ in their numbers alone: two may be a clock
and a counter."""
MIN_MISSING_OF_UNNAMED = 3
"""Shingles of a text of its own that must be missing where no headline vouches: another word is no text."""
MAX_WORDS_OF_VARIANT = 10
"""Words of one line of its own that a page is dropped with where its URL says that it is another content: the name of
the book in another language may be such a line."""


MAX_VIEWS = 64
"""Pages with one title from which on the title does not say what they show."""


class SiteNovelty:
    """The novelty of pages of one site."""

    def __init__(self, records: PackedRecords, originals: CandidateIndex, copy_check: CopyCheck) -> None:
        self._records, self._originals, self._copy_check = records, originals, copy_check
        self._units: dict[int, tuple[int, TextUnits | None]] = {}
        """By the slot of a page that stands for the site, the id of its record and the text units."""
        self._filters = novelty.FilterBank([])
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
        is_variant = self.variants.tell_apart(page.url, (self._records[row].url for row in copied.tolist()))
        delivered = copied[states == 2]  # others may be released, and their text with them
        beside = partial(self._beside, page, near=set(rows.tolist()), clocks=clocks, is_variant=is_variant)
        own = beside(delivered if len(delivered) else copied)
        if own.counts and len(delivered) and (states == 0).any():
            own = own._replace(is_in_work=not beside(copied).counts)
        return own

    def is_known_view(self, page: FetchedPage, near: Rows, clocks: Collection[int]) -> Mask:
        """Of which of some originals a page is the same view, of a thing that is known from another page: step 7.

        Where a unit table joins its rows, nobody knows which lines a page has.
        """
        fp, units = page.fingerprint, page.fingerprint.page_units
        found = np.zeros(len(near), np.bool_)
        if units is None or not (fp.h1 and fp.title):
            return found
        rows = self._originals.comparison_rows(near)
        is_alike = (rows["h1"] == fp.h1) & (rows["title"] != fp.title)
        views = self._originals.delivered_with_title(fp).tolist() if is_alike.any() else []
        if not 0 < len(views) <= MAX_VIEWS:
            return found
        of_thing = [of for of in map(self._text_units, views) if of is not None and not of.joined_by]
        lines = units.without(clocks)
        for at in is_alike.nonzero()[0].tolist():
            original = self._text_units(near[at])
            if original is None or original.joined_by:
                continue
            lacked = lines & ~novelty.have_rows(units, [original])
            found[at] = lacked.any() and any(
                novelty.have_rows(units, [view])[lacked].all()
                and not novelty.longest_own_text(units, [original, view], ~units.pass_over)
                for view in of_thing
            )
        return found

    def _text_units(self, row: int) -> TextUnits | None:
        return PageFingerprint.from_bytes(self._records.fingerprint(row)).units

    def _beside(
        self, page: FetchedPage, copied: Rows, *, near: Collection[int], clocks: Collection[int], is_variant: bool
    ) -> OwnText:
        """What a page says that some of the originals lack it is a copy of."""
        fp, novel_words = page.fingerprint, page.settings.novel_words
        assert novel_words is not None
        chosen = copied.tolist()
        packed = (self._records.fingerprint(row) for row in chosen if self._records.key(row) != page.key)
        originals = list(map(PageFingerprint.from_bytes, packed))
        if any(original.exact == fp.exact and not fp.unjudged for original in originals):
            return OwnText(0)
        kept = [original.units for original in originals if original.units is not None]
        units = fp.page_units
        if units is None or not kept or len(kept) < len(originals):
            return OwnText()
        sample = self._copy_check.sampled_pages(fp)
        others = [row for row in sample if row not in near]
        is_known = len(sample) >= MIN_SAMPLE and bool(others)
        asked = ~units.pass_over if is_known else units.of_content
        if clocks:
            asked &= ~np.isin(units.places, list(clocks))
        found = novelty.look_up(units, kept, asked)
        words = found.own_words()
        words[~units.of_content & (words <= novel_words)] = 0
        limit = novelty.own_word_limit(units, novel_words)
        if is_known and words.max(initial=0) > limit:  # shorter texts keep no page, wherever else they stand
            words[self._on_other_pages(units, words > limit, others)] = 0
        most = int(words.max(initial=0))
        if most > limit:
            return OwnText(most, counts=True)
        run = found.longest_own_run(asked & units.of_content)
        together = run.words if run.words > limit else 0
        if together and is_known and self._on_other_pages(units.joined(run.blocks), np.ones(1, np.bool_), others)[0]:
            together = 0
        if is_variant:
            together = max(together, self._words_of_variant(units, self._own_lines(found, kept, others, clocks)))
        vouches = cache(partial(self._has_same_name, fp, chosen, others))
        if not together and is_known:
            is_long = any(other.joined_by for other in kept)
            own_lines = partial(self._own_lines, found, kept, others, clocks) if is_long else None
            together = self._words_of_unnamed(found, words, others, own_lines, lambda: vouches(len(sample)))
        if together:
            return OwnText(together, counts=True)
        lines = novelty.replaced_lines(units, kept, clocks)
        facts = lines.words
        if not facts.any() or np.count_nonzero(lines.of_texts(units)) < MIN_FIELDS:
            titles = [0 != fp.title != original.title != 0 for original in originals]
            facts = self._names(units, kept, titles, clocks, lambda is_first: vouches(0 if is_first else len(sample)))
        if facts.any():
            return OwnText(max(1, int(novelty.words_of_units(units)[facts].max())), counts=True)
        shown = most if most > novelty.MIN_OWN_WORDS else 0
        return OwnText(shown, other_line=lines.difference(units))

    def _names(
        self,
        units: PageUnits,
        kept: Sequence[TextUnits],
        titles: Sequence[bool],
        clocks: Collection[int],
        has_same_name: Callable[[bool], bool],
    ) -> Mask:
        """The lines by which a page has another name than each of the originals: step 4 of this module.

        ``titles`` says which of them have another title, ``has_same_name`` whether title or h1 vouch for the page, if
        such a line is the headline, and if not.
        """
        found = nothing = np.zeros(len(units.lengths), np.bool_)
        for original, has_other_title in zip(kept, titles, strict=True):
            lines = novelty.replaced_lines(units, [original], clocks)
            of_texts = lines.of_texts(units)
            names = lines.words
            if not names.any() and (
                np.count_nonzero(of_texts) + has_other_title >= MIN_NUMBERS
                or (of_texts[units.headline] and is_name(units.samples[units.headline]))
            ):
                names = of_texts
            if not names.any() or has_same_name(bool(lines.words[units.headline])):
                return nothing
            found = found | names
        return found

    def _words_of_unnamed(
        self,
        found: novelty.LookUp,
        words: Rows,
        others: Sequence[int],
        own_lines: Callable[[], Mask] | None,
        vouches: Callable[[], bool],
    ) -> int:
        """The words of a text of its own that keeps a page that no headline vouches for; 0 if none does.

        Short lines are passed over, unless the page is so long that nobody knows what they stand in place of
        (``own_lines``): then two without a number are no clock.
        """
        units = found.units
        is_missing = (found.missing > 0) & units.of_content
        asked = is_missing & (words > novelty.MIN_OWN_WORDS) & (found.missing >= MIN_MISSING_OF_UNNAMED)
        for at in asked.nonzero()[0].tolist():
            asked[at] = not is_short(units.samples[at])
        if np.count_nonzero(is_missing) < MIN_FIELDS:
            own_lines = None
        if not (asked.any() or own_lines) or vouches():
            return 0
        if own_lines is not None:
            own = (at for at in own_lines().nonzero()[0].tolist() if is_name(units.samples[at]))
            names = [at for at in own if not has_plain_number(units.samples[at])]
            if len(names) >= MIN_FIELDS:
                return int(novelty.words_of_units(units)[names].max())
        return int(words[asked & ~self._on_other_pages(units, asked, others)].max(initial=0))

    def _words_of_variant(self, units: PageUnits, own_lines: Mask) -> int:
        """The words of the longest line of its own that keeps a variant: step 6 of this module; 0 if none does."""
        words = novelty.words_of_units(units)[own_lines]
        return int(words.max()) if len(words) >= MIN_FIELDS or words.sum() > MAX_WORDS_OF_VARIANT else 0

    def _own_lines(
        self, found: novelty.LookUp, kept: Sequence[TextUnits], others: Sequence[int], clocks: Collection[int]
    ) -> Mask:
        """The blocks of the content that no original has, nor another page of the site at the same place."""
        own = found.own_units(kept, clocks)
        if own.any():
            self._look_up_in(others)
            own &= ~novelty.have_rows(found.units, [of for _, of in self._units.values() if of is not None])
        return own

    def _has_same_name(self, fp: PageFingerprint, copied: Sequence[int], others: Sequence[int], sampled: int) -> bool:
        """Whether title or h1 vouch that a page is one with originals: step 4 of this module."""
        theirs = self._originals.comparison_rows(np.array(copied, np.intp))
        elsewhere = self._originals.comparison_rows(np.array(others, np.intp))
        many = min(max(1.0, MIN_SHARE * sampled), MIN_PAGES)
        for name, own in (("h1", fp.h1), ("title", fp.title if sampled >= MIN_SAMPLE else 0)):
            if own and (theirs[name] == own).any() and np.count_nonzero(elsewhere[name] == own) < many:
                return True
        return False

    def _on_other_pages(self, units: PageUnits, asked: Mask, sample: Sequence[int]) -> Mask:
        """Which of the blocks that are asked for stand on other pages of the site."""
        self._look_up_in(sample)
        found: Mask = np.logical_or.reduce(novelty.are_on(units, self._filters, asked))
        return found

    def _look_up_in(self, sample: Sequence[int]) -> None:
        known = self._units
        self._units = {row: self._units_of(row) for row in sample}
        if self._units != known:
            self._filters = novelty.FilterBank([of for _, of in self._units.values() if of is not None])

    def _units_of(self, row: int) -> tuple[int, TextUnits | None]:
        """The id of a record and the text units of its page; to read the fingerprint takes most of the time."""
        id_, known = self._records.ids[row], self._units.get(row)
        if known is not None and known[0] == id_:
            return known
        return id_, self._text_units(row)


MIN_RESTS, MIN_KEPT_SHARE = 8, 0.5
"""Rests with variants that were kept, from which a place tells contents apart; and their share of all variants."""
MIN_RECURRENCE = 2
"""Variants for each value of a place, on an average, from which its values recur at other rests."""
MAX_VALUES, MAX_RESTS, MAX_PLACES = 64, 256, 24
"""Values, rests and places that are looked at: those that came first."""
MAX_SEGMENTS, MAX_URL_LENGTH = 12, 1000
"""Segments and parameters of a URL that are looked at, and characters of a URL; of a longer one nothing is."""
BYTES_PER_PLACE, BYTES_PER_ENTRY = 800, 90
"""Bytes that a place takes, and each of its values and rests, about."""
Place = tuple[str, int]
"""The name of a parameter, or "" with the number of segments and the segment as one number."""


@dataclass(slots=True)
class _PlaceCounts:
    values: set[int] = field(default_factory=set)
    rests: dict[int, int] = field(default_factory=dict)
    """By rest, the value of the page that came first."""
    told_apart: set[int] = field(default_factory=set)
    """The rests of which another page was kept as well."""
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
                counts.told_apart.add(rest)
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
