"""The parts of the report, each from its data to its elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simdedup.report.charts import Mark, Series, bar_chart
from scrapy_simdedup.report.data import BUCKETS, KINDS
from scrapy_simdedup.report.elements import h, number
from scrapy_simdedup.report.tables import data_table, sortable_table
from scrapy_simdedup.wording import at, plural, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_simdedup.report.data import Report
    from scrapy_simdedup.report.elements import Child, Element

SHOWN_RULES = 50


def answer(report: Report) -> Iterator[Element]:
    """The numbers that matter, and what should be looked at."""
    judged = report.pages - report.kinds.get("unjudged", 0)
    share = report.dropped / judged if judged else 0.0
    would, did = ("would be dropped", "") if report.mode == "observe" else ("dropped", " and were dropped")
    cards: list[tuple[str, str, str]] = [
        ("Pages judged", number(judged), ", ".join(f"{number(n)} {kind}" for kind, n in report.kinds.items())),
        (f"Repeats {would}", number(report.dropped), f"{share:.1%} of the judged"),
    ]
    if report.savings is not None:
        saved = report.savings
        cards += [
            ("Bytes saved", size(saved.bytes), "of pages that need not be parsed and stored"),
            (
                "Time saved",
                f"{saved.seconds:,.1f} s",
                f"of callbacks and pipelines; fingerprinting took {saved.cost_seconds:,.1f} s",
            ),
            ("Fetches saved", number(saved.fetches), "of URLs known to lead to repeats"),
            ("Items dropped", number(saved.items), "that repeat items, or are of a repeated page"),
        ]
    said = f"{number(report.dropped)} of {plural(judged, 'judged page')} ({share:.0%}) repeat another page{did}."
    yield h("p", said, class_="lead")
    yield h(
        "dl",
        [h("div", h("dt", name), h("dd", value), h("dd", note, class_="note")) for name, value, note in cards],
        class_="answer",
    )
    if report.savings is None:
        yield h(
            "p",
            "Bytes, time and fetches saved are known only to the report that a crawl writes itself (SIMDEDUP_REPORT).",
            class_="soft",
        )
    if report.warnings:
        yield h("ul", [h("li", warning) for warning in report.warnings], class_="warnings")


def similarity(report: Report) -> Iterator[Element]:
    """The distribution of similarities, with the thresholds."""
    counts = report.similarities
    totals = [dropped + kept for dropped, kept in zip(counts["dropped"], counts["kept"], strict=True)]
    if not any(totals):
        yield h("p", "No page was like another.")
        return
    first = min(next(step for step, total in enumerate(totals) if total), BUCKETS * 4 // 5) // 10 * 10
    span = BUCKETS - first

    def mark(value: float, label: str) -> Mark:
        return Mark((value * BUCKETS - first) / span, label)

    yield h(
        "p",
        "How similar pages were to what they were compared with: the page they repeat or are near to, or their own "
        "past. Pages that were like nothing are not in it.",
    )
    yield bar_chart(
        "similarity-chart",
        "Pages by similarity",
        [Series(name, counts[name][first:], colour) for name, colour in (("dropped", "identical"), ("kept", "near"))],
        [f"{step / BUCKETS:.2f} to {(step + 1) / BUCKETS:.2f}" for step in range(first, BUCKETS)],
        ticks=[mark(step / 10, f"{step / 10:.1f}") for step in range(first // 10, 11, 1 if span <= 60 else 2)],
        lines=[mark(report.near, "near"), mark(report.identical, "identical")],
    )


def verdicts(report: Report) -> Iterator[Element]:
    """The verdicts over time."""
    line = report.timeline
    if line is None:
        yield h("p", "No page was judged.")
        return
    steps = len(next(iter(line.counts.values())))
    times = [at(line.start + line.step * step) for step in range(steps + 1)]
    short = (
        slice(0, 10)
        if line.step * steps > 3 * 86_400
        else slice(5, 16)
        if line.step * steps > 86_400
        else slice(11, 19)
    )
    yield h("p", f"When pages were last seen, from {times[0]} to {times[-1]}.")
    yield bar_chart(
        "verdicts-chart",
        "Pages by verdict over time",
        [Series(kind, line.counts[kind], kind) for kind in KINDS if kind in line.counts],
        times[:-1],
        ticks=[
            Mark(share, times[round(share * steps)][short], minor=share in {0.25, 0.75})
            for share in (0, 0.25, 0.5, 0.75, 1)
        ],
    )
    if report.unjudged:
        yield data_table("Pages that could not be judged, and were kept", ("Reason", "#pages"), report.unjudged.items())


def sites(report: Report) -> Iterator[Element]:
    """One row per site."""
    shown = (
        "" if report.site_count == len(report.sites) else f"; the {len(report.sites):,} with the most pages are shown"
    )
    yield h("p", f"{plural(report.site_count, 'site')}{shown}.")
    rows = [
        (row.site, row.pages, row.repeats, row.repeats / row.pages, row.near, row.changed, row.unjudged, row.failed)
        for row in report.sites
    ]
    head = ("Site", "#pages", "#repeats", "#%share", "#near", "#changed", "#unjudged", "#failed")
    yield from sortable_table("sites-table", "Pages by site; failed are those whose delivery did", head, rows)


def rules(report: Report) -> Iterator[Element]:
    """What the URLs teach."""
    lesson = report.lesson
    if not lesson.rules:
        yield h("p", "No part of a URL was found not to change the page.")
        return
    share = lesson.saved / lesson.pages if lesson.pages else 0.0
    saved = f"saved {number(lesson.saved)} of {number(lesson.pages)} fetches ({share:.0%})"
    yield h(
        "p",
        f"Learning from URLs {saved} on {plural(lesson.sites, 'site')}."
        if lesson.by_crawl
        else f"A crawl that learns from URLs would have {saved} on {plural(lesson.sites, 'site')}, "
        f"and lost {plural(lesson.lost, 'content')}.",
    )
    rows = [
        (
            str(rule),
            rule.pattern,
            rule.site,
            rule.skipped,
            rule.successes,
            rule.failures,
            "in force" if rule.in_force else "refuted",
        )
        for rule in lesson.rules[:SHOWN_RULES]
    ]
    head = ("Does not matter", "In", "Site", "#fetches saved", "#same page", "#another page", "Status")
    yield data_table("Parts of URLs, and the pages that were the same and another without them", head, rows)


def drift(report: Report) -> Iterator[Element]:
    """How known pages change."""
    if not report.drift:
        yield h("p", "No page was fetched more than once.")
        return
    yield h(
        "p",
        "What pages that were fetched before gave when they were fetched again. Where half of them changed in one run, "
        "or came in a new template, the site's design may have changed, or a wall is in the way.",
    )
    rows: list[tuple[Child | int | float, ...]] = [
        (
            row.site,
            row.revisited,
            row.changed,
            row.similarity,
            row.changes_per_visit,
            h("span", "redesign?", class_="badge") if row.redesign else "",
        )
        for row in report.drift
    ]
    head = ("Site", "#fetched again", "#changed", "#similarity to before", "#%changes per visit", "Suspected")
    yield data_table("Known pages by site", head, rows)
    if report.changes:
        found: list[tuple[Child | int | float, ...]] = [
            (
                *(row.site, row.run, at(row.at), row.none, row.content, row.template, row.both),
                "" if row.redesign is None else h("span", f"{row.redesign:.0%} redesigned", class_="badge"),
            )
            for row in report.changes
        ]
        columns = ("Site", "Run", "Time", "#nothing", "#content", "#template", "#both", "Suspected")
        yield data_table("What was new on known pages, by run", columns, found)


def runs(report: Report) -> Iterator[Element]:
    """The runs in the store."""
    rows = [(row.run, row.pages, row.repeats, at(row.first), at(row.last)) for row in report.runs]
    yield data_table(
        "The latest runs; a page is counted in the last that fetched it",
        ("Run", "#pages", "#repeats", "First page", "Last page"),
        rows,
    )
