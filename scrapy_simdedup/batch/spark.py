"""The engine of a cluster: Spark reads, shuffles once by site, sorts, and hands sorted rows to the same functions.

YARN, Kubernetes, EMR, Glue and Databricks are a matter of Spark's own configuration. Each executor needs this package;
``PYSPARK_PYTHON`` says where. As a program for ``spark-submit``::

    spark-submit scrapy_simdedup/batch/spark.py fingerprint s3://bucket/crawl/*.warc.gz -o s3://bucket/prints
    spark-submit scrapy_simdedup/batch/spark.py judge s3://bucket/prints -o s3://bucket/verdicts --partitions 2000
    spark-submit scrapy_simdedup/batch/spark.py keep s3://bucket/crawl/*.warc.gz --verdicts s3://bucket/verdicts -o kept
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scrapy.cmdline import execute

from scrapy_simdedup.batch.archives import MAX_PLACED_SITES, ORDER, Making, bins_of, check_sizes, fingerprints, verdicts
from scrapy_simdedup.batch.files import Reading, copy_kept, has_pages, kept_names
from scrapy_simdedup.batch.local import fingerprint_file
from scrapy_simdedup.batch.tables import fingerprints_schema, package_of, pages_schema, verdicts_schema
from scrapy_simdedup.batch.verdict_files import DROPPED_COLUMNS, MAX_NAMED, Summary, dropped_pages
from scrapy_simdedup.batch.workers import do_jobs
from scrapy_simdedup.detect.names import host_of
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.settings import DedupSettings

MAKING = "_making"
"""Where a directory of fingerprints says how they were made; Spark passes over what begins like that."""
COMPRESSION = {"spark.io.compression.codec": "zstd", "spark.io.compression.zstd.level": "3"}
"""Rows have most in common with others of their site, which stand farther back than LZ4 looks, Spark's own choice."""
LOGGER = logging.getLogger(__name__)
TRIES_PER_BIN = 30
"""Numbers that are tried for each partition, until one is found that Spark's hash sends there."""


def session(master: str | None = None) -> Any:
    """The Spark session of this process and of its Python; without a master it takes what ``spark-submit`` says."""
    sql = package_of("spark", "pyspark.sql")
    builder = sql.SparkSession.builder.appName("scrapy-simdedup")
    if master is not None:
        builder = builder.master(master).config("spark.ui.enabled", "false")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "2048")
    for name, value in COMPRESSION.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as exc:
        raise SimdedupError(f"Spark does not start; is there a Java 17, and a JAVA_HOME? {exc}") from exc


def check_workers(spark: Any) -> None:
    """Check that the Python of the executors has this package. PYSPARK_PYTHON names another."""
    named = os.environ.get("PYSPARK_PYTHON")
    python = spark.conf.get("spark.pyspark.python", None) or named or "python3, as PYSPARK_PYTHON is not set"
    try:
        spark.range(1).mapInArrow(_probe, "id long").collect()
    except Exception as exc:
        if "ModuleNotFoundError" in str(exc) or "ImportError" in str(exc) or "No module named" in str(exc):
            problem = f"the Python of the executors ({python}) lacks scrapy-simdedup or what it needs"
            raise SimdedupError(f"{problem}; set PYSPARK_PYTHON to one that has it") from exc
        raise


def _probe(batches: Iterable[Any]) -> Iterable[Any]:
    import scrapy_simdedup.batch.archives  # noqa: F401, PLC0415 - this is what is looked for

    return batches


def fingerprint_files(
    spark: Any, files: Sequence[str], settings: DedupSettings, secret: bytes, reading: Reading | None = None
) -> Any:
    """The fingerprints of the pages of files, such as WARC archives; HTML never leaves the task that reads it.

    The executors open the files: paths, or ``s3://`` and what else fsspec opens there.
    """
    how, names = reading or Reading(), list(files)
    Making.by(settings, secret)  # before anything is made
    work = partial(fingerprint_file, reading=how, settings=settings, secret=secret)
    check_workers(spark)

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        parquet = package_of("batch", "pyarrow.parquet")
        for number in chain.from_iterable(batch.column(0).to_pylist() for batch in batches):
            name = names[number]
            # A process of its own, which may be ended by a page, and a table that is there once it is complete.
            with TemporaryDirectory() as directory:
                path = Path(directory) / "prints.parquet"
                jobs = [(name, (name, number, path))]
                for _, (_, damages) in do_jobs(work, jobs, 1, settings.worker_timeout):
                    for damage in damages:
                        LOGGER.warning("%s: %s; what comes behind is left out", name, damage)
                with parquet.ParquetFile(path) as table:
                    yield from table.iter_batches()

    each = spark.range(0, len(names), 1, len(names))  # a partition for each
    return each.mapInArrow(run, _sql_schema(fingerprints_schema()))


