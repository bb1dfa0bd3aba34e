"""Tables of records: the history with which an archive is judged, and a store for those who read reports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.batch.archives import Making, history_row
from scrapy_simdedup.batch.files import whole_file
from scrapy_simdedup.batch.tables import (
    RECORD_COLUMNS,
    TableWriter,
    fingerprints_schema,
    metadata_of,
    open_table,
    package_of,
    read_records,
)
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.store.base import LogPart, Record, Tail
from scrapy_simdedup.store.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy_simdedup.batch.workers import PageWatch


def secret_in(history: str | None) -> bytes | None:
    """The secret that a table of records tells; None where it was given to its store, and is not there."""
    secret = str(_about(Path(history)).get("secret", "")) if history is not None else ""
    return bytes.fromhex(secret.removeprefix("own:")) if secret.startswith("own:") else None


def _about(path: Path) -> dict[str, Any]:
    arrow, parquet = package_of("batch", "pyarrow"), package_of("batch", "pyarrow.parquet")
    try:
        return metadata_of(parquet.read_schema(path)) or {}
    except arrow.ArrowException as exc:
        raise SimdedupError(f"{path} is no table of records: {exc}") from exc


def check_history(path: Path, making: Making, secret: bytes) -> None:
    """Check that fingerprints that are made now can be compared with a table of records.

    Raises:
        SimdedupError: they cannot, or it is no table of records.
    """
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
    with Path(name).open("rb") as file, open_table(file) as table, whole_file(path) as part:
        writer = TableWriter(str(part), schema)
        for number, (site, record) in enumerate(read_records(table, refuse)):
            row = history_row(site, record, number)
            writer.add_row(tuple(map(row.get, schema.names)))
        writer.close()


class RecordTables(MemoryStore):
    """Tables of records as a store that reports read; nothing is written to it, and one site at a time is held."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._tables = sorted(directory.glob("records-*.parquet"))

    async def read(self, site: str, after: int = 0) -> Tail:
        """All records of a site."""
        parquet, found = package_of("batch", "pyarrow.parquet"), list[Record]()
        for path in self._tables:
            rows = parquet.read_table(path, filters=[("site", "=", site)]).to_pylist()
            found += [Record(*(row[name] for name in RECORD_COLUMNS[1:])) for row in rows if row["journal"] is None]
        found = LogPart(site, 0, found).numbered()
        return Tail(tuple(found[after:]), len(found))

    async def records(self) -> AsyncIterator[tuple[str, Record]]:
        """All records, site by site."""
        for path in self._tables:
            with path.open("rb") as file, open_table(file) as table:
                for number, (site, known) in enumerate(read_records(table, lambda *_: None), 1):
                    if isinstance(known, Record):
                        yield site, replace(known, id=number, position=number)
