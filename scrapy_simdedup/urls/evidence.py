"""The evidence on one hypothesis at one path pattern, and the thresholds that it is judged by."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LearnerThresholds:
    """The thresholds of the learner. Lower bounds skip more URLs, sooner or later one whose page is nowhere else."""

    accept: float = 0.80
    """Lower bound of the share of successful trials from which a hypothesis is a rule: 11 trials without a failure."""
    revoke: float = 0.70
    """Lower bound below which a rule is refuted, however noisy the fingerprints are."""
    min_contents: int = 8
    """Different contents that a rule needs successful trials with; doubled each time the rule was revoked."""
    max_trials_per_content: int = 3
    """Successful trials of a hypothesis that count for one content."""
    min_patterns: int = 5
    """Path patterns that must agree before a rule holds for more than one pattern."""
    min_patterns_remembered: int = 2
    """``min_patterns`` for a rule that was in force when the last crawl ended."""
    prior_successes: int = 12
    """Successes credited to a hypothesis that has prior support: session ids, rules of the site, hints; a
    remembered rule is credited with what it had, and no more than this."""
    verify: float = 2.5
    """About ``sqrt(2 * verify * skips)`` skips of a rule are verified, twice as many if a site has no other rule."""
    verify_low_risk: float = 0.6
    """``verify`` for parts that hardly ever change a page: tracking, tokens, scheme, slashes."""
    verify_floor: float = 0.01
    """Share of would-be skips that is verified however well a rule is proven."""
    max_skipped: float = 0.9
    """Share of a site's URLs that may be skipped."""
    max_unverified: int = 200
    """URLs that a rule may skip in a row without a verification."""
    max_urls: int = 4_000_000
    """URLs of a site that are logged; a site with more learns nothing new and skips nothing."""
    max_sites: int = 100_000


_MOSTLY_RIGHT = 0.05
"""Share of failed trials up to which a hypothesis may be a rule with exceptions."""
MAX_CREDITED_CONTENTS = 128
"""Contents counted per hypothesis and pattern, so that each is credited with a few successes only."""
_COUNTER_EXAMPLES = 3
_TO_CLEAR = 460
"""Successes without a failure that tell, with 99 % confidence, that less than one page in a hundred is an exception."""
LOWER = -1.645
"""The normal quantile below which a bound lies with 95 % confidence, one-sided."""


def wilson_bound(successes: float, failures: float, z: float) -> float:
    """The bound of the share of successes that fits these counts, by the normal quantile ``z`` (Wilson 1927).

    It is the least share where ``z`` is below 0, else the greatest.

    >>> round(wilson_bound(24, 0, LOWER), 2), round(wilson_bound(0, 72, 1.96), 4), round(wilson_bound(0, 73, 1.96), 4)
    (0.9, 0.0507, 0.05)
    """
    trials = successes + failures
    if trials <= 0:
        return float(z > 0)
    share, square = successes / trials, z * z / trials
    spread = math.copysign(math.sqrt(square * (share * (1 - share) + square / 4)), z)
    return (share + square / 2 + spread) / (1 + square)


