"""Path patterns: the places of a site where hypotheses are tried and rules hold; and the prefixes before its paths."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from scrapy_simdedup.urls.compact import U64_MASK
from scrapy_simdedup.urls.evidence import Evidence
from scrapy_simdedup.urls.given import MAX_DEPTH, SESSION_PLACEHOLDER
from scrapy_simdedup.urls.hypotheses import Hypothesis, PartHypotheses
from scrapy_simdedup.urls.parts import UrlParts

WHOLE_SITE = "**"
"""The name of the pattern that covers a whole site."""
MAX_LEAVES = 1000
"""Leaves of a site; all further paths share one leaf."""
MAX_WORDS, MAX_FIRST_WORDS = 32, 256
"""Words that are told apart at one place of a path, and at the beginning of a path."""
DroppedParts = list[tuple["Hypothesis", int]]
"""The hypotheses by which parts of a URL were dropped, each with the hash of what it dropped."""
_SEGMENT_CLASSES = ("<number>", "<token>", "<slug>")
_DIGIT = re.compile(r"\d")


MANY_SHOWN = 5
"""Contents that a path shows at least if it is a kind of page."""
FEW_VALUES = 16
"""Values of a parameter up to which each may be a condition of rules about others, or be a default on a condition."""
MAX_CONDITIONS, MAX_CONDITIONS_HERE = 2000, 200
"""Conditions of a site, and of one leaf."""
Condition = tuple[str, "str | None"]
"""What a URL has beside a part: a parameter, whatever its value if that is None, but for no value at all."""


class ActiveRules:
    """The hypotheses that are taken for true at one pattern."""

    __slots__ = ("irrelevant", "joint", "pattern_of", "single_lookups", "trusted_sets")

    def __init__(self, pattern_of: dict[Hypothesis, PathPattern]) -> None:
        self.pattern_of: dict[Hypothesis, PathPattern] = pattern_of
        """Hypothesis → the pattern at which it became a rule."""
        self.joint: list[Hypothesis] = [h for h in pattern_of if len(h.names) > 1]
        self.irrelevant: list[Hypothesis] = [h for h in pattern_of if h.value is None and not h.any_value]
        self.single_lookups: list[Hypothesis] = [*self.irrelevant, *(h for h in pattern_of if h.value is not None)]
        """All rules in the order in which ``PageIndex.find`` tries them one by one."""
        self.trusted_sets: dict[int, bool] = {0: True}
        """Number of a set of assumptions → whether all of them are active rules; see ``PageIndex``."""


@dataclass(slots=True, eq=False, repr=False)
class PathPattern:
    """A path pattern, with the evidence found under it and the rules that follow from the evidence."""

    name: str
    evidence: defaultdict[Hypothesis, Evidence] = field(default_factory=lambda: defaultdict(Evidence))
    lineage: list[PathPattern] = field(init=False)
    """The pattern itself and its ancestors, the most specific first."""
    conditions: dict[Condition, PathPattern] = field(default_factory=dict)
    """Of a leaf: what is known of hypotheses that fail at it, where URLs have a certain parameter as well."""
    conditional: dict[Condition, dict[Hypothesis, PathPattern | None]] = field(default_factory=dict)
    """The conditions that make a hypothesis a rule; None where it was one, and was refuted."""
    is_conditional: bool = False
    """Whether it is one of the conditions of a leaf."""
    is_page: bool = False
    """Whether it may be a page rather than a kind of page: its last segment is a word below others."""
    has_exceptions: bool = False
    """Of a leaf: whether pages of it that were fetched twice were exceptions of a rule."""
    shown: set[int] = field(default_factory=set)
    """Some of the contents that were found at the place, if it may be a page."""
    crowd: list[PathPattern] | None = None
    """Of a leaf for further words: the leaves of the first words at this place, which may be pages like its own."""
    parts: dict[str, None] = field(default_factory=dict)
    """The names of parts that hypotheses are tried on at this pattern, in the order of their first URLs."""
    version: int = -1
    """The version of the site's verdicts that ``rules`` and ``likely`` were derived from."""
    rules: ActiveRules = field(default_factory=lambda: ActiveRules({}))
    rules_by_host: dict[str, ActiveRules] = field(default_factory=dict)
    """Host → the rules in force that it has confirmed, where the site has several hosts."""
    likely: ActiveRules | None = None
    """The rules in force and the likely hypotheses; None if no hypothesis is just likely."""
    recalled: frozenset[Hypothesis] = frozenset()
    """The likely hypotheses that were rules in an earlier crawl, in force or not."""

    def __post_init__(self) -> None:
        self.lineage = [self]

    def refresh(self, version: int) -> None:
        """Derive the rules in force: of the verdicts of the lineage, the most specific one decides."""
        decided: dict[Hypothesis, PathPattern] = {}
        likely: dict[Hypothesis, PathPattern] = {}
        for pattern in self.lineage:
            for hypothesis, evidence in pattern.evidence.items():
                if evidence.holds is not None:
                    decided.setdefault(hypothesis, pattern)
                if evidence.likely:
                    likely.setdefault(hypothesis, pattern)
        failed = self.failed_parts()
        in_force = {
            h: pattern
            for h, pattern in decided.items()
            if pattern.evidence[h].holds and (not h.any_value or h.names in failed)
        }
        likely = {h: pattern for h, pattern in likely.items() if not h.any_value or h.names in failed}
        self.rules = ActiveRules(in_force)
        self.rules_by_host = {}
        self.likely = ActiveRules({**likely, **in_force}) if likely.keys() - in_force.keys() else None
        recalled = (h for h, pattern in likely.items() if pattern.evidence[h].remembered)
        self.recalled = frozenset(h for h in recalled if h in in_force or h not in decided)
        self.conditional = {}
        for condition, pattern in self.conditions.items():
            verdicts = {h: pattern if e.holds else None for h, e in pattern.evidence.items() if e.holds is not None}
            if verdicts:
                self.conditional[condition] = verdicts
        self.version = version

    def rules_beside(self, pairs: Iterable[tuple[str, str]]) -> dict[Hypothesis, PathPattern]:
        """The hypotheses that are rules for a URL with these parts, though they are none at the leaf.

        What is known of a value counts for more than that its parameter is there. That a hypothesis is wrong beside one
        parameter says nothing of another, whose own failures would tell.
        """
        found: dict[Hypothesis, PathPattern] = {}
        for name, value in pairs:
            verdicts = dict(self.conditional.get((name, None), ())) if value else {}
            verdicts.update(self.conditional.get((name, value), ()))
            for hypothesis, pattern in verdicts.items():
                if pattern is not None and hypothesis not in self.rules.pattern_of:
                    found.setdefault(hypothesis, pattern)
        return found

    def covers(self, leaf: PathPattern) -> bool:
        """Whether a verdict at this pattern is about URLs of a leaf, be it about some of them."""
        return self in leaf.lineage or (self.is_conditional and self.lineage[1] is leaf)

    def failed_parts(self) -> set[tuple[str, ...]]:
        """The parts that are known to matter at this pattern, at least for some pages."""
        return {
            hypothesis.names
            for pattern in self.lineage
            for hypothesis, evidence in pattern.evidence.items()
            if hypothesis.value is None
            and not hypothesis.any_value
            and (evidence.holds is False or evidence.confirmed_failures or (pattern is self and evidence.has_failed))
        }

    @property
    def is_one_of_many(self) -> bool:
        """Whether a page is one of many siblings: more than the words that are told apart at its place."""
        return self.is_page and self.lineage[1].crowd is not None and len(self.shown) < MANY_SHOWN

    @property
    def shape(self) -> str:
        """The pattern without its words."""
        return "/".join(token if token in _SEGMENT_CLASSES else "*" for token in self.name.split("/"))

    def refutes(self, default: Hypothesis) -> bool:
        """Whether a value is known to be no default at this pattern, so that a rule about its part does not drop it."""
        evidence = self.evidence.get(default)
        return evidence is not None and evidence.failures > 1 and 2 * evidence.failures > evidence.successes


