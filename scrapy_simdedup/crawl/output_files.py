"""The files that a crawl writes: the feed of dropped pages and the report, and the placeholders in their paths."""

from __future__ import annotations

import csv
import json
import logging
import re
import zlib
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

from scrapy import Spider
from scrapy.http import Response

from scrapy_simdedup.crawl import Crawl
from scrapy_simdedup.crawl.exceptions import FailSafe
from scrapy_simdedup.crawl.url_skipper import UrlSkipper
from scrapy_simdedup.detect.verdict import Verdict
from scrapy_simdedup.errors import SettingError
from scrapy_simdedup.page.page import read_page
from scrapy_simdedup.report import AuditedPair, Savings
from scrapy_simdedup.report.comparison import Difference, Line, diff_lines, role_label
from scrapy_simdedup.report.neighbours import Reservoir
from scrapy_simdedup.settings import DedupSettings

logger = logging.getLogger(__name__)
_FIND_NAMES = re.compile(r"%\((.*?)\)").findall
FIELDS = "url", "original", "similarity", "kind", "own_words"
"""What a line of the feed has, in this order."""
TYPES = {"similarity": "double", "own_words": "int64"}
"""The types of columns of Parquet that hold no texts, by their names."""
ROWS_PER_GROUP = 10_000
"""Rows of a table that are held until they are written together."""
MAX_TEXT_LENGTH = 100_000
MAX_SHOWN_LINES, MAX_LINE_LENGTH = 25, 400
"""Differing lines of a pair that are shown, and characters of each."""
MAX_ORIGINALS, MAX_PAIRS = 300, 30
"""How many texts of kept pages are held for the report, and how many dropped pages are shown beside them."""


def with_filled_placeholders(settings: DedupSettings, spider: Spider | None, now: datetime) -> DedupSettings:
    """The settings with paths in which the time and attributes of the spider stand for placeholders, as in ``FEEDS``.

    Raises:
        SettingError: a placeholder stands for nothing.
    """
    time = now.isoformat(timespec="seconds").replace(":", "-")
    known = {"time": time, "batch_time": time, "batch_id": 1}

    def filled(setting: str, path: str) -> str:
        try:
            values = {name: known.get(name) or getattr(spider, name) for name in _FIND_NAMES(path)}
            return path % values if "%(" in path else path  # else a percent sign is one
        except (AttributeError, KeyError, TypeError, ValueError) as exc:
            attribute = "an attribute of the spider such as %(name)s"
            remedy = f"write %(time)s, or {attribute}, and %% for a percent sign ({exc})"
            raise SettingError(setting, path, remedy) from None

    report = tuple(filled("SIMDEDUP_REPORT", path) for path in settings.report)
    feed = tuple(filled("SIMDEDUP_DROPPED_FEED", path) for path in settings.dropped_feed)
    return replace(settings, report=report, dropped_feed=feed)


class DroppedFeed:
    """Writes a line for each dropped page, with its original. Like Scrapy's feeds it appends to an existing file.

    By its name a file has JSON lines, CSV, or a table of Parquet, which is written when the crawl ends. No failure of
    the feed costs a page: it is logged, and no more is written to that file.
    """

    def __init__(self, paths: tuple[str, ...]) -> None:
        self._paths = paths
        self._files: dict[str, TextIO | ParquetTable] = {}

    def open(self) -> None:
        """Open the files, and make their folders."""
        for path in self._paths:
            try:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                if path.endswith(".parquet"):
                    self._files[path] = ParquetTable(Path(path))
                    continue
                # Buffered by the line, so that it can be read while the crawl runs.
                file = Path(path).open("a", buffering=1, encoding="utf-8", newline="")  # noqa: SIM115 - for the crawl
                self._files[path] = file
                if path.endswith(".csv") and not file.tell():
                    csv.writer(file).writerow(FIELDS)
            except (OSError, ValueError) as exc:
                self._give_up(path, exc)

    def write(self, url: str, verdict: Verdict) -> None:
        """Write the line of a page."""
        similarity = None if verdict.similarity is None else round(verdict.similarity, 3)
        values = url, verdict.original, similarity, verdict.kind, verdict.own_words
        row = dict(zip(FIELDS, values, strict=True))
        for path, file in list(self._files.items()):
            try:
                if isinstance(file, ParquetTable):
                    file.write(row)
                elif path.endswith(".csv"):
                    csv.writer(file).writerow(row.values())
                else:
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
            except (OSError, ValueError) as exc:  # noqa: PERF203 - as above
                self._give_up(path, exc)

    def close(self) -> None:
        """Close the files."""
        for path, file in list(self._files.items()):
            try:
                file.close()
            except (OSError, ValueError) as exc:  # noqa: PERF203 - as above
                self._give_up(path, exc)
        self._files.clear()

    def _give_up(self, path: str, exc: Exception) -> None:
        logger.error("SIMDEDUP_DROPPED_FEED: the dropped pages are no longer written to %s: %s", path, exc)
        file = self._files.pop(path, None)
        if isinstance(file, ParquetTable):
            file.discard()
        elif file is not None:
            with suppress(OSError):
                file.close()


