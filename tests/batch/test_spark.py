"""Spark gives the verdicts of a crawl, from web archives, through one shuffle."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.archives import Fetch, archive, crawl, pages_in, write_warc
from helpers.command_line import Answer, in_a_thread, perform_here
from helpers.on_asyncio import on_asyncio
from helpers.servers import executable
from scrapy_simdedup import DedupSettings, SimdedupError
from scrapy_simdedup.batch import archives
from scrapy_simdedup.batch.tables import VERDICT_COLUMNS
from scrapy_simdedup.batch.things import again_in_run

pytest.importorskip("pyspark")
pytest.importorskip("pandas")
pytest.importorskip("warcio")

from scrapy_simdedup.batch import spark as engine

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(sys.platform == "win32", reason="Spark needs parts of Hadoop there"),
]
SECRET = b"s3cret"


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Two tasks at a time; a task that fails is tried again. What runs for seconds is not worth a second compiler."""
    executable("java", "default-jre-headless", "/usr/bin")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_SUBMIT_ARGS", "--driver-java-options '-XX:TieredStopAtLevel=1' pyspark-shell")
        made = engine.session("local[2,2]")
    made.conf.set("spark.sql.shuffle.partitions", "3")
    yield made
    made.stop()


@pytest.fixture(scope="module")
def pages() -> list[Fetch]:
    return archive()


