"""The program of a worker process: pages in, fingerprints out, until its input ends.

Frames go both ways, each a length and as many bytes. A request is a pickle of ``(html, body, settings, secret)``. An
answer is the seconds it took and the fingerprint's bytes, so that a crawl never unpickles what comes from a process
that reads the pages of strangers.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import struct
import sys
import time
from typing import BinaryIO

from scrapy_simdedup.fingerprint.making import fingerprint

READY = b"ready"
"""The first frame of a worker."""

LENGTH = struct.Struct("<I")
_SECONDS = struct.Struct("<d")


def main(most_seconds: float) -> None:
    """Work until standard input ends.

    Args:
        most_seconds: per page; then the system ends this process, where it can. Whoever asked gives up earlier and does
            so itself, unless it was killed.
    """
    requests, answers = _streams()
    os.dup2(2, 1)  # whatever prints must not get into the answers
    write_frame(answers, READY)
    while (request := read_frame(requests)) is not None:
        _end_me_in(most_seconds)
        html, body, settings, secret = pickle.loads(request)  # noqa: S301 - from the process that started this one
        start = time.perf_counter()
        made = bytes(fingerprint(html, settings, secret, body=body))
        seconds = time.perf_counter() - start
        _end_me_in(0)
        write_frame(answers, _SECONDS.pack(seconds) + made)


def _streams() -> tuple[BinaryIO, BinaryIO]:
    """Where requests come from, and where answers go."""
    if sys.platform == "win32":  # standard input says which socket it is
        end = socket.fromshare(sys.stdin.buffer.read())
        return end.makefile("rb"), end.makefile("wb")
    return sys.stdin.buffer, os.fdopen(os.dup(1), "wb")


def _end_me_in(seconds: float) -> None:
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, seconds)


def read_answer(frame: bytes) -> tuple[float, bytes]:
    """The seconds that a page took, and the bytes of its fingerprint."""
    return _SECONDS.unpack_from(frame)[0], frame[_SECONDS.size :]


def write_frame(stream: BinaryIO, frame: bytes) -> None:
    """Write a frame, at once."""
    stream.write(framed(frame))
    stream.flush()


def framed(frame: bytes) -> bytes:
    """A frame as it goes through a stream."""
    return LENGTH.pack(len(frame)) + frame


def read_frame(stream: BinaryIO) -> bytes | None:
    """The next frame, or None if the other side ended."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    frame = stream.read(length)
    return frame if len(frame) == length else None
