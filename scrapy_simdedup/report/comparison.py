"""The comparison of two pages: how alike they are, what each consists of, and what one says and the other does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, Literal, NamedTuple

from scrapy_simdedup.display import Markup, highlighted, plural, shorten, table_html
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint, Relation
from scrapy_simdedup.fingerprint.hashing import split_words
from scrapy_simdedup.fingerprint.make import body_digest, fingerprint_parsed
from scrapy_simdedup.fingerprint.novelty import common_beginning
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.page.page import Block, read_page
from scrapy_simdedup.page.roles import ROLE_NAMES, role_words
from scrapy_simdedup.setting_checks import require_text
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.unjudged import UNJUDGED, UnjudgedReason

WEIGHTS = {BlockClass.BOILERPLATE: 0.02, BlockClass.UNMARKED: 0.3, BlockClass.CONTENT: 1.0}
"""How much a word counts, by the class of its block; see :data:`~scrapy_simdedup.fingerprint.sketch.WEIGHTS`."""
CONTENT_ROLES = CONTENT, LOOSE_TEXT = "content", "loose text"
"""The parts of a page that are no boilerplate."""
WORDS_PER_RUN = 3
"""Words in a row that another text has, or lacks."""
MAX_LINES = 5_000
"""Lines of each text that are compared."""
MAX_WORDS_PER_LINE = 400
"""Words from the first to the last that differ, above which they differ as a whole: comparing takes quadratic time."""


class Line(NamedTuple):
    """A block of text on a page."""

    role: str
    text: str
    weight: float = WEIGHTS[BlockClass.CONTENT]
    """How much a word of it counts where pages are compared: 1 in content, 0.3 in loose text, 0.02 in boilerplate."""


class Difference(NamedTuple):
    """A line of one text without a counterpart in the other (None), or with a different one."""

    role: str
    one: str | None
    other: str | None


class OwnLine(NamedTuple):
    """A line with words that the other text lacks."""

    role: str
    text: str
    own_words: int
    """Words of the line that stand in no run of words that is in the other text, too."""
    words: int


class DiffSpan(NamedTuple):
    """A part of a line that is the same in the other line, or differs."""

    text: str
    differs: bool


def diff_lines(one: Sequence[Line], other: Sequence[Line]) -> tuple[Difference, ...]:
    """The lines that differ between two texts, in their order; lines that differ only in their roles are equal.

    >>> diff_lines([Line("content", "a"), Line("content", "b")], [Line("content", "a"), Line("footer", "c")])
    (Difference(role='content', one='b', other='c'),)
    """
    one, other = one[:MAX_LINES], other[:MAX_LINES]
    found = []
    matcher = SequenceMatcher(None, [line.text for line in one], [line.text for line in other])
    for what, a, b, c, d in matcher.get_opcodes():
        if what != "equal":
            for left, right in zip_longest(one[a:b], other[c:d]):
                line = left or right
                found.append(Difference(line.role, left and left.text, right and right.text))
    return tuple(found)


def diff_words(one: str, other: str) -> tuple[list[DiffSpan], list[DiffSpan]]:
    """Two lines, each as spans of words that the other line has as well and spans that it has not.

    >>> diff_words("two fresh eggs", "two old eggs")[0]
    [DiffSpan(text='two ', differs=False), DiffSpan(text='fresh ', differs=True), DiffSpan(text='eggs', differs=False)]
    """
    left, right = one.split(), other.split()
    begin = common_beginning(left, right)
    ending = common_beginning(left[begin:][::-1], right[begin:][::-1])
    ends = len(left) - ending, len(right) - ending
    codes = [("equal", 0, begin, 0, begin), ("replace", begin, ends[0], begin, ends[1])]
    if max(ends) - begin <= MAX_WORDS_PER_LINE:
        found = SequenceMatcher(None, left[begin : ends[0]], right[begin : ends[1]], autojunk=False).get_opcodes()
        codes[1:] = [(what, begin + a, begin + b, begin + c, begin + d) for what, a, b, c, d in found]
    codes.append(("equal", ends[0], len(left), ends[1], len(right)))
    parts: tuple[list[DiffSpan], list[DiffSpan]] = ([], [])
    for what, a, b, c, d in codes:
        for words, part, total in ((left[a:b], parts[0], b < len(left)), (right[c:d], parts[1], d < len(right))):
            if words:
                part.append(DiffSpan(" ".join(words) + " " * total, what != "equal"))
    return parts


def own_lines(one: Sequence[Line], other: Sequence[Line]) -> tuple[OwnLine, ...]:
    """The lines of a text of which another text lacks words, wherever it has the rest.

    A word is there if one of its runs of :data:`WORDS_PER_RUN` is; of a shorter line, if the whole line is.

    >>> own_lines([Line("content", "Now 29 EUR, in two sizes")], [Line("content", "In two sizes")])
    (OwnLine(role='content', text='Now 29 EUR, in two sizes', own_words=3, words=6),)
    """
    texts = [split_words(line.text) for line in other[:MAX_LINES]]
    known = {run for words in texts for length in range(1, WORDS_PER_RUN + 1) for run in _runs(words, length)}
    found = []
    for line in one[:MAX_LINES]:
        words = split_words(line.text)
        length = min(WORDS_PER_RUN, len(words))
        covered = {at + step for at, run in enumerate(_runs(words, length)) if run in known for step in range(length)}
        if len(covered) < len(words):
            found.append(OwnLine(line.role, line.text, len(words) - len(covered), len(words)))
    return tuple(found)


def _runs(words: Sequence[bytes], length: int) -> Iterator[tuple[bytes, ...]]:
    return zip(*(words[start:] for start in range(length)), strict=False)


def role_label(block: Block) -> str:
    """The part of the page that a block belongs to, in words."""
    if block.block_class is not BlockClass.BOILERPLATE:
        return CONTENT if block.block_class is BlockClass.CONTENT else LOOSE_TEXT
    return ", ".join(name for role, name in ROLE_NAMES.items() if block.boilerplate_roles & role)


@dataclass(frozen=True, slots=True)
class ComparedPage:
    """A page of a comparison of two."""

    name: str
    title: str
    h1: str
    unjudged: UnjudgedReason | None
    """Why the page cannot be judged by its text; None if it can."""
    shingles: int
    """Distinct runs of words in the page's content, without boilerplate."""
    words_by_role: dict[str, int]
    """Words in the content of the page, and in each role of its boilerplate."""
    lines: tuple[Line, ...]
    """The text blocks of the page, by which it is compared."""

    @property
    def content_lines(self) -> list[Line]:
        """The text blocks that are no boilerplate."""
        return [line for line in self.lines if line.role in CONTENT_ROLES]


