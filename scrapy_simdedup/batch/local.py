"""The engine of one machine: processes that judge sites, and DuckDB, which sorts on the disk."""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.batch.archives import MAX_PAGES_OF_SITE, ORDER, Making, verdicts
from scrapy_simdedup.batch.files import whole_file
from scrapy_simdedup.batch.history import check_history, convert_history
from scrapy_simdedup.batch.print_files import prints_in
from scrapy_simdedup.batch.tables import (
    ROWS_PER_BATCH,
    TableWriter,
    fingerprints_schema,
    package_of,
    records_schema,
    sql_list,
    sql_text,
    verdicts_schema,
)
from scrapy_simdedup.batch.verdict_files import WORK
from scrapy_simdedup.batch.workers import Jobs
from scrapy_simdedup.errors import SimdedupError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from scrapy_simdedup.batch.workers import PageWatch
    from scrapy_simdedup.settings import DedupSettings

MAX_PLACED_SITES = 100_000
"""The largest sites, which are put into partitions by their sizes; the others by their hashes."""
PAGES_PER_PARTITION = 50_000
"""Pages for which there is another partition."""
PART_BYTES, SORT_BYTES = 640 * 1024 * 1024, 384 * 1024 * 1024
"""Bytes of memory in which the fingerprints are parted, and in which a process sorts its part."""
ROWS_PER_FLUSH = 16_384
"""Rows that wait in memory before they are written to the parts."""
MAX_NAMED = 5
"""Sites that an error names."""


@dataclass(frozen=True, slots=True)
class Judging:
    """What is judged, and how."""

    prints: Path
    """The directory of the fingerprints."""
    output: Path
    """The directory of the verdicts."""
    settings: DedupSettings
    run: str
    """The run that the verdicts and records name."""
    history: tuple[str, ...] = ()
    """Tables of records, of earlier batches or of stores."""
    records: Path | None = None
    """The directory for the records that a store would hold afterwards; None writes none."""
    partitions: int | None = None
    """In how many parts the sites are judged; None chooses."""


