"""Spark gives the verdicts of a crawl, from web archives, through one shuffle."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.archives import Fetch, archive, crawl
from helpers.on_asyncio import on_asyncio
from helpers.servers import executable
from helpers.warc import write_warc
from scrapy_simdedup import DedupSettings, SimdedupError
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
    """Two tasks at a time; a task that fails is tried again."""
    executable("java", "default-jre-headless", "/usr/bin")
    made = engine.session("local[2,2]")
    made.conf.set("spark.sql.shuffle.partitions", "3")
    yield made
    made.stop()


@pytest.fixture(scope="module")
def pages() -> list[Fetch]:
    return archive()


@on_asyncio
async def test_an_archive_gets_the_verdicts_of_a_crawl(spark: Any, pages: list[Fetch], tmp_path: Path) -> None:
    files = [str(write_warc(tmp_path / f"{part}.warc.gz", pages[part::3])) for part in range(3)]
    settings = DedupSettings()
    prints = engine.fingerprint_files(spark, files, settings, SECRET)
    prints.write.parquet(str(tmp_path / "prints"))
    found = engine.judge(spark.read.parquet(str(tmp_path / "prints")), settings, SECRET, run="run").collect()
    assert as_rows(found) == [as_row(verdict) for verdict in await crawl("memory:", pages)]


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
    monkeypatch.setattr(engine, "MAX_PAGES_OF_SITE", 1)
    prints = spark.createDataFrame([("a.example",), ("a.example",)], "site string")
    with pytest.raises(SimdedupError, match=r"a\.example \(2\)"):
        engine.judge(prints, DedupSettings(), SECRET)


def test_executors_without_the_package_are_told_from_all_other_failures(tmp_path: Path) -> None:
    """As where PYSPARK_PYTHON is not set, and Spark takes the system's Python."""
    bare = tmp_path / "bare" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare.parent.parent)], check=True)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYSPARK_PYTHON": str(bare), "SIMDEDUP_HOME": str(Path(engine.__file__).parents[2])},
        capture_output=True,
        check=False,
        cwd=tmp_path,
        timeout=180,
    )
    assert b"lacks scrapy-simdedup or what it needs; set PYSPARK_PYTHON to one that has it" in done.stdout, done.stderr


PROGRAM = """
import os, sys
sys.path.insert(0, os.environ["SIMDEDUP_HOME"])
from scrapy_simdedup.batch import spark
session = spark.session("local[1]")
os.environ.pop("PYTHONPATH", None)
try:
    spark.check_workers(session)
except Exception as error:
    print(error)
session.stop()
"""


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
