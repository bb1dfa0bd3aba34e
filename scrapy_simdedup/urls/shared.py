"""The contents of a site that unrelated URLs lead to: copies, or an error page that stands for several pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from scrapy_simdedup.urls.parts import UrlParts
from scrapy_simdedup.urls.patterns import NormalizedUrl

MAX_SHARED, MAX_LOOKS = 1000, 20
"""Contents of unrelated pages that are remembered, and looks at each."""
_USUAL = 4
"""Contents that pages of the same two kinds of path share from which on such copies are usual on a site."""
_TRIED = 12
"""Contents that are looked at to find out whether copies are usual."""


class Look(NamedTuple):
    """A URL that was fetched."""

    url: str
    parts: UrlParts


@dataclass(slots=True, eq=False)
class SharedContents:
    """Contents that were found at places which no rule relates.

    An error page with status 200 is found now here, now there, and at none of these places twice. So a content that
    unrelated places show stands for the page of one of them only if it was found there twice. Where pages of the same
    two kinds of path share several contents, copies are usual: an error shows but one.
    """

    normalize: Callable[[UrlParts], NormalizedUrl]
    _looks: dict[int, list[Look]] = field(default_factory=dict)
    """Content → where it was found."""
    _errors: set[int] = field(default_factory=set)
    """Those that were an error somewhere."""
    _expected: dict[str, int] = field(default_factory=dict)
    """URL that is about to be fetched → the content that it should show."""
    _kinds: dict[frozenset[str], list[int]] = field(default_factory=dict)
    """Two kinds of path → the contents that pages of both share."""

    def __contains__(self, content: int) -> bool:
        return content in self._looks

    def are_unrelated(self, one: UrlParts, other: UrlParts) -> bool:
        """Whether two URLs name different things: their paths differ, or a part that both have and that matters."""
        mine, theirs = self.normalize(one).remaining, self.normalize(other).remaining
        names = mine.keys() & theirs.keys()
        return one.segments != other.segments or any(mine[name][2] != theirs[name][2] for name in names)

    def share(self, content: int, first: Look, other: Look) -> None:
        """Note that a content was found at two unrelated places."""
        if len(self._looks) >= MAX_SHARED:
            del self._looks[next(iter(self._looks))]
        self._looks[content] = [first, other]
        kinds = frozenset(self.normalize(look.parts).leaf.shape for look in (first, other))
        contents = self._kinds.setdefault(kinds, [])
        if len(contents) < _TRIED:
            contents.append(content)

    def add(self, content: int, look: Look) -> None:
        """Note that a shared content was found once more; two looks at a place are enough."""
        looks = self._looks.get(content)
        if looks is None or len(looks) >= MAX_LOOKS or any(known.url == look.url for known in looks):
            return
        place = self.normalize(look.parts).identity
        if sum(self.normalize(known.parts).identity == place for known in looks) < 2:
            looks.append(look)

    def expect(self, content: int, look: Look) -> None:
        """Count a look that is about to be taken, so that one is enough."""
        self.add(content, look)
        self._expected[look.url] = content
        if len(self._expected) > MAX_SHARED:
            del self._expected[next(iter(self._expected))]

    def found(self, content: int, look: Look) -> None:
        """Note what was found by a look, expected or not."""
        expected = self._expected.pop(look.url, None)
        if expected is not None and expected != content:
            self.was_error(expected, look.url)
        self.add(content, look)

    def was_error(self, content: int, url: str) -> None:
        """Forget a place where a content was an error; wherever else it was found once it may be one, too."""
        if content in self._looks:
            self._looks[content] = [look for look in self._looks[content] if look.url != url]
            self._errors.add(content)

    def nearest(self, content: int, url: UrlParts) -> str | None:
        """The URL at which a shared content was found that differs least from another one; None if none is known."""
        mine = {url.segments, *url.parts}
        looks = self._looks.get(content) or ()
        best = max(looks, key=lambda look: len(mine & {look.parts.segments, *look.parts.parts}), default=None)
        return best.url if best is not None else None

    def is_doubtful(self, content: int, place: NormalizedUrl) -> bool:
        """Whether a content was found at a place no more than once, and at others that nothing relates to it."""
        looks = self._looks.get(content)
        if looks is None:
            return False
        places = [self.normalize(look.parts) for look in looks]
        elsewhere = {other.identity: other for other in places if other.identity != place.identity}
        if sum(other.identity == place.identity for other in places) > 1:
            return False
        if content in self._errors or len(elsewhere) > 1:
            return True
        return bool(elsewhere) and not self._are_usual(content, place, *elsewhere.values())

    def _are_usual(self, content: int, one: NormalizedUrl, other: NormalizedUrl) -> bool:
        """Whether pages of two kinds of path share several contents other than this one."""
        kinds = frozenset((one.leaf.shape, other.leaf.shape))
        contents = self._kinds[kinds] = [c for c in self._kinds.get(kinds, ()) if self._is_unrelated(c)]
        return len(contents) - (content in contents) >= _USUAL

    def _is_unrelated(self, content: int) -> bool:
        looks = self._looks.get(content, ())[:2]
        return len({self.normalize(look.parts).identity for look in looks}) == 2
