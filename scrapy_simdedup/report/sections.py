"""The sections of the report: each is a function from the report to the elements of the section."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from scrapy_simdedup.display import format_bytes, format_time, plural
from scrapy_simdedup.report import SIMILARITY_BUCKETS, VERDICT_KINDS, AuditedPair, Report
from scrapy_simdedup.report.clusters import Cluster
from scrapy_simdedup.report.comparison import Difference, diff_words
from scrapy_simdedup.report.elements import (
    AxisMark,
    Child,
    Element,
    Series,
    bar_chart,
    data_table,
    h,
    link,
    shown_url,
    sortable_table,
)

SHOWN_RULES = 50
MAX_UNFOLDED, MAX_SHOWN = 3, 10
"""Clusters and audited pages that are shown unfolded; and that are shown before the reader asks for more."""
MISSING_PAGE = "a page that is not in the store any more"
GLOSSARY = {
    "boilerplate": "the parts of a page that are not its content, such as navigation, header, footer and cookie banner",
    "delivered": "a page is delivered when its callback has finished and its items are through the pipelines",
    "original": "the delivered page that a duplicate repeats",
    "released": "a page is released when its delivery failed; it displaces no other page",
    "run": "one crawl with its resumptions; the workers of one crawl share its run",
    "similarity": "the share of common words of two pages, from 0 to 1",
    "stub": "a page that stands for no content, such as a captcha, a soft 404 or a login wall",
}


def answer(report: Report) -> Iterator[Element]:
    """The section with the main numbers, and the warnings."""
    judged = report.pages - report.kinds.get("unjudged", 0)
    share = report.dropped / judged if judged else 0.0
    would, did = ("would be dropped", "") if report.mode == "observe" else ("dropped", " and were dropped")
    by_verdict = ", ".join(f"{pages:,} {kind}" for kind, pages in report.kinds.items())
    cards = [
        ("Pages judged", f"{judged:,}", by_verdict),
        (f"Repeats {would}", f"{report.dropped:,}", f"{share:.1%} of the judged"),
    ]
    if report.savings is not None:
        saved = report.savings
        cost = f"of callbacks and pipelines; fingerprinting took {saved.cost_seconds:,.1f} s"
        cards += [
            ("Bytes saved", format_bytes(saved.bytes), "of pages that need not be parsed and stored"),
            ("Time saved", f"{saved.seconds:,.1f} s", cost),
            ("Fetches saved", f"{saved.fetches:,}", "of URLs known to lead to repeats"),
            ("Items dropped", f"{saved.items:,}", "that repeat items, or are of a repeated page"),
        ]
    judged_pages = plural(judged, "judged page")
    summary = f"{report.dropped:,} of {judged_pages} ({share:.0%}) repeat another page{did}."
    yield h("p", summary, class_="lead")
    shown = [h("div", h("dt", name), h("dd", value), h("dd", note, class_="note")) for name, value, note in cards]
    yield h("dl", shown, class_="answer")
    if report.savings is None:
        note = (
            "Bytes, time and fetches saved are known only to the report that a crawl writes itself (SIMDEDUP_REPORT)."
        )
        yield h("p", note, class_="soft")
    if report.warnings:
        yield h("ul", [h("li", warning) for warning in report.warnings], class_="warnings")


def similarity(report: Report) -> Iterator[Element]:
    """The section with the distribution of similarities and the thresholds."""
    counts = report.similarities
    totals = [dropped + kept for dropped, kept in zip(counts["dropped"], counts["kept"], strict=True)]
    if not any(totals):
        yield h("p", "No page was like another.")
        return
    first = min(next(step for step, total in enumerate(totals) if total), SIMILARITY_BUCKETS * 4 // 5) // 10 * 10
    yield h(
        "p",
        "How similar pages were to what they were compared with: the page they repeat or are near to, or their own "
        "past. Pages that were like nothing are not in it.",
    )
    tenths = range(first // 10, 11, 2 if first < 40 else 1)
    marks = [(step / 10, f"{step / 10:.1f}") for step in tenths]
    thresholds = [(report.near, "near"), (report.identical, "identical")]
    ticks, lines = (
        [AxisMark((value * 100 - first) / (100 - first), label) for value, label in labelled]
        for labelled in (marks, thresholds)
    )
    yield bar_chart(
        "similarity-chart",
        "Pages by similarity",
        [Series(name, counts[name][first:], colour) for name, colour in (("dropped", "identical"), ("kept", "near"))],
        [f"{step / 100:.2f} to {(step + 1) / 100:.2f}" for step in range(first, 100)],
        ticks=ticks,
        lines=lines,
    )


def verdicts(report: Report) -> Iterator[Element]:
    """The section with the verdicts over time, and the reasons of unjudged pages."""
    line = report.timeline
    if line is None:
        yield h("p", "No page was judged.")
        return
    steps = len(next(iter(line.counts.values())))
    times = [format_time(line.start + line.step * step) for step in range(steps + 1)]
    days = line.step * steps / 86_400
    short = slice(0, 10) if days > 3 else slice(5, 16) if days > 1 else slice(11, 19)
    yield h("p", f"When pages were last seen, from {times[0]} to {times[-1]}.")
    yield bar_chart(
        "verdicts-chart",
        "Pages by verdict over time",
        [Series(kind, line.counts[kind], kind) for kind in VERDICT_KINDS if kind in line.counts],
        times[:-1],
        ticks=[
            AxisMark(share, times[round(share * steps)][short], minor=share in {0.25, 0.75})
            for share in (0, 0.25, 0.5, 0.75, 1)
        ],
    )
    if report.unjudged:
        yield data_table("Pages that could not be judged, and were kept", ("Reason", "#pages"), report.unjudged.items())


def sites(report: Report) -> Iterator[Element]:
    """The section with one row per site."""
    is_all = report.site_count == len(report.sites)
    shown = "" if is_all else f"; the {len(report.sites):,} with the most pages are shown"
    yield h("p", f"{plural(report.site_count, 'site')}{shown}.")
    rows = [
        (row.site, row.pages, row.repeats, row.repeats / row.pages, row.near, row.changed, row.unjudged, row.failed)
        for row in report.sites
    ]
    head = ("Site", "#pages", "#repeats", "#%share", "#near", "#changed", "#unjudged", "#failed")
    yield from sortable_table("sites-table", "Pages by site; failed are those whose delivery did", head, rows)


def rules(report: Report) -> Iterator[Element]:
    """The section with the rules that were learned from URLs."""
    savings = report.url_savings
    if not savings.rules:
        yield h("p", "No part of a URL was found not to change the page.")
        return
    yield h("p", savings.sentence)
    rows = [
        (
            *(str(rule), rule.pattern, rule.site, rule.skipped, rule.successes, rule.failures),
            "in force" if rule.in_force else "refuted",
        )
        for rule in savings.rules[:SHOWN_RULES]
    ]
    head = ("Does not matter", "In", "Site", "#fetches saved", "#same page", "#another page", "Status")
    yield data_table("Parts of URLs, and the pages that were the same and another without them", head, rows)


def drift(report: Report) -> Iterator[Element]:
    """The section about the changes of known pages: by site, and by run."""
    if not report.drift:
        yield h("p", "No page was fetched more than once.")
        return
    yield h(
        "p",
        "What pages that were fetched before gave when they were fetched again. Where half of them changed in one run, "
        "or came in a new template, the site's design may have changed, or a wall is in the way.",
    )
    rows = [
        (row.site, row.revisited, row.changed, row.similarity, row.changes_per_visit, _badge("redesign?", row.redesign))
        for row in report.drift
    ]
    head = ("Site", "#fetched again", "#changed", "#similarity to before", "#%changes per visit", "Suspected")
    yield data_table("Known pages by site", head, rows)
    if report.changes:
        found = []
        for row in report.changes:
            suspected = _badge(f"{row.redesign or 0:.0%} redesigned", row.redesign is not None)
            pages = (row.none, row.content, row.template, row.both)
            found.append((row.site, row.run, format_time(row.at), *pages, suspected))
        columns = ("Site", "Run", "Time", "#nothing", "#content", "#template", "#both", "Suspected")
        yield data_table("What was new on known pages, by run", columns, found)


def _badge(text: str, suspected: bool) -> Child:
    return h("span", text, class_="badge") if suspected else ""


def runs(report: Report) -> Iterator[Element]:
    """The section with the latest runs in the store."""
    rows = [(row.run, row.pages, row.repeats, format_time(row.first), format_time(row.last)) for row in report.runs]
    head = ("Run", "#pages", "#repeats", "First page", "Last page")
    yield data_table("The latest runs; a page is counted in the last that fetched it", head, rows)


def clusters(report: Report) -> Iterator[Element]:
    """The section with the most repeated pages."""
    if not report.clusters:
        yield h("p", "No page is repeated.")
        return
    yield h("p", _how_many(report.cluster_count, "repeated", len(report.clusters), "most repeated"))
    pages = enumerate(report.clusters)
    yield from _with_more([_cluster(found, unfolded=place < MAX_UNFOLDED) for place, found in pages])


def _how_many(count: int, what: str, listed: int, which: str) -> str:
    """A sentence on how many pages are ``what``, and which of them are listed."""
    shown = f"; the {listed} {which} are shown" if count > listed else ""
    return f"{count:,} {'page is' if count == 1 else 'pages are'} {what}{shown}."


def _with_more(parts: list[Element]) -> Iterator[Element]:
    yield from parts[:MAX_SHOWN]
    more = parts[MAX_SHOWN:]
    if more:
        yield h("details", h("summary", f"{len(more)} more"), h("div", more, class_="more"))


def _cluster(cluster: Cluster, *, unfolded: bool) -> Element:
    pages: list[Child] = [f"Cluster {cluster.id}, {plural(cluster.size, 'page')}"]
    if cluster.representative:
        pages += [": ", link(cluster.representative)]
    if cluster.original and cluster.original != cluster.representative:
        pages += [", first ", link(cluster.original)]
    rows: list[tuple[Child | float, ...]] = [
        (link(member.url), member.similarity, ", ".join(member.differs) or "unknown") for member in cluster.members
    ]
    shown = f"{len(rows)} of its {cluster.repeats:,} repeats" if len(rows) < cluster.repeats else "Its repeats"
    return h(
        "details",
        h("summary", f"{cluster.repeats:,} × {shown_url(cluster.representative or MISSING_PAGE)}"),
        h("p", pages),
        data_table(f"{shown} on {cluster.site}", ("Repeat", "#similarity", "Differs in"), rows),
        open="" if unfolded else None,
    )


def near(report: Report) -> Iterator[Element]:
    """The section with the pages that were kept though much of their text is another page's."""
    if not report.near_pages:
        yield h("p", "No page that was kept is near another.")
        return
    how_many = _how_many(report.near_count, "near another and kept", len(report.near_pages), "most similar")
    kept_by = "text of their own, what makes two pages of two, such as another h1, or a similarity that is too low"
    yield h("p", f"{how_many} What kept them is {kept_by}.")
    rows: list[tuple[Child | float | None, ...]] = [
        (
            link(page.url),
            "unknown" if page.original is None else link(page.original),
            page.similarity,
            page.own_words,
            page.kept_by or "unknown",
        )
        for page in report.near_pages
    ]
    yield data_table("Near pages and their originals", ("Page", "Near", "#similarity", "#own words", "Kept by"), rows)


