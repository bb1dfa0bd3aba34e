"""Decide about a URL: does it lead to known content, and is that sure enough?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from scrapy_simdedup.urls.caution import Caution
    from scrapy_simdedup.urls.hypotheses import Hypothesis
    from scrapy_simdedup.urls.page_index import Known
    from scrapy_simdedup.urls.parts import UrlParts
    from scrapy_simdedup.urls.patterns import Beliefs, Pattern, Reading
    from scrapy_simdedup.urls.site import Site

_FEW_PATTERNS = 10
"""Patterns that must agree before one that has not yet been tried is believed to be like them."""

_MANY_RULES = 5
"""Rules of a site from which on they vouch for one another."""

_FIRST_SKIPS = 50
"""Skips before their share of a site's URLs is limited."""

Action = Literal["go", "deprioritize", "skip"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What the learner advises about a URL, and why."""

    action: Action = "go"
    """``skip``: it leads to content that was fetched; ``deprioritize``: it probably does; ``go``: it may be new."""
    rules: tuple[str, ...] = ()
    """The rules behind the advice, such as ``query:sid``; with ``go``, the rules that the fetch is to verify."""
    pattern: str = ""
    """Where the rules were learned, such as ``viewtopic.php``, or ``**`` for the whole site."""
    site: str = ""
    page: int | None = None
    """Number of the fetched page that the URL stands for; ``UrlLearner.known_url`` tells its URL."""

    @property
    def skip(self) -> bool:
        """Whether the URL need not be fetched."""
        return self.action == "skip"


GO = Decision()


def decide(site: Site, parts: UrlParts, url: str, caution: Caution, *, dry: bool) -> Decision:
    """Advise about a URL of a site; logs it if it is to be skipped, unless this is but a dry run."""
    reading = site.read(parts)
    rules = reading.leaf.rules
    known = site.index.find(reading, rules) if rules.at else None
    if known is not None and known.tags:
        why = _explain(site, rules, known)
        if not _is_safe(site, reading, known, caution):
            return Decision("deprioritize", *why)
        if site.chance.draw() < _verification(site, reading, known, caution):
            return Decision("go", *why)
        if not dry:
            _skip(site, reading, known, url)
        return Decision("skip", *why)
    likely = reading.leaf.likely
    if known is None and likely is not None:
        known = site.index.find(site.read(parts, likely), likely)
        if known is not None and known.tags:
            return Decision("deprioritize", *_explain(site, likely, known))
    return GO


def _explain(site: Site, beliefs: Beliefs, known: Known) -> tuple[tuple[str, ...], str, str, int]:
    weakest = min(known.tags, key=lambda rule: beliefs.at[rule].on(rule).successes)
    names = tuple(map(str, known.tags))
    return names, beliefs.at[weakest].name, site.name, site.contents.page(known.content)


def _is_safe(site: Site, reading: Reading, known: Known, caution: Caution) -> bool:
    """Whether nothing but the rules could be wrong."""
    if site.is_full(caution.max_urls) or reading.identity in site.noise.disputes:  # which another page can settle
        return False
    if known.mixed or not site.contents.can_stand_in(known.content):
        return False
    if any(site.index.is_mixed(reading.identity ^ rule.salt) for rule in reading.leaf.rules.wide):
        return False
    share = caution.max_skipped / (1 - caution.max_skipped)
    return site.skipped <= share * site.fetched + _FIRST_SKIPS and len(site.skips.urls) < caution.max_urls


def _verification(site: Site, reading: Reading, known: Known, caution: Caution) -> float:
    """The probability with which a would-be skip is fetched all the same, to verify the rules.

    The needs of the rules add up, as one fetch verifies all of them.
    """
    leaf = reading.leaf
    least, need = caution.verify_floor, 0.0
    popular = site.contents.is_popular(known.content)
    if popular:  # what is verified is rather the content than the rules
        need = _fading(caution.verify_innocent, site.contents.verified.get(known.content, 0))
    for rule in known.tags:
        at = leaf.rules.at[rule]
        evidence = at.evidence[rule]
        if evidence.unverified >= caution.max_unverified:
            return 1.0
        if not popular and (not rule.written or evidence.failures):  # else who wrote it knows
            innocent = site.hypotheses.is_innocent(rule)
            weight = caution.verify_innocent if innocent else caution.verify * _loneliness(site, leaf, rule)
            need += _fading(weight, evidence.verified)
        if at is not leaf and not rule.given:  # a pattern that has only believed the others so far
            own = leaf.evidence.get(rule)
            doubt = 1.0 if evidence.exceptions or evidence.agreeing < _FEW_PATTERNS else 0.5
            least = max(least, doubt / (1 + (own.verified if own is not None else 0)))
    return max(least, need)


def _loneliness(site: Site, leaf: Pattern, rule: Hypothesis) -> float:
    """How much more a rule is verified where few others vouch for it; less where it is true at many patterns."""
    everywhere = leaf.chain[-1].evidence.get(rule)
    if everywhere is not None and everywhere.agreeing >= _FEW_PATTERNS and not everywhere.exceptions:
        return 0.5
    return max(1.0, _MANY_RULES / max(1, site.doubtful_rules()))


def _fading(weight: float, verified: int) -> float:
    """From one down to zero; adds up to about ``sqrt(2 * weight * skips)`` verifications."""
    return weight / (weight + verified) if weight else 0.0


def _skip(site: Site, reading: Reading, known: Known, url: str) -> None:
    rules = tuple(sorted(known.tags, key=lambda rule: rule.number))
    for rule in rules:
        evidence = reading.leaf.rules.at[rule].evidence[rule]
        evidence.unverified += 1
        evidence.skips += 1
    chains = site.chains.setdefault(reading.leaf, {})
    number = site.skips.add(url, chains.get(rules, 0), site.contents.latest_skip(known.content))
    chains[rules] = number
    site.contents.skipped(known.content, number)
    site.skipped += 1
