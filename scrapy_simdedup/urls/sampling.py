"""The samples of the skipped URLs that are fetched before a crawl ends, and what they tell of the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import islice

from scrapy_simdedup.urls.compact import BY_CONTENT
from scrapy_simdedup.urls.evidence import Evidence
from scrapy_simdedup.urls.parts import UrlParts
from scrapy_simdedup.urls.site import Site

SAMPLED, SAMPLED_LOW_RISK = 0.4, 0.1
"""Shares of the checks that a sample of the skipped URLs takes, the latter where hardly any rule is wrong: of session
ids, stubs. Where a page may have no second URL to show an exception, it takes what the questions have left."""
_AFTER_EXCEPTION = 10
"""Factor on the checks for these URLs, at most, where a rule was wrong for few pages, so that others may be."""
_MOST = 0.99
"""Share of the skipped URLs that are sampled at most, whatever the checks are."""
_MAX_OTHER_LOOKS = 2000
"""URLs that are readmitted at a time for another look at their contents."""
_MAX_LOOKED_AT = 20_000
"""Skipped URLs that are looked at in order to find those of a rule with few; each takes some 100 µs."""


def draw_sample(site: Site, split: Callable[[Site, str], UrlParts | None]) -> list[str]:
    """Draw URLs from those that were skipped since the last drawing, more where a rule can be wrong for some pages.

    What tells nothing new is left out: of a page that was fetched with a part, another URL that has the same part.
    Once a rule was wrong for a page, as the last drawing may have shown, all others are drawn from once more.
    """
    if _share_after_exception(site) and not site.is_drawn_after_exception:
        site.drawn_to, site.is_drawn_after_exception = 0, True
    count = len(site.skips.urls) - site.drawn_to
    if not count:
        return []
    usual = _usual_share(site)
    shares = _shares_by_rule(site, int(count * usual), _share_after_exception(site))
    most = min(max(shares.values(), default=0.0), _MAX_LOOKED_AT / count)
    most = min(_MOST, max(usual, SAMPLED * site.checks, most, _share_after_exception(site)))
    found: list[str] = []
    tested: set[int] = set()
    for skip in _draw_skips(site, most):
        url = site.skips.urls[skip - 1]
        parts = split(site, url)
        share = most if parts is None else _share_of_url(site, parts, shares, tested)
        if site.random.next_float() < share / most:
            found.append(url)
            site.skips.mark_readmitted(skip)
            site.skipped -= 1
            if parts is not None:
                tested.update(site.normalize(parts).identities_with_part.values())
    return found


def _draw_skips(site: Site, share: float) -> list[int]:
    """Draw skips since the last drawing, of those that stand, each with the same probability; their numbers."""
    drawn: list[int] = []
    while True:
        site.drawn_to += 1 + int(math.log(1 - site.random.next_float()) / math.log(1 - share))
        if site.drawn_to > len(site.skips.urls):
            site.drawn_to = len(site.skips.urls)
            return drawn
        if not site.skips.is_readmitted(site.drawn_to):
            drawn.append(site.drawn_to)


def draw_other_looks(site: Site) -> list[str]:
    """Draw a skipped URL of each page of which a single look was taken, if pages of the site erred; some at a time.

    Pages of which all skipped URLs were drawn are left out, and those that showed the same twice.
    """
    if site.questions is None or not site.questions.know_errors:
        return []
    sure = site.questions.sure
    doubtful = (skip for content, skip in site.contents.fetched_once() if content not in sure)
    skips = (site.skips.latest_skipped(BY_CONTENT, skip) for skip in doubtful)
    drawn = sorted(islice(filter(None, skips), _MAX_OTHER_LOOKS))
    for skip in drawn:
        site.skips.mark_readmitted(skip)
    site.skipped -= len(drawn)
    return [site.skips.urls[skip - 1] for skip in drawn]


def _shares_by_rule(site: Site, count: int, after_exception: float) -> dict[Evidence, float]:
    """The shares to sample of what each rule skipped that may have one witness a page.

    The URLs are divided so that what is least proven is sampled first.
    """
    found = [
        evidence
        for pattern in site.tree.all_patterns
        for rule, evidence in pattern.evidence.items()
        if evidence.holds and evidence.skips and site.hypotheses.has_one_witness(rule, evidence)
    ]
    low, high = 0, count + max((evidence.successes for evidence in found), default=0)
    while low < high:  # how many successes each can have
        level = (low + high + 1) // 2
        if sum(min(max(0, level - e.successes), e.skips) for e in found) <= count:
            low = level
        else:
            high = level - 1
    return {
        e: min(_MOST, max((low - e.successes) / e.skips, min(e.to_clear / e.skips, after_exception))) for e in found
    }


def unseen_bound(sites: Iterable[Site]) -> float | None:
    """See :attr:`UrlLearner.unseen_bound`."""
    known = list(sites)
    skipped = sum(site.skipped for site in known)
    if not skipped:
        return None
    checked = known[0].thresholds.verify_floor
    if all(site.drawn_to == len(site.skips.urls) for site in known):
        checked += (1 - checked) * SAMPLED_LOW_RISK * known[0].checks
    return min(1.0, math.log(0.05) / math.log(1 - checked) / skipped) if 0 < checked < 1 else 1.0


def _share_of_url(site: Site, parts: UrlParts, shares: dict[Evidence, float], tested: set[int]) -> float:
    """The probability with which a skipped URL is sampled.

    A page may have one URL with a part, or with a certain value of it, so that nothing but this URL tells whether a
    rule is wrong for it, unless another URL with this part was fetched. Where any value is the rule's, each page has
    several URLs that would.
    """
    page, least = site.normalize(parts), SAMPLED_LOW_RISK * site.checks
    known = site.index.find(page, page.rules)
    if known is None:
        return max(_usual_share(site), _share_after_exception(site))
    doubtful = [rule for rule in known.tags if not site.hypotheses.is_low_risk(rule)]
    if not doubtful or site.contents.is_stub_content(known.content):
        return least
    keys = page.identities_with_part
    untested = [rule for rule in doubtful if keys.get(rule) not in tested and not site.is_tested(page, rule)]
    evidence = [page.rules.pattern_of[rule].evidence[rule] for rule in untested]
    several = SAMPLED * site.checks if any(found not in shares for found in evidence) else least
    return max(several, *(shares.get(found, 0.0) for found in evidence), least)


def _share_after_exception(site: Site) -> float:
    """The share to sample, at most, because another rule of the site had an exception; 0 if none had."""
    return min(_MOST, _AFTER_EXCEPTION * site.checks) if site.know_exceptions else 0.0


def _usual_share(site: Site) -> float:
    """The share to sample of URLs whose rules may be wrong for some pages: what the questions have left."""
    least = SAMPLED_LOW_RISK * site.checks
    if site.questions is None or site.questions.know_errors:
        return min(_MOST, least)
    return min(_MOST, max(least, site.checks - site.questions.asked / max(1, len(site.skips.urls))))
