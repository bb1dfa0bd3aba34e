"""Stubs and walls. A stub is one content under many unrelated URLs, such as a captcha, a soft 404 or a login page.

An article under fifty URLs is no stub: its URLs have something in common, such as a slug or an id, that other URLs of
the site do not have. Nor is a post under sixty reply links: URLs are counted by their *places*. A place is a path,
whatever the query says; it is the whole URL at a path where queries tell pages apart, or name the page that was asked
for. Nor is a thread that is shown whole at the URL of each post, be it that each page marks its post
(:mod:`~scrapy_simdedup.detect.threads`), or that other threads come under several URLs, too. Where most of what a site
gave lately is one content, the site has put up a wall.

Pages with a text of their own each may be records, or one article with a quote of the day: where they are but a few,
and at one path whose queries nobody knows. What such pages say when they are fetched again tells which.
"""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter, deque
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from scrapy_simdedup.detect.names import are_unrelated, marks_of_url, may_name_page, text_digest
from scrapy_simdedup.detect.threads import MarkedLines, OtherRows
from scrapy_simdedup.signals import Wall

MIN_PLACES = 20
"""Places at which a content must have been fetched to be a stub."""
MIN_PLACES_OF_FAMILY = 8
"""Such places where each page says something else, as those of a family do: the dates of a course."""
MIN_PATHS_OF_RECORDS = 3
"""Paths from which pages may be a family, if they say the same when they are fetched again."""
MIN_QUERIES_OF_RECORDS = 4
"""Values of a parameter from which pages may be a family, if each has a line of its own and it is no session's."""
MIN_SAID_AGAIN = 3
"""Pages that must say the same again, where there are that many beside the first one."""
MIN_OTHER_TEXTS = 0.8
"""The share of a content's pages that say something else in their content, from which they are a family."""
MIN_CONTENTS_OF_QUERIES = 8
"""Contents at one path from which on its queries count as names of pages."""
MIN_QUERIES_OF_VIEWS = 3
"""Queries under which each of as many contents comes at a path that shows them under several, as forums do."""
MIN_SHARE_OF_PATH = 0.5
"""The share of a site's pages above which a path shows that, too, once there are enough of them: a captcha in front of
all pages is one content."""
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
MAX_TOKENS = 100
"""Different tokens, and different paths, that are counted per content. Of tokens there may be as many again before the
rarer half is forgotten."""
MAX_PATHS = 2000
"""Paths of a site whose contents are counted at a time; beyond, the older half is forgotten."""
MAX_SECTION_LENGTH = 24
"""Characters of the name of a part of a site; longer ones are those of pages."""
MAX_SAMPLES = 5
"""URLs that the signal of a wall names."""
MAX_SAMPLE_LENGTH = 500
"""Characters of these URLs."""
BYTES_PER_SITE, BYTES_PER_CONTENT, BYTES_PER_TOKEN, BYTES_PER_PAGE, BYTES_PER_PATH = 2_400, 1_000, 150, 300, 450
"""Bytes that a site, a content, each of its tokens and paths, a recent page, and a path of the site take, about."""
BYTES_PER_LINE = 80
"""Bytes that each line takes in which pages differ from a content."""
MAX_NOTE_BYTES = 128_000_000
"""Bytes of a note, once it is unpacked."""
_DIGIT = re.compile(r"\d")