@dataclass(slots=True, eq=False)
class Evidence:
    """Trials of a hypothesis at a pattern, and the verdict on it there."""

    successes: int = 0
    failures: int = 0
    """Trials with another content; a failure that is found to have another cause is taken out again."""
    surplus: int = 0
    """Further successes, of contents that were credited with enough; as fingerprints err in each, noise counts them."""
    decayed_same: float = 0.0
    """Successes, of which old ones count less."""
    decayed_different: float = 0.0
    """Failures, of which old ones count less."""
    proven_failures: int = 0
    """Failures that noise does not explain."""
    apart: int = 0
    """Of a hypothesis that any value will do: successes with pages that differ from the one without the part."""
    confirmed_failures: int = 0
    """Failures of pages that were fetched twice."""
    unreported_failures: int = 0
    """Failures not yet counted at the pattern's ancestors: the hypothesis may just not hold for this pattern."""
    unreported_confirmed: int = 0
    """Those of them that are of pages that were fetched twice."""
    contents: dict[int, int] = field(default_factory=dict)
    """Content → successes it was credited with."""
    holds: bool | None = None
    """The verdict: True for a rule in force, False if refuted here, None to ask a coarser pattern."""
    remembered: int = 0
    """Successes in earlier crawls, at whose end the hypothesis was a rule here; 0 once it was refuted."""
    likely: bool = False
    """Whether the hypothesis is nearly proven, or was a rule in an earlier crawl: URLs that it explains are fetched
    late, but for a few that test the latter."""
    revocations: int = 0
    """How often a rule in force was refuted."""
    verified: int = 0
    """Successful verifications of the rule; each failure that is no noise halves them."""
    unverified: int = 0
    """URLs skipped since the latest verification."""
    under_way: int = 0
    """URLs that are being fetched to test the hypothesis."""
    skips: int = 0
    vote: bool | None = None
    """The vote of a leaf at its ancestors: True if it agrees, False if it is an exception, None for no vote."""
    agreeing: int = 0
    """Leaves below this pattern that agree."""
    exceptions: int = 0
    """Leaves below this pattern that are exceptions."""
    counter_examples: list[str] = field(default_factory=list)
    """The latest URLs of failures."""

    @property
    def trials(self) -> int:
        """Successes and failures, without decay."""
        return self.successes + self.failures

    @property
    def is_promising(self) -> bool:
        """Whether the hypothesis may become a rule, so that pages are indexed as under a rule."""
        return (self.successes > 2 or self.remembered > 0) and 8 * self.failures <= self.successes

    @property
    def has_failed(self) -> bool:
        """Whether the hypothesis failed more than once, and too often to be promising."""
        return self.failures > 1 and not self.is_promising

    @property
    def is_held_back(self) -> bool:
        """Whether a few failures are all that keeps the hypothesis from becoming a rule."""
        return self.failures > 0 and self.successes > 7 and 4 * self.failures <= self.successes

    @property
    def is_plainly_wrong(self) -> bool:
        """Whether the hypothesis is wrong too often to be a rule with exceptions, whatever it seemed at first."""
        return wilson_bound(self.failures, self.successes, LOWER) > _MOSTLY_RIGHT

    def is_gradual(self, noise: float) -> bool:
        """Whether the hypothesis is wrong too often for a rule, whatever the noise, and right too often for chance."""
        wrong = wilson_bound(self.failures, self.successes, LOWER)
        return wrong > _MOSTLY_RIGHT + noise and wilson_bound(self.successes, self.failures, LOWER) > _MOSTLY_RIGHT

    @property
    def to_clear(self) -> int:
        """Further successes after which exceptions of other rules make this rule no more doubtful."""
        return max(0, _TO_CLEAR - self.successes)

    def update_likely(self) -> bool:
        """Decide whether the hypothesis is likely; returns whether that has changed."""
        is_likely = (self.successes > 7 or self.remembered > 0) and 6 * self.failures <= self.successes
        before, self.likely = self.likely, is_likely
        return self.likely is not before

    @property
    def is_hopeless(self) -> bool:
        """Whether the hypothesis need not be tried any more."""
        return self.failures > 20 and 8 * self.successes < self.failures

    @property
    def failure_rate(self) -> float:
        """The share of trials that fail, one half before the first trial."""
        return (self.failures + 0.5) / (self.trials + self.surplus + 1)

    def succeed(self, content: int, max_trials_per_content: int, decay: float) -> bool:
        """Count a success; returns False if this content was credited with enough successes already."""
        credit = self.contents.get(content, 0)
        if credit >= max_trials_per_content:
            self.surplus += 1
            return False
        self.contents[content] = credit + 1
        if len(self.contents) > MAX_CREDITED_CONTENTS:
            del self.contents[next(iter(self.contents))]
        self.decayed_same = self.decayed_same * decay + 1
        self.decayed_different *= decay
        self.successes += 1
        return True

    def fail(self, url: str, decay: float, times: int = 1) -> None:
        """Count failures, with the URL of the latest."""
        for _ in range(times):
            self.decayed_different = self.decayed_different * decay + 1
            self.decayed_same *= decay
        self.failures += times
        self.counter_examples = [*self.counter_examples[1 - _COUNTER_EXAMPLES :], url]

    def uncount(self, successes: float = 0.0, failures: int = 0) -> None:
        """Take trials out again that say nothing about this hypothesis after all."""
        self.decayed_same = max(0.0, self.decayed_same - successes)
        self.decayed_different = max(0.0, self.decayed_different - failures)
        self.failures = max(0, self.failures - failures)
        self.confirmed_failures = min(self.confirmed_failures, self.failures)
