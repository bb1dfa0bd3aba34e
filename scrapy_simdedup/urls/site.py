"""The site: everything that the learner knows of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import islice

from scrapy_simdedup.urls import compact
from scrapy_simdedup.urls.evidence import Evidence, LearnerThresholds
from scrapy_simdedup.urls.hypotheses import Hypotheses, Hypothesis, PartHypotheses, is_given
from scrapy_simdedup.urls.noise import Noise
from scrapy_simdedup.urls.page_index import ContentCounters, PageIndex, SharedContents, entry_content, part_tag
from scrapy_simdedup.urls.parts import FLAG_PARTS, UrlParts
from scrapy_simdedup.urls.patterns import (
    WHOLE_SITE,
    ActiveRules,
    DroppedParts,
    NormalizedUrl,
    PathPattern,
    PatternTree,
    Prefixes,
)
from scrapy_simdedup.urls.questions import Questions

_GIVEN_VERIFIED = 24
"""Verifications credited to a rule that is in force from the start."""
MAX_HINTED = 100
"""Hypotheses that a site itself may suggest."""
_MAX_DIFFERING = 3
"""Parts that two URLs of one page may differ in to suggest hypotheses."""
_MAX_HOSTS_PER_LEAF = 64
"""Hosts whose rules are kept at hand at a leaf."""
_TEST_LASTS = 100
"""Fetched pages after which a test is under way no more: its page may have failed."""
_MAX_ENTRIES_PER_URL = 4
"""Entries of the index per URL that may be logged."""
MIN_HOST_CONTENTS = 4
"""Different contents of its own with which a host must have confirmed a rule of the site."""
TO_CONFIRM, TO_KEEP = 8, 4
"""Successes of a host that outweigh one failure, before it confirmed a rule and after: fingerprints err at times."""
MAX_REMEMBERED = 8
"""Contents of a host that are remembered per rule, so that each is counted once."""
MAX_HOST_TRIALS = 50_000
"""Patterns, hypotheses and hosts of a site whose trials are counted, some 350 bytes each; beyond, the one that was
tried longest ago is forgotten, and has to be confirmed anew."""


@dataclass(slots=True, eq=False)
class _Trials:
    """The trials of a hypothesis at a pattern with the pages of one host."""

    contents: tuple[int, ...] = ()
    """The latest contents of successful trials."""
    same: int = 0
    different: int = 0
    outweighed: bool = True
    """Whether the successes outweigh the failures."""


@dataclass(slots=True, eq=False)
class HostTrials:
    """What each host of a site has confirmed: its trials, counted beside those of the site once there are two hosts.

    What one host teaches is no rule on another, until that one has confirmed it. Whoever has a host of a site could
    teach rules about the others: with pages that ignore their ``id`` on one host, all articles of another would be
    skipped. While a site has one host, that one has confirmed whatever is known. Contents that are stubs confirm
    nothing.
    """

    _contents: ContentCounters
    _trials: dict[tuple[PathPattern, Hypothesis, str], _Trials] = field(default_factory=dict)
    """The one that was tried last at the end."""
    is_counting: bool = False
    """Whether the site has more than one host."""

    def begin(self, first_host: str, known: Iterable[tuple[PathPattern, Hypothesis, Evidence]]) -> None:
        """Count from now on; all that is known yet was found on the first host."""
        self.is_counting = True
        for pattern, hypothesis, evidence in known:
            if evidence.trials:
                latest = tuple(evidence.contents)[-MAX_REMEMBERED:]
                self._put((pattern, hypothesis, first_host), _Trials(latest, evidence.successes, evidence.failures))

    def count(self, pattern: PathPattern, hypothesis: Hypothesis, host: str, content: int | None) -> bool | None:
        """Count a trial with a page of a host (None: it failed); whether that now confirms it, if that has changed."""
        key = pattern, hypothesis, host
        before = self.confirms(*key)
        trials = self._trials.pop(key, None) or _Trials()
        self._put(key, trials)
        if content is None:
            trials.different += 1
        elif content not in trials.contents:
            trials.contents = (*trials.contents, content)[-MAX_REMEMBERED:]
            trials.same += 1
        trials.outweighed = (TO_KEEP if before else TO_CONFIRM) * trials.different <= trials.same
        after = self.confirms(*key)
        return None if before is after else after

    def confirms(self, pattern: PathPattern, hypothesis: Hypothesis, host: str) -> bool:
        """Whether the pages of a host speak for a hypothesis at a pattern, whatever those of other hosts say."""
        trials = self._trials.get((pattern, hypothesis, host))
        if trials is None or not trials.outweighed:
            return False
        return sum(not self._contents.is_stub_content(content) for content in trials.contents) >= MIN_HOST_CONTENTS

    def successes(self, pattern: PathPattern, hypothesis: Hypothesis, host: str) -> int:
        """The successful trials with pages of a host."""
        trials = self._trials.get((pattern, hypothesis, host))
        return 0 if trials is None else trials.same

    def _put(self, key: tuple[PathPattern, Hypothesis, str], trials: _Trials) -> None:
        self._trials[key] = trials
        if len(self._trials) > MAX_HOST_TRIALS:
            del self._trials[next(iter(self._trials))]


class Site:
    """A site as the learner knows it: patterns with evidence, fetched pages, and skipped URLs."""

    def __init__(
        self,
        first_page: UrlParts,
        name: str,
        keyed_hash: compact.KeyedHash,
        seed: int,
        *,
        thresholds: LearnerThresholds,
        checks: float,
    ) -> None:
        self.name = name
        self.scheme, self.host = first_page.scheme, first_page.host
        """Any other scheme or host is a part of the URL."""
        self.hash = keyed_hash
        self.thresholds = thresholds
        self.checks = checks
        """Requests that may be made to check the rules, as a share of the URLs that were skipped."""
        self.random: compact.KeyedRandom = compact.KeyedRandom(keyed_hash, keyed_hash("chance", name) ^ seed)
        self.hypotheses: Hypotheses = Hypotheses(keyed_hash)
        self.prefixes: Prefixes = Prefixes()
        self.tree: PatternTree = PatternTree()
        self.index: PageIndex = PageIndex()
        self.contents: ContentCounters = ContentCounters()
        self.hosts: HostTrials = HostTrials(self.contents)
        self.noise: Noise = Noise()
        self.questions: Questions | None = Questions() if checks > 0 else None
        """The pages that may have erred; None if nobody answers questions."""
        self.pages: compact.UrlLog = compact.UrlLog()
        """Fetched URLs, so that a decision can name the page that a URL leads to."""
        self.skips: compact.SkipLog = compact.SkipLog()
        self.tested: compact.SortedMap = compact.SortedMap()
        """The identity of a fetched page with one of the parts that rules drop from its URL → 1."""
        self.chains: dict[PathPattern, dict[tuple[Hypothesis, ...], int]] = {}
        """Leaf → rules → the latest skip by these rules."""
        self.firsts: compact.SortedMap = compact.SortedMap()
        """Leaf and content of a first page → a tag per part that it had: to find parts that change together."""
        self.shared: SharedContents = SharedContents(self.normalize, self.contents)
        self.version: int = 0
        """Number of changes of verdicts so far."""
        self.in_force: Counter[Hypothesis] = Counter()
        """Rule → number of patterns where it is in force by their own verdict."""
        self._doubtful = (-1, (0, 0))
        """A version, and what :meth:`doubtful_counts` gives at this version."""
        self.fetched: int = 0
        self.repeats: int = 0
        """Fetched pages of a known content that rules or promising hypotheses explain."""
        self.skipped: int = 0
        self.under_way: dict[str, tuple[int, list[Evidence]]] = {}
        """URL that is being fetched to test hypotheses → the number of pages fetched before, the evidence on them."""
        self.recalled: bool = False
        """Whether it began with rules of an earlier crawl."""
        self.hastened: set[str] = set()
        """URLs that are fetched early, to test rules of an earlier crawl."""
        self.hastened_for: Counter[Hypothesis] = Counter()
        """Rule of an earlier crawl → the URLs that are fetched early to test it."""
        self.drawn_to: int = 0
        """The number of the latest skip that could have been drawn for the sample."""
        self.is_drawn_after_exception: bool = False
        """Whether all skips could have been drawn since it is known that a rule was wrong for few pages."""

    @property
    def asks(self) -> Questions | None:
        """The questions, while somebody answers them and the answers tell anything."""
        questions = self.questions
        return None if questions is None or questions.is_futile(self.noise.proven_count) else questions

    @property
    def know_exceptions(self) -> bool:
        """Whether a rule that is right otherwise was wrong for a page, as far as second looks tell."""
        return self.asks is not None and self.asks.know_exceptions

    def is_hardly_ever_wrong(self, rules: Collection[Hypothesis]) -> bool:
        """Whether pages that differ by these rules only, and are unlike, are rather noise than exceptions."""
        return bool(rules) and all(rule.is_initial or self.hypotheses.is_random(rule) for rule in rules)

    @property
    def is_full(self) -> bool:
        """Whether the site has too many URLs to learn more, so that nothing more should be skipped."""
        most = self.thresholds.max_urls
        return len(self.pages) >= most or len(self.index.entries) >= _MAX_ENTRIES_PER_URL * most

    def normalize(self, url: UrlParts, active_rules: ActiveRules | None = None) -> NormalizedUrl:
        """A URL without the parts that active rules drop; by default, the rules in force."""
        parts, hashed = self.hypotheses.parts, self.hash
        pairs = list(url.parts)
        if url.host != self.host:
            pairs.append(("host", url.host))
        if url.scheme != self.scheme:
            pairs.append(("scheme", url.scheme))
        for name, _ in pairs:
            if name not in parts and is_given(name):
                self.ensure_part(name)
        leaf = self.tree.leaf_for(url.segments)
        in_force = self.rules_for(leaf, url.host, pairs)
        active_rules = in_force if active_rules is None else active_rules
        rules = active_rules.pattern_of
        identity = hashed("path", *url.segments, url.rest)
        dropped: DroppedParts = []
        left: dict[str, tuple[PartHypotheses | None, str, int]] = {}
        part_hashes: dict[str, int] = {}
        for name, value in pairs:
            shift = part_hashes[name] = hashed(name, value)
            part = parts.get(name)
            if part is not None:
                default, irrelevant = part.values.get(value), part.irrelevant
                if default is not None and default in rules:
                    dropped.append((default, shift))
                    continue
                if irrelevant is not None and irrelevant in rules and (default is None or not leaf.refutes(default)):
                    dropped.append((irrelevant, shift))
                    continue
                if part.any_value is not None and part.any_value in rules:
                    dropped.append((part.any_value, shift - part.any_value.shift & compact.U64_MASK))
                    identity += part.any_value.shift
                    continue
            identity += shift
            left[name] = (part, value, shift)
        for joint in active_rules.joint:
            together = [left.pop(name)[2] for name in joint.names if name in left]
            if together:
                identity -= sum(together)
                dropped.append((joint, sum(together) & compact.U64_MASK))
        return NormalizedUrl(leaf, url.host, in_force, identity & compact.U64_MASK, dropped, left, part_hashes)

    def rules_for(self, leaf: PathPattern, host: str, pairs: Iterable[tuple[str, str]]) -> ActiveRules:
        """The rules in force at a leaf that a host has confirmed, with those for URLs that have certain parts."""
        if leaf.version != self.version:
            leaf.refresh(self.version)
        beside = leaf.rules_beside(pairs) if leaf.conditional else {}
        is_only_host = host == self.host and not self.hosts.is_counting
        if is_only_host and not beside:
            return leaf.rules
        key = " ".join([host, *(f"{h.number}@{at.name}" for h, at in beside.items())])
        found = leaf.rules_by_host.get(key)
        if found is None:
            every = {**leaf.rules.pattern_of, **beside}
            confirmed = (h for h, at in every.items() if h.is_initial or self.hosts.confirms(at, h, host))
            own = every if is_only_host else {h: every[h] for h in confirmed}
            found = leaf.rules if own == leaf.rules.pattern_of else ActiveRules(own)
            if len(leaf.rules_by_host) >= _MAX_HOSTS_PER_LEAF:
                leaf.rules_by_host.clear()
            leaf.rules_by_host[key] = found
        return found

    def observe_host(self, host: str) -> None:
        """Note that a page of a host was fetched: the second host ends the time in which the first spoke for all."""
        if host != self.host and not self.hosts.is_counting:
            patterns = self.tree.all_patterns
            self.hosts.begin(self.host, ((at, h, found) for at in patterns for h, found in at.evidence.items()))
            self.version += 1

    def count_for_host(self, pattern: PathPattern, hypothesis: Hypothesis, host: str, content: int | None) -> None:
        """Count a trial with a page of a host, None for a failure; what it no longer confirms is readmitted."""
        if not self.hosts.is_counting:
            return
        confirms, evidence = self.hosts.count(pattern, hypothesis, host, content), pattern.evidence.get(hypothesis)
        if confirms is None or evidence is None or not evidence.holds:
            return
        self.version += 1
        if not confirms:
            for leaf in self.chains:
                if pattern.covers(leaf):
                    self.readmit_by_rule(leaf, hypothesis)

    def ensure_part(self, name: str) -> PartHypotheses | None:
        """The part of this name, made if need be; None if the site has too many names already."""
        known = name in self.hypotheses.parts
        part = self.hypotheses.part(name)
        if not known and part is not None and part.irrelevant is not None and part.irrelevant.is_initial:
            evidence = self.tree.pattern(WHOLE_SITE).evidence[part.irrelevant]
            evidence.verified = _GIVEN_VERIFIED
            self.set_verdict(part.irrelevant, evidence, holds=True)
        return part

    def set_verdict(self, hypothesis: Hypothesis, evidence: Evidence, *, holds: bool) -> None:
        """Set the verdict on a hypothesis at the pattern of the evidence."""
        self.in_force[hypothesis] += holds - (evidence.holds is True)
        evidence.holds = holds
        self.version += 1

    def begin_test(self, url: str, leaf: PathPattern, hypotheses: Iterable[Hypothesis]) -> None:
        """Count a URL that is about to be fetched to test hypotheses, until its page is observed."""
        found = [pattern.evidence[hypothesis] for hypothesis in hypotheses for pattern in leaf.lineage]
        self.under_way[url] = self.fetched, found
        for evidence in found:
            evidence.under_way += 1

    def end_test(self, url: str) -> None:
        """Count a URL no more, if it was being fetched to test hypotheses; nor the oldest, if that was long ago."""
        ended = [url]
        for oldest, (begun, _) in islice(self.under_way.items(), 1):
            if begun < self.fetched - _TEST_LASTS:
                ended.append(oldest)
        for test in ended:
            if test in self.under_way:
                for evidence in self.under_way.pop(test)[1]:
                    evidence.under_way -= 1

    def doubtful_counts(self) -> tuple[int, int]:
        """How many rules in force are plausibly wrong for some pages, and how many parts they are about.

        There is one rule per part and pattern, values included; each ending of paths counts as a part.
        """
        if self._doubtful[0] != self.version:
            doubtful: dict[tuple[str, ...], int] = {}
            for hypothesis, patterns in self.in_force.items():
                if not self.hypotheses.is_low_risk(hypothesis):
                    doubtful[hypothesis.names] = max(patterns, doubtful.get(hypothesis.names, 0))
            flags = [h for h, at in self.in_force.items() if at and h.names[0] in FLAG_PARTS]
            parts = sum(at > 0 and names[0] not in FLAG_PARTS for names, at in doubtful.items())
            self._doubtful = self.version, (sum(doubtful.values()), parts + len(flags))
        return self._doubtful[1]

    def add_hint(self, url: UrlParts, same_as: UrlParts) -> None:
        """Suppose that two URLs of one path lead to one page: up to three parts where they differ may be irrelevant."""
        if (url.segments, url.rest) != (same_as.segments, same_as.rest):
            return
        mine, theirs = self.normalize(url).part_hashes, self.normalize(same_as).part_hashes
        names = sorted(name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name))
        hinted = self.hypotheses.hinted
        if not 1 <= len(names) <= _MAX_DIFFERING or len(hinted) >= MAX_HINTED:
            return
        parts = [self.ensure_part(name) for name in names]
        found = [part.irrelevant for part in parts if part is not None]
        if len(names) > 1 and None not in parts:
            found.append(self.hypotheses.joint_hypothesis(tuple(names)))
        hinted.update(h for h in found if h is not None)

    def part_tag_of(self, url: NormalizedUrl, hypothesis: Hypothesis) -> int:
        """The tag of what a URL has of the parts that a hypothesis is about; 0 if it has none of them."""
        part_hashes = [url.part_hashes[name] for name in hypothesis.names if name in url.part_hashes]
        if hypothesis.any_value:
            return part_tag(sum(part_hashes) - hypothesis.shift) if part_hashes else 0
        return self.coarsen_tag(hypothesis, part_tag(sum(part_hashes))) or 0 if part_hashes else 0

    def differs_without(self, url: NormalizedUrl, rule: Hypothesis, content: int) -> bool:
        """Whether the page that lacks the part of which any value will do is known to differ from this content."""
        there = url.remaining.get(rule.names[0])
        bare = url.identity - (rule.shift if there is None else there[2]) & compact.U64_MASK
        entry = self.index.entry_at(url.rules, bare)
        return entry is not None and entry_content(entry) != content

    def is_tested(self, url: NormalizedUrl, rule: Hypothesis) -> bool:
        """Whether a page was fetched under a URL that has the same part as this one, which the rule drops from both.

        Where this one has no such part, whether the page was fetched without it to verify the rule.
        """
        key = url.identities_with_part.get(rule)
        if key is None:
            return self.tested.get(self.key_without(url, rule)) is not None
        return (self.tested.get(key) or self.index.entries.get(key)) is not None

    def key_without(self, url: NormalizedUrl, rule: Hypothesis) -> int:
        """The key at which it is noted that a page was fetched under a URL that has nothing of the rule's parts."""
        return url.identity + self.hash("without", str(rule.number)) & compact.U64_MASK

    def coarsen_tag(self, hypothesis: Hypothesis, tag: int | None) -> int | None:
        """A tag; for a random part 0 or 1, as no session id is special."""
        return min(tag, 1) if tag is not None and self.hypotheses.is_random(hypothesis) else tag

    def evidence_by_part(self) -> list[Evidence]:
        """Per part, the evidence on the hypothesis that was tried most often on the site."""
        best: dict[str, Evidence] = {}
        for hypothesis, evidence in self.tree.pattern(WHOLE_SITE).evidence.items():
            if not hypothesis.any_value and evidence.trials > best.setdefault(hypothesis.names[0], evidence).trials:
                best[hypothesis.names[0]] = evidence
        return list(best.values())

    def readmit_by_rule(self, leaf: PathPattern, rule: Hypothesis) -> None:
        """Readmit all URLs that a rule has skipped at a leaf."""
        chains = self.chains.get(leaf, {})
        for rules in [rules for rules in chains if rule in rules]:
            self.skips.readmit_chain(compact.BY_RULES, chains.pop(rules))

    def readmit_by_content(self, content: int) -> None:
        """Readmit all URLs that were skipped in favour of a content."""
        self.skips.readmit_chain(compact.BY_CONTENT, self.contents.latest_skip(content))

    def pop_readmitted(self) -> list[str]:
        """Take some of the readmitted URLs."""
        urls = self.skips.pop_readmitted()
        self.skipped -= len(urls)
        return urls