@dataclass(slots=True)
class _ContentUrls:
    count: int = 0
    paths: dict[int, int] = field(default_factory=dict)
    """URLs by the hash of their path; those that name the page that was asked for have no path in common."""
    tokens: dict[str, int] = field(default_factory=dict)  # a Counter takes ten times as long to make
    samples: list[str] = field(default_factory=list)
    is_stub: bool = False
    other_texts: int = 0
    """Pages whose content differs from the original, however little."""
    marked: MarkedLines | None = None
    """The lines in which the pages differ from the original, of whatever length; None while none do."""
    may_be_records: bool = False
    """Whether the pages may be a family, which is known once some of them are fetched again."""
    said_again: int = 0
    """Pages that differ from the original, and did not change since their first fetch."""
    copies: int = 0
    """Pages with the text of the original at the path of the original."""
    texts: set[int] = field(default_factory=set)
    """Some of the different things that they say."""

    @property
    def is_thread(self) -> bool:
        """Whether the content is a thread, of which each page marks another post."""
        return self.marked is not None and self.marked.are_posts

    @property
    def may_be_thread(self) -> bool:
        """Whether the content is a thread, as far as that is known of a long one."""
        return self.marked is not None and self.marked.may_be_posts

    @property
    def is_family(self) -> bool:
        """Whether each page says something else, but for the first one and its copies at its own path."""
        copies = self.copies if len(self.paths) >= MIN_PATHS_OF_RECORDS else 0
        return self.other_texts >= MIN_OTHER_TEXTS * (self.count - 1 - copies)

    @property
    def least(self) -> int:
        """Places from which the content is a stub.

        Where rows of the content are joined, each stands for several posts, and it takes more pages to tell a thread.
        """
        is_joined = self.marked is not None and self.marked.are_joined
        return MIN_PLACES_OF_FAMILY if self.is_family and not is_joined else MIN_PLACES

    @property
    def own_lines(self) -> int:
        """How many lines the pages have of which each has its own; 0 where they may be marked posts."""
        if self.marked is None or self.may_be_thread or not self.is_family:
            return 0
        return len(self.marked.new)

    @property
    def have_queries(self) -> bool:
        """Whether each page has a text of its own, and its own value of a parameter that the first URL has, too.

        An article at its own path is no record, whatever is added to its URL to print it or to reply to somebody.
        """
        if 1 + len(self.texts) < MIN_QUERIES_OF_RECORDS or not self.is_family or self.may_be_thread:
            return False
        _, first = marks_of_url(self.samples[0])
        names = {name for token in first if (name := _parameter(token))}
        values = Counter(name for token in self.tokens if (name := _parameter(token)) in names)
        have_lines = self.own_lines >= len(self.texts)
        return any(
            min(count, 1 + len(self.texts))
            >= (MIN_QUERIES_OF_RECORDS if have_lines and may_name_page(name) else MIN_PLACES_OF_FAMILY)
            for name, count in values.items()
        )

    @property
    def to_ask(self) -> int:
        """How many pages must say again what they said to be records, if they may be some."""
        has_few = len(self.paths) >= MIN_PATHS_OF_RECORDS and self.own_lines >= MIN_PATHS_OF_RECORDS - 1
        return min(MIN_SAID_AGAIN, self.own_lines) if has_few else MIN_SAID_AGAIN

    @property
    def have_paths(self) -> bool:
        """Whether each URL ends in a name or a number, and none names the end of another one, as print views do.

        Names that differ in digits alone, such as ``draft-2`` and ``draft-3``, may be those of versions or of parts.
        """
        by_path = {marks_of_url(url)[0]: url for url in self.samples}
        ends = [path.rstrip("/").rpartition("/")[2].partition(".")[0] for path in by_path]
        names = {end if end.isdecimal() else _DIGIT.sub("", end) for end in ends}
        pairs = combinations(by_path.values(), 2)
        return len(names) == len(ends) and all(are_unrelated(one, other) for one, other in pairs)

    def has_a_name_for_each(self, token: str) -> bool:
        """Whether the URLs have a segment in common, and end in names of which hardly two differ in digits alone."""
        names = {_DIGIT.sub("", end) for end in self.tokens if end.startswith("end ")}
        return token.startswith("path ") and len(names) >= MIN_COMMON_TOKEN * self.count

    def add(self, url: str, path: int, tokens: frozenset[str], *, other_text: bool) -> None:
        self.copies += not other_text and path == next(iter(self.paths), None)
        self.count += 1
        self.other_texts += other_text
        if path in self.paths or len(self.paths) < MAX_TOKENS:
            self.paths[path] = self.paths.get(path, 0) + 1
        if len(self.tokens) > MAX_TOKENS:
            self.tokens = dict(Counter(self.tokens).most_common(MAX_TOKENS // 2))
        for token in sorted(tokens):  # in one order in all processes, as equally rare ones are forgotten by it
            self.tokens[token] = self.tokens.get(token, 0) + 1
        if len(self.samples) < MAX_SAMPLES:
            self.samples.append(url[:MAX_SAMPLE_LENGTH])

    def to_row(self) -> dict[str, Any]:
        """The counts as plain values."""
        packed = {"paths": list(self.paths.items()), "tokens": list(self.tokens.items()), "texts": sorted(self.texts)}
        marked = self.marked and self.marked.to_row()
        return {name: getattr(self, name) for name in self.__slots__} | packed | {"marked": marked}

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> _ContentUrls:
        """The counts from the row of :meth:`to_row`."""
        unpacked = {"paths": dict(row["paths"]), "tokens": dict(row["tokens"]), "texts": set(row["texts"])}
        return cls(**row | unpacked | {"marked": row["marked"] and MarkedLines.from_row(row["marked"])})


@dataclass(slots=True)
class _Path:
    pages: int = 0
    contents: set[str] = field(default_factory=set)


class StubDetector:
    """Detects the stubs and walls of one site, in bounded memory."""

    def __init__(self, site: str) -> None:
        self.unsaved: int = 0
        """Pages since the counts were saved."""
        self._site = site
        self._contents: dict[str, _ContentUrls] = {}
        self._recent: deque[tuple[str, frozenset[str]]] = deque(maxlen=RECENT_PAGES)
        self._walls: set[str] = set()
        self._pages = 0
        self._paths: dict[int, _Path] = {}

    @property
    def size(self) -> int:
        """Bytes that the detector takes, about."""
        tokens = sum(len(urls.tokens) + len(urls.paths) for urls in self._contents.values()) + sum(
            len(found) for _, found in self._recent
        )
        samples = sum(len(url) for urls in self._contents.values() for url in urls.samples)
        marked = [urls.marked for urls in self._contents.values() if urls.marked is not None]
        lines = BYTES_PER_LINE * sum(len(of.lost) + len(of.new) for of in marked)
        counted = BYTES_PER_CONTENT * (len(self._contents) + len(marked)) + BYTES_PER_PAGE * len(self._recent)
        return BYTES_PER_SITE + counted + BYTES_PER_TOKEN * tokens + BYTES_PER_PATH * len(self._paths) + samples + lines

    def observe(
        self,
        url: str,
        content: str,
        *,
        other_text: bool = False,
        text: int = 0,
        other_rows: OtherRows | None = None,
        said_before: bool = False,
    ) -> bool:
        """Count a page under its content; whether that content is a stub.

        ``other_text`` says whether the page does not say just what the content says, ``text`` is a digest of what it
        says, and ``other_rows`` are the lines in which the two differ; ``said_before`` says whether it was fetched
        before, and was as it is.
        """
        self.unsaved += 1
        asked, tokens = marks_of_url(url)
        path, urls = text_digest(asked), self._contents.get(content)
        if urls is None:
            if len(self._contents) >= MAX_CONTENTS:
                ranked = sorted(self._contents.items(), key=lambda entry: entry[1].count, reverse=True)
                self._contents = dict(ranked[: MAX_CONTENTS // 2])
            urls = self._contents[content] = _ContentUrls()
        urls.add(url, path, tokens, other_text=other_text)
        if other_rows is not None:
            urls.marked = urls.marked or MarkedLines()
            urls.marked.add(other_rows)
        urls.said_again += said_before and other_text
        if other_text and len(urls.texts) < MIN_PLACES_OF_FAMILY:
            urls.texts.add(text)
        self._count_path(path, content)
        self._recent.append((content, tokens))
        if not urls.is_stub and self._has_places(urls, urls.least):
            urls.is_stub = not urls.is_thread and not self._has_views(urls) and self._are_unrelated(content, urls)
        if not urls.may_be_records and MIN_PATHS_OF_RECORDS <= len(urls.paths) <= 1 + urls.own_lines:
            urls.may_be_records = urls.have_paths and self._are_unrelated(content, urls)
        urls.may_be_records = urls.may_be_records or urls.have_queries
        urls.is_stub |= urls.may_be_records and urls.said_again >= urls.to_ask and not urls.may_be_thread
        return urls.is_stub

    def to_ask(self, content: str) -> int:
        """How many pages of a content are to be fetched again to tell whether it is a family; 0 where none are.

        One at first: if it says something else by now, the content is none, whatever others say.
        """
        urls = self._contents.get(content)
        if urls is None or not urls.may_be_records or urls.is_stub or urls.may_be_thread:
            return 0
        return urls.to_ask if urls.said_again else 1

    def wall(self) -> Wall | None:
        """The wall that the newest page belongs to, reported once; None if it is none, or no new one."""
        if len(self._recent) < RECENT_PAGES // 2:
            return None
        content, _ = self._recent[-1]
        urls = self._contents.get(content)
        if urls is None or content in self._walls or not self._has_places(urls, MIN_PLACES):
            return None
        share = sum(content == other for other, _ in self._recent) / len(self._recent)
        if share < WALL_SHARE:
            return None
        if self._share_a_query(content, urls) or urls.is_thread:
            return None
        self._walls.add(content)
        urls.is_stub = True
        return Wall(self._site, share, tuple(urls.samples))

    def to_note(self, run: str) -> bytes:
        """The counts of a run, from which they go on in another process."""
        counts = {
            "run": run,
            "pages": self._pages,
            "walls": sorted(self._walls),
            "contents": [(content, urls.to_row()) for content, urls in self._contents.items()],
            "recent": [(content, sorted(tokens)) for content, tokens in self._recent],
            "paths": [(path, known.pages, sorted(known.contents)) for path, known in self._paths.items()],
        }
        return zlib.compress(json.dumps(counts, separators=(",", ":")).encode(), 1)

    @classmethod
    def from_note(cls, site: str, raw: bytes, run: str) -> StubDetector | None:
        """The detector whose counts a note has; None if it is of another run, or cannot be read."""
        made = cls(site)
        try:
            counts: dict[str, Any] = json.loads(zlib.decompressobj().decompress(raw, MAX_NOTE_BYTES))
            if counts["run"] != run:
                return None
            made._pages, made._walls = int(counts["pages"]), set(counts["walls"])
            made._contents = {content: _ContentUrls.from_row(row) for content, row in counts["contents"]}
            for content, tokens in counts["recent"]:
                made._recent.append((content, frozenset(tokens)))
            for path, pages, contents in counts["paths"]:
                made._paths[path] = _Path(int(pages), set(contents))
        except (ValueError, TypeError, KeyError, zlib.error):  # what cannot be read is counted anew
            return None
        return made

    def _count_path(self, path: int, content: str) -> None:
        self._pages += 1
        known = self._paths.get(path)
        if known is None:
            if len(self._paths) >= MAX_PATHS:
                self._paths = dict(list(self._paths.items())[MAX_PATHS // 2 :])
            known = self._paths[path] = _Path()
        known.pages += 1
        if len(known.contents) < MIN_CONTENTS_OF_QUERIES:
            known.contents.add(content)

    def _has_places(self, urls: _ContentUrls, least: int) -> bool:
        """Whether a content was fetched at so many places, which most contents were not."""
        return urls.count >= least and least <= sum(
            count if self._queries_tell(path) else 1 for path, count in urls.paths.items()
        )

    def _queries_tell(self, path: int) -> bool:
        """Whether pages at a path are told apart by their queries."""
        known = self._paths.get(path)
        return known is not None and (
            len(known.contents) >= MIN_CONTENTS_OF_QUERIES
            or (self._pages >= 2 * RECENT_PAGES and known.pages > MIN_SHARE_OF_PATH * self._pages)
        )

    def _has_views(self, urls: _ContentUrls) -> bool:
        """Whether a content comes unchanged at a path where others, too, come under several queries each.

        So do the threads of a forum that has a URL for each post, and marks none.
        """
        if urls.other_texts:
            return False
        path = max(urls.paths, key=urls.paths.__getitem__)
        others = (other for other in self._contents.values() if other is not urls and not other.is_stub)
        known = sum(other.paths.get(path, 0) >= MIN_QUERIES_OF_VIEWS for other in others)
        return known >= MIN_CONTENTS_OF_QUERIES

    def _share_a_query(self, content: str, urls: _ContentUrls) -> bool:
        """Whether most of the URLs have one path, where a parameter that they have in common names one page."""
        if max(urls.paths.values()) < MIN_COMMON_TOKEN * urls.count:
            return False
        others = [tokens for other, tokens in self._recent if other != content]
        return any(
            count >= MIN_COMMON_TOKEN * urls.count
            and sum(token in tokens for tokens in others) <= MAX_TOKEN_ELSEWHERE * len(others)
            for token, count in urls.tokens.items()
            if token.startswith("query ")
        )

    def _are_unrelated(self, content: str, urls: _ContentUrls) -> bool:
        others = [tokens for other, tokens in self._recent if other != content]
        seen = Counter(token for tokens in others for token in tokens)
        for token, count in urls.tokens.items():
            if count < MIN_COMMON_TOKEN * urls.count:
                continue
            # Too few other pages to compare with: only the end of a path, or a parameter, names a page.
            if len(others) < RECENT_PAGES // 8:
                if token.startswith(("end ", "query ")):
                    return False
            elif urls.is_family and (_is_section(token) or urls.has_a_name_for_each(token)):
                continue  # a family may have a part of the site for itself
            elif seen[token] < MAX_TOKEN_ELSEWHERE * len(others):
                return False
        return True


def _parameter(token: str) -> str:
    """The name of the parameter that a token has; empty for a token of the path."""
    kind, _, parameter = token.partition(" ")
    return parameter.partition("=")[0] if kind == "query" else ""


def _is_section(token: str) -> bool:
    """Whether a token is rather the name of a part of the site than that of a page, or its number.

    >>> [_is_section(token) for token in ("path events", "path events-2026", "path how-to-bake-bread", "end events")]
    [True, False, False, False]
    """
    kind, _, name = token.partition(" ")
    return kind == "path" and len(name) <= MAX_SECTION_LENGTH and name.count("-") <= 2 and not _DIGIT.search(name)
