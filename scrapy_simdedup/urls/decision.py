"""The decision about a URL: whether it leads to known content, and whether that is sure enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scrapy_simdedup.urls.compact import U64_MASK
from scrapy_simdedup.urls.evidence import Evidence
from scrapy_simdedup.urls.hypotheses import Hypothesis
from scrapy_simdedup.urls.page_index import IndexHit, Look
from scrapy_simdedup.urls.parts import FLAG_PARTS, UrlParts
from scrapy_simdedup.urls.patterns import ActiveRules, NormalizedUrl, PathPattern
from scrapy_simdedup.urls.site import Site

_FEW_PATTERNS = 10
"""Patterns that must agree before rules hold without doubt at a pattern where they were not tried."""
_MANY_RULES = 5
"""Rules of a site from which on each rule is verified less often, as the rules vouch for one another."""
_FIRST_SKIPS = 50
"""Skips before their share of a site's URLs is limited."""
_CREDIT_OF_OTHER_HOSTS = 2
"""Verifications that count for one success of the host itself, so that a rule is also verified where it is applied."""
_WHERE_SAMPLED, _LOW_RISK_WHERE_SAMPLED = 0.4, 0.6
"""Factors on ``verify`` and ``verify_low_risk`` where skipped URLs are sampled before the crawl ends; the former rises
to 1 where rules lack support."""
_EARLY_TESTS = 11
"""Tests of a rule of an earlier crawl for which URLs are fetched early."""
_TESTS_AT_A_TIME = 3
"""Tests of a rule of an earlier crawl that are under way at a time; further URLs that it explains are fetched late."""
_NOISE_TESTS = 40
"""Fetched pages for each URL that is fetched to prove noise: a small site has little to gain from the proof."""
_SEVERAL_WITNESSES = 0.4
"""Factor on ``verify`` where any value will do, and the page was fetched with another: each URL shows an exception."""
_ONE_WITNESS, _AFTER_EXCEPTION = 2.0, 8.0
"""Factors on ``verify`` where nothing but this URL may show that the page is an exception: as a rule, but for kinds of
paths, and once another rule of the site had one."""
_CONDITIONAL = 2.0
"""Factor on ``verify`` for a rule that holds beside another parameter only, as many such rules are tried."""
_TRIED_APART = 4
"""Pages with different values that are alike though the one without is not, before that is believed of other pages."""
_UNRELATED = frozenset({"suffix", "view"})
"""Parts of which one word says nothing of another, as ``/amp`` and ``/print``."""
Action = Literal["go", "deprioritize", "skip"]


@dataclass(frozen=True, slots=True)
class UrlDecision:
    """What the learner advises about a URL, and why."""

    action: Action = "go"
    """``skip``: the URL leads to fetched content; ``deprioritize``: it probably does; ``go``: it may be new."""
    rules: tuple[str, ...] = ()
    """The rules behind the advice, such as ``query:sid``; with ``go``, the rules that the fetch is to verify."""
    pattern: str = ""
    """The path pattern where the rules were learned, such as ``viewtopic.php``, or ``**`` for the whole site."""
    site: str = ""
    page: int | None = None
    """Number of the fetched page that the URL leads to; ``UrlLearner.known_url`` tells its URL."""

    @property
    def skip(self) -> bool:
        """Whether the URL need not be fetched."""
        return self.action == "skip"


GO = UrlDecision()


