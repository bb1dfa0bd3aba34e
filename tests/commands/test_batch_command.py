"""``batch fingerprint | judge | keep``: an archive of files gets the verdicts of a crawl, whatever happens to it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import Any
from unittest import mock

import pytest

from helpers.archives import Fetch, archive, crawl, pages_in, recrawled, response, write_warc
from helpers.command_line import Answer, in_a_thread, perform_here
from helpers.prints import edited
from helpers.warm_python import run_python, warm_context
from scrapy_simdedup.batch import archives, workers
from scrapy_simdedup.batch.files import only_run_in
from scrapy_simdedup.batch.tables import VERDICT_COLUMNS
from scrapy_simdedup.batch.things import again_in_run
from scrapy_simdedup.batch.warc import MAX_RECORD_BYTES
from scrapy_simdedup.commands.batch import _inputs

pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("duckdb")
pytest.importorskip("warcio")

# warcio leaves it to the garbage collector to close its temporary files.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*SpooledTemporaryFile:pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Unclosed file:ResourceWarning"),
]
SECRET = ("-s", "SIMDEDUP_SECRET=s3cret")


@pytest.fixture(autouse=True)
def warm_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes of a command begin with the package imported; those of ``run_with`` are as users have them."""
    monkeypatch.setattr(workers, "get_context", lambda _: warm_context())


@cache
def pages() -> list[Fetch]:
    return archive()


@cache
def recrawled_pages() -> list[Fetch]:
    return recrawled()


def batch(step: str, *arguments: object) -> Answer:
    return perform_here("batch", step, "-j", 1, *arguments, "--json", *SECRET)


def judged(directory: Path) -> dict[str, list[dict[str, Any]]]:
    """The verdicts by URL, in the order of time."""
    rows = [row for path in sorted(directory.glob("verdicts-*")) for row in pq.read_table(path).to_pylist()]
    found: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: row["time"]):
        found.setdefault(row["url"], []).append({name: row[name] for name in VERDICT_COLUMNS})
    return found


def crawled(found: list[Fetch], store: str = "memory:", **settings: Any) -> dict[str, list[dict[str, Any]]]:
    verdicts = in_a_thread(lambda: asyncio.run(crawl(store, found, run="batch", **settings)))
    made: dict[str, list[dict[str, Any]]] = {}
    for one, verdict in zip(found, verdicts, strict=True):
        again = again_in_run(verdict, "batch")
        made.setdefault(one.url, []).append({name: getattr(again, name) for name in VERDICT_COLUMNS})
    return made


def split(tmp_path: Path, found: list[Fetch], parts: int = 3) -> list[Path]:
    """Archives of the pages, in turns, so that each has pages of all sites."""
    names = [tmp_path / f"part-{part}.warc{'.gz' * (part % 2)}" for part in range(parts)]
    return [write_warc(name, found[part::parts]) for part, name in enumerate(names)]


def test_an_archive_gets_the_verdicts_of_a_crawl_and_what_is_kept_is_copied(tmp_path: Path) -> None:
    inputs, prints, verdicts, kept = split(tmp_path, pages()), *(tmp_path / name for name in ("prints", "out", "kept"))
    made = batch("fingerprint", *inputs, "-o", prints, "-j", 2)
    assert made.json == {"pages": len(pages()), "files": 3, "damaged": 0}, made.err
    answer = batch("judge", prints, "-o", verdicts, "--partitions", 2, "-j", 2)
    expected = crawled(pages())
    assert judged(verdicts) == expected
    dropped = sum(verdict["is_duplicate"] for found in expected.values() for verdict in found)
    assert (answer.json["read"], answer.json["dropped"]) == (len(pages()), dropped)
    assert answer.json["stubs_kept"] > 0
    assert answer.json["unjudged"] == {"too_short": 6, "empty": 3}
    assert answer.json["saved_bytes"] > 10_000
    assert answer.json["most_repeated"][0]["repeats"] > 3
    assert batch("keep", *inputs, "--verdicts", verdicts, "-o", kept).json["dropped"] == dropped
    copies = [record for name in inputs for record in pages_in(kept / (name.name.removesuffix(".gz") + ".gz"))]
    originals = [record for name in inputs for record in pages_in(name)]
    assert [url for _, url, _ in copies] == [url for _, url, _ in originals]
    assert sum(kind == "revisit" for kind, *_ in copies) == dropped
    assert {record for record in copies if record[0] == "response"} <= set(originals)


