"""A worker process, as the crawl sees it."""

from __future__ import annotations

import json
import logging
import math
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, BinaryIO, cast

from scrapy.utils.asyncio import call_later
from twisted.internet.defer import Deferred

from scrapy_simdedup.crawl.wire import SEND_BUFFER, Wire

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

START_SECONDS = 60.0
"""How long a worker may take to start."""
END_SECONDS = 5.0
"""How long it may take to end when it is told to."""
POLL_SECONDS = 0.02
"""How often somebody looks whether a process has ended that closed its stream."""
GRACE = 3
"""Deadlines after which a worker that nobody ended ends itself."""

PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from scrapy_simdedup.fingerprint.worker import main
main(float(sys.argv[2]))
"""


class Job:
    """What a worker is asked, and who waits for the answer."""

    def __init__(self, request: bytes) -> None:
        self.request = request
        self.answer: Deferred[bytes | None] = Deferred()
        """None if the process ended instead."""
        self.since = math.inf
        """When a worker began with it, on the monotonic clock."""

    @property
    def is_over(self) -> bool:
        """Whether nobody waits any more; one that is cancelled counts as answered."""
        return self.answer.called

    def take(self, answer: bytes | None) -> None:
        """Let who waits go on."""
        if not self.is_over:
            self.answer.callback(answer)

    def give_up(self, why: Exception) -> None:
        """Let who waits go on without an answer."""
        if not self.is_over:
            self.answer.errback(why)


class Worker:
    """One process: a new Python and not a fork, which never runs the user's script and shares nothing with the crawl.

    Args:
        deadline: seconds that a page may take.
        on_free: called when it can take a job, and after each.
        on_end: called when the process ended, for whatever reason.
    """

    def __init__(self, deadline: float, *, on_free: Callable[[Worker], None], on_end: Callable[[Worker], None]) -> None:
        self.is_ready = self.is_lost = False
        self.job: Job | None = None
        self.ended: Deferred[None] = Deferred()
        """Fires when the process ended; for one who waits."""
        self._on_free, self._on_end = on_free, on_end
        self._process: subprocess.Popen[bytes] | None = None
        self._wire: Wire | None = None
        self._clock = call_later(START_SECONDS, self.kill)
        try:
            self._wire = self._start(GRACE * deadline)
        except OSError as error:
            logger.error("A worker process could not be started: %s", error)  # noqa: TRY400 - the sentence says it all
            call_later(0, self._lost)  # not before whoever asked for it has it

    def begin(self, job: Job) -> None:
        """Take a job; one at a time."""
        self.job, job.since = job, time.monotonic()
        if self._wire is not None:
            self._wire.send(job.request)

    @property
    def is_alive(self) -> bool:
        """Whether the process runs, as far as one can know."""
        return not self.is_lost and self._process is not None and self._process.poll() is None

    def end(self) -> None:
        """Let the process end after what it is at."""
        if self._wire is not None:
            self._wire.finish()
        self._clock.cancel()
        self._clock = call_later(END_SECONDS, self.kill)

    def kill(self) -> None:
        """End the process now."""
        if self._process is not None:
            self._process.kill()

    def _start(self, most_seconds: float) -> Wire:
        mine, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = _start_program(theirs, most_seconds)
            except OSError:
                mine.close()
                raise
        mine.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        return Wire(mine, on_frame=self._take, on_end=self._lost)

    def _take(self, frame: bytes) -> None:
        job, self.job = self.job, None
        if not self.is_ready:
            self._clock.cancel()
            self.is_ready = True
        self._on_free(self)  # first, so that the process works while the answer is read
        if job is not None:
            job.take(frame)

    def _lost(self) -> None:
        self.is_lost = True
        self._clock.cancel()
        if self.job is not None:
            self.job.take(None)
        self._clock = call_later(END_SECONDS, self.kill)
        self._wait()

    def _wait(self) -> None:
        if self._process is not None and self._process.poll() is None:
            call_later(POLL_SECONDS, self._wait)
            return
        self._clock.cancel()
        self._on_end(self)
        if not self.ended.called:  # as when nobody waits for it any longer
            self.ended.callback(None)


def _start_program(end: socket.socket, most_seconds: float) -> subprocess.Popen[bytes]:
    """Start the program of a worker, which talks through its standard input and output: ``end``, a socket."""
    command = [sys.executable, "-c", PROGRAM, json.dumps(list(map(str, sys.path))), str(most_seconds)]
    if sys.platform == "win32":  # no socket is a standard input there: it is handed over by what names it
        flags = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
        process = subprocess.Popen(command, stdin=subprocess.PIPE, creationflags=flags)  # noqa: S603 - our own program
        with cast("BinaryIO", process.stdin) as names:
            names.write(end.share(process.pid))
        return process
    # In a session of its own, so that Ctrl+C in a terminal reaches the crawl alone, which then ends its workers.
    stream = end.fileno()
    return subprocess.Popen(command, stdin=stream, stdout=stream, start_new_session=True)  # noqa: S603 - our own program