class ParquetTable:
    """A table of Apache Parquet; the rows that the file has already come first. It is there once it is complete."""

    def __init__(self, path: Path) -> None:
        # Few crawls want it, and the package is large.
        self._pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
        self._schema = self._pyarrow.schema(
            [(name, self._pyarrow.type_for_alias(TYPES.get(name, "string"))) for name in FIELDS]
        )
        self._path, self._part = path, path.with_name(path.name + ".part")
        self._rows: list[dict[str, Any]] = []
        self._writer = parquet.ParquetWriter(self._part, self._schema)
        try:
            if path.exists():
                for batch in parquet.ParquetFile(path).iter_batches(batch_size=ROWS_PER_GROUP):
                    self._rows = batch.to_pylist()
                    self._write_group()
        except (OSError, ValueError):
            self.discard()
            raise

    def write(self, row: dict[str, Any]) -> None:
        """Add a row."""
        self._rows.append(row)
        if len(self._rows) >= ROWS_PER_GROUP:
            self._write_group()

    def close(self) -> None:
        """Write what is left, and put the table in its place."""
        self._write_group()
        self._writer.close()
        self._part.replace(self._path)

    def discard(self) -> None:
        """Leave the file as it was."""
        with suppress(OSError, ValueError):
            self._writer.close()
        with suppress(OSError):
            self._part.unlink(missing_ok=True)

    def _write_group(self) -> None:
        if self._rows:
            self._writer.write_table(self._pyarrow.Table.from_pylist(self._rows, schema=self._schema))
            self._rows = []


@dataclass(frozen=True, slots=True)
class DroppedPair:
    """A dropped page beside its original, with the packed texts of both."""

    url: str
    verdict: Verdict
    original: bytes
    dropped: bytes

    def audited(self) -> AuditedPair:
        """The pair as the report shows it, with the lines that differ."""
        texts = ([Line(*line) for line in json.loads(zlib.decompress(text))] for text in (self.original, self.dropped))
        found = diff_lines(*texts)
        shown = tuple(
            Difference(line.role, *(text and text[:MAX_LINE_LENGTH] for text in line[1:]))
            for line in found[:MAX_SHOWN_LINES]
        )
        return AuditedPair(
            original=self.verdict.original,
            dropped=self.url,
            similarity=self.verdict.similarity or 0.0,
            distance=self.verdict.distance,
            facts=(),
            lines=shown,
            more=len(found) - len(shown),
            own_words=self.verdict.own_words,
        )


class Reporter:
    """Keeps a random sample of texts while the crawl runs, and writes the report when it ends.

    However long the crawl, the sample has some originals, and some of the pages that were dropped in favour of them. No
    failure of the reporter costs a page, or keeps the crawl from its end.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._settings, self._detector, self._stats = crawl.settings, crawl.detector, crawl.stats
        self._originals: Reservoir[str, bytes] = Reservoir(MAX_ORIGINALS)
        self._pairs: Reservoir[str, DroppedPair] = Reservoir(MAX_PAIRS)

    def sample_page(self, response: Response, verdict: Verdict) -> None:
        """Add a page that got its verdict to the sample, if chance wants it."""
        with FailSafe("%s could not be sampled for the report", response.url):
            if verdict.page is not None and self._originals.wants(response.url):
                self._originals.put(response.url, self._text(response))
            elif verdict.is_duplicate and verdict.original is not None and self._pairs.wants(response.url):
                original = self._originals.get(verdict.original)
                if original is not None:
                    self._pairs.put(response.url, DroppedPair(response.url, verdict, original, self._text(response)))

    async def write(self, skipper: UrlSkipper, seconds_per_page: float, warnings: list[str]) -> None:
        """Write the report of this run, while its store is still open, with warnings of promises that were not kept."""
        if not self._settings.report:
            return
        # These bring charts and templates, which few crawls want.
        from scrapy_simdedup.report.document import CrawlFacts, build_report, write_report  # noqa: PLC0415

        stats, detector = self._stats, self._detector
        with FailSafe("The report could not be written"):  # the crawl is over, and must come to its end
            savings = Savings(
                bytes=stats.dropped_bytes,
                seconds=stats.dropped * seconds_per_page,
                items=stats["items/dropped"],
                fetches=stats.fetches_saved,
                cost_seconds=stats.extract_seconds,
            )
            crawl = CrawlFacts(
                kinds=Counter(stats.kinds),
                dropped=stats.dropped,
                unjudged=stats.unjudged,
                savings=savings,
                warnings=tuple(f"{note[0].upper()}{note[1:]}." for note in warnings),
                audit=tuple(pair.audited() for pair in self._pairs.values()),
                url_savings=skipper.url_savings,
            )
            report = await build_report(
                detector.store, self._settings, name=detector.store_name, run=detector.run, crawl=crawl
            )
            for path in self._settings.report:
                try:
                    write_report(report, path)
                except OSError as exc:  # noqa: PERF203 - the other files are written nevertheless
                    logger.error("SIMDEDUP_REPORT: the report could not be written to %s: %s", path, exc)  # noqa: TRY400
                else:
                    logger.info("The report is in %s", path)

    def _text(self, response: Response) -> bytes:
        """The text of a page's blocks with their roles, compressed."""
        lines, left = [], MAX_TEXT_LENGTH
        for block in read_page(response.text, max_bytes=self._settings.max_page_bytes).blocks:
            text = " ".join(block.text.split())[:left]
            if text:
                lines.append((role_label(block), text))
                left -= len(text)
        return zlib.compress(json.dumps(lines).encode())
