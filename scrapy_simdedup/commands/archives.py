"""Web archives (WARC, ISO 28500), as ``dedupe`` reads and writes them."""

from __future__ import annotations

import base64
import copy
import hashlib
import io
import json
import sqlite3
from importlib import import_module
from itertools import count
from typing import IO, TYPE_CHECKING, Any

from scrapy.http import Headers, HtmlResponse
from scrapy.responsetypes import responsetypes

from scrapy_simdedup.batch import FeedEntry
from scrapy_simdedup.commands.feeds import FeedFormat
from scrapy_simdedup.errors import SimdedupError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_simdedup.batch import ItemFields
    from scrapy_simdedup.detect.verdict import Verdict

IDENTICAL_PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NEAR_PROFILE = "urn:scrapy-simdedup:near-duplicate"
"""What ``WARC-Profile`` says of a page whose bytes are those of another, and of one that only has the same content."""
NAMES_OF_ORIGINAL = ("WARC-Refers-To-Target-URI", "WARC-Refers-To-Date", "WARC-Refers-To")


class Warc(FeedFormat):
    """A web archive, compressed or not; its pages are judged, everything else is passed on.

    A page that is dropped leaves a ``revisit`` record with the id, the date and the HTTP headers of its response, so
    that the request and metadata records about it stay true. The record names the page that is kept in its place.
    """

    def __init__(self, file: IO[bytes]) -> None:
        """Write to a file, each record compressed by itself, as archives are."""
        super().__init__(file)
        self._archive = _warcio("warcwriter").WARCWriter(file, gzip=True)
        self._kept = sqlite3.connect("", isolation_level=None)  # in memory, and on disk where it grows
        self._kept.execute("CREATE TABLE kept (url TEXT PRIMARY KEY, response TEXT) WITHOUT ROWID")

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

    def keep(self, entry: FeedEntry) -> None:
        """Write a record as it came."""
        record = entry.raw
        if entry.html is not None:
            of_original = [entry.url, *map(record.rec_headers.get_header, ("WARC-Date", "WARC-Record-ID"))]
            note = json.dumps([_payload_digest(record), of_original])
            self._kept.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (entry.url, note))
        self._archive.write_record(record)

    def drop(self, entry: FeedEntry, verdict: Verdict) -> None:
        """Write a ``revisit`` record in place of a response."""
        record = entry.raw
        found = self._kept.execute("SELECT response FROM kept WHERE url = ?", (verdict.original,)).fetchone()
        # What an earlier feed brought is in another archive, of which the URL alone is known.
        digest_of_original, of_original = json.loads(found[0]) if found else (None, [verdict.original, None, None])
        digest = _payload_digest(record)
        is_same = digest == digest_of_original
        headers = {
            "WARC-Type": "revisit",
            "WARC-Profile": IDENTICAL_PROFILE if is_same else NEAR_PROFILE,
            "WARC-Payload-Digest": digest,
            **{name: value for name, value in zip(NAMES_OF_ORIGINAL, of_original, strict=True) if value},
        }
        if not is_same:
            headers["WARC-Simdedup"] = f"{verdict.kind}; similarity={verdict.similarity or 0:.3f}"
        revisit = copy.copy(record)
        revisit.rec_headers = copy.deepcopy(record.rec_headers)
        revisit.rec_headers.protocol = "WARC/1.1"
        for name in ("WARC-Block-Digest", "WARC-Truncated"):  # the block is another one
            revisit.rec_headers.remove_header(name)
        for name, value in headers.items():
            revisit.rec_headers.replace_header(name, value)
        revisit.rec_type, revisit.raw_stream, revisit.payload_length = "revisit", io.BytesIO(), 0
        self._archive.write_record(revisit)


def _payload_digest(record: Any) -> str:
    """The digest of a response's payload, as the record names it, or else computed of the bytes as they were sent."""
    named = record.rec_headers.get_header("WARC-Payload-Digest")
    if named:
        return str(named)
    body = record.raw_stream.getvalue()
    return "sha1:" + base64.b32encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()


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