def decide(site: Site, parts: UrlParts, url: str, *, dry: bool) -> UrlDecision:
    """Advise about a URL of a site; logs a skip or a test, unless this is a dry run."""
    if not dry:
        site.end_test(url)
    normalized = site.normalize(parts)
    rules = normalized.rules
    known = site.index.find(normalized, rules) if rules.pattern_of else None
    if known is not None and known.tags:
        why = _explain(site, rules, known)
        if not _is_safe(site, normalized, known):
            return UrlDecision("deprioritize", *why)
        # The known page may have shown an error that others show as well.
        if not site.contents.is_stub_content(known.content) and site.shared.is_doubtful(known.content, parts):
            site.shared.expect(known.content, Look(url, parts))
            return UrlDecision("go", *why)
        is_untried = _is_untried(site, parts, known) or _is_exceptional(site, normalized, known)
        is_untried = is_untried or any(_is_gradual(site, rules.pattern_of[rule], rule) for rule in known.tags)
        if _may_prove_noise(site) and site.is_hardly_ever_wrong(known.tags):
            site.noise.tests += not dry
            is_untried = True
        if is_untried or site.random.next_float() < _verification_probability(site, normalized, known):
            if not dry:
                site.begin_test(url, normalized.leaf, known.tags)
            return UrlDecision("go", *why)
        if not dry:
            _log_skip(site, normalized, known, url)
        return UrlDecision("skip", *why)
    likely = normalized.leaf.likely
    if likely is None and rules is not normalized.leaf.rules:  # what holds on other hosts may well hold on this one
        likely = normalized.leaf.rules
    if known is None and likely is not None:
        known = site.index.find(site.normalize(parts, likely), likely)
        if known is not None and known.tags:
            if dry or not _wants_test(normalized.leaf, known):
                return UrlDecision("deprioritize", *_explain(site, likely, known))
            site.begin_test(url, normalized.leaf, known.tags)
    return GO


def _explain(site: Site, active_rules: ActiveRules, known: IndexHit) -> tuple[tuple[str, ...], str, str, int]:
    weakest = min(known.tags, key=lambda rule: active_rules.pattern_of[rule].evidence[rule].successes)
    names = tuple(map(str, known.tags))
    return names, active_rules.pattern_of[weakest].name, site.name, site.contents.first_page(known.content)


def is_early_test(site: Site, parts: UrlParts, found_on: UrlParts | None, url: str) -> bool:
    """Whether a URL should lead to a known page, or that on which it was found, by rules of an earlier crawl."""
    leaf = site.normalize(parts).leaf
    rules = leaf.likely or leaf.rules
    page = site.normalize(parts, rules)
    recalled = [rule for rule, _ in page.dropped_parts if rule in leaf.recalled]
    has_tests = all(site.hastened_for[rule] >= _EARLY_TESTS for rule in recalled)
    is_fetched = site.index.entry_at(rules, page.whole_identity) is not None
    if has_tests or url in site.hastened or is_fetched:
        return False
    finder = site.normalize(found_on, rules) if found_on is not None else None
    if finder is not None and finder.identity == page.identity:
        leads_there = finder.part_hashes != page.part_hashes  # else it is a link of the page to itself
    else:
        leads_there = site.index.find(page, rules) is not None
    if leads_there:
        site.hastened_for.update(recalled)
        site.hastened.add(url)
    return leads_there


def _wants_test(leaf: PathPattern, known: IndexHit) -> bool:
    """Whether a URL may test a rule of an earlier crawl now, as few others do so at this time."""
    return any(
        rule in leaf.recalled and leaf.lineage[-1].evidence[rule].under_way < _TESTS_AT_A_TIME for rule in known.tags
    )


def _is_safe(site: Site, url: NormalizedUrl, known: IndexHit) -> bool:
    """Whether nothing but the rules could be wrong if the URL is skipped."""
    thresholds = site.thresholds
    if site.is_full or url.identity in site.noise.disputes:  # fetching it can settle the dispute
        return False
    if known.ambiguous or not site.contents.can_represent_page(known.content):
        return False
    if any(site.index.is_ambiguous(url.identity ^ rule.salt) for rule in url.rules.irrelevant):
        return False
    share = thresholds.max_skipped / (1 - thresholds.max_skipped)
    return site.skipped <= share * site.fetched + _FIRST_SKIPS and len(site.skips.urls) < thresholds.max_urls


def _verification_probability(site: Site, url: NormalizedUrl, known: IndexHit) -> float:
    """The probability with which a would-be skip is fetched all the same: the sum of what its rules need."""
    least, need = site.thresholds.verify_floor, 0.0
    is_stub = site.contents.is_stub_content(known.content)
    if is_stub:  # a fetch verifies the content rather than the rules
        need = _verification_rate(_verify_low_risk(site), site.contents.verified.get(known.content, 0))
    for rule in known.tags:
        at = url.rules.pattern_of[rule]
        evidence = at.evidence[rule]
        if evidence.unverified >= site.thresholds.max_unverified:
            return 1.0
        if not is_stub and (not rule.user_written or evidence.failures):  # a user's rule is trusted until it fails
            need += _need_of_rule(site, url, rule, at)
        may_be_wrong = not rule.user_written and site.questions is not None if rule.is_initial else True
        is_doubted = may_be_wrong and (evidence.exceptions or not site.hypotheses.is_random(rule))
        if is_doubted and at is not url.leaf and not at.is_conditional:  # it is inherited, and may be wrong here
            least = max(least, _doubt_here(url.leaf, rule, evidence, site.thresholds.min_contents))
    return max(least, need)


