"""Web archives (WARC): their pages are read as a crawl gets them, and ``revisit`` records take the place of repeats."""

from __future__ import annotations

import base64
import copy
import hashlib
import io
import json
import re
import sqlite3
import weakref
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import count
from typing import IO, Any

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpcompression import ACCEPTED_ENCODINGS, HttpCompressionMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Headers, HtmlResponse, Response
from scrapy.responsetypes import responsetypes
from scrapy.statscollectors import DummyStatsCollector

from scrapy_simdedup.batch.feeds import FeedFormat
from scrapy_simdedup.batch.tables import DamagedFile, package_of
from scrapy_simdedup.batch.things import FeedEntry, ItemFields
from scrapy_simdedup.crawl.requests import PARTIAL_CONTENT, page_text
from scrapy_simdedup.detect.verdict import Verdict

MAX_RECORD_BYTES = 64 * 1024 * 1024
"""Bytes of a record of an archive above which it is not decoded: no page has as many."""
IDENTICAL_PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NEAR_PROFILE = "urn:scrapy-simdedup:near-duplicate"
"""The ``WARC-Profile`` of a page with the bytes of another page, and of a page that shares only the content."""
NAMES_OF_ORIGINAL = ("WARC-Refers-To-Target-URI", "WARC-Refers-To-Date", "WARC-Refers-To")
_CHUNK_HEAD = re.compile(rb"(?:\r?\n)?([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_UNPACKED = frozenset({*ACCEPTED_ENCODINGS, b"x-gzip"})
_OF_LIMITED_SIZE = Request("http://a", meta=dict.fromkeys(("download_maxsize", "download_warnsize"), MAX_RECORD_BYTES))


class Warc(FeedFormat):
    """A web archive, compressed or not; its pages are judged, everything else is passed on.

    A page that is dropped leaves a ``revisit`` record with the id, the date and the HTTP headers of its response, so
    that the request and metadata records about it stay true. The record names the page that is kept in its place.
    """

    def __init__(self, file: IO[bytes]) -> None:
        """Write to a file, each record compressed by itself, as archives are."""
        super().__init__(file)
        self._archive = package_of("warc", "warcio.warcwriter").WARCWriter(file, gzip=True)
        # In memory, and on disk where it grows; whichever thread collects the writer closes it.
        self._kept = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._kept.close)
        self._kept.execute("CREATE TABLE kept (url TEXT PRIMARY KEY, response TEXT) WITHOUT ROWID")

    @staticmethod
    def read(file: IO[bytes], fields: ItemFields) -> Iterator[FeedEntry]:  # noqa: ARG004 - an archive has none
        for record, body in _warc_records(file):
            record.raw_stream = io.BytesIO(body)
            if record.rec_type == "response" and record.http_headers is not None:
                yield _warc_entry(record, body)
            else:
                yield FeedEntry(record, unjudged="no_page")

    def keep(self, entry: FeedEntry) -> None:
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
    archive = package_of("warc", "warcio.archiveiterator").ArchiveIterator(_Stream(file))
    for number in count(1):
        try:
            record = next(archive, None)
            body = b"" if record is None else record.raw_stream.read()
        except Exception as exc:  # warcio has errors of all kinds for what is no archive
            raise DamagedFile(f"record {number} of the archive cannot be read: {exc}") from exc
        if record is None:
            if archive.next_line or (number == 1 and archive.fh.tell()):  # warcio met the end within headers
                raise DamagedFile(f"record {number} of the archive is cut: its headers have no end")
            return
        if record.format != "warc":  # warcio takes almost any first line for that of an ARC file
            raise DamagedFile(f"record {number} is none of a WARC file; warcio recompress makes one of an ARC file")
        if record.length is None:
            raise DamagedFile(f"record {number} of the archive is cut: its length is missing")
        if getattr(record.raw_stream, "limit", 0) > 0:
            raise DamagedFile(f"record {number} of the archive is cut: {record.raw_stream.limit:,} bytes are missing")
        yield record, body


class _Stream:
    """A file for warcio, which takes an EOFError for the end of an archive: the end of a packed file that was cut."""

    def __init__(self, file: IO[bytes]) -> None:
        # In pieces as they come, since with one call what was unpacked before an error would be lost.
        self._read = getattr(file, "read1", file.read)

    def read(self, size: int) -> bytes:
        """The next bytes, and none at the end."""
        try:
            return bytes(self._read(size))
        except EOFError as exc:
            raise DamagedFile(str(exc)) from exc


def _warc_entry(record: Any, raw: bytes) -> FeedEntry:
    url = record.rec_headers.get_header("WARC-Target-URI") or ""
    entry = FeedEntry(record, url, time=record.rec_headers.get_header("WARC-Date"))
    status = record.http_headers.get_statuscode()
    if not status.startswith("2"):
        return replace(entry, unjudged="status")
    if len(raw) > MAX_RECORD_BYTES:
        return replace(entry, unjudged="too_big")
    headers = Headers()
    for name, value in record.http_headers.headers:
        headers.appendlist(name, value.encode("utf-8", "surrogateescape"))
    body, is_whole = _sent_body(headers, raw)
    if not is_whole or status == str(PARTIAL_CONTENT) or record.rec_headers.get_header("WARC-Truncated"):
        return replace(entry, unjudged="cut")
    try:
        html = _html(url, headers, body)
    except IgnoreRequest:
        return replace(entry, unjudged="too_big")
    except Exception:  # noqa: BLE001 - the codecs of Python have errors of all kinds for what is broken
        return replace(entry, unjudged="undecodable")
    return replace(entry, unjudged="not_html") if html is None else replace(entry, html=html)


def _sent_body(headers: Headers, raw: bytes) -> tuple[bytes, bool]:
    """The body of a response without its chunks, and whether all of it is there, as far as the server said."""
    if not (headers.get("Transfer-Encoding") or b"").lower().endswith(b"chunked"):
        length = (headers.get("Content-Length") or b"").strip()
        return raw, not length.isdigit() or len(raw) >= int(length)
    chunks, at = list[bytes](), 0
    while head := _CHUNK_HEAD.match(raw, at):
        end = head.end() + int(head[1], 16)
        if end == head.end():
            return b"".join(chunks), True
        chunks.append(raw[head.end() : end])
        at = end
    return (b"".join(chunks), False) if chunks else (raw, True)  # some archives have bodies without their chunks


@cache
def _unpacker() -> HttpCompressionMiddleware:
    crawler = Crawler(Spider)
    crawler.stats = DummyStatsCollector(crawler)
    return HttpCompressionMiddleware.from_crawler(crawler)


def _html(url: str, headers: Headers, body: bytes) -> str | None:
    """The page, unpacked and decoded as in a crawl; None if it is not HTML."""
    named = b",".join(headers.getlist("Content-Encoding")).lower().replace(b" ", b"").split(b",")
    encodings = [name for name in named if name not in {b"", b"identity"}]
    if not _UNPACKED.issuperset(encodings):
        raise ValueError("this encoding is packed by a program that is not known here")
    headers.pop("Content-Encoding", None)
    if encodings:
        packed = Response(url, headers={"Content-Encoding": b",".join(encodings)}, body=body)
        try:
            body = _unpacker().process_response(_OF_LIMITED_SIZE, packed).body
        except IgnoreRequest:
            raise
        except Exception:  # noqa: BLE001, S110 - of each packer its own; some archives have what is unpacked already
            pass
    kind = responsetypes.from_args(headers=headers, url=url, body=body)
    return page_text(kind(url, headers=headers, body=body)) if issubclass(kind, HtmlResponse) else None
