"""The engine of one machine: processes that fingerprint files and judge sites, and DuckDB, which sorts on the disk."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

from scrapy_simdedup.batch import tables
from scrapy_simdedup.batch.archives import ORDER, Making, bins_of, check_sizes, fingerprints, history_row, verdicts
from scrapy_simdedup.batch.files import Reading, only_run_in, output_names, read_pages, whole_file
from scrapy_simdedup.batch.records import EXPORT_VERSION, read_records, records_schema
from scrapy_simdedup.batch.tables import sql_rows, sql_text
from scrapy_simdedup.batch.verdict_files import WORK
from scrapy_simdedup.batch.workers import Watch, do_jobs
from scrapy_simdedup.detect.names import host_of
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.settings import DedupSettings

KEY_FILE = "secret"
"""The file beside fingerprints that has the secret under their hashes."""
SOURCE = "source"
"""Where the metadata of a table of fingerprints say of which file it was made."""
PAGES_PER_PARTITION = 50_000
PART_BYTES, SORT_BYTES = 640 * 1024 * 1024, 384 * 1024 * 1024
"""Bytes of memory in which the fingerprints are parted, and in which a process sorts its part."""
ROWS_PER_FLUSH = 16_384
"""Rows that wait in memory before they are written to the parts."""


def secret_of(directory: Path, settings: DedupSettings, *, make: bytes = b"") -> bytes:
    """The secret of the fingerprints in a directory: a given one, or that kept beside them, if need be as ``make``."""
    if settings.secret:
        return settings.secret.encode()
    path = directory / KEY_FILE
    if make and not (path.exists() and path.stat().st_size):  # nothing is in it where the disk was full
        with whole_file(path) as part:
            part.touch(0o600)
            part.write_text(make.hex(), encoding="ascii")
    with suppress(OSError, ValueError):
        if secret := bytes.fromhex(path.read_text(encoding="ascii")):
            return secret
    raise SimdedupError(f"{directory} has no file {KEY_FILE!r} with the secret under its hashes; set SIMDEDUP_SECRET")


def fingerprint_files(
    inputs: Sequence[str],
    output: Path,
    reading: Reading,
    settings: DedupSettings,
    *,
    processes: int,
    history: str | None = None,
) -> Iterator[tuple[str, int, list[str]]]:
    """Make a table of fingerprints for each file, unless there is one; a file, its pages, and what is wrong with it.

    ``history`` is a table of records with which the pages are to be judged, and whose secret is taken.
    """
    Making.by(settings, b"")  # before anything is made
    for name in inputs:
        reading.format_of(name)
    with only_run_in(output):
        secret = secret_of(output, settings, make=secret_in(history) or os.urandom(16))
        making = Making.by(settings, secret)
        if history is not None:
            check_history(history, making, secret)
        jobs = []
        for number, (name, output_name) in enumerate(output_names(inputs).items()):
            path = output / f"{output_name}.parquet"
            if path.exists():
                making_of(path).check(making, str(path))
                if tables.read_metadata(path, "table of fingerprints")[SOURCE] != _source(name, number, reading):
                    what = "was made of another file, or of what has changed since, or read otherwise"
                    raise SimdedupError(f"{path} {what}; name another -o, or delete it")
                yield name, tables.count_rows(path), []
            else:
                jobs.append((name, (name, number, path)))
        if jobs:
            work = partial(fingerprint_file, reading=reading, settings=settings, secret=secret)
            for name, (pages, damages) in do_jobs(work, jobs, processes, settings.worker_timeout):
                yield name, pages, damages


def _source(name: str, number: int, reading: Reading) -> dict[str, Any]:
    """What a table of fingerprints is made of: a file, and how it is read."""
    size = None if "://" in name else Path(name).stat().st_size
    said = {field: value for field, value in asdict(reading).items() if field != "skip_damaged"}
    return {"file": name, "size": size, "number": number if reading.in_order else None, **said}


def fingerprint_file(
    watch: Watch, name: str, number: int, path: Path, *, reading: Reading, settings: DedupSettings, secret: bytes
) -> tuple[int, list[str]]:
    """Make the fingerprints of one file; the table is there once it is complete."""
    damages: list[str] = []
    pages = 0
    with whole_file(path) as part:
        about = asdict(Making.by(settings, secret)) | {SOURCE: _source(name, number, reading)}
        writer = tables.TableWriter(str(part), tables.fingerprints_schema(), about)
        for batch in fingerprints(read_pages(name, number, reading, damages), settings, secret, watch):
            writer.add_batch(batch)
            pages += batch.num_rows
        writer.close()
    return pages, damages


def making_of(path: Path) -> Making:
    """How the fingerprints of a table were made."""
    about = tables.read_metadata(path, "table of fingerprints")
    about.pop(SOURCE, None)
    try:
        return Making(**about)
    except TypeError as exc:
        raise SimdedupError(f"{path} is no table of fingerprints: {exc}") from exc


def prints_in(directory: Path, settings: DedupSettings) -> tuple[list[Path], bytes]:
    """The tables of fingerprints in a directory, which these settings can judge, and the secret under their hashes."""
    prints = sorted(directory.glob("*.parquet"))
    if not prints:
        raise SimdedupError(f"there are no fingerprints in {directory}; make them with batch fingerprint")
    secret = secret_of(directory, settings)
    making = Making.by(settings, secret)
    for path in prints:
        making.check(making_of(path), str(path))
    return prints, secret


def secret_in(history: str | None) -> bytes | None:
    """The secret that a table of records tells; None where it was given to its store, and is not there."""
    if history is None:
        return None
    secret = str(tables.read_metadata(Path(history), "table of records").get("secret", ""))
    return bytes.fromhex(secret.removeprefix("own:")) if secret.startswith("own:") else None


def check_history(history: str, making: Making, secret: bytes) -> None:
    """Check that fingerprints that are made now can be compared with a table of records."""
    about = tables.read_metadata(Path(history), "table of records")
    if about.get("fingerprint") != making.fingerprint:
        theirs = about.get("fingerprint") or "nobody knows what"
        raise SimdedupError(f"{history} has fingerprints of {theirs}, and these settings make {making.fingerprint}")
    if about.get("secret") not in {f"given:{making.secret}", f"own:{secret.hex()}"}:
        raise SimdedupError(f"{history} was made under another secret; name it where the fingerprints are made, too")


@dataclass(frozen=True, slots=True)
class Judging:
    """Which fingerprints ``judge_files`` judges, and how."""

    prints: Path
    """The directory of the fingerprints."""
    output: Path
    settings: DedupSettings
    run: str
    """The run that the verdicts and records name."""
    history: tuple[str, ...] = ()
    """Tables of records, of earlier batches or of stores."""
    records: Path | None = None
    """The directory for the records that a store would hold afterwards; None writes none."""
    partitions: int | None = None
    """In how many parts the sites are judged; None chooses."""
    by_host_above: int | None = None
    """Pages above which the hosts of a site are judged apart."""


def judge_files(judging: Judging, *, processes: int) -> Iterator[tuple[int, int]]:
    """Judge the fingerprinted pages of all parts without tables; yields the pages judged so far, and all.

    Raises a SimdedupError if the fingerprints were made in another way, a site is too large, or the output is of other
    inputs.
    """
    tables.package_of("batch", "duckdb")
    prints, secret = prints_in(judging.prints, judging.settings)
    making = Making.by(judging.settings, secret)
    for name in judging.history:
        check_history(name, making, secret)
    if judging.by_host_above is not None and judging.records is not None:
        raise SimdedupError("--by-host-above writes no --records: a crawl would look for them under their sites")
    with ExitStack() as locks:
        for directory in {judging.output, judging.records or judging.output}:
            locks.enter_context(only_run_in(directory))
        yield from _judge_files(judging, prints, secret, processes)


def _judge_files(judging: Judging, prints: list[Path], secret: bytes, processes: int) -> Iterator[tuple[int, int]]:
    duckdb, work = tables.package_of("batch", "duckdb"), judging.output / WORK
    plan = _plan(judging, prints)
    written = judging.output / "plan.json"
    before = json.loads(written.read_text(encoding="utf-8")) if written.exists() else None
    if before is not None and before["of"] != plan:
        other = "holds verdicts on other inputs or under other settings; name another one"
        raise SimdedupError(f"{judging.output} {other}")
    if before is None and judging.records is not None and any(judging.records.glob("records-*.parquet")):
        raise SimdedupError(f"{judging.records} holds records of another run; name another one")
    work.mkdir(exist_ok=True)
    history = [work / f"history-{number}.parquet" for number in range(len(judging.history))]
    jobs = [(name, (name, path)) for name, path in zip(judging.history, history, strict=True) if not path.exists()]
    if jobs:
        list(do_jobs(convert_history, jobs, processes))
    with tables.connect(
        temp_directory=str(work / "sort"),
        memory_limit=f"{PART_BYTES >> 20}MiB",
        partitioned_write_flush_threshold=ROWS_PER_FLUSH,
        threads=processes,
        preserve_insertion_order=False,
    ) as db:
        sizes = _sizes(db, [*prints, *history], prints, judging)
        total = sum(sizes.values())
        # As many parts as before, on however many cores: each site is in the part where it was.
        wanted = judging.partitions or max(2 * processes, -(-total // PAGES_PER_PARTITION))
        count = before["parts"] if before else wanted
        with whole_file(written) as part:
            part.write_text(json.dumps({"of": plan, "parts": count}), encoding="utf-8")
        if not (work / "parted").exists():
            shutil.rmtree(work / "parts", ignore_errors=True)
            try:
                _part(db, sizes, count, work / "parts")
            except duckdb.Error as exc:
                raise SimdedupError(f"the fingerprints could not be parted by their sites: {exc}") from exc
            (work / "parted").touch()
    done, jobs_of_parts = 0, []
    for number in range(count):
        path = judging.output / f"verdicts-{number:05}.parquet"
        records = judging.records and judging.records / f"records-{number:05}.parquet"
        if path.exists() and (records is None or records.exists()):
            done += tables.count_rows(path)
        else:
            jobs_of_parts.append((f"part {number}", (work / "parts" / f"part={number}", path, records)))
    yield done, total
    if jobs_of_parts:
        for _, pages in do_jobs(partial(judge_part, judging=judging, secret=secret), jobs_of_parts, processes):
            done += pages
            yield done, total
    shutil.rmtree(work)


def convert_history(watch: Watch, name: str, path: Path) -> None:  # noqa: ARG001 - a job has a watch
    """Write the records of an export as rows of a table of fingerprints."""

    def refuse(number: int, problem: str) -> None:
        raise SimdedupError(f"row {number}: {problem}")

    schema = tables.fingerprints_schema()
    with Path(name).open("rb") as file, tables.open_table(file) as table, whole_file(path) as part:
        writer = tables.TableWriter(str(part), schema)
        for number, (site, record) in enumerate(read_records(table, refuse)):
            row = history_row(site, record, number)
            writer.add_row(tuple(map(row.get, schema.names)))
        writer.close()


def _plan(judging: Judging, prints: list[Path]) -> dict[str, Any]:
    """What the verdicts depend on."""
    files = [[path.name, path.stat().st_size] for path in [*prints, *map(Path, judging.history)]]
    by_host = {} if judging.by_host_above is None else {"by_host_above": judging.by_host_above}
    settings = blake2b(repr(judging.settings).encode(), digest_size=16).hexdigest()
    return {"files": files, "settings": settings, "run": judging.run, "partitions": judging.partitions} | by_host


def _sizes(db: Any, sources: list[Path], prints: list[Path], judging: Judging) -> dict[str, int]:
    """The pages of each site; makes the view ``pages`` of the rows with their sites."""
    above = judging.by_host_above
    rows = sql_rows(sources)
    counted = f"SELECT site, count(*) FROM {sql_rows(prints)} GROUP BY site"  # noqa: S608
    sizes = dict(db.execute(counted).fetchall())
    large = [site for site, pages in sizes.items() if above is not None and pages > above]
    if large:
        arrow = tables.package_of("batch", "pyarrow")
        db.create_function("host_of", host_of, ["VARCHAR"], "VARCHAR")
        db.register("large", arrow.table({"name": arrow.array(large, arrow.string())}))
        # What is known of a site as a whole has no URL, and is of no use to its hosts.
        rows = f"""(
            SELECT * FROM {rows} WHERE site NOT IN (SELECT name FROM large) UNION ALL
            SELECT * REPLACE (host_of(url) AS site) FROM {rows} WHERE site IN (SELECT name FROM large) AND key <> ''
        )"""  # noqa: S608
    db.execute(f"CREATE VIEW pages AS FROM {rows}")
    if large:
        sizes = dict(db.execute("SELECT site, count(*) FROM pages WHERE record IS NULL GROUP BY site").fetchall())
    check_sizes(sizes, judging.settings.max_pages_per_site)
    return sizes


def _part(db: Any, sizes: dict[str, int], count: int, output: Path) -> None:
    """Write the rows of each site to one of some parts, of which none is much larger than its largest site."""
    arrow, bins = tables.package_of("batch", "pyarrow"), bins_of(sizes, count)
    largest, places = list(bins), list(bins.values())
    placed = arrow.table({"site": arrow.array(largest, arrow.string()), "part": arrow.array(places, arrow.int32())})
    db.register("placed", placed)
    db.execute(f"""
        COPY (
            SELECT page.*, coalesce(placed.part, hash(page.site) % {count})::INTEGER AS part
            FROM pages AS page LEFT JOIN placed USING (site)
        ) TO {sql_text(output)} (FORMAT parquet, PARTITION_BY (part), COMPRESSION zstd)
    """)  # noqa: S608 - paths and numbers of ours
    for part in range(count):
        (output / f"part={part}").mkdir(exist_ok=True)


def judge_part(
    watch: Watch,  # noqa: ARG001 - a job has a watch
    source: Path,
    path: Path,
    records: Path | None,
    *,
    judging: Judging,
    secret: bytes,
) -> int:
    """Judge the sites of one part, and write its tables; each appears once it is complete."""
    duckdb, pages, run, settings = tables.package_of("batch", "duckdb"), 0, judging.run, judging.settings
    with ExitStack() as files:
        part = files.enter_context(whole_file(path))  # what is entered first is in its place last
        sorting = {"temp_directory": str(source / "sort"), "memory_limit": f"{SORT_BYTES >> 20}MiB", "threads": 1}
        db = files.enter_context(tables.connect(**sorting))
        writer = tables.TableWriter(str(part), tables.verdicts_schema(), {"run": run})
        store: tables.TableWriter | None = None
        if records is not None:
            store = tables.TableWriter(
                str(files.enter_context(whole_file(records))), records_schema(), _about_records(settings, secret)
            )
        remember = None if store is None else store.add_row
        try:
            for batch in verdicts(_sorted(db, source), settings, secret, run, remember):
                writer.add_batch(batch)
                pages += batch.num_rows
        except duckdb.Error as exc:
            raise SimdedupError(f"the sort failed: {exc}; it takes less memory with more --partitions") from exc
        writer.close()
        if store is not None:
            store.close()
    return pages


def _about_records(settings: DedupSettings, secret: bytes) -> dict[str, Any]:
    """What a table of records says about itself, as an export does."""
    making = Making.by(settings, secret)
    told = f"given:{making.secret}" if settings.secret else f"own:{secret.hex()}"
    return {"simdedup": EXPORT_VERSION, "fingerprint": making.fingerprint, "secret": told}


def _sorted(db: Any, source: Path) -> Iterable[Any]:
    sources = sorted(source.glob("*.parquet"))
    if not sources:
        return []
    names = ", ".join(tables.fingerprints_schema().names)
    query = f"SELECT {names} FROM {sql_rows(sources)} ORDER BY {ORDER}"  # noqa: S608
    found = db.sql(query)
    read: Callable[[int], Iterable[Any]] = getattr(found, "to_arrow_reader", None) or found.fetch_arrow_reader
    return read(tables.ROWS_PER_BATCH)
