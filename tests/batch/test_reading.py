"""Files as users have them: archives packed and cut in every way, tables of other programs, feeds of killed crawls."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from helpers.pages import page
from scrapy_simdedup import SimdedupError
from scrapy_simdedup.batch.files import Reading, as_seconds, read_pages
from scrapy_simdedup.batch.tables import DamagedFile

pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
pytest.importorskip("warcio")

from warcio.statusandheaders import StatusAndHeaders  # noqa: E402
from warcio.warcwriter import WARCWriter  # noqa: E402

# warcio leaves it to the garbage collector to close its temporary files.
pytestmark = pytest.mark.filterwarnings("ignore:.*SpooledTemporaryFile:pytest.PytestUnraisableExceptionWarning")
HTML = f'<html lang="de">{page("a page", 1)}</html>'.replace("<title>", "<title>Übersicht: ")
BODY = HTML.encode()


def pages_of(path: Path, reading: Reading | None = None) -> tuple[list[dict[str, Any]], list[str]]:
    """The pages of a file, and what is wrong with it."""
    damages: list[str] = []
    found = [row for batch in read_pages(str(path), 0, reading or Reading(), damages) for row in batch.to_pylist()]
    return found, damages


def chunked(body: bytes, *, size: int = 100) -> bytes:
    pieces = (body[at : at + size] for at in range(0, len(body), size))
    return b"".join(b"%x;ext=1\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def warc(path: Path, bodies: list[tuple[bytes, dict[str, str]]], **options: Any) -> Path:
    """An archive of responses with these bodies and headers; ``WARC-`` ones and the status are none of HTTP's."""
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=path.name.endswith(".gz"), **options)
        writer.write_record(writer.create_warcinfo_record(path.name, {"software": "a test"}))
        for number, (body, headers) in enumerate(bodies):
            of_record = {name: value for name, value in headers.items() if name.startswith("WARC-")}
            sent = {"Content-Type": "text/html"} | {name: headers[name] for name in {*headers} - {*of_record, "status"}}
            status = StatusAndHeaders(headers.get("status", "200 OK"), [*sent.items()], "HTTP/1.1")
            record = writer.create_warc_record(
                f"http://a.example/{number}",
                headers.get("WARC-Type", "response"),
                payload=io.BytesIO(body),
                http_headers=status,
                warc_headers_dict={"WARC-Date": "2026-01-02T03:04:05Z", **of_record},
            )
            writer.write_record(record)
    return path


def packed_by_brotli(body: bytes) -> bytes:
    return bytes(pytest.importorskip("brotli").compress(body))


PACKED: dict[str, Callable[[], tuple[bytes, dict[str, str]]]] = {
    "not at all": lambda: (BODY, {}),
    "gzip": lambda: (gzip.compress(BODY), {"Content-Encoding": "gzip"}),
    "x-gzip": lambda: (gzip.compress(BODY), {"Content-Encoding": "x-gzip"}),
    "deflate": lambda: (zlib.compress(BODY), {"Content-Encoding": "deflate"}),
    "brotli": lambda: (packed_by_brotli(BODY), {"Content-Encoding": "br"}),
    "twice": lambda: (packed_by_brotli(gzip.compress(BODY)), {"Content-Encoding": "gzip, br"}),
    "chunks": lambda: (chunked(BODY), {"Transfer-Encoding": "chunked"}),
    "gzip in chunks": lambda: (
        chunked(gzip.compress(BODY)),
        {"Content-Encoding": "gzip", "Transfer-Encoding": "chunked"},
    ),
    "only by name": lambda: (BODY, {"Content-Encoding": "identity"}),
    "gzip and unpacked already": lambda: (BODY, {"Content-Encoding": "gzip"}),
    "chunks and joined already": lambda: (BODY, {"Transfer-Encoding": "chunked"}),
    "with a length": lambda: (BODY, {"Content-Length": str(len(BODY))}),
    "with the length of the packed page": lambda: (BODY, {"Content-Length": "200"}),
}


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("name", PACKED)
def test_a_page_is_read_however_it_was_sent(tmp_path: Path, name: str, version: str) -> None:
    (found,), _ = pages_of(warc(tmp_path / "a.warc", [PACKED[name]()], warc_version=version))
    assert (found["html"], found["unjudged"]) == (HTML, None)


