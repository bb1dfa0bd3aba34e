"""The rules that one crawl leaves to the next, where they are candidates until a few pages have confirmed them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_simdedup.urls.evidence import Evidence
    from scrapy_simdedup.urls.site import Site

MAX_RULES = 200
"""Rules of a site that are remembered, those with the most successes."""

MAX_TEXT = 200
"""Characters of a path pattern, of the names of parts and of a value, beyond which a rule is not remembered."""

MAX_SUCCESSES = 1_000_000
"""Successes of a rule that are remembered."""

_FORM = 1
"""Which of our ways to write the rules it is. What was written in another way is ignored."""


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
    """Trials with the same content, over all crawls that remembered it."""


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
        """Read what ``bytes()`` wrote; None for anything else, such as what another version wrote."""
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
    found = sorted(_lasting_rules(site), key=lambda rule: -rule.successes)
    return tuple(found[:MAX_RULES])


def _lasting_rules(site: Site) -> Iterator[RememberedRule]:
    verdicts = [
        (pattern, hypothesis, evidence, _lasting_verdict(evidence))
        for pattern in site.tree.patterns.values()
        for hypothesis, evidence in pattern.evidence.items()
        if not hypothesis.is_initial
    ]
    rules = {hypothesis for _, hypothesis, _, holds in verdicts if holds}
    for pattern, hypothesis, evidence, holds in verdicts:
        length = sum(map(len, (pattern.name, *hypothesis.names, hypothesis.shown_value or "")))
        if holds is not None and hypothesis in rules and length <= MAX_TEXT:
            successes = min(evidence.successes + evidence.remembered, MAX_SUCCESSES)
            yield RememberedRule(pattern.name, hypothesis.names, hypothesis.shown_value, holds, successes)


def _lasting_verdict(evidence: Evidence) -> bool | None:
    is_untried = evidence.remembered > 0 and not evidence.failures
    return True if evidence.holds is None and is_untried else evidence.holds


def recall(site: Site, rules: Iterable[RememberedRule]) -> None:
    """Begin with remembered rules as candidates, none of them in force, and with their exceptions."""
    for rule in rules:
        parts = [site.ensure_part(name) for name in rule.parts]
        hypothesis = None if None in parts else site.hypotheses.recall(rule.parts, rule.value)
        if hypothesis is None or hypothesis.is_initial:
            continue
        evidence = site.tree.pattern(rule.pattern).evidence[hypothesis]
        if rule.holds:
            evidence.remembered = max(0, rule.successes)
        else:
            evidence.revocations = 1
            site.set_verdict(hypothesis, evidence, holds=False)
