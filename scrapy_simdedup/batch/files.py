"""Files that are read and written: packed ones, standard streams, and those of other file systems."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any, Literal, cast

from scrapy_simdedup.batch.tables import package_of
from scrapy_simdedup.errors import SimdedupError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def open_output(name: str | None, *, compress: bool = True) -> Iterator[IO[bytes]]:
    """A file to write to, or stdout for None and ``-``; it takes its place when complete, packed for .gz and .zst."""
    if name is None or name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with whole_file(name) as part, _open_packed(part, "wb", Path(name).suffix if compress else "") as file:
        yield file


@contextmanager
def whole_file(name: str | Path) -> Iterator[Path]:
    """A path to write to; the file takes its place when all of it is written, on another file system by fsspec."""
    if "://" in str(name):
        with TemporaryDirectory() as directory:
            yield Path(directory) / "part"
            system, path = _fsspec().core.url_to_fs(str(name))
            system.put_file(str(Path(directory) / "part"), path)
        return
    path = Path(name)
    part = path.with_name(path.name + ".part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def open_input(name: str) -> Iterator[IO[bytes]]:
    """A file to read from, or stdin for ``-``; one whose name ends with .gz or .zst is unpacked.

    A name such as ``s3://bucket/file`` is opened by fsspec, which needs a package for each other file system.

    Raises:
        OSError: the file cannot be read.
        SimdedupError: the file is compressed, and damaged or cut, or no package that unpacks it is installed.
    """
    if name == "-":
        yield sys.stdin.buffer
        return
    if "://" in name:
        with _fsspec().open(name, "rb", compression="infer") as file:
            yield file
        return
    try:
        with _open_packed(Path(name), "rb", Path(name).suffix) as file:
            yield file
    except (EOFError, zlib.error) as exc:
        raise SimdedupError(f"{name} cannot be read to its end: {exc}") from exc


class _Unpacked(io.BufferedReader):
    """What a compressed file holds; ``fileobj`` is the file itself, as that of ``gzip.GzipFile`` is."""

    fileobj: IO[bytes]


@contextmanager
def _open_packed(path: Path, mode: Literal["rb", "wb"], suffix: str) -> Iterator[IO[bytes]]:
    """An open file, packed or unpacked as its suffix says."""
    if suffix == ".gz":
        with gzip.open(path, mode) as packed:
            yield cast("IO[bytes]", packed)
    elif suffix == ".zst":
        zstandard = package_of("zstd", "zstandard")
        with path.open(mode) as file:
            try:
                if mode == "wb":
                    with zstandard.ZstdCompressor().stream_writer(file, closefd=False) as packer:
                        yield packer
                else:
                    stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
                    with _Unpacked(stream) as unpacked:
                        unpacked.fileobj = cast("IO[bytes]", file)
                        yield cast("IO[bytes]", unpacked)
            except zstandard.ZstdError as exc:
                raise SimdedupError(f"{path.name} cannot be read to its end: {exc}") from exc
    else:
        with path.open(mode) as file:
            yield cast("IO[bytes]", file)


def _fsspec() -> Any:
    return package_of("batch", "fsspec")