@pytest.mark.parametrize(
    ("body", "headers", "reason"),
    [
        (BODY[:500], {"WARC-Truncated": "length"}, "cut"),
        (BODY[:500], {"Content-Length": str(len(BODY))}, "cut"),
        (BODY[:500], {"status": "206 Partial Content"}, "cut"),
        (chunked(BODY)[:-5], {"Transfer-Encoding": "chunked"}, "cut"),
        (chunked(BODY)[:350], {"Transfer-Encoding": "chunked"}, "cut"),
        (BODY, {"status": "404 Not Found"}, "status"),
        (BODY, {"Content-Encoding": "sdch"}, "undecodable"),
        (gzip.compress(b" " * 70_000_000, 1), {"Content-Encoding": "gzip"}, "too_big"),
        (b"{}", {"Content-Type": "application/json"}, "not_html"),
    ],
)
def test_what_is_no_whole_page_is_kept_with_its_reason(
    tmp_path: Path, body: bytes, headers: dict[str, str], reason: str
) -> None:
    (found,), _ = pages_of(warc(tmp_path / "a.warc.gz", [(body, headers)]))
    assert (found["html"], found["unjudged"]) == (None, reason)


def test_revisits_and_what_is_about_an_archive_are_no_pages(tmp_path: Path) -> None:
    found, _ = pages_of(warc(tmp_path / "a.warc.gz", [(b"", {"WARC-Type": "revisit"}), (BODY, {})]))
    assert [row["url"] for row in found] == ["http://a.example/1"]


def test_all_pages_before_a_damage_are_read(tmp_path: Path) -> None:
    whole = warc(tmp_path / "whole.warc.gz", [(BODY, {})] * 12)
    ends = ends_of_members(whole.read_bytes())
    for cut in (3, ends[5] + 4, ends[5] + 40, ends[8] - 1, ends[-1] - 1):
        (tmp_path / "cut.warc.gz").write_bytes(whole.read_bytes()[:cut])
        with pytest.raises(DamagedFile, match=r"cannot be read: Compressed file ended .*; --skip-damaged"):
            pages_of(tmp_path / "cut.warc.gz")
        found, damages = pages_of(tmp_path / "cut.warc.gz", Reading(skip_damaged=True))
        whole_ones = max(0, sum(end <= cut for end in ends) - 1)  # without the one about the archive
        assert whole_ones <= len(found) <= whole_ones + 1  # of one only the end of its packing may be missing
        assert len(damages) == 1


def test_a_plain_archive_that_ends_anywhere_is_cut(tmp_path: Path) -> None:
    raw = warc(tmp_path / "whole.warc", [(BODY, {}), (BODY, {})]).read_bytes()
    last = raw.rindex(b"WARC/1.0")
    for cut in (last + 20, raw.index(b"Content-Length", last), raw.index(b"Content-Length", last) + 17, len(raw) - 9):
        (tmp_path / "cut.warc").write_bytes(raw[:cut])
        with pytest.raises(DamagedFile, match=r"record 3 of the archive is cut: .*; --skip-damaged"):
            pages_of(tmp_path / "cut.warc")


def ends_of_members(raw: bytes) -> list[int]:
    ends = [0]
    while ends[-1] < len(raw):
        unpack = zlib.decompressobj(31)
        unpack.decompress(raw[ends[-1] :])
        ends.append(len(raw) - len(unpack.unused_data))
    return ends[1:]


