"""A URL as a path and the optional parts around it, each of which may or may not change the page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simdedup.urls.canonical import canonical_url, is_plain

if TYPE_CHECKING:
    from scrapy_simdedup.urls.given import GivenRules

TOKEN = "\1"  # noqa: S105 - no password
"""Stands in a path for a segment that looks like a session id; the segment itself is a part."""

MAX_PARTS = 40
"""Parts of one URL that can be learned about; whatever more there is belongs to the path."""

SWITCHES = frozenset({"scheme", "slash", "slashes", "index", "suffix"})
"""Parts of which a value can be like absence, but which are never irrelevant whatever their value."""

_INDEX = re.compile(r"(?:index|default|home)\.(?:html?|php|aspx?|jsp|cfm)\Z")
_WORD = re.compile(r"[a-z]{2,10}\Z")
_SESSION_SEGMENT = re.compile(r"(?=.*[a-f])[0-9a-f]{12,}\Z|\([as]\([0-9a-z]{12,}\)\)\Z")
_TOKEN_VALUE = re.compile(r"(?=.*\d)[0-9A-Za-z_-]{16,}={0,2}\Z|\d{9,}\Z")
_SESSION_NAME = re.compile(
    r"(?:(?:php)?sess?(?:ion)?_?id|jsessionid|aspsessionid\w*|s_?id|cftoken|cfid)\Z", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class UrlParts:
    """A canonical URL, taken apart. Every part can be absent, so dropping one always gives another URL of the site."""

    scheme: str
    host: str
    """Lower case, with its port where that is not the default."""
    segments: tuple[str, ...]
    """The path in lower case, without the parts; session ids in it are ``TOKEN``."""
    parts: tuple[tuple[str, str], ...]
    """Pairs of part and value, such as ``("query:sid", "1")``, at most ``MAX_PARTS``; no part comes twice."""
    rest: str
    """What is left beyond ``MAX_PARTS``."""


def split_url(url: str, given: GivenRules | None = None) -> UrlParts | None:
    """Take a URL apart; None for what :func:`~scrapy_simdedup.urls.canonical.canonical_url` refuses.

    What given rules remove is a part, too.

    >>> split_url("http://example.com/story/amp?ref=rss").parts
    (('suffix', 'amp'), ('query:ref', 'rss'))
    """
    clean = url if is_plain(url) else canonical_url(url)
    if clean is None:
        return None
    clean, removed = given.apply(clean) if given else (clean, ())
    scheme, _, rest = clean.partition("://")
    rest, _, query = rest.partition("?")
    host, _, path = rest.partition("/")
    parts: dict[str, str] = dict(removed)
    segments = _split_path(path, parts)
    values: dict[str, list[str]] = {}
    for piece in query.split("&") if query else ():
        if piece:
            name, _, value = piece.partition("=")
            if name[:4].lower() == "utm_":
                name, value = "utm_*", piece
            values.setdefault("query:" + name, []).append(value)
    for name, found in values.items():
        parts[name] = found[0] if len(found) == 1 else "&".join(sorted(found))
    pairs = tuple(parts.items())
    return UrlParts(
        scheme, host, tuple(segments), pairs[:MAX_PARTS], str(pairs[MAX_PARTS:]) if len(pairs) > MAX_PARTS else ""
    )


def _split_path(path: str, parts: dict[str, str]) -> list[str]:
    """The segments that are left when the parts of a path have been put into ``parts``."""
    segments = path.split("/")
    if not segments[-1]:
        segments.pop()
        if segments:
            parts["slash"] = "/"
    if "" in segments:
        parts["slashes"] = ",".join(str(i) for i, segment in enumerate(segments) if not segment)
        segments = [segment for segment in segments if segment]
    if ";" in path:
        for i, segment in enumerate(segments):
            segments[i], *params = segment.split(";")
            for param in params:
                name, _, value = param.partition("=")
                name = "path:" + name
                parts[name] = f"{parts[name]};{value}" if name in parts else value
    if segments and "slash" not in parts and _INDEX.match(segments[-1]):
        parts["index"] = segments.pop()
        if segments:
            parts["slash"] = "/"  # /a/index.html is the index of /a/, not of /a
    if len(segments) > 1 and _WORD.match(segments[-1]):
        parts["suffix"] = segments.pop()
    lower = [segment.lower() for segment in segments]
    for i, segment in enumerate(lower):
        if len(segment) >= 12 and _SESSION_SEGMENT.match(segment):
            parts[f"segment:{i}"] = segments[i]
            segments[i] = lower[i] = TOKEN
    if lower != segments:
        parts["spelling"] = "/".join(segments)
    return lower


def looks_random(value: str) -> bool:
    """Whether a value looks like a session id, a nonce or a time stamp, not like a word or a number of something."""
    return _TOKEN_VALUE.match(value) is not None


def is_session(part: str) -> bool:
    """Whether a part has a name that programs give to session ids."""
    return _SESSION_NAME.match(part.partition(":")[2]) is not None
