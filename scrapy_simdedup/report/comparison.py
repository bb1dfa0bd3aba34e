"""Two pages side by side: how alike they are, what each consists of, and which lines differ."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.fingerprint.making import body_digest, fingerprint_read
from scrapy_simdedup.notebook import table_html
from scrapy_simdedup.page.markdown import page_markdown
from scrapy_simdedup.page.page import read_page
from scrapy_simdedup.page.roles import role_words
from scrapy_simdedup.report.differences import Difference, Line, differences, role_of
from scrapy_simdedup.settings import DedupSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simdedup.fingerprint.fingerprint import Relation


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two pages."""

    name: str
    title: str
    h1: str
    unjudged: str | None
    """Why it cannot be judged by its text."""
    shingles: int
    """Distinct runs of words in its content, without the frame."""
    words_by_role: dict[str, int]
    """Words in its content and in each part of its frame."""
    lines: tuple[Line, ...]
    """Its blocks of text."""
    markdown: str
    """Its main content."""


@dataclass(frozen=True, slots=True)
class PageComparison:
    """How alike two pages are, and what differs."""

    kind: Relation
    similarity: float
    """Share of common content, 0..1."""
    distance: int
    """Bits in which the simhashes differ."""
    one: Side
    other: Side
    differences: tuple[Difference, ...]
    """What is not the same on both, in the order of the pages."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def __repr__(self) -> str:
        return (
            f"<PageComparison {self.kind}, similarity {self.similarity:.3f}, {self.distance} bits, "
            f"{len(self.differences)} differing lines: {self.one.name!r}, {self.other.name!r}>"
        )

    def _repr_html_(self) -> str:
        """The differing lines side by side, for Jupyter."""
        caption = f"{self.kind}, similarity {self.similarity:.3f}, {self.distance} bits"
        rows = [(found.role, found.one or "", found.other or "") for found in self.differences]
        return table_html(caption, ("", self.one.name, self.other.name), rows)


def compare_pages(
    one: str, other: str, *, names: tuple[str, str] = ("A", "B"), urls: tuple[str, str] = ("", ""), **settings: Any
) -> PageComparison:
    """Compare two pages as a crawl would, and tell what differs.

    Args:
        one: a page's HTML.
        other: another's.
        names: how they are called.
        urls: their addresses, which make the links of the Markdown absolute.
        settings: any setting that fits as a keyword, in lower case without its prefix: ``bits=128``.

    Raises:
        SettingError: a setting cannot be used.
    """
    return compare_under(DedupSettings.from_keywords(**settings), one, other, names=names, urls=urls)


def compare_under(
    settings: DedupSettings, one: str, other: str, *, names: tuple[str, str], urls: tuple[str, str]
) -> PageComparison:
    """What :func:`compare_pages` does, under settings that are already checked."""
    prints, sides = [], []
    for html, name, url in zip((one, other), names, urls, strict=True):
        words = role_words(settings.role_words)
        page = read_page(html, max_bytes=settings.max_page_bytes, words=words, extractor=settings.extractor)
        print_ = fingerprint_read(page, body_digest(html), settings)
        prints.append(print_)
        lines = tuple(Line(role_of(block), " ".join(block.text.split())) for block in page.blocks)
        markdown = page_markdown(html, url=url)
        sides.append(
            Side(name, page.title, page.h1, print_.unjudged, print_.content, _words_by_role(lines), lines, markdown)
        )
    found = prints[0].compare(prints[1], identical=settings.identical, near=settings.near)
    return PageComparison(
        found.kind, found.similarity, found.distance, sides[0], sides[1], differences(sides[0].lines, sides[1].lines)
    )


def _words_by_role(lines: Sequence[Line]) -> dict[str, int]:
    words: Counter[str] = Counter()
    for line in lines:
        words[line.role] += len(line.text.split())
    return dict(words.most_common())
