"""The engine of one machine: processes that make fingerprints and judge sites, and DuckDB, which sorts on the disk."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.batch.archives import (
    MAX_PAGES_OF_SITE,
    ORDER,
    Making,
    fingerprints,
    history_row,
    verdicts,
)
from scrapy_simdedup.batch.feeds import Warc
from scrapy_simdedup.batch.inputs import Reading, base_names, copy_kept, output_name, read_pages
from scrapy_simdedup.batch.tables import (
    ROWS_PER_BATCH,
    TableWriter,
    fingerprints_schema,
    metadata_of,
    open_table,
    package_of,
    read_records,
    records_schema,
    verdicts_schema,
)
from scrapy_simdedup.batch.workers import Jobs
from scrapy_simdedup.detect.verdict import Verdict
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.store.base import LogPart, Record, Tail
from scrapy_simdedup.store.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence

    from scrapy_simdedup.batch.workers import PageWatch
    from scrapy_simdedup.settings import DedupSettings

KEY_FILE = "secret"
"""The file beside fingerprints that has the secret under their hashes."""
WORK = ".work"
"""The directory of what is needed only meanwhile."""
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


@dataclass
class Summary:
    """What a batch found."""

    read: int = 0
    dropped: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    """Pages by the kind of their verdicts."""
    unjudged: Counter[str] = field(default_factory=Counter)
    """Pages that could not be judged, by the reason."""
    stubs_kept: int = 0
    """Pages whose content many unrelated URLs have, and that are kept."""
    saved_bytes: int = 0
    """Bytes of the pages that are dropped."""
    most_repeated: list[tuple[str, int]] = field(default_factory=list)
    """Originals with the most repeats, and how many these are."""


def secret_of(directory: Path, settings: DedupSettings, *, make: bytes = b"") -> bytes:
    """The secret of fingerprints in a directory: the given one, or the one that is kept beside them.

    Args:
        directory: where the fingerprints are.
        settings: the settings, with the secret if there is one.
        make: the secret to keep there, if there is none yet.

    Raises:
        SimdedupError: there is none.
    """
    if settings.secret:
        return settings.secret.encode()
    path = directory / KEY_FILE
    if make and not path.exists():
        with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:  # noqa: PTH123
            file.write(make.hex())
    try:
        return bytes.fromhex(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        problem = f"{directory} has no file {KEY_FILE!r} with the secret under its hashes; set SIMDEDUP_SECRET"
        raise SimdedupError(problem) from None


# ------------------------------------------------------------------ fingerprints


def fingerprint_files(
    inputs: Sequence[str],
    output: Path,
    reading: Reading,
    settings: DedupSettings,
    *,
    processes: int,
    history: str | None = None,
) -> Iterator[tuple[str, int, list[str]]]:
    """Make the fingerprints of the pages of files, one table for each; those that are there already are passed over.

    Args:
        inputs: the files.
        output: the directory of the tables.
        reading: how the files are read.
        settings: the settings of the pages.
        processes: how many processes.
        history: a table of records with which the pages are to be judged, and whose secret is taken.

    Yields:
        A file, how many pages it has, and what is wrong with it, as they are done.
    """
    Making.by(settings, b"")  # before anything is made
    for name in inputs:
        reading.format_of(name)
    output.mkdir(parents=True, exist_ok=True)
    secret = secret_of(output, settings, make=_secret_in(history) or os.urandom(16))
    making = Making.by(settings, secret)
    if history is not None:
        _check_history(Path(history), making, secret)
    names, jobs = base_names(list(inputs)), []
    for number, name in enumerate(inputs):
        path = output / output_name(name, names, ".parquet")
        if path.exists():
            making_of(path).check(making, str(path))
            yield name, package_of("batch", "pyarrow.parquet").read_metadata(path).num_rows, []
        else:
            jobs.append((name, (name, number, path, FileMaking(reading, settings, secret, making))))
    if jobs:
        for name, (pages, damages) in Jobs(fingerprint_file, jobs, processes, settings.worker_timeout):
            yield name, pages, damages


@dataclass(frozen=True, slots=True)
class FileMaking:
    """How the fingerprints of files are made."""

    reading: Reading
    settings: DedupSettings
    secret: bytes
    making: Making


def fingerprint_file(
    watch: PageWatch, name: str, number: int, path: Path, made_by: FileMaking
) -> tuple[int, list[str]]:
    """Make the fingerprints of one file; the table is there once it is complete."""
    damages: list[str] = []
    pages = 0
    with _whole(path) as part:
        writer = TableWriter(str(part), fingerprints_schema(), asdict(made_by.making))
        found = read_pages(name, number, made_by.reading, damages)
        for batch in fingerprints(found, made_by.settings, made_by.secret, watch):
            writer.add_batch(batch)
            pages += batch.num_rows
        writer.close()
    return pages, damages


def making_of(path: Path) -> Making:
    """How the fingerprints of a table were made.

    Raises:
        SimdedupError: it is no table of fingerprints.
    """
    arrow, parquet = package_of("batch", "pyarrow"), package_of("batch", "pyarrow.parquet")
    try:
        return Making(**(metadata_of(parquet.read_schema(path)) or {}))
    except (TypeError, OSError, arrow.ArrowException) as exc:
        raise SimdedupError(f"{path} is no table of fingerprints: {exc}") from exc


# ------------------------------------------------------------------ verdicts


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
    prints = sorted(judging.prints.glob("*.parquet"))
    if not prints:
        raise SimdedupError(f"there are no fingerprints in {judging.prints}; make them with batch fingerprint")
    secret = secret_of(judging.prints, judging.settings)
    making = Making.by(judging.settings, secret)
    for path in prints:
        making.check(making_of(path), str(path))
    for name in judging.history:
        _check_history(Path(name), making, secret)
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
        db.execute(f"SET temp_directory = {_quoted(work / 'sort')}")
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


def _secret_in(history: str | None) -> bytes | None:
    """The secret that a table of records tells; None where it was given to its store, and is not there."""
    secret = str(_about(Path(history)).get("secret", "")) if history is not None else ""
    return bytes.fromhex(secret.removeprefix("own:")) if secret.startswith("own:") else None


def _about(path: Path) -> dict[str, Any]:
    arrow, parquet = package_of("batch", "pyarrow"), package_of("batch", "pyarrow.parquet")
    try:
        return metadata_of(parquet.read_schema(path)) or {}
    except arrow.ArrowException as exc:
        raise SimdedupError(f"{path} is no table of records: {exc}") from exc


def _check_history(path: Path, making: Making, secret: bytes) -> None:
    about = _about(path)
    marks = {f"given:{making.secret}", f"own:{secret.hex()}"}
    if about.get("fingerprint") != making.fingerprint:
        theirs = about.get("fingerprint") or "nobody knows what"
        raise SimdedupError(f"{path} has fingerprints of {theirs}, and these settings make {making.fingerprint}")
    if about.get("secret") not in marks:
        raise SimdedupError(f"{path} was made under another secret; name it where the fingerprints are made, too")


def convert_history(watch: PageWatch, name: str, path: Path) -> None:  # noqa: ARG001 - a job has a watch
    """Write the records of an export as rows of a table of fingerprints."""

    def refuse(number: int, problem: str) -> None:
        raise SimdedupError(f"row {number}: {problem}")

    schema = fingerprints_schema()
    with Path(name).open("rb") as file, open_table(file) as table, _whole(path) as part:
        writer = TableWriter(str(part), schema)
        for number, (site, record) in enumerate(read_records(table, refuse)):
            row = history_row(site, record, number)
            writer.add(*(row.get(column) for column in schema.names))
        writer.close()


def _sizes(db: Any, prints: list[Path], settings: DedupSettings) -> dict[str, int]:
    """The pages of each site.

    Raises:
        SimdedupError: a site is too large to be judged.
    """
    counted = db.execute(f"SELECT site, count(*) FROM read_parquet({_list(prints)}) GROUP BY site").fetchall()  # noqa: S608
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
            FROM read_parquet({_list(tables)}, union_by_name = true) AS page LEFT JOIN placed USING (site)
        ) TO {_quoted(output)} (FORMAT parquet, PARTITION_BY (part), COMPRESSION zstd)
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
        part = files.enter_context(_whole(path))  # what is entered first is in its place last
        db = files.enter_context(duckdb.connect())
        writer = TableWriter(str(part), verdicts_schema(), {"run": run})
        store: TableWriter | None = None
        if records is not None:
            store = TableWriter(str(files.enter_context(_whole(records))), records_schema(), by.about())
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
    db.execute(f"SET temp_directory = {_quoted(source / 'sort')}")
    names = ", ".join(fingerprints_schema().names)
    query = f"SELECT {names} FROM read_parquet({_list(tables)}, hive_partitioning = false) ORDER BY {ORDER}"  # noqa: S608
    found = db.sql(query)
    read: Callable[[int], Iterable[Any]] = getattr(found, "to_arrow_reader", None) or found.fetch_arrow_reader
    return read(ROWS_PER_BATCH)


def summary_of(output: Path) -> Summary:
    """What the verdicts in a directory say."""
    duckdb, made = package_of("batch", "duckdb"), Summary()
    tables = f"read_parquet({_list(sorted(output.glob('verdicts-*.parquet')))})"
    with duckdb.connect() as db:
        rows = db.execute(
            f"SELECT kind, is_duplicate, reason, count(*), sum(coalesce(size, 0)) FROM {tables} GROUP BY ALL"  # noqa: S608
        ).fetchall()
        for kind, is_duplicate, reason, count, size in rows:
            made.read += count
            made.kinds[kind] += count
            made.dropped += count * is_duplicate
            made.saved_bytes += int(size) * is_duplicate
            made.stubs_kept += count * (kind == "stub" and not is_duplicate)
            made.unjudged[reason] += count * (kind == "unjudged")
        made.unjudged += Counter()  # without those that are none
        made.most_repeated = db.execute(
            f"SELECT original, count(*) AS n FROM {tables} WHERE is_duplicate GROUP BY original"  # noqa: S608
            f" ORDER BY n DESC, original LIMIT {MAX_NAMED}"
        ).fetchall()
    return made


class RecordTables(MemoryStore):
    """Tables of records as a store that reports read; nothing is written to it, and one site at a time is held.

    Args:
        directory: the directory of the tables.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._tables = sorted(directory.glob("records-*.parquet"))

    async def read(self, site: str, after: int = 0) -> Tail:
        """All records of a site."""
        parquet, found = package_of("batch", "pyarrow.parquet"), list[Record]()
        for path in self._tables:
            rows = parquet.read_table(path, filters=[("site", "=", site)]).to_pylist()
            found += [Record(**{name: value for name, value in row.items() if name != "site"}) for row in rows]
        found = LogPart(site, 0, found).numbered()
        return Tail(tuple(found[after:]), len(found))

    async def records(self) -> AsyncIterator[tuple[str, Record]]:
        """All records, site by site."""
        for path in self._tables:
            with path.open("rb") as file, open_table(file) as table:
                for number, (site, record) in enumerate(read_records(table, lambda *_: None), 1):
                    yield site, replace(record, id=number, position=number)


