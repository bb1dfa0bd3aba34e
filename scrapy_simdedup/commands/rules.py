"""``rules``: which parts of URLs do not change the page, as crawls learned it or as far as a store can teach it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from scrapy_simdedup.commands.call import NO, YES
from scrapy_simdedup.commands.console import count
from scrapy_simdedup.commands.files import writing
from scrapy_simdedup.commands.stores import opened, records, store_url
from scrapy_simdedup.commands.text import Strong, table
from scrapy_simdedup.crawl.rule_files import given_rules
from scrapy_simdedup.report.url_rules import Replay, lesson_of_notes
from scrapy_simdedup.urls import export_rules

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator

    from scrapy_simdedup.commands.call import Call
    from scrapy_simdedup.report.lesson import Lesson

SUMMARY = "tell which parts of URLs do not change the page, and how many fetches that would have saved"


def add_options(parser: ArgumentParser) -> None:
    """Where, how many, and where they go."""
    parser.add_argument("--site", help="of this site alone")
    parser.add_argument("--run", help="as this run learned them, where crawls learned from URLs (SIMDEDUP_URLS)")
    parser.add_argument("-n", "--limit", type=count, default=30, metavar="N", help="rules shown; default: 30")
    parser.add_argument("-o", "--output", metavar="FILE", help="where they go in the JSON of duplicate-url-discarder")


def run(call: Call) -> int:
    """Tell; no if there are none in force."""
    lesson = asyncio.run(_learn(call))
    if call.options.output:
        with writing(call.options.output) as file:
            file.write(json.dumps([rule.to_dict() for rule in export_rules(lesson.rules)], indent=1).encode())
    call.console.answer(asdict(lesson), _text(lesson, call.options.limit, call.console.width))
    return YES if any(rule.in_force for rule in lesson.rules) else NO


async def _learn(call: Call) -> Lesson:
    replay = Replay()
    async with opened(store_url(call)) as store:
        given = given_rules(call.settings.url_rules)
        noted = await lesson_of_notes(store, run=call.options.run, site=call.options.site, given=given)
        if noted is not None:
            return noted
        async for site, record in records(call, store, call.options.site, "pages met once more"):
            replay.add(site, record)
        return replay.lesson


def _text(lesson: Lesson, limit: int, width: int) -> Iterator[str]:
    share = lesson.saved / lesson.pages if lesson.pages else 0.0
    saved = f"saved {lesson.saved:,} of {lesson.pages:,} fetches ({share:.0%})"
    yield Strong(
        f"Learning from URLs {saved}"
        if lesson.by_crawl
        else f"A crawl that learns from URLs would have {saved}, and lost {lesson.lost:,} contents"
    )
    yield ""
    rows = [
        (
            *(rule.skipped, rule.successes, rule.failures, str(rule), rule.pattern),
            rule.site if rule.in_force else f"{rule.site} (refuted)",
        )
        for rule in lesson.rules[:limit]
    ]
    yield from table(("#saved", "#same page", "#another", "does not matter", "in", "on"), rows, width)
