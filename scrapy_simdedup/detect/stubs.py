"""Stubs and walls. A stub is one content under many unrelated URLs, such as a captcha, a soft 404 or a login page.

An article under fifty URLs is no stub: its URLs have something in common, such as a slug or an id, that other URLs of
the site do not have. Where most of what a site gave lately is one content, the site has put up a wall.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from scrapy_simdedup.signals import Wall

if TYPE_CHECKING:
    from collections.abc import Hashable

MIN_URLS = 20
"""URLs under which a content must have been fetched to be a stub."""
MIN_COMMON_TOKEN = 0.8
"""The URLs of a content are related if this share of them has a token in common that other pages do not have."""
MAX_TOKEN_ELSEWHERE = 0.2
"""A token says nothing if this share of the site's other recent URLs has it, too."""
RECENT_PAGES = 80
"""Recent pages of a site: a wall is looked for among them, and a content's URLs are compared with theirs."""
WALL_SHARE = 0.5
"""The share of the recent pages that one content must have to be a wall."""
MAX_CONTENTS = 1000
"""Contents of a site that are counted at a time; beyond, those with the fewest URLs are forgotten."""
MAX_TOKENS = 200
"""Different tokens that are counted per content."""
MAX_SAMPLES = 5
"""URLs that the signal of a wall names."""


@dataclass(slots=True)
class _ContentUrls:
    count: int = 0
    tokens: Counter[str] = field(default_factory=Counter)
    samples: list[str] = field(default_factory=list)
    is_stub: bool = False

    def add(self, url: str, tokens: frozenset[str]) -> None:
        self.count += 1
        if len(self.tokens) > MAX_TOKENS:
            self.tokens = Counter(dict(self.tokens.most_common(MAX_TOKENS // 2)))
        self.tokens.update(tokens)
        if len(self.samples) < MAX_SAMPLES:
            self.samples.append(url)


class StubDetector:
    """Detects the stubs and walls of one site, in bounded memory.

    Args:
        site: the site's name, for :class:`~scrapy_simdedup.signals.Wall`.
    """

    def __init__(self, site: str) -> None:
        self._site = site
        self._contents: dict[Hashable, _ContentUrls] = {}
        self._recent: deque[tuple[Hashable, frozenset[str]]] = deque(maxlen=RECENT_PAGES)
        self._walls: set[Hashable] = set()

    def observe(self, url: str, content: Hashable) -> bool:
        """Count a page under its content; whether that content is a stub."""
        tokens = url_tokens(url)
        urls = self._contents.get(content)
        if urls is None:
            if len(self._contents) >= MAX_CONTENTS:
                ranked = sorted(self._contents.items(), key=lambda entry: entry[1].count, reverse=True)
                self._contents = dict(ranked[: MAX_CONTENTS // 2])
            urls = self._contents[content] = _ContentUrls()
        urls.add(url, tokens)
        self._recent.append((content, tokens))
        if not urls.is_stub and urls.count >= MIN_URLS:
            urls.is_stub = self._are_unrelated(content, urls)
        return urls.is_stub

    def wall(self) -> Wall | None:
        """The wall that the newest page belongs to, reported once; None if it is none, or no new one."""
        if len(self._recent) < RECENT_PAGES // 2:
            return None
        contents = [content for content, _ in self._recent]
        content = contents[-1]
        urls = self._contents.get(content)
        share = contents.count(content) / len(contents)
        if urls is None or urls.count < MIN_URLS or share < WALL_SHARE or content in self._walls:
            return None
        self._walls.add(content)
        urls.is_stub = True
        return Wall(self._site, share, tuple(urls.samples))

    def _are_unrelated(self, content: Hashable, urls: _ContentUrls) -> bool:
        others = [tokens for other, tokens in self._recent if other != content]
        seen = Counter(token for tokens in others for token in tokens)
        for token, count in urls.tokens.items():
            if count < MIN_COMMON_TOKEN * urls.count:
                continue
            # Too few other pages to compare with: only the end of a path, or a parameter, names a page.
            if len(others) < RECENT_PAGES // 8:
                if token.startswith(("end ", "query ")):
                    return False
            elif seen[token] < MAX_TOKEN_ELSEWHERE * len(others):
                return False
        return True


def url_tokens(url: str) -> frozenset[str]:
    """The tokens of a URL: the segments of its path, the last segment as the end, and its parameters.

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