def judge_files(judging: Judging, *, processes: int) -> Iterator[tuple[int, int]]:
    """Judge the pages of which there are fingerprints; parts that are there already are passed over.

    Yields:
        The pages judged so far, and all.

    Raises:
        SimdedupError: the fingerprints were made in another way; a site is too large; the output is of other inputs.
    """
    duckdb = package_of("batch", "duckdb")
    prints, secret = prints_in(judging.prints, judging.settings)
    making = Making.by(judging.settings, secret)
    for name in judging.history:
        check_history(Path(name), making, secret)
    work = judging.output / WORK
    plan = _plan(judging, prints)
    written = judging.output / "plan.json"
    before = json.loads(written.read_text(encoding="utf-8")) if written.exists() else None
    if before is not None and before["of"] != plan:
        raise SimdedupError(
            f"{judging.output} holds verdicts on other inputs or under other settings; name another one"
        )
    work.mkdir(parents=True, exist_ok=True)
    if judging.records is not None:
        judging.records.mkdir(parents=True, exist_ok=True)
    history = [work / f"history-{number}.parquet" for number in range(len(judging.history))]
    jobs = [(name, (name, path)) for name, path in zip(judging.history, history, strict=True) if not path.exists()]
    if jobs:
        list(Jobs(convert_history, jobs, processes))
    with duckdb.connect() as db:
        db.execute(f"SET temp_directory = {sql_text(work / 'sort')}")
        db.execute(f"SET memory_limit = '{PART_BYTES >> 20}MiB'")
        db.execute(f"SET partitioned_write_flush_threshold = {ROWS_PER_FLUSH}")
        db.execute(f"SET threads = {processes}")
        db.execute("SET enable_progress_bar = false")
        db.execute("SET preserve_insertion_order = false")
        sizes = _sizes(db, prints, judging.settings)
        total = sum(sizes.values())
        # As many parts as before, on however many cores: each site is in the part where it was.
        count = (
            before["parts"] if before else judging.partitions or max(2 * processes, -(-total // PAGES_PER_PARTITION))
        )
        written.write_text(json.dumps({"of": plan, "parts": count}), encoding="utf-8")
        if not (work / "parted").exists():
            shutil.rmtree(work / "parts", ignore_errors=True)
            _part(db, [*prints, *history], sizes, count, work / "parts")
            (work / "parted").touch()
    done, jobs_of_parts = 0, []
    for part in range(count):
        path = judging.output / f"verdicts-{part:05}.parquet"
        if path.exists():
            done += package_of("batch", "pyarrow.parquet").read_metadata(path).num_rows
        else:
            records = judging.records and judging.records / f"records-{part:05}.parquet"
            source = work / "parts" / f"part={part}"
            jobs_of_parts.append((f"part {part}", (source, path, records, PartJudging(judging, secret, making))))
    yield done, total
    if jobs_of_parts:
        for _, pages in Jobs(judge_part, jobs_of_parts, processes):
            done += pages
            yield done, total
    shutil.rmtree(work)


def _plan(judging: Judging, prints: list[Path]) -> dict[str, Any]:
    """What the verdicts depend on."""
    files = [[path.name, path.stat().st_size] for path in [*prints, *map(Path, judging.history)]]
    settings = blake2b(repr(judging.settings).encode(), digest_size=16).hexdigest()
    return {"files": files, "settings": settings, "run": judging.run, "partitions": judging.partitions}


def _sizes(db: Any, prints: list[Path], settings: DedupSettings) -> dict[str, int]:
    """The pages of each site.

    Raises:
        SimdedupError: a site is too large to be judged.
    """
    counted = db.execute(f"SELECT site, count(*) FROM read_parquet({sql_list(prints)}) GROUP BY site").fetchall()  # noqa: S608
    large = sorted(((pages, site) for site, pages in counted if pages > MAX_PAGES_OF_SITE), reverse=True)
    if large and settings.max_pages_per_site is None:
        named = ", ".join(f"{site} ({pages:,})" for pages, site in large[:MAX_NAMED])
        raise SimdedupError(
            f"a site with more than {MAX_PAGES_OF_SITE:,} pages takes one process half a day and more, and there are "
            f"{len(large):,} of them: {named}; set SIMDEDUP_MAX_PAGES_PER_SITE, or SIMDEDUP_SCOPE = 'host'"
        )
    return dict(counted)


def _part(db: Any, tables: list[Path], sizes: dict[str, int], count: int, output: Path) -> None:
    """Write the rows of each site to one of some parts, of which none is much larger than its largest site."""
    arrow = package_of("batch", "pyarrow")
    largest = sorted(sizes, key=lambda site: (-sizes[site], site))[:MAX_PLACED_SITES]
    loads, places = [0] * count, []
    for site in largest:
        part = min(range(count), key=loads.__getitem__) if count > 1 else 0
        loads[part] += sizes[site]
        places.append(part)
    placed = arrow.table({"site": arrow.array(largest, arrow.string()), "part": arrow.array(places, arrow.int32())})
    db.register("placed", placed)
    db.execute(f"""
        COPY (
            SELECT page.*, coalesce(placed.part, hash(page.site) % {count})::INTEGER AS part
            FROM read_parquet({sql_list(tables)}, union_by_name = true) AS page LEFT JOIN placed USING (site)
        ) TO {sql_text(output)} (FORMAT parquet, PARTITION_BY (part), COMPRESSION zstd)
    """)  # noqa: S608 - paths and numbers of ours
    for part in range(count):
        (output / f"part={part}").mkdir(exist_ok=True)


@dataclass(frozen=True, slots=True)
class PartJudging:
    """How the sites of parts are judged."""

    judging: Judging
    secret: bytes
    making: Making

    def about(self) -> dict[str, Any]:
        """What a table of records says about itself, as an export does."""
        is_given = self.judging.settings.secret
        secret = f"given:{self.making.secret}" if is_given else f"own:{self.secret.hex()}"
        return {"simdedup": 1, "fingerprint": self.making.fingerprint, "secret": secret}


def judge_part(watch: PageWatch, source: Path, path: Path, records: Path | None, by: PartJudging) -> int:  # noqa: ARG001
    """Judge the sites of one part; its tables are there once they are complete."""
    duckdb, pages, run = package_of("batch", "duckdb"), 0, by.judging.run
    with ExitStack() as files:
        part = files.enter_context(whole_file(path))  # what is entered first is in its place last
        db = files.enter_context(duckdb.connect())
        writer = TableWriter(str(part), verdicts_schema(), {"run": run})
        store: TableWriter | None = None
        if records is not None:
            store = TableWriter(str(files.enter_context(whole_file(records))), records_schema(), by.about())
        remember = None if store is None else store.add_row
        try:
            for batch in verdicts(_sorted(db, source), by.judging.settings, by.secret, run, remember):
                writer.add_batch(batch)
                pages += batch.num_rows
        except duckdb.Error as exc:
            raise SimdedupError(f"the sort failed: {exc}; it takes less memory with more --partitions") from exc
        writer.close()
        if store is not None:
            store.close()
    return pages


def _sorted(db: Any, source: Path) -> Iterable[Any]:
    tables = sorted(source.glob("*.parquet"))
    if not tables:
        return []
    db.execute("SET threads = 1")
    db.execute("SET enable_progress_bar = false")
    db.execute(f"SET memory_limit = '{SORT_BYTES >> 20}MiB'")
    db.execute(f"SET temp_directory = {sql_text(source / 'sort')}")
    names = ", ".join(fingerprints_schema().names)
    query = f"SELECT {names} FROM read_parquet({sql_list(tables)}, hive_partitioning = false) ORDER BY {ORDER}"  # noqa: S608
    found = db.sql(query)
    read: Callable[[int], Iterable[Any]] = getattr(found, "to_arrow_reader", None) or found.fetch_arrow_reader
    return read(ROWS_PER_BATCH)