@dataclass(frozen=True, slots=True)
class PageComparison:
    """How alike two pages are, and what differs."""

    kind: Relation | Literal["unjudged"]
    """``identical`` where each is a copy of the other; ``unjudged`` where a page cannot be compared by its text, and
    the two are not the same byte for byte either."""
    similarity: float | None
    """Share of common content, 0..1; None if unjudged."""
    distance: int | None
    """Bits in which the simhashes differ; None if unjudged."""
    one: ComparedPage
    other: ComparedPage
    differences: tuple[Difference, ...]
    """The lines that differ, in the order of the pages."""
    own_lines: tuple[tuple[OwnLine, ...], tuple[OwnLine, ...]]
    """The lines of each page of which the other lacks words, boilerplate among them."""
    drops: tuple[bool, bool]
    """Whether a crawl would drop the first page if the other was delivered before, and the other way round."""
    obstacle: str | None = None
    """Why the pages are unjudged, as a sentence; None if they are compared."""

    @property
    def lost_words(self) -> tuple[int, int]:
        """The words that would be lost with either page if the other alone were kept, boilerplate left out."""
        one, other = (sum(line.own_words for line in self._own_content(place)) for place in (0, 1))
        return one, other

    @property
    def longest_lost(self) -> tuple[int, int]:
        """For each page, the most of these words in one line: a page with a long text of its own is no copy."""
        one, other = (max((line.own_words for line in self._own_content(place)), default=0) for place in (0, 1))
        return one, other

    def _own_content(self, place: int) -> list[OwnLine]:
        return [line for line in self.own_lines[place] if line.role in CONTENT_ROLES]

    @property
    def likeness(self) -> str:
        """How alike the pages are, or why nobody knows, as the end of a line."""
        if self.similarity is None:
            return self.obstacle or "nothing was compared"
        return f"similarity {self.similarity:.3f}, {self.distance} differing bits"

    def as_dict(self) -> dict[str, Any]:
        """The comparison as plain values."""
        return asdict(self)

    def __repr__(self) -> str:
        return (
            f"<PageComparison {self.kind}, {self.likeness}, "
            f"{len(self.differences)} differing lines: {shorten(self.one.name)!r}, {shorten(self.other.name)!r}>"
        )

    def _repr_html_(self) -> str:
        """The differing lines side by side, for Jupyter."""
        by_page = zip(self.lost_words, (self.one, self.other), strict=True)
        lost = " and ".join(f"{plural(words, 'word')} of {page.name}" for words, page in by_page if words)
        caption = f"{self.kind}, {self.likeness}; only one page has {lost or 'nothing'}"
        rows = [(found.role, *_side_by_side(found)) for found in self.differences]
        return table_html(caption, ("Differs in", self.one.name, self.other.name), rows)