@pytest.fixture(scope="module")
def files(pages: list[Fetch], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Web archives of the pages, in turns."""
    directory = tmp_path_factory.mktemp("archive")
    return [write_warc(directory / f"{part}.warc.gz", pages[part::3]) for part in range(3)]


@pytest.fixture(scope="module")
def prints(spark: Any, files: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fingerprints, as the command writes them."""
    made = tmp_path_factory.mktemp("made") / "prints"
    answer = batch("fingerprint", *files, "-o", made)
    assert answer.json["files"] == 3, answer.err
    return made


def batch(step: str, *arguments: object) -> Answer:
    return perform_here("batch", step, *arguments, "--engine", "spark", "--json", "-s", "SIMDEDUP_SECRET=s3cret")


def crawled(pages: list[Fetch], **settings: Any) -> list[dict[str, Any]]:
    return [as_row(verdict) for verdict in in_a_thread(lambda: asyncio.run(crawl("memory:", pages, **settings)))]


def test_an_archive_gets_the_verdicts_of_a_crawl_and_what_is_kept_is_copied(
    spark: Any, pages: list[Fetch], files: list[Path], prints: Path, tmp_path: Path
) -> None:
    answer = batch("judge", prints, "-o", tmp_path / "verdicts", "--run", "run", "--partitions", 4)
    found, expected = spark.read.parquet(str(tmp_path / "verdicts")).collect(), crawled(pages)
    assert as_rows(found) == expected
    dropped = sum(row["is_duplicate"] for row in expected)
    assert (answer.json["read"], answer.json["dropped"]) == (len(pages), dropped)
    assert answer.json["unjudged"] == {"too_short": 6, "empty": 3}
    assert answer.json["most_repeated"][0]["repeats"] > 3
    copied = batch("keep", *files, "--verdicts", tmp_path / "verdicts", "-o", tmp_path / "kept")
    assert (copied.json["files"], copied.json["dropped"]) == (3, dropped), copied.err
    records = [record for name in files for record in pages_in(tmp_path / "kept" / name.name)]
    assert [url for _, url, _ in records] == [url for name in files for _, url, _ in pages_in(name)]
    assert sum(kind == "revisit" for kind, *_ in records) == dropped
    other = write_warc(tmp_path / "other.warc", pages[:2])
    unknown = batch("keep", other, "--verdicts", tmp_path / "verdicts", "-o", tmp_path / "kept")
    assert (unknown.code, f"there is no verdict on {other}" in unknown.err) == (2, True)


def test_the_hosts_of_large_sites_can_be_judged_apart(spark: Any, pages: list[Fetch], prints: Path) -> None:
    table = spark.read.parquet(str(prints))
    found = engine.judge(table, DedupSettings(), SECRET, run="run", partitions=2, by_host_above=1).collect()
    assert {row["site"] for row in found} == {"www.example.com", "www.example.org", "shop.example.com"}
    assert as_rows(found) == crawled(pages, scope="host")


def test_large_sites_are_put_where_there_is_least(spark: Any) -> None:
    sizes = {"a.example": 60, "b.example": 40, "c.example": 30, **{f"{number}.example": 1 for number in range(20)}}
    rows = [(site,) for site, size in sizes.items() for _ in range(size)]
    placed = {"a.example": 2, "b.example": 0, "c.example": 1}
    parted = engine._in_bins(spark, spark.createDataFrame(rows, "site string"), placed, 3)
    parts = parted.selectExpr("site", "spark_partition_id() AS part").distinct().collect()
    assert {row["site"]: row["part"] for row in parts}.items() >= placed.items()
    assert len(parts) == len(sizes)


def test_what_is_wrong_is_said_in_one_sentence(prints: Path, pages: list[Fetch], tmp_path: Path) -> None:
    cut = write_warc(tmp_path / "cut.warc", pages[:3])
    cut.write_bytes(cut.read_bytes()[:-700])
    answer = batch("fingerprint", cut, "-o", tmp_path / "made")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert f"{cut}: record " in answer.err
    other = batch("judge", prints, "-o", tmp_path / "out", "-s", "SIMDEDUP_BITS=128")
    assert (other.code, "fingerprint the archive again" in other.err) == (2, True)
    nothing = batch("judge", tmp_path, "-o", tmp_path / "out")
    assert (nothing.code, "does not say how its fingerprints were made" in nothing.err) == (2, True)
    records = batch("judge", prints, "-o", tmp_path / "out", "--records", tmp_path / "records")
    assert (records.code, "--records needs --engine duckdb" in records.err) == (2, True)


@on_asyncio
async def test_a_worker_that_is_killed_is_replaced(spark: Any, pages: list[Fetch], tmp_path: Path) -> None:
    marker, few = str(tmp_path / "killed"), pages[:60]
    frame = spark.createDataFrame(
        [(one.url, one.html, one.time) for one in few], "url string, html string, time double"
    )

    def kill_once(batches: Any) -> Any:
        for batch in batches:
            yield batch
            if not os.path.exists(marker):  # noqa: PTH110 - in another process
                open(marker, "w").close()  # noqa: PTH123
                os.kill(os.getpid(), 9)

    prints = engine.fingerprint(frame.repartition(1).mapInArrow(kill_once, frame.schema), DedupSettings(), SECRET)
    found = engine.judge(prints, DedupSettings(), SECRET, run="run").collect()
    assert os.path.exists(marker)  # noqa: ASYNC240, PTH110 - all others have ended
    assert as_rows(found) == [as_row(verdict) for verdict in await crawl("memory:", few)]


def test_pages_without_a_column_that_is_needed_are_refused(spark: Any) -> None:
    with pytest.raises(SimdedupError, match="the pages have no column time"):
        engine.fingerprint(spark.createDataFrame([("a", "b")], "url string, html string"), DedupSettings(), SECRET)


def test_a_site_above_the_limit_is_refused_by_name(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_PAGES_OF_SITE", 1)
    prints = spark.createDataFrame([("a.example",), ("a.example",)], "site string")
    with pytest.raises(SimdedupError, match=r"a\.example \(2\)"):
        engine.judge(prints, DedupSettings(), SECRET)


def test_executors_without_the_package_are_told_from_all_other_failures(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where PYSPARK_PYTHON is not set, and Spark takes the system's Python."""
    bare = tmp_path / "bare" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare.parent.parent)], check=True)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(bare))
    with pytest.raises(SimdedupError, match="lacks scrapy-simdedup or what it needs; set PYSPARK_PYTHON to one that"):
        engine.check_workers(spark)


def as_rows(found: list[Any]) -> list[dict[str, Any]]:
    rows = [row.asDict() for row in found]
    rows.sort(key=lambda row: row["time"])
    return [
        {name: bytes(row[name]) if isinstance(row[name], bytearray) else row[name] for name in VERDICT_COLUMNS}
        for row in rows
    ]


def as_row(verdict: Any) -> dict[str, Any]:
    again = again_in_run(verdict, "run")
    return {name: getattr(again, name) for name in VERDICT_COLUMNS}
