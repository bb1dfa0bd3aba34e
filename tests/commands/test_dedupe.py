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
from helpers.pages import page, prose, words
from scrapy_simdedup.batch.feeds import Csv, JsonLines
from scrapy_simdedup.batch.things import ItemFields

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


def array(values: list[Any]) -> bytes:
    """As Scrapy writes it with ``-O items.json``."""
    return b"[\n" + b",\n".join(json.dumps(value).encode() for value in values) + b"\n]"


def kept(answer: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in answer.splitlines()]


class TestJsonLines:
    def test_what_is_kept_comes_out_as_it_came_in(self, tmp_path: Path) -> None:
        feed, output = tmp_path / "feed.jsonl", tmp_path / "kept.jsonl"
        feed.write_bytes(lines(items(price=1.50)))
        answer = perform_here("dedupe", feed, "-o", output, "--json")
        assert answer.code == 0
        kinds = {"new": 3, "identical": 2, "unjudged": 1}
        assert answer.json == {"read": 6, "kept": 4, "dropped": 2, "kinds": kinds, "unjudged": {"too_short": 1}}
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
        assert answer.err == "6 items: 4 kept, 2 dropped (3 new, 2 identical, 1 unjudged); unjudged: 1 too_short\n"

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
                if record.rec_type != "revisit"
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
            left = [
                record.rec_headers.get_header("WARC-Target-URI")
                for record in warcio.ArchiveIterator(file)
                if record.rec_type == "response"
            ]
        assert answer.code == 0
        assert len(left) == answer.json["kept"]
        assert "http://a.example/0" in left

    def test_a_dropped_page_leaves_a_record_that_says_where_its_bytes_are(self, tmp_path: Path) -> None:
        """Its id and headers stay, so that the request and metadata records about it are no orphans."""
        warcio = pytest.importorskip("warcio")
        feed, output = tmp_path / "feed.warc.gz", tmp_path / "kept.warc.gz"
        urls = ["http://a.example/one", "http://a.example/same-bytes", "http://a.example/same-content"]
        pages = [page("one", 1), page("one", 1), page("one", 2)]
        with feed.open("wb") as file:
            writer = warcio.WARCWriter(file)
            for url, html in zip(urls, pages, strict=True):
                of_url = response(writer, url, html.encode(), "text/html; charset=utf-8")
                writer.write_record(of_url)
                about = {"WARC-Concurrent-To": of_url.rec_headers.get_header("WARC-Record-ID")}
                for kind, block in (("request", b"GET / HTTP/1.1\r\n\r\n"), ("metadata", b"via: x")):
                    more = {"payload": io.BytesIO(block), "warc_headers_dict": about, "warc_content_type": "text/x"}
                    writer.write_record(writer.create_warc_record(url, kind, **more))
        before, answer = records(feed), perform_here("dedupe", feed, "-o", output, "--json")
        after = records(output)
        assert answer.json["dropped"] == 2
        assert [headers["WARC-Record-ID"] for _, headers, _ in after] == [h["WARC-Record-ID"] for _, h, _ in before]
        assert [kind for kind, *_ in after] == [
            "response",
            "request",
            "metadata",
            *["revisit", "request", "metadata"] * 2,
        ]
        (_, original, _), (_, same, same_block), (_, like, like_block) = after[0], after[3], after[6]
        for revisit, block in ((same, same_block), (like, like_block)):
            assert revisit["WARC-Refers-To"] == original["WARC-Record-ID"]
            assert revisit["WARC-Refers-To-Target-URI"] == urls[0]
            assert revisit["WARC-Refers-To-Date"] == original["WARC-Date"]
            assert block.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n")
            assert block.endswith(b"\r\n\r\n")
        assert same["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
        assert same["WARC-Payload-Digest"] == original["WARC-Payload-Digest"]
        assert like["WARC-Profile"] == "urn:scrapy-simdedup:near-duplicate"
        assert like["WARC-Payload-Digest"] == before[6][1]["WARC-Payload-Digest"] != original["WARC-Payload-Digest"]
        assert like["WARC-Simdedup"].startswith("identical; similarity=")

    def test_an_archive_that_was_deduplicated_once_stays_as_it_is(self, tmp_path: Path) -> None:
        warcio = pytest.importorskip("warcio")
        feed, once, twice = (tmp_path / f"{name}.warc.gz" for name in ("feed", "once", "twice"))
        with feed.open("wb") as file:
            writer = warcio.WARCWriter(file)
            for url, html in PAGES.items():
                writer.write_record(response(writer, url, html.encode(), "text/html"))
        perform_here("dedupe", feed, "-o", once)
        assert perform_here("dedupe", once, "-o", twice, "--json").json["dropped"] == 0
        assert once.read_bytes() == twice.read_bytes()

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


def records(name: Path) -> list[tuple[str, dict[str, str], bytes]]:
    """The records of an archive: type, headers, and block as it is written."""
    from warcio.archiveiterator import ArchiveIterator

    with name.open("rb") as file:
        found = []
        for record in ArchiveIterator(file, no_record_parse=True):
            assert record.rec_headers.get_header("WARC-Type") != "revisit" or record.rec_headers.protocol == "WARC/1.1"
            found.append((record.rec_type, dict(record.rec_headers.headers), record.raw_stream.read()))
        return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="tells how much memory was used, on Linux")