@dataclass(frozen=True, slots=True)
class NormalizedUrl:
    """A URL without the parts that active rules drop."""

    leaf: PathPattern
    host: str
    rules: ActiveRules
    """The rules in force at the leaf for this host, whichever were used to drop parts."""
    identity: int
    """The sum of the hashes of the path and the remaining parts, modulo 2**64."""
    dropped_parts: DroppedParts
    remaining: dict[str, tuple[PartHypotheses | None, str, int]]
    """Name of a part that was not dropped → the part (None if no hypothesis is about it), its value, its hash."""
    part_hashes: dict[str, int]
    """Name of a part, dropped or not → the hash of the part."""

    @property
    def whole_identity(self) -> int:
        """The identity with what was dropped."""
        return self.identity + sum(shift for _, shift in self.dropped_parts) & U64_MASK

    @property
    def identities_with_part(self) -> dict[Hypothesis, int]:
        """Rule → the identity with what this rule alone dropped."""
        return {rule: self.identity + shift & U64_MASK for rule, shift in self.dropped_parts}


@dataclass(slots=True, eq=False)
class PatternTree:
    """The patterns of a site. Numbers and slugs are classes; words are literal while there are few at their place."""

    patterns: dict[str, PathPattern] = field(default_factory=dict)
    leaves: dict[str, PathPattern] = field(default_factory=dict)
    words: dict[str, dict[str, None]] = field(default_factory=dict)
    """Beginning of a pattern → the words that are told apart after it."""
    condition_count: int = 0

    def leaf_for(self, segments: tuple[str, ...]) -> PathPattern:
        """The most specific pattern of a path."""
        tokens: list[str] = []
        for place, segment in enumerate(segments[:MAX_DEPTH]):
            tokens.append(self._token(place, segment, "/".join(tokens)))
        name = "/".join(tokens)
        if name not in self.leaves and len(self.leaves) >= MAX_LEAVES:
            name = "..."
        return self.leaves.get(name) or self._add_leaf(name)

    def _add_leaf(self, name: str) -> PathPattern:
        """Make a leaf, below its wildcard form, its first segment and the whole site."""
        leaf = self.leaves[name] = self.pattern(name)
        first, *rest = name.split("/")
        wild = "/".join([first, *(token if token in _SEGMENT_CLASSES else "*" for token in rest)])
        above = (wild, f"{first}/{WHOLE_SITE}" if rest else name, WHOLE_SITE)
        leaf.is_page = wild.endswith("*") and name != wild
        if wild.endswith("*") and name == wild:
            leaf.crowd = [other for other in self.leaves.values() if other.is_page and other.lineage[1] is leaf]
        leaf.lineage = [leaf, *(self.pattern(up) for up in dict.fromkeys(above) if up != name)]
        for place, pattern in enumerate(leaf.lineage):
            pattern.lineage = leaf.lineage[place:]
        return leaf

    def conditions_of(self, page: NormalizedUrl, names: tuple[str, ...]) -> list[PathPattern]:
        """The conditions that a page fulfils beside some parts: a parameter is there, or has one of its few values."""
        leaf, found = page.leaf, list[PathPattern]()
        for name, (part, value, _) in page.remaining.items():
            if part is None or name in names or not name.startswith("query:"):
                continue
            default = part.values.get(value)
            is_word = default is not None and len(part.values) <= FEW_VALUES and not _DIGIT.search(value)
            conditions: list[Condition] = [(name, None)] if value else []
            if is_word:
                conditions.append((name, value))
            for condition in conditions:
                pattern = leaf.conditions.get(condition)
                if pattern is None and len(leaf.conditions) < MAX_CONDITIONS_HERE:
                    pattern = self._add_condition(leaf, condition)
                if pattern is not None:
                    found.append(pattern)
        return found

    def _add_condition(self, leaf: PathPattern, condition: Condition) -> PathPattern | None:
        if self.condition_count >= MAX_CONDITIONS:
            return None
        self.condition_count += 1
        name, value = condition
        shown = name.partition(":")[2] + ("" if value is None else f"={value}")
        pattern = leaf.conditions[condition] = PathPattern(f"{leaf.name}?{shown}")
        pattern.is_conditional = True
        pattern.lineage = [pattern, *leaf.lineage]
        return pattern

    @property
    def all_patterns(self) -> Iterator[PathPattern]:
        """The patterns, each leaf with its conditions."""
        for pattern in self.patterns.values():
            yield pattern
            yield from pattern.conditions.values()

    def pattern(self, name: str) -> PathPattern:
        """The pattern of this name, made if need be."""
        if name not in self.patterns:
            self.patterns[name] = PathPattern(name)
        return self.patterns[name]

    def _token(self, place: int, segment: str, parent: str) -> str:
        if segment.isdecimal():
            return "<number>"
        if segment == SESSION_PLACEHOLDER:
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