@contextmanager
def said_by_tasks() -> Iterator[None]:
    """The error of a task of ours, without the traceback of Spark and Java around it."""
    try:
        yield
    except Exception as exc:
        found = re.search(r"(?:SimdedupError|DamagedFile|\[PATH_ALREADY_EXISTS\]|\[PATH_NOT_FOUND\]):? (.+)", str(exc))
        if found is None:
            raise
        raise SimdedupError(found[1]) from exc


def write_prints(prints: Any, output: str, making: Making) -> None:
    """Write fingerprints to a directory that Spark knows, and how they were made."""
    prints.write.parquet(output)
    rows = prints.sparkSession.createDataFrame([(json.dumps(asdict(making)),)], "value string")
    rows.coalesce(1).write.text(f"{output.rstrip('/')}/{MAKING}")


def read_prints(spark: Any, directories: Sequence[str], making: Making) -> Any:
    """The fingerprints in directories, after a check that they were made under the same settings."""
    for name in directories:
        try:
            said = spark.read.text(f"{name.rstrip('/')}/{MAKING}").first()[0]
        except Exception as exc:
            problem = f"{name} does not say how its fingerprints were made; make them with --engine spark"
            raise SimdedupError(problem) from exc
        making.check(Making(**json.loads(said)), name)
    return spark.read.parquet(*directories)


def fingerprint(pages: Any, settings: DedupSettings, secret: bytes) -> Any:
    """The fingerprints of a data frame with ``url``, ``html``, ``time``, and with ``file``, ``position`` if there."""
    Making.by(settings, secret)
    functions = package_of("spark", "pyspark.sql.functions")
    schema = pages_schema()
    columns = []
    for name in schema.names:
        if name in pages.columns:
            kind = "double" if name == "time" else "long" if name == "position" else "string"
            columns.append(functions.col(name).cast(kind).alias(name))
        elif name in {"url", "html", "time"}:
            raise SimdedupError(f"the pages have no column {name}")
        else:
            columns.append(functions.lit(None).cast("long" if name == "position" else "string").alias(name))
    work = pages.select(*columns)
    return work.mapInArrow(lambda batches: fingerprints(batches, settings, secret), _sql_schema(fingerprints_schema()))


def judge(
    prints: Any,
    settings: DedupSettings,
    secret: bytes,
    *,
    run: str = "batch",
    partitions: int | None = None,
    by_host_above: int | None = None,
) -> Any:
    """The verdicts on pages of which there are fingerprints: one shuffle by site, each site in order.

    With the fingerprints come the rows of a history, if there is one. The number of parts is
    ``spark.sql.shuffle.partitions`` unless it is given; the hosts of sites with more pages than ``by_host_above`` are
    judged apart. A SimdedupError says that a site is too large for one task.
    """
    ordered = in_order(prints, settings, partitions=partitions, by_host_above=by_host_above)
    return ordered.mapInArrow(lambda batches: verdicts(batches, settings, secret, run), _sql_schema(verdicts_schema()))


def in_order(
    prints: Any, settings: DedupSettings, *, partitions: int | None = None, by_host_above: int | None = None
) -> Any:
    """The fingerprints shuffled by site and sorted, as :func:`judge` takes them, and refuses them."""
    functions = package_of("spark", "pyspark.sql.functions")
    spark, site = prints.sparkSession, functions.col("site")
    large = [] if by_host_above is None else list(_largest(prints, functions.col("count") > by_host_above))
    if large:
        # What is known of a site as a whole has no key, and is of no use to its hosts.
        of_large = prints.where(site.isin(large) & (functions.length("key") > 0))
        by_host = of_large.withColumn("site", functions.udf(host_of, "string")("url"))
        prints = prints.where(~site.isin(large)).unionByName(by_host)
    sizes = _largest(prints, functions.col("count") > 1)
    check_sizes(sizes, settings.max_pages_per_site)
    count = partitions or int(spark.conf.get("spark.sql.shuffle.partitions"))
    parted = _in_bins(spark, prints, bins_of(sizes, count), count)
    return parted.sortWithinPartitions(*map(functions.expr, ORDER.split(", ")))


