"""The parts of the report that show pages: most repeated, looking like no content, and a sample of the dropped."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from scrapy_simdedup.report.differences import stretches
from scrapy_simdedup.report.elements import h, link, number, shorten
from scrapy_simdedup.report.tables import data_table
from scrapy_simdedup.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_simdedup.report.clusters import Cluster
    from scrapy_simdedup.report.data import Audited, Report
    from scrapy_simdedup.report.differences import Difference
    from scrapy_simdedup.report.elements import Child, Element

GONE = "a page that is not in the store any more"
UNFOLDED, AT_ONCE = 3, 10
"""Clusters and audited pages that are shown unfolded, and that are shown at all before one asks for more."""


def clusters(report: Report) -> Iterator[Element]:
    """The pages with the most repeats."""
    if not report.clusters:
        yield h("p", "No page is repeated.")
        return
    shown = (
        f"; the {len(report.clusters)} most repeated are shown" if report.cluster_count > len(report.clusters) else ""
    )
    are = "page is" if report.cluster_count == 1 else "pages are"
    yield h("p", f"{number(report.cluster_count)} {are} repeated{shown}.")
    yield from _some([_cluster(cluster, unfolded=place < UNFOLDED) for place, cluster in enumerate(report.clusters)])


def _some(parts: list[Element]) -> Iterator[Element]:
    yield from parts[:AT_ONCE]
    more = parts[AT_ONCE:]
    if more:
        yield h("details", h("summary", f"{len(more)} more"), h("div", more, class_="more"))


def _cluster(cluster: Cluster, *, unfolded: bool) -> Element:
    return h(
        "details",
        h("summary", f"{number(cluster.repeats)} × {shorten(cluster.representative or GONE)}"),
        h("p", f"Cluster {cluster.id}, {plural(cluster.size, 'page')}", *_stands(cluster)),
        _members(cluster),
        open="" if unfolded else None,
    )


def _stands(cluster: Cluster) -> Iterator[Child]:
    if cluster.representative:
        yield from (": ", link(cluster.representative))
    if cluster.original and cluster.original != cluster.representative:
        yield from (", first ", link(cluster.original))


def _members(cluster: Cluster) -> Element:
    rows: list[tuple[Child | float, ...]] = [
        (link(member.url), member.similarity, ", ".join(member.differs) or "unknown") for member in cluster.members
    ]
    shown = f"{len(rows)} of its {number(cluster.repeats)} repeats" if len(rows) < cluster.repeats else "Its repeats"
    return data_table(f"{shown} on {cluster.site}", ("Repeat", "#similarity", "Differs in"), rows)


def stubs(report: Report) -> Iterator[Element]:
    """What looks like no content."""
    if not report.stubs:
        yield h("p", "No short content comes under a large share of a site's URLs.")
        return
    yield h(
        "p",
        "Contents that stand for none: captchas, login pages, soft 404s. Suspected are those that are short, and under "
        "many of their site's URLs.",
    )
    rows = [
        (
            link(stub.url),
            stub.site,
            stub.pages,
            stub.share,
            stub.shingles,
            "found" if stub.sure else "suspected",
        )
        for stub in report.stubs
    ]
    yield data_table("Stubs and walls", ("Page", "Site", "#pages", "#%of its site", "#shingles", "Status"), rows)


def audit(report: Report) -> Iterator[Element]:
    """Dropped pages beside what they repeat."""
    if not report.audit:
        yield h("p", "Nothing was dropped that could be shown.")
        return
    yield h(
        "p",
        "A random sample of the pages that were dropped, to judge by eye: is what differs noise? If not, raise "
        "SIMDEDUP_IDENTICAL, or its value for this site in SIMDEDUP_SITES.",
    )
    if all(page.lines is None for page in report.audit):
        yield h(
            "p",
            "A store keeps no texts: the differing lines are in the report that a crawl writes itself "
            "(SIMDEDUP_REPORT), and scrapy simdedup compare fetches two pages and shows them.",
            class_="soft",
        )
    yield from _some([_audited(page, unfolded=place < UNFOLDED) for place, page in enumerate(report.audit)])


def _audited(page: Audited, *, unfolded: bool) -> Element:
    facts = [] if page.distance is None else [plural(page.distance, "differing bit")]
    facts += [f"differs in {', '.join(page.facts)}"] if page.facts else []
    return h(
        "details",
        h("summary", f"{number(page.similarity, 3)} similar: {shorten(page.dropped)}"),
        h("p", "repeats ", link(page.original) if page.original else GONE, h("br"), "dropped ", link(page.dropped)),
        h("p", "; ".join(facts), class_="soft") if facts else None,
        None if page.lines is None else _side_by_side(page),
        open="" if unfolded else None,
    )


def _side_by_side(page: Audited) -> Element:
    lines = page.lines or ()
    if not lines:
        return h("p", "Not one line of text differs.")
    more = h("p", f"{page.more:,} more differing lines are left off.", class_="role") if page.more else None
    head = [h("p", name, class_=f"{side} head") for name, side in (("original", "one"), ("dropped", "other"))]
    return h("div", head, [part for role in _by_role(lines) for part in role], more, class_="pair")


def _by_role(lines: Iterable[Difference]) -> Iterator[list[Element]]:
    for role, group in groupby(lines, key=lambda line: line.role):
        yield [h("p", role, class_="role"), *(part for line in group for part in _line(line))]


def _line(line: Difference) -> Iterator[Element]:
    sides = stretches(line.one, line.other) if line.one and line.other else None
    for place, (text, side) in enumerate(((line.one, "one"), (line.other, "other"))):
        if text is None:
            yield h("p", "nothing", class_=f"{side} soft")
        elif sides is None:
            yield h("p", h("mark", text), class_=side)
        else:
            yield h("p", [h("mark", part.text) if part.differs else part.text for part in sides[place]], class_=side)
