"""The actions of ``scrapy simdedup``: what each is given, its store, and the console that shows its answer."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import stat
import sys
import time
import traceback
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import IO, Any, TextIO

from scrapy.settings import Settings

from scrapy_simdedup.display import redact_password
from scrapy_simdedup.errors import SettingError, SimdedupError, StoreError
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store import job_store, store_by_url
from scrapy_simdedup.store.base import FingerprintStore, Record, live_records

YES, NO, FAILED = 0, 1, 2
"""The exit codes."""
TERMINAL_INTERVAL, FILE_INTERVAL = 0.1, 10.0
"""Seconds between two lines of progress, on a terminal and in a file."""
BAR_WIDTH = 30
CLEAR_LINE = "\r\x1b[K"


@dataclass(frozen=True, slots=True)
class Context:
    """One call of ``scrapy simdedup ...``."""

    options: Namespace
    settings: DedupSettings
    """The project's settings with those of the command line; outside of a project the defaults."""
    scrapy: Settings
    """All of Scrapy's settings."""
    console: Console

    @property
    def persistent_store_url(self) -> str:
        """The URL of the store, new or old."""
        url = self.settings.store or (job_store(jobdir) if (jobdir := self.scrapy.get("JOBDIR")) else None)
        if url is None or not store_by_url(url).lasts:
            shown = url and redact_password(url)
            remedy = "name a store that lasts, such as --store sqlite:///pages.sqlite"
            raise SettingError("SIMDEDUP_STORE", shown, remedy)
        return url

    @property
    def existing_store_url(self) -> str:
        """The URL of the store, which a crawl has written."""
        url = self.persistent_store_url
        if not store_by_url(url).exists():
            raise StoreError(redact_password(url), "there is no such file", "name a store that a crawl has written")
        return url

    @asynccontextmanager
    async def open_store(self, url: str | None = None) -> AsyncIterator[FingerprintStore]:
        """The store at a URL, or that which a crawl has written, opened; it is closed in the end."""
        store = store_by_url(url or self.existing_store_url)
        await store.open()
        try:
            yield store
        finally:
            await store.close()

    async def records(
        self, store: FingerprintStore, site: str | None, what: str = "pages read"
    ) -> AsyncIterator[tuple[str, Record]]:
        """The records of one site, or of all, with their sites; the console shows how many were read."""
        with self.console.progress(what, None if site is not None else await store.count()) as show:
            done = 0
            async for home, record in live_records(store, site):
                yield home, record
                done += 1
                show(done)


def option(*names: str, **about: Any) -> Callable[[ArgumentParser], object]:
    """An option or an argument of an action, as :meth:`argparse.ArgumentParser.add_argument` takes it."""
    return lambda parser: parser.add_argument(*names, **about)


SITE = option("--site", help="of this site alone")


@dataclass(frozen=True, slots=True)
class Action:
    """One action of ``scrapy simdedup``, such as ``check``."""

    summary: str
    """What the action does, as one line of the help."""
    run: Callable[[Context], int | Coroutine[Any, Any, int]]
    """Does it, prints the answer, and gives the exit code. An action that fetches pages is no coroutine: Scrapy runs a
    loop of its own."""
    options: tuple[Callable[[ArgumentParser], object], ...] = ()
    """Each adds itself to the parser of the action."""

    def add_options(self, parser: ArgumentParser) -> None:
        """Add the options of the action, and those of all actions, to its parser."""
        for add_option in self.options:
            add_option(parser)
        add = parser.add_argument
        add("--store", metavar="URL", help="or the path of a class; default: the project's SIMDEDUP_STORE")
        add("--json", action="store_true", help="the answer as JSON")
        add("-s", "--set", dest="action_settings", action="append", default=[], metavar="NAME=VALUE", help="a setting")

    def perform(self, options: Namespace, settings: Settings) -> int:
        """Run the action, and give its exit code; an error is printed as one sentence."""
        console = Console(sys.stdout, sys.stderr, as_json=options.json)
        if options.store is not None:
            settings.set("SIMDEDUP_STORE", options.store, priority="cmdline")
        try:
            code = self.run(Context(options, DedupSettings.from_settings(settings), settings, console))
            return code if isinstance(code, int) else asyncio.run(code)
        except BrokenPipeError:  # whoever read the answer has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return FAILED
        except OSError as error:
            what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            console.print_error(f"scrapy simdedup {options.action}: {what}")
        except SimdedupError as error:
            console.print_error(f"scrapy simdedup {options.action}: {error}")
        except KeyboardInterrupt:
            console.print_error("stopped")
        except Exception:  # noqa: BLE001 - a bug must not be taken for the answer "no"
            console.print_error(traceback.format_exc())
        return FAILED


class StyledLine(str):
    """A line that is the answer, or the head of a table; a terminal shows it bold."""

    code = "1"


class Soft(StyledLine):
    """A line that is beside the point; a terminal shows it dimmed."""

    code = "2"


class Good(StyledLine):
    """A line about what is there, kept or sound; a terminal shows it green."""

    code = "32"


