"""The report, built from a store, and the HTML document that shows it: one file that loads nothing."""

from __future__ import annotations

import json
import re
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from html import escape
from importlib.resources import files
from itertools import count
from pathlib import Path

from scrapy_simdedup.display import format_time
from scrapy_simdedup.report import VERDICT_KINDS, AuditedPair, Report, Savings, Stub, UrlSavings, sections, tallies
from scrapy_simdedup.report.clusters import Clusters, NearPages, read_compared_pages
from scrapy_simdedup.report.elements import Element, h, replace_invalid_xml, to_html
from scrapy_simdedup.report.history import read_run_history, savings_from_notes
from scrapy_simdedup.report.neighbours import fingerprint_of
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.base import FingerprintStore, live_records

SECTIONS: dict[str, tuple[str, Callable[[Report], Iterator[Element]]]] = {
    "answer": ("The answer", sections.answer),
    "similarity": ("How similar pages are", sections.similarity),
    "verdicts": ("Verdicts over time", sections.verdicts),
    "clusters": ("Most repeated pages", sections.clusters),
    "near": ("Near pages that were kept", sections.near),
    "stubs": ("Stubs and walls", sections.stubs),
    "sites": ("Sites", sections.sites),
    "rules": ("URL rules", sections.rules),
    "drift": ("Drift of known pages", sections.drift),
    "audit": ("Dropped pages to judge by eye", sections.audit),
    "runs": ("Runs", sections.runs),
    "glossary": ("Glossary", sections.glossary),
}
"""The sections of the report in their order, by their ids: the headline, and the function that renders it."""


def render_report(report: Report) -> str:
    """The report as an HTML document in one file, which loads nothing."""
    runs = f"run {report.run}" if report.run else "all runs"
    title, about = "Near-duplicate pages", f"{report.store}, {runs}; made {format_time(report.made_at)}"
    links = h("ul", [h("li", h("a", headline, href=f"#{name}")) for name, (headline, _) in SECTIONS.items()])
    nav = h("nav", links, aria_label="Parts of the report")
    head = h("header", h("h1", title), h("p", about, class_="soft url"), nav)
    shown = [
        h("section", h("h2", headline, id=name), section(report), aria_labelledby=name)
        for name, (headline, section) in SECTIONS.items()
    ]
    folder = files("scrapy_simdedup.report")
    style, script, template = (folder.joinpath(f"report.{kind}").read_text("utf-8") for kind in ("css", "js", "html"))
    # A script that a page smuggled into a URL could not run, and nothing can be loaded.
    hashes = f"style-src {_csp_hash(style)}; script-src {_csp_hash(script)}"
    filled = {
        "policy": f"default-src 'none'; img-src data:; {hashes}; base-uri 'none'",
        "title": escape(replace_invalid_xml(f"{title}: {about}")),
        "style": style,
        "script": script,
        "body": to_html(head) + to_html(h("main", shown)),
    }
    # In one pass, so that a placeholder inside of a filled-in text stays text.
    return re.sub(r"{(policy|title|style|script|body)}", lambda place: filled[place[1]], template)


def _csp_hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def write_report(report: Report, path: str | Path) -> None:
    """Write the report: as JSON if the path ends with .json, else as HTML. A file is replaced only by a whole one."""
    path = Path(path)
    text = json.dumps(asdict(report), indent=1) if path.suffix == ".json" else render_report(report)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8", errors="replace")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


MAX_CLUSTERS, MAX_MEMBERS, MAX_AUDITED, MAX_CHANGE_ROWS = 50, 5, 30, 100
"""How many clusters, near pages and stubs a report shows, repeats of each cluster, dropped pages, and changes by site
and run."""
MAX_REPLAYED = 20_000
"""Pages whose URLs a report learns from, which takes a second or two."""


@dataclass(frozen=True, slots=True)
class CrawlFacts:
    """What a report says of a crawl that only the crawl itself has counted."""

    kinds: Counter[str]
    dropped: int
    unjudged: Counter[str]
    savings: Savings
    warnings: tuple[str, ...] = ()
    audit: tuple[AuditedPair, ...] = ()
    """Dropped pages with the lines that differ."""
    url_savings: UrlSavings | None = None
    """What the crawl learned from URLs, if it skipped any."""


async def build_report(
    store: FingerprintStore,
    settings: DedupSettings,
    *,
    name: str,
    run: str | None = None,
    crawl: CrawlFacts | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Report:
    """Build the report of a store, or of one run in it.

    1. Read the notes that runs have left about the past of pages, and about what pages were compared with.
    2. Read all records once: count them, sample dropped pages, and find the sites' biggest clusters and near pages.
    3. Read the sites of these and of sampled pages again, for members and originals.

    ``name`` is the store's URL without its password; ``crawl`` is what the crawl itself counted, if a crawl writes
    the report at its end. ``progress`` is called with the number of records that were read.
    """
    history = await read_run_history(store, run=run)
    compared = await read_compared_pages(store)
    runs, totals, times = tallies.RunTally(), tallies.VerdictTally(), tallies.TimelineTally()
    sites, audit = tallies.SiteTally(history), tallies.AuditSample(MAX_AUDITED, compared)
    clusters, near = Clusters(MAX_CLUSTERS, MAX_MEMBERS, run), NearPages(compared, MAX_CLUSTERS)
    replay, stubs, read = tallies.Replay(MAX_REPLAYED), list[Stub](), count(1)
    async for site, record in live_records(store, None):
        progress(next(read))
        runs.add(record)
        if run is None or record.run == run:
            totals.add(record)
            times.add(record)
            for tally in (sites, clusters, audit, near, replay):
                tally.add(site, record)
            if record.state == "stub" and len(stubs) < MAX_CLUSTERS:
                fp = fingerprint_of(record)
                stubs.append(Stub(site, record.url, fp.total if fp else 0))
    for home in clusters.sites | near.sites | (audit.sites if crawl is None else set()):
        async for site, record in live_records(store, home):
            progress(next(read))
            clusters.add_member(site, record)
            audit.add_original(site, record)
            near.add_original(site, record)
    counted = totals.kinds if crawl is None else crawl.kinds
    kinds = {kind: counted[kind] for kind in VERDICT_KINDS if counted[kind]}
    return Report(
        store=name,
        run=run,
        made_at=time.time(),
        mode=settings.mode,
        drop=settings.drop,
        identical=settings.identical,
        near=settings.near,
        pages=sum(kinds.values()),
        kinds=kinds,
        dropped=totals.states["duplicate"] if crawl is None else crawl.dropped,
        unjudged=dict((totals.unjudged if crawl is None else crawl.unjudged).most_common()),
        savings=None if crawl is None else crawl.savings,
        warnings=(*tallies.find_warnings(totals, settings), *(crawl.warnings if crawl else ())),
        similarities=totals.similarities,
        timeline=times.timeline,
        clusters=tuple(clusters.clusters),
        cluster_count=clusters.total,
        near_pages=near.pages,
        near_count=near.total,
        stubs=tuple(stubs),
        sites=sites.rows,
        site_count=sites.count,
        url_savings=(crawl.url_savings if crawl else None)
        or await savings_from_notes(store, run=run)
        or replay.url_savings,
        drift=sites.drift,
        changes=tuple(history.changes[:MAX_CHANGE_ROWS]),
        runs=runs.rows,
        audit=audit.pairs if crawl is None else crawl.audit,
    )
