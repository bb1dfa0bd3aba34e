"""The trials of a fetched page: comparisons with the known pages that differ from it in one part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from zlib import crc32

from scrapy_simdedup.urls.compact import U64_MASK
from scrapy_simdedup.urls.hypotheses import MIN_VALUE_COUNT, Hypothesis, PartHypotheses
from scrapy_simdedup.urls.page_index import entry_content, part_tag
from scrapy_simdedup.urls.parts import UrlParts
from scrapy_simdedup.urls.patterns import DroppedParts, NormalizedUrl
from scrapy_simdedup.urls.site import Site

MAX_PARTS_HERE = 40
"""Parts that hypotheses are tried on at one pattern."""
MAX_FIRST_PAGES = 4000
"""First pages of a content that are remembered in order to find parts that change together."""
_JOINT_PARTS = 8
"""Parts of a pattern that may change together."""
_MAX_RANDOM_BALANCE = 8
"""Random values, less others, up to which the single values of a part are of interest."""


class Observation(NamedTuple):
    """A fetched page of a site, from which is learned."""

    site: Site
    page: NormalizedUrl
    parts: UrlParts
    url: str
    """The URL as it was asked for."""
    content: int


class Trial(NamedTuple):
    """A comparison of a fetched page with a known page, where the two differ in the parts of one hypothesis."""

    hypothesis: Hypothesis
    same: bool
    bare: int
    """The identity of both pages without the parts."""
    key: int
    """The key of the known page in the index; ``bare`` if the known page is the one that lacks the parts."""
    entry: int
    """The entry of the known page."""


def trials_of(seen: Observation) -> Iterator[Trial]:
    """The trials of a new page; on the way, the page is entered in the index for the trials of later pages."""
    site, page, leaf = seen.site, seen.page, seen.page.leaf
    for name, (known, value, shift) in page.remaining.items():
        part = known or site.ensure_part(name)
        if part is not None and (name in leaf.parts or len(leaf.parts) < MAX_PARTS_HERE):
            leaf.parts[name] = None
            yield from _trials_with_part(seen, part, value, shift)
            yield from _try_any_value(seen, part, page.identity - shift & U64_MASK, shift, page.dropped_parts)
    for name in leaf.parts:
        if name not in page.part_hashes:
            yield from _trials_without_part(seen, site.hypotheses.parts[name])
    for joint in site.hypotheses.joint.values():
        part_hashes = [page.remaining[name][2] for name in joint.names if name in page.remaining]
        if part_hashes:
            yield from _try_with_values(seen, joint, page.identity - sum(part_hashes) & U64_MASK)
        elif all(name in leaf.parts for name in joint.names):
            yield from _try_without_values(seen, joint)


def trials_of_values(seen: Observation) -> Iterator[Trial]:
    """Trials of whether any value of the parts would do that the rules drop, in case one of these rules falls."""
    page, hypotheses = seen.page, seen.site.hypotheses
    for pair in page.dropped_parts:
        rule, shift = pair
        part = hypotheses.parts[rule.names[0]]
        if rule is not part.irrelevant or rule.is_initial or part.random_balance > 0:
            continue
        if part.any_value is None:
            value = next((value for name, value in seen.parts.parts if name == part.name), None)
            if value is not None:
                hypotheses.count_value(part, value, shift)
        dropped = [other for other in page.dropped_parts if other is not pair]
        yield from _try_any_value(seen, part, page.identity, shift, dropped)


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


def _try_any_value(
    seen: Observation, part: PartHypotheses, bare: int, shift: int, dropped: DroppedParts
) -> Iterator[Trial]:
    """Compare a page with a part with the first page with another value of the part."""
    hypothesis, index = part.any_value, seen.site.index
    if hypothesis is None or part.random_balance > 0 or _is_hopeless(seen, hypothesis):
        return
    key = bare + hypothesis.shift & U64_MASK
    entry = _entry_at(seen, key)
    if entry is None:
        index.put(key, seen.content, [*dropped, (hypothesis, shift - hypothesis.shift & U64_MASK)])
        return
    if index.assumed_tags(key, entry).get(hypothesis) == seen.site.part_tag_of(seen.page, hypothesis):
        return
    yield from _compare(seen, hypothesis, key, key)
    if entry_content(entry) != seen.content:
        index.set_content(key, ambiguous=True)


def _try_without_values(seen: Observation, hypothesis: Hypothesis) -> Iterator[Trial]:
    """Compare a page without the parts with pages with them."""
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
    if evidence is None or not evidence.is_hopeless:
        return False
    beside = seen.site.tree.conditions_of(seen.page, hypothesis.names)
    return all(hypothesis in at.evidence and at.evidence[hypothesis].is_hopeless for at in beside)


def propose_joint_hypothesis(seen: Observation) -> None:
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
