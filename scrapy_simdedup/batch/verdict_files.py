"""What is made of tables of verdicts: a summary, and copies of the files without what is dropped."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.batch.inputs import Reading, base_names, copy_kept, kept_name
from scrapy_simdedup.batch.tables import package_of, sql_list, sql_text
from scrapy_simdedup.batch.workers import Jobs
from scrapy_simdedup.detect.verdict import Verdict
from scrapy_simdedup.errors import SimdedupError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from scrapy_simdedup.batch.superseded import SupersededPage
    from scrapy_simdedup.batch.workers import PageWatch

WORK = ".work"
"""The directory of what is needed only until there is a verdict on all pages."""
MAX_NAMED = 5
"""Originals that a summary names."""
DROPPED_COLUMNS = ("file", "position", "kind", "original", "similarity")
"""The columns of a table of dropped pages."""


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

    @classmethod
    def of(cls, kinds: Iterable[tuple[Any, ...]], most_repeated: Iterable[tuple[Any, ...]]) -> Summary:
        """A summary of counted verdicts.

        Args:
            kinds: kind, whether it is a duplicate, reason, number of pages, and their bytes.
            most_repeated: originals, and how many repeats they have.
        """
        made = cls(most_repeated=[(original, count) for original, count in most_repeated])
        for kind, is_duplicate, reason, count, size in kinds:
            made.read += count
            made.kinds[kind] += count
            made.dropped += count * is_duplicate
            made.saved_bytes += int(size) * is_duplicate
            made.stubs_kept += count * (kind == "stub" and not is_duplicate)
            made.unjudged[reason] += count * (kind == "unjudged")
        made.unjudged += Counter()  # without those that are none
        return made


def summary_of(output: Path) -> Summary:
    """What the verdicts in a directory say."""
    duckdb = package_of("batch", "duckdb")
    tables = f"read_parquet({sql_list(sorted(output.glob('verdicts-*.parquet')))})"
    with duckdb.connect() as db:
        kinds = db.execute(
            f"SELECT kind, is_duplicate, reason, count(*), sum(coalesce(size, 0)) FROM {tables} GROUP BY ALL"  # noqa: S608
        ).fetchall()
        most_repeated = db.execute(
            f"SELECT original, count(*) AS n FROM {tables} WHERE is_duplicate GROUP BY original"  # noqa: S608
            f" ORDER BY n DESC, original LIMIT {MAX_NAMED}"
        ).fetchall()
    return Summary.of(kinds, most_repeated)


def keep_files(
    inputs: Sequence[str],
    verdict_tables: Path,
    output: Path,
    reading: Reading,
    *,
    processes: int,
    superseded: Iterable[SupersededPage] = (),
) -> Iterator[tuple[str, int]]:
    """Copy the files of an archive without the pages that were dropped; those that are there are passed over.

    Args:
        inputs: the files.
        verdict_tables: the directory of the verdicts.
        output: the directory of the copies.
        reading: how the files are read.
        processes: how many processes.
        superseded: further pages that are left out.

    Yields:
        A file, and how many of its pages were dropped, as they are done.

    Raises:
        SimdedupError: there is no verdict on a file.
    """
    duckdb = package_of("batch", "duckdb")
    tables = verdict_tables_in(verdict_tables)
    output.mkdir(parents=True, exist_ok=True)
    dropped = output / f"{WORK}-dropped.parquet"
    with duckdb.connect() as db:
        files = db.execute(f"SELECT DISTINCT file FROM read_parquet({sql_list(tables)})").fetchall()  # noqa: S608
        known = {name for (name,) in files}
        unknown = [name for name in inputs if name not in known]
        if unknown:
            raise SimdedupError(f"there is no verdict on {unknown[0]}; name the files as they were fingerprinted")
        db.register("superseded", _table_of(superseded))
        db.execute(f"""
            COPY (
                SELECT file, position, kind, original, similarity FROM read_parquet({sql_list(tables)})
                WHERE is_duplicate UNION ALL FROM superseded ORDER BY file, position
            ) TO {sql_text(dropped)} (FORMAT parquet)
        """)  # noqa: S608 - paths of ours
    names, jobs = base_names(list(inputs)), []
    for name in inputs:
        path = output / kept_name(name, names, reading)
        if not path.exists():
            jobs.append((name, (name, path, reading, dropped)))
        else:
            yield name, 0
    if jobs:
        yield from Jobs(keep_file, jobs, processes)
    dropped.unlink()


def verdict_tables_in(directory: Path) -> list[Path]:
    """The tables of verdicts in a directory.

    Raises:
        SimdedupError: there is none, or some are missing.
    """
    tables = sorted(directory.glob("verdicts-*.parquet"))
    if not tables or (directory / WORK).exists():
        raise SimdedupError(f"{directory} has no verdicts on all pages; run batch judge to its end first")
    return tables


def _table_of(superseded: Iterable[SupersededPage]) -> Any:
    arrow = package_of("batch", "pyarrow")
    types = (arrow.string(), arrow.int64(), arrow.string(), arrow.string(), arrow.float64())
    schema = arrow.schema(list(zip(DROPPED_COLUMNS, types, strict=True)))
    return arrow.Table.from_pylist([asdict(page) for page in superseded], schema=schema)


def keep_file(watch: PageWatch, name: str, path: Path, reading: Reading, dropped: Path) -> int:  # noqa: ARG001
    """Copy one file without the pages that were dropped."""
    parquet = package_of("batch", "pyarrow.parquet")
    rows = parquet.read_table(dropped, filters=[("file", "=", name)]).to_pylist()
    return copy_kept(name, str(path), reading, dropped_pages(rows))


def dropped_pages(rows: Iterable[Mapping[str, Any]]) -> dict[int, Verdict]:
    """The verdicts on the pages of a file that were dropped, by their positions; rows have :data:`DROPPED_COLUMNS`."""
    return {
        row["position"]: Verdict(row["kind"], is_duplicate=True, original=row["original"], similarity=row["similarity"])
        for row in rows
    }
