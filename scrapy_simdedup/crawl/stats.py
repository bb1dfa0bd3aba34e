"""Every counter of the plugin, for the crawl and for each of its sites."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import cast

from scrapy.statscollectors import StatsCollector

from scrapy_simdedup.detect.verdict import Verdict
from scrapy_simdedup.display import plural
from scrapy_simdedup.unjudged import UNJUDGED, UnjudgedReason

PREFIX = "simdedup/"
"""How the names begin in Scrapy's stats."""
JUDGED_KINDS = ("new", "identical", "near", "unchanged", "changed", "stub")
"""The kinds of verdict of pages that could be judged, in the order of the summary."""
KEPT_REASONS = frozenset({"no_item_yet", "for_links", "other_callback", "within_budget", "own_text"})
"""Why pages are kept that would be dropped, if the crawl had got from others what it may get from them, or if others
said all that they say."""
MAX_SHOWN_NEAR = 3
"""Near pages that the summary names: those with the highest similarity."""
FIGURES = ("pages", "judged", "near", "stub", "dropped", "bytes_dropped", "released", "unjudged")
"""What is counted of the pages of each site; those of a verdict have its name."""
REPEATED_LIMIT = 10_000
"""Originals whose repeats are counted at a time; beyond, the rarest half is forgotten."""
MAX_SITES = 10_000
"""Sites that are counted at a time; beyond, the half with the fewest pages is forgotten."""
MAX_SHOWN = 20
"""Sites whose figures are given at the end, those with the most pages."""
MIN_UNJUDGED, MIN_UNJUDGED_SHARE = 10, 0.5
"""How many pages of a site must be unjudged for one reason, and the share of its pages that these must exceed, before
the summary warns."""
MAX_WARNINGS = 5
"""Sites that the summary warns of by their names."""


