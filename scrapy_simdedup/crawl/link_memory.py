"""What a crawl remembers of links, in few bytes each: which it met and requested, and how those of a pattern fared."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from html import unescape
from itertools import islice
from urllib.parse import urljoin, urlsplit
from weakref import WeakSet

from scrapy import Request
from scrapy.http import TextResponse
from scrapy.utils.response import get_base_url

from scrapy_simdedup.detect.names import comparable_url, host_of, site_of
from scrapy_simdedup.page.parse import utf8
from scrapy_simdedup.settings import Scope
from scrapy_simdedup.urls.compact import KeyedHash, SortedMap
from scrapy_simdedup.urls.evidence import wilson_bound
from scrapy_simdedup.urls.parts import query_parameters

MAX_LINKS = 10_000_000
"""Entries of the memory, at most 20 bytes each; repeats are followed for other links at once. A link that was requested
and is on a repeat as well has two."""
MAX_CACHED = 20_000
"""URLs whose keys are kept, as most links are on many pages."""
MAX_PAGE_LINKS = 5_000
"""Links of a repeat that are read; a page with more is followed."""
_FIND_HREF = re.compile(rb"""href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""").finditer
"""In lower case, as a search for letters in either case takes ten times as long."""
_IS_WHOLE = re.compile(r"https?://\w[^\s;\[\]]*(?<!\?)", re.ASCII).fullmatch
"""Whether a link is a URL of which ``urljoin`` makes no other, in ten times as long."""
MAX_PATTERNS = 50_000
"""Patterns that are counted; beyond, the oldest is forgotten, and tried again."""
MAX_CHAIN = 3
"""Repeats in a row behind which all links of a host are one pattern. A server that ignores the end of a path gives one
content under paths that grow forever, and so under patterns that never end."""
END_BOUND = 0.05
"""A pattern ends when the upper bound for its share of links that lead to new content is below."""
CONFIDENCE_Z = 1.96
"""Standard deviations of a two-sided confidence of 95 %."""
_HAS_DIGIT = re.compile(r"\d")


class LinkMemory:
    """Reads the links of pages, and remembers which of them a crawl has met, in at most 20 bytes each.

    The secret is the store's: without it nobody can make two links that are taken for one.
    """

    _MET, _REQUESTED, _UNMET = 0, 1, 2

    def __init__(self, scope: Scope, secret: bytes, max_links: int) -> None:
        self._scope, self._max_links = scope, max_links
        self.hash: KeyedHash = KeyedHash(blake2b(secret, digest_size=32, person=b"simdedup links").digest())
        self._known = SortedMap()
        self.key: Callable[[str], tuple[str, int] | None] = lru_cache(MAX_CACHED)(self._key)
        """The site of a link, and its hash, keyed by secret and site; None for a URL that is none."""

    def __len__(self) -> int:
        return len(self._known)

    @property
    def is_full(self) -> bool:
        """Whether no further link is remembered."""
        return len(self._known) >= self._max_links

    def site(self, url: str) -> str:
        """The site of an absolute URL."""
        return site_of(url, self._scope)

    def links_to_own_site(self, response: TextResponse, max_size: int) -> set[str] | None:
        """The absolute URLs of the links of a page to its own site; None if that is too much to read.

        All values of ``href`` are taken, in whatever elements, without parsing the page once more: one too many has a
        callback called for nothing, once.
        """
        text = response.text
        if len(text) > max_size:
            return None
        raw = utf8(text, "surrogatepass")
        places = [match.span(match.lastindex or 0) for match in islice(_FIND_HREF(raw.lower()), MAX_PAGE_LINKS + 1)]
        if len(places) > MAX_PAGE_LINKS:
            return None
        found = [raw[start:end].decode("utf-8", "surrogatepass") for start, end in places]
        base, site = get_base_url(response), self.site(response.url)
        parts = urlsplit(base)
        origin = f"{parts.scheme}://{parts.netloc}" if self.site(base) == site else None
        urls = set()
        for href in {unescape(href).strip().partition("#")[0] for href in found} - {""}:
            if origin is not None and href[0] == "/" and href[1:2] != "/":  # as most are: there is nothing to work out
                urls.add(origin + href)
                continue
            with suppress(ValueError):
                url = href if _IS_WHOLE(href) else urljoin(base, href)
                if url.startswith(("http://", "https://")) and self.site(url) == site:
                    urls.add(url)
        return urls

    def has_new(self, urls: Iterable[str], page: str) -> bool:
        """Whether one of a page's links was neither requested, nor on another page for which this was asked.

        Links are remembered as they are written: to canonicalise them takes ten times as long, so only those are that
        were met nowhere yet. The page itself is no new link.
        """
        site, itself, known = self.site(page), self.key(page), self._known
        room, unmet = self._max_links - len(known), []
        for url in urls:
            written = self.hash(site, url)
            if known.get(written) in {None, self._UNMET}:
                unmet.append(url)
                if len(unmet) <= room:
                    known.put(written, self._MET)
        for url in unmet:
            with suppress(ValueError):  # it is none
                key = self.hash(site, comparable_url(url))
                if (site, key) != itself and known.get(key) != self._REQUESTED:
                    return True
        return False

    def forget(self, urls: Iterable[str], page: str) -> None:
        """Take the links of a page for ones that were met nowhere, as the callback that was called for them failed."""
        site, known = self.site(page), self._known
        for url in urls:
            if known.get(written := self.hash(site, url)) == self._MET:
                known.put(written, self._UNMET)

    def request(self, key: int) -> bool:
        """Remember that a link was requested, or deferred; whether it was not before."""
        known = self._known.get(key)
        if known == self._REQUESTED:
            return False
        if known is not None or not self.is_full:
            self._known.put(key, self._REQUESTED)
        return True

    def _key(self, url: str) -> tuple[str, int] | None:
        with suppress(ValueError):
            site = site_of(url, self._scope)
            return site, self.hash(site, comparable_url(url))
        return None


def link_pattern(url: str, chain: int = 1) -> str:
    """The pattern of a link: its host, its path, and the sorted names of its parameters.

    Segments with a digit become ``#``, segments of 12 and more characters ``*``.

    >>> link_pattern("https://blog.example/2024/post-7/a?p=1&replytocom=9")
    'blog.example/#/#/a?p&replytocom'
    >>> link_pattern("https://blog.example/a/b/c", chain=4)
    'blog.example/...'
    """
    host = host_of(url)
    if chain > MAX_CHAIN:
        return f"{host}/..."
    parts = urlsplit(url)
    segments = ("#" if _HAS_DIGIT.search(word) else word if len(word) < 12 else "*" for word in parts.path.split("/"))
    names = sorted({name[:40] for name, _ in query_parameters(parts.query)})
    return host + "/".join(segments) + ("?" + "&".join(names) if names else "")


class LinkPatterns:
    """Counts of a job so far: how many links of each pattern were tried, and how many of them led to new content."""

    def __init__(self, counts: dict[str, list[int]]) -> None:
        self._counts = counts
        self._in_flight: dict[str, WeakSet[Request]] = {}
        """Trials on their way. One that is lost on it, as another filter took it, is not counted for long."""

    def defer(self, pattern: str) -> int:
        """Count a link that is deferred; how many the pattern has."""
        counts = self._of(pattern)
        counts[0] += 1
        return counts[0]

    def begin(self, pattern: str, request: Request) -> None:
        """Expect the outcome of a trial."""
        self._in_flight.setdefault(pattern, WeakSet()).add(request)

    def end(self, pattern: str, request: Request, *, is_new: bool | None) -> None:
        """Count the outcome of a trial; None if it says nothing."""
        in_flight = self._in_flight.get(pattern)
        if in_flight is not None:
            in_flight.discard(request)
            if not in_flight:
                del self._in_flight[pattern]
        if is_new is not None:
            counts = self._of(pattern)
            counts[1] += 1
            counts[2] += is_new

    def bound(self, pattern: str) -> float:
        """The upper bound for the share of the pattern's links that lead to new content."""
        _, tried, new = self._counts.get(pattern, (0, 0, 0))
        return wilson_bound(new, tried - new, CONFIDENCE_Z)

    def is_undecided(self, pattern: str) -> bool:
        """Whether the pattern ends if all trials on their way lead to nothing new."""
        in_flight = self._in_flight.get(pattern)
        if not in_flight:
            return False
        _, tried, new = self._counts.get(pattern, (0, 0, 0))
        return wilson_bound(new, tried - new + len(in_flight), CONFIDENCE_Z) < END_BOUND <= self.bound(pattern)

    def _of(self, pattern: str) -> list[int]:
        counts = self._counts.get(pattern)
        if counts is None:
            if len(self._counts) >= MAX_PATTERNS:
                del self._counts[next(iter(self._counts))]
            counts = self._counts[pattern] = [0, 0, 0]
        return counts
