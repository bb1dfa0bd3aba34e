"""A worker process, and the thread that talks to it."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, cast

from scrapy.utils.asyncio import call_later
from twisted.internet.defer import Deferred

from scrapy_simdedup.crawl.waiting import to_this_loop
from scrapy_simdedup.fingerprint.worker import READY, read_frame, write_frame

if TYPE_CHECKING:
    from collections.abc import Callable
    from queue import SimpleQueue

    from scrapy_simdedup.crawl.job import Job

logger = logging.getLogger(__name__)

START_SECONDS = 60.0
"""How long a worker may take to start."""
END_SECONDS = 5.0
"""How long it may take to end when it is told to."""
GRACE = 3
"""Deadlines after which a worker that nobody ended ends itself."""

PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from scrapy_simdedup.fingerprint.worker import main
main(float(sys.argv[2]))
"""


class Worker:
    """One process: a new Python and not a fork, which never runs the user's script and shares nothing with the crawl.

    Made, used and called back in the thread of the event loop.

    Args:
        jobs: what there is to do, for all workers; a None ends one of them.
        deadline: seconds that a page may take.
        on_ready: called when the worker can take pages.
        on_end: called when the process ended, for whatever reason.
    """

    def __init__(
        self,
        jobs: SimpleQueue[Job | None],
        deadline: float,
        *,
        on_ready: Callable[[], None],
        on_end: Callable[[Worker], None],
    ) -> None:
        self.is_ready = False
        self.ended: Deferred[None] = Deferred()
        """Fires when the process ended; for one who waits."""
        self._jobs, self._deadline, self._on_ready, self._on_end = jobs, deadline, on_ready, on_end
        self._to_loop = to_this_loop()
        self._process: subprocess.Popen[bytes] | None = None
        self._start_clock = call_later(START_SECONDS, self.kill)
        threading.Thread(target=self._talk, name="simdedup worker", daemon=True).start()

    # ------------------------------------------------------------------ in the thread of the event loop

    def kill(self) -> None:
        """End the process now."""
        if self._process is not None:
            self._process.kill()

    def _become_ready(self) -> None:
        self._start_clock.cancel()
        self.is_ready = True
        self._on_ready()

    def _finish(self) -> None:
        self._start_clock.cancel()
        self._on_end(self)
        if not self.ended.called:  # as when nobody waits for it any longer
            self.ended.callback(None)

    # ------------------------------------------------------------------ in the worker's own thread

    def _talk(self) -> None:
        try:
            self._process = process = self._start()
            requests, answers = cast("BinaryIO", process.stdin), cast("BinaryIO", process.stdout)
            with suppress(OSError):  # it died
                if read_frame(answers) == READY:
                    self._call(self._become_ready)
                    self._work(process, requests, answers)
            with suppress(OSError):  # as above; else this tells it to end
                requests.close()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            answers.close()
        except OSError as error:
            logger.error("A worker process could not be started: %s", error)  # noqa: TRY400 - the sentence says it all
        finally:
            self._call(self._finish)

    def _work(self, process: subprocess.Popen[bytes], requests: BinaryIO, answers: BinaryIO) -> None:
        answer: bytes | None = b""
        while answer is not None and (job := self._jobs.get()) is not None:
            if process.poll() is not None:  # it died since, which is not this page's fault
                self._jobs.put(job)
                return
            if job.begin(self):
                answer = None
                try:
                    write_frame(requests, job.request)
                    answer = read_frame(answers)
                finally:
                    self._call(job.take, answer)

    def _start(self) -> subprocess.Popen[bytes]:
        # In a session of its own, so that Ctrl+C in a terminal reaches the crawl alone, which then ends its workers.
        flags = getattr(subprocess, "CREATE_NO_WINDOW", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
        paths = json.dumps(list(map(str, sys.path)))
        return subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-c", PROGRAM, paths, str(GRACE * self._deadline)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            creationflags=flags,
        )

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        try:
            self._to_loop(function, *arguments)
        except RuntimeError:  # the loop was closed without waiting for us
            self.kill()
