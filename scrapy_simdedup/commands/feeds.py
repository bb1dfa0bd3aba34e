"""The formats of feeds that ``dedupe`` reads and writes: JSON lines, CSV, and web archives (WARC)."""

from __future__ import annotations

import codecs
import copy
import csv
import io
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from scrapy.http import Headers, HtmlResponse
from scrapy.responsetypes import responsetypes

from scrapy_simdedup.crawl.items import comparable_item, item_url
from scrapy_simdedup.errors import SimdedupError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simdedup.unjudged import UnjudgedReason

HTML_FIELDS = ("html", "body")
"""The fields in which an item is likely to hold a whole page."""


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """An item of a feed, or a record of an archive."""

    raw: Any
    """The entry as it was read, to be written again."""
    url: str = ""
    """The URL of the entry's page; empty if it names none."""
    html: str | None = None
    """The page, if the entry holds one."""
    texts: tuple[str, ...] = ()
    """The texts of an item that holds no page."""
    identity: str = ""
    """What copies of such an item have in common to the letter: its numbers."""
    unjudged: UnjudgedReason | None = None
    """Why the entry is not judged; None if it is."""


@dataclass(frozen=True, slots=True)
class ItemFields:
    """The fields of an item that are compared."""

    html: str | None
    """The field that holds a page; None tries :data:`HTML_FIELDS`."""
    texts: Sequence[str]
    """The fields that make an item that holds no page; none: all fields that hold no URL."""

    def entry(self, item: Any, raw: Any) -> FeedEntry:
        """The entry of an item; anything but a dictionary is no item."""
        if not isinstance(item, dict):
            return FeedEntry(raw, unjudged="no_item")
        url = item_url(item)
        names = [self.html] if self.html else [] if self.texts else HTML_FIELDS
        page = next((item[name] for name in names if isinstance(item.get(name), str)), None)
        if page is not None:
            return FeedEntry(raw, url, html=page)
        texts, identity = comparable_item(item, self.texts)
        return FeedEntry(raw, url, texts=texts, identity=identity, unjudged=None if texts else "empty")


EntryWriter: TypeAlias = Callable[[FeedEntry], object]
"""Writes an entry to a file."""


class JsonLines:
    """One JSON object per line."""

    @staticmethod
    def read(file: IO[bytes], fields: ItemFields) -> Iterator[FeedEntry]:
        """The entries of a feed; a line that holds no item gives an unjudged one."""
        for line in file:
            entry = FeedEntry(line, unjudged="no_item")
            with suppress(ValueError, RecursionError):  # the latter for what is nested too deep
                entry = fields.entry(json.loads(line), line)
            yield entry

    @staticmethod
    def writer(file: IO[bytes]) -> EntryWriter:
        """A function that writes entries to a file."""
        return lambda entry: file.write(entry.raw)


class Csv:
    """Comma-separated values under a row of names."""

    @staticmethod
    def read(file: IO[bytes], fields: ItemFields) -> Iterator[FeedEntry]:
        """The entries of a feed; the row of names is the first of them."""
        csv.field_size_limit(2**31 - 1)  # a page is longer than what csv expects of a field
        rows = csv.reader(codecs.iterdecode(file, "utf-8-sig", "replace"))
        names = next(rows, None)
        if names is None:
            return
        yield FeedEntry(names, unjudged="head")
        for row in rows:
            yield fields.entry(dict(zip(names, row, strict=False)), row)

    @staticmethod
    def writer(file: IO[bytes]) -> EntryWriter:
        """A function that writes entries to a file."""
        rows = csv.writer(codecs.getwriter("utf-8")(file))
        return lambda entry: rows.writerow(entry.raw)


class Warc:
    """A web archive (ISO 28500), compressed or not; its pages are judged, everything else is passed on."""

    @staticmethod
    def read(file: IO[bytes], fields: ItemFields) -> Iterator[FeedEntry]:  # noqa: ARG004 - an archive has none
        """The entries of an archive.

        Raises:
            SimdedupError: warcio is not installed, or the archive is damaged.
        """
        for record, body in _warc_records(file):
            record.raw_stream = io.BytesIO(body)
            if record.rec_type == "response" and record.http_headers is not None:
                yield _warc_entry(record, body)
            else:
                yield FeedEntry(record, unjudged="no_page")

    @staticmethod
    def writer(file: IO[bytes]) -> EntryWriter:
        """A function that writes entries to a file, each record compressed by itself, as archives are."""
        archive = _warcio("warcwriter").WARCWriter(file, gzip=True)
        return lambda entry: archive.write_record(entry.raw)


FORMATS: dict[str, type[JsonLines | Csv | Warc]] = {
    **dict.fromkeys(("jsonl", "jsonlines", "jl", "ndjson"), JsonLines),
    "csv": Csv,
    "warc": Warc,
}
"""The formats, by the ending of a file's name without .gz."""


def _warc_records(file: IO[bytes]) -> Iterator[tuple[Any, bytes]]:
    archive = _warcio("archiveiterator").ArchiveIterator(file)
    for number in count(1):
        try:
            record = next(archive, None)
            body = b"" if record is None else record.raw_stream.read()
        except Exception as exc:  # warcio has errors of all kinds for what is no archive
            raise SimdedupError(f"record {number} of the archive cannot be read: {exc}") from exc
        if record is None:
            return
        yield record, body


def _warc_entry(record: Any, raw: bytes) -> FeedEntry:
    url = record.rec_headers.get_header("WARC-Target-URI") or ""
    status = record.http_headers.get_statuscode()
    if not status.startswith("2"):
        return FeedEntry(record, url, unjudged="status")
    try:
        html = _html(record, url, raw)
    except Exception:  # noqa: BLE001 - warcio and the codecs of Python have errors of all kinds for what is broken
        return FeedEntry(record, url, unjudged="undecodable")
    return FeedEntry(record, url, unjudged="not_html") if html is None else FeedEntry(record, url, html=html)


def _html(record: Any, url: str, raw: bytes) -> str | None:
    """The page, unpacked and decoded; None if it is not HTML."""
    packed = copy.copy(record)
    packed.raw_stream = io.BytesIO(raw)
    body = packed.content_stream().read()
    headers = Headers()
    for name, value in record.http_headers.headers:
        headers.appendlist(name, value.encode("utf-8", "surrogateescape"))
    kind = responsetypes.from_args(headers=headers, url=url, body=body)
    return kind(url, headers=headers, body=body).text if issubclass(kind, HtmlResponse) else None


def _warcio(name: str) -> Any:
    try:
        return import_module(f"warcio.{name}")
    except ImportError as exc:
        raise SimdedupError("to read archives, pip install scrapy-simdedup[warc]") from exc
