"""Tables of the fingerprints of files, and the secret that lies beside them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from scrapy_simdedup.batch.archives import Making, fingerprints
from scrapy_simdedup.batch.files import Reading, output_names, read_pages, whole_file
from scrapy_simdedup.batch.tables import TableWriter, fingerprints_schema, package_of, read_metadata
from scrapy_simdedup.batch.workers import Jobs, PageWatch
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.settings import DedupSettings

KEY_FILE = "secret"
"""The file beside fingerprints that has the secret under their hashes."""


def secret_of(directory: Path, settings: DedupSettings, *, make: bytes = b"") -> bytes:
    """The secret of the fingerprints in a directory: a given one, or that kept beside them, if need be as ``make``."""
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
    output.mkdir(parents=True, exist_ok=True)
    secret = secret_of(output, settings, make=secret_in(history) or os.urandom(16))
    making = Making.by(settings, secret)
    if history is not None:
        check_history(history, making, secret)
    jobs = []
    for number, (name, output_name) in enumerate(output_names(inputs).items()):
        path = output / f"{output_name}.parquet"
        if path.exists():
            making_of(path).check(making, str(path))
            yield name, package_of("batch", "pyarrow.parquet").read_metadata(path).num_rows, []
        else:
            jobs.append((name, (name, number, path)))
    if jobs:
        work = partial(fingerprint_file, reading=reading, settings=settings, secret=secret)
        for name, (pages, damages) in Jobs(work, jobs, processes, settings.worker_timeout):
            yield name, pages, damages


def fingerprint_file(
    watch: PageWatch, name: str, number: int, path: Path, *, reading: Reading, settings: DedupSettings, secret: bytes
) -> tuple[int, list[str]]:
    """Make the fingerprints of one file; the table is there once it is complete."""
    damages: list[str] = []
    pages = 0
    with whole_file(path) as part:
        writer = TableWriter(str(part), fingerprints_schema(), asdict(Making.by(settings, secret)))
        for batch in fingerprints(read_pages(name, number, reading, damages), settings, secret, watch):
            writer.add_batch(batch)
            pages += batch.num_rows
        writer.close()
    return pages, damages


def making_of(path: Path) -> Making:
    """How the fingerprints of a table were made."""
    about = read_metadata(path, "table of fingerprints")
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
    secret = str(read_metadata(Path(history), "table of records").get("secret", ""))
    return bytes.fromhex(secret.removeprefix("own:")) if secret.startswith("own:") else None


def check_history(history: str, making: Making, secret: bytes) -> None:
    """Check that fingerprints that are made now can be compared with a table of records."""
    about = read_metadata(Path(history), "table of records")
    if about.get("fingerprint") != making.fingerprint:
        theirs = about.get("fingerprint") or "nobody knows what"
        raise SimdedupError(f"{history} has fingerprints of {theirs}, and these settings make {making.fingerprint}")
    if about.get("secret") not in {f"given:{making.secret}", f"own:{secret.hex()}"}:
        raise SimdedupError(f"{history} was made under another secret; name it where the fingerprints are made, too")
