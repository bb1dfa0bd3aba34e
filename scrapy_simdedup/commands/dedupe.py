"""``dedupe``: takes the repeats out of a feed of items, or out of an archive of pages."""

from __future__ import annotations

import asyncio
import io
import json
from argparse import ArgumentParser
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from itertools import chain
from pathlib import Path
from typing import IO

from scrapy_simdedup.batch import things
from scrapy_simdedup.batch.feeds import FeedFormat
from scrapy_simdedup.batch.files import FORMATS, JSON, format_of, open_input, open_output, sniffed
from scrapy_simdedup.batch.verdict_files import Counts
from scrapy_simdedup.batch.warc import Warc
from scrapy_simdedup.commands.console import YES, Action, Context, positive_int, read_share
from scrapy_simdedup.crawl.worker_pool import WorkerPool
from scrapy_simdedup.detect.detector import NearDuplicateDetector
from scrapy_simdedup.detect.names import PageSettings
from scrapy_simdedup.detect.site_judge import SiteJudge
from scrapy_simdedup.detect.verdict import Verdict
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.unjudged import UNJUDGED

ENTRIES_PER_JOB = 8
"""Entries that are read ahead for each process."""
VERDICT_FIELDS = ("kind", "is_duplicate", "original", "similarity", "distance", "reason", "supersedes")
"""What ``--verdicts`` tells of each entry beside its URL."""


def _add_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    names = ".json, .jsonl, .csv, .parquet or .warc"
    add("feed", metavar="FEED", help=f"a {names} file, also with .gz or .zst; - for stdin")
    add("-o", "--output", metavar="FILE", help="where what is kept goes; - for stdout; default: nowhere")
    add("--verdicts", metavar="FILE", help="where the verdict on each goes, as JSON lines")
    add("--format", choices=("json", "jsonl", "csv", "parquet", "warc"), help="of the feed; default: by its name")
    add("-j", "--jobs", type=positive_int, default=1, metavar="N", help="processes that make fingerprints; default: 1")
    add("--html-field", metavar="NAME", help="the field that holds a page; default: html or body")
    add("--fields", metavar="A,B", help="compare the text of these fields instead; default: all that hold no URL")


async def run(context: Context) -> int:
    """Write what is kept, and print how much was dropped.

    The project's store belongs to its crawls: nothing is read from it or written to it, unless ``--store`` names it.
    """
    options = context.options
    named_format = FORMATS.get(options.format) or format_of(options.feed)
    if named_format is None:
        kinds = "no .json, .jsonl, .csv, .parquet or .warc file"
        raise SimdedupError(f"{options.feed} is {kinds}; say with --format what it is")
    if options.fields:
        fields = things.ItemFields(options.html_field, options.fields.split(","))
    else:
        fields = things.ItemFields(options.html_field, context.settings.item_fields, all_exist=False)
    with ExitStack() as files:
        feed = files.enter_context(open_input(options.feed))
        form = sniffed(named_format, feed)
        writer = FeedFormat(io.BytesIO())
        if options.output:
            written = _output_format(options.output, named_format, form)
            writer = written(files.enter_context(open_output(options.output, compress=form is not Warc)))
        verdicts = files.enter_context(open_output(options.verdicts)) if options.verdicts else None
        counts = await _dedupe(context, form.read(feed, fields), writer, verdicts, read_share(feed))
        fields.check()
        writer.close()
    text = "; ".join(counts.lines("item"))
    if options.output == "-":
        context.console.print_error(text)
    else:
        context.console.print_answer(counts.as_dict(), [text])
    return YES


DEDUPE = Action(
    "take the repeats out of a feed (JSON, CSV, Parquet) or an archive (WARC), with the verdicts of a crawl",
    run,
    (_add_options,),
)


def _output_format(name: str, named: type[FeedFormat], form: type[FeedFormat]) -> type[FeedFormat]:
    """The format of the output: by its name, or else the format of the feed."""
    wanted = format_of(name)
    if wanted in {None, form, named}:
        return form
    if wanted not in JSON or form is Warc:
        raise SimdedupError(f"{name}: what is kept of this feed is written in its own format, or as .jsonl or .json")
    return wanted


