"""Processes that each do one job after the other; one that dies is replaced, and its job is done again."""

from __future__ import annotations

import signal
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from ctypes import c_longlong
from functools import partial
from multiprocessing import connection, get_context
from typing import Any, TypeAlias, TypeVar

from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.unjudged import UnjudgedReason

Result = TypeVar("Result")
Watch: TypeAlias = "Callable[[int], AbstractContextManager[UnjudgedReason | None]]"
"""Stands around the work on the page at a position of its file; gives the reason not to touch the page."""
MAX_DEATHS = 3
"""How often a job may end its process at one place before the work is given up."""
DEATHS_OF_A_PAGE = 2
"""How often one page must have ended a process, which may have been killed by chance, before it is passed over."""
NO_PAGE = -1
"""The position while no page is worked on."""
_ALARM = getattr(signal, "SIGALRM", None)


def do_jobs(
    work: Callable[..., Result],
    jobs: Sequence[tuple[str, tuple[Any, ...]]],
    processes: int,
    max_seconds: float | None = None,
) -> Iterator[tuple[str, Result]]:
    """Do jobs in other processes, and give their names with their results, as they are done.

    ``work`` does a job, given a :data:`Watch` over each page (:func:`watch_page`) and the arguments of the job,
    which are by its name in errors. It is done anew where it was interrupted, so it must leave nothing half done. A
    page may take ``max_seconds``. A SimdedupError says that a job failed, or died often.
    """
    waiting, skips, deaths = deque(jobs), dict[str, dict[int, "UnjudgedReason"]](), Counter[tuple[str, int]]()
    start = partial(_Worker, get_context("spawn"), work, max_seconds)  # neither locks nor threads of this process
    workers: list[_Worker] = []
    try:
        workers += [start() for _ in range(max(1, min(processes, len(jobs))))]
        while any(worker.job for worker in workers) or waiting:
            for worker in [worker for worker in workers if worker.job is None]:
                if waiting:
                    name, arguments = waiting.popleft()
                    worker.give(name, arguments, skips.get(name, {}))
            ready = connection.wait([worker.answers for worker in workers if worker.job])
            for worker in [worker for worker in workers if worker.answers in ready]:
                assert worker.job is not None
                name, arguments = worker.job
                try:
                    kind, answer = worker.answers.recv()
                except (EOFError, OSError):
                    _bury(worker, name, deaths, skips)
                    waiting.appendleft((name, arguments))
                    workers[workers.index(worker)] = start()
                    continue
                worker.job = None
                if kind == "failed":
                    raise SimdedupError(f"{name}: {answer}")
                yield name, answer
    finally:
        for worker in workers:
            worker.end()


def _bury(
    worker: _Worker, name: str, deaths: Counter[tuple[str, int]], skips: dict[str, dict[int, UnjudgedReason]]
) -> None:
    """Decide what becomes of a job whose process died."""
    worker.process.join()
    position = int(worker.position.value)
    deaths[name, position] += 1
    is_late = _ALARM is not None and worker.process.exitcode == -_ALARM
    if deaths[name, position] >= MAX_DEATHS:
        problem = f"{name}: the process that works on it died again and again, by a signal or for want of memory"
        raise SimdedupError(f"{problem}; try fewer --jobs")
    if position != NO_PAGE and (is_late or deaths[name, position] >= DEATHS_OF_A_PAGE):
        skips.setdefault(name, {})[position] = "worker_timeout" if is_late else "worker_died"


class _Worker:
    """A process and its job."""

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


@contextmanager
def watch_page(
    noted: c_longlong, skips: dict[int, UnjudgedReason], max_seconds: float | None, position: int
) -> Iterator[UnjudgedReason | None]:
    """Note the position of the page that is worked on, and end this process if the page takes too long.

    It gives the reason not to touch the page, which is one of ``skips``; else None.
    """
    noted.value = position
    _set_alarm(max_seconds or 0)
    yield skips.get(position)
    _set_alarm(0)
    noted.value = NO_PAGE


def _set_alarm(seconds: float) -> None:
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
            answer = "done", work(partial(watch_page, position, skips, max_seconds), *arguments)
        except (SimdedupError, OSError) as exc:
            answer = "failed", str(exc)
        except Exception:  # noqa: BLE001 - said by the process that started this one
            answer = "failed", traceback.format_exc()
        answers.send(answer)
