"""Contradictions: a fetched page is unlike a known page that it should be like, until a third one tells which erred."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache, partial
from typing import NamedTuple

from scrapy_simdedup.urls.compact import U64_MASK
from scrapy_simdedup.urls.evidence import Evidence
from scrapy_simdedup.urls.hypotheses import Hypothesis
from scrapy_simdedup.urls.noise import Dispute
from scrapy_simdedup.urls.page_index import PartTags, entry_content, part_tag
from scrapy_simdedup.urls.parts import UrlParts
from scrapy_simdedup.urls.patterns import DroppedParts, NormalizedUrl
from scrapy_simdedup.urls.questions import MAX_OPEN, HeldPage, Questions
from scrapy_simdedup.urls.rule_book import RuleBook
from scrapy_simdedup.urls.site import Site
from scrapy_simdedup.urls.trials import Observation, Trial

_SEVERAL_CONTENTS = 4
"""Contents with which a hypothesis was right before a page that it explains is no unrelated one."""


class Contradiction(NamedTuple):
    """A known page that a fetched page should be like, and is not."""

    key: int
    """The key of the known page in the index."""
    content: int
    hypothesis: Hypothesis | None
    """The hypothesis that expects the same content; None for the rules in force."""
    rules: Collection[Hypothesis] = ()
    """These rules in force."""


def contradicted(seen: Observation) -> list[Contradiction]:
    """The known pages that a fetched page should be like, by the rules in force or promising hypotheses, and is not."""
    site, page, leaf = seen.site, seen.page, seen.page.leaf
    if site.contents.is_stub_content(seen.content):
        return []
    found: list[Contradiction] = []
    known = site.index.find(page, page.rules)
    if known is None:
        for hypothesis, evidence in _evidence_here(seen):
            if any(here.is_promising and not here.confirmed_failures for here in evidence):
                keys = [(key, site.index.entry_at(page.rules, key)) for key in _keys_if_true(page, hypothesis)]
                entries = [(key, entry_content(entry)) for key, entry in keys if entry is not None]
                if all(content != seen.content for _, content in entries):
                    found += [Contradiction(key, content, hypothesis) for key, content in entries]
        found = [against for against in found if not site.contents.is_stub_content(against.content)]
        if page.rules is not leaf.rules:
            known = site.index.find(site.normalize(seen.parts, leaf.rules), leaf.rules)
    if known is not None and known.tags and not known.ambiguous and known.content != seen.content:
        whole = page.whole_identity
        if whole == known.key or site.index.entry_at(page.rules, whole) is None:
            found.append(Contradiction(known.key, known.content, None, known.tags))
    return found


def hold(seen: Observation, questions: Questions) -> bool:
    """Hold a page that is unlike the known page which it should be like, while one of the two may have erred."""
    site, url, content, leaf = seen.site, seen.url, seen.content, seen.page.leaf
    against = contradicted(seen)
    erred = [known for known in against if known.content in questions.wrong]
    for known in erred:
        _correct_entry(site, known.key, known.content, questions.wrong[known.content])
    against = contradicted(seen) if erred else against
    about = [(leaf, known.hypothesis) for known in against if known.hypothesis is not None]
    inquiry = next(filter(None, (questions.open_about(*pair) for pair in about)), None)
    if inquiry is not None and len(about) == len(against):
        inquiry.held.append(HeldPage(url, content))
        return True
    expected = [known.content for known in against if not site.contents.is_stub_content(known.content)]
    known_pages = [(_page_of(site, known, seen.parts), known) for known in expected]
    suspects = [(url, content)] if against or content in questions.wrong else []
    suspects += known_pages
    if questions.know_errors and content not in questions.wrong and all(map(site.contents.seen_once, expected)):
        suspects.reverse()  # a page that erred is hardly fetched twice, as its URLs were skipped
    suspect = next((page for page in suspects if page[1] not in questions.sure), None)
    if suspect is None or len(questions.open) >= MAX_OPEN:
        return False
    is_itself = suspect[0] == url
    may_prove_noise = site.noise.is_suspected and any(site.is_hardly_ever_wrong(known.rules) for known in against)
    questions.ask(
        *suspect,
        because_of=url,
        known_url=known_pages[0][0] if is_itself and known_pages else None,
        about=about,
        expected=expected if is_itself else (),
        held=HeldPage(url, content),
        is_urgent=may_prove_noise,
    )
    return True


def _page_of(site: Site, content: int, url: UrlParts) -> str:
    """The URL of a fetched page of a content: the nearest to a URL, if unrelated pages share it."""
    return site.shared.nearest(content, url) or site.pages[site.contents.first_page(content)]


def is_variant(seen: Observation) -> bool:
    """Whether a page has the content of a known page, as a promising hypothesis says, or a rule of other paths.

    The hypothesis must have been right about several contents: a wall gives one content under any URL.
    """
    in_force = seen.site.in_force
    for hypothesis, known in _evidence_here(seen):
        is_promising = any(here.is_promising and len(here.contents) >= _SEVERAL_CONTENTS for here in known)
        if is_promising or in_force[hypothesis]:
            for key in _keys_if_true(seen.page, hypothesis):
                entry = seen.site.index.entry_at(seen.page.rules, key)
                if entry is not None and entry_content(entry) == seen.content:
                    return True
    return False


def _evidence_here(seen: Observation) -> Iterator[tuple[Hypothesis, list[Evidence]]]:
    """What is known of each hypothesis at the leaf of a page and, if it fails there, on the conditions of the page."""
    conditions_of = cache(partial(seen.site.tree.conditions_of, seen.page))  # many hypotheses are about the same parts
    for hypothesis, evidence in seen.page.leaf.evidence.items():
        beside = conditions_of(hypothesis.names) if evidence.failures else ()
        yield hypothesis, [evidence, *(at.evidence[hypothesis] for at in beside if hypothesis in at.evidence)]


def _keys_if_true(page: NormalizedUrl, hypothesis: Hypothesis) -> tuple[int, ...]:
    """Where the index has the pages that a page is like if a hypothesis is true."""
    there = [page.remaining[name] for name in hypothesis.names if name in page.remaining]
    bare = page.identity - sum(shift for _, _, shift in there) & U64_MASK
    if hypothesis.any_value:
        return (bare + hypothesis.shift & U64_MASK,) if there else ()
    if hypothesis.value is None:
        if there:
            return bare, bare ^ hypothesis.salt
        return () if any(name in page.part_hashes for name in hypothesis.names) else (bare ^ hypothesis.salt,)
    if there:
        return (bare,) if there[0][1] == hypothesis.value else ()
    return () if hypothesis.names[0] in page.part_hashes else (bare + hypothesis.shift & U64_MASK,)


def correct(seen: Observation, wrong: int) -> None:
    """Correct the entry of a known page whose first fetch erred; ``seen`` has its true content."""
    page = seen.page
    parts = [part for part, _, _ in page.remaining.values() if part is not None]
    about = [h for part in parts for h in (part.irrelevant, part.any_value) if h is not None]
    keys = [_keys_if_true(page, h)[-1] for h in about]
    keys += [key for joint in seen.site.hypotheses.joint.values() for key in _keys_if_true(page, joint)]
    keys.append(page.identity - sum(shift for _, shift in promising_parts(seen)) & U64_MASK)
    for key in (page.identity, page.whole_identity, *keys):
        _correct_entry(seen.site, key, wrong, seen.content)


def _correct_entry(site: Site, key: int, wrong: int, right: int) -> None:
    """Correct an entry of the index that has what was an error."""
    entry = site.index.entries.get(key)
    if entry is not None and entry_content(entry) == wrong:
        site.index.set_content(key, ambiguous=bool(entry & 1), content=right)


def is_promising(seen: Observation, hypothesis: Hypothesis) -> bool:
    """Whether a hypothesis may become a rule where a page was found."""
    evidence = seen.page.leaf.evidence.get(hypothesis)
    return hypothesis in seen.page.leaf.recalled or (evidence is not None and evidence.is_promising)


def promising_parts(seen: Observation) -> DroppedParts:
    """The parts of a page that promising hypotheses would drop."""
    found: DroppedParts = []
    for part, value, shift in seen.page.remaining.values():
        about = part.hypotheses_about(value) if part is not None else ()
        found += [(h, shift) for h in about if is_promising(seen, h)][:1]
    return found


def differences(seen: Observation, trial: Trial) -> PartTags:
    """The tags of the known page where it and the fetched page differ: in the parts on trial, and by the rules."""
    site, page, tried = seen.site, seen.page, trial.hypothesis
    theirs: PartTags = dict.fromkeys((rule for rule, _ in page.dropped_parts), 0)
    theirs |= site.index.assumed_tags(trial.key, trial.entry)
    tags: PartTags = {}
    for rule, tag in theirs.items():
        coarse = site.coarsen_tag(rule, tag)
        if coarse is None or coarse != site.part_tag_of(page, rule):
            tags[rule] = coarse
    if tried.any_value:
        return tags
    if trial.key == trial.bare:
        tags[tried] = 0
    elif site.hypotheses.is_random(tried):
        tags[tried] = 1
    else:
        tags[tried] = None if tried.value is None else part_tag(tried.shift)
    return tags


def open_dispute(seen: Observation, bare: int, content: int, tags: PartTags) -> Hypothesis:
    """Blame a hypothesis for two pages that should be alike and are not, and keep the case for a third page."""
    mine: PartTags = {h: seen.site.part_tag_of(seen.page, h) for h in tags}
    able = [h for h in tags if not seen.site.hypotheses.is_low_risk(h)]  # whoever else is suspected
    blamed = seen.site.noise.blame(seen.page.leaf, able or tags, seen.content)
    if seen.site.is_hardly_ever_wrong(tags) and _is_lasting(seen.site, content, seen.content):
        seen.site.noise.proven_count += 1
    dropped = (h for h, _ in seen.page.dropped_parts if h not in tags and not seen.site.hypotheses.is_low_risk(h))
    common: PartTags = {h: seen.site.part_tag_of(seen.page, h) for h in dropped}
    seen.site.noise.open(bare, Dispute(seen.page.leaf, blamed, content, tags, seen.content, mine, common))
    return blamed


def _is_lasting(site: Site, *contents: int) -> bool:
    """Whether the contents of two pages are still what they show, as far as anybody asked."""
    return site.asks is None or site.asks.sure.issuperset(contents)


def settle_disputes(seen: Observation) -> None:
    """Settle the disputes of two pages to which the fetched page is a third one."""
    disputes = seen.site.noise.disputes
    for bare, removed in _bare_identities(seen):
        for dispute in list(disputes.get(bare, ())):
            is_open = dispute in disputes.get(bare, ())  # settling one can close others
            if is_open and all(h in dispute.tags or is_promising(seen, h) for h, _ in removed):
                _settle(seen, bare, dispute)


def _settle(seen: Observation, bare: int, dispute: Dispute) -> None:
    site, leaf = seen.site, dispute.leaf
    tags: PartTags = {h: site.part_tag_of(seen.page, h) for h in dispute.tags}
    if any(site.part_tag_of(seen.page, h) != tag for h, tag in dispute.common.items()):
        return  # a year and a month may only do together what neither does alone
    outcome = site.noise.examine_third_page(bare, dispute, seen.content, tags, site.contents)
    if outcome is None:
        return
    rule_book = RuleBook(site)
    if outcome == "proof":
        rule_book.count_proof(leaf, dispute.blamed)
        return
    if outcome == "noise":
        _prove_noise(site, dispute.content if seen.content == dispute.other_content else dispute.other_content)
        for key in (bare, *(bare ^ h.salt for h in dispute.tags)):
            site.index.set_content(key, ambiguous=False, content=seen.content)
    else:
        rule_book.count_blame(seen, leaf, outcome)
    rule_book.withdraw_failure(leaf, dispute.blamed)


def _prove_noise(site: Site, odd: int) -> None:
    """Count a content that a page shows though it should be like others as noise, if it lasts; if need be, ask."""
    if _is_lasting(site, odd):
        site.noise.proven_count += 1
    elif site.asks is not None and len(site.asks.open) < MAX_OPEN:
        url = site.pages[site.contents.first_page(odd)]
        site.asks.odd.add(odd)
        site.asks.ask(url, odd, because_of=url, about=[], is_urgent=True)


def _bare_identities(seen: Observation) -> Iterator[tuple[int, DroppedParts]]:
    """The identities of a page without some parts: with all of them, without each, without all promising parts."""
    page = seen.page
    yield page.identity, []
    for part, value, shift in page.remaining.values():
        for hypothesis in part.hypotheses_about(value) if part is not None else ():
            yield page.identity - shift & U64_MASK, [(hypothesis, shift)]
    promising = promising_parts(seen)
    if len(promising) > 1:
        yield page.identity - sum(shift for _, shift in promising) & U64_MASK, promising