class Bad(StyledLine):
    """A line about what is gone, dropped or damaged; a terminal shows it red."""

    code = "31"


def printable(text: str) -> str:
    """The text without control characters: URLs and titles of pages may hold some that would steer a terminal."""
    if text.isprintable():
        return str(text)
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def coloured(line: str) -> str:
    """A printable line with the colour of its class, for a terminal."""
    return f"\x1b[{line.code}m{printable(line)}\x1b[0m" if isinstance(line, StyledLine) else printable(line)


def format_table(
    head: Sequence[str], rows: Iterable[Sequence[object]], width: int = 10_000, *, indent: str = ""
) -> Iterator[str]:
    """The lines of a table, whose columns are as wide as their widest cells.

    A ``#`` before a name marks a column of numbers, which are aligned to the right; None is a dash. A line that is
    longer than ``width`` is cut, and begins with ``indent``.
    """
    numbers = [name.startswith("#") for name in head]
    cells = [[name.lstrip("#") for name in head], *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    for place, row in enumerate(cells):
        columns = (
            text.rjust(size) if number else text.ljust(size)
            for text, size, number in zip(row, widths, numbers, strict=True)
        )
        line = (indent + "  ".join(columns)).rstrip()
        line = line if len(line) <= width else line[: width - 1] + "…"
        yield line if place else StyledLine(line)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


def read_share(file: IO[bytes]) -> Callable[[int], float] | None:
    """A function that gives the share of a file that was read, compressed or not; None for a pipe: it has no size."""
    raw = getattr(file, "fileobj", file)
    try:
        status = os.fstat(raw.fileno())
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode) or not status.st_size:
        return None
    return lambda _: raw.tell() / status.st_size


class Console:
    """Prints answers, as text or as JSON, to one stream, and progress and errors to another."""

    def __init__(self, out: TextIO, err: TextIO, *, as_json: bool) -> None:
        self.out: TextIO = out
        self.err: TextIO = err
        self.as_json: bool = as_json
        for stream in (out, err):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")  # a terminal that cannot show a letter is no reason to stop

    def print_answer(self, data: Any, lines: Iterable[str]) -> None:
        """Print the answer: ``data`` if JSON is wanted, else ``lines``."""
        if self.as_json:
            self.out.write(json.dumps(data, indent=2) + "\n")
        else:
            # https://no-color.org
            show = coloured if _is_terminal(self.out) and not os.environ.get("NO_COLOR") else printable
            self.out.writelines(f"{show(line)}\n" for line in lines)
        self.out.flush()

    def print_error(self, sentence: str) -> None:
        """Print an error, or what should be known besides the answer."""
        self.err.write(printable(sentence) + "\n")

    @property
    def width(self) -> int:
        """Characters per line of a terminal; anything else has no limit."""
        return shutil.get_terminal_size().columns if self.out.isatty() else 10_000

    @contextmanager
    def progress(
        self, what: str, total: int | None = None, share: Callable[[int], float] | None = None
    ) -> Iterator[Callable[[int], None]]:
        """Show the progress of a long task: a bar on a terminal, a line now and then in a file.

        The function that this gives is called with the number done; nothing is shown before the first interval is over.
        ``what`` are the things that are counted, such as ``"pages read"``; their number at the end is the ``total``,
        where it is known. Else ``share`` may give the share of the task that is done.
        """
        is_terminal, start = _is_terminal(self.err), time.monotonic()
        shown_at = start

        def show(done: int) -> None:
            nonlocal shown_at
            now = time.monotonic()
            if now - shown_at >= (TERMINAL_INTERVAL if is_terminal else FILE_INTERVAL):
                shown_at = now
                text = f"{done:,} {what}, {done / (now - start):,.0f} per second"
                part = done / total if total else share(done) if share else 0.0
                if 0 < part <= 1:  # else it was read once more, or grew meanwhile
                    left = timedelta(seconds=round((now - start) * (1 - part) / part))
                    text = f"{self._bar(part) if is_terminal else ''}{part:4.0%}  {text}, {left} left"
                columns = shutil.get_terminal_size().columns - 1
                self.err.write(CLEAR_LINE + text[:columns] if is_terminal else f"{text}\n")
                self.err.flush()

        try:
            yield show
        finally:
            if is_terminal and shown_at != start:
                self.err.write(CLEAR_LINE)
                self.err.flush()

    def _bar(self, part: float) -> str:
        full, empty = ("█", "░") if (self.err.encoding or "utf-8").lower().startswith("utf") else ("#", "-")
        return (full * round(part * BAR_WIDTH)).ljust(BAR_WIDTH, empty) + "  "


def _is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def positive_int(text: str) -> int:
    """The value of an option that says how many."""
    number = int(text)
    if number < 1:
        raise ArgumentTypeError("give a number from 1 on")
    return number


def document_path(name: str) -> str:
    """The value of an option that names a document."""
    if not name.endswith((".html", ".json")):
        raise ArgumentTypeError("give a path that ends with .html or .json")
    return name
