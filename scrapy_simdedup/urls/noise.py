"""How often the fingerprint itself errs, known only from errors that were proven."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_simdedup.urls.contents import Contents
    from scrapy_simdedup.urls.evidence import Evidence
    from scrapy_simdedup.urls.hypotheses import Hypothesis
    from scrapy_simdedup.urls.page_index import Tags
    from scrapy_simdedup.urls.patterns import Pattern

MAX_DISPUTES, MAX_EXCUSES = 2000, 500

_MAX_CLOSED = 300
"""Disputes that are closed at once, to bound the time that takes: the latest."""

_MARGIN = 1.3
"""How much more often than the median of all parts a single one may fail."""

_TO_ACCEPT, _TO_KEEP = 1.5, 2.0
"""Standard deviations above the average from which failures are more than noise."""

_TOLERANCE, _TOLERANCE_RANDOM = 0.001, 0.01
"""Share of failures that proves nothing even where there is no noise; the latter where a failure is implausible."""

_INNOCENT = 100
"""How much less suspect parts are that hardly ever change a page."""


Excuse = tuple["Pattern", "Hypothesis", frozenset["Hypothesis"]]
"""Where which hypothesis failed, and the rules that may be the reason."""


@dataclass(frozen=True, slots=True)
class Dispute:
    """Two pages that should be alike if some hypotheses are true, and are not."""

    leaf: Pattern
    blamed: Hypothesis
    content: int
    tags: Tags
    """The suspects: hypotheses that the two pages differ in, with what the first page had."""
    other_content: int
    other_tags: Tags


@dataclass(frozen=True, slots=True)
class Finding:
    """What a third page says about a dispute."""

    blamed: Hypothesis | None
    """The hypothesis that is really to blame; None if it was noise."""
    is_proof: bool = False
    """Whether noise cannot be the reason."""


class Noise:
    """Tells a rule that is wrong for some pages from a fingerprint that errs now and then.

    Where a rule is wrong, all pages on one side of it are alike. Where a fingerprint errs, one page is unlike all
    others, those on its own side included. So when two pages that should be alike are not, a third one can prove
    noise: it is on the side of one of them in every respect, but has the content of the other. On a site where nothing
    was proven there is no noise, and a single failure refutes a rule; elsewhere, more failures than other rules have.
    """

    __slots__ = ("disputes", "excuses", "proven", "share")

    def __init__(self) -> None:
        self.disputes: dict[int, list[Dispute]] = {}
        """By the identity of the two pages without what they differ in."""
        self.excuses: deque[Excuse] = deque(maxlen=MAX_EXCUSES)
        """The latest failures that a rule in force may be the reason of."""
        self.proven = 0
        """Disputes that were noise."""
        self.share = 0.0
        """Share of trials that fail for no reason."""

    def estimate(self, evidence: Iterable[Evidence]) -> None:
        """Learn how often a trial fails for no reason: as often as it does for the median of the parts."""
        shares = sorted(e.doubt for e in evidence if e.likely and e.successes > 20)
        if self.proven and len(shares) > 2:
            self.share = shares[len(shares) // 2]

    def explains(self, evidence: Evidence, *, random: bool, related: Evidence | None = None) -> bool:
        """Whether failures are no more than noise would cause; those of a related hypothesis are added."""
        failures = evidence.failures + (related.failures if related is not None else 0)
        trials = evidence.trials + (related.trials if related is not None else 0)
        if not failures:
            return True
        if evidence.proofs > 1 + 2 * self.share**2 * trials:
            return False
        expected = (_MARGIN * self.share + (_TOLERANCE_RANDOM if random else _TOLERANCE)) * trials
        deviations = _TO_KEEP if evidence.holds else _TO_ACCEPT
        return failures <= expected + deviations * math.sqrt(expected)

    def blame(self, leaf: Pattern, suspects: Iterable[Hypothesis], content: int) -> Hypothesis:
        """The hypothesis that is to answer for a failure: the most doubtful one.

        Where there is noise it is any of those that can matter, picked by the content, so that none collects all blame.
        """
        if self.proven:
            able = [h for h in suspects if not h.rarely_matters] or list(suspects)
            return able[content % len(able)]
        return max(suspects, key=lambda h: _doubt(leaf, h))

    def open(self, bare: int, dispute: Dispute) -> None:
        """Remember two pages that are not alike."""
        self.disputes.setdefault(bare, []).append(dispute)
        if len(self.disputes) > MAX_DISPUTES:
            del self.disputes[next(iter(self.disputes))]

    def close(self, bare: int, dispute: Dispute) -> None:
        """Forget a dispute."""
        self.disputes[bare].remove(dispute)
        if not self.disputes[bare]:
            del self.disputes[bare]

    def excuse(self, leaf: Pattern, hypothesis: Hypothesis, reasons: Iterable[Hypothesis]) -> None:
        """Remember a failure of a hypothesis that others may be the reason of."""
        self.excuses.append((leaf, hypothesis, frozenset(reasons) - {hypothesis}))

    def forgivable(self, culprit: Hypothesis) -> list[tuple[Pattern, Hypothesis]]:
        """The failures that others were blamed for and this one, known to be wrong, explains; forgets them."""
        every = [(bare, dispute) for bare, disputes in self.disputes.items() for dispute in disputes]
        found = [
            (bare, dispute) for bare, dispute in every if culprit in dispute.tags and dispute.blamed is not culprit
        ]
        for bare, dispute in found:
            self.close(bare, dispute)
        excused = [excuse for excuse in self.excuses if culprit in excuse[2]]
        self.excuses = deque((excuse for excuse in self.excuses if culprit not in excuse[2]), MAX_EXCUSES)
        return [*((d.leaf, d.blamed) for _, d in found), *((leaf, h) for leaf, h, _ in excused)]

    def third_look(self, bare: int, dispute: Dispute, content: int, tags: Tags, contents: Contents) -> Finding | None:
        """Hear another page about a dispute; returns what that changes, if anything."""
        if content == dispute.other_content:
            unlike, unlike_tags = dispute.content, dispute.tags
        elif content == dispute.content:
            unlike, unlike_tags = dispute.other_content, dispute.other_tags
        elif len(tags) == 1 and any(tags.values()):  # three pages, three contents
            self.close(bare, dispute)
            return Finding(dispute.blamed, is_proof=True)
        else:
            return None
        suspects = [h for h, found in unlike_tags.items() if found is None or found != tags[h]]
        if not suspects and contents.seen_once(unlike):
            self.close(bare, dispute)
            self.proven += 1
            return Finding(None)
        if 0 < len(suspects) < len(dispute.tags):
            return self._narrow(bare, dispute, suspects)
        if len(suspects) == 1 and not any(map(contents.seen_once, (dispute.content, dispute.other_content))):
            self.close(bare, dispute)
            return Finding(dispute.blamed, is_proof=True)
        return None

    def _narrow(self, bare: int, dispute: Dispute, suspects: list[Hypothesis]) -> Finding | None:
        blamed = dispute.blamed
        if blamed not in suspects:
            blamed = max(suspects, key=lambda h: _doubt(dispute.leaf, h))
        tags, other_tags = ({h: found[h] for h in suspects} for found in (dispute.tags, dispute.other_tags))
        self.close(bare, dispute)
        self.open(bare, replace(dispute, blamed=blamed, tags=tags, other_tags=other_tags))
        return Finding(blamed) if blamed is not dispute.blamed else None


def _doubt(leaf: Pattern, hypothesis: Hypothesis) -> float:
    """How likely a hypothesis is wrong for a page here: its failures here; those on the site count as one trial."""
    own, everywhere = leaf.on(hypothesis), leaf.chain[-1].on(hypothesis)
    share = 0.5
    if everywhere is not own:
        opinions = everywhere.agreeing + everywhere.exceptions
        share = max(everywhere.doubt, (everywhere.exceptions + 0.5) / (opinions + 1))
    doubt = (own.failures + share) / (own.trials + 1)
    return doubt / _INNOCENT if hypothesis.rarely_matters else doubt