def stubs(report: Report) -> Iterator[Element]:
    """The section with the stubs that the crawl found."""
    if not report.stubs:
        yield h("p", "No content came under many unrelated URLs.")
        return
    yield h("p", "Contents that stand for none: captchas, login pages, soft 404s.")
    rows = [(link(stub.url), stub.site, stub.shingles) for stub in report.stubs]
    yield data_table("Stubs and walls", ("Page", "Site", "#shingles"), rows)


def audit(report: Report) -> Iterator[Element]:
    """The section with a sample of dropped pages, each beside its original."""
    if not report.audit:
        yield h("p", "Nothing was dropped that could be shown.")
        return
    yield h(
        "p",
        "A random sample of the pages that were dropped, to judge by eye: is what differs noise? If not, raise "
        "SIMDEDUP_IDENTICAL, or its value for this site or kind of page in SIMDEDUP_SITE_SETTINGS.",
    )
    if all(page.lines is None for page in report.audit):
        yield h(
            "p",
            "A store keeps no texts: the differing lines are in the report that a crawl writes itself "
            "(SIMDEDUP_REPORT), and scrapy simdedup compare fetches two pages and shows them.",
            class_="soft",
        )
    yield from _with_more([_audited(page, unfolded=place < MAX_UNFOLDED) for place, page in enumerate(report.audit)])