MIN_CONTENTS = 3
"""Different contents that were found with and without a first segment before it is taken for a prefix."""
MAX_COMPARED = 20
"""Repeats that are compared for one first segment of theirs; each costs a look into the log of URLs."""
MAX_PREFIXES = 20
MAX_LENGTH = 24
MAX_SEGMENTS = 500
"""First segments whose repeats are compared."""


@dataclass(slots=True, eq=False)
class Prefixes:
    """The first segments of a site's paths below which pages are that are without it as well, such as ``/www/``.

    Nothing in the words of a URL tells them from sections. So they are found by pages of one content, of which one has
    a path that is the other's behind one more segment. From then on the segment is a part of URLs as any other, and
    what is known of it has to be learned from trials.
    """

    adopted: frozenset[str] = field(default_factory=frozenset)
    """The prefixes, in lower case."""
    _compared: Counter[str] = field(default_factory=Counter)
    _witnesses: dict[str, set[int]] = field(default_factory=dict)
    """First segment → the contents that were found with and without it."""

    def wants(self, url: UrlParts) -> bool:
        """Whether a repeat should be compared with the first page of its content."""
        first = url.segments[0] if url.segments else ""
        if len(self.adopted) >= MAX_PREFIXES or self._compared[first] >= MAX_COMPARED:
            return False
        return first in self._compared or len(self._compared) < MAX_SEGMENTS

    def candidate(self, one: UrlParts, other: UrlParts) -> str | None:
        """The first segment that only one of two URLs has, if the rest of its path may be the path of the other."""
        self._compared[one.segments[0] if one.segments else ""] += 1
        short, long = sorted((one.segments, other.segments), key=len)
        if not short or not 0 < len(long) - len(short) <= 2:  # two: what comes after a prefix may be a locale
            return None
        first = long[0]
        is_plain = len(first) <= MAX_LENGTH and not first.isdecimal() and first != SESSION_PLACEHOLDER
        return first if is_plain else None

    def is_proven(self, prefix: str, behind: UrlParts, other: UrlParts, content: int) -> bool:
        """Whether a first segment is a prefix, given two URLs of one content, with the segment and without it."""
        if behind.segments != other.segments or _locale(behind) != _locale(other):
            return False
        witnesses = self._witnesses.setdefault(prefix, set())
        witnesses.add(content)
        return len(witnesses) >= MIN_CONTENTS

    def adopt(self, prefix: str) -> None:
        """Take a first segment for a prefix from now on."""
        self._witnesses.pop(prefix, None)
        if len(self.adopted) < MAX_PREFIXES:
            self.adopted |= {prefix}


def _locale(url: UrlParts) -> str | None:
    return dict(url.parts).get("locale")