def _largest(prints: Any, chosen: Any) -> dict[str, int]:
    """The sites with the most rows, and how many these are."""
    sizes = prints.groupBy("site").count().where(chosen).orderBy("count", ascending=False)
    return {row["site"]: row["count"] for row in sizes.limit(MAX_PLACED_SITES).collect()}


def _in_bins(spark: Any, prints: Any, bins: Mapping[str, int], count: int) -> Any:
    """The fingerprints in partitions: the largest sites where they were placed, the others by their hashes.

    No version of Spark before 4.1 lets one name a partition. So each partition has a number whose hash leads there.
    """
    functions = package_of("spark", "pyspark.sql.functions")
    hashed = spark.range(TRIES_PER_BIN * count).selectExpr("id", f"pmod(hash(id), {count}) AS bin")
    numbers = {
        row["bin"]: row["number"] for row in hashed.groupBy("bin").agg(functions.min("id").alias("number")).collect()
    }
    if len(numbers) < count:
        return prints.repartition(count, "site")
    placed = spark.createDataFrame([(site, numbers[bin_]) for site, bin_ in bins.items()], "site string, number long")
    known = prints.join(functions.broadcast(placed), "site", "left")
    return known.repartition(count, functions.coalesce("number", functions.hash("site").cast("long")))


def keep(spark: Any, files: Sequence[str], judged: Any, output: str, reading: Reading | None = None) -> Any:
    """Copy the files of an archive without the pages that were dropped; gives each file, and how many these were.

    Nothing is copied before the data frame is asked for its rows. The files have the names that they had when the
    fingerprints were made, else a SimdedupError says so; the executors can write the output, a path, or ``s3://`` and
    what else fsspec knows there.
    """
    arrow = package_of("batch", "pyarrow")
    how = reading or Reading()
    outputs = {name: f"{output.rstrip('/')}/{kept_name}" for name, kept_name in kept_names(files, how).items()}
    known = {row["file"] for row in judged.select("file").distinct().collect()}
    unknown = [name for name in outputs if name not in known and has_pages(name, how)]
    if unknown:
        raise SimdedupError(f"there is no verdict on {unknown[0]}; name the files as they were fingerprinted")
    check_workers(spark)
    if "://" not in output:
        Path(output).mkdir(parents=True, exist_ok=True)
    dropped = judged.where("is_duplicate").select(*DROPPED_COLUMNS)
    each = spark.createDataFrame([(name,) for name in outputs], "file string")
    rows = each.join(dropped, "file", "left").repartition(len(outputs), "file").sortWithinPartitions("file", "position")

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        found = (row for batch in batches for row in batch.to_pylist())
        for name, those in groupby(found, key=lambda row: row["file"]):
            count = copy_kept(
                name, outputs[name], how, dropped_pages(row for row in those if row["position"] is not None)
            )
            yield arrow.RecordBatch.from_pylist([{"file": name, "dropped": count}])

    return rows.mapInArrow(run, "file string, dropped long")


def _sql_schema(schema: Any) -> Any:
    return package_of("spark", "pyspark.sql.pandas.types").from_arrow_schema(schema)


def summary_of(judged: Any) -> Summary:
    """What verdicts say."""
    functions = package_of("spark", "pyspark.sql.functions")
    size = functions.sum(functions.coalesce("size", functions.lit(0)))
    kinds = judged.groupBy("kind", "is_duplicate", "reason").agg(functions.count("*"), size).collect()
    repeats = judged.where("is_duplicate").groupBy("original").count()
    most = repeats.orderBy(functions.desc("count"), "original").limit(MAX_NAMED).collect()
    return Summary.of(map(tuple, kinds), map(tuple, most))


if __name__ == "__main__":
    execute(["scrapy", "simdedup", "batch", *sys.argv[1:], "--engine", "spark"])
