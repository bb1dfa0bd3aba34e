"""The summary: what the log says at close, from the counters of the crawl."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from scrapy_simdedup.crawl.stats import JUDGED_KINDS, CrawlStats
from scrapy_simdedup.display import format_bytes, plural
from scrapy_simdedup.urls import Rule

MAX_OTHER_HEADLINE_SHARE = 0.1
"""Share of the dropped pages that may have another headline than their original without a warning in the summary."""
WAITED_IN_VAIN = {
    "timeout": "after SIMDEDUP_PENDING_TIMEOUT",
    "no_room": "with no room to wait",
    "closing": "as the crawl ended",
    "feed": "as nothing counts as delivered before the feeds are stored (SIMDEDUP_CONFIRM = 'feed')",
}
"""Why repeats do not wait any longer for originals that are still in work, in words."""
WHY_KEPT = {
    "for_links": ("known page", "visited for links, having given no item before"),
    "other_callback": ("page", "kept, whose content another callback or spider got"),
    "other_arguments": ("repeat", "kept, whose requests brought other values for the items (cb_kwargs, meta)"),
    "for_callback": ("repeat", "kept for an errback that asks again, or for links without delivery middlewares"),
    "within_budget": ("repeat", "kept within SIMDEDUP_MAX_COPIES"),
    "preferred": ("repeat", "kept as better copies (SIMDEDUP_PREFER)"),
    "own_url": ("repeat", "kept, of a URL that was fetched before in this run"),
}
"""By the reason why pages are kept that repeat others: what they are called, and why, in words."""
MAX_SHOWN_BOUND = 0.2
"""The greatest bound of what the skipped lead to that is told. A small crawl has a greater one, however often it was
checked, as the bound takes each request for one that is checked most seldom; there the checks are counted."""
MIN_TOLD_STRAYS = 5
"""Pages that did not get to a callback before the summary says so, if they are more than the others."""
MIN_SHOWN_SECONDS = 0.05
"""Seconds that are told as saved; less would be shown as none."""


def summarize(
    stats: CrawlStats,
    *,
    mode: str,
    seconds_per_page: float,
    url_mode: str,
    rules: Sequence[Rule],
    missing: Sequence[str],
) -> str:
    """The lines for the log at close.

    For a delivered page callback and pipelines took ``seconds_per_page`` on average. Rules in force come the best
    first, and ``missing`` are sentences about promises that cannot be kept because a part is not enabled.
    """
    judged = stats["pages/judged"]
    per_page = f", {1000 * stats.extract_seconds / judged:.1f} ms per page" if judged else ""
    return "\n".join(
        [
            "Near-duplicates:",
            *_page_lines(stats, mode, seconds_per_page),
            *_link_lines(stats),
            *_url_lines(stats, url_mode, rules),
            f"  cost: {stats.extract_seconds:.1f} s of fingerprinting{per_page}",
            *_delivery_lines(stats),
            *(f"  note: {sentence}" for sentence in missing),
        ]
    )


def _page_lines(stats: CrawlStats, mode: str, seconds_per_page: float) -> list[str]:
    judged, dropped, items = stats["pages/judged"], stats.dropped, stats["items/dropped"]
    kinds = ", ".join(f"{stats[f'pages/{kind}']} {kind}" for kind in JUDGED_KINDS if stats[f"pages/{kind}"])
    share = f" ({_percent(dropped, judged)} of the judged)" if dropped and judged else ""
    would = "would have been " if mode == "observe" else ""
    lines = [
        f"  {plural(judged, 'page')} judged" + (f": {kinds}" if kinds else ""),
        f"  {plural(dropped, 'page')} {would}dropped{share}",
    ]
    if dropped or items:
        verb = "would have saved" if mode == "observe" else "saved"
        saved = f"  {verb}: {format_bytes(stats.dropped_bytes)} of pages"
        if dropped * seconds_per_page >= MIN_SHOWN_SECONDS:
            saved += f", about {dropped * seconds_per_page:.1f} s of callbacks and pipelines"
        if items:
            saved += f", {plural(items, 'item')}"
        lines.append(saved)
    if others := stats["pages/dropped_other_headline"]:
        pages = f"{plural(dropped, 'page')} that would be dropped" if would else plural(dropped, "dropped page")
        have = "has another headline than its" if others == 1 else "have another headline than their"
        line = f"{others} of {pages} {have} original"
        if others > MAX_OTHER_HEADLINE_SHARE * dropped:
            remedy = "if these are other pages, name what tells them apart in SIMDEDUP_IDENTITY, such as 'sku'"
            line = f"warning: {line}; {remedy}"
        lines.append(f"  {line}")
    if own := stats["pages/kept_reason_count/own_text"]:
        lines.append(f"  {plural(own, 'near page')} kept for text of {'its' if own == 1 else 'their'} own")
    return [*lines, *_near_lines(stats)]


def _near_lines(stats: CrawlStats) -> list[str]:
    """The lines about kept pages that are near another page, or repeat one."""
    if not stats.most_near:
        return []
    kept = plural(stats.near_kept, "near page")
    return [
        f"  {kept} kept; clusters --near lists those in a store, compare shows what differs, such as between",
        *(f"    {similarity:.3f}  {url:.200}  {other:.200}" for similarity, url, other in stats.most_near),
    ]


def _link_lines(stats: CrawlStats) -> list[str]:
    tried, left = stats["links/tried"], stats["links/left"]
    if not tried and not left:
        return []
    line = f"  links of repeats: {tried} tried, {stats['links/tried_new']} of them led to new content; {left} left"
    bound = f"{100 * stats.links_bound:.1f} %"
    return [line + (f", of which at most {bound} lead to new content (95 % sure)" if left else "")]


def _url_lines(stats: CrawlStats, mode: str, rules: Sequence[Rule]) -> list[str]:
    if mode == "off":
        return []
    if mode == "skip":
        about = f" (about {format_bytes(stats.fetched_bytes_saved)})" if stats.fetched_bytes_saved else ""
        skipped, readmitted = stats["urls/skipped"], stats["urls/readmitted"]
        saved = plural(stats.fetches_saved, "fetch", "fetches")
        fetches = f"{saved} saved{about}: {skipped} skipped, {readmitted} readmitted"
    elif mode == "deprioritize":
        fetches = f"{plural(stats['urls/deprioritized'], 'fetch', 'fetches')} deprioritized"
    else:
        fetches = f"{plural(stats['urls/would_skip'], 'fetch', 'fetches')} would have been saved"
    if stats["urls/verified"]:
        fetches += f"; {stats['urls/verified']} verified, {stats['urls/verified_wrong']} of them wrong"
    checks = _check_lines(stats)
    kept = stats.by_reason("urls/kept_reason_count/")
    reasons = (
        f"{count} {why}" + (f" (such as {stats.kept_urls[why]:.200})" if why in stats.kept_urls else "")
        for why, count in kept.most_common()
    )
    could_not = [f"  {plural(kept.total(), 'request')} could not be skipped: {', '.join(reasons)}"] if kept else []
    best = ", ".join(dict.fromkeys(str(rule) for rule in ([rule for rule in rules if rule.skipped] or rules)))
    about_rules = f"  {plural(len(rules), 'rule')} about URLs" + (f", such as {best[:200]}" if best else "")
    return [f"  URLs: {fetches}", *checks, *could_not, about_rules]


def _check_lines(stats: CrawlStats) -> list[str]:
    asked, sampled, bound = stats["urls/asked"], stats["urls/sampled"], stats.unseen_bound
    verified, wrong = stats["urls/verified"], stats["urls/verified_wrong"]
    if not asked and not sampled:
        return []
    line = f"  checks: {plural(asked, 'URL')} fetched twice, {sampled} of the skipped fetched as a sample"
    if bound <= MAX_SHOWN_BOUND:
        line += f"; at most {bound:.1%} of the skipped lead to content that was not fetched (95 % sure)"
    elif verified:
        found = f"{wrong or 'none'} of {plural(verified, 'request')} that verified rules led to new content"
        line += f"; {found}, which is too few to bound what the skipped lead to"
    return [line]


def _delivery_lines(stats: CrawlStats) -> list[str]:
    lines = []
    if unjudged := stats.unjudged:
        reasons = ", ".join(f"{count} {reason}" for reason, count in unjudged.most_common())
        lines.append(f"  {plural(unjudged.total(), 'page')} kept unjudged: {reasons}")
        lines += [f"  warning: {sentence}" for sentence in stats.sites.warnings()]
    failures = stats.by_reason("released_reason_count/")
    released = ", ".join(f"{n:,} {why}" for why, n in failures.most_common())
    lines.append(
        f"  {plural(stats['confirmed'], 'page')} delivered, {stats['released']:,} released"
        + (f": {released}" if released else "")
    )
    strays = failures["request_died"] + failures["never_reached"]
    if strays >= MIN_TOLD_STRAYS and strays > stats["confirmed"]:
        lines.append(
            f"  warning: {plural(strays, 'page')} did not get to a callback, so repeats of these are kept; see whether "
            "a downloader middleware takes pages out or gives responses another request, or a callback awaits them"
        )
    kept = stats.by_reason("pages/kept_reason_count/") + Counter(preferred=stats["pages/preferred"])
    if stats["itemless"]:
        tries = f"; {plural(kept['no_item_yet'], 'repeat')} of such pages kept, as these may give one"
        items = plural(stats["itemless"], "delivered page")
        lines.append(f"  {items} gave no item{tries if kept['no_item_yet'] else ''}")
    lines += [f"  {plural(kept[why], thing)} {said}" for why, (thing, said) in WHY_KEPT.items() if kept[why]]
    if waited := stats.by_reason("pages/in_work_reason_count/"):
        count = waited.total()
        originals = "its original was" if count == 1 else "their originals were"
        why = ", ".join(f"{n:,} {WAITED_IN_VAIN.get(why, why)}" for why, n in waited.most_common())
        lines.append(f"  {plural(count, 'repeat')} kept, as {originals} still in work: {why}")
    if stats.repeated:
        lines.append("  most repeated:")
        lines += [f"    {count:>5} × {url}" for url, count in stats.repeated.most_common(5)]
    return lines


def _percent(part: int, whole: int) -> str:
    """A share in words: what is not all, or not nothing, is not rounded to it."""
    share = 100 * part / whole
    return "under 1 %" if 0 < share < 1 else "over 99 %" if 99 < share < 100 else f"{share:.0f} %"
