"""The verdicts on hypotheses: when one becomes a rule, and when it falls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simdedup.urls.criteria import Criteria
from scrapy_simdedup.urls.rules import RuleChange

if TYPE_CHECKING:
    from collections import deque

    from scrapy_simdedup.urls.caution import Caution
    from scrapy_simdedup.urls.evidence import Evidence
    from scrapy_simdedup.urls.hypotheses import Hypothesis
    from scrapy_simdedup.urls.patterns import Pattern
    from scrapy_simdedup.urls.site import Site

_LEARNING, _VERIFYING = 0.995, 0.98
"""How fast old trials fade: over 200 while learning, over 50 while verifying, so that old success protects no rule."""


class Verdicts:
    """Counts trials at a pattern and at its ancestors, and decides what they prove."""

    def __init__(self, site: Site, caution: Caution, changes: deque[RuleChange]) -> None:
        self._site = site
        self._per_content = caution.per_content
        self._criteria = Criteria(site, caution)
        self._changes = changes

    def hear(
        self, leaf: Pattern, hypothesis: Hypothesis, url: str, content: int, *, same: bool, verifying: bool
    ) -> None:
        """Count one trial."""
        own = leaf.on(hypothesis)
        fading = _VERIFYING if verifying else _LEARNING
        own.unverified = 0
        if same:
            if not own.succeed(content, self._per_content, fading):
                return
            own.verified += verifying
        else:
            own.fail(url, fading)
            own.held += 1
        if own.opinion is not False:  # an exception speaks for itself alone
            self._tell_trial(leaf, hypothesis, url, content, same=same, verifying=verifying)
        self.judge(leaf, hypothesis)
        if not same:
            self._judge_related(leaf, hypothesis)

    def forgive(self, leaf: Pattern, hypothesis: Hypothesis) -> None:
        """A failure had another cause."""
        own = leaf.on(hypothesis)
        own.take_back(failures=1)
        if own.held:
            own.held -= 1
        else:
            for pattern in leaf.chain[1:]:
                pattern.on(hypothesis).take_back(failures=1)
        self.judge(leaf, hypothesis)

    def prove_wrong(self, leaf: Pattern, hypothesis: Hypothesis) -> None:
        """A failure was no noise."""
        for pattern in leaf.chain:
            pattern.on(hypothesis).proofs += 1
        self.judge(leaf, hypothesis)

    def judge(self, leaf: Pattern, hypothesis: Hypothesis) -> None:
        """Decide anew about a hypothesis at a pattern and its ancestors."""
        above = [pattern.evidence.get(hypothesis) for pattern in leaf.chain[1:]]
        inherited = any(evidence is not None and evidence.holds for evidence in above)
        for pattern in leaf.chain:
            evidence = pattern.evidence.get(hypothesis)
            if evidence is None:
                continue
            self._site.version += evidence.consider()
            if evidence.holds:
                if self._criteria.falls(pattern, hypothesis, evidence):
                    self._refute(pattern, hypothesis, evidence)
            elif self._criteria.is_proven(pattern, hypothesis, evidence):
                evidence.verified = evidence.unverified = 0
                self._rule(pattern, hypothesis, evidence, holds=True)
            elif pattern is leaf and inherited and evidence.holds is None and _is_exception(evidence):
                self._refute(pattern, hypothesis, evidence)
            if pattern is leaf:
                self._tell_opinion(leaf, hypothesis, evidence)

    def _judge_related(self, leaf: Pattern, hypothesis: Hypothesis) -> None:
        """What speaks against a value of a part speaks against the whole part, and the other way round."""
        if len(hypothesis.names) == 1:
            part = self._site.hypotheses.parts[hypothesis.names[0]]
            for related in (part.irrelevant, *part.values.values()):
                if related is not None and related is not hypothesis and related in leaf.rules.at:
                    self.judge(leaf, related)

    def _tell_trial(
        self, leaf: Pattern, hypothesis: Hypothesis, url: str, content: int, *, same: bool, verifying: bool
    ) -> None:
        """Tell the ancestors; of a failure only where the hypothesis is true otherwise, as it may be an exception."""
        own, fading = leaf.on(hypothesis), _VERIFYING if verifying else _LEARNING
        failures = own.held if own.successes > 1 else 0
        own.held -= failures
        for pattern in leaf.chain[1:]:
            evidence = pattern.on(hypothesis)
            if same and evidence.succeed(content, self._per_content, fading):
                evidence.verified += verifying
            if failures:
                evidence.fail(url, fading, failures)
            evidence.unverified = 0
        if failures:
            for other in self._site.tree.leaves.values():
                theirs = other.evidence.get(hypothesis)
                if theirs is not None and theirs.holds and self._criteria.falls(other, hypothesis, theirs):
                    self._refute(other, hypothesis, theirs)

    def _tell_opinion(self, leaf: Pattern, hypothesis: Hypothesis, own: Evidence) -> None:
        """Tell the ancestors whether the hypothesis is true here."""
        opinion = None
        if own.holds or (own.holds is None and own.successes and 7 * own.failures <= own.trials):
            opinion = True
        elif own.failures > own.successes:
            opinion = False
        if opinion is own.opinion:
            return
        for pattern in leaf.chain[1:]:
            above = pattern.on(hypothesis)
            above.agreeing += (opinion is True) - (own.opinion is True)
            above.exceptions += (opinion is False) - (own.opinion is False)
            if opinion is False:
                above.take_back(own.same, own.failures - own.held)
        own.opinion = opinion
        if opinion is False:  # patterns that have only believed the others
            for other in self._site.chains:
                theirs = other.evidence.get(hypothesis)
                if other is not leaf and (theirs is None or not theirs.successes):
                    self._site.give_back(other, hypothesis)

    def _refute(self, pattern: Pattern, hypothesis: Hypothesis, evidence: Evidence) -> None:
        evidence.strikes += evidence.holds is True
        self._rule(pattern, hypothesis, evidence, holds=False)
        for leaf, blamed in self._site.noise.forgivable(hypothesis):
            self.forgive(leaf, blamed)
        for leaf in self._site.chains:
            if pattern in leaf.chain:
                nearer = (p.evidence.get(hypothesis) for p in leaf.chain[: leaf.chain.index(pattern)])
                if not any(found is not None and found.holds for found in nearer):
                    self._site.give_back(leaf, hypothesis)

    def _rule(self, pattern: Pattern, hypothesis: Hypothesis, evidence: Evidence, *, holds: bool) -> None:
        site = self._site
        site.rule(hypothesis, evidence, holds=holds)
        self._changes.append(RuleChange(site.fetched, site.name, pattern.name, str(hypothesis), holds))


def _is_exception(evidence: Evidence) -> bool:
    share = evidence.different / (evidence.same + evidence.different + 1e-9)
    return evidence.failures > evidence.successes or (evidence.failures > 1 and share > 0.2)
