"""How much evidence a rule needs, and how often it is verified."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caution:
    """The thresholds of the learner. Lower ones skip more, and sooner or later a page that is nowhere else."""

    accept: float = 0.80
    """Lower bound of the share of same content from which a hypothesis is a rule: 11 trials without a failure."""
    revoke: float = 0.70
    """Lower bound below which a rule falls, however noisy the fingerprints are."""
    contents: int = 8
    """Different contents that must speak for a rule; doubled each time it had to be revoked."""
    per_content: int = 3
    """Trials of a rule that one content can decide."""
    patterns: int = 5
    """Path patterns that must agree before a rule holds for more than one."""
    head_start: int = 12
    """Trials that a hypothesis is credited with that is known from elsewhere: session ids, rules of the site, hints."""
    verify: float = 2.5
    """Verifications of a rule: about ``sqrt(2 * verify * skips)`` of its skips until ``verify_floor`` is reached, twice
    as many where it is the only one."""
    verify_innocent: float = 0.6
    """The same for parts that hardly ever change a page: tracking, tokens, scheme, slashes."""
    verify_floor: float = 0.01
    """Share of would-be skips that is verified however well a rule is proven."""
    max_skipped: float = 0.9
    """Share of a site's URLs that may be skipped."""
    max_unverified: int = 200
    """URLs that a rule may skip in a row without a verification."""
    max_urls: int = 4_000_000
    """URLs of a site that are remembered; beyond, nothing new is learned or skipped."""
    max_sites: int = 100_000
    """Sites that are learned about."""
