"""Rules that somebody wrote, in the JSON of duplicate-url-discarder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus, urlsplit

from scrapy_simdedup.errors import SettingError
from scrapy_simdedup.urls.url_pattern import UrlPattern

GIVEN = "given"
"""What a rule that somebody wrote has removed from a URL is a part whose name begins like this."""

_EXAMPLE = '{"order": 1, "urlPattern": {"include": ["example.com"]}, "processor": "queryRemoval", "args": ["ref"]}'


@dataclass(frozen=True, slots=True)
class GivenRule:
    """What to remove from which URLs, because it does not change the page."""

    include: tuple[str, ...]
    """Patterns of the URLs (see UrlPattern); without any, all URLs that no other rule is about."""
    exclude: tuple[str, ...]
    processor: str
    """``queryRemoval``, ``queryRemovalExcept``, ``subpathRemoval`` or ``normalizer``."""
    args: tuple[Any, ...]
    """Names of parameters, or places in the path from 0 on."""
    order: int
    """Rules of a lower order are applied first."""

    @classmethod
    def from_dict(cls, rule: Mapping[str, Any]) -> GivenRule:
        """Read a rule.

        Raises:
            SettingError: it cannot be used.
        """
        try:
            pattern = rule["urlPattern"] if "urlPattern" in rule else rule["url pattern"]
            include, exclude = tuple(pattern.get("include") or ()), tuple(pattern.get("exclude") or ())
            made = cls(include, exclude, rule["processor"], tuple(rule.get("args") or ()), int(rule["order"]))
            kind = _ARGUMENTS[made.processor]
            usable = all(isinstance(text, str) for text in (*include, *exclude))
            usable = usable and all(type(arg) is kind for arg in made.args)
        except (KeyError, TypeError, ValueError, AttributeError):
            usable = False
        if not usable:
            raise SettingError("SIMDEDUP_URL_RULES", rule, f"write a rule such as {_EXAMPLE}")
        return made

    def to_dict(self) -> dict[str, Any]:
        """The rule as it stands in a file."""
        pattern: dict[str, Any] = {"include": list(self.include)}
        if self.exclude:
            pattern["exclude"] = list(self.exclude)
        rule: dict[str, Any] = {"order": self.order, "urlPattern": pattern, "processor": self.processor}
        return {**rule, "args": list(self.args)} if self.args else rule

    def __str__(self) -> str:
        return f"{self.processor}({','.join(map(str, self.args))})@{','.join(self.include) or '*'}"


def load_rules(text: str) -> list[GivenRule]:
    """Read a rule file.

    Raises:
        SettingError: it is no list of rules.
    """
    try:
        rules = json.loads(text)
    except ValueError:
        rules = None
    if not isinstance(rules, list):
        raise SettingError("SIMDEDUP_URL_RULES", text[:100], f"write a JSON list of rules such as {_EXAMPLE}")
    return [GivenRule.from_dict(rule) if isinstance(rule, Mapping) else GivenRule.from_dict({}) for rule in rules]


class GivenRules:
    """Given rules, ready to be applied to URLs; rules about all URLs yield to any rule about a URL."""

    def __init__(self, rules: Iterable[GivenRule]) -> None:
        self._specific: dict[str, list[_Compiled]] = {}
        self._universal: list[_Compiled] = []
        for rule in sorted(rules, key=lambda rule: rule.order):
            compiled = _Compiled(rule)
            hosts = {pattern.host for pattern in compiled.include}
            for host in hosts:
                self._specific.setdefault(host, []).append(compiled)
            if not hosts:
                self._universal.append(compiled)

    def __bool__(self) -> bool:
        return bool(self._specific or self._universal)

    def apply(self, url: str) -> tuple[str, tuple[tuple[str, str], ...]]:
        """What is left of a canonical URL, and what each rule has removed, as parts of the URL."""
        labels = urlsplit(url).netloc.split(".")
        hosts = ["", *(".".join(labels[i:]) for i in range(len(labels)))]
        found = [rule for host in hosts for rule in self._specific.get(host, ()) if rule.matches(url)]
        removed = []
        for rule in sorted(dict.fromkeys(found), key=lambda r: r.order) or self._universal:
            url, what = rule.process(url, rule.args)
            if what:
                removed.append((rule.name, what))
        return url, tuple(removed)


class _Compiled:
    __slots__ = ("args", "exclude", "include", "name", "order", "process")

    def __init__(self, rule: GivenRule) -> None:
        self.name = f"{GIVEN}:{rule}"
        self.order = rule.order
        self.args = rule.args
        self.include = [UrlPattern(text) for text in rule.include if text]
        self.exclude = [UrlPattern(text) for text in rule.exclude]
        self.process = _PROCESSORS[rule.processor]

    def matches(self, url: str) -> bool:
        return any(p.matches(url) for p in self.include) and not any(p.matches(url) for p in self.exclude)


# ------------------------------------------------------------------ processors: URL, args → what is left, what is gone


def _remove_query(url: str, gone: Callable[[str], bool]) -> tuple[str, str]:
    head, _, query = url.partition("?")
    pieces = [piece for piece in query.split("&") if piece]
    removed = [piece for piece in pieces if gone(unquote_plus(piece.partition("=")[0]))]
    left = "&".join(piece for piece in pieces if piece not in removed)
    return (f"{head}?{left}" if left else head, "&".join(removed)) if removed else (url, "")


def _query_removal(url: str, args: Sequence[Any]) -> tuple[str, str]:
    return _remove_query(url, lambda name: name in args)


def _query_removal_except(url: str, args: Sequence[Any]) -> tuple[str, str]:
    return _remove_query(url, lambda name: name not in args)


def _subpath_removal(url: str, args: Sequence[Any]) -> tuple[str, str]:
    parts = urlsplit(url)
    subpaths = re.findall("/[^/]*", parts.path)
    removed = [f"{place}{subpath}" for place, subpath in enumerate(subpaths) if place in args]
    left = "".join(subpath for place, subpath in enumerate(subpaths) if place not in args)
    return parts._replace(path=left or "/").geturl(), "".join(removed)


def _normalizer(url: str, _: Sequence[Any]) -> tuple[str, str]:
    parts = urlsplit(url)
    host = re.sub(r"^www\d*\.", "", parts.netloc)
    path = parts.path.rstrip("/") or "/"
    removed = parts.netloc[: len(parts.netloc) - len(host)] + parts.path[len(path) :]
    return parts._replace(netloc=host, path=path).geturl(), removed


_PROCESSORS: dict[str, Callable[[str, Sequence[Any]], tuple[str, str]]] = {
    "queryRemoval": _query_removal,
    "queryRemovalExcept": _query_removal_except,
    "subpathRemoval": _subpath_removal,
    "normalizer": _normalizer,
}
_ARGUMENTS: dict[str, type] = {"queryRemoval": str, "queryRemovalExcept": str, "subpathRemoval": int, "normalizer": str}
