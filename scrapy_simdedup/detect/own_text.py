"""Own text: whether a page that would be dropped says something that its site did not say before.

1. *Ask* only for pages that would be dropped, and only for those of their text units that the kept copies of their
   content lack, all copies together (:mod:`scrapy_simdedup.fingerprint.novelty`).
2. *While the site is unknown*, only units of the content and what is called a comment count: a pair of pages cannot
   tell which other text is an advertisement.
3. *Once it is known*, a unit counts in boilerplate as well, unless pages with other contents have it, too: a teaser
   stands on other pages, a comment does not. What is called an advertisement is no unit, however new it is. On short
   pages fewer words count, but of the content alone: an advertisement of a dozen words may well be new.
4. *A few words of a text*, or *a short line in place of another*, may be a name above a description that twenty
   products share, or a clock, a greeting, an advertisement. Such a line is looked at only if all originals together
   lack it: the name of one original and the town of another are a page of their own together.

   a. A *headline vouches* that two pages are one thing if both have it, and few other pages of the site do. A title
      vouches only once the site is known, and not for a line that is the first heading, or the first line of a content
      without headings: the title may be that of an album, the line the name of a picture.
   b. Where no headline vouches, the line counts. If it differs in its numbers alone, it counts as the first heading or
      line, as in "Decision 7 K 345", or if there are three of them; another title below an h1 that all pages have is
      one of the three.
   c. Where a headline vouches, the line counts if it has a price that the other lacks; if the end of the page's URL
      names it, and the end of an original's URL another one (a colour, a town, a day, an article number); if the title
      names it and the original's does not, as in "Shirt, red" above "Colour: red" (of a long page, where lines share
      rows: some line of such a row); or if six lines differ in their numbers, as in a table of results.
   d. It counts, too, if enough *namesakes* each have another line there: kept pages near the page, with its h1 and
      title. "Product details" vouches for no product, though no page with another content has it. The first line below
      such a headline may differ in its numbers alone, and so may two or three lines anywhere: the sizes of a vase.
   e. The line is *doubtful* before there are enough namesakes, and while the site is unknown, as nobody can tell then
      whether the h1 of two pages is that of all. A page that was dropped in doubt is looked at again when the crawl has
      nothing else to fetch. If the site is still unknown then, the h1 vouches only for a page whose URL has the name of
      an original.
5. *Two lines, one of them with other words*, are facts, whatever the headline says: the place and the salary of a job,
   or a town and a price. Each original lacks two such lines, which most originals lack, as where one post of a thread
   is marked the others are as ever; and one line all of them lack, as the date of an event in a town where there was
   another.
6. *Of a variant*, whose URL differs from an original's in a place that tells contents of the site apart
   (``UrlVariants`` in ``site_novelty``), two lines count as well, or one of more than ten words, wherever they
   stand: the headings that were translated. What stands at the same place of pages with other contents does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.detect.names import are_unrelated, day_in_place_of, day_in_url, end_of_url, lead_to_one_page
from scrapy_simdedup.detect.site_boilerplate import MIN_PAGES, MIN_SAMPLE, MIN_SHARE, OtherPages
from scrapy_simdedup.detect.verdict import FetchedPage, OwnText
from scrapy_simdedup.fingerprint import novelty
from scrapy_simdedup.fingerprint.features import are_among
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.text_units import COMMENTS_PLACE, Mask, PageUnits, TextUnits
from scrapy_simdedup.page.amounts import MAX_LENGTH, has_plain_number, is_name, is_short, is_sum

MIN_FIELDS = 2
"""Lines of the content in place of others from which they may be facts: a page has a greeting, a clock or an
advertisement among its texts, but seldom two of them."""
MIN_NUMBERS = 3
"""Lines in place of others from which they may be facts though they differ in their numbers alone: two may be a clock
and a counter."""
MIN_FIGURES = 6
"""Lines in place of others from which they are facts, whatever the headline says, though they differ in their numbers
alone: a page has a clock, a counter and a date, but not six of them; a table of results has."""
MIN_NAMESAKES, MIN_NAMESAKES_OF_NUMBERS = 5, 3
"""Namesakes that have another line in place of one, from which on it is a field of a template, but for one line that
differs in its numbers alone; and those from which :data:`MIN_NUMBERS` such lines are fields."""
MIN_MISSING_OF_UNNAMED = 3
"""Shingles of a text of its own that must be missing where no headline vouches: another word is no text."""
MAX_WORDS_OF_VARIANT = 10
"""Words of a line of its own that a dropped page may have where its URL names another content: such a line may be the
name of the book in another language."""
_ADDRESS, _WORD = re.compile(r"://([^\s?#\"'<>]+)"), re.compile(r"\w+")
"""Host and path of a URL in a text; and a word."""
_NUMBER = re.compile(r"\d+")
_BEHIND_ADDRESS = "/.,;:)]"


class OwnTextSearch:
    """The search for what a page says that the originals lack it is a copy of, step by step as told above.

    If the ``page`` is doubted, the crawl has nothing else to fetch by which the site may be known better. The
    ``originals`` have other keys and other texts, and ``others`` are other pages of the site. A page ``is_variant`` if
    its URL differs from an original's in what tells contents of the site apart. ``namesakes`` gives the text units of
    kept pages that have the page's h1, and its title if that is asked for, and that the page is near.
    """

    def __init__(
        self,
        page: FetchedPage,
        originals: Sequence[PageFingerprint],
        others: OtherPages,
        urls: Sequence[str],
        *,
        clocks: Collection[int],
        is_variant: bool,
        namesakes: Callable[[bool], list[TextUnits]],
    ) -> None:
        assert page.settings.novel_words is not None
        self._page, self._novel_words = page.fingerprint, page.settings.novel_words
        self._originals, self._others, self._urls = originals, others, [page.url, *urls]
        self._kept = [original.units for original in originals if original.units is not None]
        self._clocks, self._is_variant, self._namesakes = clocks, is_variant, namesakes
        self._beside_namesakes: dict[bool, list[novelty.ReplacedLines]] = {}
        is_last_look = page.is_doubted and others.sampled < MIN_SAMPLE
        self._may_vouch = [not (is_last_look and are_unrelated(page.url, url)) for url in urls]
        """Of which originals a headline may vouch for the page."""

    def result(self) -> OwnText:
        """What was found; nothing is known where there are no text units."""
        if self._page.page_units is None or not self._kept or len(self._kept) < len(self._originals):
            return OwnText()
        for step in (self._text, self._neighbours, self._lines_of_variant, self._text_without_name, self._facts):
            if words := step():
                return OwnText(words, counts=True)
        most = int(self._words.max(initial=0))
        shown = most if most > novelty.MIN_OWN_WORDS else 0
        if self._may_be_record() or self._others.sampled >= MIN_SAMPLE:
            return OwnText(shown, is_doubtful=self._may_be_record())
        self._may_vouch = [False] * len(self._originals)
        return OwnText(shown, is_doubtful=any(step() for step in (self._text_without_name, self._facts)))

    @property
    def _units(self) -> PageUnits:
        assert self._page.page_units is not None
        return self._page.page_units

    @cached_property
    def _asked(self) -> Mask:
        """The blocks that count: those of the content and comments, once the site is known all, without clocks."""
        units = self._units
        asked = ~units.pass_over if self._others.are_known else units.of_content | units.in_comments
        clocks = [place for place in self._clocks if place != COMMENTS_PLACE]  # some of them stand on no other page
        return asked & ~are_among(units.places, clocks) if clocks else asked

    @cached_property
    def _found(self) -> novelty.LookUp:
        return novelty.look_up(self._units, self._kept, self._asked)

    @cached_property
    def _limit(self) -> int:
        return novelty.own_word_limit(self._units, self._novel_words)

    @cached_property
    def _words(self) -> NDArray[np.intp]:
        """The own words of each block, but for addresses of the page and for what other pages say."""
        words = self._found.own_words()
        words -= np.minimum(words, _words_of_addresses(self._units, self._urls, words > 0))
        words[~self._units.of_content & (words <= self._novel_words)] = 0
        is_long = words > self._limit  # shorter texts keep no page, wherever else they stand
        if self._others.are_known:
            words[self._others.have(self._units, is_long)] = 0
        return words

    @cached_property
    def _replaced(self) -> novelty.ReplacedLines:
        return novelty.replaced_lines(self._units, self._kept, self._clocks)

    @cached_property
    def _has_one_sequence(self) -> bool:
        """Whether the page has the lines of an original, so that none stands in place of another."""
        mine = self._page.units
        return mine is not None and not self._clocks and any(mine.sequence == of.sequence for of in self._kept)

    def _text(self) -> int:
        """The words of one long text; 0 if there is none, as in the next steps.

        Of pages so long that a new text may show no more of itself than an edited word, each long text counts that may
        be new.
        """
        most = int(self._words.max(initial=0))
        if most <= self._limit and self._found.hides(self._novel_words):
            words = novelty.words_of_units(self._units)
            may_be_own = self._found.may_be_own & self._units.of_content & (words > self._novel_words)
            if self._others.are_known:
                may_be_own &= ~self._others.have(self._units, may_be_own)
            most = int(words[may_be_own].max(initial=0))
        return most if most > self._limit else 0

    def _neighbours(self) -> int:
        """The words of neighbouring lines that are one text together."""
        words, blocks = self._found.longest_own_run(self._asked & self._units.of_content)
        if words <= self._limit:
            return 0
        is_elsewhere = self._others.are_known and self._others.have(self._units.joined(blocks), np.ones(1, np.bool_))[0]
        return 0 if is_elsewhere else words

    def _lines_of_variant(self) -> int:
        """The words of the longest line of a variant, if these are two lines or many words: step 6."""
        if not self._is_variant:
            return 0
        words = novelty.words_of_units(self._units)[self._own_lines()]
        return int(words.max()) if len(words) >= MIN_FIELDS or words.sum() > MAX_WORDS_OF_VARIANT else 0

    def _text_without_name(self) -> int:
        """The words of a shorter text, where no headline vouches for the page: step 4.

        Short lines are passed over, unless the page is so long that nobody knows what they stand in place of: then two
        without a number are no clock.
        """
        if not self._others.are_known and all(self._may_vouch):
            return 0
        units, found = self._units, self._found
        is_missing = (found.missing > 0) & units.of_content
        asked = is_missing & (self._words > novelty.MIN_OWN_WORDS) & (found.missing >= MIN_MISSING_OF_UNNAMED)
        asked = units.that_say(asked, lambda text: not is_short(text))
        is_long = any(other.joined_by for other in self._kept) and np.count_nonzero(is_missing) >= MIN_FIELDS
        if not (asked.any() or is_long) or self._is_vouched_for(by_title=True):
            return 0
        if is_long:
            names = units.that_say(self._own_lines(), lambda text: is_name(text) and not has_plain_number(text))
            if np.count_nonzero(names) >= MIN_FIELDS:
                return int(novelty.words_of_units(units)[names].max())
        return int(self._words[asked & ~self._others.have(units, asked)].max(initial=0))

    def _may_be_record(self) -> bool:
        """Whether lines differ in their numbers that are facts, should it turn out that namesakes have others there."""
        if self._has_one_sequence or any(lead_to_one_page(self._urls[0], url) for url in self._urls[1:]):
            return False
        figures = int(np.count_nonzero(self._replaced.numbers & self._replaced.of_texts(self._units)))
        return figures >= MIN_NUMBERS or (
            figures >= MIN_FIELDS and all(len(self._lines_beside_namesakes(of)) > 1 for of in self._originals)
        )

    def _facts(self) -> int:
        """The words of the longest of the lines that stand in place of others and are facts, or a name: 4 and 5."""
        if self._has_one_sequence:
            return 0
        facts = self._replaced.words
        if not facts.any() or np.count_nonzero(self._replaced.of_texts(self._units)) < MIN_FIELDS:
            facts = np.zeros(len(facts), np.bool_)
            for names in self._names():
                if not names.any():
                    return 0
                facts |= names
        return max(1, int(novelty.words_of_units(self._units)[facts].max()))

    def _names(self) -> Iterator[Mask]:
        """For each original, the lines by which the page is another one; fewer where a headline vouches for it."""
        units, kept = self._units, self._kept
        is_only = len(kept) == 1  # as most are
        beside = [self._replaced if is_only else novelty.replaced_lines(units, [of], self._clocks) for of in kept]
        lacking = np.sum([lines.of_texts(units) for lines in beside], axis=0)
        is_rare, is_new = 2 * lacking > len(beside), (lacking == len(beside)).any()
        for original, lines, url in zip(self._originals, beside, self._urls[1:], strict=True):
            of_texts, names = lines.of_texts(units), self._names_without_headline(original, lines)
            are_facts = is_new and lines.words.any() and np.count_nonzero(of_texts & is_rare) >= MIN_FIELDS
            by_title = not lines.words[units.headline]
            if not names.any() or (not are_facts and self._is_vouched_for(by_title=by_title)):
                names = self._fields((lines.words | self._first_line) & of_texts, original)
            figures = lines.numbers & of_texts
            if np.count_nonzero(figures) < MIN_FIGURES:
                is_counted = lead_to_one_page(self._urls[0], url)
                figures = np.zeros_like(figures) if is_counted else self._figures_of_records(figures, original)
            names |= figures
            of_long = self._lines_of_long_page(original)
            named = self._named_by_url(of_texts | of_long, url)
            named |= self._named_by_title(lines.words & of_texts | of_long, original, url)
            yield names | units.that_say(of_texts, is_sum) | named

    def _names_without_headline(self, original: PageFingerprint, lines: novelty.ReplacedLines) -> Mask:
        """The lines that are names where no headline vouches: those with other words, or else some with numbers."""
        units, of_texts = self._units, lines.of_texts(self._units)
        has_other_title = 0 != self._page.title != original.title != 0
        are_several = np.count_nonzero(of_texts) + has_other_title >= MIN_NUMBERS
        is_headline = of_texts[units.headline] and is_name(units.samples[units.headline])
        return of_texts if not lines.words.any() and (are_several or is_headline) else lines.words

    def _lines_of_long_page(self, original: PageFingerprint) -> Mask:
        """The short lines in rows that an original lacks, of a page so long that nobody knows which were replaced."""
        units, of = self._units, original.units
        if of is None or not of.joined_by:
            return np.zeros_like(units.of_content)
        return units.that_say(novelty.new_units(units, [of], self._clocks) & units.of_content, is_name)

    def _figures_of_records(self, figures: Mask, original: PageFingerprint) -> Mask:
        """The lines that differ in their numbers, where some namesakes have others in two or three of them, too."""
        for most, least in ((MIN_NUMBERS, MIN_NAMESAKES_OF_NUMBERS), (MIN_FIELDS, MIN_NAMESAKES)):
            fields = self._fields(figures, original, least) if np.count_nonzero(figures) >= most else figures
            if np.count_nonzero(fields) >= most:
                return fields
        return np.zeros_like(figures)

    def _fields(self, lines: Mask, original: PageFingerprint, least: int = MIN_NAMESAKES) -> Mask:
        """The lines in place of which some namesakes each have another."""
        beside = self._lines_beside_namesakes(original) if lines.any() else []
        if len(beside) < least:
            return np.zeros_like(lines)
        fields: Mask = lines & (np.sum([of.words | of.numbers for of in beside], axis=0) >= least)
        return fields

    def _lines_beside_namesakes(self, original: PageFingerprint) -> list[novelty.ReplacedLines]:
        """The lines that stand in place of those of each namesake, which may be called otherwise if an original is."""
        by_title = original.title == self._page.title or not self._page.h1
        if by_title not in self._beside_namesakes:
            of_namesakes = self._namesakes(by_title)
            beside = [novelty.replaced_lines(self._units, [kept], self._clocks) for kept in of_namesakes]
            self._beside_namesakes[by_title] = beside
        return self._beside_namesakes[by_title]

    @cached_property
    def _first_line(self) -> Mask:
        """The first block of the content below the headline, if it is a name, be it with a number."""
        found, below = np.zeros_like(self._units.of_content), self._units.of_content.nonzero()[0]
        found[below[below > self._units.headline][:1]] = True
        return self._units.that_say(found, is_name)

    def _named_by_url(self, lines: Mask, original: str) -> Mask:
        """The lines that have a word at the end of the page's URL, in place of which an original's has another word."""
        found = np.zeros_like(lines)
        if not lines.any():
            return found
        (place, words), (other_place, others) = end_of_url(self._urls[0]), end_of_url(original)
        if place == other_place and others - words:
            found |= self._units.that_say(lines, lambda text: not (words - others).isdisjoint(_words(text)))
        if day := day_in_place_of(self._urls[0], original):
            found |= self._units.that_say(lines, lambda text: _says_day(text, day))
        return found

    def _named_by_title(self, lines: Mask, original: PageFingerprint, url: str) -> Mask:
        """The lines that have a word of the page's title, where an original of another page has another title."""
        if not 0 != self._page.title != original.title != 0 or lead_to_one_page(self._urls[0], url):
            return np.zeros_like(lines)
        words = self._units.title_words.split()
        return self._units.that_say(lines, lambda text: not set(words).isdisjoint(_words(text)))

    def _own_lines(self) -> Mask:
        """The blocks of the content that no original has, nor another page of the site at the same place."""
        own = self._found.own_units(self._kept, self._clocks)
        return own & ~self._others.have_rows(self._units) if own.any() else own

    def _is_vouched_for(self, *, by_title: bool) -> bool:
        """Whether the h1, or the title of a site that is known, says that the page is one with an original."""
        sampled = self._others.sampled if by_title else 0
        many = min(max(1.0, MIN_SHARE * sampled), MIN_PAGES)
        originals = list(compress(self._originals, self._may_vouch))
        return any(
            own
            and any(getattr(original, name) == own for original in originals)
            and self._others.count(name, own) < many
            for name, own in (("h1", self._page.h1), ("title", self._page.title if sampled >= MIN_SAMPLE else 0))
        )


