"""What a fetched page says about hypotheses: the same content as a page that differs in one part only, or another."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from scrapy_simdedup.urls.keyed import MASK
from scrapy_simdedup.urls.page_index import content_of, tag

if TYPE_CHECKING:
    from scrapy_simdedup.urls.hypotheses import Hypothesis, Part
    from scrapy_simdedup.urls.patterns import Pattern, Reading
    from scrapy_simdedup.urls.site import Site

MAX_PARTS_HERE = 40
"""Parts that hypotheses are tried on at one pattern."""

MAX_FIRSTS = 4000
"""Pages remembered in order to find parts that change together."""

_JOINT_PARTS = 8
"""Parts of a pattern that may change together."""

_MIN_SIGHTS = 3
"""Sights from which a page without a part is compared with the one that has this value of it."""

_RANDOM = 8
"""Random values, less others, from which the single values of a part are of no interest."""


class Trial(NamedTuple):
    """A comparison of a page with a known one, from which it differs in one part."""

    hypothesis: Hypothesis
    same: bool
    bare: int
    """The identity of both without the part."""
    key: int
    """The place of the known page in the index."""
    entry: int
    """What stands there."""
    lacking: bool
    """Whether it is the known page that lacks the part."""


class Comparison:
    """One new page, compared with all known ones that differ from it in one part."""

    def __init__(self, site: Site, page: Reading, content: int) -> None:
        self._site = site
        self._index = site.index
        self._beliefs = page.leaf.rules
        self._page = page
        self._content = content
        self.trials: list[Trial] = []

    def run(self) -> list[Trial]:
        """Compare, and enter the page for later comparisons."""
        page, leaf = self._page, self._page.leaf
        for name, (known, value, shift) in page.left.items():
            part = known or self._site.part(name)
            if part is not None and _is_examined(leaf, name):
                self._with_part(part, value, shift)
        for name in leaf.parts:
            if name not in page.shifts:
                self._without_part(self._site.hypotheses.parts[name])
        for joint in self._site.hypotheses.joint.values():
            shifts = [page.left[name][2] for name in joint.names if name in page.left]
            if shifts:
                self._in_bucket(joint, page.identity - sum(shifts) & MASK)
            elif all(name in leaf.parts for name in joint.names):
                self._lacking(joint)
        return self.trials

    def _with_part(self, part: Part, value: str, shift: int) -> None:
        bare = self._page.identity - shift & MASK
        if part.irrelevant is not None and not self._is_hopeless(part.irrelevant):
            self._in_bucket(part.irrelevant, bare)
        default = self._site.hypotheses.observe(part, value, shift)
        absent = self._index.look(self._beliefs, bare)
        if default is not None and absent is not None:
            self._try(Trial(default, False, bare, bare, absent, True))

    def _without_part(self, part: Part) -> None:
        if part.irrelevant is not None and not self._is_hopeless(part.irrelevant):
            self._lacking(part.irrelevant)
        if part.randomness > _RANDOM:
            return
        identity = self._page.identity
        for default in part.values.values():
            if part.sights[default] >= _MIN_SIGHTS and not self._is_hopeless(default):
                key = identity + default.shift & MASK
                entry = self._index.look(self._beliefs, key)
                if entry is not None:
                    self._try(Trial(default, False, identity, key, entry, False))

    def _in_bucket(self, hypothesis: Hypothesis, bare: int) -> None:
        """The page has the part: compare it with those that have another value, and with the one that lacks it."""
        key = bare ^ hypothesis.salt
        absent = self._index.look(self._beliefs, bare)
        other = self._index.look(self._beliefs, key)
        known = {content_of(entry) for entry in (absent, other) if entry is not None}
        same = self._content in known
        mixed = bool(other is not None and other & 1) or len(known) > 1
        if known and not (same and mixed) and not any(map(self._site.contents.is_popular, known)):
            if absent is not None:
                self.trials.append(Trial(hypothesis, same, bare, bare, absent, True))
            elif other is not None:
                self.trials.append(Trial(hypothesis, same, bare, key, other, False))
        if other is None:
            differs = bool(known) and not same
            self._index.put(key, self._content, self._page.dropped, mixed=differs, tagged=False)
        elif not other & 1 and (mixed or not same):
            self._index.mark(key, mixed=True)

    def _lacking(self, hypothesis: Hypothesis) -> None:
        """The page lacks the part: compare it with those that have it."""
        key = self._page.identity ^ hypothesis.salt
        entry = self._index.look(self._beliefs, key)
        if entry is not None:
            if content_of(entry) != self._content:
                self._index.mark(key, mixed=True)
            self._try(Trial(hypothesis, False, self._page.identity, key, entry, False))

    def _try(self, trial: Trial) -> None:
        """A page that two contents were found on proves nothing by agreeing with one of them."""
        known = content_of(trial.entry)
        same = known == self._content
        if not (same and trial.entry & 1) and not self._site.contents.is_popular(known):
            self.trials.append(trial._replace(same=same))

    def _is_hopeless(self, hypothesis: Hypothesis) -> bool:
        evidence = self._page.leaf.evidence.get(hypothesis)
        return evidence is not None and evidence.is_hopeless


def _is_examined(leaf: Pattern, name: str) -> bool:
    if name not in leaf.parts:
        if len(leaf.parts) >= MAX_PARTS_HERE:
            return False
        leaf.parts[name] = None
    return True


def suppose_joint(site: Site, page: Reading, content: int) -> None:
    """Where two pages of one content differ in parts that cannot be tried alone, suppose that they change together."""
    leaf = page.leaf
    names = list(leaf.parts)[:_JOINT_PARTS]
    mine = sum(tag(page.left[name][2]) << 8 * place for place, name in enumerate(names) if name in page.left)
    key = content << 16 ^ crc32(leaf.name.encode())
    theirs = site.firsts.get(key)
    if theirs is None:
        if len(site.firsts) < MAX_FIRSTS:
            site.firsts.put(key, mine)
        return
    unlike = mine ^ theirs
    differing = sorted(name for place, name in enumerate(names) if unlike >> 8 * place & 0xFF)
    if 2 <= len(differing) <= 3:
        tried = {h.names[0] for h, evidence in leaf.evidence.items() if len(h.names) == 1 and evidence.trials}
        if tried.isdisjoint(differing):
            site.hypotheses.together(tuple(differing))
