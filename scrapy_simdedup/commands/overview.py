"""``clusters``, ``report``, ``rules`` and ``check``: repeats, all that is in a store, its URLs, whether it is sound."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from scrapy_simdedup.batch.files import open_output
from scrapy_simdedup.commands.console import (
    NO,
    SITE,
    YES,
    Action,
    Bad,
    Context,
    Good,
    Soft,
    StyledLine,
    document_path,
    format_table,
    option,
    positive_int,
)
from scrapy_simdedup.crawl.url_skipper import load_rule_files
from scrapy_simdedup.display import format_bytes, plural, redact_password
from scrapy_simdedup.errors import FingerprintMismatch
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.report import UrlSavings, clusters
from scrapy_simdedup.report.document import build_report, write_report
from scrapy_simdedup.report.history import remembered_rules, savings_from_notes
from scrapy_simdedup.report.tallies import Replay
from scrapy_simdedup.store import store_by_url
from scrapy_simdedup.store.base import Record
from scrapy_simdedup.urls import Rule, export_obstacle, export_own_rules, export_rules

SHOWN_ROWS = 20
FORMS = "discarder", "simdedup"
"""Of a file of rules: as duplicate-url-discarder reads it, or with all that ``SIMDEDUP_URL_RULES`` reads."""


@dataclass(slots=True)
class StoreSummary:
    """Counts of what a store holds."""

    store: str
    made_by: Counter[str] = field(default_factory=Counter)
    """Pages by the way in which their fingerprints were made."""
    bytes_on_disk: int | None = None
    pages: int = 0
    sites: int = 0
    states: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    runs: Counter[str] = field(default_factory=Counter)
    unreadable: int = 0
    """Records whose fingerprint is none of this version."""
    orphans: int = 0
    """Repeats whose original is not in the store any more."""

    @property
    def sound(self) -> bool:
        """Whether every record can be used."""
        return not self.unreadable

    def add(self, record: Record) -> None:
        """Count a record."""
        self.pages += 1
        self.states[record.state] += 1
        self.kinds[record.kind] += 1
        self.runs[record.run] += 1
        try:
            fp = PageFingerprint.from_bytes(record.fingerprint)
        except FingerprintMismatch:
            self.unreadable += 1
            return
        way = f"version {fp.algorithm}, {fp.bits} bits, {fp.shingle_size} words per shingle, {fp.extractor}"
        self.made_by[way] += 1

    def as_dict(self) -> dict[str, Any]:
        """The summary as JSON has it."""
        return {name: getattr(self, name) for name in self.__slots__} | {"sound": self.sound}

    def text(self) -> Iterator[str]:
        """The summary as lines for people."""
        if self.sound:
            yield Good(f"{self.store} is sound")
        else:
            yield Bad(f"{self.store} is damaged: {self.unreadable:,} records hold no fingerprint of this version")
        disk = "" if self.bytes_on_disk is None else f", {format_bytes(self.bytes_on_disk)} on disk"
        yield f"{plural(self.pages, 'page')} of {plural(self.sites, 'site')}{disk}"
        if self.orphans:
            yield f"{self.orphans:,} repeats have lost their original, which is fetched and kept again when it comes by"
        tables = {"state": self.states, "verdict": self.kinds, "run": self.runs, "fingerprints": self.made_by}
        for what, counts in tables.items():
            yield ""
            yield from format_table((what, "#pages"), counts.most_common(SHOWN_ROWS))
            if len(counts) > SHOWN_ROWS:
                yield f"and {len(counts) - SHOWN_ROWS:,} more"


async def run_check(context: Context) -> int:
    """Check the store; the answer is yes if it is sound."""
    url = context.existing_store_url
    found = StoreSummary(redact_password(url), bytes_on_disk=store_by_url(url).bytes_on_disk())
    site = None
    keys: set[bytes] = set()
    originals: list[bytes] = []
    async with context.open_store(url) as store:
        async for home, record in context.records(store, None, "pages checked"):
            if home != site:
                found.orphans += sum(original not in keys for original in originals)
                site, keys, originals = home, set(), []
                found.sites += 1
            found.add(record)
            keys.add(record.key)
            if record.state == "duplicate" and record.original is not None:
                originals.append(record.original)
    found.orphans += sum(original not in keys for original in originals)
    context.console.print_answer(found.as_dict(), found.text())
    return YES if found.sound else NO


CHECK = Action("tell whether a store is sound, and what is in it", run_check)


async def run_clusters(context: Context) -> int:
    """List the biggest clusters, or near pages; the answer is no if nothing is repeated, or near another page."""
    options = context.options
    if options.near:
        return await _run_near(context)
    top = clusters.Clusters(options.limit, options.members)
    async with context.open_store() as store:
        async for site, record in context.records(store, options.site, "pages counted"):
            top.add(site, record)
        for site in top.sites:
            async for _, record in context.records(store, site):
                top.add_member(site, record)
    found = top.clusters
    data = {"clusters": [asdict(cluster) for cluster in found], "total": top.total}
    context.console.print_answer(data, _cluster_lines(found, top.total, context.console.width))
    return YES if found else NO


async def _run_near(context: Context) -> int:
    options = context.options
    async with context.open_store() as store:
        near = clusters.NearPages(await clusters.read_compared_pages(store, options.site), options.limit)
        async for site, record in context.records(store, options.site, "pages counted"):
            near.add(site, record)
        for site in near.sites:
            async for _, record in context.records(store, site):
                near.add_original(site, record)
    pages = near.pages
    data = {"near": [asdict(page) for page in pages], "total": near.total}
    context.console.print_answer(data, _near_text(pages, near.total))
    return YES if pages else NO


CLUSTERS = Action(
    "list the pages with the most repeats, and what differs in them",
    run_clusters,
    (
        SITE,
        option("--members", type=positive_int, default=5, metavar="N", help="repeats shown of each; default: 5"),
        option("--near", action="store_true", help="list pages that are near another and were kept, and why"),
        option("-n", "--limit", type=positive_int, default=20, metavar="N", help="default: 20"),
    ),
)


def _near_text(pages: tuple[clusters.NearPage, ...], total: int) -> Iterator[str]:
    if not pages:
        yield StyledLine("No page that was kept is near another.")
        return
    of = "" if total == len(pages) else f"; the {len(pages):,} most similar:"
    yield StyledLine(f"{plural(total, 'page')} kept that {'is' if total == 1 else 'are'} near another{of}")
    for page in pages:
        yield ""
        yield page.url
        yield f"  {page.similarity:.3f}  {page.original or 'a page that nobody noted'}"
        if page.kept_by:
            yield f"  kept by {page.kept_by}"


def _cluster_lines(found: list[clusters.Cluster], total: int, width: int) -> Iterator[str]:
    many = f"{total:,} pages are repeated; those with the most repeats:"
    yield StyledLine(many if found else "No page is repeated.")
    for cluster in found:
        yield ""
        yield f"{cluster.repeats:,} × {cluster.representative or 'a page that is not in the store any more'}"
        first = "" if cluster.original in {None, cluster.representative} else f", first {cluster.original}"
        yield f"  cluster {cluster.id}, {plural(cluster.size, 'page')}{first}"
        rows = [(member.similarity, ", ".join(member.differs), member.url) for member in cluster.members]
        yield from format_table(("#similarity", "differs in", "URL"), rows, width, indent="  ")
        if cluster.repeats > len(rows):
            yield f"  and {cluster.repeats - len(rows):,} more"


async def run_report(context: Context) -> int:
    """Write the report to each file, and print its main numbers."""
    url, run, outputs = context.existing_store_url, context.options.run, context.options.output or []
    async with context.open_store(url) as store:
        with context.console.progress("records read", await store.count()) as show:
            name = redact_password(url)
            report = await build_report(store, context.settings, name=name, run=run, progress=show)
    for path in outputs:
        write_report(report, path)
    pages, sites = plural(report.pages, "page"), plural(report.site_count, "site")
    lines = [
        StyledLine(f"{pages} of {sites}, {report.dropped:,} of them repeats"),
        *(f"note: {warning}" for warning in report.warnings),
        *(f"{path}: {format_bytes(Path(path).stat().st_size)}" for path in outputs),  # noqa: ASYNC240 - all is done
    ]
    context.console.print_answer(asdict(report), lines)
    return YES


REPORT = Action(
    "write what is in a store as one HTML file to look at, or as JSON",
    run_report,
    (
        option("-o", "--output", action="append", type=document_path, metavar="FILE", help="an .html or .json file"),
        option("--run", help="of this run alone; default: of all that are in the store"),
    ),
)


async def run_rules(context: Context) -> int:
    """Show the rules and what they save; the answer is no if none is in force.

    The rules are those that crawls noted in the store; where no crawl learned from URLs, the stored pages are replayed.
    """
    options = context.options
    async with context.open_store() as store:
        given = load_rule_files(context.settings.url_rules)
        remembered = [note for note in await remembered_rules(store) if options.site in {None, note.site}]
        savings = await savings_from_notes(store, run=options.run, site=options.site, given=given)
        if savings is None:
            replay = Replay()
            async for site, record in context.records(store, options.site, "pages met once more"):
                replay.add(site, record)
            savings = replay.url_savings
    data, lines = asdict(savings), list(_rules_text(savings, options.limit, context.console.width))
    count = sum(rule.holds for note in remembered for rule in note.rules)
    data["remembered"] = count
    if count:
        lines += ["", Soft(f"the next crawl begins with {plural(count, 'rule')} as candidates (SIMDEDUP_URL_REMEMBER)")]
    if options.output:
        own = options.form == "simdedup"
        made = export_own_rules(savings.rules) if own else export_rules(savings.rules)
        with open_output(options.output) as file:
            file.write(json.dumps([rule.to_dict() for rule in made], indent=1).encode() + b"\n")
        unwritten = [
            (rule, obstacle)
            for rule in savings.rules
            if rule.in_force and (obstacle := export_obstacle(rule, own=own)) is not None
        ]
        data["unwritten"] = [{**asdict(rule), "obstacle": obstacle} for rule, obstacle in unwritten]
        lines += _unwritten(options.output, savings, unwritten, own=own)
    context.console.print_answer(data, lines)
    return YES if any(rule.in_force for rule in savings.rules) else NO


def _unwritten(name: str, savings: UrlSavings, unwritten: list[tuple[Rule, str]], *, own: bool) -> Iterator[str]:
    """How many rules the file has, and why it lacks the others."""
    number = sum(rule.in_force for rule in savings.rules)
    form = "our own form" if own else "the form of duplicate-url-discarder"
    yield ""
    yield StyledLine(f"{name} has {number - len(unwritten):,} of {plural(number, 'rule')} in force, in {form}.")
    for rule, obstacle in unwritten:
        yield f"  not {rule} in {rule.pattern} on {rule.site}: {obstacle}"
    if not own and any(export_obstacle(rule, own=True) is None for rule, _ in unwritten):
        yield Soft("--form simdedup writes more of them, for SIMDEDUP_URL_RULES")


RULES = Action(
    "tell which parts of URLs do not change the page, and how many fetches that would have saved",
    run_rules,
    (
        SITE,
        option("--run", help="as this run learned them, where crawls learned from URLs (SIMDEDUP_URL_LEARNING)"),
        option("-n", "--limit", type=positive_int, default=30, metavar="N", help="rules shown; default: 30"),
        option("-o", "--output", metavar="FILE", help="where the rules in force go, as JSON"),
        option("--form", choices=FORMS, default=FORMS[0], help="for which plugin the file is; default: discarder"),
    ),
)


def _rules_text(savings: UrlSavings, limit: int, width: int) -> Iterator[str]:
    yield StyledLine(savings.sentence)
    yield ""
    rows = [
        (
            *(rule.skipped, rule.successes, rule.failures, str(rule), rule.pattern),
            rule.site if rule.in_force else f"{rule.site} (refuted)",
        )
        for rule in savings.rules[:limit]
    ]
    yield from format_table(("#saved", "#same page", "#another", "does not matter", "in", "on"), rows, width)
