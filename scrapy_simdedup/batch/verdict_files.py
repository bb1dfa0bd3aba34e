"""What is made of tables of verdicts: a summary, and copies of the files without what is dropped, or superseded.

A superseded page is one whose place a better copy took (``SIMDEDUP_PREFER``). A crawl has delivered it before the
better copy came. An archive can leave it out, if nothing is lost: if it, and each page that was dropped for it, is a
copy of the last page of its line, which is kept.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields
from hashlib import blake2b
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from scrapy_simdedup.batch.archives import fingerprint_of
from scrapy_simdedup.batch.files import Reading, copy_kept, has_pages, kept_names, only_run_in, whole_file
from scrapy_simdedup.batch.tables import connect, package_of, sql_rows, sql_text
from scrapy_simdedup.batch.workers import Watch, do_jobs
from scrapy_simdedup.detect.names import PageSettings
from scrapy_simdedup.detect.verdict import Verdict
from scrapy_simdedup.display import format_bytes, plural
from scrapy_simdedup.errors import FingerprintMismatch, SimdedupError
from scrapy_simdedup.fingerprint.fingerprint import Comparison
from scrapy_simdedup.settings import DedupSettings

Entry = tuple[str, int]
"""A file of an archive, and the position of an entry in it."""

WORK = ".work"
"""The directory of what is needed only until there is a verdict on all pages."""
COPIES_FILE = ".copies.json"
"""The file beside copies that says of which files they are, and by which verdicts."""
MAX_NAMED = 5
"""Originals that a summary names."""
ROWS_PER_READ = 1_000
"""Rows with two fingerprints that are held at a time."""


@dataclass
class Counts:
    """How many pages or items were read and dropped, and what was found of them."""

    read: int = 0
    dropped: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    unjudged: Counter[str] = field(default_factory=Counter)

    def add(self, verdict: Verdict, count: int = 1) -> None:
        """Count pages of one verdict as read."""
        self.read += count
        self.kinds[verdict.kind] += count
        if verdict.kind == "unjudged":
            self.unjudged[str(verdict.reason)] += count

    def as_dict(self) -> dict[str, Any]:
        """The counts as JSON has them."""
        kept = self.read - self.dropped
        counts = {"read": self.read, "kept": kept, "dropped": self.dropped, "kinds": self.kinds}
        return {**counts, "unjudged": self.unjudged}

    def lines(self, thing: str) -> list[str]:
        """The counts for people, in a line; in a second one why some ``thing`` could not be judged."""
        kinds, reasons = (
            ", ".join(f"{count:,} {name}" for name, count in found.most_common())
            for found in (self.kinds, self.unjudged)
        )
        kept = f"{self.read - self.dropped:,} kept, {self.dropped:,} dropped ({kinds or 'there were none'})"
        return [f"{plural(self.read, thing)}: {kept}", *([f"unjudged: {reasons}"] if reasons else [])]


@dataclass
class Summary(Counts):
    """What a batch found."""

    stubs_kept: int = 0
    """Pages whose content many unrelated URLs have, and that are kept."""
    saved_bytes: int = 0
    most_repeated: list[tuple[str, int]] = field(default_factory=list)
    """Originals with the most repeats, and how many these are."""

    @classmethod
    def of(cls, kinds: Iterable[tuple[Any, ...]], most_repeated: Iterable[tuple[Any, ...]]) -> Summary:
        """A summary of counted verdicts.

        ``kinds`` has the kind, whether it is a duplicate, the reason, the number of pages and their bytes;
        ``most_repeated`` originals and how many repeats they have.
        """
        made = cls(most_repeated=[(original, count) for original, count in most_repeated])
        for kind, is_duplicate, reason, count, size in kinds:
            made.add(Verdict(kind, reason=reason), count)
            made.dropped += count * is_duplicate
            made.saved_bytes += int(size) * is_duplicate
            made.stubs_kept += count * (kind == "stub" and not is_duplicate)
        return made

    def as_dict(self) -> dict[str, Any]:
        """The summary as JSON has it."""
        more = {"stubs_kept": self.stubs_kept, "saved_bytes": self.saved_bytes}
        repeated = [{"url": url, "repeats": repeats} for url, repeats in self.most_repeated]
        return super().as_dict() | more | {"most_repeated": repeated}

    def text(self) -> Iterator[str]:
        """The summary in lines for people."""
        first, *unjudged = self.lines("page")
        yield first
        if self.saved_bytes:
            yield f"  saved: {format_bytes(self.saved_bytes)} of pages"
        yield from (f"  {line}" for line in unjudged)
        if self.stubs_kept:
            yield f"  {plural(self.stubs_kept, 'stub')} kept; SIMDEDUP_STUBS=drop drops them"
        for url, repeats in self.most_repeated:
            yield f"  {plural(repeats, 'repeat')} of {url}"


def summary_of(output: Path) -> Summary:
    """What the verdicts in a directory say."""
    tables = sql_rows(sorted(output.glob("verdicts-*.parquet")))
    with connect() as db:
        kinds = db.execute(
            f"SELECT kind, is_duplicate, reason, count(*), sum(coalesce(size, 0)) FROM {tables} GROUP BY ALL"  # noqa: S608
        ).fetchall()
        most_repeated = db.execute(
            f"SELECT original, count(*) AS n FROM {tables} WHERE is_duplicate GROUP BY original"  # noqa: S608
            f" ORDER BY n DESC, original LIMIT {MAX_NAMED}"
        ).fetchall()
    return Summary.of(kinds, most_repeated)


@dataclass(frozen=True, slots=True)
class DroppedPage:
    """A page of an archive that is dropped, or superseded: a row of the table by which files are copied."""

    file: str
    position: int
    kind: str
    original: str
    """The URL of the page that it repeats, or of the last page of its line."""
    similarity: float


DROPPED_COLUMNS = tuple(field.name for field in fields(DroppedPage))


def keep_files(
    inputs: Sequence[str],
    verdict_tables: Path,
    output: Path,
    reading: Reading,
    *,
    processes: int,
    superseded: Iterable[DroppedPage] = (),
) -> Iterator[tuple[str, int]]:
    """Copy the files of an archive without dropped and superseded pages; a file, and how many it lacks, once done.

    ``verdict_tables`` is the directory of the verdicts; copies that are there already are passed over.
    """
    tables = verdict_tables_in(verdict_tables)
    with only_run_in(output):
        dropped, left_out = output / f"{WORK}-dropped.parquet", list(superseded)
        known = _write_dropped(tables, left_out, dropped)
        unknown = [name for name in inputs if name not in known and has_pages(name, reading)]
        if unknown:
            raise SimdedupError(f"there is no verdict on {unknown[0]}; name the files as they were fingerprinted")
        by = [[path.name, path.stat().st_size] for path in tables], [astuple(page) for page in left_out]
        mark = blake2b(json.dumps(by).encode(), digest_size=16).hexdigest()
        copies = kept_names(inputs, reading)
        _note_copies(output, {kept_name: [name, mark] for name, kept_name in copies.items()})
        jobs = []
        for name, kept_name in copies.items():
            path = output / kept_name
            if not path.exists():
                jobs.append((name, (name, path, reading, dropped)))
            else:
                yield name, 0
        if jobs:
            yield from do_jobs(keep_file, jobs, processes)
        dropped.unlink()


def _write_dropped(tables: list[Path], superseded: list[DroppedPage], output: Path) -> set[str]:
    """Write the table of the pages that copies lack; gives the files on which there are verdicts."""
    arrow = package_of("batch", "pyarrow")
    types = (arrow.string(), arrow.int64(), arrow.string(), arrow.string(), arrow.float64())
    schema = arrow.schema(list(zip(DROPPED_COLUMNS, types, strict=True)))
    with connect() as db:
        db.register("superseded", arrow.Table.from_pylist([asdict(page) for page in superseded], schema=schema))
        db.execute(f"""
            COPY (
                SELECT {", ".join(DROPPED_COLUMNS)} FROM {sql_rows(tables)}
                WHERE is_duplicate UNION ALL FROM superseded ORDER BY file, position
            ) TO {sql_text(output)} (FORMAT parquet)
        """)  # noqa: S608 - paths of ours
        return {name for (name,) in db.execute(f"SELECT DISTINCT file FROM {sql_rows(tables)}").fetchall()}  # noqa: S608


def _note_copies(output: Path, copies: dict[str, list[str]]) -> None:
    """Note of which file each copy is, and by which verdicts; a SimdedupError if another copy is in its place."""
    written = output / COPIES_FILE
    before = json.loads(written.read_text(encoding="utf-8")) if written.exists() else {}
    for kept_name, made_of in copies.items():
        if before.get(kept_name, made_of) != made_of:
            other = f"is a copy of {before[kept_name][0]}, and not of {made_of[0]} by these verdicts"
            raise SimdedupError(f"{output / kept_name} {other}; name another -o")
    with whole_file(written) as part:
        part.write_text(json.dumps(before | copies), encoding="utf-8")


def verdict_tables_in(directory: Path) -> list[Path]:
    """The tables of verdicts in a directory."""
    tables = sorted(directory.glob("verdicts-*.parquet"))
    if not tables or (directory / WORK).exists():
        raise SimdedupError(f"{directory} has no verdicts on all pages; run batch judge to its end first")
    return tables


def keep_file(watch: Watch, name: str, path: Path, reading: Reading, dropped: Path) -> int:  # noqa: ARG001
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


def superseded_pages(
    verdicts: Sequence[Path], prints: Sequence[Path], settings: DedupSettings
) -> Iterator[DroppedPage]:
    """The superseded pages that an archive can do without, by its verdicts and fingerprints under these settings."""
    arrow = package_of("batch", "pyarrow")
    of_page = PageSettings(settings)
    with connect() as db:
        db.execute(f"CREATE VIEW judged AS FROM {sql_rows(verdicts)}")
        db.execute(f"CREATE VIEW prints AS FROM {sql_rows(prints)}")
        db.execute("CREATE VIEW kept AS SELECT site, url, time, file, position FROM judged WHERE NOT is_duplicate")
        better = db.execute("""
            SELECT kept.file, kept.position, judged.file, judged.position FROM judged
            ASOF JOIN kept ON judged.site = kept.site AND judged.supersedes = kept.url AND judged.time >= kept.time
        """).fetchall()
        lines = _ends({(file, position): (by, at) for file, position, by, at in better})
        names, types = ("file", "position", "last_file", "last_position"), 2 * [arrow.string(), arrow.int64()]
        entries = [dict(zip(names, (*page, *last), strict=True)) for page, last in lines.items()]
        schema = arrow.schema(list(zip(names, types, strict=True)))
        db.register("lines", arrow.Table.from_pylist(entries, schema=schema))
        found = db.execute("""
            WITH members AS (
                SELECT file, position, last_file, last_position, file AS its_file, position AS its_position FROM lines
                UNION ALL
                SELECT lines.*, judged.file, judged.position FROM judged
                ASOF JOIN kept ON judged.site = kept.site AND judged.original = kept.url AND judged.time >= kept.time
                JOIN lines ON lines.file = kept.file AND lines.position = kept.position
                WHERE judged.is_duplicate
            )
            SELECT members.file, members.position, one.fingerprint, one.units, other.fingerprint, other.units,
                other.url, members.its_file = members.file AND members.its_position = members.position
            FROM members
            LEFT JOIN prints AS one ON one.file = members.its_file AND one.position = members.its_position
            LEFT JOIN prints AS other
                ON other.file = members.last_file AND other.position = members.last_position
            ORDER BY members.file, members.position
        """)
        read = chain.from_iterable(iter(lambda: found.fetchmany(ROWS_PER_READ), []))
        for (file, position), rows in groupby(read, key=lambda row: row[:2]):
            found_alike: list[tuple[Comparison | None, str, bool]] = [
                (_copy_of((raw, units), last, of_page.of(url or "")), url, is_page)
                for _, _, raw, units, *last, url, is_page in rows
            ]
            for comparison, url, is_page in found_alike:
                if is_page and comparison is not None and all(alike for alike, *_ in found_alike):
                    yield DroppedPage(file, position, comparison.kind, url, comparison.similarity)


def _ends(better: dict[Entry, Entry]) -> dict[Entry, Entry]:
    """For each superseded page the last of its line; none where pages of one time took turns."""
    ends: dict[Entry, Entry] = {}
    for page, by in better.items():
        seen, last = {page}, by
        while last in better and last not in seen:
            seen.add(last)
            last = better[last]
        if last not in seen:
            ends[page] = last
    return ends


def _copy_of(page: Sequence[bytes | None], last: Sequence[bytes | None], settings: DedupSettings) -> Comparison | None:
    """How a page resembles the last of a line; None if it would not be dropped for that.

    Of each there are the fingerprint and the text units, as far as these are known.
    """
    if page[0] is None or last[0] is None:
        return None
    try:
        found = fingerprint_of(page[0], page[1]).compare(
            fingerprint_of(last[0], last[1]),
            identical=settings.identical,
            near=settings.near,
            novel_words=settings.novel_words,
        )
    except FingerprintMismatch:
        return None
    return found if found.kind == "identical" or (found.kind == "near" and settings.drop == "near") else None
