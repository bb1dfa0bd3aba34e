"""``export | import`` takes a store from anywhere to anywhere."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.command_line import Crawled, perform_here, stored, with_store
from helpers.on_asyncio import on_asyncio
from scrapy_simdedup import fingerprint_page
from scrapy_simdedup.batch.records import MAX_INT, SHARED_METADATA, from_line, records_schema, to_line
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.store.base import FingerprintStore, Record

RECORDS = st.builds(
    Record,
    url=st.text(),
    key=st.binary(min_size=1),
    fingerprint=st.text(max_size=40).map(lambda text: bytes(fingerprint_page(text))),
    run=st.text(),
    worker=st.text(),
    state=st.sampled_from(["reserved", "confirmed", "released", "duplicate"]),
    kind=st.sampled_from(["new", "near", "identical"]),
    similarity=st.none() | st.floats(0, 1),
    original=st.none() | st.binary(min_size=1),
    first_seen=st.floats(0, 1e10),
    last_seen=st.floats(0, 1e10),
    last_changed=st.floats(0, 1e10),
    visits=st.integers(1, MAX_INT),
    changes=st.integers(0, MAX_INT),
    handler=st.text(),
    id=st.just(0),
    position=st.just(0),
)

PRINT = bytes(fingerprint_page("<p>All fares are paid at the turnstile."))


def by_url(records: list[tuple[str, Record]]) -> list[tuple[str, Record]]:
    return sorted(records, key=lambda found: found[1].url)


@given(RECORDS, st.text())
def test_a_line_says_all_that_a_record_does(record: Record, site: str) -> None:
    assert from_line(to_line(site, record)) == (site, record)


def test_what_was_exported_and_imported_is_what_was_there(crawled: Crawled, tmp_path: Path) -> None:
    copy = f"sqlite:///{(tmp_path / 'copy.sqlite').as_posix()}"
    exported = crawled.call("export")
    imported = perform_here("import", "-", "--store", copy, "--json", piped=exported.out.encode())
    assert imported.json == {"added": 12, "known": 0, "refused": 0, "store": copy}
    assert stored(copy) == stored(crawled.store)
    assert perform_here("export", "--store", copy).out == exported.out


def test_a_server_has_the_same_records_and_gives_them_back(crawled: Crawled, remote_url: str, tmp_path: Path) -> None:
    back = f"sqlite:///{(tmp_path / 'back.sqlite').as_posix()}"
    perform_here("import", "-", "--store", remote_url, piped=crawled.call("export").out.encode())
    assert by_url(stored(remote_url)) == by_url(stored(crawled.store))
    exported = perform_here("export", "--store", remote_url)
    perform_here("import", "-", "--store", back, piped=exported.out.encode())
    assert by_url(stored(back)) == by_url(stored(crawled.store))
    (explained,) = perform_here("explain", crawled.url("a", 2), "--store", remote_url, "--json").json
    assert explained["other"]["url"] == crawled.url("a")


@on_asyncio
async def test_a_copy_goes_on_where_the_store_was(crawled: Crawled, tmp_path: Path) -> None:
    """A page that the store has is unchanged for a crawl that uses the copy."""
    copy = f"sqlite:///{(tmp_path / 'copy.sqlite').as_posix()}"
    crawled.call("export", "-o", tmp_path / "pages.jsonl.gz")
    assert gzip.decompress((tmp_path / "pages.jsonl.gz").read_bytes()).startswith(b'{"simdedup": 1')
    perform_here("import", tmp_path / "pages.jsonl.gz", "--store", copy)
    await crawled.crawl(SIMDEDUP_STORE=copy, SIMDEDUP_RUN="tuesday", SIMDEDUP_AGAINST="history")
    kinds = {record.url: record.kind for _, record in stored(copy)}
    assert kinds[crawled.url("a")] == "unchanged"


def test_pages_that_are_there_stay_as_they_are(crawled: Crawled) -> None:
    before = stored(crawled.store)
    answer = crawled.call("import", "-", "--json", piped=crawled.call("export").out.encode())
    assert (answer.json["added"], answer.json["known"]) == (0, 12)
    assert stored(crawled.store) == before


def test_a_version_that_is_not_delivered_comes_along_with_the_one_before_it(tmp_path: Path) -> None:
    """The log has the older one last where it was settled last; in that order it would displace the newer one."""
    one, two = (f"sqlite:///{(tmp_path / name).as_posix()}" for name in ("one.sqlite", "two.sqlite"))
    record = Record("http://a.example/", b"key", PRINT, "run", "w", "reserved", "new", None, None, 1, 1, 1, 1, 0)

    fill(one, [record, record._replace(visits=2)], settle=1)
    perform_here("export", "--store", one, "-o", tmp_path / "pages.jsonl")
    perform_here("import", tmp_path / "pages.jsonl", "--store", two)
    assert [record.state for _, record in stored(two)] == ["confirmed", "reserved"]


@cache
def print_of(length: int) -> bytes:
    return bytes(fingerprint_page(f"<p>{' '.join(map(str, range(length)))}"))


def test_a_store_goes_through_a_server_and_back_as_it_was(remote_url: str, tmp_path: Path) -> None:
    """From SQLite to the server and into another file, records in all states, of several sites, in their order."""
    files = [f"sqlite:///{(tmp_path / name).as_posix()}" for name in ("first.sqlite", "last.sqlite")]
    record = Record("http://a.example/", b"key", PRINT, "run", "w", "reserved", "new", None, None, 1, 2.5, 2, 3, 1)
    states = ("confirmed", "duplicate", "stub", "reserved", "released")

    async def write(store: FingerprintStore) -> None:
        await store.set_default("fingerprint", "made so")
        await store.set_default("secret", "own:00ff")
        for site in ("a.example", "ü.example"):
            for id_ in range(600):
                made = record._replace(
                    url=f"http://{site}/\U0001f600?n={id_}",
                    key=b"\x00\xff%d" % id_,
                    fingerprint=print_of(id_),
                    state=states[id_ % len(states)],
                    similarity=id_ / 600 if id_ % 2 else None,
                    original=b"\x00\xff0" if id_ % 2 else None,
                )
                await store.append(site, made, id_)

    with_store(files[0], write)
    places = [files[0], remote_url, files[1]]
    for source, target in pairwise(places):
        perform_here("export", "--store", source, "-o", tmp_path / "pages.jsonl")
        assert perform_here("import", tmp_path / "pages.jsonl", "--store", target, "--json").json["added"] == 1200
    before, there, after = map(stored, places)
    assert by_state(before) == by_state(there) == by_state(after)
    assert len(before) == 1200
    assert {memo for place in places for memo in memos(place)} == {"made so", "own:00ff"}


def by_state(records: list[tuple[str, Record]]) -> list[tuple[str, Record]]:
    """An export has what is settled first, in the order in which it changed; so has this."""
    return sorted(records, key=lambda found: (found[0], not found[1].settled))


def memos(url: str) -> list[str]:
    return [with_store(url, lambda store, name=name: store.set_default(name, "")) for name in SHARED_METADATA]


def test_a_store_under_another_secret_takes_nothing(crawled: Crawled, tmp_path: Path) -> None:
    exported = crawled.call("export").out.replace('"own:', '"own:ff')
    answer = crawled.call("import", "-", piped=exported.encode())
    assert answer.code == 2
    assert "under another secret" in answer.err


def test_what_is_no_export_is_said_with_its_line(crawled: Crawled) -> None:
    head = crawled.call("export").out.splitlines()[0]
    assert "line 2: this line is no record" in crawled.call("import", "-", piped=f"{head}\n{{}}\n".encode()).err
    assert "not that of an export" in crawled.call("import", "-", piped=b"<html>").err


def test_a_line_that_cannot_be_read_is_said_and_the_others_are_imported(crawled: Crawled, tmp_path: Path) -> None:
    copy = f"sqlite:///{(tmp_path / 'copy.sqlite').as_posix()}"
    head, *records = crawled.call("export").out.splitlines()
    deep = "[" * 100_000 + "]" * 100_000
    piped = "\n".join([head, deep, *records]).encode()
    answer = perform_here("import", "-", "--store", copy, piped=piped)
    assert answer.code == 1
    assert "line 2: this line is no record: '[[[" in answer.err
    assert answer.out == f"{pages_of(records)} pages were added; 0 were there already; 1 line could not be read\n"
    assert stored(copy) == stored(crawled.store)
    assert "not that of an export" in crawled.call("import", "-", piped=deep.encode()).err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("site", 7),
        ("url", None),
        ("key", None),
        ("key", "a" * 2**17),
        ("state", "lost"),
        ("similarity", "high"),
        ("first_seen", "NaN"),
        ("last_seen", "1e999"),
        ("visits", 1.5),
        ("visits", -1),
        ("changes", 2**31),
    ],
)
def test_a_value_that_no_store_can_hold_is_refused_by_its_name(name: str, value: object) -> None:
    record = Record("http://a.example/", b"key", PRINT, "run", "w", "confirmed", "new", None, None, 1, 1, 1, 1, 0)
    values = {**json.loads(to_line("a.example", record)), name: float(value) if value in {"NaN", "1e999"} else value}
    with pytest.raises(SimdedupError, match=f"^{name} cannot be "):
        from_line(json.dumps(values).encode())


def test_a_fingerprint_that_is_none_is_refused() -> None:
    """With it in the log of a site no page of that could be judged."""
    record = Record("http://a.example/", b"key", PRINT[:9], "run", "w", "confirmed", "new", None, None, 1, 1, 1, 1, 0)
    with pytest.raises(SimdedupError, match="are no page fingerprint"):
        from_line(to_line("a.example", record))


def test_what_was_learned_of_a_site_comes_along(crawled: Crawled, shared_url: str, tmp_path: Path) -> None:
    """The clocks and the counts of stubs are notes of the site; a store that has such a note already keeps its own."""
    (site,) = {home for home, _ in stored(crawled.store)}
    put_note(crawled.store, "clocks", site, b"[]")
    put_note(crawled.store, "seen", site, b"not of a site")
    put_note(shared_url, "stubs", site, b"own")
    put_note(crawled.store, "stubs", site, b"other")
    lines = crawled.call("export").out.splitlines()
    notes = [json.loads(line) for line in lines if '"journal"' in line]
    assert notes == [
        {"site": site, "journal": "clocks", "note": "W10="},
        {"site": site, "journal": "stubs", "note": "b3RoZXI="},
    ]
    answer = perform_here("import", "-", "--store", shared_url, "--json", piped="\n".join(lines).encode())
    assert (answer.json["added"], answer.json["refused"]) == (pages_of(lines[1:]), 0)
    assert [get_note(shared_url, journal, site) for journal in ("clocks", "stubs", "seen")] == [b"[]", b"own", None]
    other = lines[0] + '\n{"site":"a.example","journal":"seen","note":"W10="}\n'
    assert "line 2: this line is no record" in crawled.call("import", "-", piped=other.encode()).err


def pages_of(lines: list[str]) -> int:
    """How many of the lines are pages; the others are notes of sites."""
    return sum('"journal"' not in line for line in lines)


def put_note(url: str, journal: str, site: str, value: bytes) -> None:
    with_store(url, lambda store: store.put_note(journal, site.encode(), value))


def get_note(url: str, journal: str, site: str) -> bytes | None:
    return with_store(url, lambda store: store.get_note(journal, site.encode()))


def test_what_was_forgotten_is_not_exported(crawled: Crawled, tmp_path: Path) -> None:
    crawled.call("forget", crawled.url("a"))
    lines = crawled.call("export").out.splitlines()
    assert len(lines) > 1
    assert crawled.url("a") not in {json.loads(line).get("url") for line in lines[1:]}
    copy = f"sqlite:///{(tmp_path / 'copy.sqlite').as_posix()}"
    assert perform_here("import", "-", "--store", copy, piped="\n".join(lines).encode()).code == 0


def test_an_export_that_fails_leaves_no_half_file(tmp_path: Path) -> None:
    (tmp_path / "pages.sqlite").write_bytes(b"no database " * 1000)
    answer = perform_here(
        "export", "--store", f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}", "-o", tmp_path / "out.jsonl"
    )
    assert answer.code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["pages.sqlite"]


class TestTables:
    """Parquet, for stores that no line-by-line import would fill in a day."""

    @pytest.fixture(autouse=True)
    def pyarrow(self) -> None:
        pytest.importorskip("pyarrow")

    def test_a_table_says_what_the_lines_say(self, crawled: Crawled, shared_url: str, tmp_path: Path) -> None:
        table, pages = tmp_path / "pages.parquet", pages_of(crawled.call("export").out.splitlines()[1:])
        assert crawled.call("export", "-o", table, "--json").json["pages"] == pages
        answer = perform_here("import", table, "--store", shared_url, "--json")
        assert (answer.json["added"], answer.json["known"], answer.json["refused"]) == (pages, 0, 0)
        assert by_url(stored(shared_url)) == live(crawled.store)
        again = perform_here("import", table, "--store", shared_url, "--json")
        assert (again.json["added"], again.json["known"]) == (0, pages)

    def test_it_goes_through_pipes(self, crawled: Crawled, tmp_path: Path) -> None:
        copy = f"sqlite:///{(tmp_path / 'copy.sqlite').as_posix()}"
        (tmp_path / "pages").write_bytes(simdedup_raw("export", "--format", "parquet", "--store", crawled.store))
        assert perform_here("import", tmp_path / "pages", "--store", copy, "--json").json["refused"] == 0
        assert by_url(stored(copy)) == live(crawled.store)

    def test_a_site_that_is_there_gets_only_what_it_lacks(self, crawled: Crawled, tmp_path: Path) -> None:
        copy = f"sqlite:///{(tmp_path / 'copy.sqlite').as_posix()}"
        lines = crawled.call("export").out.splitlines(keepends=True)
        perform_here("import", "-", "--store", copy, piped="".join(lines[:5]).encode())
        crawled.call("export", "-o", tmp_path / "pages.parquet")
        answer = perform_here("import", tmp_path / "pages.parquet", "--store", copy, "--json")
        assert (answer.json["added"], answer.json["known"]) == (pages_of(lines[5:]), 4)
        assert by_url(stored(copy)) == live(crawled.store)

    def test_versions_that_are_not_delivered_come_behind_those_that_are(self, tmp_path: Path) -> None:
        one, two = (f"sqlite:///{(tmp_path / name).as_posix()}" for name in ("one.sqlite", "two.sqlite"))
        record = Record("http://a.example/", b"key", PRINT, "run", "w", "reserved", "new", None, None, 1, 1, 1, 1, 0)
        fill(one, [record, record._replace(key=b"other", state="confirmed"), record._replace(visits=2)], settle=1)
        perform_here("export", "--store", one, "-o", tmp_path / "pages.parquet")
        assert perform_here("import", tmp_path / "pages.parquet", "--store", two, "--json").json["added"] == 3
        assert [record.state for _, record in stored(two)] == ["confirmed", "confirmed", "reserved"]

    def test_a_thin_history_has_sixteen_repeats_of_each_page(self, tmp_path: Path) -> None:
        store = f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"
        page = Record("http://a.example/", b"key", PRINT, "run", "w", "confirmed", "new", None, None, 1, 1, 1, 1, 0)
        repeats = [page._replace(key=b"%d" % n, state="duplicate", original=b"key") for n in range(20)]
        fill(store, [page, *repeats])
        for name, count in (("thin.parquet", 17), ("thin.jsonl", 17)):
            assert perform_here("export", "--store", store, "-o", tmp_path / name, "--thin", "--json").json == {
                "pages": count,
                "file": str(tmp_path / name),
            }
        assert len((tmp_path / "thin.jsonl").read_bytes().splitlines()) == 18

    def test_a_table_of_something_else_is_refused(self, tmp_path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        store = f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"
        pq.write_table(pa.table({"url": ["http://a.example/"]}), tmp_path / "other.parquet")
        answer = perform_here("import", tmp_path / "other.parquet", "--store", store)
        assert (answer.code, answer.out) == (2, "")
        assert "the table is none of an export of version 1" in answer.err
        (tmp_path / "cut.parquet").write_bytes((tmp_path / "other.parquet").read_bytes()[:-9])
        assert "cannot be read" in perform_here("import", tmp_path / "cut.parquet", "--store", store).err

    def test_a_row_that_is_no_record_is_said(self, tmp_path: Path) -> None:
        store, copy = (f"sqlite:///{(tmp_path / name).as_posix()}" for name in ("pages.sqlite", "copy.sqlite"))
        page = Record("http://a.example/", b"key", PRINT, "run", "w", "confirmed", "new", None, None, 1, 1, 1, 1, 0)
        fill(store, [page, page._replace(key=b"other", fingerprint=b"none")])
        perform_here("export", "--store", store, "-o", tmp_path / "pages.parquet")
        answer = perform_here("import", tmp_path / "pages.parquet", "--store", copy, "--json")
        assert (answer.code, answer.json["added"], answer.json["refused"]) == (1, 1, 1)
        assert answer.err.startswith("row 2: 4 bytes are no page fingerprint")

    def test_without_pyarrow_the_extra_is_named(self, crawled: Crawled, monkeypatch: pytest.MonkeyPatch) -> None:
        records_schema.cache_clear()
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        answer = crawled.call("export", "--format", "parquet")
        assert (answer.code, answer.out) == (2, "")
        assert "pip install scrapy-simdedup[parquet]" in answer.err


def live(url: str) -> list[tuple[str, Record]]:
    return by_url([found for found in stored(url) if not found[1].forgotten])


def fill(url: str, records: list[Record], settle: int | None = None) -> None:
    async def write(store: FingerprintStore) -> None:
        for name in SHARED_METADATA:
            await store.set_default(name, "own:00")
        for number, record in enumerate(records):
            await store.append("a.example", record, number)
        if settle is not None:
            await store.settle("a.example", settle, "confirmed", 5)

    with_store(url, write)


def simdedup_raw(*arguments: object) -> bytes:
    command = [sys.executable, "-m", "scrapy", "simdedup", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=True, timeout=120).stdout
