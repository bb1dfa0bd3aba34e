"""Everything that is known of one site."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from scrapy_simdedup.urls.contents import Contents
from scrapy_simdedup.urls.hypotheses import Hypotheses, Hypothesis, Part, is_given
from scrapy_simdedup.urls.keyed import MASK, Chance, KeyedHash
from scrapy_simdedup.urls.noise import Noise
from scrapy_simdedup.urls.page_index import PageIndex, tag
from scrapy_simdedup.urls.patterns import EVERYWHERE, Beliefs, Dropped, Pattern, PatternTree, Reading
from scrapy_simdedup.urls.sorted_map import SortedMap
from scrapy_simdedup.urls.url_log import BY_CONTENT, BY_RULES, SkipLog, UrlLog

if TYPE_CHECKING:
    from scrapy_simdedup.urls.evidence import Evidence
    from scrapy_simdedup.urls.parts import UrlParts

_GIVEN_VERIFIED = 24
"""Verifications that a rule is credited with which was not learned."""

MAX_HINTED = 100
"""Hypotheses that a site itself may speak for."""

_MAX_DIFFERING = 3
"""Parts that two URLs may differ in for one to say something about the other."""

_ENTRIES = 4
"""Entries of the index per URL, at most."""


class Site:
    """What is known of a site: its patterns and the evidence, its pages, and what was skipped."""

    def __init__(self, name: str, scheme: str, host: str, hashed: KeyedHash) -> None:
        self.name = name
        self.scheme = scheme
        self.host = host
        """Scheme and host of the first page; any other is a part of the URL."""
        self.hash = hashed
        self.chance = Chance(hashed, hashed("chance", name))
        self.hypotheses = Hypotheses(hashed)
        self.tree = PatternTree()
        self.index = PageIndex()
        self.contents = Contents()
        self.noise = Noise()
        self.pages = UrlLog()
        """Fetched URLs, so that a skip can name the page it stands for."""
        self.skips = SkipLog()
        self.chains: dict[Pattern, dict[tuple[Hypothesis, ...], int]] = {}
        """Pattern → rules used → the latest skip by them."""
        self.firsts = SortedMap()
        """Pattern and content of the first pages → a byte per part they had: to find parts that change together."""
        self.version = 0
        """Counts changes of verdicts."""
        self.in_force: Counter[Hypothesis] = Counter()
        """Rule → patterns whose verdict it is."""
        self.doubtful = (-1, 0)
        """A version, and the number of doubtful rules as it was counted then."""
        self.fetched = 0
        self.skipped = 0

    def is_full(self, max_urls: int) -> bool:
        """Whether nothing more can be learned, so that nothing more should be skipped."""
        return len(self.pages) >= max_urls or len(self.index.entries) >= _ENTRIES * max_urls

    def read(self, url: UrlParts, beliefs: Beliefs | None = None) -> Reading:
        """A URL with everything dropped that is believed not to matter; by default, by the rules in force."""
        parts, hashed = self.hypotheses.parts, self.hash
        pairs = self._pairs(url)
        for name, _ in pairs:
            if name not in parts and is_given(name):
                self.part(name)
        leaf = self.tree.leaf(url.segments)
        if leaf.version != self.version:
            leaf.refresh(self.version)
        believed = leaf.rules if beliefs is None else beliefs
        at = believed.at
        identity = hashed("path", *url.segments, url.rest)
        dropped: Dropped = []
        left: dict[str, tuple[Part | None, str, int]] = {}
        shifts: dict[str, int] = {}
        for name, value in pairs:
            shift = shifts[name] = hashed(name, value)
            part = parts.get(name)
            if part is not None:
                default, irrelevant = part.values.get(value), part.irrelevant
                if default is not None and default in at:
                    dropped.append((default, shift))
                    continue
                if irrelevant is not None and irrelevant in at and not (default is not None and leaf.refutes(default)):
                    dropped.append((irrelevant, shift))
                    continue
            identity += shift
            left[name] = (part, value, shift)
        for joint in believed.joint:
            together = [left.pop(name)[2] for name in joint.names if name in left]
            if together:
                identity -= sum(together)
                dropped.append((joint, sum(together) & MASK))
        return Reading(leaf, identity & MASK, dropped, left, shifts)

    def part(self, name: str) -> Part | None:
        """The part of this name, which is known from now on; None if there are too many."""
        known = name in self.hypotheses.parts
        part = self.hypotheses.part(name)
        if not known and part is not None and part.irrelevant is not None and part.irrelevant.given:
            evidence = self.tree.pattern(EVERYWHERE).on(part.irrelevant)
            evidence.verified = _GIVEN_VERIFIED
            self.rule(part.irrelevant, evidence, holds=True)
        return part

    def rule(self, hypothesis: Hypothesis, evidence: Evidence, *, holds: bool) -> None:
        """Give a verdict on a hypothesis at a pattern."""
        self.in_force[hypothesis] += holds - (evidence.holds is True)
        evidence.holds = holds
        self.version += 1

    def doubtful_rules(self) -> int:
        """How many rules are in force of which it is plausible that they are wrong for some pages only.

        What is a rule at several patterns counts for each of them, but a part and its values count once.
        """
        if self.doubtful[0] != self.version:
            doubtful: dict[tuple[str, ...], int] = {}
            for hypothesis, patterns in self.in_force.items():
                if not self.hypotheses.is_innocent(hypothesis):
                    doubtful[hypothesis.names] = max(patterns, doubtful.get(hypothesis.names, 0))
            self.doubtful = self.version, sum(doubtful.values())
        return self.doubtful[1]

    def take_hint(self, url: UrlParts, same_as: UrlParts) -> None:
        """A URL claims to be another of the same path: up to three parts that they differ in may be irrelevant."""
        if (url.segments, url.rest) != (same_as.segments, same_as.rest):
            return
        mine, theirs = self.read(url).shifts, self.read(same_as).shifts
        names = sorted(name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name))
        hinted = self.hypotheses.hinted
        if not 1 <= len(names) <= _MAX_DIFFERING or len(hinted) >= MAX_HINTED:
            return
        parts = [self.part(name) for name in names]
        found = [part.irrelevant for part in parts if part is not None]
        if len(names) > 1 and None not in parts:
            found.append(self.hypotheses.together(tuple(names)))
        hinted.update(h for h in found if h is not None)

    def side(self, reading: Reading, hypothesis: Hypothesis) -> int:
        """What a URL has of the parts that a hypothesis is about, as a tag; 0 if nothing."""
        shifts = [reading.shifts[name] for name in hypothesis.names if name in reading.shifts]
        return self.coarse(hypothesis, tag(sum(shifts))) or 0 if shifts else 0

    def coarse(self, hypothesis: Hypothesis, found: int | None) -> int | None:
        """A tag; of what is random only whether it is there, as no session id is special."""
        return min(found, 1) if found is not None and self.hypotheses.is_random(hypothesis) else found

    def evidence_by_part(self) -> list[Evidence]:
        """For each part the evidence on the hypothesis about it that was tried most often on the site."""
        everywhere = self.tree.pattern(EVERYWHERE).evidence
        best: dict[str, Evidence] = {}
        for hypothesis, evidence in everywhere.items():
            name = hypothesis.names[0]
            if name not in best or evidence.trials > best[name].trials:
                best[name] = evidence
        return list(best.values())

    def give_back(self, leaf: Pattern, rule: Hypothesis) -> None:
        """Let all URLs be fetched after all that a rule has skipped at a pattern."""
        chains = self.chains.get(leaf, {})
        for rules in [used for used in chains if rule in used]:
            self.skips.give_back(BY_RULES, chains.pop(rules))

    def give_back_for(self, content: int) -> None:
        """Let all URLs be fetched after all that were skipped in favour of a content."""
        self.skips.give_back(BY_CONTENT, self.contents.latest_skip(content))

    def take_back(self) -> list[str]:
        """Some of the URLs that are to be fetched after all."""
        urls = self.skips.take()
        self.skipped -= len(urls)
        return urls

    def _pairs(self, url: UrlParts) -> list[tuple[str, str]]:
        pairs = list(url.parts)
        if url.host != self.host:
            pairs.append(("host", url.host))
        if url.scheme != self.scheme:
            pairs.append(("scheme", url.scheme))
        return pairs