def _verify_low_risk(site: Site) -> float:
    return site.thresholds.verify_low_risk * (_LOW_RISK_WHERE_SAMPLED if site.questions is not None else 1.0)


def _need_of_rule(site: Site, url: NormalizedUrl, rule: Hypothesis, at: PathPattern) -> float:
    """How much of a verification a rule needs: more the more plausible exceptions are, less with each verification."""
    leaf, evidence, low_risk = url.leaf, at.evidence[rule], site.hypotheses.is_low_risk(rule)
    weight = _verify_low_risk(site) if low_risk else site.thresholds.verify * _lack_of_support(site, leaf, rule)
    if at.is_conditional:
        weight *= _CONDITIONAL
    questions = site.questions
    if questions is not None and not low_risk and not rule.any_value and site.is_tested(url, rule):
        return 0.0  # another URL has shown already what the page is with this part
    if questions is not None and (rule.any_value or _is_tested_with_another(site, url, rule, at)):
        weight *= _SEVERAL_WITNESSES
    verified = max(found.verified for found in _standing(leaf, at, rule, everywhere=low_risk)) + evidence.under_way
    if site.hosts.is_counting and not rule.is_initial:
        verified = min(verified, _CREDIT_OF_OTHER_HOSTS * site.hosts.successes(at, rule, url.host))
    # Where a URL with the part was fetched first, the one without it shows alone what the page is without the part.
    is_without = rule.value is None and not low_risk and rule.names[0] not in url.part_hashes
    has_one_witness = site.hypotheses.has_one_witness(rule, evidence)
    if questions is not None and is_without and not has_one_witness:
        return 1.0  # it is one of many URLs of the page
    if questions is not None and (is_without or has_one_witness):
        usual = 1.0 if rule.names[0] in FLAG_PARTS else _ONE_WITNESS
        after_exception = site.know_exceptions and evidence.to_clear > 0
        weight *= _AFTER_EXCEPTION if after_exception else usual
        verified //= site.hypotheses.few_values(rule) or 1
    return _verification_rate(weight, verified)


def _is_tested_with_another(site: Site, url: NormalizedUrl, rule: Hypothesis, at: PathPattern) -> bool:
    """Whether a page was fetched with another value of an irrelevant part of which any value will do."""
    any_value = site.hypotheses.parts[rule.names[0]].any_value if rule.value is None and len(rule.names) == 1 else None
    if any_value is None or any_value not in at.evidence or not at.evidence[any_value].holds:
        return False
    return site.index.entries.get(url.identity + any_value.shift & U64_MASK) is not None


def _standing(leaf: PathPattern, at: PathPattern, rule: Hypothesis, *, everywhere: bool) -> list[Evidence]:
    """The evidence on a rule where it is in force, and above, as far as no exception is known there.

    It was verified there as well: that a kind of path has a verdict of its own makes nothing of it undone. But what the
    whole site says counts only of rules that are hardly wrong anywhere.
    """
    if at.is_conditional:
        return [at.evidence[rule]]
    end = len(leaf.lineage) if everywhere else -1
    above = (pattern.evidence.get(rule) for pattern in leaf.lineage[leaf.lineage.index(at) + 1 : end])
    unrefuted = (found for found in above if found and found.holds is not False and not found.exceptions)
    return [at.evidence[rule], *unrefuted]


