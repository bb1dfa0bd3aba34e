"""``dedupe FEED`` gives the verdicts of a crawl, whatever the feed."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest

from helpers.command_line import Crawled, perform_here, simdedup, stored
from helpers.pages import page, prose
from scrapy_simdedup.commands.feeds import Csv, ItemFields, JsonLines

PAGES = {
    "http://a.example/one": page("one", 1),
    "http://a.example/one?print=1": page("one", 2),
    "http://a.example/two": page("two", 3),
    "http://b.example/one": page("one", 4),
    "http://a.example/short": "<p>Hello",
    "http://a.example/one?utm_source=mail": page("one", 5),
}
KEPT = [url for url in PAGES if "?" not in url]


def items(**more: Any) -> list[dict[str, Any]]:
    return [{"url": url, "html": html, **more} for url, html in PAGES.items()]


def lines(values: list[Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def kept(answer: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in answer.splitlines()]


class TestJsonLines:
    def test_what_is_kept_comes_out_as_it_came_in(self, tmp_path: Path) -> None:
        feed, output = tmp_path / "feed.jsonl", tmp_path / "kept.jsonl"
        feed.write_bytes(lines(items(price=1.50)))
        answer = perform_here("dedupe", feed, "-o", output, "--json")
        assert answer.code == 0
        assert answer.json == {"read": 6, "kept": 4, "dropped": 2, "kinds": {"new": 3, "identical": 2, "unjudged": 1}}
        assert output.read_bytes() == lines([item for item in items(price=1.50) if item["url"] in KEPT])

    def test_the_verdict_on_each_says_what_it_repeats(self, tmp_path: Path) -> None:
        feed, verdicts = tmp_path / "feed.jl", tmp_path / "verdicts.jsonl"
        feed.write_bytes(lines(items()))
        perform_here("dedupe", feed, "--verdicts", verdicts)
        found = {verdict["url"]: verdict for verdict in kept(verdicts.read_bytes())}
        assert [url for url, verdict in found.items() if verdict["is_duplicate"]] == [u for u in PAGES if u not in KEPT]
        assert found["http://a.example/one?print=1"]["original"] == "http://a.example/one"
        assert found["http://a.example/short"]["reason"] == "too_short"

    def test_it_reads_from_stdin_and_writes_to_stdout(self, tmp_path: Path) -> None:
        answer = simdedup("dedupe", "-", "--format", "jsonl", "-o", "-", cwd=tmp_path, piped=lines(items()))
        assert [item["url"] for item in kept(answer.out.encode())] == KEPT
        assert answer.err == "6 items: 4 kept, 2 dropped (3 new, 2 identical, 1 unjudged)\n"

    def test_a_page_that_its_url_gave_already_is_dropped_unless_it_changed(self, tmp_path: Path) -> None:
        feed = tmp_path / "feed.jsonl"
        url = "http://a.example/"
        feed.write_bytes(lines([{"url": url, "html": page(seed, number)} for number, seed in enumerate("aab")]))
        answer = perform_here("dedupe", feed, "--json")
        assert answer.json["kinds"] == {"new": 1, "unchanged": 1, "changed": 1}
        assert answer.json["dropped"] == 1

    def test_items_without_a_page_are_compared_by_their_texts(self, tmp_path: Path) -> None:
        feed = tmp_path / "feed.jsonl"
        texts = [prose("one"), prose("two"), prose("one")]
        feed.write_bytes(lines([{"url": f"http://a.example/{n}", "text": text} for n, text in enumerate(texts)]))
        assert perform_here("dedupe", feed, "--json").json["dropped"] == 1

    def test_items_that_differ_in_a_number_are_kept(self, tmp_path: Path) -> None:
        feed = tmp_path / "feed.jsonl"
        shoes = [{"url": f"/shoe?v={n}", "text": prose("one"), "size": size} for n, size in enumerate((42, 44, 42))]
        feed.write_bytes(lines(shoes))
        assert perform_here("dedupe", feed, "--json").json["dropped"] == 1
        assert perform_here("dedupe", feed, "--fields", "text", "--json").json["dropped"] == 2
        by_class = 'SIMDEDUP_ITEM_FIELDS={"Shoe": ["text"], "Sock": ["text", "size"]}'
        assert perform_here("dedupe", feed, "-s", by_class, "--json").json["dropped"] == 1

    def test_pages_without_a_url_are_compared_with_each_other(self, tmp_path: Path) -> None:
        feed = tmp_path / "feed.jsonl"
        feed.write_bytes(lines([{"html": page(seed, number)} for number, seed in enumerate("abab")]))
        assert perform_here("dedupe", feed, "--json").json["kinds"] == {"new": 2, "identical": 2}

    def test_the_fields_that_count_can_be_named(self, tmp_path: Path) -> None:
        feed = tmp_path / "feed.jsonl"
        feed.write_bytes(lines([{"text": prose("one"), "noise": prose(number, 400)} for number in range(3)]))
        assert perform_here("dedupe", feed, "--json").json["dropped"] == 0
        assert perform_here("dedupe", feed, "--json", "--fields", "text").json["dropped"] == 2

    def test_the_field_that_holds_the_page_can_be_named(self, tmp_path: Path) -> None:
        feed = tmp_path / "feed.jsonl"
        feed.write_bytes(lines([{"url": url, "seite": html, "no": url} for url, html in PAGES.items()]))
        assert perform_here("dedupe", feed, "--json", "--html-field", "seite").json["dropped"] == 2

    @pytest.mark.parametrize("line", [b"{broken\n", b"[1]\n", b"null\n", b'{"url": 5}\n', b'{"html": []}\n', b"\xff\n"])
    def test_what_is_no_item_is_kept(self, line: bytes, tmp_path: Path) -> None:
        feed, output = tmp_path / "feed.jsonl", tmp_path / "kept.jsonl"
        feed.write_bytes(line + line)
        assert perform_here("dedupe", feed, "-o", output, "--json").json["kinds"] == {"unjudged": 2}
        assert output.read_bytes() == line + line

    def test_a_url_that_is_none_is_no_reason_to_stop(self, tmp_path: Path) -> None:
        feed = tmp_path / "feed.jsonl"
        feed.write_bytes(lines([{"url": url, "html": page(1)} for url in ("no url", "http://[", "", "x:")]))
        assert perform_here("dedupe", feed, "--json").json["read"] == 4


class TestCsv:
    def test_rows_come_out_under_their_names(self, tmp_path: Path) -> None:
        feed, output = tmp_path / "feed.csv", tmp_path / "kept.csv"
        with feed.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, ["url", "html"])
            writer.writeheader()
            writer.writerows(items())
        perform_here("dedupe", feed, "-o", output)
        with output.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert rows == [item for item in items() if item["url"] in KEPT]

    def test_an_empty_file_has_no_items(self) -> None:
        assert not list(Csv.read(io.BytesIO(b""), ItemFields(None, ())))
        assert not list(JsonLines.read(io.BytesIO(b""), ItemFields(None, ())))


# warcio leaves it to the garbage collector to close its temporary files.
@pytest.mark.filterwarnings("ignore:.*SpooledTemporaryFile:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:Unclosed file:ResourceWarning")
class TestWarc:
    @pytest.mark.parametrize("name", ["feed.warc", "feed.warc.gz"])
    def test_repeated_pages_are_taken_out_and_all_else_stays(self, name: str, tmp_path: Path) -> None:
        warcio = pytest.importorskip("warcio")
        feed, output = tmp_path / name, tmp_path / "kept.warc.gz"
        with feed.open("wb") as file:
            writer = warcio.WARCWriter(file, gzip=name.endswith(".gz"))
            writer.write_record(writer.create_warcinfo_record("feed.warc", {"software": "a test"}))
            for url, html in PAGES.items():
                writer.write_record(response(writer, url, html.encode("latin-1"), "text/html; charset=latin-1"))
            writer.write_record(response(writer, "http://a.example/data", b"{}", "application/json"))
            writer.write_record(response(writer, "http://a.example/gone", PAGES[KEPT[0]].encode(), "text/html", "404"))
        answer = perform_here("dedupe", feed, "-o", output, "--json")
        assert answer.json["dropped"] == 2
        with output.open("rb") as file:
            left = [
                (record.rec_type, record.rec_headers.get_header("WARC-Target-URI"), record.content_stream().read())
                for record in warcio.ArchiveIterator(file)
            ]
        assert left[0][0] == "warcinfo"
        assert [url for _, url, _ in left[1:]] == [*KEPT, "http://a.example/data", "http://a.example/gone"]
        assert left[1][2].decode("latin-1") == PAGES[KEPT[0]]

    @pytest.mark.parametrize(
        ("kind", "more"), [("text/html; charset=base64", {}), ("text/html", {"Content-Encoding": "br"})]
    )
    def test_a_page_that_cannot_be_decoded_is_kept(self, kind: str, more: dict[str, str], tmp_path: Path) -> None:
        """As in a crawl. The bytes are no Brotli; where that is not installed, they are taken as they are."""
        warcio = pytest.importorskip("warcio")
        feed, output = tmp_path / "feed.warc", tmp_path / "kept.warc.gz"
        with feed.open("wb") as file:
            writer = warcio.WARCWriter(file, gzip=False)
            for number, html in enumerate(PAGES.values()):
                of_one = (kind, more) if number == 0 else ("text/html; charset=latin-1", {})
                url = f"http://a.example/{number}"
                writer.write_record(response(writer, url, html.encode("latin-1"), of_one[0], **of_one[1]))
        answer = perform_here("dedupe", feed, "-o", output, "--json")
        with output.open("rb") as file:
            left = [record.rec_headers.get_header("WARC-Target-URI") for record in warcio.ArchiveIterator(file)]
        assert answer.code == 0
        assert len(left) == answer.json["kept"]
        assert "http://a.example/0" in left

    def test_what_is_missing_is_said(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(__import__("sys").modules, "warcio.archiveiterator", None)
        (tmp_path / "feed.warc").write_bytes(b"WARC/1.0\r\n")
        answer = perform_here("dedupe", tmp_path / "feed.warc")
        assert answer.code == 2
        assert "pip install scrapy-simdedup[warc]" in answer.err


def response(writer: Any, url: str, body: bytes, kind: str, status: str = "200", **more: str) -> Any:
    from warcio.statusandheaders import StatusAndHeaders

    headers = StatusAndHeaders(f"{status} OK", [("Content-Type", kind), *more.items()], protocol="HTTP/1.1")
    return writer.create_warc_record(url, "response", payload=io.BytesIO(body), http_headers=headers)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="tells how much memory was used, on Linux")
def test_a_feed_is_never_held_in_memory(tmp_path: Path) -> None:
    """Of 200 MB of pages with 5 contents, what is out is out before the last comes in, and little is held."""
    script = "\n".join(
        (
            "import sys; from scrapy.cmdline import execute",
            "try: execute('scrapy simdedup dedupe - --format jsonl -o - -s SIMDEDUP_STUBS=keep'.split())",
            "finally: sys.stderr.write(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])",
        )
    )
    bulk = f"<!--{'x' * 200_000}-->"

    def item(number: int) -> bytes:
        html = page(number % 5, number) + bulk * (number >= 5)
        return lines([{"url": f"http://a.example/{number}", "html": html}])

    with Popen([sys.executable, "-c", script], cwd=tmp_path, stdin=PIPE, stdout=PIPE, stderr=PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(1_000):
            process.stdin.write(item(number))
            if number == 5:
                process.stdin.flush()
                assert json.loads(process.stdout.readline())["url"] == "http://a.example/0"
        out, err = process.communicate(timeout=120)
    summary, kilobytes = err.decode().splitlines()[-2:]
    assert summary == "1,000 items: 5 kept, 995 dropped (995 identical, 5 new)"
    assert len(out.splitlines()) == 4
    assert int(kilobytes) < 150_000


class TestVerdicts:
    def test_are_those_of_the_crawl(self, crawled: Crawled, tmp_path: Path) -> None:
        feed, verdicts = tmp_path / "feed.jsonl", tmp_path / "verdicts.jsonl"
        urls = crawled.site.urls(*crawled.site.answers)
        answers = zip(urls, crawled.site.answers.values(), strict=True)
        feed.write_bytes(lines([{"url": url, "html": html} for url, html in answers]))
        perform_here("dedupe", feed, "--verdicts", verdicts)
        in_the_crawl = {record.url: (record.kind, record.state == "duplicate") for _, record in stored(crawled.store)}
        found = {verdict["url"]: (verdict["kind"], verdict["is_duplicate"]) for verdict in kept(verdicts.read_bytes())}
        assert found == in_the_crawl

    def test_settings_say_what_is_dropped(self, tmp_path: Path) -> None:
        feed = tmp_path / "feed.jsonl"
        near = page("a", body=prose("a", 215) + prose("other", 25))
        feed.write_bytes(
            lines([{"url": f"http://a.example/{n}", "html": html} for n, html in enumerate([page("a"), near])])
        )
        assert perform_here("dedupe", feed, "--json").json["dropped"] == 0
        assert perform_here("dedupe", feed, "--json", "-s", "SIMDEDUP_DROP=near").json["dropped"] == 1

    def test_a_store_keeps_them_for_the_next_feed(self, tmp_path: Path) -> None:
        feed, store = tmp_path / "feed.jsonl", f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"
        feed.write_bytes(lines(items()))
        perform_here("dedupe", feed, "--store", store)
        feed.write_bytes(lines([{"url": "http://a.example/new-url", "html": page("one", 9)}]))
        history = ("-s", "SIMDEDUP_AGAINST=history")
        assert perform_here("dedupe", feed, "--store", store, "--json", *history).json["dropped"] == 1


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("cut.jsonl.gz", gzip.compress(lines(items()))[:-9], "cut.jsonl.gz cannot be read to its end"),
        ("none.jsonl.gz", b"no such thing", "Not a gzipped file"),
        ("none.warc", b"no such thing", "record 1 of the archive cannot be read"),
        ("cut.warc", b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 9\r\n\r\nHTTP", "record 1 of the archive"),
    ],
)
def test_a_damaged_feed_is_said_in_one_sentence(name: str, content: bytes, sentence: str, tmp_path: Path) -> None:
    if "warc" in name:
        pytest.importorskip("warcio")
    (tmp_path / name).write_bytes(content)
    answer = perform_here("dedupe", tmp_path / name, "-o", tmp_path / "kept")
    assert answer.code == 2
    assert sentence in answer.err
    assert answer.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == [name], "nothing is left half done"


def test_an_empty_feed_has_no_items(tmp_path: Path) -> None:
    (tmp_path / "feed.csv").touch()
    answer = perform_here("dedupe", tmp_path / "feed.csv")
    assert (answer.code, answer.out) == (0, "0 items: 0 kept, 0 dropped (there were none)\n")


def test_a_feed_of_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    answer = perform_here("dedupe", tmp_path / "feed.xml")
    assert answer.code == 2
    assert "say with --format what it is" in answer.err
