"""The pool of worker processes that fingerprint a crawl's pages, and read their content."""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from typing import BinaryIO, cast

from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.make import LocalFingerprinter, body_digest, fingerprint_parsed
from scrapy_simdedup.fingerprint.worker import FRAME_LENGTH, encode_frame, read_answer, read_fingerprint
from scrapy_simdedup.page.content import Content, content_with_settings
from scrapy_simdedup.page.page import Page
from scrapy_simdedup.page.parse import utf8
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.unjudged import UnjudgedReason

logger = logging.getLogger(__name__)
MAX_START_FAILURES = 3
"""How many workers in a row may fail to start before no more are started."""
START_SECONDS = 60.0
END_SECONDS = 5.0
POLL_SECONDS = 0.02
"""How often the crawl checks whether a process that closed its stream has ended."""
GRACE = 3
"""After how many deadlines a worker ends itself, should the crawl not have ended it."""
SEND_BUFFER = 256 * 1024
"""Bytes that the socket takes at once: enough for nearly any page."""
RECEIVE_BUFFER = 64 * 1024
"""Bytes that are read at once: enough for most answers."""
PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from scrapy_simdedup.fingerprint.worker import main
main(float(sys.argv[2]))
"""


class NoWorker(Exception):
    """There is no worker process, and none will be started."""


class WorkerPool:
    """Makes fingerprints and reads contents in worker processes, each one page at a time, in the order of the calls.

    A worker that dies or takes more than ``deadline`` seconds costs its page the result, and is replaced. Where no
    worker can be started, or the crawl does not run on asyncio, pages are fingerprinted in the crawl's process.
    """

    def __init__(self, count: int, deadline: float, on_extracted: Callable[[float], None]) -> None:
        self._count, self._deadline, self._on_extracted = count, deadline, on_extracted
        self._secret = b""
        self._local = LocalFingerprinter(on_extracted)
        self._workers: set[Worker] = set()
        self._free: deque[Worker] = deque()
        self._queue: deque[Job] = deque()
        self._pickled_settings: dict[int, tuple[DedupSettings, bytes]] = {}
        """The id of settings → the settings, so that no other object gets that id, and their bytes."""
        self._failures = 0
        self._is_closed = False

    def open(self, secret: bytes) -> None:
        """Take the secret; see :class:`~scrapy_simdedup.fingerprint.make.Fingerprinter`."""
        self._secret = secret
        self._local.open(secret)

    async def fingerprint(
        self, html: str, url: str, settings: DedupSettings, *, body: bytes | None = None, identity: str | None = None
    ) -> PageFingerprint:
        """The page's fingerprint, unjudged as ``worker_died`` or ``worker_timeout`` where there is none."""
        body = body or body_digest(html, self._secret)
        self._start_missing()
        try:
            if self._workers and len(html) <= settings.max_page_bytes:
                seconds, made = read_answer(await self._ask("fingerprint", html, settings, body, identity))
                self._on_extracted(seconds)
                return read_fingerprint(made)
        except NoWorker:
            pass
        except NoAnswer as exc:
            message = "%s is kept unjudged (%s): a new worker process takes over from the next page on"
            logger.warning(message, url, exc.reason)
            return fingerprint_parsed(Page((), "", "", exc.reason), body, settings, self._secret)
        return await self._local.fingerprint(html, url, settings, body=body, identity=identity)

    async def content(self, html: str, url: str, settings: DedupSettings) -> Content | None:
        """The page's content; None where a worker died of the page, or took too long for it."""
        self._start_missing()
        try:
            if self._workers:
                _, made = read_answer(await self._ask("content", html, settings, url))
                return Content(**json.loads(bytes(made)))
        except NoWorker:
            pass
        except NoAnswer as exc:
            logger.warning("No Markdown could be made of %s (%s)", url, exc.reason)
            return None
        return content_with_settings(html, url, settings, metadata=settings.wants_metadata)

    async def close(self) -> None:
        """End all workers and wait until they have ended."""
        self._is_closed = True
        for worker in self._workers:
            worker.end()
        if self._workers:
            await asyncio.wait([worker.life for worker in self._workers], timeout=2 * END_SECONDS)

    async def _ask(self, wanted: str, html: str, settings: DedupSettings, *arguments: object) -> memoryview:
        request = pickle.dumps((wanted, self._pickled(settings), *arguments), pickle.HIGHEST_PROTOCOL)
        # The page's digest was made of its bytes, so they are at hand.
        job = Job(encode_frame(request, utf8(html, "surrogatepass")))
        self._queue.append(job)
        self._dispatch()
        try:
            return await job.answer
        except asyncio.CancelledError:  # the answer is not wanted any more
            for worker in self._workers:
                if worker.job is job:
                    worker.kill()
            raise

    def _pickled(self, settings: DedupSettings) -> bytes:
        """Settings and secret, pickled: few pages have settings of their own, and these have many fields."""
        if id(settings) not in self._pickled_settings:
            pickled = pickle.dumps((settings, self._secret), pickle.HIGHEST_PROTOCOL)
            self._pickled_settings[id(settings)] = settings, pickled
        return self._pickled_settings[id(settings)][1]

    def _dispatch(self) -> None:
        while self._queue and self._free:
            if not self._free[0].is_alive:
                self._free.popleft()
            elif not (job := self._queue.popleft()).answer.done():
                self._free.popleft().begin(job)

    def _start_missing(self) -> None:
        if self._count and not self._workers and not _runs_on_asyncio():
            logger.warning(
                "SIMDEDUP_WORKERS = %d has no effect: worker processes need asyncio, and this crawl runs on another "
                "reactor, so pages are fingerprinted in its own process; take TWISTED_REACTOR out of the settings, or "
                "write SIMDEDUP_WORKERS = 0",
                self._count,
            )
            self._count = 0
        while len(self._workers) < self._count and self._failures < MAX_START_FAILURES and not self._is_closed:
            self._workers.add(Worker(self._deadline, on_free=self._became_free, on_end=self._ended))

    def _became_free(self, worker: Worker) -> None:
        self._failures = 0
        self._free.append(worker)
        self._dispatch()

    def _ended(self, worker: Worker) -> None:
        self._workers.discard(worker)
        if not worker.is_ready:
            self._failures += 1
            if self._failures == MAX_START_FAILURES:
                logger.error("Worker processes do not start, so pages are fingerprinted in the crawl's own process")
        self._start_missing()
        while self._queue and not self._workers:
            self._queue.popleft().give_up(NoWorker())


