"""A record as bytes, laid out so that the Lua scripts can change its state without knowing the rest."""

from __future__ import annotations

import json
import struct
from sys import intern
from typing import get_args

from scrapy_simdedup.store.base import STEPS, Outcome, Record, State

STATES: tuple[State, ...] = get_args(State)
"""By their number in the bytes; ``released`` is 2 in log.lua, too."""
HEAD = struct.Struct(">BdHI")
"""State, last seen, bytes of the key, bytes of the body; as in log.lua."""


def pack(record: Record) -> bytes:
    """Everything but ``id`` and ``position``, which the log knows."""
    original = None if record.original is None else record.original.hex()
    texts = record.url, record.run, record.worker, record.kind, record.similarity, original
    numbers = record.first_seen, record.last_changed, record.visits, record.changes, record.handler
    body = json.dumps((*texts, *numbers), separators=(",", ":")).encode()
    head = HEAD.pack(STATES.index(record.state), record.last_seen, len(record.key), len(body))
    return b"".join((head, record.key, body, record.fingerprint))


def unpack(raw: bytes, id_: int, position: int) -> Record:
    """The record that :func:`pack` made, or a script changed."""
    state, last_seen, key_size, body_size = HEAD.unpack_from(raw)
    body_at = HEAD.size + key_size
    fingerprint_at = body_at + body_size
    url, run, worker, kind, similarity, original, first_seen, last_changed, visits, changes, handler = json.loads(
        raw[body_at:fingerprint_at]
    )
    return Record(
        url=url,
        key=raw[HEAD.size : body_at],
        fingerprint=raw[fingerprint_at:],
        run=intern(run),  # the same in thousands of records that are held
        worker=intern(worker),
        state=STATES[state],
        kind=intern(kind),
        similarity=similarity,
        original=None if original is None else bytes.fromhex(original),
        first_seen=first_seen,
        last_seen=last_seen,
        last_changed=last_changed,
        visits=visits,
        changes=changes,
        handler=intern(handler),
        id=id_,
        position=position,
    )


def steps(outcome: Outcome) -> str:
    """The numbers of the states from which a record can be settled to an outcome, a digit each."""
    return "".join(sorted(str(STATES.index(state)) for state in STEPS[outcome]))
