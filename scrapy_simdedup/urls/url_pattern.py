"""URL patterns as rule files write them: the language of url-matcher, which duplicate-url-discarder uses."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlsplit

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


class UrlPattern:
    """A set of URLs.

    ``example.com`` is the domain with its subdomains, ``example.com/a`` are paths beginning with ``/a`` of the domain
    with or without ``www.``, ``/a|`` is exactly this path of any domain, ``/a?id=*`` has a parameter ``id``. A ``*``
    stands for anything; the case does not matter.

    >>> UrlPattern("example.com").matches("https://shop.example.com/a?b=1")
    True
    >>> UrlPattern("example.com/a|?id=*").matches("http://www.example.com/a?id=7")
    True
    >>> UrlPattern("example.com/a|").matches("http://example.com/a/b")
    False
    """

    __slots__ = ("_host", "_path", "_query", "_scheme", "host")

    def __init__(self, text: str) -> None:
        parts = urlsplit(text if _SCHEME.match(text) else f"//{text}")
        self._scheme = parts.scheme.lower()
        self.host = parts.netloc.lower().removeprefix("www.")
        """The domain without ``www.``; empty for any."""
        below = "" if parts.path or parts.query else r"(?:.*\.)?"
        self._host = re.compile(rf"(?:www\.)?{below}{re.escape(self.host)}\Z")
        exact = parts.path.endswith("|")
        path = _wildcards(parts.path.removesuffix("|"))
        self._path = re.compile(path + (r"\Z" if exact else ""), re.IGNORECASE)
        self._query: dict[str, list[re.Pattern[str]]] = {}
        for name, value in parse_qsl(parts.query, keep_blank_values=True):
            self._query.setdefault(name.lower(), []).append(re.compile(_wildcards(value) + r"\Z", re.IGNORECASE))

    def matches(self, url: str) -> bool:
        """Whether a canonical URL is in the set."""
        parts = urlsplit(url)
        if (self._scheme and parts.scheme != self._scheme) or (self.host and not self._host.match(parts.netloc)):
            return False
        if not self._path.match(parts.path):
            return False
        values: dict[str, list[str]] = {}
        for name, value in parse_qsl(parts.query, keep_blank_values=True) if self._query else ():
            values.setdefault(name.lower(), []).append(value)
        return all(
            any(wanted.match(value) for wanted in alternatives for value in values.get(name, ()))
            for name, alternatives in self._query.items()
        )


def _wildcards(text: str) -> str:
    return ".*".join(map(re.escape, text.split("*")))
