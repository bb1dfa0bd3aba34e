"""``dedupe``: takes the repeats out of a feed of items, or out of an archive of pages."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from scrapy import Request
from scrapy.utils.request import fingerprint as request_fingerprint

from scrapy_simdedup.commands.console import YES, Action, Context, read_share
from scrapy_simdedup.commands.feeds import FORMATS, EntryWriter, FeedEntry, ItemFields, Warc
from scrapy_simdedup.commands.stores import open_detector, open_input, open_output
from scrapy_simdedup.detect.names import url_key
from scrapy_simdedup.detect.verdict import Verdict
from scrapy_simdedup.display import plural
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.page.canonical_link import declared_canonical_url
from scrapy_simdedup.unjudged import UNJUDGED

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Iterator, Sequence

    from scrapy_simdedup.detect.detector import NearDuplicateDetector
    from scrapy_simdedup.settings import DedupSettings


def add_options(parser: ArgumentParser) -> None:
    """The feed, its fields, and the files that are written."""
    parser.add_argument("feed", metavar="FEED", help="a .jsonl, .csv or .warc file, also with .gz; - for stdin")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where what is kept goes; - for stdout; default: nowhere"
    )
    parser.add_argument("--verdicts", metavar="FILE", help="where the verdict on each goes, as JSON lines")
    parser.add_argument("--format", choices=("jsonl", "csv", "warc"), help="of the feed; default: by its name")
    parser.add_argument("--html-field", metavar="NAME", help="the field that holds a page; default: html or body")
    parser.add_argument(
        "--fields", metavar="A,B", help="compare the text of these fields instead; default: all that hold no URL"
    )


async def run(context: Context) -> int:
    """Write what is kept, and print how much was dropped."""
    options = context.options
    name = options.feed.removesuffix(".gz").rpartition(".")[2].lower()
    form = FORMATS.get(options.format or name)
    if form is None:
        raise SimdedupError(f"{options.feed} is no .jsonl, .csv or .warc file; say with --format what it is")
    fields = ItemFields(options.html_field, options.fields.split(",") if options.fields else _fields(context.settings))
    with ExitStack() as files:
        feed = files.enter_context(open_input(options.feed))
        keep: EntryWriter = lambda _: None  # noqa: E731
        if options.output:
            keep = form.writer(files.enter_context(open_output(options.output, compress=form is not Warc)))
        verdicts = files.enter_context(open_output(options.verdicts)) if options.verdicts else None
        deduper = Deduper(context, f"items of {Path(options.feed).name}")
        await deduper.judge_all(form.read(feed, fields), keep, verdicts, read_share(feed))
    if options.output == "-":
        context.console.print_error(deduper.text())
    else:
        context.console.print_answer(deduper.as_dict(), [deduper.text()])
    return YES


DEDUPE = Action(
    "take the repeats out of a feed (JSON lines or CSV) or an archive (WARC), with the verdicts of a crawl",
    run,
    add_options,
)


class Deduper:
    """Judges the entries of a feed; those that hold no page are compared as the pages of one site of its own."""

    def __init__(self, context: Context, site: str) -> None:
        self._context, self._site = context, site
        self.read: int = 0
        self.dropped: int = 0
        self.kinds: Counter[str] = Counter()
        """Entries by the kind of their verdicts."""

    async def judge_all(
        self,
        entries: Iterator[FeedEntry],
        keep: EntryWriter,
        verdicts: IO[bytes] | None,
        share: Callable[[int], float] | None,
    ) -> None:
        """Judge the entries, give those that are kept to ``keep``, and write the verdicts to a file, if it is given."""
        show_only = self._context.settings.mode == "observe"
        async with open_detector(self._context) as detector:
            with self._context.console.progress("items judged", share=share) as show:
                for entry in entries:
                    if entry.unjudged and not UNJUDGED[entry.unjudged].counted:
                        keep(entry)
                        continue
                    verdict = await self._judge(detector, entry)
                    self.read += 1
                    self.kinds[verdict.kind] += 1
                    if verdict.is_duplicate and not show_only:
                        self.dropped += 1
                    else:
                        keep(entry)
                    if verdicts is not None:
                        verdicts.write(json.dumps(_verdict_dict(entry, verdict)).encode() + b"\n")
                    show(self.read)

    async def _judge(self, detector: NearDuplicateDetector, entry: FeedEntry) -> Verdict:
        if entry.unjudged:
            return Verdict("unjudged", reason=entry.unjudged)
        # An entry without a URL of its own is no later version of another, so its key is a new one.
        is_page = entry.html is not None and entry.url
        key, site = (_request_key(entry.url), None) if is_page else (secrets.token_bytes(16), self._site)
        if entry.html is None:
            fp = detector.fingerprint_texts(entry.texts, identity=entry.identity)
            page = detector.page_of(fp, url=entry.url, key=key, site=site)
        else:
            canonical = declared_canonical_url(entry.html, entry.url)
            page = await detector.fetched(entry.html, url=entry.url, key=key, site=site, canonical=canonical)
        verdict = await detector.judge_page(page, keep_pending=True)
        await detector.confirm(verdict.page)
        # A crawl requests a URL once; a second entry with the same URL and the same content is a repeat.
        again = verdict.kind == "unchanged" and verdict.original_run == detector.run
        return replace(verdict, is_duplicate=True) if again else verdict

    def as_dict(self) -> dict[str, Any]:
        """The counts as JSON has them."""
        return {"read": self.read, "kept": self.read - self.dropped, "dropped": self.dropped, "kinds": self.kinds}

    def text(self) -> str:
        """The counts as a line for people."""
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in self.kinds.most_common()) or "there were none"
        return f"{plural(self.read, 'item')}: {self.read - self.dropped:,} kept, {self.dropped:,} dropped ({kinds})"


def _fields(settings: DedupSettings) -> Sequence[str]:
    """The fields of the setting; those of all classes together, as the items of a feed have none."""
    fields = settings.item_fields
    return list(dict.fromkeys(chain(*fields.values()))) if isinstance(fields, Mapping) else fields


def _request_key(url: str) -> bytes:
    """The key that a crawl gives the page at a URL: Scrapy's fingerprint of the request for it."""
    try:
        return request_fingerprint(Request(url))
    except ValueError:  # no URL that could be fetched
        return url_key(url)


def _verdict_dict(entry: FeedEntry, verdict: Verdict) -> dict[str, Any]:
    names = ("kind", "is_duplicate", "original", "similarity", "distance", "reason", "supersedes")
    return {"url": entry.url, **{name: getattr(verdict, name) for name in names}}
