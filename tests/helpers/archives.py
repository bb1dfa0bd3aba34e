"""An archive of pages as crawls bring them, as a web archive too, and the settings under which it is judged."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from helpers.pages import page, prose, words
from helpers.prints import Clock, edited
from scrapy_simdedup.batch.things import request_key
from scrapy_simdedup.detect.detector import NearDuplicateDetector
from scrapy_simdedup.detect.verdict import Verdict
from scrapy_simdedup.page.metadata import declared_canonical_url
from scrapy_simdedup.store.base import FingerprintStore

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "near is dropped": {"drop": "near"},
    "better copies": {"prefer": ["canonical", "https", "shorter_url"]},
    "two copies": {"max_copies": 2},
    "stubs are dropped": {"stubs": "drop"},
    "stubs are kept": {"stubs": "keep"},
    "by host": {"scope": "host"},
    "settings of a site": {"site_settings": {"example.org": {"drop": "near", "near": 0.8}}},
    "settings of a pattern": {"site_settings": {"example.com/news/*": {"max_copies": 3}}},
    "layout": {"track_layout": True},
    "minhash": {"method": "minhash"},
    "exact": {"method": "exact"},
    "few pages": {"max_pages_per_site": 8},
    "few pages, near": {"max_pages_per_site": 8, "drop": "near"},
    "for a time": {"ttl": 20},
    "own texts are passed over": {"novel_words": None},
    "short own texts": {"novel_words": 7},
    "unchanged pages are dropped": {"unchanged": "drop", "against": "history"},
    "unchanged by similarity": {"unchanged": "drop", "unchanged_by": "similarity"},
    "no clocks": {"clocks": False, "against": "history"},
}
"""Settings that make a difference to verdicts."""


@dataclass(frozen=True)
class Fetch:
    """A page that was fetched."""

    url: str
    html: str
    time: float

    @property
    def key(self) -> bytes:
        return request_key(self.url)


def comment(seed: object) -> str:
    return f'<section class="comments"><p>{" ".join(words(f"comment {seed}", 45))}.</p></section>'


def archive(*, seed: int = 0) -> list[Fetch]:
    """Three sites, which take turns: repeats, edits, comments, revisits, stubs, pages of the same bytes and of none."""
    found: list[tuple[str, str]] = []
    for site in ("www.example.com", "www.example.org", "shop.example.com"):
        name = f"{site.split('.', 1)[1]} {seed}"
        for number in range(4):
            about = f"{name} {number}"
            found += [
                (f"http://{site}/news/{number}", page(about, 1)),
                (f"http://{site}/news/{number}?print=1", page(about, 2)),
                (f"https://{site}/n/{number}/a-longer-address", page(about, 3)),
                (f"http://{site}/edited/{number}", edited(about, 4, share=0.02 * number)),
                (f"http://{site}/news/{number}/comments", page(about, 5, body=prose(about) + comment(about))),
            ]
        first = f"{name} 0"
        canonical = f'<link rel="canonical" href="http://{site}/canonical/0">'
        found += [
            (f"http://{site}/same-bytes", page(first, 1)),
            (f"http://{site}/canonical/0", page(first, 9).replace("</title>", f"</title>{canonical}")),
            (f"http://{site}/short", "<p>Too short."),
            (f"http://{site}/short?again", "<p>Too short."),
            (f"http://{site}/empty", ""),
        ]
        found += [(f"http://{site}/{words((site, n), 1)[0]}/{n}", page(f"{name} wall", n)) for n in range(24)]
        for visit in range(2):  # fetched again: with another counter, edited, with a comment
            for number in range(8):
                counter = f"<p>{number * 7 + visit} people read this page</p>"
                found.append(
                    (f"http://{site}/counted/{number}", page(f"{name} c{number}", body=prose(number) + counter))
                )
        for number in range(4):
            about = f"{name} {number}"
            found += [
                (f"http://{site}/news/{number}", page(about, 8, body=prose(about) + comment("new") * (number % 2))),
                (f"http://{site}/edited/{number}", edited(about, 4, share=0.02 * number + 0.01)),
            ]
    third = len(found) // 3
    in_turn = [found[site * third + at] for at in range(third) for site in range(3)]
    return [Fetch(url, html, 1_000.0 + number) for number, (url, html) in enumerate(in_turn)]


def recrawled() -> list[Fetch]:
    """The archive, and pages of the same sites that are fetched four times, of which one place differs each time.

    That place is a clock from the second visit on. The stubs of each site go on behind its middle.
    """
    found, visits = archive(), []
    for visit in range(4):
        for number in range(7):
            for site in ("www.example.com", "shop.example.com"):
                counter = f"<p>{number * 7 + visit * 1_000} people read this page</p>"
                made = page(f"{site} clock {number}", body=prose(f"{site} clock {number}") + counter)
                visits.append((f"http://{site}/clock/{number}", made))
    every = -(-len(found) // len(visits))
    whole: list[tuple[str, str]] = []
    for at, one in enumerate(found):
        whole.append((one.url, one.html))
        if at % every == 0 and at // every < len(visits):
            whole.append(visits[at // every])
    whole += visits[-(-len(found) // every) :]
    return [Fetch(url, html, 1_000.0 + number) for number, (url, html) in enumerate(whole)]


class Crawler:
    """The detector of a crawl to which the pages of an archive come in their order."""

    def __init__(self, store: FingerprintStore | str, run: str, secret: str = "s3cret", **settings: Any) -> None:
        self.clock = Clock()
        self.detector = NearDuplicateDetector(store, run=run, worker="batch", now=self.clock, secret=secret, **settings)

    async def judge(self, fetched: Fetch) -> Verdict:
        self.clock.seconds = fetched.time
        detector = self.detector
        canonical = declared_canonical_url(fetched.html, fetched.url)
        found = await detector.fetched(fetched.html, url=fetched.url, key=fetched.key, canonical=canonical)
        verdict = await detector.judge_page(found, keep_pending=True)
        await detector.confirm(verdict.page)
        return verdict


async def crawl(
    store: FingerprintStore | str, pages: list[Fetch], run: str = "run", secret: str = "s3cret", **settings: Any
) -> list[Verdict]:
    """The verdicts of a crawl that meets the pages in their order."""
    crawler = Crawler(store, run, secret, **settings)
    await crawler.detector.open()
    try:
        return [await crawler.judge(fetched) for fetched in pages]
    finally:
        await crawler.detector.close()


def as_said(verdict: Verdict) -> dict[str, Any]:
    """All that a verdict says but the number of its record, which depends on the other sites of a store."""
    return {name: value for name, value in verdict._asdict().items() if name != "page"}


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
