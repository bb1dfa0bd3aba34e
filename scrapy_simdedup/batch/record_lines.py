"""Records as JSON lines, which any other program can read."""

from __future__ import annotations

import json
import math
from base64 import b64decode, b64encode
from dataclasses import asdict
from typing import IO, TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from scrapy_simdedup.batch.tables import checked_note
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.store.base import Record, SiteNote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EXPORT_VERSION = 1
"""Version of the format of the lines."""
SHARED_METADATA = ("fingerprint", "secret")
"""Metadata that stores must agree on to share records; the first line of an export has it."""
BASE64_FIELDS = ("key", "fingerprint", "original")
LOG_FIELDS = ("id", "position")
"""Fields that a record gets from the log it is appended to; they are not exported."""
MAX_INT = 2**31 - 1
"""The greatest number that every store can keep."""
MAX_FIELD_BYTES = 2**16 - 1
"""Bytes of a key or a fingerprint that every store can keep."""
_HINTS = {"site": str, **get_type_hints(Record)}


class LinesOfRecords:
    """Writes an export as JSON lines."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def begin(self, metadata: dict[str, Any]) -> None:
        """Write what the export says about itself."""
        self._file.write(json.dumps(metadata).encode() + b"\n")

    def add(self, site: str, known: Record | SiteNote) -> None:
        """Write a record, or a note of the site."""
        self._file.write(to_line(site, known))

    def close(self) -> None:
        """There is nothing behind the last line."""


def to_line(site: str, known: Record | SiteNote) -> bytes:
    """A site and its record, or a note of it, as one line of an export."""
    if isinstance(known, SiteNote):
        note = {"site": site, "journal": known.journal, "note": b64encode(known.value).decode()}
        return json.dumps(note, separators=(",", ":")).encode() + b"\n"
    values = asdict(known)
    for name in LOG_FIELDS:
        del values[name]
    for name in BASE64_FIELDS:
        values[name] = None if values[name] is None else b64encode(values[name]).decode()
    return json.dumps({"site": site, **values}, separators=(",", ":")).encode() + b"\n"


def read_header(line: bytes) -> dict[str, str]:
    """The metadata in the first line of an export, which stores must agree on.

    Raises:
        SimdedupError: the line is not that of an export of this version.
    """
    try:
        return read_metadata(json.loads(line))
    except (ValueError, RecursionError, SimdedupError):
        problem = f"the first line is not that of an export of version {EXPORT_VERSION}: {_start_of(line)}"
        raise SimdedupError(problem) from None


def read_metadata(found: Any) -> dict[str, str]:
    """The metadata of an export, which stores must agree on.

    Raises:
        SimdedupError: it is not that of an export of this version.
    """
    try:
        if found["simdedup"] == EXPORT_VERSION:
            return {name: str(found[name]) for name in SHARED_METADATA}
    except (TypeError, KeyError):
        pass
    raise SimdedupError(f"the table is none of an export of version {EXPORT_VERSION}")


def read_lines(file: IO[bytes], refuse: Callable[[int, str], None]) -> Iterator[tuple[str, Record | SiteNote]]:
    """The records of an export behind its first line, in no log yet, and the notes of its sites.

    Args:
        file: the file, whose first line was read.
        refuse: called with the number of a line that is no record, and the reason.
    """
    for number, line in enumerate(file, start=2):
        try:
            yield from_line(line)
        except SimdedupError as exc:  # noqa: PERF203 - each line may be wrong by itself
            refuse(number, str(exc))


def from_line(line: bytes) -> tuple[str, Record | SiteNote]:
    """The site and the record in a line of an export, which is in no log yet, or the site and a note of it.

    Raises:
        SimdedupError: the line is none of an export.
    """
    try:
        values: dict[str, Any] = json.loads(line)
        if "journal" in values:
            return str(values["site"]), checked_note(values["journal"], b64decode(values["note"], validate=True))
        for name in BASE64_FIELDS:
            values[name] = None if values[name] is None else b64decode(values[name], validate=True)
        unfit = next((name for name, value in values.items() if not _fits(value, _HINTS[name])), None)
        if unfit:
            raise SimdedupError(f"{unfit} cannot be {values[unfit]!r:.60} in a record")
        site, record = values.pop("site"), Record(**values)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as exc:
        raise SimdedupError(f"this line is no record: {_start_of(line)}") from exc
    PageFingerprint.from_bytes(record.fingerprint)  # a site that had another in its log could not be judged
    return site, record


def _fits(value: object, hint: Any) -> bool:
    """Whether a value is of the type that a field of a record has, and every store can keep it."""
    types = get_args(hint) or (hint,)
    if get_origin(hint) is Literal:
        return value in types
    if float in types and isinstance(value, int | float):
        return math.isfinite(value)
    if isinstance(value, bytes):
        return len(value) <= MAX_FIELD_BYTES
    return isinstance(value, types) and (not isinstance(value, int) or 0 <= value <= MAX_INT)


def _start_of(line: bytes) -> str:
    return repr(line[:60].decode("utf-8", "replace"))
