"""Every counter of the plugin, and the summary in the log at close."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, cast

from scrapy_simdedup.crawl.site_figures import FiguresBySite
from scrapy_simdedup.display import format_bytes, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.statscollectors import StatsCollector

    from scrapy_simdedup.detect.verdict import Verdict
    from scrapy_simdedup.fingerprint.structure import Change
    from scrapy_simdedup.unjudged import UnjudgedReason
    from scrapy_simdedup.urls import Rule

PREFIX = "simdedup/"
"""How the names begin in Scrapy's stats."""
JUDGED_KINDS = ("new", "identical", "near", "unchanged", "changed", "stub")
"""The kinds of verdict of pages that could be judged, in the order of the summary."""
MAX_OTHER_HEADLINE_SHARE = 0.1
"""Share of the dropped pages that may have another headline than their original without a warning in the summary."""
KEPT_REASONS = frozenset({"no_item_yet", "for_links", "other_callback"})
"""Why pages are kept that would be dropped, if the crawl had got from others what it may get from them."""
REPEATED_LIMIT = 10_000
"""Originals whose repeats are counted at a time; beyond, the rarest half is forgotten."""


class CrawlStats:
    """Counts what the plugin does, in Scrapy's stats, and keeps the counts for the summary beside them.

    A new counter is a method here and a line in docs/reference/stats.md. Its name is written without the prefix; a part
    that varies, such as a reason, stands at its end in angle brackets.

    Args:
        stats: the stats of Scrapy, which may be of a class that keeps nothing.
    """

    def __init__(self, stats: StatsCollector) -> None:
        self._stats = stats
        self._counts: Counter[str] = Counter()
        self.extract_seconds: float = 0.0
        """Seconds of reading and fingerprinting, of all pages."""
        self.links_bound: float = 0.0
        """The greatest bound of links that were left."""
        self.repeated: Counter[str] = Counter()
        """Dropped pages by the URL of their original, those of the page itself in an earlier run left out."""
        self.sites: FiguresBySite = FiguresBySite()
        """What became of the pages of each site."""
        self._kept_urls: dict[str, str] = {}
        """A request that could not be skipped, for each reason that says more than its name."""

    def __getitem__(self, name: str) -> int:
        """A count by its name without the prefix, such as ``pages/dropped``."""
        return self._counts[name]

    def _add(self, name: str, value: str = "", *, amount: int = 1) -> None:
        """Count; ``value`` takes the place of the part that varies."""
        name = name.partition("<")[0] + value
        self._counts[name] += amount
        self._stats.inc_value(PREFIX + name, amount)

    def _set(self, name: str, value: float | dict[str, dict[str, int]]) -> None:
        self._stats.set_value(PREFIX + name, value)

    def _raise(self, name: str, value: float) -> None:
        self._stats.max_value(PREFIX + name, value)

    def judged(self, verdict: Verdict, site: str = "") -> None:
        """A page of a site got its verdict."""
        if verdict.kind == "unjudged":
            self.not_judged(cast("UnjudgedReason", verdict.reason or "unknown"), site)
            return
        self.sites.page_judged(site, verdict.kind)
        self._add("pages/judged")
        self._add("pages/<kind>", verdict.kind)
        if verdict.similarity is not None and verdict.kind in {"identical", "near", "changed"}:
            # Buckets of 0.01, wide enough to stay few and fine enough to see both thresholds.
            self._add("similarity_count/<similarity>", f"{int(verdict.similarity * 100) / 100:.2f}")
        if verdict.supersedes is not None:
            self._add("pages/preferred")
        if verdict.reason in KEPT_REASONS:
            self._add("pages/kept_reason_count/<reason>", verdict.reason)
        if verdict.kind != "unchanged" and verdict.is_duplicate and verdict.original is not None:
            self.repeated[verdict.original] += 1
            if len(self.repeated) > REPEATED_LIMIT:
                self.repeated = Counter(dict(self.repeated.most_common(REPEATED_LIMIT // 2)))

    def not_judged(self, reason: UnjudgedReason, site: str = "") -> None:
        """A page is kept without a verdict; ``site`` is empty where a reason says nothing about the site."""
        self.sites.page_unjudged(site, reason)
        self._add("pages/unjudged")
        self._add("pages/unjudged_reason_count/<reason>", reason)

    def kept_in_work(self, reason: str) -> None:
        """A repeat is kept because its original is still in work, and ``reason`` says why it does not wait for it."""
        self._add("pages/in_work_reason_count/<reason>", reason)

    def page_dropped(self, size: int, site: str = "", *, other_headline: bool = False, observed: bool = False) -> None:
        """A page of ``size`` bytes was dropped, or its items will be, maybe for one with another headline.

        Where pages are only ``observed``, it would have been.
        """
        self.sites.page_dropped(site, size)
        if observed:
            self._add("pages/would_drop")
            self._add("bytes_would_drop", amount=size)
        else:
            self._add("pages/dropped")
            self._add("bytes_dropped", amount=size)
        if other_headline:
            self._add("pages/dropped_other_headline")

    def item_dropped(self) -> None:
        """An item was dropped because its page, or it itself, is a repeat, or has the values of an earlier run."""
        self._add("items/dropped")

    def item_compared(self, change: str) -> None:
        """The values of an item are ``new``, ``changed`` or ``unchanged`` since an earlier run."""
        self._add("items/<change>", change)

    def item_without_fields(self) -> None:
        """An item had no value in the fields of ``SIMDEDUP_UNCHANGED_BY``."""
        self._add("items/without_fields")

    def item_fields_unseen(self, count: int) -> None:
        """So many fields of ``SIMDEDUP_ITEM_FIELDS`` were in no item."""
        self._add("items/fields_unseen", amount=count)

    def extracted(self, seconds: float) -> None:
        """Reading and fingerprinting a page took ``seconds``."""
        self.extract_seconds += seconds
        self._set("extract_seconds", self.extract_seconds)
        self._raise("extract_seconds_max", seconds)

    def settled(self, failure: str | None, site: str = "", *, gave_item: bool = True) -> None:
        """A page was confirmed (None), with an item or without, or released for a reason."""
        if failure is None:
            self._add("confirmed")
            if not gave_item:
                self._add("itemless")
        else:
            self.sites.page_released(site)
            self._add("released")
            self._add("released_reason_count/<reason>", failure)

    def store_error(self) -> None:
        """The store could not be used for a page, which was kept."""
        self._add("store/error_count")

    def wall_suspected(self) -> None:
        """A site answers everything with one content."""
        self._add("walls_suspected")

    def page_refetched(self, change: Change) -> None:
        """A known page was fetched again, and ``change`` says what is new on it."""
        self._add("change_count/<change>", change)

    def redesign_suspected(self) -> None:
        """Half of a site's known pages came in a new template."""
        self._add("redesigns_suspected")

    def link_deferred(self) -> None:
        """A link that only a repeat brings waits behind all other requests."""
        self._add("links/deferred")

    def link_tried(self, *, is_new: bool) -> None:
        """A deferred link was followed; ``is_new`` if it led to new content."""
        self._add("links/tried")
        if is_new:
            self._add("links/tried_new")

    def link_left(self, bound: float) -> None:
        """A deferred link is not followed, as at most the share ``bound`` of links like it lead to new content."""
        self._add("links/left")
        self.links_bound = max(self.links_bound, bound)
        self._raise("links/bound_max", bound)

    def url_seen(self) -> None:
        """It was noted for the learner what a URL leads to."""
        self._add("urls/seen")

    def url_skipped(self) -> None:
        """A request was not made, as its URL leads to known content."""
        self._add("urls/skipped")

    def url_would_skip(self) -> None:
        """A request would not have been made, if URLs were not only observed."""
        self._add("urls/would_skip")

    def url_readmitted(self) -> None:
        """A request that was skipped is made after all."""
        self._add("urls/readmitted")

    def url_deprioritized(self) -> None:
        """A request was scheduled again with a lower priority."""
        self._add("urls/deprioritized")

    def url_kept(self, reason: str, example: str = "") -> None:
        """A request that could have been skipped was made, for a reason, of which ``example`` says more."""
        self._add("urls/kept_reason_count/<reason>", reason)
        if example:
            self._kept_urls.setdefault(reason, example)

    def url_verified(self, *, wrong: bool) -> None:
        """A request was made although rules spoke against it; ``wrong`` if it led to new content."""
        self._add("urls/verified")
        if wrong:
            self._add("urls/verified_wrong")

    def urls_closed(self, rules: int) -> None:
        """The crawl is over, with so many rules about URLs in force."""
        self._set("urls/rules", rules)
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
        return self._reasons("pages/unjudged_reason_count/")

    def _reasons(self, start: str) -> Counter[str]:
        """The counts whose names begin so, by the part that varies."""
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
        """Requests that were skipped, without those that were made after all."""
        return max(0, self["urls/skipped"] - self["urls/readmitted"])

    @property
    def fetched_bytes_saved(self) -> int:
        """An estimate of the bytes of the fetches that were saved: each as many as the average dropped page."""
        return round(self.fetches_saved * self.dropped_bytes / self.dropped) if self.dropped else 0

    def summary(
        self, *, mode: str, seconds_per_page: float, url_mode: str, rules: Sequence[Rule], missing: Sequence[str]
    ) -> str:
        """The lines for the log at close.

        Args:
            mode: in observe mode the summary says what would have been dropped.
            seconds_per_page: what callback and pipelines took for a delivered page on average.
            url_mode: what is done to requests whose URLs lead to known content; ``off`` has no lines.
            rules: the rules about URLs that are in force, the best first.
            missing: sentences about promises that cannot be kept because a part is not enabled.
        """
        judged = self["pages/judged"]
        per_page = f", {1000 * self.extract_seconds / judged:.1f} ms per page" if judged else ""
        return "\n".join(
            [
                "Near-duplicates:",
                *self._page_lines(mode, seconds_per_page),
                *self._link_lines(),
                *self._url_lines(url_mode, rules),
                f"  cost: {self.extract_seconds:.1f} s of fingerprinting{per_page}",
                *self._delivery_lines(),
                *(f"  note: {sentence}" for sentence in missing),
            ]
        )

    def _page_lines(self, mode: str, seconds_per_page: float) -> list[str]:
        judged, dropped, items = self["pages/judged"], self.dropped, self["items/dropped"]
        kinds = ", ".join(f"{self[f'pages/{kind}']} {kind}" for kind in JUDGED_KINDS if self[f"pages/{kind}"])
        share = f" ({100 * dropped / judged:.0f} % of the judged)" if judged else ""
        would = "would have been " if mode == "observe" else ""
        lines = [
            f"  {plural(judged, 'page')} judged" + (f": {kinds}" if kinds else ""),
            f"  {plural(dropped, 'page')} {would}dropped{share}",
        ]
        if dropped or items:
            verb = "would have saved" if mode == "observe" else "saved"
            saved = f"  {verb}: {format_bytes(self.dropped_bytes)} of pages"
            if seconds_per_page > 0:
                saved += f", about {dropped * seconds_per_page:.1f} s of callbacks and pipelines"
            if items:
                saved += f", {plural(items, 'item')}"
            lines.append(saved)
        others = self["pages/dropped_other_headline"]
        if others > MAX_OTHER_HEADLINE_SHARE * dropped:
            lines.append(
                f"  warning: {others} of {plural(dropped, 'dropped page')} have another headline than their original; "
                "if these are other pages, name what tells them apart in SIMDEDUP_IDENTITY, such as 'sku'"
            )
        return lines

    def _link_lines(self) -> list[str]:
        tried, left = self["links/tried"], self["links/left"]
        if not tried and not left:
            return []
        line = f"  links of repeats: {tried} tried, {self['links/tried_new']} of them led to new content; {left} left"
        return [line + (f", of which at most {self.links_bound:.1%} lead to new content (95 % sure)" if left else "")]

    def _url_lines(self, mode: str, rules: Sequence[Rule]) -> list[str]:
        if mode == "off":
            return []
        if mode == "skip":
            about = f" (about {format_bytes(self.fetched_bytes_saved)})" if self.fetched_bytes_saved else ""
            skipped, readmitted = self["urls/skipped"], self["urls/readmitted"]
            saved = plural(self.fetches_saved, "fetch", "fetches")
            fetches = f"{saved} saved{about}: {skipped} skipped, {readmitted} readmitted"
        elif mode == "deprioritize":
            fetches = f"{plural(self['urls/deprioritized'], 'fetch', 'fetches')} deprioritized"
        else:
            fetches = f"{plural(self['urls/would_skip'], 'fetch', 'fetches')} would have been saved"
        if self["urls/verified"]:
            fetches += f"; {self['urls/verified']} verified, {self['urls/verified_wrong']} of them wrong"
        kept = self._reasons("urls/kept_reason_count/")
        reasons = (
            f"{count} {why}" + (f" (such as {self._kept_urls[why]:.200})" if why in self._kept_urls else "")
            for why, count in kept.most_common()
        )
        could_not = [f"  {plural(kept.total(), 'request')} could not be skipped: {', '.join(reasons)}"] if kept else []
        best = ", ".join(dict.fromkeys(str(rule) for rule in rules if rule.skipped))
        about_rules = f"  {plural(len(rules), 'rule')} about URLs" + (f", such as {best[:200]}" if best else "")
        return [f"  URLs: {fetches}", *could_not, about_rules]

    def _delivery_lines(self) -> list[str]:
        lines = []
        if unjudged := self.unjudged:
            reasons = ", ".join(f"{count} {reason}" for reason, count in unjudged.most_common())
            lines.append(f"  {plural(unjudged.total(), 'page')} kept unjudged: {reasons}")
            lines += [f"  warning: {sentence}" for sentence in self.sites.warnings()]
        lines.append(f"  {plural(self['confirmed'], 'page')} delivered, {self['released']} released")
        kept = self._reasons("pages/kept_reason_count/")
        if self["itemless"]:
            tries = f"; {plural(kept['no_item_yet'], 'repeat')} of such pages kept, as these may give one"
            lines.append(
                f"  {plural(self['itemless'], 'delivered page')} gave no item{tries if kept['no_item_yet'] else ''}"
            )
        if kept["for_links"]:
            lines.append(f"  {plural(kept['for_links'], 'known page')} visited for links, having given no item before")
        if kept["other_callback"]:
            lines.append(f"  {plural(kept['other_callback'], 'page')} kept, whose content another callback got")
        if waited := self._reasons("pages/in_work_reason_count/"):
            reasons = ", ".join(f"{count} {reason}" for reason, count in waited.most_common())
            lines.append(f"  {plural(waited.total(), 'repeat')} kept, as the original was still in work: {reasons}")
        if self.repeated:
            lines.append("  most repeated:")
            lines += [f"    {count:>5} × {url}" for url, count in self.repeated.most_common(5)]
        return lines
