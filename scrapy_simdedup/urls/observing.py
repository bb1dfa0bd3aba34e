"""The observation of a fetched page: what its trials, and the verifications of rules, teach."""

from __future__ import annotations

from functools import partial

from scrapy_simdedup.urls.compact import U64_MASK
from scrapy_simdedup.urls.contradictions import differences, is_variant, open_dispute, promising_parts, settle_disputes
from scrapy_simdedup.urls.hypotheses import Hypothesis
from scrapy_simdedup.urls.page_index import IndexHit, entry_content
from scrapy_simdedup.urls.patterns import MANY_SHOWN, PathPattern
from scrapy_simdedup.urls.questions import EarlyFailure, Questions
from scrapy_simdedup.urls.rule_book import RuleBook
from scrapy_simdedup.urls.site import Site
from scrapy_simdedup.urls.trials import Observation, Trial, propose_joint_hypothesis, trials_of, trials_of_values

_JOINT_MIN_PAGES = 100
"""Fetched pages of a site from which on joint hypotheses are proposed."""
_ESTIMATE_EVERY = 32
"""Pages between two estimates of the noise."""


def learn(seen: Observation) -> bool:
    """Learn from a fetched page, so that verdicts may change; whether it repeats another, and nothing explains why."""
    site, page = seen.site, seen.page
    if page.leaf.is_page and len(page.leaf.shown) < MANY_SHOWN:
        page.leaf.shown.add(seen.content)
    if page.rules is not page.leaf.rules:
        _try_on_host(seen)
    known = site.index.find(page, page.rules)
    explained = known is not None or is_variant(seen)
    site.repeats += explained
    is_unexplained = not explained and site.contents.is_known(seen.content)
    if site.contents.count_fetch(seen.content, len(site.pages), explained=explained):
        site.readmit_by_content(seen.content)
    site.pages.append(seen.url)
    if site.fetched % _ESTIMATE_EVERY == 0:
        site.noise.estimate(site.evidence_by_part())
    if site.noise.disputes:
        settle_disputes(seen)
    if known is None:
        if page.leaf.recalled:
            _try_together(seen)
        try_hypotheses(seen)
    elif known.tags:
        trials = list(trials_of_values(seen))
        _verify_rules(seen, known)
        if not site.contents.is_stub_content(seen.content):
            for trial in trials:  # that any value will do is verified by the same page
                _count(seen, trial, verifying=True)
    elif not known.ambiguous:  # the same URL again: no rule is to blame for what changed
        site.index.set_content(known.key, ambiguous=False, content=seen.content)
    return is_unexplained and not site.contents.is_stub_content(seen.content)


def _try_on_host(seen: Observation) -> None:
    """Try rules that the host of a page has not confirmed: whether the page is one that they would lead to.

    Where they are several, and the page is another one, none of them is to blame in particular.
    """
    site, rules = seen.site, seen.page.leaf.rules
    known = site.index.find(site.normalize(seen.parts, rules), rules)
    if known is None or known.ambiguous or site.contents.is_stub_content(known.content):
        return
    untried = [rule for rule in known.tags if rule not in seen.page.rules.pattern_of]
    same = known.content == seen.content
    if same or len(untried) == 1:
        for rule in untried:
            site.count_for_host(rules.pattern_of[rule], rule, seen.page.host, seen.content if same else None)


def _try_together(seen: Observation) -> None:
    """Count a success for rules of an earlier crawl that only together lead to a known page, if that is the same."""
    site, leaf = seen.site, seen.page.leaf
    known = site.index.find(site.normalize(seen.parts, leaf.likely), leaf.likely) if leaf.likely is not None else None
    if known is None or known.ambiguous or known.content != seen.content or site.contents.is_stub_content(seen.content):
        return
    tried = [rule for rule in known.tags if rule not in seen.page.rules.pattern_of]
    if len(tried) > 1 and leaf.recalled.issuperset(tried):
        for rule in tried:
            RuleBook(site).count_trial(seen, rule, same=True, verifying=False)


def try_hypotheses(seen: Observation) -> None:
    """Compare a new page with all known pages that differ from it in one part, and enter it in the index."""
    site, page = seen.site, seen.page
    trials = [*trials_of(seen), *trials_of_values(seen)]
    site.index.put(page.identity, seen.content, page.dropped_parts)
    if site.contents.is_stub_content(seen.content):
        return
    _index_under_likely_rules(seen)
    if site.fetched > _JOINT_MIN_PAGES:
        propose_joint_hypothesis(seen)
    for trial in trials:
        _count(seen, trial)


def _count(seen: Observation, trial: Trial, *, verifying: bool = False) -> None:
    """Count a trial; of a failure, find out what is to blame."""
    site, leaf = seen.site, seen.page.leaf
    hypothesis, confirmed = trial.hypothesis, False
    if not trial.same:
        confirmed = _is_confirmed(seen, entry_content(trial.entry))
        if not site.noise.is_new_failure(leaf, hypothesis, seen.content, entry_content(trial.entry)) and not confirmed:
            return
        tags = differences(seen, trial)
        evidence = leaf.evidence[hypothesis]
        if evidence.is_promising and not (evidence.confirmed_failures and site.asks):
            hypothesis = open_dispute(seen, trial.bare, entry_content(trial.entry), tags)
        elif len(tags) > 1:
            site.noise.remember_excused(leaf, hypothesis, tags)
        if site.asks is not None and not confirmed:
            expected = entry_content(trial.entry)
            known_url = site.pages[site.contents.first_page(expected)]
            site.asks.remember(EarlyFailure(leaf, hypothesis, seen.url, seen.content, known_url, expected))
    RuleBook(site).count_trial(seen, hypothesis, same=trial.same, verifying=verifying, confirmed=confirmed)
    if trial.same and site.asks is not None:
        _ask_about_early_failures(site, site.asks, leaf, hypothesis)


