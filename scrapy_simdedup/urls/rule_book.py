"""The rule book: the evidence on a site's hypotheses, trial by trial, and the verdicts that follow from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from scrapy_simdedup.urls.evidence import Evidence
from scrapy_simdedup.urls.hypotheses import Hypothesis
from scrapy_simdedup.urls.patterns import FEW_VALUES, PathPattern
from scrapy_simdedup.urls.rule_tests import RuleTests
from scrapy_simdedup.urls.site import Site
from scrapy_simdedup.urls.trials import Observation

_FAILED = 2
"""Failures from which on any value of a part may do though the part is not irrelevant."""
_LEARNING_DECAY, _VERIFYING_DECAY = 0.995, 0.98
"""How fast old trials fade: over 200 while learning, over 50 while verifying, so that old success protects no rule."""


class _Count(NamedTuple):
    """A trial of a hypothesis with a page, to be counted at several patterns."""

    hypothesis: Hypothesis
    url: str
    host: str
    content: int | None
    """The content of the page; None if the trial failed."""
    verifying: bool
    confirmed: bool

    @property
    def decay(self) -> float:
        return _VERIFYING_DECAY if self.verifying else _LEARNING_DECAY


class RuleBook:
    """The evidence and the verdicts on a site's hypotheses, kept up to date trial by trial.

    What one trial of a hypothesis at a leaf changes:

    1. It is counted at the leaf, and for the host of the page as well, since each host must confirm a rule itself.
       Failures always count; successes only until their content has decided enough of them.
    2. It is reported to the leaf's ancestors, unless the leaf is an exception. Failures are held back until the leaf
       has two successes: before that, the hypothesis may just be wrong for this leaf. A leaf that is one page of many
       is no exception, as any page is the only one of its path; it holds back what may be noise.
    3. The leaf and its ancestors get their verdicts anew, the leaf first. A rule that fails the ``RuleTests`` is
       refuted; a hypothesis that passes them becomes a rule. A leaf that inherits a rule and has tried it in vain
       refutes it for itself.
    4. The leaf votes at its ancestors: it agrees, or it is an exception, whose trials are taken out of the ancestors'.
    5. Where a rule is refuted, the URLs that it had skipped are readmitted, at all leaves where no nearer verdict
       keeps it in force. Failures that other hypotheses were blamed for and that it explains are withdrawn.
    6. Where the hypothesis fails at the leaf, it may be right for URLs of a certain kind: those that have another
       parameter as well, or one with a certain value. So the trial is counted for each of these conditions, too, which
       have verdicts of their own; the test at ancestors tells whether it is no chance that all failures are elsewhere.
    7. After a failure, rules about the same part get their verdicts anew: what speaks against a value of a part speaks
       against the whole part, and the other way round.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._max_per_content = site.thresholds.max_trials_per_content
        self._tests = RuleTests(site)

    def count_trial(
        self, seen: Observation, hypothesis: Hypothesis, *, same: bool, verifying: bool, confirmed: bool = False
    ) -> None:
        """Count one trial of a hypothesis with a page, and draw the conclusions.

        A failure is confirmed if both pages were fetched twice. Where the hypothesis fails at the leaf, the trial is
        counted for all conditions that the page fulfils.
        """
        site, leaf = self._site, seen.page.leaf
        if same and not hypothesis.any_value:
            site.hypotheses.count_success(hypothesis, dict(seen.parts.parts))
        if same and hypothesis.any_value and site.differs_without(seen.page, hypothesis, seen.content):
            leaf.evidence[hypothesis].apart += 1
        fails_here = hypothesis not in leaf.rules.pattern_of and (not same or leaf.evidence[hypothesis].failures > 0)
        values = site.hypotheses.parts[hypothesis.names[0]].values
        if hypothesis.value is not None and len(values) > FEW_VALUES:  # of so many, some are right by chance
            fails_here = False
        conditions = site.tree.conditions_of(seen.page, hypothesis.names) if fails_here else []
        content = seen.content if same else None
        self._count(_Count(hypothesis, seen.url, seen.page.host, content, verifying, confirmed), leaf, conditions)
        if confirmed and site.questions is not None:
            for pattern in (leaf, *conditions):
                site.questions.add_exception(pattern, hypothesis)

    def count_blame(
        self, seen: Observation, leaf: PathPattern, hypothesis: Hypothesis, *, confirmed: bool = False
    ) -> None:
        """Count a failure at a leaf of a hypothesis that was not on trial."""
        self._count(_Count(hypothesis, seen.url, seen.page.host, None, verifying=True, confirmed=confirmed), leaf)

    def _count(self, trial: _Count, leaf: PathPattern, conditions: Iterable[PathPattern] = ()) -> None:
        self._join_crowd(leaf)
        site, hypothesis, content = self._site, trial.hypothesis, trial.content
        own = leaf.evidence[hypothesis]
        self._enter(trial, own)
        for condition in conditions:
            known = condition.evidence[hypothesis]
            self._enter(trial, known)
            site.count_for_host(condition, hypothesis, trial.host, content)
            if content is not None:
                known.succeed(content, self._max_per_content, trial.decay)
            self._update_verdict(condition, hypothesis, known)
        for pattern in leaf.lineage if content is not None and own.vote is not False else [leaf]:
            site.count_for_host(pattern, hypothesis, trial.host, content)
        if content is None:
            site.version += trial.confirmed or own.failures == _FAILED
            own.unreported_failures += 1
            own.unreported_confirmed += trial.confirmed
            if trial.confirmed:
                self._doubt_other_rules(leaf)
        elif not own.succeed(content, self._max_per_content, trial.decay) and not trial.verifying:
            for pattern in leaf.lineage[1:] if own.vote is not False else ():
                pattern.evidence[hypothesis].surplus += 1
            return
        failures = self._report_trial(trial, leaf)
        self._update_verdicts(leaf, hypothesis)
        if failures:
            self._check_everywhere(hypothesis)
        if content is None and len(hypothesis.names) == 1:
            part = site.hypotheses.parts[hypothesis.names[0]]
            about_part = [h for h in (part.irrelevant, *part.values.values()) if h is not None and h is not hypothesis]
            for related in filter(leaf.rules.pattern_of.__contains__, about_part):
                self._update_verdicts(leaf, related)

    def _enter(self, trial: _Count, evidence: Evidence) -> None:
        """Count a trial at one pattern, but for the success, of which a content has only some."""
        evidence.unverified = 0
        if trial.content is not None:
            evidence.verified += trial.verifying  # a skip that was right is one more, however often its content was met
        else:
            self._fail(evidence, trial.url, trial.decay)
            evidence.confirmed_failures += trial.confirmed

    def _fail(self, evidence: Evidence, url: str, decay: float, times: int = 1) -> None:
        """Count failures; unless they are noise, the rule is to be verified more often."""
        evidence.fail(url, decay, times)
        if not self._site.noise.proven_count or not self._site.noise.explains(evidence, random=False):
            evidence.verified //= 2

    def _report_trial(self, trial: _Count, leaf: PathPattern) -> int:
        """Report a trial to a leaf's ancestors; returns how many failures were told."""
        own = leaf.evidence[trial.hypothesis]
        if own.vote is False:
            return 0
        failures = confirmed = 0
        if own.successes > 1 or (own.unreported_confirmed and leaf.is_one_of_many):
            failures, confirmed = own.unreported_failures, own.unreported_confirmed
            own.unreported_failures = own.unreported_confirmed = 0
        for pattern in leaf.lineage[1:]:
            above = pattern.evidence[trial.hypothesis]
            if trial.content is not None:
                above.verified += trial.verifying
                above.succeed(trial.content, self._max_per_content, trial.decay)
            if failures:
                self._fail(above, own.counter_examples[-1], trial.decay, failures)
                above.confirmed_failures += confirmed
                self._site.count_for_host(pattern, trial.hypothesis, trial.host, None)
            above.unverified = 0
        return failures

    def withdraw_failure(self, leaf: PathPattern, hypothesis: Hypothesis, *, erred: bool = False) -> None:
        """Take out a failure with another cause: another hypothesis, or an error of the site."""
        own = leaf.evidence[hypothesis]
        if not erred:
            for pattern in leaf.lineage:
                found = pattern.evidence[hypothesis]
                found.confirmed_failures = max(0, found.confirmed_failures - 1)
        own.uncount(failures=1)
        if own.unreported_failures:
            own.unreported_failures -= 1
            own.unreported_confirmed = min(own.unreported_confirmed, own.unreported_failures)
        else:
            for pattern in leaf.lineage[1:]:
                pattern.evidence[hypothesis].uncount(failures=1)
        self._update_verdicts(leaf, hypothesis)

    def confirm_failure(self, leaf: PathPattern, hypothesis: Hypothesis) -> None:
        """Count a failure as one of pages that were fetched twice, wherever it was reported."""
        own = leaf.evidence[hypothesis]
        if own.unreported_failures and own.vote is not False and leaf.is_one_of_many:
            own.unreported_failures -= 1
            for pattern in leaf.lineage[1:]:
                self._fail(pattern.evidence[hypothesis], own.counter_examples[-1], _LEARNING_DECAY)
        is_reported = own.vote is not False and not own.unreported_failures
        own.unreported_confirmed += not is_reported and own.unreported_confirmed < own.unreported_failures
        for pattern in leaf.lineage if is_reported else [leaf]:
            pattern.evidence[hypothesis].confirmed_failures += 1
        self._site.version += 1
        self._doubt_other_rules(leaf)
        self._update_verdicts(leaf, hypothesis)
        self._check_everywhere(hypothesis)

    def count_proof(self, leaf: PathPattern, hypothesis: Hypothesis) -> None:
        """Count a failure as proven: it was no noise."""
        for pattern in leaf.lineage:
            pattern.evidence[hypothesis].proven_failures += 1
        self._update_verdicts(leaf, hypothesis)

    def _doubt_other_rules(self, leaf: PathPattern) -> None:
        """Decide anew about what rules skipped at a leaf that hardly tried them, as it may be a kind of page apart."""
        if leaf.has_exceptions:
            return
        leaf.has_exceptions = True
        for rule in dict.fromkeys(rule for rules in self._site.chains.get(leaf, ()) for rule in rules):
            is_tried = rule in leaf.evidence and leaf.evidence[rule].successes >= self._site.thresholds.min_contents
            if not is_tried and not self._site.hypotheses.is_random(rule):
                self._site.readmit_by_rule(leaf, rule)

    def _update_verdicts(self, leaf: PathPattern, hypothesis: Hypothesis) -> None:
        above = [pattern.evidence.get(hypothesis) for pattern in leaf.lineage[1:]]
        inherited = any(evidence is not None and evidence.holds for evidence in above)
        for pattern in leaf.lineage:
            evidence = pattern.evidence.get(hypothesis)
            if evidence is None:
                continue
            self._site.version += evidence.update_likely()
            self._update_verdict(pattern, hypothesis, evidence)
            if pattern is leaf:
                if inherited and evidence.holds is None and _is_exception(evidence):
                    self._refute(pattern, hypothesis, evidence)
                self._report_vote(leaf, hypothesis, evidence)

    def _update_verdict(self, pattern: PathPattern, hypothesis: Hypothesis, evidence: Evidence) -> None:
        if evidence.holds:
            if self._tests.must_fall(pattern, hypothesis, evidence):
                self._refute(pattern, hypothesis, evidence)
        elif self._tests.is_proven(pattern, hypothesis, evidence):
            evidence.verified = evidence.unverified = 0
            self._site.set_verdict(hypothesis, evidence, holds=True)

    def _check_everywhere(self, hypothesis: Hypothesis) -> None:
        """Refute a hypothesis at each pattern where it is a rule no longer, as its failures elsewhere count as well."""
        for pattern in list(self._site.tree.all_patterns):
            evidence = pattern.evidence.get(hypothesis)
            if evidence is not None and evidence.holds:
                self._update_verdict(pattern, hypothesis, evidence)

    def _join_crowd(self, leaf: PathPattern) -> None:
        """Report what the first pages of a place had kept to themselves, as there are many more like them."""
        if not leaf.crowd:
            return
        crowd, leaf.crowd = leaf.crowd, []
        for page in filter(lambda page: page.is_one_of_many, crowd):
            for hypothesis, own in page.evidence.items():
                failures = own.failures if own.vote is False else min(own.unreported_failures, own.confirmed_failures)
                if not failures:
                    continue
                for pattern in page.lineage[1:]:
                    above = pattern.evidence[hypothesis]
                    above.exceptions -= own.vote is False
                    self._fail(above, own.counter_examples[-1], _LEARNING_DECAY, failures)
                    above.confirmed_failures += own.confirmed_failures
                own.unreported_failures -= failures if own.vote is None else own.unreported_failures
                own.unreported_confirmed = 0
                own.vote = None
                self._update_verdicts(page, hypothesis)
                self._check_everywhere(hypothesis)

    def _report_vote(self, leaf: PathPattern, hypothesis: Hypothesis, own: Evidence) -> None:
        """Count the vote of a leaf at its ancestors, if it has changed."""
        vote = None
        if own.holds or (own.holds is None and own.successes and 7 * own.failures <= own.trials):
            vote = True
        elif own.failures > own.successes and not leaf.is_one_of_many:
            vote = False
        if vote is own.vote:
            return
        for pattern in leaf.lineage[1:]:
            above = pattern.evidence[hypothesis]
            above.agreeing += (vote is True) - (own.vote is True)
            above.exceptions += (vote is False) - (own.vote is False)
            if vote is False:
                above.uncount(own.decayed_same, own.failures - own.unreported_failures)
                reported = own.confirmed_failures - own.unreported_confirmed
                above.confirmed_failures = max(0, above.confirmed_failures - reported)
        own.vote = vote
        if vote is False:  # leaves that inherit the rule and have not tried it themselves may be exceptions as well
            for other in self._site.chains:
                theirs = other.evidence.get(hypothesis)
                if other is not leaf and (theirs is None or not theirs.successes):
                    self._site.readmit_by_rule(other, hypothesis)

    def _refute(self, pattern: PathPattern, hypothesis: Hypothesis, evidence: Evidence) -> None:
        evidence.revocations += evidence.holds is True
        if pattern.is_conditional:
            self._site.set_verdict(hypothesis, evidence, holds=False)
            self._site.readmit_by_rule(pattern.lineage[1], hypothesis)
            return
        if evidence.holds and evidence.is_held_back:
            self._site.noise.rule_fell = True
        evidence.remembered = 0
        self._site.set_verdict(hypothesis, evidence, holds=False)
        for leaf, blamed in self._site.noise.pop_excused(hypothesis):
            self.withdraw_failure(leaf, blamed)
        for leaf in self._site.chains:
            if pattern in leaf.lineage:
                nearer = (p.evidence.get(hypothesis) for p in leaf.lineage[: leaf.lineage.index(pattern)])
                if not any(found is not None and found.holds for found in nearer):
                    self._site.readmit_by_rule(leaf, hypothesis)


def _is_exception(evidence: Evidence) -> bool:
    share = evidence.decayed_different / (evidence.decayed_same + evidence.decayed_different + 1e-9)
    return evidence.failures > evidence.successes or (evidence.failures > 1 and share > 0.2)
