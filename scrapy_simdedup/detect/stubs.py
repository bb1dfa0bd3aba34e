"""Stubs and walls: one content under many unrelated URLs is no content, but a captcha, a soft 404 or a login page.

An article under fifty URLs is something else: its URLs have a bond, such as its slug or its id, that other pages of the
site do not have. Where most of what a site gave lately is one content, it has put up a wall.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

if TYPE_CHECKING:
    from collections.abc import Hashable

MEMBERS = 20
"""URLs under which a content must have come before it can be a stub."""
BOND = 0.8
"""A token that this share of a content's URLs has in common binds them, ..."""
COMMON = 0.2
"""... unless this share of the site's other recent URLs has it, too."""
WINDOW = 80
"""Recent pages of a site that are looked at for a wall, and for what its other URLs look like."""
WALL = 0.5
"""The share of them that one content must have to be a wall."""
CONTENTS = 1000
"""Contents of a site that are followed at a time; beyond, those with the fewest URLs are forgotten."""
TOKENS = 200
"""Different tokens that are counted per content."""
SAMPLES = 5
SITES = 1000
"""Sites that are watched at a time."""


@dataclass(frozen=True, slots=True)
class Wall:
    """A site that answers with one content, whatever it is asked for."""

    site: str
    share: float
    """Of the site's recent pages, 0..1."""
    samples: tuple[str, ...]
    """A few of the URLs."""


@dataclass(slots=True)
class _Members:
    count: int = 0
    tokens: Counter[str] = field(default_factory=Counter)
    samples: list[str] = field(default_factory=list)
    stub: bool = False

    def add(self, url: str, tokens: frozenset[str]) -> None:
        self.count += 1
        if len(self.tokens) > TOKENS:
            self.tokens = Counter(dict(self.tokens.most_common(TOKENS // 2)))
        self.tokens.update(tokens)
        if len(self.samples) < SAMPLES:
            self.samples.append(url)


class StubWatch:
    """Watches one site's repeats, in bounded memory.

    Args:
        site: its name, for :class:`Wall`.
    """

    def __init__(self, site: str) -> None:
        self._site = site
        self._contents: dict[Hashable, _Members] = {}
        self._recent: deque[tuple[Hashable, frozenset[str]]] = deque(maxlen=WINDOW)
        self._walls: set[Hashable] = set()

    def see(self, url: str, content: Hashable) -> bool:
        """A page came; ``content`` tells what it repeats, or itself. Whether that content is a stub."""
        tokens = url_tokens(url)
        members = self._contents.get(content)
        if members is None:
            members = self._contents[content] = _Members()
            self._forget_rare(content)
        members.add(url, tokens)
        self._recent.append((content, tokens))
        if not members.stub and members.count >= MEMBERS:
            members.stub = self._unbound(content, members)
        return members.stub

    def wall(self) -> Wall | None:
        """The wall that the newest page belongs to, told once; None if it is none, or no new one."""
        if len(self._recent) < WINDOW // 2:
            return None
        contents = [content for content, _ in self._recent]
        content = contents[-1]
        members = self._contents.get(content)
        share = contents.count(content) / len(contents)
        if members is None or members.count < MEMBERS or share < WALL or content in self._walls:
            return None
        self._walls.add(content)
        members.stub = True
        return Wall(self._site, share, tuple(members.samples))

    def _unbound(self, content: Hashable, members: _Members) -> bool:
        others = [tokens for other, tokens in self._recent if other != content]
        seen = Counter(token for tokens in others for token in tokens)
        for token, count in members.tokens.items():
            if count < BOND * members.count:
                continue
            # Too few other pages to compare with: only what ends a path, or a parameter, names a page.
            if len(others) < WINDOW // 8:
                if token.startswith(("end ", "query ")):
                    return False
            elif seen[token] < COMMON * len(others):
                return False
        return True

    def _forget_rare(self, newest: Hashable) -> None:
        if len(self._contents) > CONTENTS:
            ranked = sorted(self._contents.items(), key=lambda entry: entry[1].count, reverse=True)
            self._contents = dict(ranked[: CONTENTS // 2])
            self._contents.setdefault(newest, _Members())


class StubWatches:
    """One watch per site, those asked for last."""

    def __init__(self) -> None:
        self._watches: dict[str, StubWatch] = {}

    def of(self, site: str) -> StubWatch:
        """The site's watch."""
        watch = self._watches.pop(site, None) or StubWatch(site)
        self._watches[site] = watch
        if len(self._watches) > SITES:
            del self._watches[next(iter(self._watches))]
        return watch


def url_tokens(url: str) -> frozenset[str]:
    """What a URL is made of: the words of its path, its last one, and its parameters.

    >>> sorted(url_tokens("http://site.example/news/rain?page=2"))
    ['end rain', 'path news', 'path rain', 'query page=2']
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return frozenset({f"path {url}"})
    words = [word.lower() for word in parts.path.split("/") if word]
    tokens = {f"path {word}" for word in words}
    if words:
        tokens.add(f"end {words[-1]}")
    tokens.update(f"query {name}={value}" for name, value in parse_qsl(parts.query, keep_blank_values=True)[:40])
    return frozenset(tokens)
