"""What is known of each content: how many URLs lead to it for no reason that a rule explains."""

from __future__ import annotations

from scrapy_simdedup.urls.sorted_map import SortedMap

POPULAR = 15
"""Unexplained URLs above which a content is taken for a stub: a captcha, a soft 404, an empty template."""

_MANY_RUNS = 8
"""Separate runs in which a popular content was met before it can be no wall, which comes in one burst."""

# An entry, from the low end: 6 bits unexplained URLs, 4 bits runs, 2 bits fetches, 26 bits latest skip, 26 bits page.
_UNEXPLAINED, _RUN, _FETCH, _SKIP, _PAGE = 0x3F, 6, 10, 12, 38
_NUMBER = (1 << 26) - 1


class Contents:
    """The contents of a site, each a 48-bit number, with counters that stop at their maximum."""

    __slots__ = ("book", "failed", "latest", "unexplained", "verified")

    def __init__(self) -> None:
        self.book = SortedMap()
        self.latest = 0
        """The content of the latest page."""
        self.unexplained = 0
        """URLs in all to which no rule led."""
        self.verified: dict[int, int] = {}
        """Popular content → how often it was found where it was expected."""
        self.failed: set[int] = set()
        """Popular contents that stood for a page that turned out to be another."""

    def fetched(self, content: int, page: int, *, explained: bool) -> bool:
        """Count a fetch.

        Args:
            content: What came.
            page: The number of the fetched page.
            explained: Whether rules led to expect a known page.

        Returns:
            Whether by this fetch the content has become one that stands for nothing.
        """
        entry = self.book.get(content)
        suspicious = False
        self.unexplained += not explained
        if entry is None:
            entry = (page & _NUMBER) << _PAGE | 1
        elif not explained and entry & _UNEXPLAINED < _UNEXPLAINED:
            entry += 1
            suspicious = entry & _UNEXPLAINED in {self.limit + 1, POPULAR + 1}
        if content != self.latest and entry >> _RUN & 0xF < 0xF:
            entry += 1 << _RUN
        if entry >> _FETCH & 3 < 3:
            entry += 1 << _FETCH
        self.latest = content
        self.book.put(content, entry)
        return suspicious

    @property
    def limit(self) -> int:
        """Unexplained URLs of a content above which it stands for no page: three times as many as are usual here."""
        return min(POPULAR, max(5, 3 * self.unexplained // max(1, len(self.book))))

    def is_popular(self, content: int) -> bool:
        """Whether a content teaches nothing."""
        return (self.book.get(content) or 0) & _UNEXPLAINED > POPULAR

    def can_stand_in(self, content: int) -> bool:
        """Whether a URL may be skipped because it leads to this content."""
        entry = self.book.get(content) or 0
        if entry & _UNEXPLAINED <= self.limit:
            return True
        return entry >> _RUN & 0xF >= _MANY_RUNS and content not in self.failed

    def seen_once(self, content: int) -> bool:
        """Whether a single fetch gave this content."""
        return (self.book.get(content) or 0) >> _FETCH & 3 == 1

    def page(self, content: int) -> int:
        """The number of the page that first gave this content."""
        return (self.book.get(content) or 0) >> _PAGE

    def latest_skip(self, content: int) -> int:
        """The latest URL that was skipped in favour of this content, numbered from 1; 0 if there is none."""
        return (self.book.get(content) or 0) >> _SKIP & _NUMBER

    def skipped(self, content: int, skip: int) -> None:
        """Note a URL that is skipped in favour of this content."""
        entry = self.book.get(content) or 0
        self.book.put(content, entry & ~(_NUMBER << _SKIP) | skip << _SKIP)
