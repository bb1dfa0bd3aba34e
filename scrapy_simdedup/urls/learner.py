"""The learner of URLs: which URLs lead only to known content."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from scrapy_simdedup.setting_checks import require_text
from scrapy_simdedup.urls.compact import KeyedHash
from scrapy_simdedup.urls.decision import GO, UrlDecision, decide
from scrapy_simdedup.urls.evidence import LearnerThresholds
from scrapy_simdedup.urls.given import GivenRule, GivenRules
from scrapy_simdedup.urls.hosts import site_name
from scrapy_simdedup.urls.observing import Observation, learn
from scrapy_simdedup.urls.page_index import CONTENT_BITS
from scrapy_simdedup.urls.parts import UrlParts, split_url
from scrapy_simdedup.urls.rule_book import RuleBook
from scrapy_simdedup.urls.rules import Rule, rules_of
from scrapy_simdedup.urls.site import Site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class UrlLearner:
    """Finds out during a crawl which parts of a URL do not change the content, and which URLs need not be fetched.

    Ask :meth:`decide` before a fetch and tell :meth:`observe` after it. Nothing is learned about one site from another.

    >>> learner = UrlLearner(seed=1)
    >>> learner.observe("https://example.com/story?id=1", "content A")
    []
    >>> learner.decide("https://example.com/story?id=1&gclid=x").skip  # a tracking parameter: known from the start
    True
    """

    def __init__(
        self,
        seed: int = 0,
        key: bytes | None = None,
        site_of: Callable[[str], str] = site_name,
        rules: Iterable[GivenRule] = (),
        thresholds: LearnerThresholds | None = None,
    ) -> None:
        """Start to learn.

        Args:
            seed: Decides which skips are verified; equal seeds and observations give equal decisions.
            key: Secret under the hashes, up to 64 bytes, so that no site can forge URLs that collide; None derives one
                from the seed, which is enough for tests only.
            site_of: Host → the name of its site; rules never cross sites. By default the registrable domain.
            rules: Rules from the first request on; see ``load_rules``.
            thresholds: How much evidence a rule needs, and how often it is verified; see ``LearnerThresholds``.
        """
        site_of("example.com")  # loads the list of suffixes now rather than within the crawl
        self._hash = KeyedHash(key or blake2b(str(seed).encode(), digest_size=16).digest())
        self._seed = seed
        self._site_of = site_of
        self._given = GivenRules(rules)
        self._thresholds = thresholds or LearnerThresholds()
        self._sites: dict[str, Site] = {}

    def decide(self, url: str, *, dry: bool = False) -> UrlDecision:
        """Advise whether to fetch a URL.

        Args:
            url: The URL that the crawl wants to fetch.
            dry: The URL will be fetched in any case. Otherwise a skip is logged, to be readmitted by :meth:`observe` if
                its rule is refuted.

        Raises:
            TypeError: the URL is no text.
        """
        require_text(url, "url")
        parts = split_url(url, self._given)
        site = self._sites.get(self._site_of(parts.host)) if parts is not None else None
        return decide(site, parts, url, self._thresholds, dry=dry) if site is not None and parts is not None else GO

    def observe(self, url: str, content_id: str | None) -> list[str]:
        """Learn from a fetched page.

        Args:
            url: The URL that was asked for.
            content_id: Names the page's content, the same for near-duplicates; None if nothing is to be learned from
                the page (an error, a truncated page).

        Returns:
            Readmitted URLs, which were skipped and have to be fetched after all; ask :meth:`decide` about them again.

        Raises:
            TypeError: the URL is no text.
        """
        require_text(url, "url")
        parts = split_url(url, self._given) if content_id is not None else None
        site = self._site(parts) if parts is not None else None
        if site is None or parts is None:
            return []
        site.fetched += 1
        site.observe_host(parts.host)
        if not site.is_full(self._thresholds.max_urls):
            content = self._hash("content", str(content_id)) >> 64 - CONTENT_BITS
            learn(Observation(site, RuleBook(site, self._thresholds), site.normalize(parts), parts, url, content))
        return site.pop_readmitted()

    def remaining(self) -> list[str]:
        """More readmitted URLs; ask when the crawl is idle, until there are none.

        A rule that is refuted may readmit more URLs than :meth:`observe` returns at once.
        """
        return [url for site in self._sites.values() for url in site.pop_readmitted()]

    def hint(self, url: str, same_as: str) -> None:
        """Suppose that two URLs lead to one page, because of a rel=canonical, a redirect or a hreflang.

        The hypotheses that would explain it become rules after fewer trials, but not without trials.
        """
        require_text(url, "url")
        require_text(same_as, "same_as")
        parts, others = split_url(url, self._given), split_url(same_as, self._given)
        site = self._site(parts) if parts is not None else None
        if site is not None and parts is not None and others is not None and self._site_of(others.host) == site.name:
            site.add_hint(parts, others)

    def known_url(self, decision: UrlDecision) -> str | None:
        """The fetched URL whose content the URL of a decision leads to; None if there is none."""
        return None if decision.page is None else self._sites[decision.site].pages[decision.page]

    def rules(self) -> Iterator[Rule]:
        """All rules, in force or refuted, with their evidence, counter-examples and savings."""
        for site in self._sites.values():
            yield from rules_of(site)

    @property
    def sites(self) -> list[str]:
        """The names of the sites of all observed URLs."""
        return list(self._sites)

    def _site(self, parts: UrlParts) -> Site | None:
        name = self._site_of(parts.host)
        site = self._sites.get(name)
        if site is None and len(self._sites) < self._thresholds.max_sites:
            site = self._sites[name] = Site(name, parts.scheme, parts.host, self._hash, self._seed)
        return site
