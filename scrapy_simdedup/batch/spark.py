"""The engine of a cluster: Spark reads, shuffles once by site, sorts, and hands sorted rows to the same functions.

YARN, Kubernetes, EMR, Glue and Databricks are a matter of Spark's own configuration. Each executor needs this package;
``PYSPARK_PYTHON`` says where. As a program for ``spark-submit``::

    spark-submit scrapy_simdedup/batch/spark.py fingerprint s3://bucket/crawl/*.warc.gz -o s3://bucket/prints
    spark-submit scrapy_simdedup/batch/spark.py judge s3://bucket/prints -o s3://bucket/verdicts --partitions 2000
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.batch.archives import MAX_PAGES_OF_SITE, ORDER, Making, fingerprints, verdicts
from scrapy_simdedup.batch.inputs import Reading, read_pages
from scrapy_simdedup.batch.tables import fingerprints_schema, package_of, pages_schema, verdicts_schema
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.settings import DedupSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MAX_NAMED = 5
"""Sites that an error names."""


def session(master: str | None = None) -> Any:
    """The Spark session of this process, with Python workers that are the Python of this process, if none is named.

    Args:
        master: the master, such as ``local[2]``; None takes what ``spark-submit`` says.

    Raises:
        SimdedupError: pyspark or Java is missing.
    """
    sql = package_of("spark", "pyspark.sql")
    builder = sql.SparkSession.builder.appName("scrapy-simdedup")
    if master is not None:
        builder = builder.master(master).config("spark.ui.enabled", "false")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "2048")
    try:
        return builder.getOrCreate()
    except Exception as exc:
        raise SimdedupError(f"Spark does not start; is there a Java 17, and a JAVA_HOME? {exc}") from exc


def check_workers(spark: Any) -> None:
    """Check that the Python of the executors has this package.

    Raises:
        SimdedupError: it has not; PYSPARK_PYTHON names the Python that they take.
    """
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

    Args:
        spark: the session.
        files: names that the executors can open: paths, or ``s3://`` and what else fsspec opens there.
        settings: the settings of the pages.
        secret: the key of the hashes.
        reading: how the files are read.
    """
    Making.by(settings, secret)
    check_workers(spark)
    how = reading or Reading()
    numbered = spark.createDataFrame(list(enumerate(files)), "number long, name string").repartition(len(files))

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for row in batch.to_pylist():
                pages = read_pages(row["name"], row["number"], how, [])
                yield from fingerprints(pages, settings, secret)

    return numbered.mapInArrow(run, _sql_schema(fingerprints_schema()))


def fingerprint(pages: Any, settings: DedupSettings, secret: bytes) -> Any:
    """The fingerprints of a data frame of pages with ``url``, ``html`` and ``time``, from Parquet, Iceberg, Delta ...

    Args:
        pages: the pages; ``file`` and ``position`` come along if they are there.
        settings: the settings of the pages.
        secret: the key of the hashes.
    """
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
    prints: Any, settings: DedupSettings, secret: bytes, *, run: str = "batch", partitions: int | None = None
) -> Any:
    """The verdicts on pages of which there are fingerprints: one shuffle by site, each site in order.

    Args:
        prints: the fingerprints, with the rows of a history if there is one.
        settings: the settings of the pages.
        secret: the key of the hashes.
        run: the run's name.
        partitions: in how many parts sites are judged; None takes ``spark.sql.shuffle.partitions``.

    Raises:
        SimdedupError: a site is too large for one task.
    """
    functions = package_of("spark", "pyspark.sql.functions")
    if settings.max_pages_per_site is None:
        sizes = prints.groupBy("site").count().where(functions.col("count") > MAX_PAGES_OF_SITE)
        large = [f"{row['site']} ({row['count']:,})" for row in sizes.limit(MAX_NAMED).collect()]
        if large:
            problem = f"sites with more than {MAX_PAGES_OF_SITE:,} pages take one task half a day and more each"
            raise SimdedupError(f"{problem}: {', '.join(large)}; set SIMDEDUP_MAX_PAGES_PER_SITE")
    count = partitions or int(prints.sparkSession.conf.get("spark.sql.shuffle.partitions"))
    ordered = prints.repartition(count, "site").sortWithinPartitions(*map(functions.expr, ORDER.split(", ")))
    return ordered.mapInArrow(lambda batches: verdicts(batches, settings, secret, run), _sql_schema(verdicts_schema()))


def _sql_schema(schema: Any) -> Any:
    return package_of("spark", "pyspark.sql.pandas.types").from_arrow_schema(schema)


def main(words: Sequence[str] | None = None) -> int:
    """The program for ``spark-submit``."""
    parser = argparse.ArgumentParser(description="Judge an archive of web pages on Spark, site by site.")
    parser.add_argument("step", choices=("fingerprint", "judge"))
    parser.add_argument("inputs", nargs="+")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--partitions", type=int)
    parser.add_argument("--run", default="batch")
    parser.add_argument("--master", help="such as local[2]; default: what spark-submit says")
    parser.add_argument("-s", "--set", action="append", default=[], metavar="NAME=VALUE", help="a SIMDEDUP_ setting")
    options = parser.parse_args(words)
    given = dict(pair.removeprefix("SIMDEDUP_").split("=", 1) for pair in options.set)
    settings = DedupSettings.from_keywords(**{name.lower(): value for name, value in given.items()})
    if not settings.secret:
        raise SimdedupError("set SIMDEDUP_SECRET: all steps and executors have to make the same hashes")
    secret, spark = settings.secret.encode(), session(options.master)
    if options.step == "fingerprint":
        made = fingerprint_files(spark, options.inputs, settings, secret)
    else:
        prints = spark.read.parquet(*options.inputs)
        made = judge(prints, settings, secret, run=options.run, partitions=options.partitions)
    made.write.parquet(options.output)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SimdedupError as error:
        sys.exit(f"{error}")
