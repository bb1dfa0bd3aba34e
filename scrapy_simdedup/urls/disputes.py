"""The disputes of a site: two pages that should be alike and are not, until a third one tells which erred."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simdedup.urls.compact import U64_MASK
from scrapy_simdedup.urls.contradictions import is_promising, promising_parts
from scrapy_simdedup.urls.noise import Dispute
from scrapy_simdedup.urls.page_index import part_tag

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_simdedup.urls.contradictions import Observation
    from scrapy_simdedup.urls.hypotheses import Hypothesis
    from scrapy_simdedup.urls.page_index import PartTags
    from scrapy_simdedup.urls.patterns import DroppedParts
    from scrapy_simdedup.urls.site import Site
    from scrapy_simdedup.urls.trials import Trial


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
    promising = promising_parts(seen)
    if len(promising) > 1:
        yield page.identity - sum(shift for _, shift in promising) & U64_MASK, promising