@pytest.mark.parametrize("raw", [BODY, b"\0" * 999, b'{"url": "http://a.example"}\n', b"GIF89a"])
@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz"])
def test_what_is_no_archive_is_said(tmp_path: Path, raw: bytes, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    with pytest.raises(DamagedFile, match="record 1 "):
        pages_of(tmp_path / name)


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz", "a.jsonl", "a.jsonl.gz", "a.csv"])
def test_an_empty_file_has_no_pages(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(b"") if name.endswith(".gz") else b"")
    assert pages_of(tmp_path / name) == ([], [])


MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    "value",
    [
        MOMENT,
        MOMENT.replace(tzinfo=None),
        *("2026-01-02T03:04:05Z", "2026-01-02 03:04:05", "2026-01-02T04:04:05+01:00", "20260102030405", 20260102030405),
        *(f"{MOMENT.timestamp():.0f}{zeros}" for zeros in ("", "000", "000000", "000000000", ".0")),
        *(int(MOMENT.timestamp()) * 1000**power for power in range(4)),
        *(MOMENT.timestamp() * 1000**power for power in range(4)),
        Decimal(MOMENT.timestamp()),
    ],
)
def test_a_time_is_read_as_programs_write_it(value: Any) -> None:
    assert as_seconds(value) == MOMENT.timestamp()


def test_a_day_begins_at_midnight() -> None:
    midnight = datetime(2026, 1, 2, tzinfo=timezone.utc).timestamp()
    assert as_seconds(date(2026, 1, 2)) == as_seconds("2026-01-02") == as_seconds("20260102") == midnight


@pytest.mark.parametrize("value", [None, "", "soon", float("nan"), float("inf"), 1e300, 10**400, True, [], "nan"])
def test_what_is_no_time_is_none(value: Any) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        as_seconds(value)


URLS, TIMES = (
    [f"http://a.example/{number}" for number in range(3)],
    [MOMENT.timestamp() + number for number in range(3)],
)
TEXTS = pa.array([HTML] * 3)
NO_UTF8 = pa.Array.from_buffers(
    pa.string(),
    3,
    [None, pa.py_buffer(bytes([0, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 6, 0, 0, 0])), pa.py_buffer(b"a\xff" * 3)],
)
COLUMNS: dict[str, dict[str, Any]] = {
    "large texts": {"url": pa.array(URLS, pa.large_string()), "html": TEXTS.cast(pa.large_string())},
    "bytes": {"html": TEXTS.cast(pa.binary())},
    "large bytes": {"html": TEXTS.cast(pa.large_binary())},
    "dictionaries": {"url": pa.array(URLS).dictionary_encode(), "html": TEXTS.dictionary_encode()},
    "Spark's name of a body": {"html": None, "body": TEXTS.cast(pa.binary())},
    "nested columns": {"meta": pa.array([{"a": [1, None], "b": {"c": "d"}}] * 3)},
    "texts that are no UTF-8": {"title": NO_UTF8},
    "whole seconds": {"time": pa.array([int(time) for time in TIMES])},
    "milliseconds": {"time": pa.array([int(1000 * time) for time in TIMES])},
    "nanoseconds": {"time": pa.array([int(time) * 10**9 + 1 for time in TIMES], pa.timestamp("ns"))},
    **{
        f"timestamps in {unit}, {zone}": {
            "time": pa.array([datetime.fromtimestamp(time, timezone.utc) for time in TIMES], pa.timestamp(unit, zone))
        }
        for unit in ("s", "ms", "us", "ns")
        for zone in ("UTC", "+02:00")
    },
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_table_is_read_as_other_programs_write_it(tmp_path: Path, name: str) -> None:
    columns = {"url": pa.array(URLS), "html": TEXTS, "time": pa.array(TIMES), **COLUMNS[name]}
    table = pa.table({name: column for name, column in columns.items() if column is not None})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1)
    found, _ = pages_of(tmp_path / "a.parquet")
    assert [(row["url"], row["html"], row["time"]) for row in found] == list(zip(URLS, [HTML] * 3, TIMES, strict=True))


