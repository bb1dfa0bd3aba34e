"""Processes of Python that begin with Scrapy and the package imported.

A new interpreter takes longer to import both than most tests ask it to work, and the tests start hundreds. A server of
:mod:`multiprocessing` imports them once, and each process is a fork of it. Where no process can be forked, as on
Windows, each one imports them itself.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import TYPE_CHECKING, Any
from unittest import mock

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess


@cache
def warm_context() -> Any:
    """What starts processes, with a server that has imported what most need."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["helpers.preloaded"])
    with mock.patch.dict(os.environ, PYTHONPATH=os.fspath(Path(__file__).parents[1])):
        multiprocessing.forkserver.ensure_running()
    return context


def start_python(
    words: Sequence[object],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    streams: Sequence[Path] = (),
) -> BaseProcess:
    """Start ``python WORDS``, which begin with ``-c``, ``-m`` or the path of a script.

    Args:
        words: The words of the command line behind the interpreter's name.
        cwd: The directory to start in; by default this process's.
        env: The environment; by default this process's.
        streams: The files that are its input, output and errors; by default those of this process.
    """
    made = os.fspath(cwd or Path.cwd()), dict(os.environ if env is None else env), [*map(os.fspath, streams)]
    process = warm_context().Process(target=_become, args=([*map(str, words)], *made))
    process.start()
    return process


def run_python(
    words: Sequence[object],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    piped: bytes = b"",
    timeout: float = 180,
) -> CompletedProcess[str]:
    """Run ``python WORDS`` to its end, with what it printed.

    Raises:
        TimeoutExpired: it took longer than so many seconds, and was killed.
    """
    with TemporaryDirectory() as folder:
        streams = [Path(folder) / name for name in ("in", "out", "err")]
        streams[0].write_bytes(piped)
        process = start_python(words, cwd=cwd, env=env, streams=streams)
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise TimeoutExpired([*map(str, words)], timeout)
        out, err = (stream.read_text("utf-8") for stream in streams[1:])
        return CompletedProcess(words, process.exitcode, out, err)


def _become(words: list[str], cwd: str, env: dict[str, str], streams: list[str]) -> None:
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    for number, path in enumerate(streams):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND if number else os.O_RDONLY)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process lives
        for number, mode in enumerate("rww")
    )
    if words[0] in ("-c", "-m"):
        sys.path.insert(0, "" if words[0] == "-c" else cwd)
    else:
        sys.path.insert(0, os.fspath(Path(words[0]).parent.resolve()))
    if words[0] == "-c":
        sys.argv = ["-c", *words[2:]]
        sys.modules["__main__"] = main = ModuleType("__main__")
        exec(compile(words[1], "<string>", "exec"), main.__dict__)
    elif words[0] == "-m":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")
