"""Processes that each do one job after the other; one that dies is replaced, and its job is done again."""

from __future__ import annotations

import signal
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import connection, get_context
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from scrapy_simdedup.errors import SimdedupError

if TYPE_CHECKING:
    from ctypes import c_longlong

    from scrapy_simdedup.unjudged import UnjudgedReason

Result = TypeVar("Result")
MAX_DEATHS = 3
"""How often a job may end its process at one place before the work is given up."""
DEATHS_OF_A_PAGE = 2
"""How often one page must have ended a process, which may have been killed by chance, before it is passed over."""
NO_PAGE = -1
"""The position while no page is worked on."""
_ALARM = getattr(signal, "SIGALRM", None)


class Jobs(Generic[Result]):
    """Does jobs in other processes.

    ``work`` does a job, given a :class:`PageWatch` and the arguments of the job, which are by its name in errors. It is
    done anew where it was interrupted, so it must leave nothing half done. A page may take ``max_seconds``.
    """

    def __init__(
        self,
        work: Callable[..., Result],
        jobs: Sequence[tuple[str, tuple[Any, ...]]],
        processes: int,
        max_seconds: float | None = None,
    ) -> None:
        self._work, self._waiting = work, deque(jobs)
        self._processes, self._max_seconds = max(1, min(processes, len(jobs))), max_seconds
        self._context = get_context("spawn")  # neither locks nor threads of this process
        self._skips: dict[str, dict[int, UnjudgedReason]] = {}
        self._deaths: Counter[tuple[str, int]] = Counter()
        self._workers: list[_Worker] = []

    def __iter__(self) -> Iterator[tuple[str, Result]]:
        """The names of the jobs with their results, as they are done; a SimdedupError if one fails or dies often."""
        try:
            self._workers = [self._start() for _ in range(self._processes)]
            while any(worker.job for worker in self._workers) or self._waiting:
                for worker in [worker for worker in self._workers if worker.job is None]:
                    if self._waiting:
                        name, arguments = self._waiting.popleft()
                        worker.give(name, arguments, self._skips.get(name, {}))
                ready = connection.wait([worker.answers for worker in self._workers if worker.job])
                for worker in [worker for worker in self._workers if worker.answers in ready]:
                    assert worker.job is not None
                    name, arguments = worker.job
                    try:
                        kind, answer = worker.answers.recv()
                    except (EOFError, OSError):
                        self._bury(worker, name)
                        self._waiting.appendleft((name, arguments))
                        self._workers[self._workers.index(worker)] = self._start()
                        continue
                    worker.job = None
                    if kind == "failed":
                        raise SimdedupError(f"{name}: {answer}")
                    yield name, answer
        finally:
            for worker in self._workers:
                worker.end()

    def _start(self) -> _Worker:
        return _Worker(self._context, self._work, self._max_seconds)

    def _bury(self, worker: _Worker, name: str) -> None:
        """Decide what becomes of a job whose process died."""
        worker.process.join()
        position = int(worker.position.value)
        self._deaths[name, position] += 1
        is_late = _ALARM is not None and worker.process.exitcode == -_ALARM
        if self._deaths[name, position] >= MAX_DEATHS:
            problem = f"{name}: the process that works on it died again and again, by a signal or for want of memory"
            raise SimdedupError(f"{problem}; try fewer --jobs")
        if position != NO_PAGE and (is_late or self._deaths[name, position] >= DEATHS_OF_A_PAGE):
            self._skips.setdefault(name, {})[position] = "worker_timeout" if is_late else "worker_died"


class _Worker:
    """A process, and the job that it has."""

    def __init__(self, context: Any, work: Callable[..., Any], max_seconds: float | None) -> None:
        self.job: tuple[str, tuple[Any, ...]] | None = None
        self.answers, theirs = context.Pipe()
        self.position: c_longlong = context.RawValue("q", NO_PAGE)
        self.process = context.Process(target=_serve, args=(theirs, work, self.position, max_seconds), daemon=True)
        self.process.start()
        theirs.close()  # so that the end of the process is the end of its answers

    def give(self, name: str, arguments: tuple[Any, ...], skips: dict[int, UnjudgedReason]) -> None:
        """Give the process a job; where it died meanwhile, that is noticed when its answer is read."""
        self.job = name, arguments
        with suppress(OSError):
            self.answers.send((arguments, skips))

    def end(self) -> None:
        """End the process, whatever it does."""
        self.answers.close()
        if self.process.is_alive():
            self.process.terminate()
        self.process.join()


class PageWatch:
    """Notes which page is worked on, and ends this process if a page takes too long.

    ``position`` is where the position of the page is noted; pages with ``skips`` are not to be touched, for these
    reasons.
    """

    def __init__(self, position: c_longlong, skips: dict[int, UnjudgedReason], max_seconds: float | None) -> None:
        self._position, self._skips, self._max_seconds = position, skips, max_seconds

    @contextmanager
    def __call__(self, position: int) -> Iterator[UnjudgedReason | None]:
        """Stand around the work on the page at a position of its file; gives the reason not to touch it."""
        self._position.value = position
        self._set_alarm(self._max_seconds or 0)
        yield self._skips.get(position)
        self._set_alarm(0)
        self._position.value = NO_PAGE

    def _set_alarm(self, seconds: float) -> None:
        if _ALARM is not None:
            signal.setitimer(signal.ITIMER_REAL, seconds)


def _serve(answers: Any, work: Callable[..., Any], position: c_longlong, max_seconds: float | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the process that started this one
    if _ALARM is not None:
        signal.signal(_ALARM, signal.SIG_DFL)
    while True:
        try:
            arguments, skips = answers.recv()
        except (EOFError, OSError):
            return
        position.value = NO_PAGE
        try:
            answer = "done", work(PageWatch(position, skips, max_seconds), *arguments)
        except (SimdedupError, OSError) as exc:
            answer = "failed", str(exc)
        except Exception:  # noqa: BLE001 - said by the process that started this one
            answer = "failed", traceback.format_exc()
        answers.send(answer)