def _side_by_side(found: Difference) -> tuple[Markup, Markup]:
    if found.one is None or found.other is None:
        return highlighted([(found.one or "", True)]), highlighted([(found.other or "", True)])
    one, other = diff_words(found.one, found.other)
    return highlighted(one), highlighted(other)


def compare_pages(one: str, other: str, *, names: tuple[str, str] = ("A", "B"), **settings: Any) -> PageComparison:
    """Compare two pages as a crawl would, and tell what differs.

    Args:
        one: the HTML of the first page.
        other: the HTML of the second page.
        names: how the comparison calls the pages.
        settings: any setting that fits as a keyword, in lower case without its prefix: ``bits=128``.

    Raises:
        SettingError: a setting cannot be used.
        TypeError: a page is no text.
    """
    require_text(one, "one")
    require_text(other, "other")
    return compare_with_settings(DedupSettings.from_keywords(**settings), one, other, names=names)


def compare_with_settings(
    settings: DedupSettings, html: str, other_html: str, *, names: tuple[str, str]
) -> PageComparison:
    """Compare two pages as :func:`compare_pages` does, under settings that are already checked."""
    fingerprints, pages = [], []
    words = role_words(settings.role_words)
    for text, name in zip((html, other_html), names, strict=True):
        page = read_page(
            text,
            max_bytes=settings.max_page_bytes,
            words=words,
            extractor=settings.extractor,
            identity=settings.identity,
        )
        fp = fingerprint_parsed(page, body_digest(text), settings)
        fingerprints.append(fp)
        lines, by_role = tuple(map(_line_of, page.blocks)), Counter[str]()
        for line in lines:
            by_role[line.role] += len(line.text.split())
        of_page = page.title, page.h1, fp.unjudged, fp.content, dict(by_role.most_common()), lines
        pages.append(ComparedPage(name, *of_page))
    both_ways = [
        page.compare(earlier, identical=settings.identical, near=settings.near, novel_words=settings.novel_words)
        for page, earlier in (fingerprints, reversed(fingerprints))
    ]
    drops = both_ways[0].similarity >= settings.drop_threshold, both_ways[1].similarity >= settings.drop_threshold
    found = min(both_ways, key=lambda way: way.similarity)
    one, other = pages
    own = own_lines(one.lines, other.lines), own_lines(other.lines, one.lines)
    of_pages = one, other, diff_lines(one.lines, other.lines), own, drops
    both = zip(pages, fingerprints, strict=True)
    obstacles = [(page.name, _obstacle(fp, settings)) for page, fp in both if fp.unjudged]
    if obstacles and found.kind == "different":  # else they are the same byte for byte
        whys = {why for _, why in obstacles}
        is_common = len(obstacles) == len(pages) and len(whys) == 1
        obstacle = f"each {whys.pop()}" if is_common else "; ".join(f"{name} {why}" for name, why in obstacles)
        return PageComparison("unjudged", None, None, *of_pages, obstacle)
    return PageComparison(found.kind, found.similarity, found.distance, *of_pages)


def _line_of(block: Block) -> Line:
    return Line(role_label(block), " ".join(block.text.split()), WEIGHTS[block.block_class])


def _obstacle(fp: PageFingerprint, settings: DedupSettings) -> str:
    if fp.unjudged == "too_short":
        return f"has {plural(fp.total, 'distinct shingle')}, too few to judge: {settings.min_words} are needed"
    return UNJUDGED[fp.unjudged or "unknown"].meaning
