"""What it takes for a hypothesis to become a rule, and to stay one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simdedup.urls.evidence import lower_bound

if TYPE_CHECKING:
    from scrapy_simdedup.urls.caution import Caution
    from scrapy_simdedup.urls.evidence import Evidence
    from scrapy_simdedup.urls.hypotheses import Hypothesis
    from scrapy_simdedup.urls.patterns import Pattern
    from scrapy_simdedup.urls.site import Site

_RULED_OUT = 7.0
"""Failures to be expected where none was seen, from which that is no chance: exp(-7) is 0.1 %."""

_MOST_LENIENCE = 0.1
"""How much lower the bounds are set at most where fingerprints are noisy."""


class Criteria:
    """Weighs the evidence on a hypothesis at a pattern against all else that is known of the site."""

    def __init__(self, site: Site, caution: Caution) -> None:
        self._site = site
        self._caution = caution

    def is_proven(self, pattern: Pattern, hypothesis: Hypothesis, evidence: Evidence) -> bool:
        """Whether it becomes a rule."""
        caution = self._caution
        if hypothesis.given and evidence.holds is False:
            return self._is_explained(pattern, hypothesis, evidence)
        head_start = caution.head_start if self._is_known(pattern, hypothesis) else 0
        needed = (3 if head_start else caution.contents) << min(evidence.strikes, 4)
        if min(len(evidence.contents), evidence.same) < needed:
            return False
        bound = lower_bound(evidence.same + head_start, evidence.different)
        if bound < caution.accept - self._lenience() or not self._is_explained(pattern, hypothesis, evidence):
            return False
        is_leaf = pattern.name in self._site.tree.leaves
        if not is_leaf and (evidence.agreeing < caution.patterns or 4 * evidence.exceptions > evidence.agreeing):
            return False
        if self._is_doubted_above(pattern, hypothesis, evidence) or self._is_contradicted(pattern, hypothesis):
            return False
        for content in [c for c in evidence.contents if self._site.contents.is_popular(c)]:
            evidence.take_back(evidence.contents.pop(content))  # what stubs have credited
        return min(len(evidence.contents), evidence.same) >= needed

    def falls(self, pattern: Pattern, hypothesis: Hypothesis, evidence: Evidence) -> bool:
        """Whether it is a rule no longer."""
        low = lower_bound(evidence.same, evidence.different) < self._caution.revoke - self._lenience()
        return (
            (low and evidence.failures > 0 and not hypothesis.given)
            or (evidence.exceptions > 1 and 4 * evidence.exceptions > evidence.agreeing)
            or not self._is_explained(pattern, hypothesis, evidence)
            or self._is_doubted_above(pattern, hypothesis, evidence)
            or (len(hypothesis.names) > 1 and self._is_contradicted(pattern, hypothesis))
        )

    def _lenience(self) -> float:
        return min(_MOST_LENIENCE, self._site.noise.share)

    def _is_known(self, pattern: Pattern, hypothesis: Hypothesis) -> bool:
        """Whether something else than the trials here speaks for it."""
        if hypothesis.session or hypothesis.given or hypothesis in self._site.hypotheses.hinted:
            return True
        top = pattern.chain[-1].evidence.get(hypothesis) if len(pattern.chain) > 1 else None
        return top is not None and top.agreeing > 1 and not top.exceptions

    def _is_explained(self, pattern: Pattern, hypothesis: Hypothesis, evidence: Evidence) -> bool:
        """Whether noise explains its failures, those included that speak for another hypothesis about the same part."""
        random = hypothesis.given or self._site.hypotheses.is_random(hypothesis)
        related = self._related(pattern, hypothesis) if len(hypothesis.names) == 1 else None
        return self._site.noise.explains(evidence, random=random, related=related)

    def _related(self, pattern: Pattern, hypothesis: Hypothesis) -> Evidence | None:
        """What fails for a value fails for its part, and what fails for a part now and then may fail for any value."""
        part = self._site.hypotheses.parts[hypothesis.names[0]]
        if hypothesis.value is None:
            found = [pattern.evidence[h] for h in part.values.values() if h in pattern.evidence]
            return max(found, key=lambda evidence: evidence.failures, default=None)
        whole = pattern.evidence.get(part.irrelevant) if part.irrelevant is not None else None
        return whole if whole is not None and whole.likely else None

    def _is_doubted_above(self, pattern: Pattern, hypothesis: Hypothesis, evidence: Evidence) -> bool:
        """Whether it is wrong now and then elsewhere on the site, and too little is known here to rule that out."""
        for above in pattern.chain[1:]:
            found = above.evidence.get(hypothesis)
            if found is None or not found.failures or self._is_explained(above, hypothesis, found):
                continue
            if evidence.successes * found.failures < _RULED_OUT * found.trials:
                return True
        return False

    def _is_contradicted(self, pattern: Pattern, hypothesis: Hypothesis) -> bool:
        """Whether what is known of its parts alone speaks against it.

        A part is not irrelevant if one of its values is no default, and parts that were seen to change one by one do
        not only change together.
        """
        if hypothesis.value is not None:
            return False
        parts = [self._site.hypotheses.parts[name] for name in hypothesis.names]
        alone = [h for part in parts for h in part.values.values() if h in pattern.evidence]
        if len(parts) == 1:
            return any(map(pattern.refutes, alone))
        alone += [p.irrelevant for p in parts if p.irrelevant is not None and p.irrelevant in pattern.evidence]
        return any(pattern.evidence[h].trials > 2 for h in alone)