def test_json_lines_and_tables_do_as_well(tmp_path: Path) -> None:
    import pyarrow as pa

    rows = [{"url": one.url, "html": one.html, "fetched_at": one.time, "price": 1.5} for one in pages()]
    (tmp_path / "items.jsonl").write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "items.parquet")
    for name in ("items.jsonl", "items.parquet"):
        prints, verdicts, kept = (tmp_path / f"{name} {what}" for what in ("prints", "verdicts", "kept"))
        batch("fingerprint", tmp_path / name, "-o", prints)
        batch("judge", prints, "-o", verdicts)
        assert judged(verdicts) == crawled(pages())
        batch("keep", tmp_path / name, "--verdicts", verdicts, "-o", kept)
    lines = (tmp_path / "items.jsonl kept" / "items.jsonl").read_bytes().splitlines(keepends=True)
    assert set(lines) < set((tmp_path / "items.jsonl").read_bytes().splitlines(keepends=True))
    assert [json.loads(line) for line in lines] == pq.read_table(tmp_path / "items.parquet kept").to_pylist()


@pytest.mark.skipif(sys.platform == "win32", reason="its file systems have no such names")
def test_paths_are_no_patterns_and_their_directories_no_columns(tmp_path: Path) -> None:
    lake = tmp_path / "site=wrong.example" / "file=x" / "J\u00e4nner's crawl*"
    (lake / "out").mkdir(parents=True)
    one, other = (write_warc(lake / f"{name}.warc", pages()[at : at + 20]) for at, name in enumerate(("a[1]", "a1")))
    for name in (one, other):  # the name of one is a pattern for the other
        batch("fingerprint", name, "-o", lake / "prints" / name.stem)
        batch("judge", lake / "prints" / name.stem, "-o", lake / "out" / name.stem)
        answer = batch("keep", name, "--verdicts", lake / "out" / name.stem, "-o", lake / "kept")
        assert answer.code == 0, answer.err
    assert judged(lake / "out" / "a[1]") == crawled(pages()[:20])
    assert judged(lake / "out" / "a1") == crawled(pages()[1:21])


SETTINGS = {"default": {}, "drop": {"against": "history", "unchanged": "drop"}}
HISTORIES = pytest.mark.parametrize("name", SETTINGS)


def options_of(settings: dict[str, str]) -> list[str]:
    return [word for name, value in settings.items() for word in ("-s", f"SIMDEDUP_{name.upper()}={value}")]


@HISTORIES
@pytest.mark.parametrize("form", ["parquet", "lines"])
def test_what_a_batch_knew_a_crawl_knows(tmp_path: Path, name: str, form: str) -> None:
    """Batch, import, crawl: the verdicts of one long crawl."""
    found, history = recrawled_pages(), SETTINGS[name]
    half, store = len(found) // 2, sqlite_store(tmp_path / "pages.sqlite")
    prints, verdicts, records = (tmp_path / name for name in ("prints", "verdicts", "records"))
    batch("fingerprint", write_warc(tmp_path / "half.warc", found[:half]), "-o", prints, *options_of(history))
    batch("judge", prints, "-o", verdicts, "--records", records, *options_of(history))
    for path in sorted(records.iterdir()):
        assert perform_here("import", path, "--store", store, "--json").json["refused"] == 0
    if form == "lines":
        perform_here("export", "--store", store, "-o", tmp_path / "pages.jsonl")
        store = sqlite_store(tmp_path / "copy.sqlite")
        assert perform_here("import", tmp_path / "pages.jsonl", "--store", store, "--json").json["refused"] == 0
    assert later(crawled(found[half:], store, **history)) == later(one_long_crawl(name))