def _audited(page: AuditedPair, *, unfolded: bool) -> Element:
    facts = [] if page.distance is None else [plural(page.distance, "differing bit")]
    facts += [f"differs in {', '.join(page.facts)}"] if page.facts else []
    if page.own_words is not None:
        facts.append(f"{plural(page.own_words, 'word') if page.own_words else 'nothing'} of its own")
    original = link(page.original) if page.original else MISSING_PAGE
    return h(
        "details",
        h("summary", f"{page.similarity:.3f} similar: {shown_url(page.dropped)}"),
        h("p", "repeats ", original, h("br"), "dropped ", link(page.dropped)),
        h("p", "; ".join(facts), class_="soft") if facts else None,
        None if page.lines is None else _side_by_side(page),
        open="" if unfolded else None,
    )


def _side_by_side(page: AuditedPair) -> Element:
    lines = page.lines or ()
    if not lines:
        return h("p", "Not one line of text differs.")
    more = h("p", f"{page.more:,} more differing lines are left off.", class_="role") if page.more else None
    head = [h("p", name, class_=f"{side} head") for name, side in (("original", "one"), ("dropped", "other"))]
    parts: list[Element] = []
    for role, group in groupby(lines, key=lambda line: line.role):
        parts += [h("p", role, class_="role"), *(part for line in group for part in _line(line))]
    return h("div", head, parts, more, class_="pair")


def _line(line: Difference) -> Iterator[Element]:
    sides = diff_words(line.one, line.other) if line.one and line.other else None
    for place, (text, side) in enumerate(((line.one, "one"), (line.other, "other"))):
        if text is None:
            yield h("p", "nothing", class_=f"{side} soft")
        elif sides is None:
            yield h("p", h("mark", text), class_=side)
        else:
            yield h("p", [h("mark", part.text) if part.differs else part.text for part in sides[place]], class_=side)


def glossary(_: Report) -> Iterator[Element]:
    """The section that says what the words of the report mean."""
    words = [part for word, meaning in GLOSSARY.items() for part in (h("dt", word), h("dd", meaning))]
    yield h("details", h("summary", "What the words of this report mean"), h("dl", words))
