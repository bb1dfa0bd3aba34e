"""The contents of a site that unrelated URLs lead to: copies, or an error page that stands for several pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from scrapy_simdedup.urls.page_index import ContentCounters
from scrapy_simdedup.urls.parts import UrlParts
from scrapy_simdedup.urls.patterns import NormalizedUrl

MAX_SHARED, MAX_LOOKS = 1000, 20
"""Contents of unrelated pages that are remembered, and looks at each."""
_USUAL, _USUAL_IN_SEVERAL = 4, 10
"""Contents that places share which differ in a part, from which on such copies are usual: at one other place, and at
several."""
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
    unrelated places show stands for the page of one of them only if it was found there twice. Where places that differ
    in the same parts share several contents, copies are usual, as those of a product in each color: an error shows but
    one.
    """

    normalize: Callable[[UrlParts], NormalizedUrl]
    contents: ContentCounters
    _looks: dict[int, list[Look]] = field(default_factory=dict)
    """Content → where it was found."""
    _expected: dict[str, int] = field(default_factory=dict)
    """URL under way → the expected content."""
    _copies: dict[str, list[int]] = field(default_factory=dict)
    """A part, or two kinds of path → the contents that places share which differ there."""

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
        for name in self._differing(first.parts, other.parts):
            contents = self._copies.setdefault(name, [])
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
        """Count a look that is about to be taken, so that no second one is."""
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
        """Forget a place where a shared content was an error; wherever else it was found it may be one, too."""
        if content in self._looks:
            self._looks[content] = [look for look in self._looks[content] if look.url != url]
            self.contents.errors.add(content)

    def nearest(self, content: int, url: UrlParts) -> str | None:
        """The URL at which a shared content was found that differs least from another one; None if none is known."""
        mine = {url.segments, *url.parts}
        looks = self._looks.get(content) or ()
        best = max(looks, key=lambda look: len(mine & {look.parts.segments, *look.parts.parts}), default=None)
        return best.url if best is not None else None

    def is_doubtful(self, content: int, url: UrlParts) -> bool:
        """Whether a content was found at the place of a URL at most once, and at others that nothing relates to it."""
        looks = self._looks.get(content)
        if looks is None:
            return False
        place = self.normalize(url).identity
        places = [(self.normalize(look.parts).identity, look.parts) for look in looks]
        elsewhere = {identity: parts for identity, parts in places if identity != place}
        if len(places) - sum(identity != place for identity, _ in places) > 1:
            return False
        usual = _USUAL if len(elsewhere) < 2 else _USUAL_IN_SEVERAL
        differing = {name for other in elsewhere.values() for name in self._differing(url, other)}
        return any(self._shared_by(name, content) < usual for name in differing)

    def _differing(self, one: UrlParts, other: UrlParts) -> list[str]:
        """In what two places differ: the kinds of their paths if these differ, and parts that matter."""
        mine, theirs = self.normalize(one), self.normalize(other)
        names = mine.remaining.keys() | theirs.remaining.keys()
        found = [name for name in names if mine.part_hashes.get(name) != theirs.part_hashes.get(name)]
        kinds = sorted((mine.leaf.shape, theirs.leaf.shape))
        return found if one.segments == other.segments else [" and ".join(kinds), *found]

    def _shared_by(self, name: str, content: int) -> int:
        """How many other contents are shared by places that differ in a part."""
        contents = self._copies[name] = [c for c in self._copies.get(name, ()) if self._is_unrelated(c)]
        return len(contents) - (content in contents)

    def _is_unrelated(self, content: int) -> bool:
        looks = self._looks.get(content, ())[:2]
        return len({self.normalize(look.parts).identity for look in looks}) == 2