@HISTORIES
def test_what_a_crawl_knew_a_batch_knows(tmp_path: Path, name: str) -> None:
    """Crawl, export, batch: the verdicts of one long crawl."""
    found, history = recrawled_pages(), SETTINGS[name]
    half, store = len(found) // 2, sqlite_store(tmp_path / "pages.sqlite")
    crawled(found[:half], store, **history)
    table, prints, verdicts = (tmp_path / name for name in ("pages.parquet", "prints", "verdicts"))
    perform_here("export", "--store", store, "-o", table)
    half_file = write_warc(tmp_path / "half.warc", found[half:])
    batch("fingerprint", half_file, "-o", prints, *options_of(history))
    answer = batch("judge", prints, "-o", verdicts, "--history", table, *options_of(history))
    assert answer.code == 0, answer.err
    assert later(judged(verdicts)) == later(one_long_crawl(name))


def sqlite_store(path: Path) -> str:
    return f"sqlite:///{path.as_posix()}"


@cache
def one_long_crawl(name: str) -> dict[str, list[dict[str, Any]]]:
    """The verdicts on the second half of the pages, after the first."""
    found = recrawled_pages()
    before = Counter(one.url for one in found[: len(found) // 2])
    whole = crawled(found, **SETTINGS[name])
    return {url: those[before[url] :] for url, those in whole.items() if len(those) > before[url]}


def later(found: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    return dict(sorted(found.items()))


def test_what_better_copies_took_the_place_of_can_be_left_out_where_nothing_is_lost(tmp_path: Path) -> None:
    """What the last page of a line is a copy of, unless another page was dropped for it that is none."""

    def version(seed: str, place: str, percent: int) -> tuple[str, str]:
        return f"http://a.example/{place}{seed}", edited(seed, 4, share=percent / 100)

    found = [
        version("plain", "old/", 2),
        version("plain", "", 3),
        *(version("chain", "older/" * (4 - step), percent) for step, percent in enumerate((2, 4, 6, 8, 10))),
        version("others", "the/old/", 6),
        version("others", "the/old/for-print/", 2),  # dropped for the one before, and not like the last
        version("others", "old/", 6),
        version("others", "", 10),
    ]
    fetched = [Fetch(url, html, 1_000.0 + number) for number, (url, html) in enumerate(found)]
    prints, verdicts, options = tmp_path / "prints", tmp_path / "out", ("-s", "SIMDEDUP_PREFER=shorter_url")
    name = write_warc(tmp_path / "pages.warc", fetched)
    batch("fingerprint", name, "-o", prints, *options)
    batch("judge", prints, "-o", verdicts, *options)
    rows = [row for those in judged(verdicts).values() for row in those]
    assert sum(row["supersedes"] is not None for row in rows) == 7
    dropped = {"the/old/for-print/others"}
    needless = {"old/plain", "older/chain", "older/older/chain", "older/older/older/chain", "old/others"}
    for more, expected in (((), dropped), (("--drop-superseded", prints), dropped | needless)):
        kept = tmp_path / f"kept {len(more)}"
        answer = batch("keep", name, "--verdicts", verdicts, "-o", kept, *more, *options)
        assert answer.json["dropped"] == len(expected), answer.err
        gone = {url for kind, url, _ in pages_in(next(kept.glob("*.gz"))) if kind == "revisit"}
        assert {url.removeprefix("http://a.example/") for url in gone} == expected
    more = ("--drop-superseded", tmp_path, *options)
    refused = batch("keep", name, "--verdicts", verdicts, "-o", tmp_path / "no", *more)
    assert (refused.code, "there are no fingerprints in" in refused.err) == (2, True)


def test_the_secret_of_a_history_is_taken_over(tmp_path: Path) -> None:
    store, history = f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}", tmp_path / "pages.parquet"
    feed = tmp_path / "feed.jsonl"
    feed.write_bytes(
        b"".join(json.dumps({"url": p.url, "html": p.html, "time": p.time}).encode() + b"\n" for p in pages())
    )
    perform_here("dedupe", feed, "--store", store)
    perform_here("export", "--store", store, "-o", history)
    prints, options = tmp_path / "prints", ("-s", "SIMDEDUP_AGAINST=history", "--json", "-j", 1)
    made = perform_here("batch", "fingerprint", feed, "-o", prints, "--history", history, *options)
    assert made.code == 0, made.err
    assert os.name == "nt" or (prints / "secret").stat().st_mode & 0o777 == 0o600
    answer = perform_here("batch", "judge", prints, "-o", tmp_path / "out", "--history", history, *options)
    assert "new" not in answer.json["kinds"]
    other = perform_here("batch", "fingerprint", feed, "-o", tmp_path / "other", *options)
    assert other.code == 0
    refused = perform_here("batch", "judge", tmp_path / "other", "-o", tmp_path / "no", "--history", history, *options)
    assert (refused.code, "was made under another secret" in refused.err) == (2, True)


def test_the_report_of_a_batch_is_that_of_a_crawl(tmp_path: Path) -> None:
    (name,) = split(tmp_path, pages()[:90], 1)
    prints, out, records = (tmp_path / what for what in ("prints", "out", "records"))
    batch("fingerprint", name, "-o", prints)
    refused = batch("judge", prints, "-o", out, "--report", tmp_path / "report.json")
    assert (refused.code, "--report needs --records" in refused.err) == (2, True)
    answer = batch("judge", prints, "-o", out, "--records", records, "--report", tmp_path / "report.json")
    assert answer.code == 0, answer.err
    report = json.loads((tmp_path / "report.json").read_bytes())
    assert (report["pages"], report["dropped"]) == (answer.json["read"], answer.json["dropped"])
    store = f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"
    for path in sorted(records.iterdir()):
        perform_here("import", path, "--store", store)
    perform_here("report", "--store", store, "--run", "batch", "-o", tmp_path / "crawl.json")
    of_crawl = json.loads((tmp_path / "crawl.json").read_bytes())
    for section in ("similarities", "clusters", "cluster_count", "near_count", "stubs", "sites"):
        assert report[section] == of_crawl[section], section


class TestMishaps:
    def test_a_worker_that_is_killed_once_costs_nothing(self, tmp_path: Path) -> None:
        (name,) = split(tmp_path, pages()[:40], 1)
        prints = tmp_path / "prints"
        answer = run_with(KILL_ONCE, "fingerprint", name, "-o", prints, cwd=tmp_path)
        assert answer["pages"] == 40
        assert [path.name for path in prints.iterdir() if "part-" in path.name] == ["part-0.warc.parquet"]
        assert "worker_died" not in reasons(prints)

    def test_a_page_that_kills_its_process_each_time_is_kept_unjudged(self, tmp_path: Path) -> None:
        (name,) = split(tmp_path, pages()[:20], 1)
        prints = tmp_path / "prints"
        answer = run_with(KILL_ALWAYS, "fingerprint", name, "-o", prints, cwd=tmp_path, is_forked=True)
        assert answer["pages"] == 20
        batch("judge", prints, "-o", tmp_path / "out")
        found = judged(tmp_path / "out")[pages()[5].url]
        assert [(row["kind"], row["reason"], row["is_duplicate"]) for row in found] == [
            ("unjudged", "worker_died", False)
        ]

    @pytest.mark.skipif(sys.platform == "win32", reason="needs alarms")
    def test_a_page_that_hangs_the_parser_is_kept_unjudged(self, tmp_path: Path) -> None:
        (name,) = split(tmp_path, pages()[:20], 1)
        prints, options = tmp_path / "prints", ("-s", "SIMDEDUP_WORKER_TIMEOUT=4")
        answer = run_with(HANG, "fingerprint", name, "-o", prints, *options, cwd=tmp_path, is_forked=True)
        assert answer["pages"] == 20
        answer = batch("judge", prints, "-o", tmp_path / "out")
        assert answer.json["unjudged"]["worker_timeout"] == 1

    def test_a_file_that_is_cut_is_said_and_no_half_table_is_left(self, tmp_path: Path) -> None:
        whole, cut = split(tmp_path, pages()[:40], 2)
        cut.write_bytes(cut.read_bytes()[:-700])
        prints = tmp_path / "prints"
        answer = batch("fingerprint", whole, cut, "-o", prints)
        assert (answer.code, answer.out) == (2, "")
        assert f"{cut}: record " in answer.err
        assert "--skip-damaged" in answer.err
        assert not [path for path in prints.iterdir() if cut.name in path.name]
        answer = batch("fingerprint", whole, cut, "-o", prints, "--skip-damaged")
        assert answer.json["damaged"] == 1
        assert 36 < answer.json["pages"] < 40
        plain = write_warc(tmp_path / "plain.warc", pages()[:3])
        plain.write_bytes(plain.read_bytes()[:-700])
        assert "is cut" in batch("fingerprint", plain, "-o", tmp_path / "other").err

    def test_what_can_be_read_of_a_file_that_is_cut_is_copied(self, tmp_path: Path) -> None:
        (cut,) = split(tmp_path, pages()[:12], 1)
        cut.write_bytes(cut.read_bytes()[:-700])
        prints, out, kept = tmp_path / "prints", tmp_path / "out", tmp_path / "kept"
        batch("fingerprint", cut, "-o", prints, "--skip-damaged")
        batch("judge", prints, "-o", out)
        refused = batch("keep", cut, "--verdicts", out, "-o", kept)
        assert (refused.code, "is cut" in refused.err, list(kept.glob("*.gz"))) == (2, True, [])
        assert batch("keep", cut, "--verdicts", out, "-o", kept, "--skip-damaged").code == 0
        assert [url for _, url, _ in pages_in(kept / "part-0.warc.gz")] == [page.url for page in pages()[:11]]

    def test_a_huge_record_is_kept_without_being_read_as_a_page(self, tmp_path: Path) -> None:
        from warcio.warcwriter import WARCWriter

        name = tmp_path / "huge.warc.gz"
        huge = Fetch("http://www.example.com/huge", "<p>" + "x" * MAX_RECORD_BYTES, 1.0)
        with name.open("wb") as file:
            writer = WARCWriter(file)
            writer.write_record(response(writer, huge))
            writer.write_record(response(writer, pages()[0]))
        batch("fingerprint", name, "-o", tmp_path / "prints")
        answer = batch("judge", tmp_path / "prints", "-o", tmp_path / "out")
        assert answer.json["unjudged"] == {"too_big": 1}
        assert answer.json["kept"] == 2

    def test_what_is_there_already_is_not_made_again(self, tmp_path: Path) -> None:
        inputs, prints, verdicts = split(tmp_path, pages()), tmp_path / "prints", tmp_path / "out"
        batch("fingerprint", *inputs, "-o", prints)
        times = {path: path.stat().st_mtime_ns for path in prints.iterdir()}
        next(iter(prints.glob("part-1*"))).unlink()
        assert batch("fingerprint", *inputs, "-o", prints).json["pages"] == len(pages())
        changed = [path.name for path, time in times.items() if path.stat().st_mtime_ns != time]
        assert changed == ["part-1.warc.gz.parquet"]
        batch("judge", prints, "-o", verdicts, "-j", 2)
        before = {path.name: path.read_bytes() for path in verdicts.glob("verdicts-*")}
        (verdicts / "verdicts-00001.parquet").unlink()
        assert perform_here("batch", "judge", prints, "-o", verdicts, "-j", 1, *SECRET).code == 0
        assert {path.name: path.read_bytes() for path in verdicts.glob("verdicts-*")} == before
        other = batch("judge", prints, "-o", verdicts, "-s", "SIMDEDUP_DROP=near")
        assert (other.code, "under other settings" in other.err) == (2, True)

    def test_a_site_above_the_limit_is_refused_by_name(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        batch("fingerprint", *split(tmp_path, pages()), "-o", tmp_path / "prints")
        monkeypatch.setattr(archives, "MAX_PAGES_OF_SITE", 100)
        answer = batch("judge", tmp_path / "prints", "-o", tmp_path / "out")
        assert (answer.code, "example.com (" in answer.err) == (2, True)
        assert "SIMDEDUP_MAX_PAGES_PER_SITE" in answer.err
        capped = batch("judge", tmp_path / "prints", "-o", tmp_path / "out", "-s", "SIMDEDUP_MAX_PAGES_PER_SITE=50")
        assert capped.code == 0

    def test_the_hosts_of_large_sites_can_be_judged_apart(self, tmp_path: Path) -> None:
        batch("fingerprint", *split(tmp_path, pages(), 1), "-o", tmp_path / "prints")
        options = ("-o", tmp_path / "out", "--by-host-above", 100)
        refused = batch("judge", tmp_path / "prints", *options, "--records", tmp_path / "records")
        assert (refused.code, "--by-host-above writes no --records" in refused.err) == (2, True)
        batch("judge", tmp_path / "prints", *options)
        assert judged(tmp_path / "out") == crawled(pages(), scope="host")

    def test_without_times_the_remedy_is_named(self, tmp_path: Path) -> None:
        feed, rows = tmp_path / "feed.jsonl", [{"url": one.url, "html": one.html} for one in pages()[:9]]
        feed.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
        answer = batch("fingerprint", feed, "-o", tmp_path / "prints")
        assert (answer.code, "--time-field" in answer.err) == (2, True)
        assert batch("fingerprint", feed, "-o", tmp_path / "prints", "--order", "file").json["pages"] == 9

    def test_a_missing_package_is_named_with_its_extra(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "prints").mkdir()
        monkeypatch.setitem(sys.modules, "duckdb", None)
        answer = batch("judge", tmp_path / "prints", "-o", tmp_path / "out")
        assert (answer.code, "pip install scrapy-simdedup[batch]" in answer.err) == (2, True)

    def test_fingerprints_of_other_settings_are_refused(self, tmp_path: Path) -> None:
        batch("fingerprint", *split(tmp_path, pages()[:6], 1), "-o", tmp_path / "prints")
        answer = batch("judge", tmp_path / "prints", "-o", tmp_path / "out", "-s", "SIMDEDUP_BITS=128")
        assert (answer.code, "fingerprint the archive again" in answer.err) == (2, True)

    def test_files_without_verdicts_are_not_copied_as_if_they_had_some(self, tmp_path: Path) -> None:
        one, other = split(tmp_path, pages()[:6], 2)
        batch("fingerprint", one, "-o", tmp_path / "prints")
        batch("judge", tmp_path / "prints", "-o", tmp_path / "out")
        answer = batch("keep", other, "--verdicts", tmp_path / "out", "-o", tmp_path / "kept")
        assert (answer.code, f"there is no verdict on {other}" in answer.err) == (2, True)


class TestOutputs:
    """No half or other file is taken for the one that is wanted."""

    def test_two_runs_at_once_are_refused(self, tmp_path: Path) -> None:
        (name,) = split(tmp_path, pages()[:6], 1)
        with only_run_in(tmp_path / "prints"):
            answer = batch("fingerprint", name, "-o", tmp_path / "prints")
        assert (answer.code, "another run is at work in" in answer.err) == (2, sys.platform != "win32")

    def test_what_a_killed_run_left_is_taken_away(self, tmp_path: Path) -> None:
        (name,) = split(tmp_path, pages()[:6], 1)
        (tmp_path / "prints").mkdir()
        half, other = tmp_path / "prints" / f"{name.name}.parquet.4711.part", tmp_path / "prints" / "mine.part"
        half.write_bytes(b"PAR1")
        other.touch()
        assert batch("fingerprint", name, "-o", tmp_path / "prints").json["pages"] == 6
        assert (half.exists(), other.exists()) == (sys.platform == "win32", True)

    def test_a_secret_that_could_not_be_written_is_made_anew(self, tmp_path: Path) -> None:
        """As on a disk that was full."""
        (name,) = split(tmp_path, pages()[:3], 1)
        (tmp_path / "prints").mkdir()
        (tmp_path / "prints" / "secret").touch()
        answer = perform_here("batch", "fingerprint", name, "-o", tmp_path / "prints", "-j", 1)
        assert answer.code == 0, answer.err
        assert len((tmp_path / "prints" / "secret").read_text()) == 32

    def test_fingerprints_of_another_file_or_of_one_that_changed_are_none_of_this(self, tmp_path: Path) -> None:
        for day, found in (("monday", pages()[:6]), ("tuesday", pages()[6:10])):
            (tmp_path / day).mkdir()
            write_warc(tmp_path / day / "part.warc", found)
        names = [tmp_path / day / "part.warc" for day in ("monday", "tuesday")]
        assert batch("fingerprint", names[0], "-o", tmp_path / "prints").code == 0
        answer = batch("fingerprint", names[1], "-o", tmp_path / "prints")
        assert (answer.code, "was made of another file" in answer.err) == (2, True)
        write_warc(names[0], pages()[:7])
        assert batch("fingerprint", names[0], "-o", tmp_path / "prints").code == 2
        assert batch("fingerprint", *names, "-o", tmp_path / "prints").json["pages"] == 11

    def test_copies_of_other_files_or_by_other_verdicts_are_none_of_these(self, tmp_path: Path) -> None:
        names = []
        for day, found in (("monday", pages()[:30]), ("tuesday", pages()[30:60])):
            (tmp_path / day).mkdir()
            names.append(write_warc(tmp_path / day / "part.warc.gz", found))
        batch("fingerprint", *names, "-o", tmp_path / "prints")
        for drop in ("identical", "near"):
            batch("judge", tmp_path / "prints", "-o", tmp_path / drop, "-s", f"SIMDEDUP_DROP={drop}")
        keep = ("--verdicts", tmp_path / "identical", "-o", tmp_path / "kept")
        assert batch("keep", names[0], *keep).code == 0
        other = batch("keep", names[1], *keep)
        assert (other.code, f"is a copy of {names[0]}, and not of {names[1]}" in other.err) == (2, True)
        assert batch("keep", names[0], *keep).code == 0
        near = batch("keep", names[0], "--verdicts", tmp_path / "near", "-o", tmp_path / "kept")
        assert (near.code, "by these verdicts" in near.err) == (2, True)

    def test_records_are_written_where_there_are_only_verdicts(self, tmp_path: Path) -> None:
        prints, out, records = (tmp_path / name for name in ("prints", "out", "records"))
        batch("fingerprint", *split(tmp_path, pages()[:30], 1), "-o", prints)
        batch("judge", prints, "-o", out)
        before = judged(out)
        assert batch("judge", prints, "-o", out, "--records", records).code == 0
        assert judged(out) == before
        assert sum(pq.read_table(path).num_rows for path in records.iterdir()) >= 30
        other = batch("judge", prints, "-o", tmp_path / "other", "--records", records)
        assert (other.code, "holds records of another run" in other.err) == (2, True)


class TestInputs:
    def test_files_without_pages_are_copied_as_they_are(self, tmp_path: Path) -> None:
        (some,), none = split(tmp_path, pages()[:6], 1), write_warc(tmp_path / "none.warc.gz", [])
        empty = tmp_path / "empty.warc.gz"
        empty.touch()
        batch("fingerprint", some, none, empty, "-o", tmp_path / "prints")
        batch("judge", tmp_path / "prints", "-o", tmp_path / "out")
        answer = batch("keep", some, none, empty, "--verdicts", tmp_path / "out", "-o", tmp_path / "kept")
        assert answer.json["files"] == 3, answer.err
        assert len(list((tmp_path / "kept").glob("*.gz"))) == 3

    def test_a_directory_or_a_pattern_stands_for_its_files(self, tmp_path: Path) -> None:
        (tmp_path / "in").mkdir()
        for name in split(tmp_path, pages()[:6], 2):
            name.rename(tmp_path / "in" / name.name)
        (tmp_path / "in" / "_SUCCESS").touch()
        (tmp_path / "in" / ".part-0.warc.crc").touch()
        for number, inputs in enumerate((tmp_path / "in", tmp_path / "in" / "*.warc*")):
            assert batch("fingerprint", inputs, "-o", tmp_path / f"prints {number}").json["files"] == 2
        (tmp_path / "nothing").mkdir()
        for inputs in (tmp_path / "nothing", tmp_path / "in" / "*.parquet", "memory://nothing/*.warc.gz"):
            answer = batch("fingerprint", inputs, "-o", tmp_path / "prints")
            assert (answer.code, f"{inputs}: there is no file of this archive" in answer.err) == (2, True)

    def test_a_pattern_of_another_file_system_stands_for_its_files(self, tmp_path: Path) -> None:
        memory = pytest.importorskip("fsspec").filesystem("memory")
        for name in split(tmp_path, pages()[:6], 2):
            memory.put_file(str(name), f"/bucket/{name.name}")
        context = mock.Mock(options=mock.Mock(inputs=["memory://bucket/*.warc*"]))
        assert _inputs(context) == ["memory:///bucket/part-0.warc", "memory:///bucket/part-1.warc.gz"]
        memory.store.clear()


KILL_ONCE = """
if number == 9 and not Path("killed").exists():
    Path("killed").touch()
    os.kill(os.getpid(), 9)
"""
KILL_ALWAYS = "if number == 5 and not reason: os._exit(1)"
HANG = """
if number == 5 and not reason:
    while True: pass
"""
PROGRAM = """
import os, sys
from multiprocessing import get_context
from pathlib import Path
from scrapy_simdedup.batch import archives, workers

make = archives._fingerprint_row

def mishap(url, html, settings, secret, reason):
    number = URLS.index(url)
{mishap}
    return make(url, html, settings, secret, reason)

URLS = {urls!r}
archives._fingerprint_row = mishap
if {is_forked} and hasattr(os, "fork"):
    workers.get_context = lambda _: get_context("fork")
if __name__ == "__main__":
    from scrapy.cmdline import execute
    execute(["scrapy", "simdedup", *sys.argv[1:]])
"""


def run_with(mishap: str, step: str, *arguments: object, cwd: Path, is_forked: bool = False) -> Any:
    """The answer of a process in which something happens at the page of a number.

    Its own processes are those that users have, or forks, which take less time.
    """
    urls = [one.url for one in pages()]
    program = PROGRAM.format(mishap=indent(mishap.strip(), "    "), urls=urls, is_forked=is_forked)
    (cwd / "program.py").write_text(program)
    done = run_python([cwd / "program.py", "batch", step, *arguments, "-j", "1", "--json", *SECRET], cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def reasons(prints: Path) -> set[str | None]:
    from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint

    rows = [row for path in prints.glob("*.parquet") for row in pq.read_table(path).to_pylist()]
    return {PageFingerprint.from_bytes(row["fingerprint"]).unjudged for row in rows}
