"""The parts of a URL: a path, and optional parts around it, which may or may not change the page; and its site."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from urllib.parse import parse_qsl, urlsplit

from tldextract import TLDExtract
from w3lib.url import canonicalize_url

from scrapy_simdedup.urls.given import SESSION_PLACEHOLDER, GivenRules

MAX_URL_LENGTH = 2000
"""Characters of a URL above which it is neither learned from nor skipped."""
_QUERY_WORD = "[A-Za-z0-9_.~-]*"
_NEARLY_CANONICAL = re.compile(
    rf"https?://[a-z0-9.-]+(?:/[A-Za-z0-9_.~;=-]*)+(?:\?{_QUERY_WORD}(?:={_QUERY_WORD})?(?:&{_QUERY_WORD}(?:={_QUERY_WORD})?)*)?\Z"
)
_DEFAULT_PORT = {"http": 80, "https": 443}
_TRACKING_SOURCES = {
    "https://support.google.com/analytics/answer/10917952": "utm_*",
    "https://support.google.com/searchads/answer/7342044": "gclid gclsrc",
    "https://bugzilla.mozilla.org/show_bug.cgi?id=1836737": "dclid",
    "https://github.com/mpchadwick/tracking-query-params-registry": (
        "gbraid wbraid _ga _gl msclkid yclid twclid epik mc_cid mc_eid"
    ),
    "https://developers.facebook.com/docs/marketing-api/conversions-api/parameters/fbp-and-fbc/": "fbclid",
    "https://matomo.org/faq/how-to/faq_120": "mtm_campaign mtm_keyword mtm_kwd pk_campaign pk_keyword pk_kwd",
}
TRACKING_PARAMETERS = {name: source for source, names in _TRACKING_SOURCES.items() for name in names.split()}
"""Parameter → its documentation. Rules about them are in force from the start, verified and revocable like others."""
MAX_PARTS = 40
"""Parts of one URL that can be learned about; further parts always matter."""
FLAG_PARTS = frozenset({"scheme", "slash", "slashes", "index", "suffix", "locale", "prefix", "view"})
"""Parts of which one value can be like absence, but which are never irrelevant whatever their value."""
_INDEX = re.compile(r"(?:index|default|home)\.(?:html?|php|aspx?|jsp|cfm)\Z")
_WORD = re.compile(r"[a-z]{2,10}\Z")
_SESSION_SEGMENT = re.compile(
    r"(?i:(?=.*[a-f])[0-9a-f]{12,}\Z|\([as]\([0-9a-z]{12,}\)\)\Z)"
    r"|(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[0-9A-Za-z]{16,}\Z|(?=.*[a-z])(?=(?:.*\d){3})[0-9a-z]{20,}\Z"
)
_LOCALE = re.compile(r"(?i:[a-z]{2}[-_][a-z]{2}|en|de|fr|es|pt|nl|pl|ru|ja|zh|ko|ar|tr|sv|da|fi|cs)\Z")
_VIEWS = frozenset({"amp", "print", "printable", "printer", "printview", "mobile", "m", "embed", "reader"})
"""Segments before the last one that may name a view of the page."""
_TOKEN_VALUE = re.compile(r"(?=.*\d)[0-9A-Za-z_-]{16,}={0,2}\Z|\d{9,}\Z")
_SESSION_NAME = re.compile(r"(?i)(?:(?:php)?sess?(?:ion)?_?id|jsessionid|aspsessionid\w*|s_?id|cftoken|cfid)\Z")
_FULL_STOPS = str.maketrans("\u3002\uff0e\uff61", "...")
"""Other characters than the dot that separate the labels of a host (RFC 3490, section 3.1)."""


def canonical_url(url: str) -> str | None:
    """A URL with sorted parameters and without default port, fragment, dot segments and needless percent-encoding.

    ``?a`` is written ``?a=`` but never removed: whether an empty parameter matters has to be learned. None for a text
    that is no HTTP URL in one line, is longer than ``MAX_URL_LENGTH``, or names a user.

    >>> canonical_url("HTTP://EXAMPLE.com:80/a/../b?y=2&x=1#top")
    'http://example.com/b?x=1&y=2'
    """
    if len(url) > MAX_URL_LENGTH or "\n" in url:
        return None
    try:
        clean = canonicalize_url(url, keep_blank_values=True)
        parts = urlsplit(clean)
        host, port = parts.hostname, parts.port
    except ValueError:  # UnicodeError is one, too
        return None
    if parts.scheme not in _DEFAULT_PORT or not host or "@" in parts.netloc:
        return None
    netloc = f"[{host}]" if ":" in host else host
    if port is not None and port != _DEFAULT_PORT[parts.scheme]:
        netloc += f":{port}"
    return parts._replace(netloc=netloc).geturl()


def is_nearly_canonical(url: str) -> bool:
    """Whether a URL is canonical but for the order of its parameters: four of five are, and w3lib costs 15 µs."""
    return len(url) <= MAX_URL_LENGTH and _NEARLY_CANONICAL.match(url) is not None and "/." not in url


def query_parameters(query: str) -> list[tuple[str, str]]:
    """The parameters of a query, between which some applications write semicolons (HTML 4.01, B.2.2).

    >>> query_parameters("a=blob;f=LICENSE"), query_parameters("text=a;b&page=2")
    ([('a', 'blob'), ('f', 'LICENSE')], [('text', 'a;b'), ('page', '2')])
    >>> query_parameters("board=1;sort=views;desc"), query_parameters("colours=red;blue")
    ([('board', '1'), ('sort', 'views'), ('desc', '')], [('colours', 'red;blue')])
    """
    return parse_qsl(query, keep_blank_values=True, separator=";" if _has_semicolons(query) else "&")


def _has_semicolons(query: str) -> bool:
    """Whether semicolons stand between the parameters of a query, and are not part of a value.

    A parameter may be a word without a value, if two others have one: alone it may as well be of a list of values.
    """
    pieces = query.split(";")
    if len(pieces) == 1 or "&" in query or "=" not in pieces[0]:
        return False
    words = [piece for piece in pieces if "=" not in piece]
    return not words or (len(pieces) - len(words) > 1 and all(map(str.isalpha, words)))


@dataclass(frozen=True, slots=True)
class UrlParts:
    """A canonical URL, taken apart. Each part can be absent, so dropping a part always gives a URL of the site."""

    scheme: str
    host: str
    """Lower case, with its port where that is not the default."""
    segments: tuple[str, ...]
    """The path in lower case, without its parts; session ids are replaced by ``SESSION_PLACEHOLDER``."""
    parts: tuple[tuple[str, str], ...]
    """Pairs of part and value, such as ``("query:sid", "1")``, at most ``MAX_PARTS``, each part once."""
    rest: str
    """What is never left out, as text: the parts beyond ``MAX_PARTS``, and what stands between parameters but ``&``."""


def split_url(url: str, given: GivenRules | None = None, prefixes: frozenset[str] = frozenset()) -> UrlParts | None:
    """Take a URL apart; None if it has no :func:`canonical_url`.

    What a given rule removes from the URL is a part, too, and so is a first segment that is one of the ``prefixes``.

    >>> split_url("http://example.com/story/amp?ref=rss").parts
    (('suffix', 'amp'), ('query:ref', 'rss'))
    >>> split_url("http://example.com/list?facet=red&facet=red").parts
    (('query:facet', 'red'), ('repeats', 'query:facet'))
    """
    separator = ""
    if ";" in url:
        head, mark, query = url.partition("#")[0].partition("?")
        if _has_semicolons(query):
            url, separator = head + mark + query.replace(";", "&"), ";"
    clean = url if is_nearly_canonical(url) else canonical_url(url)
    if clean is None:
        return None
    clean, removed = given.apply(clean) if given else (clean, ())
    scheme, _, rest = clean.partition("://")
    rest, _, query = rest.partition("?")
    host, _, path = rest.partition("/")
    parts: dict[str, str] = dict(removed)
    segments = _split_path(path, parts, prefixes | given.prefixes if given else prefixes)
    values: dict[str, list[str]] = {}
    for piece in query.split("&") if query else ():
        if piece:
            name, _, value = piece.partition("=")
            if name[:4].lower() == "utm_":
                name, value = "utm_*", piece
            values.setdefault("query:" + name, []).append(value)
    for name, found in values.items():
        parts[name] = "&".join(sorted(set(found)))
    repeated = sorted(name for name, found in values.items() if len(set(found)) < len(found))
    if repeated:
        parts["repeats"] = ",".join(repeated)
    pairs = tuple((given.rename_parts(clean, segments, parts) if given else parts).items())
    rest = separator + (str(pairs[MAX_PARTS:]) if len(pairs) > MAX_PARTS else "")
    return UrlParts(scheme, host, tuple(segments), pairs[:MAX_PARTS], rest)


def _split_path(path: str, parts: dict[str, str], prefixes: frozenset[str]) -> list[str]:
    """The segments of a path without its parts, which are added to ``parts``."""
    segments = path.split("/")
    if not segments[-1]:
        segments.pop()
        if segments:
            parts["slash"] = "/"
    if "" in segments:
        parts["slashes"] = ",".join(str(i) for i, segment in enumerate(segments) if not segment)
        segments = [segment for segment in segments if segment]
    if ";" in path:
        _take_path_parameters(segments, parts)
    if segments and "slash" not in parts and _INDEX.match(segments[-1]):
        parts["index"] = segments.pop()
        if segments:
            parts["slash"] = "/"  # /a/index.html is the index of /a/, not of /a
    if len(segments) > 1 and _WORD.match(segments[-1]):
        parts["suffix"] = segments.pop()
    _take_views(segments, parts)
    if prefixes and len(segments) > 1 and segments[0].lower() in prefixes:
        parts["prefix"] = segments.pop(0).lower()
    if len(segments) > 1 and _LOCALE.match(segments[0]):
        parts["locale"] = segments.pop(0)  # behind a view or a prefix, too: /amp/en/story is a view of /en/story
    lower = [segment.lower() for segment in segments]
    for i, segment in enumerate(segments):
        if len(segment) >= 12 and _SESSION_SEGMENT.match(segment):
            parts[f"segment:{i}"] = segment
            segments[i] = lower[i] = SESSION_PLACEHOLDER
    if lower != segments:
        parts["spelling"] = "/".join(segments)
    return lower


def _take_path_parameters(segments: list[str], parts: dict[str, str]) -> None:
    """Make parts of the parameters behind segments, such as ``;jsessionid=1``."""
    for i, segment in enumerate(segments):
        segments[i], *params = segment.split(";")
        for param in params:
            name, _, value = param.partition("=")
            name = "path:" + name
            parts[name] = f"{parts[name]};{value}" if name in parts else value


def _take_views(segments: list[str], parts: dict[str, str]) -> None:
    """Make a part of the segments that name a view, before the last one."""
    views = [(i, segment) for i, segment in enumerate(segments[:-1]) if _is_view(segment.lower())]
    if views:
        parts["view"] = ",".join(f"{segment}@{i}" for i, segment in views)
        for i, _ in reversed(views):
            del segments[i]


def _is_view(segment: str) -> bool:
    """Whether a segment names a view, or is the program that shows what the others name: ``/index.php/story``."""
    return segment in _VIEWS or _INDEX.match(segment) is not None


def looks_random(value: str) -> bool:
    """Whether a value looks like a session id, a nonce or a time stamp, not like a word or a number of something."""
    return _TOKEN_VALUE.match(value) is not None


def is_session(part: str) -> bool:
    """Whether a part has a name that programs give to session ids."""
    return _SESSION_NAME.match(part.partition(":")[2]) is not None


def is_tracking(part: str) -> bool:
    """Whether a part of a URL is one of the ``TRACKING_PARAMETERS``.

    >>> is_tracking("query:gclid"), is_tracking("query:utm_source"), is_tracking("query:ref")
    (True, True, False)
    """
    kind, _, name = part.partition(":")
    return kind == "query" and (name in TRACKING_PARAMETERS or name[:4].lower() == "utm_")


@lru_cache(maxsize=10_000)
def registrable_domain(host: str) -> str:
    """The registrable domain of a host; the host itself if it has none, as IP addresses and bare suffixes.

    >>> registrable_domain("www.shop.example.co.uk"), registrable_domain("alice.github.io"), registrable_domain("::1")
    ('example.co.uk', 'alice.github.io', '::1')
    """
    rules, labels = _public_suffixes(), host.translate(_FULL_STOPS).rstrip(".").split(".")
    for at in range(len(labels)):
        name, rest = ".".join(labels[at:]).lower(), ".".join(labels[at + 1 :]).lower()
        if f"!{name}" in rules:  # an exception to a wildcard rule
            return ".".join(labels[at:])
        if name in rules or f"*.{rest}" in rules:
            return ".".join(labels[at - 1 :]) if at and labels[at - 1] else host
    return host


def site_name(netloc: str) -> str:
    """The registrable domain of a host that may have a port after it, and a user before it.

    >>> site_name("www.example.com"), site_name("user@127.0.0.1:8080"), site_name("[::1]:8080")
    ('example.com', '127.0.0.1', '[::1]')
    """
    netloc = netloc.rpartition("@")[2]
    return registrable_domain(netloc if netloc.endswith("]") else netloc.rsplit(":", 1)[0])


@cache
def _public_suffixes() -> frozenset[str]:
    """The Public Suffix List as packaged with tldextract: nothing reaches the network or the disk.

    Private suffixes count, so that the users of a host such as github.io are sites of their own and cannot displace
    each other's pages. tldextract itself would keep trees of 17,000 nodes, which the garbage collector visits again
    and again while a crawl runs; a set of texts it skips.
    """
    extract = TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)
    return frozenset(form for rule in extract.tlds for form in (rule, _ascii(rule)))


def _ascii(rule: str) -> str:
    """A rule with its labels in Punycode (RFC 3492), as requests send them."""
    labels = rule.split(".")
    return ".".join(label if label.isascii() else f"xn--{label.encode('punycode').decode()}" for label in labels)