def test_a_feed_is_never_held_in_memory(tmp_path: Path) -> None:
    """Of 100 MB of pages with 5 contents, what is out is out before the last comes in, and little is held."""
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
        for number in range(500):
            process.stdin.write(item(number))
            if number == 5:
                process.stdin.flush()
                assert json.loads(process.stdout.readline())["url"] == "http://a.example/0"
        out, err = process.communicate(timeout=120)
    summary, kilobytes = err.decode().splitlines()[-2:]
    assert summary == "500 items: 5 kept, 495 dropped (495 identical, 5 new)"
    assert len(out.splitlines()) == 4
    assert int(kilobytes) < 150_000


class TestVerdicts:
    def test_are_those_of_the_crawl(self, crawled: Crawled, tmp_path: Path) -> None:
        feed, verdicts = tmp_path / "feed.jsonl", tmp_path / "verdicts.jsonl"
        urls = crawled.site.urls(*crawled.site.answers)
        answers = zip(urls, crawled.site.answers.values(), strict=True)
        feed.write_bytes(lines([{"url": url, "html": html} for url, html in answers]))
        # Without a secret the port of the site decides whether two pages are near by chance or not at all.
        perform_here("dedupe", feed, "--verdicts", verdicts, "-s", "SIMDEDUP_SECRET=s3cret")
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


class TestProject:
    def test_the_store_of_the_crawls_is_left_alone(self, tmp_path: Path) -> None:
        """Another run of the same command keeps the same, and the next crawl has seen nothing."""
        store = f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"
        feed, outputs = tmp_path / "feed.jsonl", [tmp_path / name for name in ("one.jsonl", "two.jsonl")]
        feed.write_bytes(lines(items()))
        settings = ("-s", f"SIMDEDUP_STORE={store}", "-s", "SIMDEDUP_AGAINST=history")
        for output in outputs:
            assert perform_here("dedupe", feed, "-o", output, *settings).code == 0
        assert outputs[0].read_bytes() == outputs[1].read_bytes() == lines([i for i in items() if i["url"] in KEPT])
        assert not (tmp_path / "pages.sqlite").exists()

    def test_the_same_feed_always_gets_the_same_verdicts(self, tmp_path: Path) -> None:
        """To the last digit: the hashes have no key that is made anew."""
        feed = tmp_path / "feed.jsonl"
        near = [prose("a", 200 + 3 * number) + " " + prose(number, 40) for number in range(12)]
        feed.write_bytes(lines([{"text": text} for text in near]))
        verdicts = [tmp_path / f"{number}.jsonl" for number in range(3)]
        for file in verdicts:
            simdedup("dedupe", feed, "--verdicts", file, cwd=tmp_path)
        assert len({file.read_bytes() for file in verdicts}) == 1
        assert len({verdict["similarity"] for verdict in kept(verdicts[0].read_bytes())}) > 3

    @pytest.mark.parametrize("option", ["--fields", "--html-field"])
    def test_a_field_that_no_item_has_is_an_error(self, option: str, tmp_path: Path) -> None:
        feed, output = tmp_path / "feed.jsonl", tmp_path / "kept.jsonl"
        feed.write_bytes(lines([{"name": prose(1)}, {"name": prose(2), "text": prose(3)}]))
        answer = perform_here("dedupe", feed, "-o", output, option, "nme")
        assert (answer.code, answer.err) == (
            2,
            "scrapy simdedup dedupe: no item has a field 'nme'; did you mean name?\n",
        )
        assert not output.exists()

    def test_a_field_that_some_item_has_is_none(self, tmp_path: Path) -> None:
        feed = tmp_path / "feed.jsonl"
        feed.write_bytes(lines([{"name": prose(1)}, {"name": prose(2), "text": prose(3)}]))
        assert perform_here("dedupe", feed, "--fields", "text").code == 0
        of_other_items = ("-s", "SIMDEDUP_ITEM_FIELDS=sku,text")
        assert perform_here("dedupe", feed, *of_other_items).code == 0
        assert perform_here("dedupe", feed, "-s", "SIMDEDUP_ITEM_FIELDS=sku,size").code == 2