# ------------------------------------------------------------------ what is kept


def keep_files(
    inputs: Sequence[str], verdict_tables: Path, output: Path, reading: Reading, *, processes: int
) -> Iterator[tuple[str, int]]:
    """Copy the files of an archive without the pages that were dropped; those that are there are passed over.

    Yields:
        A file, and how many of its pages were dropped, as they are done.

    Raises:
        SimdedupError: there is no verdict on a file.
    """
    duckdb = package_of("batch", "duckdb")
    tables = sorted(verdict_tables.glob("verdicts-*.parquet"))
    if not tables or (verdict_tables / WORK).exists():
        raise SimdedupError(f"{verdict_tables} has no verdicts on all pages; run batch judge to its end first")
    output.mkdir(parents=True, exist_ok=True)
    dropped = output / f"{WORK}-dropped.parquet"
    with duckdb.connect() as db:
        known = {name for (name,) in db.execute(f"SELECT DISTINCT file FROM read_parquet({_list(tables)})").fetchall()}  # noqa: S608
        unknown = [name for name in inputs if name not in known]
        if unknown:
            raise SimdedupError(f"there is no verdict on {unknown[0]}; name the files as they were fingerprinted")
        db.execute(f"""
            COPY (
                SELECT file, position, kind, original, similarity FROM read_parquet({_list(tables)})
                WHERE is_duplicate ORDER BY file, position
            ) TO {_quoted(dropped)} (FORMAT parquet)
        """)  # noqa: S608 - paths of ours
    names, jobs = base_names(list(inputs)), []
    for name in inputs:
        is_warc = reading.format_of(name) is Warc
        path = output / output_name(name, names, ".gz" if is_warc and not name.endswith(".gz") else "")
        if not path.exists():
            jobs.append((name, (name, path, reading, dropped)))
        else:
            yield name, 0
    if jobs:
        yield from Jobs(keep_file, jobs, processes)
    dropped.unlink()


def keep_file(watch: PageWatch, name: str, path: Path, reading: Reading, dropped: Path) -> int:  # noqa: ARG001
    """Copy one file without the pages that were dropped."""
    parquet = package_of("batch", "pyarrow.parquet")
    rows = parquet.read_table(dropped, filters=[("file", "=", name)]).to_pylist()
    found = {
        row["position"]: Verdict(row["kind"], is_duplicate=True, original=row["original"], similarity=row["similarity"])
        for row in rows
    }
    return copy_kept(name, path, reading, found)


def _list(paths: Iterable[Path]) -> str:
    """Paths as a list of SQL."""
    return f"[{', '.join(map(_quoted, paths))}]"


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A path to write to; the file takes its place when all of it is written."""
    part = path.with_name(path.name + ".part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