class FiguresBySite:
    """Counts the pages of each site: :data:`FIGURES`, and the reasons of the unjudged ones."""

    def __init__(self) -> None:
        self._sites: dict[str, Counter[str]] = {}

    def count_page(self, site: str, *figures: str) -> None:
        """Count a page with its figures; ``site`` is empty where it is not known."""
        if site:
            if len(self._sites) >= MAX_SITES and site not in self._sites:
                self._sites = self._largest(MAX_SITES // 2)
            counts = self._sites.get(site) or self._sites.setdefault(site, Counter())
            for figure in ("pages", *figures):
                counts[figure] += 1

    def add(self, site: str, figure: str, amount: int = 1) -> None:
        """Add to a figure for a page that was counted; items have sites of their own, which are not known here."""
        if site in self._sites:
            self._sites[site][figure] += amount

    def largest(self) -> dict[str, dict[str, int]]:
        """The figures of the sites with the most pages, these first, as plain values."""
        return {site: {name: counts[name] for name in FIGURES} for site, counts in self._largest(MAX_SHOWN).items()}

    def warnings(self) -> list[str]:
        """A sentence on each site of whose pages most are unjudged for one reason, those with the most pages first."""
        found = [
            (counts[reason], _warning(site, reason, counts[reason], counts["pages"]))
            for site, counts in self._sites.items()
            for reason in UNJUDGED
            if counts[reason] >= MIN_UNJUDGED and counts[reason] > MIN_UNJUDGED_SHARE * counts["pages"]
        ]
        found.sort(key=lambda warning: -warning[0])
        more = len(found) - MAX_WARNINGS
        rest = [f"so are most pages of {plural(more, 'more site')}"] if more > 0 else []
        return [sentence for _, sentence in found[:MAX_WARNINGS]] + rest

    def _largest(self, number: int) -> dict[str, Counter[str]]:
        return dict(heapq.nlargest(number, self._sites.items(), key=lambda item: item[1]["pages"]))


def _warning(site: str, reason: UnjudgedReason, count: int, pages: int) -> str:
    implied = UNJUDGED[reason]
    remedy = f"; {implied.remedy}" if implied.remedy else ""
    return f"{count:,} of {plural(pages, 'page')} of {site} are unjudged ({reason}): each {implied.meaning}{remedy}"


def _method(stats: StatsCollector, name: str) -> Callable[..., None]:
    """A method of a collector itself; one of Scrapy gives a function around it, which takes five times as long."""
    method = getattr(type(stats), name, None)
    given: Callable[..., None] = getattr(stats, name)
    return given if method is None or name in getattr(stats, "__dict__", ()) else partial(method, stats)


class CrawlStats:
    """Counts what the plugin does, in Scrapy's stats, and keeps the counts for the summary beside them.

    What no method counts is counted where it happens, by :meth:`increment`. A new counter gets a line in
    docs/reference/stats.md. The stats of Scrapy may be of a class that keeps nothing.
    """

    def __init__(self, stats: StatsCollector) -> None:
        names = "inc_value", "set_value", "max_value"
        self._inc_value, self._set_value, self._max_value = (_method(stats, name) for name in names)
        self._counts: Counter[str] = Counter()
        self.extract_seconds: float = 0.0
        """Seconds of reading and fingerprinting, of all pages."""
        self._longest_seconds = -1.0
        self.links_bound: float = 0.0
        """The greatest bound of links that were left."""
        self.unseen_bound: float = 1.0
        """The greatest share of the skipped URLs that leads to content which was not fetched."""
        self.repeated: Counter[str] = Counter()
        """Dropped pages by the URL of their original, those of the page itself in an earlier run left out."""
        self.near_kept: int = 0
        self.most_near: list[tuple[float, str, str]] = []
        """The near pages that were kept and are most like another: the similarity, the page's URL, and the other's."""
        self.sites: FiguresBySite = FiguresBySite()
        self.kept_urls: dict[str, str] = {}
        """A request that could not be skipped, for each reason that says more than its name."""

    def __getitem__(self, name: str) -> int:
        """A count by its name without the prefix, such as ``pages/dropped``."""
        return self._counts[name]

    def increment(self, name: str, value: str = "", *, amount: int = 1) -> None:
        """Count.

        Names are written without the prefix. ``value`` takes the place of what varies in one: a reason, say, which
        stands at its end in angle brackets.
        """
        name = name.partition("<")[0] + value
        self._counts[name] += amount
        self._inc_value(PREFIX + name, amount)

    def _set(self, name: str, value: float | dict[str, dict[str, int]]) -> None:
        self._set_value(PREFIX + name, value)

    def _raise(self, name: str, value: float) -> None:
        self._max_value(PREFIX + name, value)

    def judged(self, verdict: Verdict, site: str = "") -> None:
        """A page of a site got its verdict."""
        if verdict.kind == "unjudged":
            self.not_judged(cast("UnjudgedReason", verdict.reason or "unknown"), site)
            return
        self.sites.count_page(site, "judged", verdict.kind)
        self.increment("pages/judged")
        self.increment("pages/<kind>", verdict.kind)
        if verdict.similarity is not None and verdict.kind in {"identical", "near", "changed"}:
            # Buckets of 0.01, wide enough to stay few and fine enough to see both thresholds.
            self.increment("similarity_count/<similarity>", f"{int(verdict.similarity * 100) / 100:.2f}")
        if verdict.supersedes is not None:
            self.increment("pages/preferred")
        for change, count in (verdict.unit_changes or {}).items():
            self.increment("units/<change>", change, amount=count)
        if verdict.kind in {"unchanged", "changed"} and verdict.unit_changes is None:
            self.increment("pages/revisited_by_similarity")
        if verdict.reason in KEPT_REASONS and not verdict.is_duplicate:
            self.increment("pages/kept_reason_count/<reason>", verdict.reason)
        if not verdict.is_duplicate:
            if verdict.kind == "identical" and verdict.reason is None:
                self.increment("pages/kept_reason_count/<reason>", "own_url")
            elif verdict.kind == "near" and verdict.page is not None:
                self.near_kept += 1
                pair = verdict.similarity or 0.0, verdict.page.url, verdict.original or ""
                self.most_near = heapq.nlargest(MAX_SHOWN_NEAR, [*self.most_near, pair])
        if verdict.kind != "unchanged" and verdict.is_duplicate and verdict.original is not None:
            self.repeated[verdict.original] += 1
            if len(self.repeated) > REPEATED_LIMIT:
                self.repeated = Counter(dict(self.repeated.most_common(REPEATED_LIMIT // 2)))

    def not_judged(self, reason: UnjudgedReason, site: str = "") -> None:
        """A page is kept without a verdict; ``site`` is empty where a reason says nothing about the site."""
        self.sites.count_page(site, "unjudged", reason)
        self.increment("pages/unjudged")
        self.increment("pages/unjudged_reason_count/<reason>", reason)

    def page_dropped(self, size: int, site: str = "", *, other_headline: bool = False, observed: bool = False) -> None:
        """A page of ``size`` bytes was dropped, or its items will be, maybe for one with another headline.

        Where pages are only ``observed``, it would have been.
        """
        self.sites.add(site, "dropped")
        self.sites.add(site, "bytes_dropped", size)
        if observed:
            self.increment("pages/would_drop")
            self.increment("bytes_would_drop", amount=size)
        else:
            self.increment("pages/dropped")
            self.increment("bytes_dropped", amount=size)
        if other_headline:
            self.increment("pages/dropped_other_headline")

    def extracted(self, seconds: float) -> None:
        """Reading and fingerprinting a page took ``seconds``."""
        self.extract_seconds += seconds
        self._set("extract_seconds", self.extract_seconds)
        if seconds > self._longest_seconds:
            self._longest_seconds = seconds
            self._raise("extract_seconds_max", seconds)

    def settled(self, failure: str | None, site: str = "", *, gave_item: bool = True) -> None:
        """A page was confirmed (None), with an item or without, or released for a reason."""
        if failure is None:
            self.increment("confirmed")
            if not gave_item:
                self.increment("itemless")
        else:
            self.sites.add(site, "released")
            self.increment("released")
            self.increment("released_reason_count/<reason>", failure)

    def link_left(self, bound: float) -> None:
        """A deferred link is not followed, as at most the share ``bound`` of links like it lead to new content."""
        self.increment("links/left")
        self.links_bound = max(self.links_bound, bound)
        self._raise("links/bound_max", bound)

    def url_kept(self, reason: str, example: str = "") -> None:
        """A request that could have been skipped was made, for a reason, of which ``example`` says more."""
        self.increment("urls/kept_reason_count/<reason>", reason)
        if example:
            self.kept_urls.setdefault(reason, example)

    def urls_closed(self, rules: int, unseen_bound: float | None) -> None:
        """The crawl is over, with so many rules about URLs in force.

        At most the share ``unseen_bound`` of the skipped URLs leads to content that was not fetched.
        """
        self._set("urls/rules", rules)
        self.unseen_bound = unseen_bound if unseen_bound is not None else 1.0
        if unseen_bound is not None:
            self._set("urls/unseen_bound", unseen_bound)
        if self["urls/skipped"]:
            self._set("urls/bytes_saved", self.fetched_bytes_saved)

    def sites_closed(self) -> dict[str, dict[str, int]]:
        """The crawl is over; the figures of the sites with the most pages become a stat, and are returned."""
        figures = self.sites.largest()
        if figures:
            self._set("sites", figures)
        return figures

    @property
    def kinds(self) -> dict[str, int]:
        """Pages by the kind of their verdict, without kinds that no page has."""
        return {kind: self[f"pages/{kind}"] for kind in (*JUDGED_KINDS, "unjudged") if self[f"pages/{kind}"]}

    @property
    def unjudged(self) -> Counter[str]:
        """Pages that were kept without a verdict, by reason."""
        return self.by_reason("pages/unjudged_reason_count/")

    def by_reason(self, start: str) -> Counter[str]:
        """Counts whose names begin with ``start``, by the rest of the name."""
        return Counter({name[len(start) :]: count for name, count in self._counts.items() if name.startswith(start)})

    @property
    def dropped(self) -> int:
        """Pages that were dropped, or would have been in observe mode."""
        return self["pages/dropped"] + self["pages/would_drop"]

    @property
    def dropped_bytes(self) -> int:
        """Bytes of the pages that were dropped, or would have been in observe mode."""
        return self["bytes_dropped"] + self["bytes_would_drop"]

    @property
    def fetches_saved(self) -> int:
        """Requests that were skipped, without those that were made after all, and without second looks."""
        return max(0, self["urls/skipped"] - self["urls/readmitted"] - self["urls/asked"])

    @property
    def fetched_bytes_saved(self) -> int:
        """An estimate of the bytes of the fetches that were saved: each as many as the average dropped page."""
        return round(self.fetches_saved * self.dropped_bytes / self.dropped) if self.dropped else 0
