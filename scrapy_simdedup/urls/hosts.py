"""The hosts of a site, which is a registrable domain: its name, and what each host has confirmed.

What one host teaches is no rule on another, until that one has confirmed it. Whoever has a host of a site could teach
rules about the others: with pages that ignore their ``id`` on one host, all articles of another would be skipped. The
trials of each host are counted beside those of the site, once there is more than one host.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, lru_cache

from tldextract import TLDExtract

from scrapy_simdedup.urls.evidence import Evidence
from scrapy_simdedup.urls.hypotheses import Hypothesis
from scrapy_simdedup.urls.page_index import ContentCounters
from scrapy_simdedup.urls.patterns import PathPattern

MIN_CONTENTS = 4
"""Different contents of its own with which a host must have confirmed a rule of the site."""
TO_CONFIRM, TO_KEEP = 8, 4
"""Successes of a host that outweigh one failure, before it confirmed a rule and after: fingerprints err at times."""
MAX_REMEMBERED = 8
"""Contents of a host that are remembered per rule, so that each is counted once."""
MAX_TRIALS = 50_000
"""Patterns, hypotheses and hosts of a site whose trials are counted, some 350 bytes each; beyond, the one that was
tried longest ago is forgotten, and has to be confirmed anew."""
_FULL_STOPS = str.maketrans("\u3002\uff0e\uff61", "...")
"""Other characters than the dot that separate the labels of a host (RFC 3490, section 3.1)."""


@lru_cache(maxsize=10_000)
def registrable_domain(host: str) -> str:
    """The registrable domain of a host; the host itself if it has none, as IP addresses and bare suffixes.

    >>> registrable_domain("www.shop.example.co.uk"), registrable_domain("alice.github.io"), registrable_domain("::1")
    ('example.co.uk', 'alice.github.io', '::1')
    """
    rules, labels = _public_suffixes(), host.translate(_FULL_STOPS).rstrip(".").split(".")
    for at in range(len(labels)):
        name, rest = ".".join(labels[at:]).lower(), ".".join(labels[at + 1 :]).lower()
        if f"!{name}" in rules:  # an exception to a wildcard rule
            return ".".join(labels[at:])
        if name in rules or f"*.{rest}" in rules:
            return ".".join(labels[at - 1 :]) if at and labels[at - 1] else host
    return host


def site_name(netloc: str) -> str:
    """The registrable domain of a host that may have a port after it, and a user before it.

    >>> site_name("www.example.com"), site_name("user@127.0.0.1:8080"), site_name("[::1]:8080")
    ('example.com', '127.0.0.1', '[::1]')
    """
    netloc = netloc.rpartition("@")[2]
    return registrable_domain(netloc if netloc.endswith("]") else netloc.rsplit(":", 1)[0])


@cache
def _public_suffixes() -> frozenset[str]:
    """The Public Suffix List as packaged with tldextract: nothing reaches the network or the disk.

    Private suffixes count, so that the users of a host such as github.io are sites of their own and cannot displace
    each other's pages. tldextract itself would keep trees of 17,000 nodes, which the garbage collector visits again
    and again while a crawl runs; a set of texts it skips.
    """
    extract = TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)
    return frozenset(form for rule in extract.tlds for form in (rule, _ascii(rule)))


def _ascii(rule: str) -> str:
    """A rule with its labels in Punycode (RFC 3492), as requests send them."""
    labels = rule.split(".")
    return ".".join(label if label.isascii() else f"xn--{label.encode('punycode').decode()}" for label in labels)


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
    """The trials by host. While a site has one host, that one has confirmed whatever is known, and none are counted.

    Contents that are stubs confirm nothing.
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
        return sum(not self._contents.is_stub_content(content) for content in trials.contents) >= MIN_CONTENTS

    def successes(self, pattern: PathPattern, hypothesis: Hypothesis, host: str) -> int:
        """The successful trials with pages of a host."""
        trials = self._trials.get((pattern, hypothesis, host))
        return 0 if trials is None else trials.same

    def _put(self, key: tuple[PathPattern, Hypothesis, str], trials: _Trials) -> None:
        self._trials[key] = trials
        if len(self._trials) > MAX_TRIALS:
            del self._trials[next(iter(self._trials))]