def _runs_on_asyncio() -> bool:
    # Scrapy's own question raises an error in Scrapy 2.14 where no reactor is installed, as in a command.
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class NoAnswer(Exception):
    """A worker failed to give the fingerprint of a page."""

    def __init__(self, reason: UnjudgedReason) -> None:
        super().__init__(reason)
        self.reason = reason


class Job:
    """A request to a worker, and the future of its answer."""

    def __init__(self, request: bytes) -> None:
        self.request = request
        self.answer: asyncio.Future[memoryview] = asyncio.get_running_loop().create_future()

    def give_up(self, error: Exception) -> None:
        """Let the caller go on without an answer, unless there is one."""
        if not self.answer.done():
            self.answer.set_exception(error)


class Worker:
    """One process: a new Python and not a fork. It never runs the user's script and shares nothing with the crawl."""

    def __init__(self, deadline: float, *, on_free: Callable[[Worker], None], on_end: Callable[[Worker], None]) -> None:
        self.is_ready: bool = False
        self._is_lost = self._is_told_to_end = False
        self.job: Job | None = None
        self._deadline, self._on_free, self._on_end = deadline, on_free, on_end
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: asyncio.WriteTransport | None = None
        self._loop = asyncio.get_running_loop()
        self._answers = Answers(self._receive, self._loop.create_future())
        self._timer = self._loop.call_later(START_SECONDS, self.kill)
        self._due = 0.0
        """When the job has to be done, by the loop's clock."""
        self.life: asyncio.Task[None] = self._loop.create_task(self._live())
        """The task that is done when the process has ended."""

    def begin(self, job: Job) -> None:
        """Take a job, one at a time."""
        self.job, self._due = job, self._loop.time() + self._deadline
        if self._requests is not None:
            self._requests.write(job.request)

    @property
    def is_alive(self) -> bool:
        """Whether the process runs, as far as the crawl can know, and may take jobs."""
        is_open = self._requests is not None and not self._is_told_to_end and not self._is_lost
        return is_open and self._process is not None and self._process.poll() is None

    def end(self) -> None:
        """Let the process end after its job."""
        self._is_told_to_end = True
        if self._requests is not None and not self._requests.is_closing():
            self._requests.write_eof()
        self._kill_soon()

    def kill(self) -> None:
        """End the process now."""
        if self._process is not None:
            self._process.kill()

    def _kill_soon(self) -> None:
        self._timer.cancel()
        self._timer = self._loop.call_later(END_SECONDS, self.kill)

    def _watch(self) -> None:
        """Give up a job that takes too long; else look again when one can. A timer for each job would be more work."""
        now = self._loop.time()
        if self.job is not None and now >= self._due:
            self.job.give_up(NoAnswer("worker_timeout"))
            self.kill()
        else:
            self._timer = self._loop.call_at(now + self._deadline if self.job is None else self._due, self._watch)

    async def _live(self) -> None:
        try:
            await self._start()
            await self._answers.end
        except OSError as error:
            if self._process is None:  # else it has ended, or is about to
                logger.error("A worker process could not be started: %s", error)  # noqa: TRY400 - a full sentence
        finally:
            await self._finish()

    async def _start(self) -> None:
        mine, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = _start_program(theirs, GRACE * self._deadline)
            except OSError:
                mine.close()
                raise
        mine.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        self._requests, _ = await self._loop.create_connection(lambda: self._answers, sock=mine)
        if self._is_told_to_end:  # meanwhile
            self._requests.write_eof()

    def _receive(self, frame: memoryview) -> None:
        """Receive an answer, or the first frame, which says that the process is ready."""
        job, self.job = self.job, None
        if not self.is_ready:
            self.is_ready = True
            self._timer.cancel()
            self._watch()
        self._on_free(self)  # first, so that the process works while the answer is read
        if job is not None and not job.answer.done():
            job.answer.set_result(frame)

    async def _finish(self) -> None:
        self._is_lost = True
        if self.job is not None:
            self.job.give_up(NoAnswer("worker_died"))
        if self._requests is not None:
            self._requests.close()
        self._kill_soon()
        while self._process is not None and self._process.poll() is None:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(POLL_SECONDS)
        self._timer.cancel()
        self._on_end(self)


