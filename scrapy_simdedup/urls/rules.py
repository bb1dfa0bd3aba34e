"""The rules of a site as plain values, to be read, stored, or exported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simdedup.urls.given import GivenRule
from scrapy_simdedup.urls.patterns import EVERYWHERE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_simdedup.urls.site import Site

_UTM = ("utm_campaign", "utm_content", "utm_id", "utm_medium", "utm_source", "utm_term")


@dataclass(frozen=True, slots=True)
class Rule:
    """A part of URLs that does not change the page, and what that rests on."""

    site: str
    host: str
    """The host of the first page of the site."""
    pattern: str
    """Where it holds: a path pattern, or ``**`` for the whole site."""
    parts: tuple[str, ...]
    """What does not matter, such as ``query:sid``; several parts if they only change together."""
    value: str | None
    """The only value that does not matter; None if none does."""
    in_force: bool
    """False if it was refuted."""
    given: bool
    """Whether it was a rule from the start, not learned."""
    successes: int
    """Trials with the same content."""
    failures: int
    """Trials with another content."""
    contents: int
    """Different contents among the successes, up to 128."""
    verified: int
    """Successful verifications since it is in force; each failure halves them."""
    skipped: int
    """Fetches that it saved, those included that were made up for after it fell."""
    counter_examples: tuple[str, ...]
    """The latest URLs that led to another content."""

    def __str__(self) -> str:
        return "+".join(self.parts) + ("" if self.value is None else f"={self.value}")


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A rule came into force or fell."""

    fetched: int
    """Pages of the site that had been fetched."""
    site: str
    pattern: str
    rule: str
    in_force: bool


def rules_of(site: Site) -> Iterator[Rule]:
    """All rules of a site, in force or refuted, those that saved the most first."""
    found = [
        Rule(
            site.name, site.host, pattern.name, h.names, h.value, e.holds, h.given,
            e.successes, e.failures, len(e.contents), e.verified, e.skips, tuple(e.examples),
        )
        for pattern in site.tree.patterns.values()
        for h, e in pattern.evidence.items()
        if e.holds is not None
    ]  # fmt: skip
    yield from sorted(found, key=lambda rule: -rule.skipped)


def export_rules(rules: Iterable[Rule]) -> list[GivenRule]:
    """The rules that duplicate-url-discarder can express, in no case about more URLs than they were learned from.

    That are irrelevant parameters of a whole site, of paths that begin with a word, or of a literal path.
    """
    names: dict[str, list[str]] = {}
    for rule in rules:
        kind, _, name = rule.parts[0].partition(":")
        where = _url_pattern(rule)
        learned = rule.in_force and not rule.given
        if learned and kind == "query" and len(rule.parts) == 1 and rule.value is None and where is not None:
            names.setdefault(where, []).extend(_UTM if name == "utm_*" else (name,))
    return [
        GivenRule((where,), (), "queryRemoval", tuple(sorted(set(found))), order)
        for order, (where, found) in enumerate(sorted(names.items()), 1)
    ]


def _url_pattern(rule: Rule) -> str | None:
    if rule.pattern == EVERYWHERE:
        return rule.site
    host = rule.host.removeprefix("www.")
    first, _, rest = rule.pattern.partition("/")
    if rest == EVERYWHERE and "<" not in first and first != "*":
        return f"{host}/{first}/"
    if any(sign in rule.pattern for sign in "<*|") or rule.pattern == "...":
        return None
    return f"{host}/{rule.pattern}|"
