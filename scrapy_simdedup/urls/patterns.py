"""Path patterns: where on a site a hypothesis is tried, where the verdict on it applies, and how that reads a URL."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simdedup.urls.evidence import Evidence
from scrapy_simdedup.urls.parts import TOKEN

if TYPE_CHECKING:
    from scrapy_simdedup.urls.hypotheses import Hypothesis, Part

EVERYWHERE = "**"
"""The pattern that is a whole site."""

MAX_LEAVES = 1000
"""Patterns of a site; the paths beyond share one."""

MAX_WORDS, MAX_FIRST_WORDS = 32, 256
"""Words that are told apart in one place of a path, and at its beginning."""

MAX_DEPTH = 8
"""Segments of a path that make its pattern."""

Dropped = list[tuple["Hypothesis", int]]
"""The hypotheses that were used on a URL, each with the hash of what it dropped."""

_CLASSES = ("<number>", "<token>", "<slug>")
_NUMBER = re.compile(r"\d+\Z")
_DIGIT = re.compile(r"\d")


class Beliefs:
    """A set of hypotheses that are taken for true."""

    __slots__ = ("at", "defaults", "joint", "trusted", "wide")

    def __init__(self, at: dict[Hypothesis, Pattern]) -> None:
        self.at = at
        """Hypothesis → the pattern whose verdict it is."""
        self.joint = [h for h in at if len(h.names) > 1]
        self.wide = [h for h in at if h.value is None]
        self.defaults = [h for h in at if h.value is not None]
        self.trusted: dict[int, bool] = {0: True}
        """Number of a set of assumptions → whether all of them are among these; see PageIndex."""


class Pattern:
    """A path pattern, with the evidence found under it and what follows from it."""

    __slots__ = ("chain", "evidence", "likely", "name", "parts", "rules", "version")

    def __init__(self, name: str) -> None:
        self.name = name
        self.evidence: dict[Hypothesis, Evidence] = {}
        self.chain: list[Pattern] = [self]
        """This pattern and its ancestors, the most specific first."""
        self.parts: dict[str, None] = {}
        """Names of the parts that URLs of this pattern have had."""
        self.version = -1
        """The state of the site's verdicts that the following were derived from."""
        self.rules = Beliefs({})
        """The rules in force."""
        self.likely: Beliefs | None = None
        """These and what is nearly true; None if that is nothing more."""

    def on(self, hypothesis: Hypothesis) -> Evidence:
        """The evidence on a hypothesis here."""
        found = self.evidence.get(hypothesis)
        if found is None:
            found = self.evidence[hypothesis] = Evidence()
        return found

    def refresh(self, version: int) -> None:
        """Derive what is in force: of the verdicts along the chain, the most specific one decides."""
        verdicts: dict[Hypothesis, Pattern] = {}
        likely: dict[Hypothesis, Pattern] = {}
        for pattern in self.chain:
            for hypothesis, evidence in pattern.evidence.items():
                if evidence.holds is not None:
                    verdicts.setdefault(hypothesis, pattern)
                if evidence.likely:
                    likely.setdefault(hypothesis, pattern)
        force = {h: at for h, at in verdicts.items() if at.evidence[h].holds}
        self.rules = Beliefs(force)
        self.likely = Beliefs({**likely, **force}) if likely.keys() - force.keys() else None
        self.version = version

    def refutes(self, default: Hypothesis) -> bool:
        """Whether a value is known to be no default here; what holds for its part does not hold for it then."""
        evidence = self.evidence.get(default)
        return evidence is not None and evidence.failures > 1 and 2 * evidence.failures > evidence.successes


@dataclass(frozen=True, slots=True)
class Reading:
    """A URL with everything dropped that is believed not to matter."""

    leaf: Pattern
    identity: int
    """The sum of the hashes of what is left."""
    dropped: Dropped
    left: dict[str, tuple[Part | None, str, int]]
    """Name of a part that was not dropped → the part (None if it is not examined), its value, its hash."""
    shifts: dict[str, int]
    """Name of any part → its hash."""


class PatternTree:
    """The patterns of a site. Numbers and slugs are classes; words are literal while there are few in their place."""

    __slots__ = ("leaves", "patterns", "words")

    def __init__(self) -> None:
        self.patterns: dict[str, Pattern] = {}
        self.leaves: dict[str, Pattern] = {}
        self.words: dict[str, dict[str, None]] = {}
        """Beginning of a pattern → the words that are told apart behind it."""

    def leaf(self, segments: tuple[str, ...]) -> Pattern:
        """The most specific pattern of a path."""
        tokens: list[str] = []
        for place, segment in enumerate(segments[:MAX_DEPTH]):
            tokens.append(self._token(place, segment, "/".join(tokens)))
        name = "/".join(tokens)
        found = self.leaves.get(name)
        if found is None:
            if len(self.leaves) >= MAX_LEAVES:
                name = "..."
            found = self.leaves.get(name) or self.add(name)
        return found

    def add(self, name: str) -> Pattern:
        """A new leaf, below its wildcard form, its first segment and the whole site."""
        leaf = self.leaves[name] = self.pattern(name)
        first, *rest = name.split("/")
        wild = "/".join([first, *(token if token in _CLASSES else "*" for token in rest)])
        above = (wild, f"{first}/{EVERYWHERE}" if rest else name, EVERYWHERE)
        leaf.chain = [leaf, *(self.pattern(up) for up in dict.fromkeys(above) if up != name)]
        return leaf

    def pattern(self, name: str) -> Pattern:
        """The pattern of this name."""
        found = self.patterns.get(name)
        if found is None:
            found = self.patterns[name] = Pattern(name)
        return found

    def _token(self, place: int, segment: str, parent: str) -> str:
        if _NUMBER.match(segment):
            return "<number>"
        if segment == TOKEN:
            return "<token>"
        has_digit = _DIGIT.search(segment) is not None
        if len(segment) > 24 or segment.count("-") > 2 or (place and has_digit):
            return "<slug>"
        words = self.words.get(parent)
        if words is None:
            words = self.words.setdefault(parent, {}) if len(self.words) < 2 * MAX_LEAVES else {}
        if segment not in words:
            if len(words) >= (MAX_WORDS if place else MAX_FIRST_WORDS) or len(self.leaves) >= MAX_LEAVES:
                return "<slug>" if has_digit else "*"
            words[segment] = None
        return segment
