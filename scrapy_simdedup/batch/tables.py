"""The tables of archives, as Arrow and Parquet have them: pages, their text units, fingerprints and verdicts."""

from __future__ import annotations

import json
import re
import shutil
import struct
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.detect.own_text import asked_word_by_word, title_words_in
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.fingerprint.features import BOILERPLATE
from scrapy_simdedup.fingerprint.hashing import Rows
from scrapy_simdedup.fingerprint.text_units import (
    COMMENTS_PLACE,
    FILTER_SALT,
    MAX_SAMPLING,
    SAMPLING_BITS,
    PageUnits,
    Places,
    is_sampled,
    place_behind,
)
from scrapy_simdedup.page import amounts

EXTRAS = {
    "parquet": "read and write Parquet",
    "warc": "read archives",
    "zstd": "read and write .zst files",
    "batch": "judge archives, and open files of other file systems",
    "spark": "judge archives on a cluster",
}
"""What the extras are needed for."""
METADATA = b"simdedup"
"""The name of the metadata of a table that says how its fingerprints were made, as JSON."""
ROWS_PER_BATCH = 2_048
ROWS_PER_GROUP = 65_536
MAX_KNOWN_TEXTS = 10_000
"""Texts whose kinds are remembered: pages of one template share many."""
PAGE_COLUMNS = ("site", "time", "url", "key", "size", "file", "position")
"""The columns that say of which page a verdict is."""
VERDICT_COLUMNS = (
    *("kind", "is_duplicate", "original", "original_key", "similarity", "distance", "reason", "own_words"),
    *("supersedes", "original_first_seen", "original_run"),
)
"""The columns of a table of verdicts that are fields of a verdict."""
_TYPES = {
    **dict.fromkeys(("time", "similarity", "original_first_seen"), "float64"),
    **dict.fromkeys(("size", "position"), "int64"),
    **dict.fromkeys(("distance", "own_words"), "int32"),
    **dict.fromkeys(("key", "fingerprint", "units", "record", "original_key"), "binary"),
    "is_duplicate": "bool",
}
"""The types of the columns that hold no texts."""


class DamagedFile(SimdedupError):
    """A file cannot be read to its end."""


def package_of(extra: str, module: str) -> Any:
    """A module of the package that an extra of ours brings."""
    try:
        return import_module(module)
    except ImportError as exc:
        raise SimdedupError(f"to {EXTRAS[extra]}, pip install scrapy-simdedup[{extra}]") from exc


def _schema(columns: Iterable[str]) -> Any:
    arrow = package_of("batch", "pyarrow")
    return arrow.schema([(name, arrow.type_for_alias(_TYPES.get(name, "string"))) for name in columns])


@cache
def pages_schema() -> Any:
    """The schema of a table of pages.

    ``time`` is in seconds since the epoch, ``file`` and ``position`` say which entry of which file a page is, and
    ``unjudged`` why it is not to be judged.
    """
    return _schema(("url", "html", "unjudged", "file", "time", "position"))


@cache
def fingerprints_schema() -> Any:
    """The schema of a table of fingerprints: of pages, and of a history where ``record`` is not null.

    ``units`` has the text units of the page, where own texts or edits matter, and then the fingerprint is without what
    a record keeps of them; ``size`` is the page's bytes in UTF-8.
    """
    of_page = ("site", "time", "url", "key", "canonical")
    return _schema((*of_page, "fingerprint", "units", "unjudged", "size", "file", "position", "record"))


@cache
def verdicts_schema() -> Any:
    """The schema of a table of verdicts: the page, and the fields of its :class:`~scrapy_simdedup.Verdict`."""
    return _schema((*PAGE_COLUMNS, *VERDICT_COLUMNS))


def batch_of(rows: Iterable[tuple[Any, ...]], schema: Any) -> Any:
    """The record batch of one row or more."""
    arrow = package_of("parquet", "pyarrow")
    columns = zip(zip(*rows, strict=True), schema, strict=True)
    return arrow.record_batch([arrow.array(column, field.type) for column, field in columns], schema=schema)


