"""The rules of a site as plain values: to be shown or exported, or left to the next crawl.

There they are candidates until a few pages have confirmed them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from scrapy_simdedup.urls.given import PART_REMOVAL, GivenRule
from scrapy_simdedup.urls.hypotheses import ANY_VALUE, Hypothesis
from scrapy_simdedup.urls.patterns import WHOLE_SITE
from scrapy_simdedup.urls.site import Site

MAX_RULES = 200
"""Rules of a site that are remembered, those with the most successes."""
MAX_TEXT = 200
"""Characters of a path pattern, of the names of parts and of a value, beyond which a rule is not remembered."""
MAX_SUCCESSES = 1_000_000
"""Successes of a rule that are remembered."""
_FORM = 1
"""The version of the form in which rules are written; rules in another form are ignored."""
_UTM = ("utm_campaign", "utm_content", "utm_id", "utm_medium", "utm_source", "utm_term")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule about URLs, that a part does not change the page, with the evidence for it."""

    site: str
    host: str
    """The host of the first page of the site."""
    pattern: str
    """The path pattern where the rule holds, ``**`` for the whole site; ``index.php?item`` where it holds only for URLs
    that have a parameter ``item`` as well, ``index.php?do=print`` where that must have this value."""
    parts: tuple[str, ...]
    """The part that does not matter, such as ``query:sid``; several parts if they only change together."""
    value: str | None
    """The only value that does not matter; None if no value matters; ``*`` if any value will do, but not none."""
    in_force: bool
    """False if the rule was refuted."""
    given: bool
    """Whether it is a rule from the start, not a learned one."""
    successes: int
    failures: int
    contents: int
    """Different contents among the successes, up to 128."""
    verified: int
    """Successful verifications since the rule is in force; each failure halves them."""
    skipped: int
    """URLs skipped by the rule, readmitted ones included."""
    counter_examples: tuple[str, ...]
    """The latest URLs of failures."""

    def __repr__(self) -> str:
        state = "in force" if self.in_force else "refuted"
        counts = f"{self.successes} successes, {self.failures} failures, {self.skipped} skipped"
        return f"<Rule {state}: {self} in {self.pattern} on {self.site}, {counts}>"

    def __str__(self) -> str:
        return "+".join(self.parts) + ("" if self.value is None else f"={self.value}")


def rules_of(site: Site) -> list[Rule]:
    """All rules of a site, in force or refuted, those that skipped the most URLs first."""
    found = [
        Rule(
            site.name, site.host, pattern.name, h.names, h.shown_value, e.holds, h.is_initial,
            e.successes, e.failures, len(e.contents), e.verified, e.skips, tuple(e.counter_examples),
        )
        for pattern in site.tree.all_patterns
        for h, e in pattern.evidence.items()
        if e.holds is not None and (not h.any_value or h.names in pattern.failed_parts())
    ]  # fmt: skip
    return sorted(found, key=lambda rule: -rule.skipped)


def export_rules(rules: Iterable[Rule]) -> list[GivenRule]:
    """The learned rules that duplicate-url-discarder can express, about no more URLs than they were learned from.

    These are irrelevant parameters of a whole site, of paths that begin with a word, or of a literal path.
    :func:`export_obstacle` says what is wrong with the others.
    """
    names: dict[str, list[str]] = {}
    for rule in rules:
        where = _url_pattern(rule)
        if rule.in_force and where is not None and export_obstacle(rule) is None:
            name = rule.parts[0].partition(":")[2]
            names.setdefault(where, []).extend(_UTM if name == "utm_*" else (name,))
    return [
        GivenRule((where,), (), "queryRemoval", tuple(sorted(set(found))), order)
        for order, (where, found) in enumerate(sorted(names.items()), 1)
    ]


def export_own_rules(rules: Iterable[Rule]) -> list[GivenRule]:
    """The learned rules in our own form, which ``SIMDEDUP_URL_RULES`` reads, with values and kinds of paths."""
    learned = [rule for rule in rules if rule.in_force and export_obstacle(rule, own=True) is None]
    return [
        GivenRule(
            *((_whole_site(rule),), (), PART_REMOVAL),
            tuple(part if rule.value is None else f"{part}={rule.value}" for part in rule.parts),
            order,
            None if rule.pattern == WHOLE_SITE else rule.pattern,
        )
        for order, rule in enumerate(learned, 1)
    ]


def export_obstacle(rule: Rule, *, own: bool = False) -> str | None:
    """Why a rule in force cannot be written as a rule of duplicate-url-discarder; None if it can.

    Args:
        rule: a rule that holds.
        own: ask about our own form instead.
    """
    if rule.given:
        return "nobody needs to learn it: it holds from the start"
    if own and rule.value == ANY_VALUE:
        return "it is about pages that have a part, whatever its value"
    if "?" in rule.pattern:
        return f"it holds only where a URL has another parameter as well: {rule.pattern}"
    if own:
        is_vague = rule.pattern == "..." or {"host", "scheme"} & set(rule.parts)
        return "it is about whole sites, or about all paths beyond the first thousand kinds" if is_vague else None
    obstacles = {
        "it is about parts that only change together": len(rule.parts) > 1,
        "it is about no parameter": not rule.parts[0].startswith("query:"),
        f"it is about one value, {rule.value!r}, not about the parameter": rule.value is not None,
        f"it is about a kind of path, {rule.pattern}": _url_pattern(rule) is None,
    }
    return next((obstacle for obstacle, is_there in obstacles.items() if is_there), None)


