"""``scrapy simdedup``, in a process of its own or in this one, and what it is called on."""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

from scrapy.settings import Settings

from helpers.crawling import ADDON, Crawl, PatientSpider, crawl
from helpers.site_server import Site
from helpers.store_records import opened
from helpers.warm_python import run_python
from scrapy_simdedup.commands import SimdedupCommand, actions
from scrapy_simdedup.store.base import FingerprintStore, Record

Result = TypeVar("Result")

REPEATS = {"a": 4, "b": 2, "c": 1}
"""How often each document comes again, wrapped in another way."""


@dataclass(frozen=True)
class Answer:
    """What a call of ``scrapy simdedup`` left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def simdedup(*arguments: object, cwd: Path, piped: bytes | None = None) -> Answer:
    """``scrapy simdedup ...`` in a directory, as a process of its own."""
    done = run_python(["-m", "scrapy", "simdedup", *arguments], cwd=cwd, piped=piped or b"")
    return Answer(done.returncode, done.stdout, done.stderr)


def in_a_thread(work: Callable[[], Result]) -> Result:
    """Its result; in this thread a loop is running, so it could not run one of its own."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def with_store(url: str, act: Callable[[FingerprintStore], Awaitable[Result]]) -> Result:
    """What is done with an open store gives."""

    async def run() -> Result:
        async with opened(url) as store:
            return await act(store)

    return in_a_thread(lambda: asyncio.run(run()))


def stored(url: str) -> list[tuple[str, Record]]:
    """All that is in a store, without the places in its log."""

    async def read(store: FingerprintStore) -> list[tuple[str, Record]]:
        return [(site, record._replace(id=0, position=0)) async for site, record in store.records()]

    return with_store(url, read)


def remember(url: str, name: str, value: str) -> None:
    """Let a new store know something; under a secret that is known, similarities are the same in every run."""
    with_store(url, lambda store: store.set_default(name, value))


def perform_here(*arguments: object, piped: bytes = b"") -> Answer:
    """The same in this process, which is faster."""
    command = SimdedupCommand()
    command.settings = Settings()
    options = parser().parse_args([*map(str, arguments)])
    command.process_options([], options)
    streams = [io.TextIOWrapper(io.BytesIO(raw), "utf-8", write_through=True) for raw in (piped, b"", b"")]

    def perform_() -> int:
        with mock.patch.multiple(sys, stdin=streams[0], stdout=streams[1], stderr=streams[2]):
            return actions()[options.action].perform(options, command.settings)

    code = in_a_thread(perform_)
    out, err = (stream.buffer.getvalue().decode() for stream in streams[1:])
    return Answer(code, out, err)


@cache
def parser() -> argparse.ArgumentParser:
    """Of all actions, which takes longer to make than many an action takes."""
    made, command = argparse.ArgumentParser(), SimdedupCommand()
    command.settings = Settings()
    command.add_options(made)
    return made


@dataclass(frozen=True)
class Crawled:
    """A site that was crawled into a store."""

    directory: Path
    site: Site

    @property
    def store(self) -> str:
        return f"sqlite:///{(self.directory / 'pages.sqlite').as_posix()}"

    def call(self, *arguments: object, piped: bytes = b"") -> Answer:
        """``simdedup ...`` on the store."""
        return perform_here(*arguments, "--store", self.store, piped=piped)

    def url(self, name: str, number: int = 0) -> str:
        return self.site.url(f"/{name}?v={number}")

    async def crawl(self, **settings: Any) -> Crawl:
        """Crawl all pages of the site."""
        made = {**ADDON, "SIMDEDUP_STORE": self.store, **settings}
        return await crawl(PatientSpider, made, urls=self.site.urls(*self.site.answers))