class TableWriter:
    """Writes rows to a Parquet file, complete once it is closed, with :data:`METADATA` of what it says about itself."""

    def __init__(self, file: IO[bytes] | str, schema: Any, metadata: Mapping[str, Any] | None = None) -> None:
        parquet = package_of("parquet", "pyarrow.parquet")
        about = {METADATA: json.dumps(dict(metadata))} if metadata is not None else {}
        self._schema = schema.with_metadata(about)
        self._writer = parquet.ParquetWriter(file, self._schema, compression="zstd")
        self._rows: list[tuple[Any, ...]] = []
        self._batches: list[Any] = []

    def add_row(self, row: tuple[Any, ...]) -> None:
        """Write a row."""
        self._rows.append(row)
        if len(self._rows) >= ROWS_PER_GROUP:
            self._write_rows()

    def add_batch(self, batch: Any) -> None:
        """Write a record batch, together with some others.

        Of these the rows of a site stand together: what its pages have in common is then found by zstd.
        """
        self._write_rows()
        self._batches.append(batch.cast(self._schema) if batch.schema != self._schema else batch)
        if sum(one.num_rows for one in self._batches) >= ROWS_PER_BATCH:
            self._write_batches()

    def close(self) -> None:
        """Write what is left, and the end of the table."""
        self._write_rows()
        self._write_batches()
        self._writer.close()

    def _write_batches(self) -> None:
        if self._batches:
            table = package_of("parquet", "pyarrow").Table.from_batches(self._batches)
            self._writer.write_table(table.sort_by("site"))
            self._batches = []

    def _write_rows(self) -> None:
        if self._rows:
            self._writer.write_batch(batch_of(self._rows, self._schema))
            self._rows = []


@contextmanager
def open_table(file: IO[bytes]) -> Iterator[Any]:
    """A Parquet file as pyarrow reads it; what has no seekable end, such as a pipe, goes to the disk first."""
    arrow, parquet = package_of("parquet", "pyarrow"), package_of("parquet", "pyarrow.parquet")
    with tempfile.TemporaryFile() as unpacked:
        if not file.seekable() or hasattr(file, "fileobj"):  # the end of a table is read first
            shutil.copyfileobj(file, unpacked)
            file = unpacked
        try:
            with parquet.ParquetFile(file) as table:
                yield table
        except arrow.ArrowException as exc:
            raise DamagedFile(f"the table cannot be read: {exc}") from exc


def metadata_of(schema: Any) -> dict[str, Any]:
    """What a table says about itself; nothing if it is none of ours."""
    return dict(json.loads((schema.metadata or {}).get(METADATA, "{}")))


def read_metadata(path: Path, what: str) -> dict[str, Any]:
    """What the table in a file says about itself; ``what`` it has to be, such as a table of records."""
    arrow, parquet = package_of("batch", "pyarrow"), package_of("batch", "pyarrow.parquet")
    try:
        return metadata_of(parquet.read_schema(path))
    except (OSError, arrow.ArrowException) as exc:
        raise SimdedupError(f"{path} is no {what}: {exc}") from exc


def connect(**settings: object) -> Any:
    """A connection to DuckDB, without a bar of progress of its own."""
    db = package_of("batch", "duckdb").connect(config=settings)
    db.execute("SET enable_progress_bar = false")
    return db


def count_rows(path: Path) -> int:
    """The rows of a table."""
    return int(package_of("batch", "pyarrow.parquet").read_metadata(path).num_rows)


def sql_rows(paths: Iterable[Path]) -> str:
    """The rows of tables as a source of SQL.

    DuckDB would take some signs of a path for a pattern, and a directory ``site=a`` for a column of all rows.
    """
    names = ", ".join(sql_text(re.sub(r"([*?\[])", r"[\1]", str(path))) for path in paths)
    return f"read_parquet([{names}], union_by_name = true, hive_partitioning = false)"


def sql_text(path: Path | str) -> str:
    """A path as a text of SQL."""
    return "'" + str(path).replace("'", "''") + "'"