def _whole_site(rule: Rule) -> str:
    """The URL pattern of a site; a pattern names a port if the URLs do, the name of a site never does."""
    return rule.host if ":" in rule.host else rule.site


def _url_pattern(rule: Rule) -> str | None:
    if rule.pattern == WHOLE_SITE:
        return _whole_site(rule)
    host = rule.host.removeprefix("www.")
    first, _, rest = rule.pattern.partition("/")
    if rest == WHOLE_SITE and "<" not in first and first != "*":
        return f"{host}/{first}/"
    if any(sign in rule.pattern for sign in "<*|") or rule.pattern == "...":
        return None
    return f"{host}/{rule.pattern}|"


@dataclass(frozen=True, slots=True)
class RememberedRule:
    """A verdict of a crawl that is over, and how much was known of it."""

    pattern: str
    """The path pattern where it was in force, or ``**`` for the whole site."""
    parts: tuple[str, ...]
    """The part that did not matter; several parts if they only changed together."""
    value: str | None
    """The only value that did not matter; None if no value mattered; ``*`` if any value would do."""
    holds: bool
    """False for an exception: the rule was in force at another pattern, and refuted at this one."""
    successes: int
    """Trials with the same content, over all crawls that remembered the rule."""


@dataclass(frozen=True, slots=True)
class RememberedRules:
    """The remembered rules of a site, and the run that wrote them."""

    site: str
    run: str
    rules: tuple[RememberedRule, ...]

    def __bytes__(self) -> bytes:
        rows = [[rule.pattern, rule.parts, rule.value, rule.holds, rule.successes] for rule in self.rules]
        return json.dumps([_FORM, self.site, self.run, rows], separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, raw: bytes) -> RememberedRules | None:
        """The rules from their bytes; None for other bytes, such as those of another version."""
        try:
            form, site, run, rows = json.loads(raw)
            rules = tuple(RememberedRule(p, tuple(parts), v, holds, int(n)) for p, parts, v, holds, n in rows)
        except (ValueError, TypeError, OverflowError, RecursionError):
            return None
        values = (rule.value for rule in rules if rule.value is not None)
        texts = [site, run, *values, *(text for rule in rules for text in (rule.pattern, *rule.parts))]
        if form != _FORM or not all(isinstance(text, str) for text in texts) or not all(rule.parts for rule in rules):
            return None
        return cls(site, run, rules[:MAX_RULES])


def lasting_rules(site: Site) -> tuple[RememberedRule, ...]:
    """The learned rules in force with their exceptions, and remembered rules that nothing spoke for or against."""
    in_force: set[Hypothesis] = set()
    found: list[tuple[Hypothesis, RememberedRule]] = []
    for pattern in site.tree.patterns.values():
        for hypothesis, evidence in pattern.evidence.items():
            is_untried = evidence.holds is None and evidence.remembered > 0 and not evidence.failures
            holds = True if is_untried else evidence.holds
            if holds is None or hypothesis.is_initial:
                continue
            if holds:
                in_force.add(hypothesis)
            if sum(map(len, (pattern.name, *hypothesis.names, hypothesis.shown_value or ""))) <= MAX_TEXT:
                successes = min(evidence.successes + evidence.remembered, MAX_SUCCESSES)
                rule = RememberedRule(pattern.name, hypothesis.names, hypothesis.shown_value, holds, successes)
                found.append((hypothesis, rule))
    lasting = [rule for hypothesis, rule in found if hypothesis in in_force]
    return tuple(sorted(lasting, key=lambda rule: -rule.successes)[:MAX_RULES])


def recall(site: Site, rules: Iterable[RememberedRule]) -> None:
    """Begin with remembered rules as candidates, none of them in force, and with their exceptions."""
    for rule in rules:
        if rule.parts == ("prefix",) and rule.value:
            site.prefixes.adopt(rule.value)
        parts = [site.ensure_part(name) for name in rule.parts]
        hypothesis = None if None in parts else site.hypotheses.recall(rule.parts, rule.value)
        if hypothesis is None or hypothesis.is_initial:
            continue
        evidence = site.tree.pattern(rule.pattern).evidence[hypothesis]
        if rule.holds:
            evidence.remembered = max(0, rule.successes)
            site.recalled = True
            site.version += evidence.update_likely()
        else:
            evidence.revocations = 1
            site.set_verdict(hypothesis, evidence, holds=False)