async def _dedupe(
    context: Context,
    entries: Iterator[things.FeedEntry],
    writer: FeedFormat,
    verdicts: IO[bytes] | None,
    share: Callable[[int], float] | None,
) -> Counts:
    counts = Counts()
    with context.console.progress("items judged", share=share) as show:
        async for entry, verdict in _judged(context, entries):
            if verdict is None:
                writer.keep(entry)
                continue
            if verdict.is_duplicate and context.settings.mode != "observe":
                counts.dropped += 1
                writer.drop(entry, verdict)
            else:
                writer.keep(entry)
            counts.add(verdict)
            if verdicts is not None:
                line = {"url": entry.url, **{name: getattr(verdict, name) for name in VERDICT_FIELDS}}
                verdicts.write(json.dumps(line).encode() + b"\n")
            show(counts.read)
    return counts


async def _judged(
    context: Context, entries: Iterator[things.FeedEntry]
) -> AsyncIterator[tuple[things.FeedEntry, Verdict | None]]:
    """The entries with their verdicts, in their order; None for what is passed on without being counted."""
    first = next(entries, None)
    settings, jobs = context.settings, context.options.jobs
    if context.options.store is None:
        settings = things.forgetful_settings(settings, first)
    ahead: deque[tuple[things.FeedEntry, asyncio.Task[PageFingerprint] | None]] = deque()
    async with AsyncExitStack() as stack:
        site = f"items of {Path(context.options.feed).name}"
        deduper: things.Deduper | StoreDeduper
        if context.options.store is None:
            judge = SiteJudge(settings, (settings.secret or "").encode(), settings.run or "")
            secret, deduper = judge.secret, things.Deduper(judge, site)
        else:
            detector = await stack.enter_async_context(NearDuplicateDetector(settings=settings))
            secret, deduper = detector.secret, StoreDeduper(detector, site)
        pool, of_page = WorkerPool(jobs, settings.worker_timeout, lambda _: None), PageSettings(settings)
        pool.open(secret)
        stack.push_async_callback(pool.close)
        stack.callback(lambda: [task.cancel() for _, task in ahead if task is not None])
        for entry in chain([] if first is None else [first], entries):
            task = None
            if jobs > 1 and entry.html is not None and entry.unjudged is None:
                task = asyncio.create_task(pool.fingerprint(entry.html, entry.url, of_page.of(entry.url)))
            ahead.append((entry, task))
            if jobs == 1 or len(ahead) > ENTRIES_PER_JOB * jobs:
                yield await _judge_next(deduper, ahead)
        while ahead:
            yield await _judge_next(deduper, ahead)


async def _judge_next(
    deduper: things.Deduper | StoreDeduper, ahead: deque[tuple[things.FeedEntry, asyncio.Task[PageFingerprint] | None]]
) -> tuple[things.FeedEntry, Verdict | None]:
    """Judge the first of the entries whose fingerprints are being made, so that the order of the feed is kept."""
    entry, task = ahead.popleft()
    if entry.unjudged is not None:
        return entry, Verdict("unjudged", reason=entry.unjudged) if UNJUDGED[entry.unjudged].counted else None
    fp = None if task is None else await task
    verdict = deduper.judge(entry, fp)
    return entry, verdict if isinstance(verdict, Verdict) else await verdict


class StoreDeduper:
    """Judges entries as a :class:`~scrapy_simdedup.batch.things.Deduper` does, against a store and into it."""

    def __init__(self, detector: NearDuplicateDetector, site: str) -> None:
        self._detector, self._addresses = detector, things.EntryAddresses(site, detector.run)

    async def judge(self, entry: things.FeedEntry, fp: PageFingerprint | None = None) -> Verdict:
        """The verdict on an entry that can be judged; with its fingerprint, where that is made already."""
        detector, settings = self._detector, self._detector.settings_for(entry.url)
        key, site = self._addresses.of(entry, settings.scope)
        fp = fp or things.entry_fingerprint(entry, settings, detector.settings, detector.secret)
        page = detector.page_of(fp, url=entry.url, key=key, site=site)
        verdict = await detector.judge_page(
            page._replace(canonical=things.canonical_of(entry, settings)), keep_pending=True
        )
        await detector.confirm(verdict.page)
        return self._addresses.as_repeat(verdict, site, detector.settings)
