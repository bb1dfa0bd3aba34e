"""The learner of URLs: which URLs lead only to known content."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b

from scrapy_simdedup.setting_checks import require_text
from scrapy_simdedup.urls.compact import KeyedHash
from scrapy_simdedup.urls.contradictions import correct, hold
from scrapy_simdedup.urls.decision import GO, UrlDecision, decide, is_early_test
from scrapy_simdedup.urls.evidence import LearnerThresholds
from scrapy_simdedup.urls.given import GivenRule, GivenRules
from scrapy_simdedup.urls.observing import ask_about_failure, learn, try_hypotheses
from scrapy_simdedup.urls.page_index import CONTENT_BITS, Look
from scrapy_simdedup.urls.parts import UrlParts, site_name, split_url
from scrapy_simdedup.urls.questions import FIRST_QUESTIONS, Question, Questions
from scrapy_simdedup.urls.rule_book import RuleBook
from scrapy_simdedup.urls.rules import RememberedRule, Rule, lasting_rules, recall, rules_of
from scrapy_simdedup.urls.sampling import SAMPLED, SAMPLED_LOW_RISK, draw_other_looks, draw_sample, unseen_bound
from scrapy_simdedup.urls.site import Site
from scrapy_simdedup.urls.trials import Observation

_MAX_EARLY_TESTS = 50
"""URLs of a site that are fetched before others to test the rules of an earlier crawl."""
_RELEARNED_BLOCKS = 8
"""Blocks of fetched URLs, 128 each, from which is learned again once a prefix was found."""


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
        *,
        checks: float = 0.0,
    ) -> None:
        """Start to learn.

        Args:
            seed: Decides which skips are verified; equal seeds and observations give equal decisions.
            key: Secret under the hashes, up to 64 bytes, so that no site can forge URLs that collide; None derives one
                from the seed, which is enough for tests only.
            site_of: Host → the name of its site; rules never cross sites. By default the registrable domain.
            rules: Rules from the first request on; see ``load_rules``.
            thresholds: How much evidence a rule needs, and how often it is verified; see ``LearnerThresholds``.
            checks: The requests that may be made to check the rules, as a share of the URLs that were skipped; see
                :meth:`questions` and :meth:`sample`. With 0 there are none, and statistics alone judge what speaks
                against a rule.
        """
        site_of("example.com")  # loads the list of suffixes now rather than within the crawl
        self._hash = KeyedHash(key or blake2b(str(seed).encode(), digest_size=16).digest())
        self._seed = seed
        self._site_of = site_of
        self._given = GivenRules(rules)
        self._thresholds = thresholds or LearnerThresholds()
        self._checks = checks
        self._asking: dict[str, Site] = {}
        self._sites: dict[str, Site] = {}
        self._remembered: dict[str, tuple[RememberedRule, ...]] = {}
        """Site of which no page was seen yet → its rules when the last crawl ended."""

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
        site, parts = self._known(url)
        return decide(site, parts, url, dry=dry) if site is not None and parts is not None else GO

    def is_early_test(self, url: str, found_on: str | None) -> bool:
        """Whether to fetch a URL before others, as it tests rules of an earlier crawl: said of a few URLs of a site.

        Args:
            url: The URL of a link.
            found_on: The URL of the page that has the link, which may not have been observed yet; None if not known.
        """
        site, parts = self._known(url)
        if site is None or parts is None or not site.recalled or len(site.hastened) >= _MAX_EARLY_TESTS:
            return False
        page = self._split(site, found_on) if found_on is not None else None
        return is_early_test(site, parts, page, url)

    def observe(
        self, url: str, content_id: str | None, *, checked: bool = False, erred: bool = False, renamed: bool = False
    ) -> list[str]:
        """Learn from a fetched page.

        Args:
            url: The URL that was asked for.
            content_id: Names the page's content, the same for near-duplicates; None if nothing is to be learned from
                the page (an error, a truncated page).
            checked: Whether the page showed this content twice, so that nothing is to be asked about it.
            erred: Whether it showed another one before, so that other pages of the site may have erred as well.
            renamed: Whether it says what it said before, though its content has another name by now, as it is nearer to
                another page. Then it did not err.

        Returns:
            Readmitted URLs, which were skipped and have to be fetched after all; ask :meth:`decide` about them again.

        Raises:
            TypeError: the URL is no text.
        """
        require_text(url, "url")
        parts = split_url(url, self._given)
        site = self._site(parts) if parts is not None else None
        if site is None or parts is None:
            return []
        site.end_test(url)
        content = self._hash("content", str(content_id)) >> 64 - CONTENT_BITS if content_id is not None else None
        if site.questions is not None and url in site.questions.open:
            site.fetched += 1
            self._take_answer(site, site.questions, url, content, renamed=renamed)
        elif content is not None:
            site.fetched += 1
            site.observe_host(parts.host)
            if checked and site.questions is not None:
                site.questions.sure.add(content)
                site.questions.were_told |= erred
            self._take_page(site, url, content, self._below_prefix(site, url, parts))
        if site.questions is not None and site.questions.open:
            self._asking[site.name] = site
        return site.pop_readmitted()

    def questions(self) -> list[Question]:
        """The URLs to fetch once more, whatever :meth:`decide` says, and to tell :meth:`observe` about.

        Two pages should be alike by a rule, and are not: with a second look at both it is known whether the rule is
        wrong or one of the pages was. Ask now and then, and when the crawl is idle, before :meth:`remaining`. Until
        the answer comes, the rule skips on; :meth:`remaining` gives up what was not answered.
        """
        found: list[Question] = []
        for name, site in list(self._asking.items()):
            if site.questions is None or not site.questions.open:
                del self._asking[name]
            else:
                first = min(FIRST_QUESTIONS, site.repeats)  # where a site has few repeats, little is to be saved
                share = self._checks * (1 - (SAMPLED_LOW_RISK if site.questions.know_errors else SAMPLED))
                found += site.questions.due(first + int(share * len(site.skips.urls)))
        return found

    def remaining(self) -> list[str]:
        """More readmitted URLs; ask when the crawl is idle, until there are none.

        A rule that is refuted may readmit more URLs than :meth:`observe` returns at once.
        """
        for site in self._sites.values():
            for held in site.questions.give_up() if site.questions is not None else ():
                self._take_page(site, *held, believed=True)
        return [url for site in self._sites.values() for url in site.pop_readmitted()]

    def sample(self) -> list[str]:
        """A random sample of the skipped URLs, to be fetched whatever :meth:`decide` says, before the crawl ends.

        Where the answers of a site err, it has a URL of each page that was fetched once: what came for the first URL of
        the page, and stands for all others, may be an error. Such URLs verify rules as well, so that few others are
        sampled there.

        Ask when the crawl is idle and :meth:`remaining` has nothing more, until there are none.
        """
        found: list[str] = []
        for site in self._sites.values() if self._checks > 0 else ():
            found += draw_other_looks(site)
            found += draw_sample(site, self._split)
        return found

    @property
    def unseen_bound(self) -> float | None:
        """The greatest share of the skipped URLs that may lead to content which was not fetched, with 95 % confidence.

        None if nothing was skipped. Each skip was checked with a probability of q at least, by a verification or in the
        :meth:`sample`; more than ``log(0.05) / log(1 - q)`` exceptions, about 3 / q, hardly all escape that (the rule
        of three: Hanley and Lippman-Hand 1983). Meaningful once the crawl is over.
        """
        return unseen_bound(self._sites.values())

    def hint(self, url: str, same_as: str) -> None:
        """Suppose that two URLs lead to one page, because of a rel=canonical, a redirect or a hreflang.

        The hypotheses that would explain it become rules after fewer trials, but not without trials.
        """
        require_text(url, "url")
        require_text(same_as, "same_as")
        parts, others = split_url(url, self._given), split_url(same_as, self._given)
        site = self._site(parts) if parts is not None else None
        if site is None or parts is None or others is None or self._site_of(others.host) != site.name:
            return
        site.add_hint(self._below_prefix(site, url, parts), self._below_prefix(site, same_as, others))

    def known_url(self, decision: UrlDecision) -> str | None:
        """The fetched URL whose content the URL of a decision leads to; None if there is none."""
        return None if decision.page is None else self._sites[decision.site].pages[decision.page]

    def rules(self) -> Iterator[Rule]:
        """All rules, in force or refuted, with their evidence, counter-examples and savings."""
        for site in self._sites.values():
            yield from rules_of(site)

    def recall(self, site: str, rules: Iterable[RememberedRule]) -> None:
        """Begin with the rules that a crawl before had found; call it before the first page of the site is observed.

        They are not in force. Each becomes a rule again once a few pages have confirmed it.

        Args:
            site: The name of the site, as in :attr:`sites`.
            rules: What :meth:`lasting_rules` of that crawl's learner said.
        """
        if site not in self._sites:
            self._remembered[site] = tuple(rules)

    def lasting_rules(self, site: str) -> tuple[RememberedRule, ...]:
        """The learned rules of a site for the next crawl to :meth:`recall`: none that was refuted."""
        found = self._sites.get(site)
        return lasting_rules(found) if found is not None else self._remembered.get(site, ())

    @property
    def sites(self) -> list[str]:
        """The names of the sites of all observed URLs."""
        return list(self._sites)

    def _known(self, url: str) -> tuple[Site | None, UrlParts | None]:
        """The site of a URL, if a page of it was seen, and the parts of the URL."""
        parts = split_url(url, self._given)
        site = self._sites.get(self._site_of(parts.host)) if parts is not None else None
        return site, parts if site is None or parts is None else self._below_prefix(site, url, parts)

    def _site(self, parts: UrlParts) -> Site | None:
        name = self._site_of(parts.host)
        site = self._sites.get(name)
        if site is None and len(self._sites) < self._thresholds.max_sites:
            site = Site(parts, name, self._hash, self._seed, thresholds=self._thresholds, checks=self._checks)
            self._sites[name] = site
            recall(site, self._remembered.pop(name, ()))
        return site

    def _split(self, site: Site, url: str) -> UrlParts | None:
        """Take a URL of a site apart, with the prefixes that were found there."""
        parts = split_url(url, self._given)
        return None if parts is None else self._below_prefix(site, url, parts)

    def _below_prefix(self, site: Site, url: str, parts: UrlParts) -> UrlParts:
        """The parts of a URL with its prefix, if it has one that was found on the site."""
        prefixes = site.prefixes.adopted
        if not prefixes or not parts.segments or parts.segments[0] not in prefixes:
            return parts
        return split_url(url, self._given, prefixes) or parts

    def _observation(self, site: Site, url: str, content: int, parts: UrlParts | None = None) -> Observation | None:
        if parts is None:
            parts = self._split(site, url)
        if parts is None:
            return None
        return Observation(site, site.normalize(parts), parts, url, content)

    def _take_page(
        self, site: Site, url: str, content: int, parts: UrlParts | None = None, *, believed: bool = False
    ) -> None:
        """Learn from a page, unless it is held until a question about it is answered."""
        if site.is_full:
            return
        seen = self._observation(site, url, content, parts)
        if seen is None or (not believed and site.asks is not None and hold(seen, site.asks)):
            return
        is_unexplained, look = learn(seen), Look(url, seen.parts)
        site.shared.found(content, look)
        wants_prefix = is_unexplained and site.prefixes.wants(seen.parts)
        may_be_shared = is_unexplained and site.asks is not None and content not in site.shared
        if not wants_prefix and not may_be_shared:
            return
        known_url = site.pages[site.contents.first_page(content)]
        known = self._split(site, known_url)
        if known is None:
            return
        if may_be_shared and site.shared.are_unrelated(known, seen.parts):
            site.shared.share(content, Look(known_url, known), look)
            if site.shared.is_doubtful(content, known):
                site.readmit_by_content(content)
        if wants_prefix:
            self._look_for_prefix(seen, Look(known_url, known))

    def _look_for_prefix(self, seen: Observation, known: Look) -> None:
        """Compare the URL of a repeat with that of the first page of its content: it may be the same below a prefix."""
        site, prefixes = seen.site, seen.site.prefixes
        prefix = prefixes.candidate(seen.parts, known.parts)
        if prefix is None:
            return
        is_longer = len(seen.parts.segments) > len(known.parts.segments)
        longer, shorter = (seen.url, known.parts) if is_longer else (known.url, seen.parts)
        behind = split_url(longer, self._given, prefixes.adopted | {prefix})
        if behind is not None and prefixes.is_proven(prefix, behind, shorter, seen.content):
            self._adopt_prefix(site, prefix)

    def _adopt_prefix(self, site: Site, prefix: str) -> None:
        """Take a first segment for a prefix, and learn from the latest pages below it what they tell of it."""
        latest = range(max(0, len(site.pages.blocks) - _RELEARNED_BLOCKS), len(site.pages.blocks) + 1)
        urls = [url for number in latest for url in site.pages.block(number) if f"/{prefix}/" in url.lower()]
        below = [(url, parts) for url in urls if (parts := self._split(site, url)) is not None]
        site.prefixes.adopt(prefix)
        for url, parts in below:
            before = site.normalize(parts)
            known = site.index.find(before, before.rules) if parts.segments[:1] == (prefix,) else None
            seen = self._observation(site, url, known.content) if known is not None and not known.ambiguous else None
            if seen is not None and site.index.find(seen.page, seen.page.rules) is None:
                try_hypotheses(seen)

    def _take_answer(self, site: Site, questions: Questions, url: str, content: int | None, *, renamed: bool) -> None:
        inquiry, contents = questions.open[url], site.contents
        is_held = any(held.url == url for held in inquiry.held)  # so that nothing was learned from it
        was_known = contents.is_known(inquiry.first) and (is_held or not contents.seen_once(inquiry.first))
        # An error that many pages show is found at unrelated ones.
        is_known = content is not None and contents.is_known(content) and content not in site.shared
        found = questions.answer(url, content, is_known=is_known, was_known=was_known, renamed=renamed)
        if found is None:
            return
        if found.wrong is None and found.content in questions.odd:
            questions.odd.remove(found.content)
            site.noise.proven_count += 1
        if found.wrong is not None:
            seen = None if is_held else self._observation(site, url, found.content)
            if seen is not None:
                correct(seen, found.wrong)
                site.readmit_by_content(found.wrong)
            if not renamed:
                site.shared.was_error(found.wrong, url)
            if questions.is_common_error(found.wrong):
                contents.errors.add(found.wrong)
            rule_book = RuleBook(site)
            for failure in questions.failures_with(found.wrong):
                if questions.forget(failure):
                    rule_book.withdraw_failure(failure.leaf, failure.hypothesis, erred=True)
        for failure in inquiry.failures if found.wrong is None else ():
            ask_about_failure(site, questions, failure)
        for held in inquiry.held:
            self._take_page(site, held.url, found.content if held.url == url else held.content)
