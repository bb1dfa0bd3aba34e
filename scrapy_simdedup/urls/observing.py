"""Learn from a fetched page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simdedup.urls.keyed import MASK
from scrapy_simdedup.urls.noise import Dispute
from scrapy_simdedup.urls.page_index import content_of, tag
from scrapy_simdedup.urls.trials import Comparison, suppose_joint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_simdedup.urls.hypotheses import Hypothesis
    from scrapy_simdedup.urls.page_index import Known, Tags
    from scrapy_simdedup.urls.patterns import Dropped, Reading
    from scrapy_simdedup.urls.site import Site
    from scrapy_simdedup.urls.trials import Trial
    from scrapy_simdedup.urls.verdicts import Verdicts

_JOINT_FROM = 100
"""Pages after which parts are supposed to change together that were never seen to change alone."""

_ESTIMATE_EVERY = 32
"""Pages between two estimates of the noise."""


class Observation:
    """One fetched page and what it teaches."""

    def __init__(self, site: Site, page: Reading, url: str, content: int, verdicts: Verdicts) -> None:
        self._site = site
        self._page = page
        self._url = url
        self._content = content
        self._verdicts = verdicts

    def learn(self) -> None:
        """Take the page in; verdicts may change by it, and what was skipped be given back."""
        site, page = self._site, self._page
        known = site.index.find(page, page.leaf.rules)
        if site.contents.fetched(self._content, len(site.pages), explained=known is not None):
            site.give_back_for(self._content)
        site.pages.append(self._url)
        if site.fetched % _ESTIMATE_EVERY == 0:
            site.noise.estimate(site.evidence_by_part())
        if site.noise.disputes:
            self._settle_disputes()
        if known is None:
            self._compare()
        elif known.tags:
            self._verify(known)
        elif not known.mixed:  # the same URL again: no rule is to blame for what changed
            site.index.mark(known.key, mixed=False, content=self._content)

    def _compare(self) -> None:
        """A page that was not known: compare it with all that differ from it in one part."""
        site, page = self._site, self._page
        trials = Comparison(site, page, self._content).run()
        site.index.put(page.identity, self._content, page.dropped)
        if site.contents.is_popular(self._content):
            return
        self._foresee()
        if site.fetched > _JOINT_FROM:
            suppose_joint(site, page, self._content)
        for trial in trials:
            self._hear(trial)

    def _verify(self, known: Known) -> None:
        """A page that stands for a known one: were the rules right?"""
        site, leaf = self._site, self._page.leaf
        as_it_is = self._page.identity + sum(shift for _, shift in self._page.dropped) & MASK
        was_here = as_it_is != known.key and site.index.look(leaf.rules, as_it_is) is not None
        site.index.put(as_it_is, self._content, [])
        if known.mixed or (was_here and known.content != self._content):  # what has changed blames no rule
            return
        popular = site.contents.is_popular(self._content)
        if known.content == self._content:
            if popular:  # a template that is found again proves no rule
                site.contents.verified[self._content] = site.contents.verified.get(self._content, 0) + 1
            for rule in known.tags:
                if popular:
                    leaf.rules.at[rule].evidence[rule].unverified = 0
                else:
                    self._verdicts.hear(leaf, rule, self._url, self._content, same=True, verifying=True)
            return
        site.give_back_for(known.content)
        if site.contents.is_popular(known.content):  # the template is to blame
            site.contents.failed.add(known.content)
            site.index.mark(known.key, mixed=False, content=self._content)
            return
        site.index.mark(known.key, mixed=True)
        if not popular:
            tags = {rule: site.coarse(rule, had) for rule, had in known.tags.items()}
            blamed = self._dispute(self._page.identity, known.content, tags)
            self._verdicts.hear(leaf, blamed, self._url, self._content, same=False, verifying=True)

    def _hear(self, trial: Trial) -> None:
        """Count a comparison; of a failure, find out first which of the differences is to blame."""
        hypothesis, leaf = trial.hypothesis, self._page.leaf
        if not trial.same:
            tags = self._differences(trial)
            if leaf.on(hypothesis).is_promising:
                hypothesis = self._dispute(trial.bare, content_of(trial.entry), tags)
            elif len(tags) > 1:
                self._site.noise.excuse(leaf, hypothesis, tags)
        self._verdicts.hear(leaf, hypothesis, self._url, self._content, same=trial.same, verifying=False)

    def _differences(self, trial: Trial) -> Tags:
        """What the known page had where it and this one differ: in the part on trial, and by the rules in force."""
        site, page = self._site, self._page
        theirs: Tags = dict.fromkeys((rule for rule, _ in page.dropped), 0)
        theirs |= site.index.dropped_from(trial.key, trial.entry)
        tags: Tags = {}
        for rule, had in theirs.items():
            coarse = site.coarse(rule, had)
            if coarse is None or coarse != site.side(page, rule):
                tags[rule] = coarse
        tags[trial.hypothesis] = self._side_of_known(trial)
        return tags

    def _side_of_known(self, trial: Trial) -> int | None:
        """What the known page of a comparison had of the part in which the two differ."""
        if trial.lacking:
            return 0
        if self._site.hypotheses.is_random(trial.hypothesis):
            return 1
        return tag(trial.hypothesis.shift) if trial.hypothesis.value is not None else None

    def _dispute(self, bare: int, content: int, tags: Tags) -> Hypothesis:
        """Two pages that should be alike are not: blame a hypothesis, and remember the case for a third page."""
        mine: Tags = {h: self._site.side(self._page, h) for h in tags}
        blamed = self._site.noise.blame(self._page.leaf, tags, self._content)
        if all(h.given or self._site.hypotheses.is_random(h) for h in tags):
            self._site.noise.proven += 1  # what else could it be
        self._site.noise.open(bare, Dispute(self._page.leaf, blamed, content, tags, self._content, mine))
        return blamed

    def _settle_disputes(self) -> None:
        """The page may be the third one to a pair that should have been alike."""
        disputes = self._site.noise.disputes
        for bare, removed in self._bare_identities():
            for dispute in list(disputes.get(bare, ())):
                is_open = dispute in disputes.get(bare, ())  # settling one can close others
                if is_open and all(h in dispute.tags or self._is_promising(h) for h, _ in removed):
                    self._settle(bare, dispute)

    def _settle(self, bare: int, dispute: Dispute) -> None:
        site, leaf = self._site, dispute.leaf
        tags: Tags = {h: site.side(self._page, h) for h in dispute.tags}
        finding = site.noise.third_look(bare, dispute, self._content, tags, site.contents)
        if finding is None:
            return
        if finding.is_proof:
            self._verdicts.prove_wrong(leaf, dispute.blamed)
            return
        if finding.blamed is None:
            for key in (bare, *(bare ^ h.salt for h in dispute.tags)):
                site.index.mark(key, mixed=False, content=self._content)
        else:
            self._verdicts.hear(leaf, finding.blamed, self._url, self._content, same=False, verifying=True)
        self._verdicts.forgive(leaf, dispute.blamed)

    def _bare_identities(self) -> Iterator[tuple[int, Dropped]]:
        """The identities of the page without some parts: none, each single one, all that are promising."""
        page = self._page
        yield page.identity, []
        for part, value, shift in page.left.values():
            for hypothesis in part.about(value) if part is not None else ():
                yield page.identity - shift & MASK, [(hypothesis, shift)]
        promising = self._promising()
        if len(promising) > 1:
            yield page.identity - sum(shift for _, shift in promising) & MASK, promising

    def _foresee(self) -> None:
        """Enter the page under what will be its identity if the promising hypotheses become rules."""
        site, page = self._site, self._page
        promising = self._promising()
        if not promising:
            return
        key = page.identity - sum(shift for _, shift in promising) & MASK
        before = site.index.entries.get(key)
        if before is None:
            site.index.put(key, self._content, [*page.dropped, *promising])
        elif site.index.look(page.leaf.rules, key) is None and content_of(before) != self._content:
            site.index.mark(key, mixed=True)

    def _promising(self) -> Dropped:
        found: Dropped = []
        for part, value, shift in self._page.left.values():
            about = part.about(value) if part is not None else ()
            found += [(h, shift) for h in about if self._is_promising(h)][:1]
        return found

    def _is_promising(self, hypothesis: Hypothesis) -> bool:
        evidence = self._page.leaf.evidence.get(hypothesis)
        return evidence is not None and evidence.is_promising