class Answers(asyncio.BufferedProtocol):
    """What a worker writes, cut into frames; a stream of asyncio would wake a task for each.

    It is read into one buffer: asyncio would make a new one for each answer, four times as large as most, which takes
    longer than all the rest.
    """

    def __init__(self, on_frame: Callable[[memoryview], None], end: asyncio.Future[None]) -> None:
        self._on_frame = on_frame
        self.end = end
        self._buffer = memoryview(bytearray(RECEIVE_BUFFER))
        self._received = bytearray()

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's signature
        """Called by asyncio."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Called by asyncio."""
        self._received += self._buffer[:nbytes]
        while len(self._received) >= FRAME_LENGTH.size:
            (length,) = FRAME_LENGTH.unpack_from(self._received)
            end = FRAME_LENGTH.size + length
            if len(self._received) < end:
                return
            frame, self._received = memoryview(self._received)[FRAME_LENGTH.size : end], self._received[end:]
            self._on_frame(frame)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Called by asyncio."""
        if not self.end.done():
            self.end.set_result(None)


def _start_program(end: socket.socket, max_seconds: float) -> subprocess.Popen[bytes]:
    """Start the program of a worker, whose standard input and output are the socket ``end``."""
    command = [sys.executable, "-c", PROGRAM, json.dumps(list(map(str, sys.path))), str(max_seconds)]
    if sys.platform == "win32":  # no socket can be a standard input there: a description of it is handed over
        flags = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
        process = subprocess.Popen(command, stdin=subprocess.PIPE, creationflags=flags)  # noqa: S603 - our own program
        with cast("BinaryIO", process.stdin) as stdin:
            stdin.write(end.share(process.pid))
        return process
    # In a session of its own, so that Ctrl+C in a terminal reaches the crawl alone, which then ends its workers.
    stream = end.fileno()
    return subprocess.Popen(command, stdin=stream, stdout=stream, start_new_session=True)  # noqa: S603 - our own program
