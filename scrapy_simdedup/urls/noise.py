"""The noise of a site: how often the fingerprint itself errs, known from proven errors only."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from scrapy_simdedup.urls.evidence import LOWER, Evidence, wilson_bound
from scrapy_simdedup.urls.hypotheses import Hypothesis
from scrapy_simdedup.urls.page_index import ContentCounters, PartTags
from scrapy_simdedup.urls.patterns import PathPattern

MAX_DISPUTES, MAX_EXCUSES, MAX_FAILED = 2000, 500, 4000
"""Disputes, excused failures, and pairs of contents that failed, that are remembered per site."""
_TESTS = 100
"""URLs that are fetched to prove noise, once a rule fell."""
_MARGIN = 1.3
"""Factor on the median failure rate of all parts, up to which noise explains the failures of one part."""
_TO_ACCEPT, _TO_KEEP = 1.5, 2.0
"""Standard deviations above the average from which failures are more than noise."""
_TOLERANCE, _TOLERANCE_RANDOM = 0.001, 0.01
"""Share of failures that proves nothing even without noise; the latter for random and initial parts."""
_LOW_RISK_DISCOUNT = 100
"""Divisor of the suspicion against parts that hardly ever change a page."""


@dataclass(frozen=True, slots=True)
class Dispute:
    """Two pages that are not alike, but should be if some hypotheses are true."""

    leaf: PathPattern
    blamed: Hypothesis
    content: int
    tags: PartTags
    """The suspects: hypotheses whose parts the two pages differ in, with the tags of the first page."""
    other_content: int
    other_tags: PartTags
    common: PartTags
    """Rules that drop the same part from both pages, with its tag."""


DisputeOutcome = Literal["noise", "proof"]
"""What a third page proves in a dispute: noise is the reason, or the blamed hypothesis is wrong."""


class Noise:
    """Tells a rule that is wrong for some pages from a fingerprint that errs now and then.

    Where a rule is wrong, all pages on one side of it are alike. Where a fingerprint errs, one page is unlike all
    others, those on its own side included. So when two pages that should be alike are not, a third one can prove
    noise: it is on the side of one of them in every respect, but has the content of the other. On a site where nothing
    was proven there is no noise, and a single failure refutes a rule; elsewhere, more failures than other rules have.
    """

    __slots__ = ("disputes", "excuses", "failed", "proven_count", "rule_fell", "share", "tests")

    def __init__(self) -> None:
        self.disputes: dict[int, list[Dispute]] = {}
        """Identity of two pages without the parts in which they differ → their disputes."""
        self.excuses: deque[tuple[PathPattern, Hypothesis, frozenset[Hypothesis]]] = deque(maxlen=MAX_EXCUSES)
        """The leaf and the hypothesis of the latest failures, with the rules that may be the reason."""
        self.proven_count: int = 0
        """Disputes that were proven to be noise."""
        self.share: float = 0.0
        """Share of trials that fail by noise."""
        self.rule_fell: bool = False
        """Whether a rule fell though it was nearly always right."""
        self.tests: int = 0
        """URLs that were fetched to prove noise."""
        self.failed: dict[tuple[PathPattern, Hypothesis, int], None] = {}
        """A leaf, a hypothesis and the XOR of two contents that spoke against it there, the latest at the end."""

    def estimate(self, evidence: Iterable[Evidence]) -> None:
        """Estimate the share of trials that fail by noise: the median of the parts' failure rates.

        It is no more than any part may have, as noise is everywhere: parts that matter on the same pages, such as those
        that show all of an article, can be most of a site's.
        """
        tried = [e for e in evidence if e.likely and e.successes > 20]
        shares = sorted(e.failure_rate for e in tried)
        if self.proven_count and len(shares) > 2:
            most = (wilson_bound(e.failures, e.successes + e.surplus, -LOWER) for e in tried)
            self.share = min(shares[len(shares) // 2], *most)

    def explains(self, evidence: Evidence, *, random: bool, related: Evidence | None = None) -> bool:
        """Whether noise explains the failures of a hypothesis, with the failures of a related hypothesis added."""
        failures = evidence.failures + (related.failures if related is not None else 0)
        trials = evidence.trials + (related.trials if related is not None else 0)
        if not failures:
            return True
        if evidence.proven_failures > 1 + 2 * self.share**2 * trials:
            return False
        surplus = evidence.surplus + (related.surplus if related is not None else 0)
        expected = _MARGIN * self.share * (trials + surplus)
        expected += (_TOLERANCE_RANDOM if random else _TOLERANCE) * trials
        deviations = _TO_KEEP if evidence.holds else _TO_ACCEPT
        return failures <= expected + deviations * math.sqrt(expected)

    def is_new_failure(self, leaf: PathPattern, hypothesis: Hypothesis, content: int, other: int) -> bool:
        """Note that two contents speak against a hypothesis; whether they did not before.

        So a page that erred counts once, however many URLs it is compared under, as each content has few successes.
        """
        key = leaf, hypothesis, content ^ other
        is_new = key not in self.failed
        self.failed[key] = None
        if len(self.failed) > MAX_FAILED:
            del self.failed[next(iter(self.failed))]
        return is_new

    @property
    def is_suspected(self) -> bool:
        """Whether noise would explain that a rule fell, and few URLs were fetched to prove it."""
        return self.rule_fell and self.tests < _TESTS and not self.proven_count

    def blame(self, leaf: PathPattern, suspects: Iterable[Hypothesis], content: int) -> Hypothesis:
        """The hypothesis that is blamed for a failure: the most doubtful suspect.

        Where there is noise, the content picks one of the suspects that can matter, so that none collects all blame.
        """
        if self.proven_count:
            able = [h for h in suspects if not h.rarely_matters] or list(suspects)
            return able[content % len(able)]
        return max(suspects, key=lambda h: _suspicion(leaf, h))

    def open(self, bare: int, dispute: Dispute) -> None:
        """Open a dispute under the identity of its pages without the parts in which they differ."""
        self.disputes.setdefault(bare, []).append(dispute)
        if len(self.disputes) > MAX_DISPUTES:
            del self.disputes[next(iter(self.disputes))]

    def close(self, bare: int, dispute: Dispute) -> None:
        """Close a dispute."""
        self.disputes[bare].remove(dispute)
        if not self.disputes[bare]:
            del self.disputes[bare]

    def remember_excused(self, leaf: PathPattern, hypothesis: Hypothesis, reasons: Iterable[Hypothesis]) -> None:
        """Remember a failure of a hypothesis of which rules may be the reason."""
        self.excuses.append((leaf, hypothesis, frozenset(reasons) - {hypothesis}))

    def pop_excused(self, culprit: Hypothesis) -> list[tuple[PathPattern, Hypothesis]]:
        """Move failures from other hypotheses to the culprit, a refuted hypothesis that explains them."""
        every = [(bare, dispute) for bare, disputes in self.disputes.items() for dispute in disputes]
        found = [(bare, d) for bare, d in every if culprit in d.tags and d.blamed is not culprit]
        for bare, dispute in found:
            self.close(bare, dispute)
        excused = [excuse for excuse in self.excuses if culprit in excuse[2]]
        self.excuses = deque((excuse for excuse in self.excuses if culprit not in excuse[2]), MAX_EXCUSES)
        return [*((d.leaf, d.blamed) for _, d in found), *((leaf, h) for leaf, h, _ in excused)]

    def examine_third_page(
        self, bare: int, dispute: Dispute, content: int, tags: PartTags, contents: ContentCounters
    ) -> DisputeOutcome | Hypothesis | None:
        """Compare a dispute with a third page; returns what it proves, or the hypothesis to blame instead."""
        if content == dispute.other_content:
            unlike, unlike_tags = dispute.content, dispute.tags
        elif content == dispute.content:
            unlike, unlike_tags = dispute.other_content, dispute.other_tags
        elif len(tags) == 1 and any(tags.values()):  # three pages, three contents
            self.close(bare, dispute)
            return "proof"
        else:
            return None
        suspects = [h for h, found in unlike_tags.items() if found is None or found != tags[h]]
        if not suspects and contents.seen_once(unlike):
            self.close(bare, dispute)
            return "noise"
        if 0 < len(suspects) < len(dispute.tags):
            blamed = dispute.blamed
            if blamed not in suspects:
                blamed = max(suspects, key=lambda h: _suspicion(dispute.leaf, h))
            own_tags, other_tags = ({h: side[h] for h in suspects} for side in (dispute.tags, dispute.other_tags))
            cleared = {h: tags[h] for h in unlike_tags if h not in suspects and not h.rarely_matters}
            common = dispute.common | cleared  # alone: together with a suspect they may still matter
            self.close(bare, dispute)
            self.open(bare, replace(dispute, blamed=blamed, tags=own_tags, other_tags=other_tags, common=common))
            return blamed if blamed is not dispute.blamed else None
        if len(suspects) == 1 and not any(map(contents.seen_once, (dispute.content, dispute.other_content))):
            self.close(bare, dispute)
            return "proof"
        return None


def _suspicion(leaf: PathPattern, hypothesis: Hypothesis) -> float:
    """How likely a hypothesis is wrong at a leaf: its failure rate there, with that of the site as one more trial."""
    own, everywhere = leaf.evidence[hypothesis], leaf.lineage[-1].evidence[hypothesis]
    share = 0.5
    if everywhere is not own:
        opinions = everywhere.agreeing + everywhere.exceptions
        share = max(everywhere.failure_rate, (everywhere.exceptions + 0.5) / (opinions + 1))
    doubt = (own.failures + share) / (own.trials + 1)
    return doubt / _LOW_RISK_DISCOUNT if hypothesis.rarely_matters else doubt