def test_what_a_row_lacks_costs_no_other_row(tmp_path: Path) -> None:
    rows = [
        {"url": None, "html": HTML, "time": 1.0},
        {"url": "http://a.example/", "html": None, "time": None},
        {"url": "http://a.example/", "html": HTML, "time": 2.0},
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    found, _ = pages_of(tmp_path / "a.parquet")
    assert [(row["url"], row["time"], row["unjudged"]) for row in found] == [
        ("", 1.0, None),
        ("http://a.example/", 0.0, "empty"),
        ("http://a.example/", 2.0, None),
    ]


def test_a_line_that_is_no_item_costs_no_other_line(tmp_path: Path) -> None:
    line = json.dumps({"url": "http://a.example/\ud800", "html": HTML, "time": "1.5e9"}).encode()
    (tmp_path / "a.jl").write_bytes(b"\xef\xbb\xbf" + line + b"\r\n\r\n[1]\n" + line + b"\n" + line[:-30])
    found, _ = pages_of(tmp_path / "a.jl")
    assert [row["unjudged"] for row in found] == [None, "no_item", "no_item", None, "no_item"]
    assert (found[0]["url"], found[3]["time"]) == ("http://a.example/?", 1.5e9)


def test_the_lines_before_the_end_of_a_file_that_was_cut_are_read(tmp_path: Path) -> None:
    lines = [json.dumps({"url": url, "html": page(url, 1), "time": 1}).encode() + b"\n" for url in URLS]
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b"".join(lines))[:-30])
    with pytest.raises(DamagedFile, match=r"entry 3 cannot be read: .*; --skip-damaged"):
        pages_of(tmp_path / "a.jsonl.gz")
    found, damages = pages_of(tmp_path / "a.jsonl.gz", Reading(skip_damaged=True))
    assert ([row["url"] for row in found], len(damages)) == (URLS[:2], 1)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [(lambda raw: raw[:-9], "the table cannot be read"), (lambda _: b"", "the table cannot be read")],
)
def test_a_table_that_is_cut_is_said(tmp_path: Path, damage: Callable[[bytes], bytes], problem: str) -> None:
    pq.write_table(pa.table({"url": URLS, "html": TEXTS, "time": TIMES}), tmp_path / "a.parquet")
    (tmp_path / "a.parquet").write_bytes(damage((tmp_path / "a.parquet").read_bytes()))
    with pytest.raises(DamagedFile, match=problem):
        pages_of(tmp_path / "a.parquet")


def test_a_rotten_row_group_is_said_and_can_be_passed_over(tmp_path: Path) -> None:
    texts = [page(number, 1) for number in range(600)]
    pq.write_table(
        pa.table({"url": [str(at) for at in range(600)], "html": texts, "time": [1.0] * 600}),
        tmp_path / "a.parquet",
        row_group_size=100,
    )
    raw = bytearray((tmp_path / "a.parquet").read_bytes())
    at = len(raw) * 3 // 4
    raw[at : at + 2_000] = b"\xff" * 2_000
    (tmp_path / "a.parquet").write_bytes(raw)
    with pytest.raises(DamagedFile, match="--skip-damaged"):
        pages_of(tmp_path / "a.parquet")
    found, damages = pages_of(tmp_path / "a.parquet", Reading(skip_damaged=True))
    assert (len(found) >= 200, len(damages)) == (True, 1)


def test_a_field_that_holds_pages_under_another_name_is_asked_for(tmp_path: Path) -> None:
    pq.write_table(pa.table({"url": URLS, "content": TEXTS, "time": TIMES}), tmp_path / "a.parquet")
    with pytest.raises(SimdedupError, match=r"no entry has a field 'html' or 'body'; .* --html-field\Z"):
        pages_of(tmp_path / "a.parquet", Reading(skip_damaged=True))
    found, _ = pages_of(tmp_path / "a.parquet", Reading(html_field="content"))
    assert len(found) == 3
