"""Files that actions read and write; a name that ends with .gz is compressed."""

from __future__ import annotations

import gzip
import sys
import zlib
from argparse import ArgumentTypeError
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from scrapy_simdedup.errors import SimdedupError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def writing(name: str | None, *, compress: bool = True) -> Iterator[IO[bytes]]:
    """A file to write to, or stdout for None and ``-``; it takes its place only when it is complete.

    Args:
        name: its path.
        compress: whether one that ends with .gz is compressed here.
    """
    if name is None or name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(name)
    part = path.with_name(path.name + ".part")
    try:
        with gzip.open(part, "wb") if compress and path.suffix == ".gz" else part.open("wb") as file:
            yield cast("IO[bytes]", file)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def reading(name: str) -> Iterator[IO[bytes]]:
    """A file to read from, or stdin for ``-``.

    Raises:
        OSError: it cannot be read.
        SimdedupError: it is compressed, and damaged or cut.
    """
    if name == "-":
        yield sys.stdin.buffer
        return
    try:
        with gzip.open(name, "rb") if name.endswith(".gz") else Path(name).open("rb") as file:
            yield cast("IO[bytes]", file)
    except (EOFError, zlib.error) as exc:
        raise SimdedupError(f"{name} cannot be read to its end: {exc}") from exc


def document(name: str) -> str:
    """What an option means that names a document."""
    if not name.endswith((".html", ".json")):
        raise ArgumentTypeError("give a path that ends with .html or .json")
    return name
