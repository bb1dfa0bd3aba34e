"""The rules that a user gives, in JSON that is a superset of duplicate-url-discarder's, and what they are about."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlsplit

from scrapy_simdedup.errors import SettingError

GIVEN_PREFIX = "given"
"""Beginning of the names of parts that given rules have removed from URLs."""
MAX_DEPTH = 8
"""Segments of a path that its pattern is made of."""
PART_REMOVAL = "partRemoval"
"""The processor that duplicate-url-discarder does not have: it leaves out parts, as the learner names them."""
SESSION_PLACEHOLDER = "\1"
"""Replaces a segment of a path that looks like a session id; the segment itself becomes a part."""
_PREFIX = "prefix="
"""Beginning of an argument of :data:`PART_REMOVAL` about a first segment, which no URL is seen to have by itself."""
_EXAMPLE = '{"order": 1, "urlPattern": {"include": ["example.com"]}, "processor": "queryRemoval", "args": ["ref"]}'
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


class UrlPattern:
    """A pattern of URLs in the language of url-matcher, which duplicate-url-discarder uses.

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
        self.host: str = parts.netloc.lower().removeprefix("www.")
        """The domain without ``www.``; empty for any domain."""
        below = "" if parts.path or parts.query else r"(?:.*\.)?"
        self._host = re.compile(rf"(?:www\.)?{below}{re.escape(self.host)}\Z")
        exact = parts.path.endswith("|")
        path = _wildcards(parts.path.removesuffix("|"))
        self._path = re.compile(path + (r"\Z" if exact else ""), re.IGNORECASE)
        self._query: dict[str, list[re.Pattern[str]]] = {}
        for name, value in parse_qsl(parts.query, keep_blank_values=True):
            self._query.setdefault(name.lower(), []).append(re.compile(_wildcards(value) + r"\Z", re.IGNORECASE))

    def matches(self, url: str) -> bool:
        """Whether a canonical URL matches the pattern."""
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


@dataclass(frozen=True, slots=True)
class GivenRule:
    """A rule of the user: what to remove from which URLs, because it does not change the page."""

    include: tuple[str, ...]
    """Patterns of the URLs (see ``UrlPattern``); none for all URLs that no other rule is about."""
    exclude: tuple[str, ...]
    processor: str
    """``queryRemoval``, ``queryRemovalExcept``, ``subpathRemoval``, ``normalizer``, or our own ``partRemoval``."""
    args: tuple[Any, ...]
    """Names of parameters, or places in the path from 0 on; of ``partRemoval`` parts, such as ``query:sid``, or parts
    with the value that does not matter, such as ``query:print=1``."""
    order: int
    """Rules of a lower order are applied first."""
    path: str | None = None
    """Of ``partRemoval``: the kind of path, such as ``article/<number>``; None for any."""

    @classmethod
    def from_dict(cls, rule: Mapping[str, Any]) -> GivenRule:
        """Read a rule; a SettingError if it cannot be used."""
        with suppress(KeyError, TypeError, ValueError, AttributeError):
            pattern = rule["urlPattern"] if "urlPattern" in rule else rule["url pattern"]
            include, exclude = tuple(pattern.get("include") or ()), tuple(pattern.get("exclude") or ())
            path = rule.get("pathPattern") if rule["processor"] == PART_REMOVAL else None
            made = cls(include, exclude, rule["processor"], tuple(rule.get("args") or ()), int(rule["order"]), path)
            argument_type = str if made.processor == PART_REMOVAL else _PROCESSORS[made.processor][0]
            patterns_are_texts = all(isinstance(text, str) for text in (*include, *exclude, path or ""))
            if patterns_are_texts and all(type(arg) is argument_type for arg in made.args):
                return made
        raise SettingError("SIMDEDUP_URL_RULES", rule, f"write a rule such as {_EXAMPLE}")

    def to_dict(self) -> dict[str, Any]:
        """The rule as a rule file writes it."""
        pattern: dict[str, Any] = {"include": list(self.include)}
        if self.exclude:
            pattern["exclude"] = list(self.exclude)
        rule: dict[str, Any] = {"order": self.order, "urlPattern": pattern, "processor": self.processor}
        if self.path is not None:
            rule["pathPattern"] = self.path
        return {**rule, "args": list(self.args)} if self.args else rule

    def __str__(self) -> str:
        path = "" if self.path is None else f" {self.path}"
        return f"{self.processor}({','.join(map(str, self.args))})@{','.join(self.include) or '*'}{path}"


def load_rules(text: str) -> list[GivenRule]:
    """Read a rule file; a SettingError if it is no list of rules."""
    try:
        rules = json.loads(text)
    except ValueError:
        rules = None
    if not isinstance(rules, list):
        raise SettingError("SIMDEDUP_URL_RULES", text[:100], f"write a JSON list of rules such as {_EXAMPLE}")
    return [GivenRule.from_dict(rule) for rule in rules]


