"""The tests of a site's hypotheses: when a hypothesis becomes a rule, and when a rule is refuted."""

from __future__ import annotations

import math

from scrapy_simdedup.urls.evidence import LOWER, Evidence, wilson_bound
from scrapy_simdedup.urls.hypotheses import Hypothesis
from scrapy_simdedup.urls.patterns import PathPattern
from scrapy_simdedup.urls.site import Site

_RULED_OUT = 7.0
"""Negative logarithm of the probability below which it is no chance that all failures are elsewhere: 0.1 %."""
_NO_CHANCE = 3.0
"""Negative logarithm of the probability, one in twenty, that any of the values of a part is right by chance."""
_MAX_LENIENCE = 0.1
"""How much lower the bounds are set at most where fingerprints are noisy."""


class RuleTests:
    """Tests of the evidence on a hypothesis at a pattern against all else that is known of the site.

    A hypothesis becomes a rule if it passes all of these tests; a rule that the user or the list of tracking parameters
    gave, and that was refuted, needs only the third.

    1. Enough different contents, and enough successes, speak for it. Fewer are needed where the hypothesis has prior
       support, or was a rule when the last crawl ended, more each time it was revoked. Contents that turned out to be
       stubs do not count.
    2. The lower bound of the share of successes is high enough.
    3. Noise explains its failures, together with the failures of another hypothesis about the same part.
    4. If the pattern is no leaf, enough leaves below agree, and few are exceptions.
    5. It does not fail at an ancestor, unless so much is known at this pattern that the failures must lie elsewhere.
    6. No other hypothesis about the same parts contradicts it.
    7. It is no chance that it was right where other values of the same part were not always.

    A rule is refuted if it fails test 3, 5 or 7, if at least two leaves are exceptions and so are more than one for
    every four that agree, or if its lower bound sinks below a second, lower limit. A rule about several parts is also
    refuted if it fails test 6.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._thresholds = site.thresholds

    def is_proven(self, pattern: PathPattern, hypothesis: Hypothesis, evidence: Evidence) -> bool:
        """Whether a hypothesis becomes a rule at a pattern."""
        thresholds = self._thresholds
        if hypothesis.is_initial and evidence.holds is False:
            return self._is_explained(pattern, hypothesis, evidence)
        prior_successes = self._prior_successes(pattern, hypothesis, evidence)
        needed = (3 if prior_successes else thresholds.min_contents) << min(evidence.revocations, 4)
        if min(len(evidence.contents), evidence.decayed_same) < needed:
            return False
        bound = wilson_bound(evidence.decayed_same + prior_successes, evidence.decayed_different, LOWER)
        if bound < thresholds.accept - self._lenience() or not self._is_explained(pattern, hypothesis, evidence):
            return False
        is_leaf = pattern.is_conditional or pattern.name in self._site.tree.leaves
        least = thresholds.min_patterns_remembered if evidence.remembered else thresholds.min_patterns
        if not is_leaf and (evidence.agreeing < least or 4 * evidence.exceptions > evidence.agreeing):
            return False
        is_doubtful = self._fails_at_ancestor(pattern, hypothesis, evidence) or self._is_chance(
            pattern, hypothesis, evidence
        )
        if is_doubtful or self._is_contradicted(pattern, hypothesis):
            return False
        for content in [c for c in evidence.contents if self._site.contents.is_stub_content(c)]:
            evidence.uncount(evidence.contents.pop(content))
        return min(len(evidence.contents), evidence.decayed_same) >= needed

    def must_fall(self, pattern: PathPattern, hypothesis: Hypothesis, evidence: Evidence) -> bool:
        """Whether a rule is refuted at a pattern."""
        bound = wilson_bound(evidence.decayed_same, evidence.decayed_different, LOWER)
        is_low = bound < self._thresholds.revoke - self._lenience()
        return (
            (is_low and evidence.failures > 0 and not hypothesis.is_initial)
            or (evidence.exceptions > 1 and 4 * evidence.exceptions > evidence.agreeing)
            or not self._is_explained(pattern, hypothesis, evidence)
            or self._fails_at_ancestor(pattern, hypothesis, evidence)
            or self._is_chance(pattern, hypothesis, evidence)
            or (len(hypothesis.names) > 1 and self._is_contradicted(pattern, hypothesis))
        )

    def _lenience(self) -> float:
        return min(_MAX_LENIENCE, self._site.noise.share)

    def _prior_successes(self, pattern: PathPattern, hypothesis: Hypothesis, evidence: Evidence) -> int:
        """The successes that a hypothesis is credited with because something else than its trials speaks for it."""
        if pattern.is_conditional:
            return 0
        if self._has_prior_support(pattern, hypothesis):
            return self._thresholds.prior_successes
        above = pattern.lineage[1:] if evidence.holds is not False else []
        known = (at.evidence.get(hypothesis) for at in (pattern, *above))
        remembered = [found.remembered for found in known if found is not None]
        return min(self._thresholds.prior_successes, max(remembered, default=0))

    def _has_prior_support(self, pattern: PathPattern, hypothesis: Hypothesis) -> bool:
        """Whether something else than the trials at this pattern speaks for a hypothesis."""
        hinted = self._site.hypotheses.hinted
        part = self._site.hypotheses.parts[hypothesis.names[0]]
        if hypothesis.session or hypothesis.is_initial or hypothesis in hinted:
            return True
        if hypothesis.any_value and part.irrelevant in hinted:
            return True
        top = pattern.lineage[-1].evidence.get(hypothesis) if len(pattern.lineage) > 1 else None
        return top is not None and top.agreeing > 1 and not top.exceptions

    def _is_explained(self, pattern: PathPattern, hypothesis: Hypothesis, evidence: Evidence) -> bool:
        random = hypothesis.is_initial or self._site.hypotheses.is_random(hypothesis)
        if evidence.confirmed_failures and not random and not self._site.noise.proven_count:
            return False
        related = self._related(pattern, hypothesis) if len(hypothesis.names) == 1 else None
        return self._site.noise.explains(evidence, random=random, related=related)

    def _related(self, pattern: PathPattern, hypothesis: Hypothesis) -> Evidence | None:
        """The evidence on the related hypothesis about the same part; its failures speak against both."""
        if hypothesis.any_value:
            return None
        part = self._site.hypotheses.parts[hypothesis.names[0]]
        if hypothesis.value is None:
            found = [pattern.evidence[h] for h in part.values.values() if h in pattern.evidence]
            return max(found, key=lambda evidence: evidence.failures, default=None)
        whole = pattern.evidence.get(part.irrelevant) if part.irrelevant is not None else None
        return whole if whole is not None and whole.likely else None

    def _fails_at_ancestor(self, pattern: PathPattern, hypothesis: Hypothesis, evidence: Evidence) -> bool:
        for above in pattern.lineage[1:]:
            found = above.evidence.get(hypothesis)
            if found is None or not found.failures or self._is_explained(above, hypothesis, found):
                continue
            elsewhere = found.failures - evidence.failures
            if elsewhere <= 0:  # none is but here, where they are judged already
                continue
            share_here = min(0.999, evidence.successes / found.trials)
            if -elsewhere * math.log(1 - share_here) < _RULED_OUT:
                return True
        return False

    def _is_chance(self, pattern: PathPattern, hypothesis: Hypothesis, evidence: Evidence) -> bool:
        """Whether a value may be as wrong as the other values of its part, and was right so far by chance.

        Of forty values that are each wrong for one page in ten, five have twenty successes and no failure.
        """
        if hypothesis.value is None:
            return False
        values = self._site.hypotheses.parts[hypothesis.names[0]].values.values()
        others = [pattern.evidence[h] for h in values if h is not hypothesis and h in pattern.evidence]
        pooled = Evidence(sum(other.successes for other in others), sum(other.failures for other in others))
        if self._site.noise.explains(pooled, random=False):
            return False
        share = min(0.999, pooled.failures / pooled.trials)
        return -evidence.successes * math.log(1 - share) < _NO_CHANCE + math.log(1 + len(others))

    def _is_contradicted(self, pattern: PathPattern, hypothesis: Hypothesis) -> bool:
        """Whether the evidence on each of its parts alone speaks against a hypothesis.

        A part is not irrelevant if one of its values is no default. Parts that were seen to change one by one do not
        only change together.
        """
        if hypothesis.value is not None or hypothesis.any_value:
            return False
        parts = [self._site.hypotheses.parts[name] for name in hypothesis.names]
        alone = [h for part in parts for h in part.values.values() if h in pattern.evidence]
        if len(parts) == 1:
            return any(map(pattern.refutes, alone))
        alone += [p.irrelevant for p in parts if p.irrelevant is not None and p.irrelevant in pattern.evidence]
        return any(pattern.evidence[h].trials > 2 for h in alone)