_HEAD = struct.Struct("<B3I2H?")
"""Words per shingle, blocks, the digest of the comments, the block of the headline, the digests of the title and of the
offer, and whether the page asks not to be listed."""
_LARGE = 0xFF
"""What stands for a number that takes more than a byte."""
_PASSED_OVER, _COMMENT = np.uint8(0x80), np.uint8(0x40)
"""The bits of a block's class that say that it is no unit, and that it is a comment."""
_SALT_BITS, _PLACE_BITS, _PLACE = np.uint64(48), np.uint64(32), np.uint64(0xFFFF)
_UNSALT = np.uint64(pow(int(FILTER_SALT), -1, 1 << 64))
_UNSAMPLED = np.uint64((0xFFFF << 48) * int(_UNSALT) % (1 << 64))
"""The hash of a shingle that is in no sample."""
_SAMPLES = "", "x", "0", "0 $", "0 x", "0 x $", "0 x %", "x0", "x0 $", "x0 %", "kr0", f"0 {'x' * amounts.MAX_LENGTH}"
"""Texts of each kind: neither of what follows, a name, an amount, a price, a counter, a name with a price or a share;
the names with a number again, with one that is part of a name; a price in one word; and a long text with a number."""
_KIND_BITS, _IS_LONG = 4, amounts.MAX_LETTERED_WORDS + 1
"""The bits of a kind, before those of the words with a letter; and what stands there for a long text."""
_STEPS = 1 << SAMPLING_BITS - 1
"""Samplings between one power of two and the next."""
_NUMBERS = np.unique([step << power for power in range(16) for step in range(2 * _STEPS) if step << power < 1 << 16])
_NUMBERS = _NUMBERS.astype(np.uint64)
"""The numbers that a sampling can be, in their order: hashes between one and the next are in the same samples."""


def pack_units(units: PageUnits, url: str = "") -> bytes:
    """The units of the page at a URL in a third of their bytes, for tables that are sorted and sent about.

    They are not compressed: tables are, and of several pages of a site most units are the same.

    A judge asks three things of them: which of the sampled shingles other pages lack, what the unit table of an earlier
    version would be, and which places are clocks. So nothing is kept of a shingle that no sample can have; of one that
    a sample can have, in which samples it is, and 16 bits for its place in a filter; and of the text of a unit what
    makes it an amount, a counter or a name, and how many of its words have a letter. Only what is compared with URLs
    is kept as it is. Nobody asks for the order of the shingles of a unit.
    """
    blocks = np.repeat(np.arange(len(units.lengths)), units.lengths)
    is_asked = ~units.pass_over | units.in_table
    sampled = (is_asked[blocks] & is_sampled(units.hashes, MAX_SAMPLING)).nonzero()[0]
    salted, blocks = units.hashes[sampled] * FILTER_SALT, blocks[sampled]
    levels = (np.searchsorted(_NUMBERS, salted >> _SALT_BITS, side="right") - 1).astype(np.uint8)
    order = np.lexsort((levels, blocks))
    counts = np.bincount(blocks, minlength=len(units.lengths))
    is_content = units.block_classes > BOILERPLATE
    kinds = [_packed_kind(units.samples[at]) for at in is_content.nonzero()[0].tolist()]
    arrays = (
        *_small(units.lengths),
        *_small(counts),
        units.block_classes | units.pass_over * _PASSED_OVER | units.in_comments * _COMMENT,
        _steps(levels[order], counts),
        np.array(kinds, "<u2"),
        units.digests[is_content].astype("<u4"),
        units.digests[~is_content].astype("<u2"),
        *_by_path(units.places[is_content]),
        (salted[order] >> _PLACE_BITS & _PLACE).astype("<u2"),
    )
    of_page = units.comments, units.headline, units.title, units.offer, units.is_unlisted
    head = _HEAD.pack(units.size, len(units.lengths), *of_page)
    known: list[list[Any]] = [[at, units.samples[at]] for at in asked_word_by_word(units, url)]
    if named := title_words_in(units, [at for at, _ in known]):
        known.append([len(units.lengths), named])
    as_json = json.dumps(known, ensure_ascii=False, separators=(",", ":")) if known else ""
    return b"".join((head, *(array.tobytes() for array in arrays), as_json.encode("utf-8", "surrogatepass")))