class GivenRules:
    """Given rules, ready to be applied to URLs; rules about all URLs yield to rules with a matching pattern."""

    def __init__(self, rules: Iterable[GivenRule]) -> None:
        self._specific: dict[str, list[_CompiledRule]] = {}
        self._universal: list[_CompiledRule] = []
        self._of_parts: list[tuple[_CompiledRule, str | None]] = []
        rules = list(rules)
        arguments = [arg for rule in rules if rule.processor == PART_REMOVAL for arg in rule.args]
        self.prefixes: frozenset[str] = frozenset(a[len(_PREFIX) :] for a in arguments if a.startswith(_PREFIX))
        """First segments of paths that the rules leave out."""
        for rule in sorted(rules, key=lambda rule: rule.order):
            compiled = _CompiledRule(rule)
            if rule.processor == PART_REMOVAL:
                self._of_parts.append((compiled, rule.path))
                continue
            hosts = {pattern.host for pattern in compiled.include}
            for host in hosts:
                self._specific.setdefault(host, []).append(compiled)
            if not hosts:
                self._universal.append(compiled)

    def __bool__(self) -> bool:
        return bool(self._specific or self._universal or self._of_parts)

    def apply(self, url: str) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Apply the rules to a canonical URL; returns what is left of it, and what each rule has removed as a part."""
        labels = urlsplit(url).netloc.split(".")
        hosts = ["", *(".".join(labels[i:]) for i in range(len(labels)))]
        found = [rule for host in hosts for rule in self._specific.get(host, ()) if rule.matches(url)]
        removed = []
        for rule in sorted(dict.fromkeys(found), key=lambda r: r.order) or self._universal:
            url, what = rule.process(url, rule.args)
            if what:
                removed.append((rule.name, what))
        return url, tuple(removed)

    def rename_parts(self, url: str, segments: Sequence[str], parts: dict[str, str]) -> dict[str, str]:
        """The parts of a URL; those that rules leave out are named after their rule."""
        for rule, path in self._of_parts:
            wanted = [arg for arg in rule.args if arg.partition("=")[0] in parts] if parts else []
            if not wanted or (path is not None and not path_matches(path, segments)):
                continue
            if rule.include and not rule.matches(url):
                continue
            for arg in wanted:
                name, has_value, value = arg.partition("=")
                if name in parts and (not has_value or parts[name] == value):
                    parts = {f"{rule.name} {key}" if key == name else key: held for key, held in parts.items()}
        return parts


def path_matches(pattern: str, segments: Sequence[str]) -> bool:
    """Whether a path is of a kind, as the learner names it.

    >>> path_matches("article/<number>", ("article", "7")), path_matches("article/*", ("article", "7"))
    (True, False)
    >>> path_matches("shop/**", ("shop", "pans", "iron")), path_matches("**", ())
    (True, True)
    """
    tokens = pattern.split("/") if pattern else []
    if tokens[-1:] == ["**"]:
        tokens = tokens[:-1]
        if tokens and len(segments) <= len(tokens):
            return False
    elif len(tokens) != min(len(segments), MAX_DEPTH):
        return False
    return all(map(_segment_matches, tokens, segments))


def _segment_matches(token: str, segment: str) -> bool:
    if token not in {"<number>", "<token>", "<slug>", "*"}:
        return token == segment
    if segment.isdecimal() or segment == SESSION_PLACEHOLDER:
        return token == ("<number>" if segment.isdecimal() else "<token>")
    is_slug = len(segment) > 24 or segment.count("-") > 2 or any(map(str.isdigit, segment))
    return token == ("<slug>" if is_slug else "*")


class _CompiledRule:
    __slots__ = ("args", "exclude", "include", "name", "order", "process")

    def __init__(self, rule: GivenRule) -> None:
        self.name = f"{GIVEN_PREFIX}:{rule}"
        self.order = rule.order
        self.args = rule.args
        self.include = [UrlPattern(text) for text in rule.include if text]
        self.exclude = [UrlPattern(text) for text in rule.exclude]
        if rule.processor != PART_REMOVAL:
            _, self.process = _PROCESSORS[rule.processor]

    def matches(self, url: str) -> bool:
        return any(p.matches(url) for p in self.include) and not any(p.matches(url) for p in self.exclude)


def _remove_query(url: str, args: Sequence[Any], *, listed: bool = True) -> tuple[str, str]:
    """Remove the parameters whose names are listed in the arguments, or those whose names are not."""
    head, _, query = url.partition("?")
    pieces = [piece for piece in query.split("&") if piece]
    removed = [piece for piece in pieces if (unquote_plus(piece.partition("=")[0]) in args) is listed]
    left = "&".join(piece for piece in pieces if piece not in removed)
    return (f"{head}?{left}" if left else head, "&".join(removed)) if removed else (url, "")


def _remove_subpaths(url: str, args: Sequence[Any]) -> tuple[str, str]:
    parts = urlsplit(url)
    subpaths = re.findall("/[^/]*", parts.path)
    removed = [f"{place}{subpath}" for place, subpath in enumerate(subpaths) if place in args]
    left = "".join(subpath for place, subpath in enumerate(subpaths) if place not in args)
    return parts._replace(path=left or "/").geturl(), "".join(removed)


def _normalize(url: str, _: Sequence[Any]) -> tuple[str, str]:
    parts = urlsplit(url)
    host = re.sub(r"^www\d*\.", "", parts.netloc)
    path = parts.path.rstrip("/") or "/"
    removed = parts.netloc[: len(parts.netloc) - len(host)] + parts.path[len(path) :]
    return parts._replace(netloc=host, path=path).geturl(), removed


_PROCESSORS: dict[str, tuple[type, Callable[[str, Sequence[Any]], tuple[str, str]]]] = {
    "queryRemoval": (str, _remove_query),
    "queryRemovalExcept": (str, partial(_remove_query, listed=False)),
    "subpathRemoval": (int, _remove_subpaths),
    "normalizer": (str, _normalize),
}
"""Name → type of the arguments, and function: URL, arguments → what is left of the URL, what was removed."""
