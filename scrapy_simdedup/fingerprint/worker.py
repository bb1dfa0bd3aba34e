"""The program of a worker process: it reads pages and writes fingerprints, or their content, until its input ends.

Requests and answers are frames: a length and as many bytes. A request is two: a pickle of what is wanted and of all
arguments but the page, the settings and the secret among them pickled once for many pages; and the page in UTF-8. An
answer is the seconds it took and the bytes of the fingerprint and of the page's text units, or the content as JSON: a
crawl unpickles nothing from a process that reads the pages of strangers.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import cached_property, lru_cache
from typing import Any, BinaryIO, cast

import numpy as np

from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint, unpack_fingerprint
from scrapy_simdedup.fingerprint.make import fingerprint
from scrapy_simdedup.fingerprint.text_units import PageUnits
from scrapy_simdedup.page.content import content_with_settings
from scrapy_simdedup.page.parse import remember_utf8
from scrapy_simdedup.settings import DedupSettings

READY = b"ready"
"""The first frame of a worker."""
MAX_SETTINGS = 64
"""Settings of pages that are kept unpickled; more than these have few crawls."""
FRAME_LENGTH = struct.Struct("<I")
_SECONDS = struct.Struct("<d")
_SIZES = struct.Struct("<4I2HI")


def main(max_seconds: float) -> None:
    """Work until standard input ends.

    The system ends this process after ``max_seconds`` with a page, where it can. The crawl gives up earlier and ends
    it, unless it was killed.
    """
    requests, answers = _streams()
    os.dup2(2, 1)  # what is printed must not get into the answers
    write_frame(answers, READY)
    while (request := read_frame(requests)) is not None and (raw := read_frame(requests)) is not None:
        _set_alarm(max_seconds)
        wanted, pickled, *arguments = pickle.loads(request)  # noqa: S301 - from the process that started this one
        start = time.perf_counter()
        made = _MAKERS[wanted](_html(raw), *_settings(pickled), *arguments)
        seconds = time.perf_counter() - start
        _set_alarm(0)
        write_frame(answers, _SECONDS.pack(seconds) + made)


@lru_cache(MAX_SETTINGS)
def _settings(pickled: bytes) -> tuple[DedupSettings, bytes]:
    """The settings of a page, and the secret."""
    made: tuple[DedupSettings, bytes] = pickle.loads(pickled)  # noqa: S301 - see main
    return made


def _make_fingerprint(html: str, settings: DedupSettings, secret: bytes, body: bytes, identity: str | None) -> bytes:
    """A fingerprint as bytes, with the text units of its page if it has them."""
    made = fingerprint(html, settings, secret, body=body, identity=identity)
    return encode_frame(bytes(made)) + (b"" if made.page_units is None else write_units(made.page_units))


def write_units(units: PageUnits) -> bytes:
    """The text units of a page as bytes."""
    arrays = (
        units.hashes,
        units.digests,
        units.lengths.astype("<u4"),
        units.places,
        units.block_classes,
        units.pass_over,
    )
    of_page = units.comments, units.title, units.offer, units.headline
    sizes = _SIZES.pack(units.size, len(units.hashes), len(units.digests), *of_page)
    samples = json.dumps([*units.samples, units.title_words, units.is_unlisted]).encode()
    return b"".join((sizes, *(array.tobytes() for array in arrays), samples))


def _make_content(html: str, settings: DedupSettings, secret: bytes, url: str) -> bytes:  # noqa: ARG001 - as the other
    made = content_with_settings(html, url, settings, metadata=settings.wants_metadata)
    return json.dumps(asdict(made)).encode()


def _html(raw: bytes) -> str:
    """The page that a crawl has sent; its parser takes the same bytes."""
    try:
        html = raw.decode()
    except UnicodeDecodeError:  # it has halves of surrogate pairs
        return raw.decode("utf-8", "surrogatepass")
    remember_utf8(html, raw)
    return html


_MAKERS: dict[str, Callable[..., bytes]] = {"fingerprint": _make_fingerprint, "content": _make_content}


def _streams() -> tuple[BinaryIO, BinaryIO]:
    """The streams of requests and of answers."""
    if sys.platform == "win32":  # standard input says which socket it is
        end = socket.fromshare(sys.stdin.buffer.read())
        return end.makefile("rb"), end.makefile("wb")
    return sys.stdin.buffer, os.fdopen(os.dup(1), "wb")


def _set_alarm(seconds: float) -> None:
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, seconds)


def read_answer(frame: memoryview) -> tuple[float, memoryview]:
    """The seconds that a page took, and the bytes that were made of it."""
    return _SECONDS.unpack_from(frame)[0], frame[_SECONDS.size :]


def read_fingerprint(made: bytes | memoryview) -> PageFingerprint:
    """The fingerprint that a worker made."""
    (length,) = FRAME_LENGTH.unpack_from(made)
    end = FRAME_LENGTH.size + length
    units = cast("PageUnits", UnreadUnits(made[end:])) if len(made) > end else None
    return unpack_fingerprint(bytes(made[FRAME_LENGTH.size : end]), units)


def read_units(raw: bytes | memoryview) -> PageUnits:
    """What :func:`write_units` wrote."""
    size, shingles, blocks, *of_page = _SIZES.unpack_from(raw)
    numbers_at = _SIZES.size + 8 * (shingles + blocks)
    marks_at = numbers_at + 8 * blocks
    hashes = np.frombuffer(raw, "<u8", shingles + blocks, _SIZES.size)
    numbers = np.frombuffer(raw, "<u4", 2 * blocks, numbers_at)
    marks = np.frombuffer(raw, "u1", 2 * blocks, marks_at)
    lengths = numbers[:blocks].astype(np.intp)
    *samples, title_words, is_unlisted = json.loads(bytes(raw[marks_at + 2 * blocks :]))
    made = PageUnits(
        hashes[:shingles],
        lengths.cumsum() - lengths,
        lengths,
        hashes[shingles:],
        numbers[blocks:],
        marks[:blocks],
        marks[blocks:].view(np.bool_),
        samples,
        size,
        *of_page,
    )
    return made._replace(title_words=title_words, is_unlisted=is_unlisted)


class UnreadUnits:
    """The units of a page from another process: read once they are asked for, as those of few pages are."""

    def __init__(self, raw: bytes | memoryview) -> None:
        self._raw = raw

    @cached_property
    def _units(self) -> PageUnits:
        return read_units(self._raw)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._units, name)


def write_frame(stream: BinaryIO, frame: bytes) -> None:
    """Write a frame and flush the stream."""
    stream.write(encode_frame(frame))
    stream.flush()


def encode_frame(*frames: bytes) -> bytes:
    """The bytes of frames in a stream: of each its length and itself."""
    return b"".join([part for frame in frames for part in (FRAME_LENGTH.pack(len(frame)), frame)])


def read_frame(stream: BinaryIO) -> bytes | None:
    """The next frame, or None if the other side ended."""
    head = stream.read(FRAME_LENGTH.size)
    if len(head) < FRAME_LENGTH.size:
        return None
    (length,) = FRAME_LENGTH.unpack(head)
    frame = stream.read(length)
    return frame if len(frame) == length else None