def test_a_text_of_its_own_keeps_a_page_also_where_other_processes_read_it(tmp_path: Path) -> None:
    feed = tmp_path / "feed.jsonl"
    own = f"<p>{' '.join(words('own', 25))}."
    pages = [page("one", 1, count=800), page("one", 2, count=800), page("one", 3, body=prose("one", 800) + own)]
    feed.write_bytes(lines([{"url": f"http://a.example/{n}", "html": html} for n, html in enumerate(pages)]))
    for jobs in (1, 2):
        assert simdedup("dedupe", feed, "-j", jobs, "--json", cwd=tmp_path).json["kinds"] == {
            "new": 1,
            "identical": 1,
            "near": 1,
        }


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["text", "html"])
def test_many_processes_give_what_one_gives(kind: str, tmp_path: Path) -> None:
    """In the order of the feed, with the same verdicts to the last digit."""
    feed = tmp_path / "feed.jsonl"
    content = {"text": lambda number: prose(number // 3), "html": lambda number: page(number // 3, number)}[kind]
    made = [{"url": f"http://a.example/{number}", kind: content(number)} for number in range(90)]
    feed.write_bytes(lines([*made[:50], 7, {}, *made[50:]]))
    found = []
    for jobs in (1, 3):
        outputs = tmp_path / f"kept{jobs}.jsonl", tmp_path / f"verdicts{jobs}.jsonl"
        answer = simdedup("dedupe", feed, "-o", outputs[0], "--verdicts", outputs[1], "-j", jobs, cwd=tmp_path)
        assert answer.code == 0, answer.err
        found.append([answer.out, *(output.read_bytes() for output in outputs)])
    assert found[0] == found[1]
    assert found[0][0].startswith("92 items: 32 kept, 60 dropped (")


class TestJsonArray:
    @pytest.mark.parametrize(("name", "form"), [("items.json", ()), ("items.jsonl", ()), ("-", ("--format", "json"))])
    def test_what_scrapy_writes_comes_out_as_it_came_in(self, name: str, form: tuple[str], tmp_path: Path) -> None:
        """Also under the name of JSON lines, and by stdin."""
        output = tmp_path / "kept.json"
        content = array(items(price=1.50))
        (tmp_path / "items.json").write_bytes(content)
        (tmp_path / "items.jsonl").write_bytes(content)
        feed = name if name == "-" else tmp_path / name
        answer = simdedup("dedupe", feed, "-o", output, *form, cwd=tmp_path, piped=content if name == "-" else None)
        assert answer.code == 0, answer.err
        assert output.read_bytes() == array([item for item in items(price=1.50) if item["url"] in KEPT])

    def test_lines_in_a_file_of_that_name_are_read_as_lines(self, tmp_path: Path) -> None:
        feed, output = tmp_path / "items.json", tmp_path / "kept.json"
        feed.write_bytes(lines(items()))
        assert perform_here("dedupe", feed, "-o", output, "--json").json["dropped"] == 2
        assert output.read_bytes() == lines([item for item in items() if item["url"] in KEPT])

    @pytest.mark.parametrize(("feed", "output"), [("items.json", "kept.jsonl"), ("items.jsonl", "kept.json")])
    def test_the_name_of_the_output_chooses_its_form(self, feed: str, output: str, tmp_path: Path) -> None:
        forms = {"json": array, "jsonl": lines}
        (tmp_path / feed).write_bytes(forms[feed.partition(".")[2]](items()))
        assert perform_here("dedupe", tmp_path / feed, "-o", tmp_path / output).code == 0
        expected = [item for item in items() if item["url"] in KEPT]
        assert (tmp_path / output).read_bytes() == forms[output.partition(".")[2]](expected)

    @pytest.mark.parametrize("space", ["", " ", "\n\t"])
    def test_white_space_does_not_matter(self, space: str, tmp_path: Path) -> None:
        feed, output = tmp_path / "items.json", tmp_path / "kept.json"
        values = [json.dumps(item) for item in [*items(), 7, -1.5e3, "[]", None, [1, [2]]]]
        feed.write_text(space + "[" + space + f"{space},{space}".join(values) + space + "]" + space, encoding="utf-8")
        answer = perform_here("dedupe", feed, "-o", output, "--json", "--format", "json")
        assert answer.json["kinds"] == {"new": 3, "identical": 2, "unjudged": 6}
        assert json.loads(output.read_bytes())[-5:] == [7, -1.5e3, "[]", None, [1, [2]]]

    def test_values_may_be_longer_than_what_is_read_at_a_time(self, tmp_path: Path) -> None:
        feed, output = tmp_path / "items.json", tmp_path / "kept.json"
        long = [{"text": prose(number, 30), "noise": '\\ü"{}[],\n' * 300_000} for number in range(3)]
        feed.write_bytes(array(long))
        assert perform_here("dedupe", feed, "-o", output, "--fields", "text", "--json").json["kept"] == 3
        assert output.read_bytes() == array(long)

    def test_an_empty_array_has_no_items(self, tmp_path: Path) -> None:
        for content in (b"[]", b"[\n\n]", b" [ ] \n"):
            (tmp_path / "items.json").write_bytes(content)
            assert (
                perform_here("dedupe", tmp_path / "items.json", "-o", tmp_path / "kept.json", "--json").json["read"]
                == 0
            )
            assert json.loads((tmp_path / "kept.json").read_bytes()) == []


class TestPackedFeeds:
    @pytest.mark.parametrize("ending", ["gz", "zst"])
    def test_what_is_packed_is_read_and_written(self, ending: str, tmp_path: Path) -> None:
        if ending == "zst":
            pytest.importorskip("zstandard")
        feed, output = tmp_path / "feed.json", tmp_path / f"kept.json.{ending}"
        feed.write_bytes(array(items()))
        perform_here("dedupe", feed, "-o", output)
        again = perform_here("dedupe", output, "-o", tmp_path / "again.json", "--json")
        assert again.json["read"] == 4
        assert (tmp_path / "again.json").read_bytes() == array([item for item in items() if item["url"] in KEPT])

    def test_a_cut_file_is_said_in_one_sentence(self, tmp_path: Path) -> None:
        zstandard = pytest.importorskip("zstandard")
        (tmp_path / "cut.jsonl.zst").write_bytes(b"no such thing" + zstandard.compress(lines(items())))
        answer = perform_here("dedupe", tmp_path / "cut.jsonl.zst")
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert "cut.jsonl.zst cannot be read to its end" in answer.err

    def test_what_is_missing_is_said(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "zstandard", None)
        (tmp_path / "feed.jsonl.zst").touch()
        answer = perform_here("dedupe", tmp_path / "feed.jsonl.zst")
        assert (answer.code, "pip install scrapy-simdedup[zstd]" in answer.err) == (2, True)


class TestParquet:
    @pytest.mark.parametrize("ending", ["", ".gz"])
    def test_rows_come_out_with_their_types(self, ending: str, tmp_path: Path) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        feed, output = tmp_path / f"feed.parquet{ending}", tmp_path / "kept.parquet"
        rows = [
            {"url": item["url"], "price": number, "body": item["html"].encode()} for number, item in enumerate(items())
        ]
        table = pyarrow.Table.from_pylist(rows).cast(
            pyarrow.schema([("url", "string"), ("price", "int16"), ("body", "binary")])
        )
        with (gzip.open if ending else open)(feed, "wb") as file:
            parquet.write_table(table, file, row_group_size=2)
        assert perform_here("dedupe", feed, "-o", output, "--json").json["dropped"] == 2
        found = parquet.read_table(output)
        assert found.schema.equals(table.schema)
        assert found.to_pylist() == [row for row in rows if row["url"] in KEPT]

    def test_rows_can_be_written_as_json(self, tmp_path: Path) -> None:
        pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.Table.from_pylist(items()), tmp_path / "feed.parquet")
        perform_here("dedupe", tmp_path / "feed.parquet", "-o", tmp_path / "kept.jsonl")
        assert [item["url"] for item in kept((tmp_path / "kept.jsonl").read_bytes())] == KEPT

    def test_what_is_no_table_is_said_in_one_sentence(self, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow")
        (tmp_path / "feed.parquet").write_bytes(b"PAR1 no such thing")
        answer = perform_here("dedupe", tmp_path / "feed.parquet")
        assert (answer.code, answer.err.count("\n")) == (2, 1), answer.err
        assert "the table cannot be read" in answer.err

    def test_what_is_missing_is_said(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        (tmp_path / "feed.parquet").touch()
        answer = perform_here("dedupe", tmp_path / "feed.parquet")
        assert (answer.code, "pip install scrapy-simdedup[parquet]" in answer.err) == (2, True)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("cut.json", b'[{"a": 1},\n{"b": 2', "item 2 of the array cannot be read"),
        ("cut.json", b'[{"a": 1}\n', "item 2 of the array cannot be read"),
        ("wrong.json", b'[{"a": 1} {"b": 2}]', "item 2 of the array cannot be read"),
        ("wrong.json", b'[{"a": 1}, {b: 2}, {"c": 3}]', "item 2 of the array cannot be read"),
        ("more.json", b'[{"a": 1}]\n[{"b": 2}]', "something comes after the end of the array of 1 items"),
        ("latin.json", b'[{"a": "\xff"}]', "not in UTF-8"),
        ("cut.jsonl.gz", gzip.compress(lines(items()), mtime=0)[:-9], "cut.jsonl.gz cannot be read to its end"),
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


def test_a_line_that_is_nested_too_deep_is_kept_and_the_others_are_judged(tmp_path: Path) -> None:
    feed, output = tmp_path / "feed.jsonl", tmp_path / "kept.jsonl"
    deep = b"[" * 100_000 + b"]" * 100_000 + b"\n"
    in_a_field = b'{"url": ' + b"[" * 980 + b"]" * 980 + b"}\n"
    feed.write_bytes(deep + in_a_field + lines(items()))
    answer = perform_here("dedupe", feed, "-o", output, "--json").json
    reasons = {"no_item": 2, "too_short": 1}, {"no_item": 1, "empty": 1, "too_short": 1}
    assert answer.pop("unjudged") in reasons  # the second from Python 3.13 on, which reads deeper lines
    kinds = {"new": 3, "identical": 2, "unjudged": 3}
    assert answer == {"read": 8, "kept": 6, "dropped": 2, "kinds": kinds}
    assert output.read_bytes().startswith(deep + in_a_field)


def test_an_empty_feed_has_no_items(tmp_path: Path) -> None:
    (tmp_path / "feed.csv").touch()
    answer = perform_here("dedupe", tmp_path / "feed.csv")
    assert (answer.code, answer.out) == (0, "0 items: 0 kept, 0 dropped (there were none)\n")


def test_a_feed_of_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    answer = perform_here("dedupe", tmp_path / "feed.xml")
    assert answer.code == 2
    assert "say with --format what it is" in answer.err
