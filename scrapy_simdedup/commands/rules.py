"""``rules``: which parts of URLs do not change the page, as crawls learned it or as far as a store can teach it."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import asdict

from scrapy_simdedup.batch.files import open_output
from scrapy_simdedup.commands.console import NO, YES, Action, Context, Soft, StyledLine, format_table, positive_int
from scrapy_simdedup.crawl.url_skipping.skipper import load_rule_files
from scrapy_simdedup.display import plural
from scrapy_simdedup.report.data import UrlSavings
from scrapy_simdedup.report.url_rules import Replay, remembered_rules, savings_from_notes
from scrapy_simdedup.urls import Rule, export_obstacle, export_own_rules, export_rules


def add_options(parser: ArgumentParser) -> None:
    """Which rules are shown, how many, and the file that they are exported to."""
    add = parser.add_argument
    add("--site", help="of this site alone")
    add("--run", help="as this run learned them, where crawls learned from URLs (SIMDEDUP_URL_LEARNING)")
    add("-n", "--limit", type=positive_int, default=30, metavar="N", help="rules shown; default: 30")
    add("-o", "--output", metavar="FILE", help="where the rules in force go, as JSON")
    add(
        "--form",
        choices=("discarder", "simdedup"),
        default="discarder",
        help="of the file: as duplicate-url-discarder reads it, or with all that SIMDEDUP_URL_RULES reads; "
        "default: discarder",
    )


async def run(context: Context) -> int:
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
    data, lines = asdict(savings), list(_text(savings, options.limit, context.console.width))
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
    """What the file has, and why it lacks the other rules."""
    number = sum(rule.in_force for rule in savings.rules)
    form = "our own form" if own else "the form of duplicate-url-discarder"
    yield ""
    yield StyledLine(f"{name} has {number - len(unwritten):,} of {plural(number, 'rule')} in force, in {form}.")
    for rule, obstacle in unwritten:
        yield f"  not {rule} in {rule.pattern} on {rule.site}: {obstacle}"
    if not own and any(export_obstacle(rule, own=True) is None for rule, _ in unwritten):
        yield Soft("--form simdedup writes more of them, for SIMDEDUP_URL_RULES")


RULES = Action(
    "tell which parts of URLs do not change the page, and how many fetches that would have saved", run, add_options
)


def _text(savings: UrlSavings, limit: int, width: int) -> Iterator[str]:
    share = savings.saved / savings.pages if savings.pages else 0.0
    saved = f"saved {savings.saved:,} of {savings.pages:,} fetches ({share:.0%})"
    yield StyledLine(
        f"Learning from URLs {saved}"
        if savings.by_crawl
        else f"A crawl that learns from URLs would have {saved}, and lost {savings.lost:,} contents"
    )
    yield ""
    rows = [
        (
            *(rule.skipped, rule.successes, rule.failures, str(rule), rule.pattern),
            rule.site if rule.in_force else f"{rule.site} (refuted)",
        )
        for rule in savings.rules[:limit]
    ]
    yield from format_table(("#saved", "#same page", "#another", "does not matter", "in", "on"), rows, width)