def _doubt_here(leaf: PathPattern, rule: Hypothesis, inherited: Evidence, enough: int) -> float:
    """The probability with which a rule is verified because it was tried at other patterns, and may be wrong here.

    Where other rules had exceptions, it needs ``enough`` successes of its own.
    """
    own = leaf.evidence.get(rule)
    if leaf.has_exceptions and (own.successes + own.under_way if own is not None else 0) < enough:
        return 1.0
    doubt = 1.0 if inherited.exceptions or inherited.agreeing < _FEW_PATTERNS else 0.5
    siblings = None
    if rule.is_initial:  # it is hardly ever wrong, but for whole sections: offers that differ by campaign
        siblings = leaf.lineage[max(1, len(leaf.lineage) - 2)].evidence.get(rule)
    elif leaf.is_page:
        siblings = leaf.lineage[1].evidence.get(rule)
    if siblings is not None and not siblings.exceptions:  # this one is as likely one as the next of a row without any
        doubt = min(doubt, (1 + siblings.agreeing) ** (-2.0 if rule.is_initial else -1.0))
    return doubt / (1 + (own.verified + own.under_way if own is not None else 0))


def _is_untried(site: Site, parts: UrlParts, known: IndexHit) -> bool:
    """Whether a rule drops a part from the URL where it was hardly right before: with this word, beside such words.

    What was learned of ``tab=text`` says little of ``tab=reviews``, of ``branch`` beside an ``id`` little of a
    ``branch`` alone, and of ``view=full`` little of that beside ``sort=new``: the two may do together what none does
    alone.
    """
    values, hypotheses = dict(parts.parts), site.hypotheses
    doubtful = (rule for rule in known.tags if not rule.any_value and not hypotheses.is_low_risk(rule))
    names = (name for rule in doubtful for name in rule.names if name in values)
    return any(hypotheses.parts[name].is_untried(hypotheses.circumstances(name, values)) for name in names)


def _is_exceptional(site: Site, url: NormalizedUrl, known: IndexHit) -> bool:
    """Whether a part of which any value will do is known to matter on this page, as it does on hardly any other."""
    return any(
        rule.any_value
        and url.leaf.evidence[rule].apart < _TRIED_APART
        and site.differs_without(url, rule, known.content)
        for rule in known.tags
    )


def _may_prove_noise(site: Site) -> bool:
    """Whether a URL may be fetched to prove noise: fewer where second looks tell some of the errors anyway."""
    has_few = site.questions is None or _NOISE_TESTS * site.noise.tests < site.fetched
    return has_few and site.noise.is_suspected


def _is_gradual(site: Site, at: PathPattern, rule: Hypothesis) -> bool:
    """Whether a rule about a word is hardly proven, and other words at its place change some pages and others not.

    A language into which every tenth page is translated makes one doubtful into which it was tried in vain.
    """
    if rule.value is None or rule.value.isdigit() or rule.names[0] in _UNRELATED or not at.evidence[rule].to_clear:
        return False
    others = (h for h in site.hypotheses.parts[rule.names[0]].values.values() if h is not rule and h in at.evidence)
    return any(at.evidence[other].is_gradual(site.noise.share) for other in others)


def _lack_of_support(site: Site, leaf: PathPattern, rule: Hypothesis) -> float:
    """Factor on the verifications of a rule: more where a site has few rules, less where many patterns agree."""
    everywhere = leaf.lineage[-1].evidence.get(rule)
    if everywhere is not None and everywhere.agreeing >= _FEW_PATTERNS and not everywhere.exceptions:
        return 0.5
    rules, parts = site.doubtful_counts()
    lack = max(1.0, _MANY_RULES / max(1, rules if site.questions is None else parts))
    return lack if site.questions is None else lack * min(1.0, _WHERE_SAMPLED * lack)


def _verification_rate(weight: float, verified: int) -> float:
    """A probability that falls from 1 to 0, so that it adds up to about ``sqrt(2 * weight * skips)`` verifications."""
    return weight / (weight + verified) if weight else 0.0


def _log_skip(site: Site, normalized: NormalizedUrl, known: IndexHit, url: str) -> None:
    rules = tuple(sorted(known.tags, key=lambda rule: rule.number))
    for rule in rules:
        evidence = normalized.rules.pattern_of[rule].evidence[rule]
        evidence.unverified += 1
        evidence.skips += 1
    chains = site.chains.setdefault(normalized.leaf, {})
    number = site.skips.add(url, chains.get(rules, 0), site.contents.latest_skip(known.content))
    chains[rules] = number
    site.contents.set_latest_skip(known.content, number)
    site.skipped += 1
