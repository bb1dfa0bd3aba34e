"""Feeds of items and archives of pages, read one by one and written as they came."""

from __future__ import annotations

import codecs
import copy
import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any

from scrapy.http import Headers, HtmlResponse
from scrapy.responsetypes import responsetypes

from scrapy_simdedup.crawl.item_texts import item_texts, item_url
from scrapy_simdedup.errors import SimdedupError

if TYPE_CHECKING:
    from collections.abc import Sequence

HTML_FIELDS = ("html", "body")
"""Where an item is likely to hold a whole page."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that may repeat what came before it in the feed."""

    raw: Any
    """It as it came, to be written again."""
    url: str = ""
    """The page that it is of; empty if it does not say."""
    html: str | None = None
    """The page, if that is what it holds."""
    texts: tuple[str, ...] = ()
    """The texts that make it, if it holds no page."""
    unjudged: str | None = None
    """Why it is not judged."""


@dataclass(frozen=True, slots=True)
class Fields:
    """Which fields of an item matter."""

    html: str | None
    """The one that holds a page; None looks for the likely ones."""
    texts: Sequence[str]
    """Those that make an item that holds no page; none: all text fields that hold no URL."""

    def entry(self, item: Any, raw: Any) -> Entry:
        """An item as an entry."""
        if not isinstance(item, dict):
            return Entry(raw, unjudged="no_item")
        url = item_url(item)
        names = [self.html] if self.html else [] if self.texts else HTML_FIELDS
        page = next((item[name] for name in names if isinstance(item.get(name), str)), None)
        if page is not None:
            return Entry(raw, url, html=page)
        texts = tuple(item_texts(item, self.texts))
        return Entry(raw, url, texts=texts, unjudged=None if texts else "empty")


Write = Callable[[Entry], None]


class JsonLines:
    """One JSON object per line."""

    @staticmethod
    def read(file: IO[bytes], fields: Fields) -> Iterator[Entry]:
        """The items of a feed; what is no item is passed on unjudged."""
        for line in file:
            yield fields.entry(_parsed(line), line)

    @staticmethod
    def writer(file: IO[bytes]) -> Write:
        """What writes entries to a file."""
        return lambda entry: _nothing(file.write(entry.raw))


class Csv:
    """Comma-separated values under a row of names."""

    @staticmethod
    def read(file: IO[bytes], fields: Fields) -> Iterator[Entry]:
        """The items of a feed; the row of names comes first, as an entry of its own."""
        csv.field_size_limit(2**31 - 1)  # a page is longer than what csv expects of a field
        rows = csv.reader(codecs.iterdecode(file, "utf-8-sig", "replace"))
        names = next(rows, None)
        if names is None:
            return
        yield Entry(names, unjudged="head")
        for row in rows:
            yield fields.entry(dict(zip(names, row, strict=False)), row)

    @staticmethod
    def writer(file: IO[bytes]) -> Write:
        """What writes entries to a file."""
        rows = csv.writer(codecs.getwriter("utf-8")(file))
        return lambda entry: _nothing(rows.writerow(entry.raw))


class Warc:
    """A web archive (ISO 28500), compressed or not; its pages are judged, everything else is passed on."""

    @staticmethod
    def read(file: IO[bytes], fields: Fields) -> Iterator[Entry]:  # noqa: ARG004 - an archive has none
        """The records of an archive.

        Raises:
            SimdedupError: warcio is not installed, or the archive is damaged.
        """
        for record, body in _records(file):
            record.raw_stream = io.BytesIO(body)
            if record.rec_type == "response" and record.http_headers is not None:
                yield _page(record, body)
            else:
                yield Entry(record, unjudged="no_page")

    @staticmethod
    def writer(file: IO[bytes]) -> Write:
        """What writes entries to a file, each record compressed by itself, as archives are."""
        archive = _warcio("warcwriter").WARCWriter(file, gzip=True)
        return lambda entry: _nothing(archive.write_record(entry.raw))


FORMATS: dict[str, type[JsonLines | Csv | Warc]] = {
    **dict.fromkeys(("jsonl", "jsonlines", "jl", "ndjson"), JsonLines),
    "csv": Csv,
    "warc": Warc,
}
"""By the ending of a file's name, .gz left aside."""


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _records(file: IO[bytes]) -> Iterator[tuple[Any, bytes]]:
    archive = _warcio("archiveiterator").ArchiveIterator(file)
    number = 0
    while True:
        number += 1
        try:
            record = next(archive, None)
            body = b"" if record is None else record.raw_stream.read()
        except Exception as exc:  # warcio has errors of all kinds for what is no archive
            raise SimdedupError(f"record {number} of the archive cannot be read: {exc}") from exc
        if record is None:
            return
        yield record, body


def _page(record: Any, raw: bytes) -> Entry:
    url = record.rec_headers.get_header("WARC-Target-URI") or ""
    status = record.http_headers.get_statuscode()
    if not status.startswith("2"):
        return Entry(record, url, unjudged="status")
    try:
        html = _html(record, url, raw)
    except Exception:  # noqa: BLE001 - warcio and the codecs of Python have errors of all kinds for what is broken
        return Entry(record, url, unjudged="undecodable")
    return Entry(record, url, unjudged="not_html") if html is None else Entry(record, url, html=html)


def _html(record: Any, url: str, raw: bytes) -> str | None:
    """The page, unpacked and decoded; None if it is none of HTML."""
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


def _nothing(_: object) -> None:
    pass