def unpack_units(raw: bytes) -> PageUnits:
    """The units from the bytes of :func:`pack_units`, equal in all that a judge asks of them."""
    size, count, comments, headline, title, offer, is_unlisted = _HEAD.unpack_from(raw)
    at = _HEAD.size

    def take(dtype: str, number: int) -> Any:
        nonlocal at
        found = np.frombuffer(raw, dtype, number, at)
        at += found.nbytes
        return found

    def take_small() -> Rows:
        found: Rows = take("u1", count).astype(np.intp)
        is_large = found == _LARGE
        found[is_large] = take("<u4", int(np.count_nonzero(is_large)))
        return found

    lengths, sampled, marks = take_small(), take_small(), take("u1", count)
    pass_over, classes = marks & _PASSED_OVER > 0, marks & (_COMMENT - 1)
    is_content, shingles = classes > BOILERPLATE, int(sampled.sum())
    number = int(np.count_nonzero(is_content))
    levels, kinds = _sums(take("u1", shingles), sampled), np.zeros(count, np.intp)
    kinds[is_content] = take("<u2", number)
    digests, places = np.zeros(count, np.uint64), np.where(marks & _COMMENT, COMMENTS_PLACE, 0).astype(np.uint32)
    digests[is_content], digests[~is_content] = take("<u4", number), take("<u2", count - number)
    paths = take("u1", number)
    places[is_content] = _places_of(paths.tolist(), take("<u4", number - int(np.count_nonzero(paths))).tolist())
    of_filter = take("<u2", shingles).astype(np.uint64)
    starts = np.cumsum(lengths) - lengths
    hashes = np.full(int(lengths.sum()), _UNSAMPLED)
    in_block = np.arange(shingles) - np.repeat(np.cumsum(sampled) - sampled, sampled)
    salted = _NUMBERS[levels] << _SALT_BITS | of_filter << _PLACE_BITS
    hashes[np.repeat(starts, sampled) + in_block] = salted * _UNSALT
    samples = [_sample(kind) for kind in kinds.tolist()]
    samples.append("")  # and the words of the title behind them
    for number, text in json.loads(raw[at:].decode("utf-8", "surrogatepass") or "[]"):
        samples[number] = text
    of_page = comments, title, offer, headline, samples.pop(), is_unlisted
    return PageUnits(hashes, starts, lengths, digests, places, classes, pass_over, samples, size, *of_page)


def _small(numbers: Rows) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """Numbers of a byte each, and the larger ones behind them."""
    return np.minimum(numbers, _LARGE).astype(np.uint8), numbers[numbers >= _LARGE].astype("<u4")


def _steps(levels: NDArray[np.uint8], counts: Rows) -> NDArray[np.uint8]:
    """By how much each of the sorted levels of a block is greater than the one before it."""
    steps, first = np.diff(levels, prepend=np.uint8(0)), (np.cumsum(counts) - counts)[counts > 0]
    steps[first] = levels[first]
    return steps


def _sums(steps: NDArray[np.uint8], counts: Rows) -> Rows:
    """The levels whose steps these are."""
    sums, first = np.cumsum(steps, dtype=np.intp), (np.cumsum(counts) - counts)[counts > 0]
    levels: Rows = sums - np.repeat(sums[first] - steps[first], counts[counts > 0])
    return levels


def _by_path(places: Places) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """For each place the number of the one that it stands behind with the same tags, or 0; and those places."""
    numbers, firsts = [], list[int]()
    behind: dict[int, tuple[int, int]] = {}
    for place in places.tolist():
        number, which = behind.pop(place, (0, 0))
        if not number:
            firsts.append(place)
        numbers.append(number)
        number = number or len(firsts)
        if number <= _LARGE:
            behind[place_behind(firsts[number - 1], which + 1)] = number, which + 1
    return np.array(numbers, np.uint8), np.array(firsts, "<u4")


def _places_of(numbers: list[int], firsts: list[int]) -> list[int]:
    """The places that :func:`_by_path` has told apart."""
    places, rest, counts = [], iter(firsts), [0] * (len(firsts) + 1)
    for number in numbers:
        counts[number] += number > 0
        places.append(place_behind(firsts[number - 1], counts[number]) if number else next(rest))
    return places


def _kind(text: str) -> tuple[bool, ...]:
    """What is asked of the text of a unit, besides the number of its words."""
    asked = amounts.is_name, amounts.is_amount, amounts.is_sum, amounts.is_counter, amounts.has_plain_number
    return tuple(ask(text) for ask in asked)


@lru_cache(MAX_KNOWN_TEXTS)
def _packed_kind(text: str) -> int:
    words = amounts.lettered_words(text) if amounts.is_short(text) else _IS_LONG
    return _KINDS.get(_kind(text), 0) | words << _KIND_BITS


@cache
def _sample(packed: int) -> str:
    """A text of a kind with so many words that have a letter; those of what is no name are currencies."""
    text, words = _SAMPLES[packed & (1 << _KIND_BITS) - 1], packed >> _KIND_BITS
    if words == _IS_LONG:
        return text if len(text) > amounts.MAX_LENGTH else "x" * (amounts.MAX_LENGTH + 1)
    if "x" in text:
        return text.replace("x", " ".join(["x"] * words))
    return " ".join([text, *["kr"] * (words - amounts.lettered_words(text))])


_KINDS = {_kind(text): number for number, text in enumerate(_SAMPLES)}
