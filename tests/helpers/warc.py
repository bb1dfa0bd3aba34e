"""Web archives as crawlers write them."""

from __future__ import annotations

import io
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from helpers.archives import Fetch


def write_warc(path: Path, pages: Iterable[Fetch]) -> Path:
    """An archive of pages, each with its request; compressed if its name ends with .gz."""
    from warcio.warcwriter import WARCWriter

    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=path.name.endswith(".gz"))
        writer.write_record(writer.create_warcinfo_record(path.name, {"software": "a test"}))
        for fetched in pages:
            request = writer.create_warc_record(
                fetched.url, "request", payload=io.BytesIO(b"GET / HTTP/1.1\r\n\r\n"), warc_content_type="text/x"
            )
            writer.write_record(request)
            writer.write_record(response(writer, fetched))
    return path


def response(writer: Any, fetched: Fetch, kind: str = "text/html; charset=utf-8") -> Any:
    from warcio.statusandheaders import StatusAndHeaders

    headers = StatusAndHeaders("200 OK", [("Content-Type", kind)], protocol="HTTP/1.1")
    date = datetime.fromtimestamp(fetched.time, timezone.utc).isoformat().replace("+00:00", "Z")
    return writer.create_warc_record(
        fetched.url,
        "response",
        payload=io.BytesIO(fetched.html.encode()),
        http_headers=headers,
        warc_headers_dict={"WARC-Date": date},
    )


def pages_in(path: Path) -> list[tuple[str, str, bytes]]:
    """The type, URL and block of each record that is no request."""
    from warcio.archiveiterator import ArchiveIterator

    with path.open("rb") as file:
        return [
            (record.rec_type, record.rec_headers.get_header("WARC-Target-URI"), record.content_stream().read())
            for record in ArchiveIterator(file)
            if record.rec_type in {"response", "revisit"}
        ]
