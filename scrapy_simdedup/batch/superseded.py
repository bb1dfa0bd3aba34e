"""Pages whose places better copies took (``SIMDEDUP_PREFER``), and which of them an archive can do without.

A crawl has delivered such a page before the better copy came. An archive can leave it out, if nothing is lost: if it,
and each page that was dropped for it, is a copy of the last page of its line, which is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.batch.archives import fingerprint_of
from scrapy_simdedup.batch.tables import package_of, sql_list
from scrapy_simdedup.detect.page_settings import PageSettings
from scrapy_simdedup.errors import FingerprintMismatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from scrapy_simdedup.fingerprint.fingerprint import Comparison
    from scrapy_simdedup.settings import DedupSettings

    Entry = tuple[str, int]
    """A file of an archive, and the position of an entry in it."""

ROWS_PER_READ = 1_000
"""Rows with two fingerprints that are held at a time."""


@dataclass(frozen=True, slots=True)
class SupersededPage:
    """A page that is not needed."""

    file: str
    position: int
    kind: str
    original: str
    """The URL of the last page of its line."""
    similarity: float


def superseded_pages(
    verdicts: Sequence[Path], prints: Sequence[Path], settings: DedupSettings
) -> Iterator[SupersededPage]:
    """The superseded pages that an archive can do without.

    Args:
        verdicts: the tables of the verdicts.
        prints: the tables of the fingerprints.
        settings: the settings under which the pages were judged.
    """
    duckdb, arrow = package_of("batch", "duckdb"), package_of("batch", "pyarrow")
    of_page = PageSettings(settings)
    with duckdb.connect() as db:
        db.execute("SET enable_progress_bar = false")
        db.execute(f"CREATE VIEW judged AS FROM read_parquet({sql_list(verdicts)})")
        db.execute(f"CREATE VIEW prints AS FROM read_parquet({sql_list(prints)})")
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
            SELECT members.file, members.position, one.fingerprint, one.units, other.fingerprint, other.url,
                members.its_file = members.file AND members.its_position = members.position
            FROM members
            LEFT JOIN prints AS one ON one.file = members.its_file AND one.position = members.its_position
            LEFT JOIN prints AS other
                ON other.file = members.last_file AND other.position = members.last_position
            ORDER BY members.file, members.position
        """)
        for (file, position), rows in groupby(_rows(found), key=lambda row: row[:2]):
            found_alike: list[tuple[Comparison | None, str, bool]] = [
                (_copy_of(raw, units, last, of_page.of(url or "")), url, is_page)
                for *_, raw, units, last, url, is_page in rows
            ]
            for comparison, url, is_page in found_alike:
                if is_page and comparison is not None and all(alike for alike, *_ in found_alike):
                    yield SupersededPage(file, position, comparison.kind, url, comparison.similarity)


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


def _rows(found: Any) -> Iterator[tuple[Any, ...]]:
    while rows := found.fetchmany(ROWS_PER_READ):
        yield from rows


def _copy_of(raw: bytes | None, units: bytes | None, last: bytes | None, settings: DedupSettings) -> Comparison | None:
    """How a page resembles the last of a line; None if it would not be dropped for that."""
    if raw is None or last is None:
        return None
    try:
        found = fingerprint_of(raw, units).compare(
            fingerprint_of(last, None),
            identical=settings.identical,
            near=settings.near,
            novel_words=settings.novel_words,
        )
    except FingerprintMismatch:
        return None
    return found if found.kind == "identical" or (found.kind == "near" and settings.drop == "near") else None
