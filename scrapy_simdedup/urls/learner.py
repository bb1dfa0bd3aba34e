"""The learner: which URLs lead only to known content."""

from __future__ import annotations

from collections import deque
from hashlib import blake2b
from typing import TYPE_CHECKING

from scrapy_simdedup.urls.caution import Caution
from scrapy_simdedup.urls.decision import GO, Decision, decide
from scrapy_simdedup.urls.given import GivenRule, GivenRules
from scrapy_simdedup.urls.keyed import KeyedHash
from scrapy_simdedup.urls.observing import Observation
from scrapy_simdedup.urls.page_index import CONTENT_BITS
from scrapy_simdedup.urls.parts import UrlParts, split_url
from scrapy_simdedup.urls.rules import Rule, RuleChange, rules_of
from scrapy_simdedup.urls.site import Site
from scrapy_simdedup.urls.site_names import site_name
from scrapy_simdedup.urls.state import site_from_bytes, site_to_bytes
from scrapy_simdedup.urls.verdicts import Verdicts

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
        caution: Caution | None = None,
    ) -> None:
        """Start to learn.

        Args:
            seed: Decides which skips are verified; equal seeds and observations give equal decisions.
            key: Secret under the hashes, up to 64 bytes, so that no site can forge URLs that collide; None derives one
                from the seed, which is enough for tests only.
            site_of: Host → the name of its site; rules never cross sites. By default the registrable domain.
            rules: Rules from the first request on; see ``load_rules``.
            caution: Thresholds.
        """
        site_of("example.com")  # loads the list of suffixes now rather than within the crawl
        self._hash = KeyedHash(key or blake2b(str(seed).encode(), digest_size=16).digest())
        self._seed = seed
        self._site_of = site_of
        self._given = GivenRules(rules)
        self._caution = caution or Caution()
        self._sites: dict[str, Site] = {}
        self.changes: deque[RuleChange] = deque(maxlen=1000)
        """The latest rules that came into force or fell."""

    def decide(self, url: str, *, dry: bool = False) -> Decision:
        """Advise whether to fetch a URL.

        Args:
            url: What the crawl wants to fetch.
            dry: The URL will be fetched in any case. Otherwise a skip is logged, to be given back by :meth:`observe` if
                its rule falls.
        """
        parts = split_url(url, self._given)
        site = self._sites.get(self._site_of(parts.host)) if parts is not None else None
        return decide(site, parts, url, self._caution, dry=dry) if site is not None and parts is not None else GO

    def observe(self, url: str, content_id: str | None) -> list[str]:
        """Learn from a fetched page.

        Args:
            url: The URL that was asked for.
            content_id: Names the page's content, the same for pages that are near-duplicates; None if the page is not
                to be learned from (an error, a cut page).

        Returns:
            URLs that were skipped and have to be fetched after all; ask :meth:`decide` about them again.
        """
        parts = split_url(url, self._given) if content_id is not None else None
        site = self._site(parts) if parts is not None else None
        if site is None or parts is None:
            return []
        site.fetched += 1
        if not site.is_full(self._caution.max_urls):
            content = self._hash("content", str(content_id)) >> 64 - CONTENT_BITS
            verdicts = Verdicts(site, self._caution, self.changes)
            Observation(site, site.read(parts), url, content, verdicts).learn()
        return site.take_back()

    def remaining(self) -> list[str]:
        """More URLs to be fetched after all; ask when the crawl is idle, until there are none.

        A rule that falls may give back more URLs than :meth:`observe` returns at once.
        """
        return [url for site in self._sites.values() for url in site.take_back()]

    def hint(self, url: str, same_as: str) -> None:
        """Take note that a page claims to be another one: a rel=canonical, a redirect, a hreflang.

        It is believed no more than any guess, but needs fewer trials.
        """
        parts, others = split_url(url, self._given), split_url(same_as, self._given)
        site = self._site(parts) if parts is not None else None
        if site is not None and parts is not None and others is not None and self._site_of(others.host) == site.name:
            site.take_hint(parts, others)

    def known_url(self, decision: Decision) -> str | None:
        """The fetched URL whose content a URL was found to lead to."""
        return None if decision.page is None else self._sites[decision.site].pages[decision.page]

    def rules(self) -> Iterator[Rule]:
        """All rules, in force or refuted, with their evidence, counter-examples and savings."""
        for site in self._sites.values():
            yield from rules_of(site)

    # ------------------------------------------------------------------ what outlives the process

    @property
    def sites(self) -> list[str]:
        """The sites there is something to store of."""
        return list(self._sites)

    def dump(self, site: str) -> bytes:
        """All that is known of a site, skipped URLs included. One at a time, as it takes a second per million URLs."""
        return site_to_bytes(self._sites[site])

    def load(self, dumped: bytes) -> None:
        """Go on with what a learner with the same key and seed has dumped.

        Raises:
            ValueError: the bytes are no dump, or one made with another key.
        """
        site = site_from_bytes(dumped, self._hash)
        self._sites[site.name] = site

    def _site(self, parts: UrlParts) -> Site | None:
        name = self._site_of(parts.host)
        site = self._sites.get(name)
        if site is None and len(self._sites) < self._caution.max_sites:
            site = self._sites[name] = Site(name, parts.scheme, parts.host, self._hash)
            site.chance.state ^= self._seed
        return site
