"""A record as a line of JSON, and back."""

from __future__ import annotations

import json
import math
from base64 import b64decode, b64encode
from dataclasses import asdict
from typing import Any, Literal, get_args, get_origin, get_type_hints

from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.store.base import Record

VERSION = 1
"""Version of the lines."""
MEMOS = ("fingerprint", "secret")
"""What stores must agree on to share records."""
IN_BASE64 = ("key", "fingerprint", "original")
OF_THE_LOG = ("id", "position")
"""What the log that a record is appended to gives it anew."""
MOST = 2**31 - 1
"""What every store can count up to."""
LONGEST = 2**16 - 1
"""Bytes of a key or a fingerprint that every store can keep."""

_HINTS = {"site": str, **get_type_hints(Record)}


def to_line(site: str, record: Record) -> bytes:
    """A record with its site, with a line break."""
    values = asdict(record)
    for name in OF_THE_LOG:
        del values[name]
    for name in IN_BASE64:
        values[name] = None if values[name] is None else b64encode(values[name]).decode()
    return json.dumps({"site": site, **values}, separators=(",", ":")).encode() + b"\n"


def read_head(line: bytes) -> dict[str, str]:
    """What the first line says that stores must agree on.

    Raises:
        SimdedupError: this is no export.
    """
    try:
        head = json.loads(line)
        if head["simdedup"] == VERSION:
            return {name: str(head[name]) for name in MEMOS}
    except (ValueError, TypeError, KeyError):
        pass
    raise SimdedupError(f"the first line is not that of an export of version {VERSION}: {_shown(line)}")


def from_line(line: bytes) -> tuple[str, Record]:
    """A site and its record, which has no place in a log yet.

    Raises:
        SimdedupError: this is no line of an export.
    """
    try:
        values: dict[str, Any] = json.loads(line)
        for name in IN_BASE64:
            values[name] = None if values[name] is None else b64decode(values[name], validate=True)
        unfit = next((name for name, value in values.items() if not _fits(value, _HINTS[name])), None)
        if unfit:
            raise SimdedupError(f"{unfit} cannot be {values[unfit]!r:.60} in a record")
        site, record = values.pop("site"), Record(**values)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as exc:
        raise SimdedupError(f"this line is no record: {_shown(line)}") from exc
    PageFingerprint.from_bytes(record.fingerprint)  # a site that had another in its log could not be judged
    return site, record


def _fits(value: object, hint: Any) -> bool:
    kinds = get_args(hint) or (hint,)
    if get_origin(hint) is Literal:
        return value in kinds
    if float in kinds and isinstance(value, int | float):
        return math.isfinite(value)
    if isinstance(value, bytes):
        return len(value) <= LONGEST
    return isinstance(value, kinds) and (not isinstance(value, int) or 0 <= value <= MOST)


def _shown(line: bytes) -> str:
    return repr(line[:60].decode("utf-8", "replace"))
