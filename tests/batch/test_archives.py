"""``fingerprints`` and ``verdicts`` give an archive the verdicts of a crawl, however its rows are cut into batches."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from functools import cache
from io import BytesIO
from typing import Any

import pytest

from helpers.archives import SETTINGS, Fetch, archive, crawl, recrawled
from helpers.on_asyncio import on_asyncio
from scrapy_simdedup import DedupSettings, SettingError, SimdedupError, Verdict
from scrapy_simdedup.batch.things import again_in_run

pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

from scrapy_simdedup.batch.archives import Making, UnorderedBatch, fingerprints, history_row, verdicts  # noqa: E402
from scrapy_simdedup.batch.records import read_records, records_schema  # noqa: E402
from scrapy_simdedup.batch.tables import VERDICT_COLUMNS, fingerprints_schema, pages_schema  # noqa: E402

SECRET = b"s3cret"


@cache
def pages() -> tuple[Fetch, ...]:
    return tuple(archive())


def table_of(found: Sequence[Fetch]) -> Any:
    rows = [
        {"url": one.url, "html": one.html, "time": one.time, "file": "a.warc", "position": number}
        for number, one in enumerate(found)
    ]
    return pa.Table.from_pylist(rows, schema=pages_schema())


MADE: dict[tuple[Making, tuple[Fetch, ...]], Any] = {}


def prints_of(settings: DedupSettings, found: tuple[Fetch, ...] | None = None) -> Any:
    """The fingerprints, in the order of :data:`ORDER`; made once for all settings that make the same."""
    key = Making.by(settings, SECRET), pages() if found is None else found
    if key not in MADE:
        made = pa.Table.from_batches(fingerprints(table_of(key[1]).to_batches(7), settings, SECRET))
        MADE[key] = made.sort_by([(name, "ascending") for name in ("site", "time", "url", "key")])
    return MADE[key]


def judged(prints: Any, settings: DedupSettings, rows: int = 97) -> list[dict[str, Any]]:
    return pa.Table.from_batches(verdicts(prints.to_batches(rows), settings, SECRET, "run")).to_pylist()


def as_row(verdict: Verdict) -> dict[str, Any]:
    verdict = again_in_run(verdict, "run")
    return {name: getattr(verdict, name) for name in VERDICT_COLUMNS}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SETTINGS if SETTINGS[name].get("scope") != "all"])
@on_asyncio
async def test_verdicts_are_those_of_a_crawl_field_by_field(name: str) -> None:
    settings = DedupSettings.from_keywords(**SETTINGS[name])
    crawled = await crawl("memory:", list(pages()), **SETTINGS[name])
    found = {row["position"]: row for row in judged(prints_of(settings), settings)}
    for number, verdict in enumerate(crawled):
        row = {column: found[number][column] for column in VERDICT_COLUMNS}
        assert row == as_row(verdict), pages()[number].url


def test_batches_may_end_anywhere_and_sites_be_judged_apart() -> None:
    settings = DedupSettings()
    prints = prints_of(settings)
    whole = judged(prints, settings)
    assert judged(prints, settings, 1) == whole
    assert judged(prints, settings, 1_000) == whole
    by_site = [
        prints.filter(pa.compute.equal(prints["site"], site)) for site in sorted(set(prints["site"].to_pylist()))
    ]
    assert [row for part in by_site for row in judged(part, settings)] == whole


@cache
def recrawled_pages() -> tuple[Fetch, ...]:
    return tuple(recrawled())


@cache
def recrawled_as_one(name: str) -> tuple[Any, dict[tuple[str, float], dict[str, Any]]]:
    """The fingerprints under some settings, and the verdict of each URL and time."""
    settings = DedupSettings.from_keywords(**SETTINGS[name])
    prints = prints_of(settings, recrawled_pages())
    return prints, {(row["url"], row["time"]): row for row in judged(prints, settings)}


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("name", ["default", "stubs are dropped", "unchanged pages are dropped", "few pages"])
def test_an_archive_in_two_parts_is_judged_as_one(name: str, share: float) -> None:
    """What is remembered of the first is a history of the second, with clocks and the counts of stubs."""
    settings = DedupSettings.from_keywords(**SETTINGS[name])
    prints, expected = recrawled_as_one(name)
    is_first = pa.compute.less(prints["position"], int(share * len(recrawled_pages())))
    rows, known = judged_and_remembered(prints.filter(is_first), settings)
    history = pa.Table.from_pylist(known, schema=fingerprints_schema())
    later = pa.concat_tables([history, prints.filter(pa.compute.invert(is_first))]).to_pylist()
    later.sort(key=lambda row: (row["site"], row["record"] is None, row["time"], row["url"]))
    rows += judged(pa.Table.from_pylist(later, schema=fingerprints_schema()), settings)
    assert len(rows) == len(expected)
    for row in rows:
        one = expected[row["url"], row["time"]]
        assert [row[column] for column in VERDICT_COLUMNS] == [one[column] for column in VERDICT_COLUMNS], row["url"]


def judged_and_remembered(prints: Any, settings: DedupSettings) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The verdicts, and the rows of a history."""
    kept: list[tuple[Any, ...]] = []
    batches = verdicts(prints.to_batches(97), settings, SECRET, "run", kept.append)
    rows = pa.Table.from_batches(batches).to_pylist()
    columns = zip(*kept, strict=True)
    schema = records_schema()
    table = pa.table([pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema)
    with pytest.MonkeyPatch.context() as patch, BytesIO() as file:
        patch.setattr("scrapy_simdedup.batch.records.ROWS_PER_BATCH", 50)
        pq.write_table(table, file)
        file.seek(0)
        known = list(read_records(pq.ParquetFile(file), lambda *refused: pytest.fail(str(refused))))
    return rows, [history_row(site, one, number) for number, (site, one) in enumerate(known)]


def test_clocks_and_counts_are_what_makes_that_so() -> None:
    settings, found = DedupSettings(), recrawled_pages()
    _, known = judged_and_remembered(prints_of(settings, found[: len(found) // 2]), settings)
    notes = [json.loads(row["record"]) for row in known if not row["key"]]
    assert Counter(note["journal"] for note in notes)["stubs"] == 2
    assert {note["journal"] for note in notes} == {"clocks", "stubs"}


def test_every_page_has_one_verdict_and_is_dropped_only_for_one_that_is_kept() -> None:
    settings = DedupSettings(prefer=("https",))
    found = judged(prints_of(settings), settings)
    assert sorted(row["position"] for row in found) == list(range(len(pages())))
    kept = {row["url"] for row in found if not row["is_duplicate"]}
    assert {row["original"] for row in found if row["is_duplicate"]} <= kept


def test_rows_in_another_order_are_refused() -> None:
    settings = DedupSettings()
    prints = prints_of(settings)
    order = list(range(len(prints)))
    random.Random(1).shuffle(order)
    with pytest.raises(UnorderedBatch, match="sort the rows by site, record IS NULL, time"):
        judged(prints.take(order), settings)
    with pytest.raises(UnorderedBatch):
        judged(prints.take([*range(len(prints) // 2, len(prints)), 0]), settings)


def test_what_holds_no_page_is_kept_with_its_reason() -> None:
    rows = [{"url": "http://a.example/", "time": 0.0, "unjudged": "not_html", "file": "a", "position": 0}]
    made = pa.Table.from_batches(
        fingerprints(pa.Table.from_pylist(rows, schema=pages_schema()).to_batches(), DedupSettings(), SECRET)
    )
    (row,) = judged(made, DedupSettings())
    assert (row["kind"], row["reason"], row["is_duplicate"]) == ("unjudged", "not_html", False)


def test_entries_without_a_url_are_no_versions_of_each_other() -> None:
    found = tuple(Fetch("", one.html, one.time) for one in pages()[:6])
    rows = judged(prints_of(DedupSettings(), found), DedupSettings())
    assert "unchanged" not in Counter(row["kind"] for row in rows)


@pytest.mark.parametrize(
    ("made", "judging", "problem"),
    [
        ({}, {"bits": 128}, "these settings make algorithm"),
        ({}, {"scope": "host"}, "was made with SIMDEDUP_SCOPE=domain"),
        ({"novel_words": None, "unchanged_by": "similarity"}, {}, "SIMDEDUP_NOVEL_WORDS asks for"),
        ({"unchanged_by": "similarity"}, {}, "SIMDEDUP_UNCHANGED_BY asks for"),
        ({}, {"prefer": "https"}, "SIMDEDUP_PREFER asks for"),
    ],
)
def test_settings_that_need_other_fingerprints_are_refused(
    made: dict[str, Any], judging: dict[str, Any], problem: str
) -> None:
    one = Making.by(DedupSettings.from_keywords(**made), SECRET)
    other = Making.by(DedupSettings.from_keywords(**judging), SECRET)
    with pytest.raises(SimdedupError, match=problem):
        other.check(one, "prints")
    with pytest.raises(SimdedupError, match="SIMDEDUP_SECRET"):
        one.check(Making.by(DedupSettings.from_keywords(**made), b"other"), "prints")


def test_all_sites_at_once_are_for_no_archive() -> None:
    with pytest.raises(SettingError, match="compares all sites in one task"):
        Making.by(DedupSettings(scope="all"), SECRET)