def _is_confirmed(seen: Observation, expected: int) -> bool:
    """Whether a page and the known page that it is unlike were both fetched twice."""
    questions = seen.site.questions
    return questions is not None and seen.content in questions.sure and expected in questions.sure


def _ask_about_early_failures(site: Site, questions: Questions, leaf: PathPattern, hypothesis: Hypothesis) -> None:
    """Ask about an early failure of a hypothesis for which much speaks by now."""
    failures = questions.early_failures(leaf, hypothesis)
    if not failures or leaf.evidence[hypothesis].confirmed_failures or questions.open_about(leaf, hypothesis):
        return
    if any(pattern.evidence[hypothesis].is_held_back for pattern in leaf.lineage):
        ask_about_failure(site, questions, failures[0])


def ask_about_failure(site: Site, questions: Questions, failure: EarlyFailure) -> None:
    """Ask about the pages of a failure that were not fetched twice yet; if both were, it is confirmed."""
    leaf, hypothesis = about = failure.leaf, failure.hypothesis
    ask = partial(questions.ask, because_of=failure.url, failure=failure, about=[about])
    if failure.content not in questions.sure:
        ask(failure.url, failure.content, known_url=failure.known_url, expected=[failure.known_content])
    elif failure.known_content not in questions.sure:
        ask(failure.known_url, failure.known_content, expected=[failure.content])
    elif questions.forget(failure):
        RuleBook(site).confirm_failure(leaf, hypothesis)
        questions.add_exception(leaf, hypothesis)


def _verify_rules(seen: Observation, known: IndexHit) -> None:
    """Verify the rules that lead from the URL of a fetched page to a known page."""
    site, rule_book = seen.site, RuleBook(seen.site)
    whole = seen.page.whole_identity
    fetched_before = whole != known.key and site.index.entry_at(seen.page.rules, whole) is not None
    site.index.put(whole, seen.content, [])
    keys = seen.page.identities_with_part
    for rule in {**keys, **known.tags}:
        if site.questions is not None and not site.hypotheses.is_low_risk(rule):
            site.tested.put(keys[rule] if rule in keys else site.key_without(seen.page, rule), 1)
    if known.ambiguous or (fetched_before and known.content != seen.content):  # a page that changed blames no rule
        return
    is_stub = site.contents.is_stub_content(seen.content)
    if known.content == seen.content:
        if is_stub:  # a stub that is found again proves no rule
            site.contents.verified[seen.content] = site.contents.verified.get(seen.content, 0) + 1
        for rule in known.tags:
            if is_stub:
                seen.page.rules.pattern_of[rule].evidence[rule].unverified = 0
            else:
                rule_book.count_trial(seen, rule, same=True, verifying=True)
        return
    site.readmit_by_content(known.content)
    if site.contents.is_stub_content(known.content):  # the stub is to blame
        site.contents.misled.add(known.content)
        site.index.set_content(known.key, ambiguous=False, content=seen.content)
        return
    site.index.set_content(known.key, ambiguous=True)
    if not is_stub:
        tags = {rule: site.coarsen_tag(rule, tag) for rule, tag in known.tags.items()}
        blamed = open_dispute(seen, seen.page.identity, known.content, tags)
        confirmed = _is_confirmed(seen, known.content)
        rule_book.count_trial(seen, blamed, same=False, verifying=True, confirmed=confirmed)
        related = _as_wrong(seen, blamed, known.tags[blamed]) if confirmed and len(known.tags) == 1 else None
        if related is not None:
            rule_book.count_blame(seen, seen.page.leaf, related, confirmed=True)


def _as_wrong(seen: Observation, blamed: Hypothesis, tag: int | None) -> Hypothesis | None:
    """The hypothesis about the same part that two pages refute as well: one is about a value, one about the whole part.

    Else it would take the place of the one that falls, as it was never tried on such pages.
    """
    part = seen.site.hypotheses.parts[blamed.names[0]]
    if len(blamed.names) > 1 or blamed.any_value:
        return None
    if blamed.value is not None:
        return part.irrelevant
    value = dict(seen.parts.parts).get(part.name)
    return part.values.get(value) if value is not None and tag == 0 else None


def _index_under_likely_rules(seen: Observation) -> None:
    """Enter a page under the identity that it will have if the promising hypotheses become rules."""
    site, page = seen.site, seen.page
    promising = promising_parts(seen)
    if not promising:
        return
    key = page.identity - sum(shift for _, shift in promising) & U64_MASK
    before = site.index.entries.get(key)
    if before is None:
        site.index.put(key, seen.content, [*page.dropped_parts, *promising])
    elif site.index.entry_at(page.rules, key) is None and entry_content(before) != seen.content:
        site.index.set_content(key, ambiguous=True)