def title_words_in(units: PageUnits, blocks: Iterable[int]) -> str:
    """The words that some blocks have in common with the title, if the h1 lacks them."""
    said = _words(" ".join(units.samples[at] for at in blocks)) if units.title_words else ()
    return " ".join(sorted(set(units.title_words.split()).intersection(said)))


def asked_word_by_word(units: PageUnits, url: str) -> list[int]:
    """The blocks of a page of whose text more may be asked than of what kind it is: what a URL or a title may say, too.

    They show an address; or they may be lines in place of others, and have a word of the title or of the end of the
    page's URL, or the day of its date.
    """
    names, day = end_of_url(url)[1].union(units.title_words.split()), day_in_url(url)
    texts = [(at, units.samples[at]) for at in (~units.pass_over).nonzero()[0].tolist()]
    found = {at for at, text in texts if "://" in text}
    if names or day:
        in_content = units.of_content.tolist()
        lines = ((at, text) for at, text in texts if in_content[at] and (is_short(text) or has_plain_number(text)))
        found |= {at for at, text in lines if not names.isdisjoint(_words(text)) or (day and _says_day(text, day))}
    return sorted(found)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _says_day(text: str, day: int) -> bool:
    return day in map(int, _NUMBER.findall(text))


def _words_of_addresses(units: PageUnits, urls: Iterable[str], asked: Mask) -> NDArray[np.intp]:
    """The words of an address in each block that is asked for, where one of some URLs is shown there; shape (m,).

    A print view says from where it was printed, in as many words as its URL has.
    """
    found, counts = np.zeros(len(asked), np.intp), dict[str, int]()
    for url in urls if asked.any() else ():
        if parts := _ADDRESS.search(url):
            counts[parts[1].rstrip(_BEHIND_ADDRESS)] = len(_WORD.findall(url))
    for at in asked.nonzero()[0].tolist():
        if shown := _ADDRESS.search(units.samples[at]):
            address, is_cut = shown[1].rstrip(_BEHIND_ADDRESS), shown.end() > MAX_LENGTH
            same = (count for url, count in counts.items() if url == address or (is_cut and url.startswith(address)))
            found[at] = max(same, default=0)
    return found
