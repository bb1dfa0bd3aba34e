"""The observation of a fetched page: trials of hypotheses, verifications of rules, disputes between pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from scrapy_simdedup.urls.compact import U64_MASK
from scrapy_simdedup.urls.hypotheses import MIN_VALUE_COUNT
from scrapy_simdedup.urls.noise import Dispute
from scrapy_simdedup.urls.page_index import entry_content, part_tag
from scrapy_simdedup.urls.questions import EarlyFailure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_simdedup.urls.hypotheses import Hypothesis, PartHypotheses
    from scrapy_simdedup.urls.page_index import IndexHit, PartTags
    from scrapy_simdedup.urls.parts import UrlParts
    from scrapy_simdedup.urls.patterns import DroppedParts, NormalizedUrl, PathPattern
    from scrapy_simdedup.urls.questions import Questions
    from scrapy_simdedup.urls.rule_book import RuleBook
    from scrapy_simdedup.urls.site import Site

MAX_PARTS_HERE = 40
"""Parts that hypotheses are tried on at one pattern."""

MAX_FIRST_PAGES = 4000
"""First pages of a content that are remembered in order to find parts that change together."""

_JOINT_PARTS = 8
"""Parts of a pattern that may change together."""

_JOINT_MIN_PAGES = 100
"""Fetched pages of a site from which on joint hypotheses are proposed."""

_MAX_RANDOM_BALANCE = 8
"""Random values, less others, up to which the single values of a part are of interest."""

_ESTIMATE_EVERY = 32
"""Pages between two estimates of the noise."""


class Observation(NamedTuple):
    """A fetched page of a site, from which the site and its rule book learn."""

    site: Site
    rule_book: RuleBook
    page: NormalizedUrl
    parts: UrlParts
    url: str
    """The URL as it was asked for."""
    content: int


class Contradiction(NamedTuple):
    """A known page that a fetched page should be like, and is not."""

    key: int
    """The key of the known page in the index."""
    content: int
    hypothesis: Hypothesis | None
    """The hypothesis that says so; None if it is the rules in force."""


class Trial(NamedTuple):
    """A comparison of a fetched page with a known page, where the two differ in the parts of one hypothesis."""

    hypothesis: Hypothesis
    same: bool
    """Whether the two pages have the same content."""
    bare: int
    """The identity of both pages without the parts."""
    key: int
    """The key of the known page in the index; ``bare`` if the known page is the one that lacks the parts."""
    entry: int
    """The entry of the known page."""


def learn(seen: Observation) -> None:
    """Learn from a fetched page: verdicts may change by it, and skipped URLs may be readmitted."""
    site, page = seen.site, seen.page
    if page.rules is not page.leaf.rules:
        _try_on_host(seen)
    known = site.index.find(page, page.rules)
    if site.contents.count_fetch(seen.content, len(site.pages), explained=known is not None):
        site.readmit_by_content(seen.content)
    site.pages.append(seen.url)
    if site.fetched % _ESTIMATE_EVERY == 0:
        site.noise.estimate(site.evidence_by_part())
    if site.noise.disputes:
        _settle_disputes(seen)
    if known is None:
        _try_hypotheses(seen)
    elif known.tags:
        _verify_rules(seen, known)
    elif not known.ambiguous:  # the same URL again: no rule is to blame for what changed
        site.index.set_content(known.key, ambiguous=False, content=seen.content)


def contradicted(seen: Observation) -> list[Contradiction]:
    """The known pages that a fetched page should be like, by the rules in force or promising hypotheses, and is not."""
    site, page, leaf = seen.site, seen.page, seen.page.leaf
    if site.contents.is_stub_content(seen.content):
        return []
    found: list[Contradiction] = []
    known = site.index.find(page, page.rules)
    if known is None:
        for hypothesis, evidence in leaf.evidence.items():
            if evidence.is_promising and not evidence.confirmed_failures:
                keys = [(key, site.index.entry_at(page.rules, key)) for key in _keys_if_true(page, hypothesis)]
                entries = [(key, entry_content(entry)) for key, entry in keys if entry is not None]
                if all(content != seen.content for _, content in entries):
                    found += [Contradiction(key, content, hypothesis) for key, content in entries]
        found = [against for against in found if not site.contents.is_stub_content(against.content)]
        if page.rules is not leaf.rules:
            known = site.index.find(site.normalize(seen.parts, leaf.rules), leaf.rules)
    if known is not None and known.tags and not known.ambiguous and known.content != seen.content:
        full_identity = page.identity + sum(shift for _, shift in page.dropped_parts) & U64_MASK
        if full_identity == known.key or site.index.entry_at(page.rules, full_identity) is None:
            found.append(Contradiction(known.key, known.content, None))
    return found


def _keys_if_true(page: NormalizedUrl, hypothesis: Hypothesis) -> tuple[int, ...]:
    """Where the index has the pages that a page is like if a hypothesis is true."""
    there = [page.remaining[name] for name in hypothesis.names if name in page.remaining]
    bare = page.identity - sum(shift for _, _, shift in there) & U64_MASK
    if hypothesis.value is None:
        if there:
            return bare, bare ^ hypothesis.salt
        return () if any(name in page.part_hashes for name in hypothesis.names) else (bare ^ hypothesis.salt,)
    if there:
        return (bare,) if there[0][1] == hypothesis.value else ()
    return () if hypothesis.names[0] in page.part_hashes else (bare + hypothesis.shift & U64_MASK,)


def correct(seen: Observation, wrong: int) -> None:
    """Correct what the index has of a known page that had erred; ``seen`` has what it really shows."""
    page = seen.page
    keys = [page.identity, page.identity + sum(shift for _, shift in page.dropped_parts) & U64_MASK]
    for part, _, shift in page.remaining.values():
        if part is not None and part.irrelevant is not None:
            keys.append((page.identity - shift & U64_MASK) ^ part.irrelevant.salt)
    for joint in seen.site.hypotheses.joint.values():
        keys += _keys_if_true(page, joint)
    promising = _promising_parts(seen)
    keys.append(page.identity - sum(shift for _, shift in promising) & U64_MASK)
    for key in keys:
        correct_entry(seen.site, key, wrong, seen.content)


def correct_entry(site: Site, key: int, wrong: int, right: int) -> None:
    """Correct an entry of the index that has what was an error."""
    entry = site.index.entries.get(key)
    if entry is not None and entry_content(entry) == wrong:
        site.index.set_content(key, ambiguous=bool(entry & 1), content=right)


def _try_on_host(seen: Observation) -> None:
    """Try rules that the host of a page has not confirmed: whether the page is one that they would lead to.

    Where they are several, and the page is another one, none of them is to blame in particular.
    """
    site, rules = seen.site, seen.page.leaf.rules
    known = site.index.find(site.normalize(seen.parts, rules), rules)
    if known is None or known.ambiguous or site.contents.is_stub_content(known.content):
        return
    untried, same = (
        [rule for rule in known.tags if rule not in seen.page.rules.pattern_of],
        known.content == seen.content,
    )
    if same or len(untried) == 1:
        for rule in untried:
            site.count_for_host(rules.pattern_of[rule], rule, seen.page.host, seen.content if same else None)


def _try_hypotheses(seen: Observation) -> None:
    """Compare a new page with all known pages that differ from it in one part, and enter it in the index."""
    site, page, leaf = seen.site, seen.page, seen.page.leaf
    trials = list(_trials(seen))
    site.index.put(page.identity, seen.content, page.dropped_parts)
    if site.contents.is_stub_content(seen.content):
        return
    _index_under_likely_rules(seen)
    if site.fetched > _JOINT_MIN_PAGES:
        _propose_joint_hypothesis(seen)
    for trial in trials:
        hypothesis, confirmed = trial.hypothesis, False
        if not trial.same:
            tags = _differences(seen, trial)
            evidence = leaf.evidence[hypothesis]
            if evidence.is_promising and not (evidence.confirmed_failures and site.asks):
                hypothesis = _open_dispute(seen, trial.bare, entry_content(trial.entry), tags)
            elif len(tags) > 1:
                site.noise.remember_excused(leaf, hypothesis, tags)
            confirmed = _is_confirmed(seen, entry_content(trial.entry))
            if site.asks is not None and not confirmed:
                _remember_failure(seen, site.asks, hypothesis, entry_content(trial.entry))
        seen.rule_book.count_trial(
            leaf,
            hypothesis,
            seen.url,
            seen.content,
            host=seen.page.host,
            same=trial.same,
            verifying=False,
            confirmed=confirmed,
        )
        if trial.same and site.asks is not None:
            _ask_about_early_failures(site.asks, leaf, hypothesis)


def _is_confirmed(seen: Observation, expected: int) -> bool:
    """Whether a page and the known page that it is unlike were both fetched twice."""
    questions = seen.site.questions
    return questions is not None and seen.content in questions.sure and expected in questions.sure


def _remember_failure(seen: Observation, questions: Questions, hypothesis: Hypothesis, expected: int) -> None:
    """Remember a failed trial, to ask about it once much speaks for the hypothesis."""
    known_url = seen.site.pages[seen.site.contents.first_page(expected)]
    questions.remember(EarlyFailure(seen.page.leaf, hypothesis, seen.url, seen.content, known_url, expected))


def _ask_about_early_failures(questions: Questions, leaf: PathPattern, hypothesis: Hypothesis) -> None:
    """Ask about an early failure of a hypothesis for which much speaks by now."""
    failures = questions.early_failures(leaf, hypothesis)
    if not failures or leaf.evidence[hypothesis].confirmed_failures or questions.is_asking_about(leaf, hypothesis):
        return
    if any(pattern.evidence[hypothesis].is_held_back for pattern in leaf.lineage):
        ask_about_failure(questions, failures[0])


def ask_about_failure(questions: Questions, failure: EarlyFailure) -> None:
    """Ask about the pages of a failure that were not fetched twice yet; if both were, it is confirmed."""
    leaf, hypothesis = about = failure.leaf, failure.hypothesis
    if failure.content not in questions.sure:
        questions.ask(
            failure.url,
            failure.content,
            because_of=failure.url,
            known_url=failure.known_url,
            failure=failure,
            about=[about],
        )
    elif failure.known_content not in questions.sure:
        questions.ask(failure.known_url, failure.known_content, because_of=failure.url, failure=failure, about=[about])
    elif questions.forget(failure):
        leaf.evidence[hypothesis].confirmed_failures += 1


def _verify_rules(seen: Observation, known: IndexHit) -> None:
    """Verify the rules that lead from the URL of a fetched page to a known page."""
    site, leaf = seen.site, seen.page.leaf
    full_identity = seen.page.identity + sum(shift for _, shift in seen.page.dropped_parts) & U64_MASK
    fetched_before = full_identity != known.key and site.index.entry_at(seen.page.rules, full_identity) is not None
    site.index.put(full_identity, seen.content, [])
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
                seen.rule_book.count_trial(
                    leaf, rule, seen.url, seen.content, host=seen.page.host, same=True, verifying=True
                )
        return
    site.readmit_by_content(known.content)
    if site.contents.is_stub_content(known.content):  # the stub is to blame
        site.contents.misled.add(known.content)
        site.index.set_content(known.key, ambiguous=False, content=seen.content)
        return
    site.index.set_content(known.key, ambiguous=True)
    if not is_stub:
        tags = {rule: site.coarsen_tag(rule, tag) for rule, tag in known.tags.items()}
        blamed = _open_dispute(seen, seen.page.identity, known.content, tags)
        seen.rule_book.count_trial(
            leaf,
            blamed,
            seen.url,
            seen.content,
            host=seen.page.host,
            same=False,
            verifying=True,
            confirmed=_is_confirmed(seen, known.content),
        )


def _trials(seen: Observation) -> Iterator[Trial]:
    """The trials of a new page; on the way, the page is entered in the index for the trials of later pages."""
    site, page, leaf = seen.site, seen.page, seen.page.leaf
    for name, (known, value, shift) in page.remaining.items():
        part = known or site.ensure_part(name)
        if part is not None and (name in leaf.parts or len(leaf.parts) < MAX_PARTS_HERE):
            leaf.parts[name] = None
            yield from _trials_with_part(seen, part, value, shift)
    for name in leaf.parts:
        if name not in page.part_hashes:
            yield from _trials_without_part(seen, site.hypotheses.parts[name])
    for joint in site.hypotheses.joint.values():
        part_hashes = [page.remaining[name][2] for name in joint.names if name in page.remaining]
        if part_hashes:
            yield from _try_with_values(seen, joint, page.identity - sum(part_hashes) & U64_MASK)
        elif all(name in leaf.parts for name in joint.names):
            yield from _try_without_values(seen, joint)


def _trials_with_part(seen: Observation, part: PartHypotheses, value: str, shift: int) -> Iterator[Trial]:
    bare = seen.page.identity - shift & U64_MASK
    if part.irrelevant is not None and not _is_hopeless(seen, part.irrelevant):
        yield from _try_with_values(seen, part.irrelevant, bare)
    default = seen.site.hypotheses.count_value(part, value, shift)
    if default is not None:
        yield from _compare(seen, default, bare, bare)


def _trials_without_part(seen: Observation, part: PartHypotheses) -> Iterator[Trial]:
    if part.irrelevant is not None and not _is_hopeless(seen, part.irrelevant):
        yield from _try_without_values(seen, part.irrelevant)
    if part.random_balance > _MAX_RANDOM_BALANCE:
        return
    identity = seen.page.identity
    for default in part.values.values():
        if part.value_counts[default] >= MIN_VALUE_COUNT and not _is_hopeless(seen, default):
            yield from _compare(seen, default, identity, identity + default.shift & U64_MASK)


def _try_with_values(seen: Observation, hypothesis: Hypothesis, bare: int) -> Iterator[Trial]:
    """Compare a page that has the parts with pages that have other values, and with the page that lacks the parts."""
    index = seen.site.index
    key = bare ^ hypothesis.salt
    lacking, other = _entry_at(seen, bare), _entry_at(seen, key)
    known = {entry_content(entry) for entry in (lacking, other) if entry is not None}
    same = seen.content in known
    ambiguous = bool(other is not None and other & 1) or len(known) > 1
    if known and not (same and ambiguous) and not any(map(seen.site.contents.is_stub_content, known)):
        if lacking is not None:
            yield Trial(hypothesis, same, bare, bare, lacking)
        elif other is not None:
            yield Trial(hypothesis, same, bare, key, other)
    if other is None:
        differs = bool(known) and not same
        index.put(key, seen.content, seen.page.dropped_parts, ambiguous=differs, tagged=False)
    elif not other & 1 and (ambiguous or not same):
        index.set_content(key, ambiguous=True)


def _try_without_values(seen: Observation, hypothesis: Hypothesis) -> Iterator[Trial]:
    """Compare a page that lacks the parts with pages that have them."""
    key = seen.page.identity ^ hypothesis.salt
    entry = _entry_at(seen, key)
    if entry is not None and entry_content(entry) != seen.content:
        seen.site.index.set_content(key, ambiguous=True)
    yield from _compare(seen, hypothesis, seen.page.identity, key)


def _compare(seen: Observation, hypothesis: Hypothesis, bare: int, key: int) -> Iterator[Trial]:
    """Compare with the known page at a key, unless it is a stub, or agrees where the entry is ambiguous."""
    entry = _entry_at(seen, key)
    if entry is not None:
        same = entry_content(entry) == seen.content
        if not (same and entry & 1) and not seen.site.contents.is_stub_content(entry_content(entry)):
            yield Trial(hypothesis, same, bare, key, entry)


def _entry_at(seen: Observation, key: int) -> int | None:
    return seen.site.index.entry_at(seen.page.rules, key)


def _is_hopeless(seen: Observation, hypothesis: Hypothesis) -> bool:
    evidence = seen.page.leaf.evidence.get(hypothesis)
    return evidence is not None and evidence.is_hopeless


def _is_promising(seen: Observation, hypothesis: Hypothesis) -> bool:
    evidence = seen.page.leaf.evidence.get(hypothesis)
    return evidence is not None and evidence.is_promising


def _promising_parts(seen: Observation) -> DroppedParts:
    """The parts of a page that promising hypotheses would drop."""
    found: DroppedParts = []
    for part, value, shift in seen.page.remaining.values():
        about = part.hypotheses_about(value) if part is not None else ()
        found += [(h, shift) for h in about if _is_promising(seen, h)][:1]
    return found


def _index_under_likely_rules(seen: Observation) -> None:
    """Enter a page under the identity that it will have if the promising hypotheses become rules."""
    site, page = seen.site, seen.page
    promising = _promising_parts(seen)
    if not promising:
        return
    key = page.identity - sum(shift for _, shift in promising) & U64_MASK
    before = site.index.entries.get(key)
    if before is None:
        site.index.put(key, seen.content, [*page.dropped_parts, *promising])
    elif site.index.entry_at(page.rules, key) is None and entry_content(before) != seen.content:
        site.index.set_content(key, ambiguous=True)


def _propose_joint_hypothesis(seen: Observation) -> None:
    """Propose that parts change together: two pages of one content differ in them, and none could be tried alone."""
    site, page, leaf = seen.site, seen.page, seen.page.leaf
    names = list(leaf.parts)[:_JOINT_PARTS]
    mine = sum(part_tag(page.remaining[name][2]) << 8 * i for i, name in enumerate(names) if name in page.remaining)
    key = seen.content << 16 ^ crc32(leaf.name.encode())
    theirs = site.firsts.get(key)
    if theirs is None:
        if len(site.firsts) < MAX_FIRST_PAGES:
            site.firsts.put(key, mine)
        return
    differing = sorted(name for i, name in enumerate(names) if (mine ^ theirs) >> 8 * i & 0xFF)
    if 2 <= len(differing) <= 3:
        tried = {h.names[0] for h, evidence in leaf.evidence.items() if len(h.names) == 1 and evidence.trials}
        if tried.isdisjoint(differing):
            site.hypotheses.joint_hypothesis(tuple(differing))


def _differences(seen: Observation, trial: Trial) -> PartTags:
    """The tags of the known page where it and the fetched page differ: in the parts on trial, and by the rules."""
    site, page, tried = seen.site, seen.page, trial.hypothesis
    theirs: PartTags = dict.fromkeys((rule for rule, _ in page.dropped_parts), 0)
    theirs |= site.index.assumed_tags(trial.key, trial.entry)
    tags: PartTags = {}
    for rule, tag in theirs.items():
        coarse = site.coarsen_tag(rule, tag)
        if coarse is None or coarse != site.part_tag_of(page, rule):
            tags[rule] = coarse
    if trial.key == trial.bare:
        tags[tried] = 0
    elif site.hypotheses.is_random(tried):
        tags[tried] = 1
    else:
        tags[tried] = None if tried.value is None else part_tag(tried.shift)
    return tags


def _open_dispute(seen: Observation, bare: int, content: int, tags: PartTags) -> Hypothesis:
    """Blame a hypothesis for two pages that should be alike and are not, and keep the case for a third page."""
    mine: PartTags = {h: seen.site.part_tag_of(seen.page, h) for h in tags}
    blamed = seen.site.noise.blame(seen.page.leaf, tags, seen.content)
    if _is_lasting(seen.site, content, seen.content) and all(
        h.is_initial or seen.site.hypotheses.is_random(h) for h in tags
    ):
        seen.site.noise.proven_count += 1  # such hypotheses are hardly ever wrong
    seen.site.noise.open(bare, Dispute(seen.page.leaf, blamed, content, tags, seen.content, mine))
    return blamed


def _is_lasting(site: Site, *contents: int) -> bool:
    """Whether the contents of two pages are still what they show, as far as anybody asked."""
    return site.asks is None or site.asks.sure.issuperset(contents)


def _settle_disputes(seen: Observation) -> None:
    """Settle the disputes of two pages to which the fetched page is a third one."""
    disputes = seen.site.noise.disputes
    for bare, removed in _bare_identities(seen):
        for dispute in list(disputes.get(bare, ())):
            is_open = dispute in disputes.get(bare, ())  # settling one can close others
            if is_open and all(h in dispute.tags or _is_promising(seen, h) for h, _ in removed):
                _settle(seen, bare, dispute)


def _settle(seen: Observation, bare: int, dispute: Dispute) -> None:
    site, leaf = seen.site, dispute.leaf
    tags: PartTags = {h: site.part_tag_of(seen.page, h) for h in dispute.tags}
    outcome = site.noise.examine_third_page(bare, dispute, seen.content, tags, site.contents)
    if outcome is None:
        return
    if outcome == "proof":
        seen.rule_book.count_proof(leaf, dispute.blamed)
        return
    if outcome == "noise":
        site.noise.proven_count += _is_lasting(site, dispute.content, dispute.other_content)
        for key in (bare, *(bare ^ h.salt for h in dispute.tags)):
            site.index.set_content(key, ambiguous=False, content=seen.content)
    else:
        seen.rule_book.count_trial(
            leaf, outcome, seen.url, seen.content, host=seen.page.host, same=False, verifying=True
        )
    seen.rule_book.withdraw_failure(leaf, dispute.blamed)


def _bare_identities(seen: Observation) -> Iterator[tuple[int, DroppedParts]]:
    """The identities of a page without some parts: with all of them, without each, without all promising parts."""
    page = seen.page
    yield page.identity, []
    for part, value, shift in page.remaining.values():
        for hypothesis in part.hypotheses_about(value) if part is not None else ():
            yield page.identity - shift & U64_MASK, [(hypothesis, shift)]
    promising = _promising_parts(seen)
    if len(promising) > 1:
        yield page.identity - sum(shift for _, shift in promising) & U64_MASK, promising
