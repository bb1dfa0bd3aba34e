"""``dedupe FEED``: the items of a feed, or the pages of an archive, without those that repeat others."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from scrapy_simdedup.commands.call import YES
from scrapy_simdedup.commands.feeds import FORMATS, Fields, Warc
from scrapy_simdedup.commands.files import reading, writing
from scrapy_simdedup.commands.progress import share_of
from scrapy_simdedup.commands.stores import key_in_a_crawl
from scrapy_simdedup.detect.detector import NearDuplicateDetector
from scrapy_simdedup.detect.verdict import Verdict
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.page.claims import claimed_url
from scrapy_simdedup.wording import plural

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Iterator

    from scrapy_simdedup.commands.call import Call
    from scrapy_simdedup.commands.feeds import Entry

PASSED_ON = frozenset({"head", "no_page"})
"""What is no item, such as the names of the columns: it goes along with those that are kept."""

SUMMARY = "take the repeats out of a feed (JSON lines or CSV) or an archive (WARC), with the verdicts of a crawl"


def add_options(parser: ArgumentParser) -> None:
    """A feed, and where what is kept goes."""
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


def run(call: Call) -> int:
    """Take them out."""
    options = call.options
    name = options.feed.removesuffix(".gz").rpartition(".")[2].lower()
    form = FORMATS.get(options.format or name)
    if form is None:
        raise SimdedupError(f"{options.feed} is no .jsonl, .csv or .warc file; say with --format what it is")
    fields = Fields(options.html_field, options.fields.split(",") if options.fields else call.settings.item_fields)
    with ExitStack() as files:
        feed = files.enter_context(reading(options.feed))
        keep: Callable[[Entry], None] = lambda _: None  # noqa: E731
        if options.output:
            keep = form.writer(files.enter_context(writing(options.output, compress=form is not Warc)))
        verdicts = files.enter_context(writing(options.verdicts)) if options.verdicts else None
        sieve = Sieve(call, f"items of {Path(options.feed).name}")
        asyncio.run(sieve.pour(form.read(feed, fields), keep, verdicts, share_of(feed)))
    if options.output == "-":
        call.console.complain(sieve.text())
    else:
        call.console.answer(sieve.as_dict(), [sieve.text()])
    return YES


class Sieve:
    """What lets through what is new.

    Args:
        call: its settings say what is dropped.
        site: the name under which items that hold no page are compared.
    """

    def __init__(self, call: Call, site: str) -> None:
        self._call, self._site = call, site
        self._detector = NearDuplicateDetector(settings=call.settings)
        self.read = 0
        self.dropped = 0
        self.kinds: Counter[str] = Counter()
        """Verdicts by kind."""

    async def pour(
        self,
        entries: Iterator[Entry],
        keep: Callable[[Entry], None],
        verdicts: IO[bytes] | None,
        share: Callable[[int], float] | None,
    ) -> None:
        """Judge one after the other, and hand on what is kept.

        Args:
            entries: what there is.
            keep: is given what is kept.
            verdicts: where the verdicts go.
            share: how much of the feed was read.
        """
        await self._detector.open()
        try:
            with self._call.console.progress("items judged", share=share) as show:
                for entry in entries:
                    if entry.unjudged in PASSED_ON:
                        keep(entry)
                        continue
                    verdict = await self._judge(entry)
                    self.read += 1
                    self.kinds[verdict.kind] += 1
                    if verdict.is_duplicate and self._call.settings.mode != "observe":
                        self.dropped += 1
                    else:
                        keep(entry)
                    if verdicts is not None:
                        verdicts.write(json.dumps(_plain(entry, verdict)).encode() + b"\n")
                    show(self.read)
        finally:
            await self._detector.close()

    async def _judge(self, entry: Entry) -> Verdict:
        if entry.unjudged:
            return Verdict("unjudged", reason=entry.unjudged)
        # What has no address of its own is not another visit of what came before.
        is_page = entry.html is not None and entry.url
        key, site = (key_in_a_crawl(entry.url), None) if is_page else (secrets.token_bytes(16), self._site)
        claimed = None
        if entry.html is None:
            fp = self._detector.read_texts(entry.texts)
        else:
            claimed = claimed_url(entry.html, entry.url)
            fp = await self._detector.read(entry.html, url=entry.url, key=key)
        verdict = await self._detector.judge_fingerprint(
            fp, url=entry.url, key=key, site=site, keep_pending=True, claimed=claimed
        )
        await self._detector.confirm(verdict.page)
        # A crawl asks for a URL once; what comes under it again in one feed and is the same is a repeat.
        again = verdict.kind == "unchanged" and verdict.original_run == self._detector.run
        return replace(verdict, is_duplicate=True) if again else verdict

    def as_dict(self) -> dict[str, Any]:
        """What came of it."""
        return {"read": self.read, "kept": self.read - self.dropped, "dropped": self.dropped, "kinds": self.kinds}

    def text(self) -> str:
        """The same in lines."""
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in self.kinds.most_common()) or "there were none"
        return f"{plural(self.read, 'item')}: {self.read - self.dropped:,} kept, {self.dropped:,} dropped ({kinds})"


def _plain(entry: Entry, verdict: Verdict) -> dict[str, Any]:
    names = ("kind", "is_duplicate", "original", "similarity", "distance", "reason", "supersedes")
    return {"url": entry.url, **{name: getattr(verdict, name) for name in names}}
