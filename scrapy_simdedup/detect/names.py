"""Names: the site, the key and the marks of a URL; the name and the context of a run; the settings of a page."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote_plus, urlsplit

from w3lib.url import canonicalize_url

from scrapy_simdedup.setting_checks import host_of_key, is_pattern
from scrapy_simdedup.settings import DedupSettings, Scope
from scrapy_simdedup.store.base import Sleep
from scrapy_simdedup.urls.given import UrlPattern
from scrapy_simdedup.urls.parts import (
    canonical_url,
    is_nearly_canonical,
    is_session,
    is_tracking,
    query_parameters,
    registrable_domain,
)

ALL_SITES = "*"
"""The one site of the scope ``all``."""
MAX_HOSTS = 10_000
"""Hosts whose sites are kept: each page, and each of its links, asks for its site."""
MAX_URL_TOKENS = 20
"""Segments of a URL's path, and parameters, that are looked at."""
MAX_TOKEN_LENGTH = 40
"""Characters of a token; a longer one is its beginning and a hash."""
_PLAIN_URL = re.compile(r"https?://[a-z0-9.-]+(?::(?:[1-9]\d{0,3}|[1-5]\d{4}))?(?:/(?:[\w~-][\w.~-]*)?)+", re.ASCII)
_WITHOUT_VALUE = re.compile(r"(?<=[?&;])[^=&;#]*=(?=[&;#]|\Z)")
_BETWEEN_NAMES = re.compile(r"[/?&=:;#]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NAME_IN_URL = re.compile(r"[^\W_]{3,}")
_DATE_IN_URL = re.compile(
    r"(?<!\d)(?:(?:19|20)\d\d([-/_.]?)(?:0?[1-9]|1[0-2])\1([0-2]?\d|3[01])"
    r"|([0-2]?\d|3[01])([-/_.])(?:0?[1-9]|1[0-2])\4(?:19|20)\d\d)(?!\d)"
)
"""A date with its day; behind the year or before it."""


def site_of(url: str, scope: Scope = "domain") -> str:
    """The site of a URL: its registrable domain, its host, or one for all.

    >>> site_of("https://shop.example.co.uk/a"), site_of("https://alice.github.io/")
    ('example.co.uk', 'alice.github.io')
    >>> site_of("http://localhost:8000/"), site_of("http://127.0.0.1:8000/"), site_of("http://[::1]/")
    ('localhost', '127.0.0.1', '::1')
    >>> site_of("https://shop.example.co.uk/a", "host"), site_of("https://shop.example.co.uk/a", "all")
    ('shop.example.co.uk', '*')
    """
    return ALL_SITES if scope == "all" else _site_of("/".join(url.split("/", 3)[:3]), scope)


@lru_cache(MAX_HOSTS)
def _site_of(url: str, scope: Scope) -> str:
    """The site of a URL that ends behind its host."""
    host = host_of(url)
    return registrable_domain(host) if scope == "domain" else host


def host_of(url: str) -> str:
    """The URL's host in lower case, without port and final dot; empty where there is none."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def without_surrogates(url: str) -> str:
    """The URL with U+FFFD for each lone surrogate, as browsers have it; no store could hold it as it is."""
    return _SURROGATE.sub("\ufffd", url)


def comparable_url(url: str) -> str:
    """A URL in the form in which Scrapy compares URLs; most are in it, and w3lib takes 25 µs for each.

    Raises:
        ValueError: it is none.

    >>> comparable_url("http://site.example/a-1/b"), comparable_url("http://site.example?b&a=1#top")
    ('http://site.example/a-1/b', 'http://site.example/?a=1&b=')
    """
    return url if _PLAIN_URL.fullmatch(url) else canonicalize_url(url)


def url_key(url: str) -> bytes:
    """The key of a page without a request fingerprint: a digest of its canonicalised URL."""
    with suppress(ValueError):  # a URL that cannot be parsed stays as it is
        url = comparable_url(url)
    return hashlib.blake2b(url.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def parameters_of(url: str) -> list[tuple[str, str]]:
    """The parameters of a URL, in their order; none where nobody can tell what they are, as of ``http://[/``."""
    try:
        return query_parameters(urlsplit(url).query)
    except ValueError:
        return []


def may_name_page(parameter: str) -> bool:
    """Whether a parameter may say which page is asked for, as one with the name of a session or of tracking does not.

    >>> may_name_page("id"), may_name_page("phpsessid"), may_name_page("utm_source")
    (True, False, False)
    """
    return not (is_session(f":{parameter}") or is_tracking(f"query:{parameter}"))


def without_fragment(url: str) -> str:
    """A URL without the place in its page."""
    return url.partition("#")[0]


def marks_of_url(url: str) -> tuple[str, frozenset[str]]:
    """The path of a URL, and its tokens: the segments of the path, the last segment as the end, and the parameters.

    To the path belongs the page that was asked for, where a parameter names that, as those of log-ins do.

    >>> path, tokens = marks_of_url("http://site.example/news/rain?page=2")
    >>> path, sorted(tokens)
    ('/news/rain', ['end rain', 'path news', 'path rain', 'query page=2'])
    >>> path, tokens = marks_of_url("http://site.example/git?a=blob;f=LICENSE")
    >>> path, sorted(tokens)
    ('/git', ['end git', 'path git', 'query a=blob', 'query f=LICENSE'])
    >>> [marks_of_url(f"http://site.example/{rest}")[0] for rest in ("post?replytocom=3", "login?next=/post&lang=en")]
    ['/post', '/login /post']
    """
    parameters: list[tuple[str, str]] = []
    if _PLAIN_URL.fullmatch(url):  # as most are, whose parts are found sooner
        path = url[url.index("/", len("https://")) :]
    else:
        try:
            parts = urlsplit(url)
        except ValueError:
            return url, frozenset({_shortened(f"path {url}")})
        path, parameters = parts.path, query_parameters(parts.query)[:MAX_URL_TOKENS]
    asked = [value for _, value in parameters if value.startswith(("/", "http://", "https://"))]
    words = [word.lower() for word in path.split("/") if word]
    tokens = {f"path {word}" for word in words[:MAX_URL_TOKENS]}
    if words:
        tokens.add(f"end {words[-1]}")
    tokens.update([f"query {name}={value}" for name, value in parameters])
    return " ".join([path, *asked]), frozenset(map(_shortened, tokens))


def are_unrelated(url: str, other: str) -> bool:
    """Whether the paths of two URLs do not say that both lead to one page: neither names the end of the other.

    >>> page = "http://site.example/news/rain"
    >>> [are_unrelated(page, f"http://site.example/{path}") for path in ("print/rain", "news/rain?from=1", "news/snow")]
    [False, False, True]
    """
    (_, ours), (_, theirs) = marks_of_url(url), marks_of_url(other)
    ends = {token.replace("end ", "path ", 1) for token in ours | theirs if token.startswith("end ")}
    return ends.isdisjoint(ours & theirs)


def lead_to_one_page(url: str, other: str) -> bool:
    """Whether two URLs seem to be of one page: one path names the end of the other, and no parameter has two values.

    >>> page = "http://site.example/thread?id=7"
    >>> [lead_to_one_page(page, page.replace("id=7", query)) for query in ("id=7&from=home", "id=8", "id=7&sid=2")]
    [True, False, True]
    >>> lead_to_one_page(page + "&sid=1", page + "&sid=2"), lead_to_one_page(page, "http://site.example/other?id=7")
    (True, False)
    """
    one, two = dict(parameters_of(url)), dict(parameters_of(other))
    return not are_unrelated(url, other) and all(
        one[name] == two[name] for name in one.keys() & two.keys() if may_name_page(name)
    )


def end_of_url(url: str) -> tuple[str, set[str]]:
    """A URL up to the last segment of its path, and the words and numbers from there on, but for short ones.

    What stands before is the section in which an article was found, as a rule. A short number may be that of a page.
    """
    path, _, query = url.partition("#")[0].partition("?")
    place, _, last = path.rstrip("/").rpartition("/")
    return place, set(_NAME_IN_URL.findall(unquote_plus(f"{last} {query}").lower()))


def names_in(url: str) -> Counter[str]:
    """What stands between the marks of a URL behind its host, but for parameters without a value.

    >>> sorted(names_in("http://wiki.example/do/?page=tea&view=&rev="))
    ['do', 'page', 'tea']
    """
    asked = _WITHOUT_VALUE.sub("", url.partition("://")[2].partition("/")[2])
    return Counter(filter(None, _BETWEEN_NAMES.split(unquote_plus(asked))))


def day_in_place_of(url: str, other: str) -> int:
    """The day of the month in the date of a URL, where another URL has another date; else 0.

    >>> course, others = "http://site.example/course?on=", ("2026-05-04", "2026-05-03&from=home", "")
    >>> [day_in_place_of(f"{course}2026-05-03", f"{course}{other}") for other in others]
    [3, 0, 0]
    """
    ours, theirs = _DATE_IN_URL.search(url), _DATE_IN_URL.search(other)
    if ours is None or theirs is None or ours[0] == theirs[0] or url[: ours.start()] != other[: theirs.start()]:
        return 0
    return day_in_url(url)


def day_in_url(url: str) -> int:
    """The day of the month in the date of a URL; 0 where it has none."""
    date = _DATE_IN_URL.search(url)
    return int(date[2] or date[3]) if date else 0


def _shortened(token: str) -> str:
    half = MAX_TOKEN_LENGTH // 2
    return token if len(token) <= MAX_TOKEN_LENGTH else f"{token[:half]}{text_digest(token):0{half}x}"


def text_digest(text: str) -> int:
    """64 bits of a text; unlike those of ``hash()``, they are the same in all processes."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


@dataclass(frozen=True, slots=True)
class RunContext:
    """A run, and of its process the worker's name, the clock and the way to sleep."""

    run: str
    """The run's name, which the workers of one crawl share."""
    worker: str
    """The name of this process; see :func:`~scrapy_simdedup.detect.site_logs.worker_name`."""
    now: Callable[[], float]
    """The clock, in seconds since the epoch."""
    sleep: Sleep
    """Lets other work of the process go on for some seconds."""


def run_name(spider: str, jobdir: str | None) -> str:
    """A new name for each crawl; a job that is paused and resumed keeps the one in its directory."""
    name = f"{spider}-{datetime.now(timezone.utc):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
    if not jobdir:
        return name
    note = Path(jobdir) / "simdedup.run"
    note.parent.mkdir(parents=True, exist_ok=True)
    known = note.read_text(encoding="utf-8").strip() if note.exists() else ""
    if not known:  # it is empty where the disk was full, or the process was killed, when it was written
        note.write_text(name + "\n", encoding="utf-8")
    return known or name


def spider_of(run: str) -> str:
    """The spider of a run, from the name that :func:`run_name` made."""
    return run.rsplit("-", 2)[0]


_PORT = re.compile(r"\A(https?://[^/?]*?):\d+(?=[/?]|\Z)")


class PageSettings:
    """Finds the settings of a page by its URL, whose port does not matter.

    1. All pages have the settings of the crawl.
    2. Over them come those of the page's site: of its host, or else of its registrable domain.
    3. Over these come those of the most specific URL pattern that fits: one with a host before one without, then the
       longest path, in which ``*`` does not count. A SettingError says if they contradict those of the site.
    """

    def __init__(self, settings: DedupSettings) -> None:
        self._settings = settings
        patterns = sorted(filter(is_pattern, settings.site_settings), key=_specificity, reverse=True)
        self._patterns = [(key, UrlPattern(key)) for key in patterns]
        self._made: dict[tuple[str, ...], DedupSettings] = {}
        for pattern in patterns:
            host = host_of_key(pattern).removeprefix("www.")
            for name in (host, f"www.{host}") if host else ("", *settings.site_settings):
                self._of(name, pattern)

    def of(self, url: str) -> DedupSettings:
        """The settings of the page with this URL."""
        if not self._settings.site_settings:
            return self._settings
        return self._of(host_of(url), self.pattern_of(url))

    def of_site(self, site: str) -> DedupSettings:
        """The settings of those pages of a site, a host or a registrable domain, that fit no pattern."""
        return self._of(site, None)

    def pattern_of(self, url: str) -> str | None:
        """The pattern of ``SIMDEDUP_SITE_SETTINGS`` that a URL fits; None if it fits none."""
        if not self._patterns:
            return None
        clean = url if is_nearly_canonical(url) else canonical_url(url)
        if clean is None:
            return None
        clean = _PORT.sub(r"\1", clean)
        return next((key for key, pattern in self._patterns if pattern.matches(clean)), None)

    def _of(self, host: str, pattern: str | None) -> DedupSettings:
        site = next((name for name in (host, registrable_domain(host)) if self._settings.site_settings.get(name)), None)
        keys = tuple(key for key in (site, pattern) if key is not None)
        if keys not in self._made:
            self._made[keys] = self._settings.with_site_settings(*keys)
        return self._made[keys]


def _specificity(pattern: str) -> tuple[bool, int]:
    host = host_of_key(pattern)
    return bool(host), len(pattern[len(host) :].replace("*", ""))
