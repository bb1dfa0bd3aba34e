"""What speaks for and against one hypothesis at one path pattern."""

from __future__ import annotations

import math

MAX_CREDITS = 128
"""Contents remembered per hypothesis and pattern, so that each decides only a few trials."""

_EXAMPLES = 3

_Z2 = 1.645**2
"""One-sided 95 %."""


def lower_bound(same: float, different: float) -> float:
    """The share of trials with the same content, at least, with 95 % confidence (Wilson 1927).

    >>> round(lower_bound(24, 0), 2)
    0.9
    """
    n = same + different
    if n <= 0:
        return 0.0
    share = same / n
    spread = math.sqrt(_Z2 * (share * (1 - share) / n + _Z2 / (4 * n * n)))
    return (share + _Z2 / (2 * n) - spread) / (1 + _Z2 / n)


class Evidence:
    """Trials of a hypothesis at a pattern, and the verdict on it there."""

    __slots__ = (
        "agreeing",
        "contents",
        "different",
        "examples",
        "exceptions",
        "failures",
        "held",
        "holds",
        "likely",
        "opinion",
        "proofs",
        "same",
        "skips",
        "strikes",
        "successes",
        "unverified",
        "verified",
    )

    def __init__(self) -> None:
        self.same = self.different = 0.0
        """Trials, the old ones fading."""
        self.successes = self.failures = 0
        """Trials of all times. A failure that was found to have another cause is taken out again."""
        self.proofs = 0
        """Failures that noise does not explain."""
        self.held = 0
        """Failures that the pattern's ancestors were not told: the hypothesis may just not hold for this pattern."""
        self.contents: dict[int, int] = {}
        """Content → trials it has decided in favour."""
        self.holds: bool | None = None
        """The verdict: a rule in force, refuted here, or none, and a coarser pattern is asked."""
        self.likely = False
        """Whether it is nearly true, so that what it explains can wait."""
        self.strikes = 0
        """How often a verdict in favour was revoked."""
        self.verified = 0
        """Successful verifications of the rule; each failure halves them."""
        self.unverified = 0
        """URLs skipped since the latest verification."""
        self.skips = 0
        """URLs skipped in all."""
        self.opinion: bool | None = None
        """What the pattern tells its ancestors: that it agrees, is an exception, or nothing yet."""
        self.agreeing = self.exceptions = 0
        """How many patterns below have which opinion."""
        self.examples: list[str] = []
        """The latest URLs that spoke against it."""

    @property
    def trials(self) -> int:
        """Trials of all times."""
        return self.successes + self.failures

    @property
    def is_promising(self) -> bool:
        """Whether it may become a rule."""
        return self.successes > 2 and 8 * self.failures <= self.successes

    def consider(self) -> bool:
        """Decide whether it is likely; returns whether that has changed."""
        before, self.likely = self.likely, self.successes > 7 and 6 * self.failures <= self.successes
        return self.likely is not before

    @property
    def is_hopeless(self) -> bool:
        """Whether it need not be tried any more."""
        return self.failures > 20 and 8 * self.successes < self.failures

    @property
    def doubt(self) -> float:
        """The share of trials that fail, as far as is known."""
        return (self.failures + 0.5) / (self.trials + 1)

    def succeed(self, content: int, per_content: int, fading: float) -> bool:
        """Count a success, unless this content has decided enough of them already."""
        credit = self.contents.get(content, 0)
        if credit >= per_content:
            return False
        self.contents[content] = credit + 1
        if len(self.contents) > MAX_CREDITS:
            del self.contents[next(iter(self.contents))]
        self.same = self.same * fading + 1
        self.different *= fading
        self.successes += 1
        return True

    def fail(self, url: str, fading: float, times: int = 1) -> None:
        """Count failures."""
        for _ in range(times):
            self.different = self.different * fading + 1
            self.same *= fading
        self.failures += times
        self.verified //= 2
        self.examples = [*self.examples[1 - _EXAMPLES :], url]

    def take_back(self, successes: float = 0.0, failures: int = 0) -> None:
        """Uncount trials that say nothing about this hypothesis after all."""
        self.same = max(0.0, self.same - successes)
        self.different = max(0.0, self.different - failures)
        self.failures = max(0, self.failures - failures)
